package delivery

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// Whatever is posted while a turn is at work, its place shows within a second
// that it still is; after its answer it does not.
func TestP150(t *testing.T) {
	for _, kind := range []core.PostKind{core.PostNotice, core.PostCommand, core.PostError, core.PostStatus} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			w := start(t, &memory{}, f)
			defer w.stop()
			stop := w.Working(target("c"))
			time.Sleep(3 * time.Second)
			r := row("c", "t0", kind, 0, "step 1")
			if kind == core.PostStatus {
				if _, err := w.Status(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			} else {
				w.say(r)
			}
			time.Sleep(time.Second)
			if want := []string{"on c", "on c"}; !slices.Equal(f.indications(), want) {
				t.Errorf("a second after a post of the kind %s: %q", kind, f.indications())
			}
			stop()
			w.say(row("c", "t1", core.PostAnswer, 0, "answer"))
			w.flush()
			time.Sleep(time.Minute)
			if want := []string{"on c", "on c", "off c"}; !slices.Equal(f.indications(), want) {
				t.Errorf("after the answer: %q", f.indications())
			}
		})
	}
}

// Two turns in one place: the end of the first takes nothing from the second,
// and since the platform does with its answer, the place shows at once that
// somebody is at work. There is one end.
func TestP176(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := start(t, &memory{}, f)
		defer w.stop()
		begun := time.Now()
		one := w.Working(target("c"))
		time.Sleep(5 * time.Second)
		two := w.Working(target("c"))
		time.Sleep(5 * time.Second)
		one()
		before := len(f.indications())
		w.say(row("c", "t1", core.PostAnswer, 0, "the first answer"))
		w.flush()
		synctest.Wait()
		if got := f.indications(); len(got) != before+1 || got[before] != "on c" {
			t.Errorf("after the first answer: %q", got)
		}
		time.Sleep(time.Until(begun.Add(30*time.Second - 1)))
		if slices.Contains(f.indications(), "off c") {
			t.Errorf("while the second is at work: %q", f.indications())
		}
		two()
		w.say(row("c", "t2", core.PostAnswer, 0, "the second answer"))
		w.flush()
		time.Sleep(time.Minute)
		got := f.indications()
		if ends := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s == "on c" })); ends != 1 || got[len(got)-1] != "off c" {
			t.Errorf("the indications are %q", got)
		}
	})
}
