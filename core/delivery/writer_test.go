package delivery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// writing starts a process and the answer of a turn.
func writing(t *testing.T, f *fake, change func(*WriterConfig)) (*world, *Writer) {
	return writingOn(t, &memory{}, f, change)
}

func writingOn(t *testing.T, m *memory, p core.Platform, change func(*WriterConfig)) (*world, *Writer) {
	w := start(t, m, p)
	c := WriterConfig{Session: core.Key{Agent: "main", Thread: "c"}, Turn: "t1", Target: target("c"), ReplyTo: ModeFirst, Streaming: true}
	if change != nil {
		change(&c)
	}
	return w, w.Writer(c)
}

// finish is what a session does at the end of a turn.
func (w *world) finish(a *Writer, text string) {
	w.say(a.Finish(text)...)
	a.Close()
	w.flush()
}

func TestAShortAnswerHasNoPreview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("hel")
		time.Sleep(999 * time.Millisecond)
		a.Text("lo")
		if a.Shown() {
			t.Error("shown before the time")
		}
		w.finish(a, "hello")
		w.expect("c", "hello")
		if m := f.all()[0]; len(m.edits) != 0 || !m.link {
			t.Errorf("the message is %+v", m)
		}
	})
}

func TestAPreviewGrowsAtThePaceOfThePlatform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w, a := writing(t, f, nil)
		defer w.stop()
		begun := time.Now()
		var all strings.Builder
		for i := range 60 { // 6 s
			word := fmt.Sprintf("word%d ", i)
			all.WriteString(word)
			a.Text(word)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(5 * time.Second) // a pause of the model
		synctest.Wait()
		w.expect("c", all.String())
		edits := len(f.all()[0].edits)
		time.Sleep(5 * time.Second)
		if got := len(f.all()[0].edits); got != edits {
			t.Errorf("%d edits without new text", got-edits)
		}
		w.finish(a, all.String()+"end")
		m := f.all()[0]
		w.expect("c", all.String()+"end")
		if got := m.posted.Sub(begun); got != f.limits.FirstPreview {
			t.Errorf("the first post came after %v", got)
		}
		last := m.posted
		for _, at := range m.edits {
			if at.Sub(last) < f.limits.EditEvery {
				t.Errorf("edits at %v and %v", last, at)
			}
			last = at
		}
		for i := range m.texts[1:] {
			if m.texts[i] == m.texts[i+1] {
				t.Errorf("the text %q was shown twice", m.texts[i])
			}
		}
		if len(f.all()) != 1 || !m.link || w.row(1).State != Sent {
			t.Errorf("%d messages, the first %+v, row %+v", len(f.all()), m, w.row(1))
		}
		if len(w.shown) != 0 {
			t.Errorf("the sender still keeps %v", w.shown)
		}
	})
}

func TestAFinalTextThatIsShownAlreadyIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("all of it")
		time.Sleep(2 * time.Second)
		w.finish(a, "all of it")
		w.expect("c", "all of it")
		if m := f.all()[0]; len(m.edits) != 0 || w.row(1).State != Sent {
			t.Errorf("%d edits, row %+v", len(m.edits), w.row(1))
		}
	})
}

func TestTheIntentIsStoredBeforeThePreviewIsPosted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFake(), &memory{}
		w, a := writingOn(t, m, f, nil)
		defer w.stop()
		f.script(func(op string, p core.Post) fault {
			m.mu.Lock()
			defer m.mu.Unlock()
			if r := m.rows[0]; r.State != Preview || r.PlatformID != "" || r.Post.Text != "" || r.Post.Nonce != p.Nonce {
				t.Errorf("before the post the row is %+v", r)
			}
			return fault{}
		})
		a.Text("hello")
		time.Sleep(1500 * time.Millisecond)
		f.script(nil)
		if r := w.row(1); r.State != Preview || r.PlatformID != "m1" {
			t.Errorf("after the post the row is %+v", r)
		}
		w.finish(a, "hello")
	})
}

func TestDiscard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("from the first model")
		time.Sleep(900 * time.Millisecond)
		if !a.Discard() {
			t.Error("unseen text was not discarded")
		}
		time.Sleep(time.Second)
		w.expect("c")
		a.Text("from the second")
		time.Sleep(999 * time.Millisecond)
		w.expect("c")
		f.script(func(op string, p core.Post) fault { return fault{delay: time.Second} })
		time.Sleep(2 * time.Millisecond)
		if a.Discard() || !a.Shown() {
			t.Error("text on its way was discarded")
		}
		time.Sleep(2 * time.Second)
		w.expect("c", "from the second")
		if a.Discard() || !a.Shown() {
			t.Error("text that was shown was discarded")
		}
		w.finish(a, "from the second, all")
		w.expect("c", "from the second, all")
	})
}

func TestAPreviewThatFailsGivesTheSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(failing("post", errBusy))
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("one")
		time.Sleep(1100 * time.Millisecond)
		if r := w.row(1); r.State != Queued {
			t.Errorf("the row is %s", r.State)
		}
		if a.Shown() || !a.Discard() {
			t.Error("what could not be posted counts as shown")
		}
		a.Text("two")
		w.finish(a, "two")
		w.expect("c", "two")
		if !f.all()[0].link {
			t.Error("the answer has no link")
		}
	})
}

func TestAPreviewThatMayBeThereCountsAsShown(t *testing.T) {
	for _, done := range []bool{true, false} {
		for _, find := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				lost := false
				f.script(func(op string, p core.Post) fault {
					if op == "post" && !lost {
						lost = true
						return fault{err: errLost, done: done}
					}
					return fault{}
				})
				var p core.Platform = f
				if find {
					f.loose = true
					p = &finder{fake: f}
				}
				w, a := writingOn(t, &memory{}, p, nil)
				defer w.stop()
				a.Text("one")
				time.Sleep(1100 * time.Millisecond)
				if !a.Shown() || a.Discard() {
					t.Error("what may be shown was discarded")
				}
				time.Sleep(5 * time.Second)
				w.expect("c", "one")
				a.Text(" two")
				time.Sleep(5 * time.Second)
				w.expect("c", "one two")
				w.finish(a, "one two three")
				w.expect("c", "one two three")
			})
		}
	}
}

func TestAFinalTextMeetsAPreviewThatMayBeThere(t *testing.T) {
	for _, done := range []bool{true, false} {
		for _, find := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				lost := false
				f.script(func(op string, p core.Post) fault {
					if op == "post" && !lost {
						lost = true
						return fault{err: errLost, done: done}
					}
					return fault{}
				})
				var p core.Platform = f
				if find {
					f.loose = true
					p = &finder{fake: f}
				}
				w, a := writingOn(t, &memory{}, p, nil)
				defer w.stop()
				a.Text("one")
				time.Sleep(1100 * time.Millisecond)
				w.finish(a, "one two")
				w.expect("c", "one two")
				for _, m := range f.all() {
					for _, at := range m.edits {
						if at.Sub(m.posted) < f.limits.EditEvery {
							t.Errorf("edited %v after the post", at.Sub(m.posted))
						}
					}
				}
			})
		}
	}
}

// A message that may be there does not go away by a later failure.
func TestAFailureAfterALostAnswerProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		faults := []fault{{err: errLost, done: true}, {err: errBusy}}
		f.script(func(op string, p core.Post) fault {
			if op != "post" || len(faults) == 0 {
				return fault{}
			}
			next := faults[0]
			faults = faults[1:]
			return next
		})
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("one")
		time.Sleep(3 * time.Second)
		if !a.Shown() || w.row(1).State != Preview {
			t.Errorf("shown %v, row %s", a.Shown(), w.row(1).State)
		}
		a.Text(" two")
		w.finish(a, "one two")
		w.expect("c", "one two")
	})
}

// A preview that nobody tells the next run of is found all the same.
func TestAForgottenPreviewIsNotPostedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFake(), &memory{}
		f.loose = true
		old, a := writingOn(t, m, &finder{fake: f}, nil)
		f.script(func(op string, p core.Post) fault { // it dies before it notes the post
			old.handle.mu.Lock()
			defer old.handle.mu.Unlock()
			old.dead = true
			return fault{}
		})
		a.Text("the first run")
		time.Sleep(1100 * time.Millisecond)
		f.script(nil)
		old.kill()
		a.Close()
		w, b := writingOn(t, m, &finder{fake: f}, nil)
		defer w.stop()
		b.Text("the second")
		time.Sleep(3 * time.Second)
		w.expect("c", "the second")
		w.finish(b, "the second run")
		w.expect("c", "the second run")
	})
}

func TestALongAnswerGoesOnInNewMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.limits.MaxText = 60
		w, a := writing(t, f, nil)
		defer w.stop()
		var all strings.Builder
		for i := range 40 {
			s := fmt.Sprintf("line %d\n", i)
			all.WriteString(s)
			a.Text(s)
			time.Sleep(300 * time.Millisecond)
		}
		if got := len(f.texts("c")); got < 3 {
			t.Errorf("%d messages while it grows", got)
		}
		w.finish(a, all.String())
		if got := strings.Join(f.texts("c"), ""); got != all.String() {
			t.Errorf("got %q", got)
		}
		for i, m := range f.all() {
			if m.link != (i == 0) {
				t.Errorf("message %d: link %v", i, m.link)
			}
		}
	})
}

func TestAnAnswerThatIsTooLongForThePlaceIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.limits.MaxText, f.limits.MaxParts = 200, 3
		w, a := writing(t, f, nil)
		defer w.stop()
		w.finish(a, "```\n"+strings.Repeat("a line of code\n", 100)+"```\n")
		got := f.texts("c")
		if len(got) != 3 || !strings.HasSuffix(got[2], "```\n\n"+cutMark) {
			t.Errorf("got %q", got)
		}
	})
}

// What a model writes steers nobody's terminal, in a preview or at the end.
func TestControlCharactersAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w, a := writing(t, f, nil)
		defer w.stop()
		const text = "one\x1b]0;title\a\r\ntwo\x00 three"
		a.Text(text)
		time.Sleep(2 * time.Second)
		w.expect("c", "one]0;title\ntwo three")
		w.finish(a, text+"\u009b2J.")
		w.expect("c", "one]0;title\ntwo three2J.")
	})
}

func TestNothingToSay(t *testing.T) {
	for _, text := range []string{"NO_REPLY", " NO_REPLY\n", "", "\n", "\x00\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			w, a := writing(t, f, nil)
			defer w.stop()
			for _, c := range text {
				a.Text(string(c))
				time.Sleep(2 * time.Second)
			}
			if rows := a.Finish(text); rows != nil {
				t.Errorf("%q gives %+v", text, rows)
			}
			a.Close()
			if len(f.all())+len(w.rows) != 0 {
				t.Errorf("%q was posted: %q", text, f.texts("c"))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("NO_")
		time.Sleep(2 * time.Second)
		w.expect("c")
		a.Text("problem")
		time.Sleep(2 * time.Second)
		w.expect("c", "NO_problem")
		w.finish(a, "NO_problem")
	})
}

func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("some ")
		time.Sleep(2 * time.Second)
		a.Text("words")
		w.say(append(a.Interrupt(), row("c", "t1", core.PostError, 0, "it broke"))...)
		a.Close()
		w.flush()
		w.expect("c", "some words\n\n"+interruptedMark, "it broke")
	})
	synctest.Test(t, func(t *testing.T) {
		w, a := writing(t, newFake(), nil)
		defer w.stop()
		a.Text("nobody saw it")
		if rows := a.Interrupt(); rows != nil {
			t.Errorf("rows of an answer that nobody saw: %+v", rows)
		}
		a.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.limits.MaxText = 40
		w, a := writing(t, f, nil)
		defer w.stop()
		full := strings.Repeat("x", 40)
		a.Text(full)
		time.Sleep(2 * time.Second)
		w.say(a.Interrupt()...)
		a.Close()
		w.flush()
		w.expect("c", full, interruptedMark)
	})
}

func TestAPreviewWaitsForEarlierPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(failing("post", errBusy, errBusy))
		w, a := writing(t, f, nil)
		defer w.stop()
		w.say(row("c", "t0", core.PostAnswer, 0, "earlier"))
		a.Text("later")
		time.Sleep(2 * time.Second)
		w.expect("c")
		time.Sleep(4 * time.Second)
		w.expect("c", "earlier", "later")
		w.finish(a, "later")
	})
}

func TestWithoutStreaming(t *testing.T) {
	for name, change := range map[string]func(*fake, *WriterConfig){
		"switched off": func(_ *fake, c *WriterConfig) { c.Streaming = false },
		"not possible": func(f *fake, _ *WriterConfig) { f.limits.EditEvery = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				w, a := writing(t, f, func(c *WriterConfig) { change(f, c) })
				defer w.stop()
				a.Text("some")
				time.Sleep(time.Minute)
				w.expect("c")
				if a.Shown() {
					t.Error("it was shown")
				}
				w.finish(a, "some words")
				w.expect("c", "some words")
			})
		})
	}
}

func TestLinks(t *testing.T) {
	for mode, want := range map[Mode][]bool{
		ModeOff:   {false, false, false},
		ModeFirst: {true, false, false},
		ModeAll:   {true, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.limits.MaxText = 20
			w, a := writing(t, f, func(c *WriterConfig) { c.ReplyTo = mode })
			defer w.stop()
			w.say(append(a.Finish("some words that need two posts"), row("c", "t1", core.PostNotice, 0, "notice"))...)
			a.Close()
			w.flush()
			var got []bool
			for _, m := range f.all() {
				got = append(got, m.link)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: links %v, want %v", mode, got, want)
			}
		})
	}
}

func TestCloseLeavesThePreviewToTheNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("some")
		time.Sleep(2 * time.Second)
		a.Close()
		a.Close()
		a.Text("more")
		time.Sleep(2 * time.Second)
		w.expect("c", "some")
		if got := w.row(1).State; got != Preview {
			t.Errorf("the row is %s", got)
		}
		w.Remove(context.Background(), w.row(1))
		w.expect("c")
		if got := w.row(1).State; got != Withdrawn {
			t.Errorf("the row is %s", got)
		}
	})
}
