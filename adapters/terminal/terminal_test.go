package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"understudy/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// paper is an output that is written and read at once.
type paper struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// talk is a terminal with a bot behind it.
type talk struct {
	*Terminal
	t      *testing.T
	paper  *paper
	answer func(core.Message) // in a goroutine of its own
	busy   sync.WaitGroup
	heard  []string
	keys   io.WriteCloser // what somebody types
	ctrlC  chan os.Signal
	err    error
	done   chan struct{}
}

// newTalk starts a talk; a nil input is somebody who types.
func newTalk(t *testing.T, c Config, answer func(x *talk, m core.Message)) *talk {
	x := &talk{t: t, paper: &paper{}, ctrlC: make(chan os.Signal), done: make(chan struct{})}
	if c.In == nil {
		c.In, x.keys = io.Pipe()
	}
	c.Out, c.Name, c.User, c.Interrupts = x.paper, "chat", "ann", x.ctrlC
	c.Idle = func(context.Context) error { x.busy.Wait(); return nil }
	x.Terminal = New(c)
	x.answer = func(m core.Message) { answer(x, m) }
	go func() {
		defer close(x.done)
		x.err = x.Run(t.Context(), x)
	}()
	t.Cleanup(x.end) // also after a failure: the bubble must empty
	synctest.Wait()
	return x
}

func (x *talk) types(line string) {
	x.t.Helper()
	if _, err := io.WriteString(x.keys, line+"\n"); err != nil {
		x.t.Fatal(err)
	}
	synctest.Wait()
}

func (x *talk) end() {
	if x.keys != nil {
		x.keys.Close()
	}
	<-x.done
}

func (x *talk) shows(want string) {
	x.t.Helper()
	synctest.Wait()
	if got := x.paper.String(); got != want {
		x.t.Fatalf("the terminal shows\n%q\nwant\n%q", got, want)
	}
}

func (x *talk) Message(_ context.Context, m core.Message) error {
	x.heard = append(x.heard, m.Text)
	if !m.Addressed || m.Author.ID != "ann" || m.Thread() != Target("chat").Thread {
		x.t.Errorf("an odd message: %+v", m)
	}
	x.busy.Go(func() { x.answer(m) })
	return nil
}

func (*talk) Change(context.Context, core.Change) error { return nil }
func (*talk) Command(context.Context, core.Invocation) (core.Reply, error) {
	return core.Reply{}, nil
}
func (*talk) Complete(context.Context, core.Invocation) ([]core.Choice, error) { return nil, nil }

// says posts, and post gives the id.
func (x *talk) says(kind core.PostKind, text string) string {
	posted, err := x.Post(context.Background(), core.Post{Kind: kind, Text: text})
	if err != nil {
		x.t.Error(err)
	}
	return posted.ID
}

func (x *talk) edits(id, text string) {
	if err := x.Edit(context.Background(), id, core.Post{Kind: core.PostAnswer, Text: text}); err != nil {
		x.t.Error(err)
	}
}

// An answer grows in its place; a notice stands below it, and the prompt comes
// back when all is said.
func TestAnswerGrowsInPlace(t *testing.T) {
	for _, c := range []struct {
		color               bool
		status, notice, bad string
	}{
		{false, "still trying", "another model", "no answer"},
		{true, "\x1b[2mstill trying\x1b[0m", "\x1b[2manother model\x1b[0m", "\x1b[31mno answer\x1b[0m"},
	} {
		synctest.Test(t, func(t *testing.T) {
			x := newTalk(t, Config{Color: c.color}, func(x *talk, m core.Message) {
				if m.Text == "fail" {
					x.says(core.PostError, "no answer")
					return
				}
				x.says(core.PostStatus, "still trying")
				id := x.says(core.PostAnswer, "Hel")
				time.Sleep(time.Second)
				x.edits(id, "Hello, wör")
				time.Sleep(time.Second)
				x.edits(id, "Hello, wörld")
				x.edits(id, "Hello, wörld")
				x.says(core.PostNotice, "another model")
			})
			x.shows("> ")
			x.types("hi")
			x.shows("> " + c.status + "\nHel")
			time.Sleep(time.Second)
			x.shows("> " + c.status + "\nHello, wör")
			time.Sleep(time.Second)
			x.shows("> " + c.status + "\nHello, wörld\n" + c.notice + "\n> ")
			x.types("fail")
			x.shows("> " + c.status + "\nHello, wörld\n" + c.notice + "\n> " + c.bad + "\n> ")
		})
	}
}

// What changes other than by growing is told again, below.
func TestEditsThatDoNotGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTalk(t, Config{}, nil)
		id := x.says(core.PostAnswer, "one")
		x.edits(id, "two")
		other := x.says(core.PostAnswer, "three")
		x.edits(id, "two and a half")
		x.edits(other, "three")
		x.End()
		x.shows("> one\ntwo\nthree\ntwo and a half\nthree\n")
	})
}

func TestModelsCannotSteerTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTalk(t, Config{Color: true}, nil)
		id := x.says(core.PostAnswer, "a\tb\x1b[2J")
		x.edits(id, "a\tb\x1b[2J\r\n\u009bc\x07")
		x.says(core.PostError, "\x1b]52;c;aGk=\x07")
		x.shows("> a\tb\uFFFD[2J\uFFFD\n\uFFFDc\uFFFD\n\x1b[31m\uFFFD]52;c;aGk=\uFFFD\x1b[0m\n")
	})
}

// Lines that do not come from a person are answered one after the other, and
// stand in the output.
func TestScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTalk(t, Config{Script: true, In: strings.NewReader("one\n\n:local\ntwo"), Local: func(line string) (string, bool) {
			return "by itself", line == ":local"
		}}, func(x *talk, m core.Message) {
			time.Sleep(time.Second)
			x.says(core.PostAnswer, "answer to "+m.Text)
		})
		<-x.done
		if x.err != nil {
			t.Fatal(x.err)
		}
		x.shows("> one\nanswer to one\n> \n> :local\nby itself\n> two\nanswer to two\n")
	})
}

// Somebody who types need not wait; the end of the input does, for the last
// answer.
func TestTypingAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTalk(t, Config{}, func(x *talk, m core.Message) {
			time.Sleep(time.Second)
			x.says(core.PostAnswer, "answer to "+m.Text)
		})
		x.types("one")
		x.types("/status")
		if fmt.Sprint(x.heard) != "[one /status]" {
			t.Fatalf("heard %q", x.heard)
		}
		x.end()
		if !strings.HasSuffix(x.paper.String(), "\n") || strings.Count(x.paper.String(), "answer to") != 2 {
			t.Fatalf("%q", x.paper)
		}
	})
}

func TestCtrlC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		x := newTalk(t, Config{}, func(x *talk, m core.Message) {
			if m.Text == "/stop" {
				close(stop)
				return
			}
			<-stop
			x.says(core.PostCommand, "Stopped.")
		})
		x.types("hi")
		x.ctrlC <- os.Interrupt
		x.shows("> Stopped.\n> ")
		if fmt.Sprint(x.heard) != "[hi /stop]" {
			t.Fatalf("heard %q", x.heard)
		}
		x.ctrlC <- os.Interrupt
		<-x.done
		if x.err != nil {
			t.Fatal(x.err)
		}
		x.shows("> Stopped.\n> \n")
	})
}

func TestEndsOfATalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTalk(t, Config{}, nil)
		x.types("/quit")
		<-x.done
		if x.err != io.EOF || len(x.heard) > 0 {
			t.Errorf("/quit: %v after %q", x.err, x.heard)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the line is cut")
		x := newTalk(t, Config{In: iotest.ErrReader(broken)}, nil)
		<-x.done
		if !errors.Is(x.err, broken) {
			t.Errorf("a broken input: %v", x.err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		x := newTalk(t, Config{In: strings.NewReader("")}, nil)
		<-x.done
		if x.err != nil {
			t.Errorf("an empty input: %v", x.err)
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestBrokenOutput(t *testing.T) {
	for name, p := range map[string]core.Platform{"text": New(Config{Out: full{}}), "JSON": NewJSON(full{}, time.Now)} {
		var e *core.SendError
		if _, err := p.Post(t.Context(), core.Post{Kind: core.PostAnswer, Text: "x"}); !errors.As(err, &e) || !e.Permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (*talk) Press(context.Context, core.Press) (core.Reply, error)         { return core.Reply{}, nil }
func (*talk) Known(context.Context, core.Thread, core.Author) (bool, error) { return false, nil }
func (*talk) Knock(context.Context, core.Message) (string, error)           { return "", nil }

// A terminal drops what is too long for a line of its own, without a word; what
// comes from a file is not cut.
func TestALineThatTheTerminalCut(t *testing.T) {
	for _, c := range []struct {
		length int
		warned bool
	}{{longestTyped - 1, false}, {longestTyped, true}} {
		synctest.Test(t, func(t *testing.T) {
			x := newTalk(t, Config{}, func(*talk, core.Message) {})
			x.types(strings.Repeat("x", c.length))
			if len(x.heard) != 1 || strings.Contains(x.paper.String(), cutText) != c.warned {
				t.Errorf("%d bytes: heard %d, shown %q", c.length, len(x.heard), x.paper)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		x := newTalk(t, Config{Script: true, In: strings.NewReader(strings.Repeat("x", longestTyped))}, func(*talk, core.Message) {})
		x.end()
		if strings.Contains(x.paper.String(), cutText) {
			t.Error("a file is said to be cut")
		}
	})
}

// A line without an end is not read into memory: the talk ends with a word that
// says so.
func TestALineThatIsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTalk(t, Config{In: strings.NewReader(strings.Repeat("x", maxText+1))}, nil)
		<-x.done
		if x.err == nil || x.err.Error() != "a line of the terminal has more than 1 MiB; give a long text as a file" {
			t.Errorf("it ended with %v", x.err)
		}
	})
}
