package delivery

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

func TestATurnRunsAgainIntoItsPreview(t *testing.T) {
	for _, quick := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f, m := newFake(), &memory{}
			old, a := writingOn(t, m, f, nil)
			a.Text("the first run")
			time.Sleep(2 * time.Second)
			old.kill()
			a.Close()
			open, err := (&handle{memory: m}).Outgoing(t.Context())
			if err != nil || len(open) != 1 {
				t.Fatalf("left open: %+v, %v", open, err)
			}
			w, b := writingOn(t, m, f, func(c *WriterConfig) { c.Preview = open })
			defer w.stop()
			if b.Shown() {
				t.Error("the preview of the first run counts as shown by the second")
			}
			b.Text("dropped")
			if !b.Discard() {
				t.Error("unseen text was not discarded")
			}
			b.Text("the second")
			if !quick {
				time.Sleep(2 * time.Second)
				w.expect("c", "the second")
				if !b.Shown() || b.Discard() {
					t.Error("an edit of the old preview does not count as shown")
				}
			}
			w.finish(b, "the second run")
			w.expect("c", "the second run")
			if len(f.all()) != 1 || !f.all()[0].link {
				t.Errorf("%d messages", len(f.all()))
			}
		})
	}
}

// A crash between the intent and the post, or between the post and its record.
func TestATurnRunsAgainAfterACrashAroundThePost(t *testing.T) {
	for _, done := range []bool{true, false} {
		for _, find := range []bool{true, false} {
			for _, quick := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					f, m := newFake(), &memory{}
					var p core.Platform = f
					if find {
						f.loose = true
						p = &finder{fake: f}
					}
					old, a := writingOn(t, m, p, nil)
					f.script(func(op string, p core.Post) fault {
						old.handle.mu.Lock()
						defer old.handle.mu.Unlock()
						old.dead = true
						return fault{err: errLost, done: done}
					})
					a.Text("the first run")
					time.Sleep(1100 * time.Millisecond)
					f.script(nil)
					old.kill()
					a.Close()
					w, b := writingOn(t, m, p, func(c *WriterConfig) {
						c.Preview, _ = (&handle{memory: m}).Outgoing(t.Context())
					})
					defer w.stop()
					b.Text("the second")
					if !quick {
						time.Sleep(5 * time.Second)
						w.expect("c", "the second")
					}
					w.finish(b, "the second run")
					w.expect("c", "the second run")
				})
			}
		}
	}
}

func TestACommittedAnswerSurvivesACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFake(), &memory{}
		old, a := writingOn(t, m, f, nil)
		a.Text("some")
		time.Sleep(2 * time.Second)
		old.commit(t, a.Finish("some words")...)
		a.Close()
		old.kill()
		w := start(t, m, f)
		defer w.stop()
		w.flush()
		w.expect("c", "some words")
	})
}

func TestAPreviewThatCannotBeEditedIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("some")
		time.Sleep(2 * time.Second)
		f.script(failing("edit", errGone))
		w.finish(a, "some words")
		w.expect("c", "some words")
		if m := f.all()[1]; !m.link || m.nonce == f.all()[0].nonce {
			t.Errorf("the new message is %+v", m)
		}
	})
}

// A preview that can neither be edited nor taken away is said to be interrupted,
// once for all messages of an answer, after the whole answer, and also when the
// process is killed meanwhile.
func TestAPreviewThatCannotBeTakenAwayIsMarked(t *testing.T) {
	for _, killed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f, m := newFake(), &memory{}
			f.limits.MaxText = len(leftMark)
			w, a := writingOn(t, m, f, nil)
			a.Text(strings.Repeat("let me think. ", 15))
			time.Sleep(2 * time.Second)
			previews := f.texts("c")
			if len(previews) != 2 {
				t.Fatalf("the previews are %q", previews)
			}
			deletes := 0
			f.script(func(op string, p core.Post) fault {
				if op == "delete" {
					if deletes++; killed && deletes == 2 {
						w.handle.mu.Lock()
						w.dead = true
						w.handle.mu.Unlock()
					}
				}
				if op == "edit" || op == "delete" {
					return fault{err: errGone}
				}
				return fault{}
			})
			answer := strings.Repeat("let me see. ", 20)
			rows := w.commit(t, a.Finish(answer)...)
			a.Close()
			notice := w.commit(t, row("c", "t1", core.PostNotice, 0, "a notice"))
			w.Send(append(rows, notice...)...)
			if killed {
				time.Sleep(time.Minute)
				w.stop()
				w = start(t, m, f)
			}
			defer w.stop()
			w.flush()
			texts := f.texts("c")
			if len(texts) != 6 || !slices.Equal(texts[:2], previews) || strings.TrimSpace(texts[2]+texts[3]) != strings.TrimSpace(answer) || !slices.Equal(texts[4:], []string{"a notice", leftMark}) {
				t.Errorf("c shows %q", texts)
			}
		})
	}
}

func TestAFailingEditIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("some")
		time.Sleep(1500 * time.Millisecond)
		f.script(failing("edit", errBusy, errLost, errBusy))
		a.Text(" words")
		time.Sleep(4 * time.Second)
		w.finish(a, "some words, all of them")
		w.expect("c", "some words, all of them")
		if len(f.all()) != 1 {
			t.Errorf("%d messages", len(f.all()))
		}
	})
}

func TestAPreviewStopsAfterManyFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		tries := 0
		f.script(func(op string, p core.Post) fault {
			tries++
			return fault{err: errBusy}
		})
		w, a := writing(t, f, nil)
		defer w.stop()
		for range 100 {
			a.Text("word ")
			time.Sleep(time.Second)
		}
		if tries != maxPreviewFailures {
			t.Errorf("%d tries", tries)
		}
		f.script(nil)
		w.finish(a, "the answer")
		w.expect("c", "the answer")
	})
}

func TestAPreviewWaitsAsLongAsThePlatformAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(failing("post", &core.SendError{RetryAfter: 10 * time.Second, Err: errors.New("rate limit")}))
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("some words")
		time.Sleep(10900 * time.Millisecond)
		w.expect("c")
		time.Sleep(200 * time.Millisecond)
		w.expect("c", "some words")
		w.finish(a, "some words")
	})
}

func TestMessagesThatTheFinalTextDoesNotNeedAreTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.limits.MaxText = 20
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("let me think about it and go and see")
		time.Sleep(2 * time.Second)
		if len(f.all()) != 2 {
			t.Fatalf("the preview has %d messages", len(f.all()))
		}
		w.finish(a, "done")
		w.expect("c", "done")
		if got := w.row(2).State; got != Withdrawn {
			t.Errorf("the second row is %s", got)
		}
	})
}
