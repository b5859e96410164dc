package delivery

import (
	"testing"
	"testing/synctest"
	"time"
)

// What a model writes about replies is not shown, not even half of it, and
// changes nothing about where the answer goes.
func TestP007(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := start(t, &memory{}, f)
		defer w.stop()
		a := w.Writer(WriterConfig{Turn: "t1", Target: target("c"), ReplyTo: ModeOff, Streaming: true})
		for _, piece := range []string{"[[reply", "_to_current]] do", "ne"} {
			a.Text(piece)
			time.Sleep(2 * time.Second)
			for _, text := range f.texts("c") {
				if text != "do" && text != "done" {
					t.Errorf("people see %q", text)
				}
			}
		}
		w.say(a.Finish("[[reply_to_current]] done")...)
		a.Close()
		w.flush()
		w.expect("c", "done")
		if got := f.links(); len(got) > 0 {
			t.Errorf("the link is on %q", got)
		}

		only := w.Writer(WriterConfig{Turn: "t2", Target: target("c"), Streaming: true})
		only.Text("[[reply_to:5]]\n")
		time.Sleep(2 * time.Second)
		if rows := only.Finish("[[reply_to:5]]\n"); rows != nil || only.Shown() {
			t.Errorf("a directive alone is posted: %+v", rows)
		}
		only.Close()
	})
}
