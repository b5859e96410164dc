package delivery

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// links are the messages of a channel that are there and carry the link.
func (f *fake) links() (texts []string) {
	for _, m := range f.all() {
		if m.link && !m.deleted {
			texts = append(texts, m.text)
		}
	}
	return texts
}

// A file and a text that is too long for one message: the file and the link go
// with the first piece, and with no other.
func TestP003(t *testing.T) {
	for _, long := range []bool{false, true} { // the platform counts more than it says
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.limits.MaxFile = 100
			if long {
				f.script(func(op string, p core.Post) fault {
					if len(p.Text) > 1000 {
						return fault{err: errLong}
					}
					return fault{}
				})
			}
			w := start(t, &memory{}, f)
			defer w.stop()
			r := row("c", "t1", core.PostAnswer, 0, strings.Repeat("a long caption. ", 313))
			r.Post.Link, r.Post.Files = true, []core.File{{Name: "a.png", MIME: "image/png", Data: []byte("png")}}
			w.say(r, row("c", "t1", core.PostAnswer, 1, "A second message."))
			w.flush()
			if len(f.all()) < 4 || strings.Join(f.texts("c"), "") != r.Post.Text+"A second message." {
				t.Fatalf("%d messages", len(f.all()))
			}
			for i, m := range f.all() {
				if m.link != (i == 0) || (len(m.files) == 1) != (i == 0) {
					t.Errorf("message %d: link %v, %d files", i, m.link, len(m.files))
				}
			}
		})
	}
}

// A first send that fails gives the slot back: whatever part is sent first
// carries the link, and only what the platform confirmed counts.
func TestP005(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.limits.MaxText = 10
		f.script(failing("post", errBusy))
		w, a := writing(t, f, nil)
		defer w.stop()
		rows := w.say(a.Finish("one two. three.")...)
		a.Close()
		synctest.Wait()
		if r := w.row(rows[0].ID); r.State == Sent || !r.Post.Link {
			t.Errorf("after the failure the row is %+v", r)
		}
		w.flush()
		w.expect("c", "one two. ", "three.")
		if got := f.links(); !slices.Equal(got, []string{"one two. "}) {
			t.Errorf("the link is on %q", got)
		}
		if r := w.row(rows[0].ID); r.State != Sent {
			t.Errorf("after the second try the row is %+v", r)
		}
	})
}

// Whether a notice may be shown is asked last of all, whichever way it came: from
// a turn, from an earlier process that had not sent it, or from one that may
// have.
func TestP052(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFake(), &memory{}
		h := &handle{memory: m}
		for part, state := range []State{Queued, Sending} {
			r := row("c", "t1", core.PostNotice, part, "queued earlier")
			r.State = state
			h.commit(t, r)
		}
		w := startWith(t, m, f, func(c *Config) { c.Wanted = func(p core.Post) bool { return p.Kind != core.PostNotice } })
		defer w.stop()
		w.say(row("c", "t2", core.PostAnswer, 0, "An answer."), row("c", "t2", core.PostNotice, 0, "a notice"))
		w.flush()
		w.expect("c", "An answer.")
		if len(f.all()) != 1 {
			t.Errorf("posted %q", f.texts("c"))
		}
		for _, r := range m.rows {
			if want := map[core.PostKind]State{core.PostAnswer: Sent, core.PostNotice: Withdrawn}[r.Post.Kind]; r.State != want {
				t.Errorf("the %s of %s is %s, want %s", r.Post.Kind, r.Turn, r.State, want)
			}
		}
	})
}

// An answer that comes late goes where its turn was asked, whatever was said
// since; after the end of its turn nothing of it is shown any more.
func TestP032(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := start(t, &memory{}, f)
		defer w.stop()
		at := func(channel, turn string) *Writer {
			return w.Writer(WriterConfig{Turn: turn, Target: target(channel), ReplyTo: ModeFirst, Streaming: true})
		}
		a := at("a", "t1")
		a.Text("late")
		b := at("b", "t2")
		b.Text("B")
		w.say(b.Finish("B")...)
		b.Close()
		w.say(a.Finish("late answer")...)
		a.Close()
		a.Text("later still")
		time.Sleep(time.Minute)
		w.flush()
		w.expect("a", "late answer")
		w.expect("b", "B")
	})
}

// A model that fails after people saw a part of its answer: that part and one
// error, never a second answer.
func TestP053(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("Hello wor")
		time.Sleep(2 * time.Second)
		if a.Discard() {
			t.Fatal("what people saw was taken back for another model")
		}
		w.say(append(a.Interrupt(), row("c", "t1", core.PostError, 0, "No answer."))...)
		a.Close()
		w.flush()
		w.expect("c", "Hello wor\n\n"+interruptedMark, "No answer.")
	})
}

// What is said after an answer leaves the answer alone.
func TestP144(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w, a := writing(t, f, nil)
		defer w.stop()
		a.Text("do")
		time.Sleep(2 * time.Second)
		w.say(append(a.Finish("done"), row("c", "t1", core.PostNotice, 0, "a tool had trouble"))...)
		a.Close()
		w.flush()
		f.script(func(op string, p core.Post) fault {
			if op == "edit" || op == "delete" {
				t.Errorf("%s after the answer", op)
			}
			return fault{}
		})
		w.say(row("c", "t1", core.PostError, 0, "a warning"))
		w.Remove(t.Context(), w.row(1)) // nobody takes away what was sent
		w.flush()
		w.expect("c", "done", "a tool had trouble", "a warning")
		if got := f.links(); !slices.Equal(got, []string{"done"}) {
			t.Errorf("the link is on %q", got)
		}
		if m := f.all()[0]; len(m.edits) != 1 || !m.link || w.row(1).State != Sent {
			t.Errorf("the answer was edited %d times, its row is %s", len(m.edits), w.row(1).State)
		}
	})
}

// An answer that took long is a new message with the link, and its preview
// goes; one that was quick stays where it is.
func TestP149(t *testing.T) {
	for _, long := range []time.Duration{30 * time.Second, 3 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.limits.MaxText = 40
			posts, deletions := 0, 0
			f.script(func(op string, _ core.Post) fault {
				switch op {
				case "post":
					posts++
				case "delete": // of a preview, once its successor is there
					if deletions++; deletions > posts-2 {
						t.Errorf("preview %d was taken away after %d posts", deletions, posts)
					}
				}
				return fault{}
			})
			w, a := writing(t, f, func(c *WriterConfig) { c.Repost = time.Minute })
			defer w.stop()
			a.Text("It takes a while. This is thought about.")
			time.Sleep(long)
			a.Text(" And more of it.")
			time.Sleep(2 * time.Second)
			final := "It took a while, and this is the answer. The end."
			w.finish(a, final)
			if got := strings.Join(f.texts("c"), ""); got != final || len(f.texts("c")) != 2 {
				t.Errorf("the messages are %q", f.texts("c"))
			}
			if got := len(f.all()); (got == 4) != (long > time.Minute) || deletions != got-2 {
				t.Errorf("%d messages after %v, %d deletions", got, long, deletions)
			}
			if got := f.links(); len(got) != 1 || !strings.HasPrefix(final, got[0]) {
				t.Errorf("the link is on %q", got)
			}
		})
	}
}

// No indication is sent once the answer is; one under way is waited for. At the
// tick of the refresh itself it may be sent or not.
func TestP154(t *testing.T) {
	const slow = 150 * time.Millisecond
	for after, refreshes := range map[time.Duration][]int{slow - 1: {0}, slow: {0, 1}, slow + slow/2: {1}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			posted := false
			f.script(func(op string, p core.Post) fault {
				switch op {
				case "post":
					posted = true
				case "working":
					if posted {
						t.Error("the indicator was changed after the answer was sent")
					}
					return fault{delay: slow, deaf: true}
				}
				return fault{}
			})
			w, a := writing(t, f, nil)
			defer w.stop()
			stop := w.Working(target("c"))
			time.Sleep(typingEvery + after)
			stop()
			w.finish(a, "the answer")
			time.Sleep(time.Minute)
			got := f.indications()
			if n := len(got); n < 2 || !slices.Contains(refreshes, n-2) || got[n-1] != "off c" {
				t.Errorf("stopped %v after the refresh was due, the indications are %q", after-slow, got)
			}
		})
	}
}

// A refresh that arrives late is followed by an end.
func TestP151(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		begun := time.Now()
		f.script(func(op string, p core.Post) fault {
			if op == "working" && time.Since(begun) == typingEvery {
				return fault{delay: 2 * time.Second, deaf: true}
			}
			return fault{}
		})
		w, a := writing(t, f, nil)
		defer w.stop()
		stop := w.Working(target("c"))
		time.Sleep(typingEvery + time.Millisecond)
		stop()
		w.finish(a, "May I?")
		time.Sleep(time.Minute)
		if got := f.indications(); len(got) != 3 || got[2] != "off c" {
			t.Errorf("the indications are %q", got)
		}
	})
}

// A final edit that fails for good: the preview goes, and one new message takes
// its place and its link.
func TestP172(t *testing.T) {
	for name, fails := range map[string]func(op string) []error{
		"the message is gone": func(op string) []error { return map[string][]error{"edit": {errGone}}[op] },
		"no edits any more":   func(op string) []error { return map[string][]error{"edit": {errGone, errGone}}[op] },
		"it goes with patience": func(op string) []error {
			return map[string][]error{"edit": {errGone}, "delete": {errBusy, errLost}}[op]
		},
		"the new one is lost": func(op string) []error { return map[string][]error{"edit": {errGone}, "post": {errLost, errBusy}}[op] },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				w, a := writing(t, f, nil)
				defer w.stop()
				a.Text("some")
				time.Sleep(2 * time.Second)
				left := map[string][]error{}
				for _, op := range []string{"post", "edit", "delete"} {
					left[op] = fails(op)
				}
				f.script(func(op string, p core.Post) fault {
					if len(left[op]) == 0 {
						return fault{}
					}
					err := left[op][0]
					left[op] = left[op][1:]
					return fault{err: err, done: errors.Is(err, errLost)}
				})
				w.finish(a, "some words")
				w.expect("c", "some words")
				if got := f.links(); !slices.Equal(got, []string{"some words"}) {
					t.Errorf("the link is on %q", got)
				}
			})
		})
	}
}

// The process dies while a new message takes the place of another.
func TestACrashWhileAMessageIsReplaced(t *testing.T) {
	for _, op := range []string{"edit", "post", "delete"} {
		for _, done := range []bool{false, true} {
			for _, find := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					f, m := newFake(), &memory{}
					var p core.Platform = f
					if find {
						f.loose = true
						p = &finder{fake: f}
					}
					old, a := writingOn(t, m, p, nil)
					a.Text("some")
					time.Sleep(2 * time.Second)
					f.script(func(got string, p core.Post) fault {
						if got == op {
							old.handle.mu.Lock()
							defer old.handle.mu.Unlock()
							old.dead = true
							return fault{err: errLost, done: done && op != "edit"}
						}
						if got == "edit" {
							return fault{err: errGone}
						}
						return fault{}
					})
					old.say(a.Finish("some words")...)
					a.Close()
					time.Sleep(time.Second)
					old.kill()
					f.script(func(got string, p core.Post) fault {
						if got == "edit" {
							return fault{err: errGone}
						}
						return fault{}
					})
					w := start(t, m, p)
					defer w.stop()
					w.flush()
					w.expect("c", "some words")
					if got := f.links(); !slices.Equal(got, []string{"some words"}) {
						t.Errorf("%s, done %v, find %v: the link is on %q", op, done, find, got)
					}
				})
			}
		}
	}
}

// Turns without a text show nothing, however long they take.
func TestP173(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := rotating()
		w, a := writing(t, f, nil)
		defer w.stop()
		stop := w.Working(target("c"))
		for _, piece := range []string{"", " ", "\n", "NO", "_REPLY"} {
			a.Text(piece)
			time.Sleep(time.Minute)
		}
		stop()
		w.finish(a, " \nNO_REPLY")
		if len(f.all()) != 0 || len(w.memory.rows) != 0 {
			t.Errorf("it shows %q", f.texts("c"))
		}
		if got := f.indications(); got[len(got)-1] != "off c" {
			t.Errorf("the indications end in %q", got[len(got)-1])
		}
	})
}

// Each planned part is sent once, with a nonce of its own and within the limit.
func TestP132(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.limits.MaxFile = 100
		w, a := writing(t, f, nil)
		defer w.stop()
		span := "`" + strings.Repeat("code ", 24)[:118] + "`"
		text := strings.Repeat("words of it. ", 154)[:1990] + " " + span + "\n\n> quoted\n\n- item\n\n  second paragraph"
		w.finish(a, text)
		nonces := map[string]bool{}
		whole := 0
		for i, m := range f.all() {
			if nonces[m.nonce] || len(m.text) > 2000 || m.link != (i == 0) {
				t.Errorf("message %d: nonce %q, %d characters, link %v", i, m.nonce, len(m.text), m.link)
			}
			nonces[m.nonce] = true
			whole += strings.Count(m.text, span)
		}
		if len(f.all()) != 2 || whole != 1 || strings.Join(f.texts("c"), "") != text {
			t.Errorf("the messages are %q", f.texts("c"))
		}
	})
}

func TestAnAnswerThatIsTooLongComesAsAFile(t *testing.T) {
	for _, c := range []struct {
		name      string
		maxFile   int
		streaming bool
		refuse    bool
		mark      string
	}{
		{"a file", 10_000, false, false, fileMark},
		{"a file after a preview", 10_000, true, false, fileMark},
		{"no files there", 0, true, false, cutMark},
		{"larger than a file may be", 100, false, false, cutMark},
		{"files are refused", 10_000, true, true, cutMark},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.limits.MaxText, f.limits.MaxParts, f.limits.MaxFile = 200, 3, c.maxFile
				f.script(func(op string, p core.Post) fault {
					if len(p.Files) > 0 && c.refuse {
						return fault{err: errGone}
					}
					return fault{}
				})
				w, a := writing(t, f, func(x *WriterConfig) { x.Streaming = c.streaming })
				defer w.stop()
				var text strings.Builder
				for i := range 60 {
					line := fmt.Sprintf("This is line %d.\n", i)
					text.WriteString(line)
					a.Text(line)
					time.Sleep(100 * time.Millisecond)
				}
				w.finish(a, text.String())
				got := f.texts("c")
				if len(got) != 3 || !strings.HasSuffix(got[2], "\n\n"+c.mark) {
					t.Fatalf("the messages are %q", got)
				}
				for _, m := range f.all() {
					switch last := m.text == got[2] && !m.deleted; {
					case !last || c.mark != fileMark:
						if len(m.files) != 0 {
							t.Errorf("files with %q", m.text)
						}
					case len(m.files) != 1 || m.files[0].Name != "answer.md" || string(m.files[0].Data) != text.String():
						t.Errorf("the files are %+v", m.files)
					}
				}
				if got := f.links(); len(got) != 1 {
					t.Errorf("the link is on %q", got)
				}
			})
		})
	}
}
