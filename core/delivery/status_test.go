package delivery

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

func TestAStatusPassesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(failing("post", errBusy))
		w := start(t, &memory{}, f)
		defer w.stop()
		w.say(row("c", "t0", core.PostAnswer, 0, "earlier"))
		synctest.Wait()
		st, err := w.Status(t.Context(), row("c", "t1", core.PostStatus, 0, "still trying"))
		if err != nil {
			t.Fatal(err)
		}
		w.flush()
		w.expect("c", "still trying", "earlier")
		if got := w.row(st.ID).State; got != Preview {
			t.Errorf("while it is there the row is %s", got)
		}
		again, err := w.Status(t.Context(), row("c", "t1", core.PostStatus, 0, "still trying"))
		if err != nil || again.ID != st.ID || again.PlatformID != st.PlatformID {
			t.Errorf("the second status is %+v, %v", again, err)
		}
		w.expect("c", "still trying", "earlier")
		w.Remove(t.Context(), st)
		w.expect("c", "earlier")
		if got := w.row(st.ID).State; got != Withdrawn {
			t.Errorf("the row is %s", got)
		}
	})
}

func TestAStatusIsGivenUpAfterFiveSeconds(t *testing.T) {
	for _, find := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.script(func(op string, p core.Post) fault {
				if op == "post" {
					return fault{delay: time.Minute}
				}
				return fault{}
			})
			var p core.Platform = f
			if find {
				p = &finder{fake: f}
			}
			w := start(t, &memory{}, p)
			defer w.stop()
			begun := time.Now()
			st, err := w.Status(t.Context(), row("c", "t1", core.PostStatus, 0, "still trying"))
			if err == nil || time.Since(begun) != 5*time.Second {
				t.Errorf("after %v: %v", time.Since(begun), err)
			}
			w.Remove(t.Context(), st)
			if got := w.row(st.ID).State; got != Withdrawn {
				t.Errorf("the row is %s", got)
			}
		})
	}
}

func TestAStatusThatFailsIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(failing("post", errBusy))
		w := start(t, &memory{}, f)
		defer w.stop()
		st, err := w.Status(t.Context(), row("c", "t1", core.PostStatus, 0, "still trying"))
		if err == nil || w.row(st.ID).State != Failed {
			t.Errorf("%v, row %+v", err, w.row(st.ID))
		}
		w.expect("c")
	})
}

// The answer may come while the status is on its way: both are cancelled and
// what may be there is looked for.
func TestAStatusOfWhichTheOutcomeIsUnknownIsTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(func(op string, p core.Post) fault {
			if op == "post" {
				return fault{err: errLost, done: true}
			}
			return fault{}
		})
		w := start(t, &memory{}, &finder{fake: f})
		defer w.stop()
		st, err := w.Status(t.Context(), row("c", "t1", core.PostStatus, 0, "still trying"))
		if err == nil {
			t.Error("no error")
		}
		w.expect("c", "still trying")
		w.Remove(t.Context(), st)
		w.expect("c")
	})
}

// A turn that goes on in another process keeps the status that it posted, even
// if nobody noted the message.
func TestATurnThatGoesOnKeepsItsStatus(t *testing.T) {
	for _, noted := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f, m := newFake(), &memory{}
			f.loose = true
			p := &finder{fake: f}
			old := start(t, m, p)
			f.script(func(op string, p core.Post) fault {
				old.handle.mu.Lock()
				defer old.handle.mu.Unlock()
				old.dead = !noted
				return fault{}
			})
			if _, err := old.Status(t.Context(), row("c", "t1", core.PostStatus, 0, "still trying")); (err == nil) != noted {
				t.Errorf("noted %v: %v", noted, err)
			}
			old.kill()
			f.script(nil)
			w := start(t, m, p)
			defer w.stop()
			time.Sleep(time.Minute)
			w.expect("c", "still trying")
			open, err := w.Outgoing(t.Context())
			if err != nil || len(open) != 1 {
				t.Fatalf("noted %v: open are %+v, %v", noted, open, err)
			}
			if _, err := w.Status(t.Context(), row("c", "t1", core.PostStatus, 0, "still trying")); err != nil {
				t.Error(err)
			}
			w.expect("c", "still trying")
			w.Remove(t.Context(), open...)
			w.expect("c")
			if got := w.row(1).State; got != Withdrawn {
				t.Errorf("the row is %s", got)
			}
		})
	}
}

// A status that the platform does not take away now is left to the next start.
func TestAStatusThatStaysIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := start(t, &memory{}, f)
		defer w.stop()
		st, err := w.Status(t.Context(), row("c", "t1", core.PostStatus, 0, "still trying"))
		if err != nil {
			t.Fatal(err)
		}
		f.script(failing("delete", errDown, errGone))
		w.Remove(t.Context(), st)
		if got := w.row(st.ID).State; got != Preview {
			t.Errorf("during an outage the row became %s", got)
		}
		w.Remove(t.Context(), st)
		if got := w.row(st.ID).State; got != Withdrawn {
			t.Errorf("a message that cannot be taken away has the row %s", got)
		}
	})
}

func TestWorking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := start(t, &memory{}, f)
		defer w.stop()
		stop := w.Working(target("c"))
		synctest.Wait()
		if want := []string{"on c"}; !slices.Equal(f.indications(), want) {
			t.Errorf("at once: %q", f.indications())
		}
		time.Sleep(20 * time.Second)
		other := w.Working(target("c")) // an overlapping turn
		synctest.Wait()
		stop()
		stop()
		time.Sleep(5 * time.Second)
		if want := []string{"on c", "on c", "on c", "on c"}; !slices.Equal(f.indications(), want) {
			t.Errorf("after 25 s: %q", f.indications())
		}
		other()
		if want := []string{"on c", "on c", "on c", "on c", "off c"}; !slices.Equal(f.indications(), want) {
			t.Errorf("at the end: %q", f.indications())
		}
		time.Sleep(time.Minute)
		if len(f.indications()) != 5 || len(w.typing) != 0 {
			t.Errorf("a minute later: %q", f.indications())
		}
	})
}

// A request that hangs is cut off, and the answer does not wait for it.
func TestASlowIndicatorDelaysNoAnswer(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.script(func(op string, p core.Post) fault {
				if op == "working" {
					return fault{delay: 4 * time.Second, deaf: deaf}
				}
				return fault{}
			})
			w := start(t, &memory{}, f)
			defer w.stop()
			stop := w.Working(target("c"))
			time.Sleep(time.Second)
			begun := time.Now()
			stop()
			if took := time.Since(begun); took > stopMoment {
				t.Errorf("deaf %v: stop took %v", deaf, took)
			}
			time.Sleep(time.Minute)
			w.Sender.mu.Lock()
			defer w.Sender.mu.Unlock()
			if len(w.typing) != 0 {
				t.Errorf("deaf %v: the indicator is still being ended", deaf)
			}
		})
	}
}

// A quick platform shows no indicator any more when the answer comes.
func TestTheIndicatorIsOffBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(func(string, core.Post) fault { return fault{delay: stopMoment / 2} })
		w := start(t, &memory{}, f)
		defer w.stop()
		stop := w.Working(target("c"))
		time.Sleep(time.Second)
		stop()
		if want := []string{"on c", "off c"}; !slices.Equal(f.indications(), want) {
			t.Errorf("got %q", f.indications())
		}
	})
}

// A platform may carry a refresh out that was cut off; the end comes after it.
func TestTheEndOfWorkingIsTheLastRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(func(op string, p core.Post) fault { return fault{delay: 1500 * time.Millisecond, deaf: true} })
		w := start(t, &memory{}, f)
		defer w.stop()
		stop := w.Working(target("c"))
		time.Sleep(time.Second)
		stop()
		next := w.Working(target("c")) // while the first is being ended
		time.Sleep(10 * time.Second)
		if want := []string{"on c", "off c", "on c"}; !slices.Equal(f.indications(), want) {
			t.Errorf("got %q", f.indications())
		}
		next()
		time.Sleep(10 * time.Second)
		if want := []string{"on c", "off c", "on c", "off c"}; !slices.Equal(f.indications(), want) {
			t.Errorf("got %q", f.indications())
		}
	})
}

func TestWorkingEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := start(t, &memory{}, f)
		stop := w.Working(target("c"))
		time.Sleep(36 * time.Minute)
		if got := f.indications()[len(f.indications())-1]; got != "off c" {
			t.Errorf("the last is %q", got)
		}
		stop()
		w.Working(target("d"))
		synctest.Wait()
		w.stop() // ends it too
		before := f.indications()
		if want := []string{"on d", "off d"}; !slices.Equal(before[len(before)-2:], want) {
			t.Errorf("got %q", before)
		}
		w.Working(target("d"))()
		if got := f.indications(); len(got) != len(before) {
			t.Errorf("after the end: %q", got)
		}
	})
}

// Platforms take the indicator away when a message of the bot appears.
func TestWorkingIsShownAgainAfterANotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := start(t, &memory{}, f)
		defer w.stop()
		stop := w.Working(target("c"))
		synctest.Wait()
		w.say(row("c", "t1", core.PostCommand, 0, "reply"))
		synctest.Wait()
		if len(f.indications()) != 2 {
			t.Errorf("after a reply: %q", f.indications())
		}
		if _, err := w.Status(context.Background(), row("c", "t1", core.PostStatus, 0, "still trying")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(f.indications()) != 3 {
			t.Errorf("after a status: %q", f.indications())
		}
		stop() // which a turn does before its answer is sent
		w.say(row("c", "t1", core.PostAnswer, 0, "answer"))
		synctest.Wait()
		if want := []string{"on c", "on c", "on c", "off c"}; !slices.Equal(f.indications(), want) {
			t.Errorf("after the answer: %q", f.indications())
		}
	})
}
