package delivery

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// A platform that asks for time again and again: nothing is asked of it before
// that time is over, the text is collected meanwhile, and the preview goes on.
func TestP156(t *testing.T) {
	for name, refuses := range map[string]func(n int) bool{
		"every third edit": func(n int) bool { return n%3 == 2 },
		"ten in a row":     func(n int) bool { return n >= 2 && n < 12 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				n := 0
				var closed time.Time
				f.script(func(op string, p core.Post) fault {
					if op != "edit" {
						return fault{}
					}
					if time.Now().Before(closed) {
						t.Errorf("asked %s too early", time.Until(closed))
					}
					if n++; refuses(n) {
						closed = time.Now().Add(5 * time.Second)
						return fault{err: &core.SendError{RetryAfter: 5 * time.Second}}
					}
					return fault{}
				})
				w, a := writing(t, f, nil)
				defer w.stop()
				text := ""
				for range 800 {
					a.Text("w ")
					text += "w "
					time.Sleep(100 * time.Millisecond)
				}
				if last := strings.Count(f.all()[0].text, "w"); last < 700 {
					t.Errorf("the preview stopped at word %d of 800", last)
				}
				w.finish(a, text)
				w.expect("c", text)
			})
		})
	}
}
