package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

func TestPostsGoOutInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, &memory{}, newFake())
		defer w.stop()
		w.say(
			row("c", "t1", core.PostNotice, 0, "notice 1"),
			row("c", "t1", core.PostAnswer, 0, "answer 1"),
			row("c", "t1", core.PostAnswer, 1, "more 1"),
			row("c", "t2", core.PostAnswer, 0, "answer 2"),
			row("c", "t2", core.PostNotice, 0, "notice 2"),
			row("c", "t3", core.PostNotice, 0, "notice 3"),
			row("c", "t3", core.PostError, 0, "error 3"),
			row("c", "t4", core.PostNotice, 0, "notice of a turn without text"),
			row("c", "t5", core.PostCommand, 0, "command"),
		)
		w.flush()
		w.expect("c", "answer 1", "more 1", "notice 1", "answer 2", "notice 2", "error 3", "notice 3", "notice of a turn without text", "command")
		for _, r := range w.rows {
			if r.State != Sent || r.PlatformID == "" || r.Settled.IsZero() {
				t.Errorf("row %d is %+v", r.ID, r)
			}
		}
	})
}

func TestAStuckConversationDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(func(op string, p core.Post) fault {
			if p.Target.Thread.Channel == "stuck" {
				return fault{delay: 20 * time.Second}
			}
			return fault{}
		})
		w := start(t, &memory{}, f)
		defer w.stop()
		w.say(row("stuck", "t1", core.PostAnswer, 0, "one"), row("free", "t2", core.PostAnswer, 0, "two"))
		synctest.Wait()
		w.expect("stuck")
		w.expect("free", "two")
		w.flush()
		w.expect("stuck", "one")
	})
}

func TestFailedSendsAreTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		errs  []error
		after time.Duration // until it is settled
		state State
		tries int
	}{
		{"once", []error{errBusy}, 1 * time.Second, Sent, 1},
		{"five times", []error{errBusy, errBusy, errBusy, errBusy, errBusy}, 31 * time.Second, Sent, 5},
		{"for good", []error{errBusy, errBusy, errBusy, errBusy, errBusy, errBusy}, 31 * time.Second, Failed, 5},
		{"permanently", []error{errGone}, 0, Failed, 0},
		{"asked to wait", []error{asked(90 * time.Second)}, 90 * time.Second, Sent, 0},
		{"asked to wait less", []error{asked(time.Millisecond)}, time.Second, Sent, 0},
		{"asked to wait for too long", []error{asked(11 * time.Minute)}, 0, Failed, 0},
		{"asked to wait again and again", slices.Repeat([]error{asked(time.Minute)}, 9), 9 * time.Minute, Sent, 0},
		{"unknown each time", []error{errLost, errLost, errLost}, 7 * time.Second, Sent, 0},
		{"without a class", []error{errors.New("what")}, 1 * time.Second, Sent, 0},
		{"an outage", slices.Repeat([]error{errDown, errLost}, 10), 31*time.Second + 15*16*time.Second, Sent, 0},
		{"an outage without an end", slices.Repeat([]error{errDown}, 100), 31*time.Second + 35*16*time.Second, Failed, 0},
		{"refusals around an outage", []error{errBusy, errBusy, errDown, errDown, errDown, errBusy, errBusy, errBusy},
			38 * time.Second, Sent, 5},
		{"a queue of our own", slices.Repeat([]error{unsent(30 * time.Second)}, 59), 29*time.Minute + 30*time.Second, Sent, 0},
		{"a queue without an end", slices.Repeat([]error{unsent(30 * time.Second)}, 100), 30 * time.Minute, Failed, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.script(failing("post", c.errs...))
				w := start(t, &memory{}, f)
				defer w.stop()
				begun := time.Now()
				r := w.say(row("c", "t1", core.PostCommand, 0, "text"))[0]
				w.flush()
				if got := time.Since(begun); got != c.after {
					t.Errorf("it took %v, want %v", got, c.after)
				}
				if got := w.row(r.ID); got.State != c.state || got.Tries != c.tries || (got.Error == "") != (c.state == Sent) {
					t.Errorf("the row is %+v", got)
				}
				if got := len(w.gaveUp); (got == 1) != (c.state == Failed) {
					t.Errorf("%d were given up", got)
				}
			})
		})
	}
}

// What never left the process cannot be there already: it is not looked for,
// and a restart finds it queued.
func TestWhatIsUnsentIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(failing("post", unsent(30*time.Second)))
		p := &finder{fake: f}
		w := start(t, &memory{}, p)
		defer w.stop()
		r := w.say(row("c", "t1", core.PostAnswer, 0, "text"))[0]
		synctest.Wait()
		if got := w.row(r.ID); got.State != Queued || got.Error == "" {
			t.Errorf("the row is %+v", got)
		}
		w.flush()
		w.expect("c", "text")
		if !p.since.IsZero() {
			t.Error("it was looked for")
		}
	})
}

// Very many threads of one channel get their answers at once, and the channel
// takes one post a second: all arrive, the last when its time has come.
func TestAFloodLosesNothing(t *testing.T) {
	const posts = 260
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		free := time.Now() // when the channel takes the next post
		f.script(func(string, core.Post) fault {
			now := time.Now()
			wait := max(0, free.Sub(now))
			if wait > sendTimeout {
				return fault{err: unsent(wait)}
			}
			free = now.Add(wait + time.Second)
			return fault{delay: wait}
		})
		w := start(t, &memory{}, f)
		defer w.stop()
		begun := time.Now()
		for i := range posts {
			w.say(row(fmt.Sprint("c", i), fmt.Sprint("t", i), core.PostAnswer, 0, "text"))
		}
		w.flush()
		if n, took := len(f.all()), time.Since(begun); n != posts || took > posts*time.Second*11/10 {
			t.Errorf("%d of %d posts arrived in %v", n, posts, took)
		}
		for _, r := range w.rows {
			if r.State != Sent || r.Tries != 0 {
				t.Fatalf("a row is %+v", r)
			}
		}
	})
}

func TestAnAnswerThatIsGivenUpTakesItsNoticesAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(failing("post", errGone))
		w := start(t, &memory{}, f)
		defer w.stop()
		rows := w.say(
			row("c", "t1", core.PostAnswer, 0, "answer"), row("c", "t1", core.PostAnswer, 1, "more"), row("c", "t1", core.PostNotice, 0, "notice"),
			row("c", "t2", core.PostAnswer, 0, "next"),
		)
		w.flush()
		w.expect("c", "next")
		for i, want := range []State{Failed, Withdrawn, Withdrawn, Sent} {
			if got := w.row(rows[i].ID).State; got != want {
				t.Errorf("row %d is %s, want %s", i, got, want)
			}
		}
		if len(w.gaveUp) != 1 || w.gaveUp[0].ID != rows[0].ID || w.gaveUp[0].Error != "gone" {
			t.Errorf("given up: %+v", w.gaveUp)
		}
	})
}

func TestTheThreadIsToldThatTheRestIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(func(op string, p core.Post) fault {
			if p.Text == "second" {
				return fault{err: errGone}
			}
			return fault{}
		})
		w := start(t, &memory{}, f)
		defer w.stop()
		rows := w.say(
			row("c", "t1", core.PostAnswer, 0, "first"), row("c", "t1", core.PostAnswer, 1, "second"),
			row("c", "t1", core.PostAnswer, 2, "third"), row("c", "t1", core.PostNotice, 0, "notice"),
		)
		w.flush()
		w.expect("c", "first", restMissing, "notice")
		for i, want := range []State{Sent, Failed, Withdrawn, Sent} {
			if got := w.row(rows[i].ID).State; got != want {
				t.Errorf("row %d is %s, want %s", i, got, want)
			}
		}
	})
}

// What operators are told has a sender of its own, now and after a restart.
func TestPostsForOperatorsAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		for range 2 {
			w := start(t, m, newFake())
			rows := w.say(row("c", "t1", core.PostAdmin, 0, "text"))
			w.flush()
			w.expect("c")
			if got := w.row(rows[0].ID); got.State != Queued {
				t.Errorf("the row is %s", got.State)
			}
			w.stop()
		}
	})
}

func TestAnAccountThatIsGoneIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, &memory{}, newFake())
		defer w.stop()
		r := row("c", "t1", core.PostAnswer, 0, "text")
		r.Post.Target.Thread.Account = "gone"
		r = w.say(r)[0]
		w.flush()
		if got := w.row(r.ID); got.State != Failed || !strings.Contains(got.Error, `account "gone"`) {
			t.Errorf("the row is %+v", got)
		}
	})
}

// An answer of the platform that got lost is settled by the nonce: the message
// is not posted twice, whether the platform can look or only knows nonces.
func TestLostAnswersAreSettled(t *testing.T) {
	for _, performed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.loose = true
			lost := false
			f.script(func(op string, p core.Post) fault {
				if op == "post" && !lost {
					lost = true
					return fault{err: errLost, done: performed}
				}
				return fault{}
			})
			p := &finder{fake: f}
			w := start(t, &memory{}, p)
			defer w.stop()
			r := w.say(row("c", "t1", core.PostAnswer, 0, "text"))[0]
			synctest.Wait()
			if got := w.row(r.ID).State; got != Sending {
				t.Errorf("after the lost answer the row is %s", got)
			}
			w.flush()
			w.expect("c", "text")
			if !p.since.Equal(r.Created.Add(-findSlack)) {
				t.Errorf("searched back to %v for a row of %v", p.since, r.Created)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			lost := false
			f.script(func(op string, p core.Post) fault {
				if op == "post" && !lost {
					lost = true
					return fault{err: errLost, done: performed}
				}
				return fault{}
			})
			w := start(t, &memory{}, f)
			defer w.stop()
			w.say(row("c", "t1", core.PostAnswer, 0, "text"))
			w.flush()
			w.expect("c", "text")
		})
	}
}

func TestRowsOfAnEarlierProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		m := &memory{}
		old := start(t, m, f)
		f.script(func(op string, p core.Post) fault {
			if op == "post" && p.Text == "in the air" {
				return fault{err: errLost, done: true, delay: time.Second}
			}
			return fault{}
		})
		rows := old.say(row("c", "t1", core.PostAnswer, 0, "in the air"), row("c", "t1", core.PostNotice, 0, "notice"))
		synctest.Wait()
		if got := m.rows[0].State; got != Sending {
			t.Fatalf("the row in the air is %s", got)
		}
		old.kill()
		preview := row("c", "t2", core.PostAnswer, 0, "")
		preview.State, preview.PlatformID = Preview, "m9"
		f.script(nil)
		(&handle{memory: m}).commit(t, preview)

		w := start(t, m, f)
		defer w.stop()
		w.flush()
		w.expect("c", "in the air", "notice")
		if a, b := w.row(rows[0].ID).State, w.row(3).State; a != Sent || b != Preview {
			t.Errorf("the row in the air is %s, the preview %s", a, b)
		}
	})
}

func TestRunLeavesWhatIsInTheAir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(func(op string, p core.Post) fault { return fault{delay: 10 * time.Second} })
		w := start(t, &memory{}, f)
		rows := w.say(row("c", "t1", core.PostAnswer, 0, "one"), row("c", "t2", core.PostAnswer, 0, "two"))
		synctest.Wait()
		begun := time.Now()
		w.stop()
		if took := time.Since(begun); took != 0 {
			t.Errorf("stopping took %v", took)
		}
		if a, b := w.row(rows[0].ID).State, w.row(rows[1].ID).State; a != Sending || b != Queued {
			t.Errorf("the rows are %s and %s", a, b)
		}
		if err := w.Flush(t.Context()); err == nil {
			t.Error("Flush says that all is sent")
		}
		w.Send(rows...) // does nothing any more
	})
}

// What was confirmed is noted even if the process is told to stop meanwhile.
func TestAConfirmationAtTheEndIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := start(t, &memory{}, f)
		f.script(func(op string, p core.Post) fault {
			w.cancel()
			return fault{}
		})
		r := w.say(row("c", "t1", core.PostAnswer, 0, "one"))[0]
		<-w.over
		if got := w.row(r.ID).State; got != Sent {
			t.Errorf("the row is %s", got)
		}
	})
}

func TestARowThatIsGivenTwiceIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.loose = true
		f.script(failing("post", errBusy))
		w := start(t, &memory{}, f)
		defer w.stop()
		rows := w.say(row("c", "t1", core.PostAnswer, 0, "one"), row("c", "t1", core.PostAnswer, 1, "two"))
		w.Send(rows...)
		synctest.Wait() // the first is being sent now
		w.Send(rows...)
		w.flush()
		w.expect("c", "one", "two")
	})
}

func TestFlushListensToItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(func(op string, p core.Post) fault { return fault{delay: 10 * time.Second} })
		w := start(t, &memory{}, f)
		defer w.stop()
		w.say(row("c", "t1", core.PostAnswer, 0, "one"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Flush: %v", err)
		}
	})
}

func TestSendBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, h := newFake(), &handle{memory: &memory{}}
		s := New(Config{Store: h, Platform: func(core.Thread) (core.Platform, bool) { return f, true }})
		s.Send(h.commit(t, row("c", "t1", core.PostAnswer, 0, "one"))...)
		synctest.Wait()
		if got := f.texts("c"); len(got) != 0 {
			t.Errorf("before Run: %q", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		if err := s.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := f.texts("c"); !slices.Equal(got, []string{"one"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestNothingIsPostedThatTheStoreDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFake(), &memory{}
		w := start(t, m, f)
		defer w.stop()
		begun := time.Now()
		m.fail = func(op string) error {
			if op == "mark" && time.Since(begun) < 5*time.Second {
				return errors.New("disk full")
			}
			return nil
		}
		w.say(row("c", "t1", core.PostAnswer, 0, "one"))
		time.Sleep(4 * time.Second)
		w.expect("c")
		w.flush()
		w.expect("c", "one")
		if took := time.Since(begun); took != 7*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestAConfirmedPostIsNotRepeatedForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFake(), &memory{}
		f.loose = true
		w := start(t, m, f)
		defer w.stop()
		marks := 0
		m.fail = func(op string) error {
			if op == "mark" {
				if marks++; marks > 1 && marks < 5 {
					return errors.New("disk full")
				}
			}
			return nil
		}
		w.say(row("c", "t1", core.PostAnswer, 0, "one"))
		w.flush()
		w.expect("c", "one")
		if got := w.row(1).State; got != Sent {
			t.Errorf("the row is %s", got)
		}
	})
}

func TestAWithdrawnRowIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, &memory{}, newFake())
		defer w.stop()
		rows := w.commit(t, row("c", "t1", core.PostAnswer, 0, "one"), row("c", "t2", core.PostAnswer, 0, "two"))
		w.rows[0].State = Withdrawn
		w.Send(rows...)
		w.flush()
		w.expect("c", "two")
	})
}

func TestATextThatIsTooLongIsSentInPieces(t *testing.T) {
	text := strings.Repeat("some words. ", 100)
	for _, find := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.limits.MaxText = 1500
			f.script(func(op string, p core.Post) fault {
				if op == "post" && len(p.Text) > 700 { // counts other than it says
					return fault{err: errLong}
				}
				return fault{}
			})
			var p core.Platform = f
			if find {
				p = &finder{fake: f}
			}
			m := &memory{}
			w := start(t, m, p)
			r := row("c", "t1", core.PostAnswer, 0, text)
			r.Post.Link = true
			w.say(r, row("c", "t2", core.PostAnswer, 0, "next"))
			w.flush()
			w.stop()
			got := strings.Join(f.texts("c"), "")
			if got != text+"next" {
				t.Errorf("the pieces are %q", f.texts("c"))
			}
			for i, m := range f.all() {
				if m.link != (i == 0) {
					t.Errorf("piece %d: link %v", i, m.link)
				}
			}
		})
	}
}

func TestALongTextThatNobodySplitIsSentInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.limits.MaxText = 100
		w := start(t, &memory{}, f)
		defer w.stop()
		w.say(row("c", "t1", core.PostCommand, 0, strings.Repeat("a line of it\n", 20)))
		w.flush()
		if got := strings.Join(f.texts("c"), ""); got != strings.Repeat("a line of it\n", 20) {
			t.Errorf("the pieces are %q", f.texts("c"))
		}
	})
}

func TestNonces(t *testing.T) {
	seen := map[string]bool{}
	for _, turn := range []string{"", "t1", "a turn with a long id that is long", "t\x001"} {
		for _, kind := range []core.PostKind{core.PostAnswer, core.PostNotice} {
			for part := range 20 {
				n := Nonce(turn, kind, part)
				if seen[n] || len(n) > 25 || n != Nonce(turn, kind, part) {
					t.Errorf("nonce %q of %q %s %d", n, turn, kind, part)
				}
				seen[n] = true
				for _, v := range []version{{1, 2, false}, {maxHalvings, 999, false}, {0, 1, true}} {
					if next := withVersion(withVersion(n, version{3, 3, true}), v); versionOf(next) != v || len(next) > 25 || seen[next] {
						t.Errorf("version %+v of %q is %q", v, n, next)
					}
				}
			}
		}
	}
	n := Nonce("t1", core.PostAnswer, 0)
	for nonce, want := range map[string]string{n: n, n + "~20": n, n + "~13": n + "~03", n + "~03": n + "~03", n + "!01": n + "~01", n + "!23": n + "~03"} {
		if got := plain(nonce); got != want {
			t.Errorf("platforms see %q for %q, want %q", got, nonce, want)
		}
	}
	for _, odd := range []string{"", "x", "x~", "x~1", "x~z1", "x~1!", "x!"} {
		if got := versionOf(odd); got != (version{}) {
			t.Errorf("%q has version %+v", odd, got)
		}
	}
	if got := plain(unmade(nextMessage(n, true))); got != n {
		t.Errorf("the message before the second has the nonce %q, want %q", got, n)
	}
}

// A post that waited for long before it was tried is not looked for in all that
// was said meanwhile.
func TestAPostIsLookedForSinceItWasTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &finder{fake: newFake()}
		f.script(failing("post", errLost))
		w := start(t, &memory{}, f)
		defer w.stop()
		r := row("c", "t1", core.PostAnswer, 0, "late")
		r.Created = time.Now().Add(-time.Hour)
		tried := time.Now()
		w.say(r)
		w.flush()
		w.expect("c", "late")
		if want := tried.Add(-findSlack); !f.since.Equal(want) {
			t.Errorf("looked for since %v, want %v", f.since, want)
		}
	})
}
