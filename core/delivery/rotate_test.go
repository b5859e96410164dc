package delivery

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// rotating is a fake on which a message may be live for ten seconds.
func rotating() *fake {
	f := newFake()
	f.limits.Rotate = 10 * time.Second
	return f
}

// finished checks that no message is live any more, and that only the first
// has the link.
func finished(t *testing.T, f *fake) {
	t.Helper()
	for i, m := range f.all() {
		if m.live && !m.deleted {
			t.Errorf("message %d is still live: %q", i, m.text)
		}
		if m.link != (i == 0) {
			t.Errorf("message %d: link %v", i, m.link)
		}
	}
}

func TestALongPreviewGoesOnInANewMessage(t *testing.T) {
	for name, c := range map[string]struct {
		word func(i int) string
		good string // how messages end that are not the last
	}{
		"paragraphs": {func(i int) string { return fmt.Sprintf("Paragraph %d is here.\n\n", i) }, "\n\n"},
		"lines":      {func(i int) string { return fmt.Sprintf("line %d\n", i) }, "\n"},
		"sentences":  {func(i int) string { return fmt.Sprintf("Sentence %d ends.", i) + " And goes on " }, ". "},
		"words":      {func(i int) string { return fmt.Sprintf("word%d ", i) }, " "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := rotating()
				w, a := writing(t, f, nil)
				defer w.stop()
				var all strings.Builder
				for i := range 120 { // 36 s
					all.WriteString(c.word(i))
					a.Text(c.word(i))
					time.Sleep(300 * time.Millisecond)
				}
				live := 0
				for _, m := range f.all() {
					if m.live {
						live++
					}
				}
				if live > 1 || len(f.all()) < 3 {
					t.Errorf("%d live of %d messages", live, len(f.all()))
				}
				w.finish(a, all.String())
				texts := f.texts("c")
				if got := strings.Join(texts, ""); got != all.String() {
					t.Errorf("the messages are %q", texts)
				}
				for _, text := range texts[:len(texts)-1] {
					if !strings.HasSuffix(text, c.good) {
						t.Errorf("a message ends in %q", text[max(0, len(text)-30):])
					}
				}
				finished(t, f)
			})
		})
	}
}

// A code block that is open when its message is finished is closed, and opened
// again in the next one.
func TestACodeBlockGoesOnInANewMessage(t *testing.T) {
	for _, over := range []bool{false, true} { // the next message begins after the block
		synctest.Test(t, func(t *testing.T) {
			f := rotating()
			w, a := writing(t, f, nil)
			defer w.stop()
			all := "Here it is:\n\n```go\n"
			a.Text(all)
			for i := range 60 {
				if over && i == 30 {
					time.Sleep(5 * time.Second)
					break
				}
				line := fmt.Sprintf("line(%d)\n", i)
				all += line
				a.Text(line)
				time.Sleep(300 * time.Millisecond)
			}
			all += "```\nThat is it."
			w.finish(a, all)
			texts, head := f.texts("c"), "```go\n"
			if over {
				head, all = "", strings.Replace(all, "```\nThat", "That", 1)
			}
			if len(texts) != 2 || !strings.HasSuffix(texts[0], ")\n```") || strings.TrimSuffix(texts[0], "```")+strings.TrimPrefix(texts[1], head) != all {
				t.Errorf("the messages are %q", texts)
			}
			finished(t, f)
		})
	}
}

// A model that pauses does not leave its message live for longer than allowed;
// a message that ends well is left as it is.
func TestAPauseEndsALiveMessage(t *testing.T) {
	for text, want := range map[string][]string{
		"I look that up.":          {"I look that up."},
		"I look that up. Just a m": {"I look that up. ", "Just a m"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := rotating()
			w, a := writing(t, f, nil)
			defer w.stop()
			a.Text(text)
			time.Sleep(11500 * time.Millisecond)
			synctest.Wait()
			w.expect("c", want...)
			if m := f.all()[0]; m.live {
				t.Errorf("the message is still live after %v", time.Since(m.posted))
			}
			time.Sleep(time.Minute)
			a.Text(" It is here.")
			time.Sleep(2 * time.Second)
			w.finish(a, text+" It is here.")
			if got := strings.Join(f.texts("c"), ""); got != text+" It is here." {
				t.Errorf("the messages are %q", f.texts("c"))
			}
			finished(t, f)
		})
	}
}

// What finished messages hold is not split in another way by the final text,
// unless that begins in another way.
func TestTheFinalTextKeepsFinishedMessages(t *testing.T) {
	for name, final := range map[string]string{"goes on": "One two three.\n\nFour five six. Seven", "is another": "Eight."} {
		synctest.Test(t, func(t *testing.T) {
			f := rotating()
			w, a := writing(t, f, nil)
			defer w.stop()
			a.Text("One two three.\n\n")
			time.Sleep(12 * time.Second)
			a.Text("Four five six.")
			time.Sleep(2 * time.Second)
			w.finish(a, final)
			if name == "goes on" {
				w.expect("c", "One two three.\n\n", "Four five six. Seven")
				if m := f.all()[0]; len(m.edits) != 1 {
					t.Errorf("the finished message was edited %d times", len(m.edits))
				}
			} else {
				w.expect("c", final)
			}
			finished(t, f)
		})
	}
}

// A live message that shows the whole answer already is finished all the same.
func TestALiveMessageIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := rotating()
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("all of it")
		time.Sleep(2 * time.Second)
		if m := f.all()[0]; !m.live {
			t.Error("the preview is not live")
		}
		w.finish(a, "all of it")
		w.expect("c", "all of it")
		if m := f.all()[0]; len(m.edits) != 1 || m.edits[0].Sub(m.posted) < f.limits.EditEvery {
			t.Errorf("edits %v of a message posted at %v", m.edits, m.posted)
		}
		finished(t, f)
	})
}

// The process dies after a message was finished: the next run of the turn goes
// into the same messages, none of which is live; after the commit the answer is
// completed as it was split.
func TestACrashAfterARotation(t *testing.T) {
	for _, committed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f, m := rotating(), &memory{}
			old, a := writingOn(t, m, f, nil)
			a.Text("One two three.\n\n")
			time.Sleep(12 * time.Second)
			a.Text("Four five")
			time.Sleep(2 * time.Second)
			if committed {
				old.commit(t, a.Finish("One two three.\n\nFour five six.")...)
			}
			old.kill()
			a.Close()
			if committed {
				w := start(t, m, f)
				defer w.stop()
				w.flush()
				w.expect("c", "One two three.\n\n", "Four five six.")
				finished(t, f)
				return
			}
			open, err := (&handle{memory: m}).Outgoing(t.Context())
			if err != nil || len(open) != 2 {
				t.Fatalf("left open: %+v, %v", open, err)
			}
			w, b := writingOn(t, m, f, func(c *WriterConfig) { c.Preview = open })
			defer w.stop()
			b.Text("Another answer, which is short.")
			time.Sleep(15 * time.Second)
			w.expect("c", "Another answer, which is short.", "Four five")
			w.finish(b, "Another answer, which is short.")
			w.expect("c", "Another answer, which is short.")
			finished(t, f)
		})
	}
}

// An edit that the platform does not take at the time of the change is made
// later, and the answer still goes on.
func TestARotationThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := rotating()
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("One two three.")
		time.Sleep(9 * time.Second)
		f.script(failing("edit", errBusy, errLost))
		time.Sleep(10 * time.Second)
		a.Text(" Four.")
		time.Sleep(2 * time.Second)
		w.expect("c", "One two three.", " Four.")
		w.finish(a, "One two three. Four.")
		finished(t, f)
	})
}

// The answer stays within the number of messages that a place takes.
func TestARotationKeepsTheNumberOfMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := rotating()
		f.limits.MaxParts, f.limits.Rotate = 2, 4*time.Second
		w, a := writing(t, f, nil)
		defer w.stop()
		f.script(func(op string, p core.Post) fault {
			if op == "edit" && p.Live && strings.Contains(p.Text, "late") {
				return fault{err: errGone} // the platform finished it by itself
			}
			return fault{}
		})
		a.Text("One. ")
		time.Sleep(5500 * time.Millisecond)
		a.Text("Two. ")
		time.Sleep(5500 * time.Millisecond)
		a.Text("late. ")
		time.Sleep(5500 * time.Millisecond)
		f.script(nil)
		w.finish(a, "One. Two. late. ")
		w.expect("c", "One. ", "Two. late. ")
		finished(t, f)
	})
}
