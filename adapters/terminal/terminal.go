// Package terminal is the platform of "understudy chat": one conversation with
// one person, in a terminal or as lines of JSON.
//
// Answers appear while they are written; notices and statuses are a dim line
// each. Ctrl-C is /stop while an answer is being written and ends the program
// otherwise. Posts never fail, unless the output itself does. What is printed
// cannot steer the terminal.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"understudy/core"
)

// Config is how a terminal talks.
type Config struct {
	In   io.Reader
	Out  io.Writer
	Name string // of the conversation; part of the session's key
	User string // who types
	// Color dims notices and marks errors; leave it off where Out is no
	// terminal or NO_COLOR is set.
	Color bool
	// Local handles lines that are not for the bot, such as ":fail …", and
	// returns what to print.
	Local func(line string) (reply string, ok bool)
	// Script is set when the lines do not come from a person: each is answered
	// before the next one is read, and repeated behind the prompt.
	Script bool
	// Idle returns when nothing is being answered or sent.
	Idle func(context.Context) error
	// Interrupts is signalled by Ctrl-C.
	Interrupts <-chan os.Signal
	Now        func() time.Time
}

// Terminal is a conversation in a terminal. It implements [core.Platform].
type Terminal struct {
	c Config

	mu     sync.Mutex
	nextID int
	open   string // id of the post that is being written on the last line
	shown  string // its text
}

var _ core.Platform = (*Terminal)(nil)

// New makes a terminal; nothing is read before Run.
func New(c Config) *Terminal {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Terminal{c: c}
}

// maxText is more than anybody reads; a terminal has no limit of its own.
const maxText = 1 << 20

// Limits: previews come at once, since a terminal costs nothing.
func (t *Terminal) Limits(core.Thread) core.Limits {
	return core.Limits{
		MaxText: maxText, Count: func(s string) int { return len(s) }, MaxParts: 1,
		FirstPreview: time.Millisecond, EditEvery: 20 * time.Millisecond,
	}
}

// Target is the one place that a terminal has.
func Target(name string) core.Target {
	return core.Target{Thread: core.Thread{Platform: "terminal", Account: "local", Channel: name, Kind: core.KindDirect}}
}

// Message is a line that somebody typed.
func (t *Terminal) message(text string) core.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nextID++
	now := t.c.Now()
	return core.Message{
		ID:     strconv.FormatInt(now.UnixNano(), 36) + "-" + strconv.Itoa(t.nextID),
		Author: core.Author{ID: t.c.User, Name: t.c.User},
		Target: Target(t.c.Name), Text: text, At: now, Addressed: true,
	}
}

// longestTyped is how many bytes of a line a terminal on Linux passes on
// (N_TTY_BUF_SIZE less the line break); it drops the rest without a word.
const longestTyped = 4095

const cutText = "A terminal passes on 4,095 bytes of a line: the end of yours is probably missing. Longer text goes in with: understudy chat -m \"$(cat FILE)\""

// Run reads lines and hands them over until the input ends, the context does,
// or Ctrl-C comes while nothing is being answered. It waits for the last
// answer.
func (t *Terminal) Run(ctx context.Context, h core.Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan string)
	readErr := make(chan error, 1)
	go func() {
		s := bufio.NewScanner(t.c.In)
		s.Buffer(make([]byte, 64<<10), maxText)
		for s.Scan() {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
		readErr <- s.Err() // a line that is being read keeps this goroutine until the process ends
	}()
	idle := make(chan struct{}, 1)
	busy := 0
	wait := func() {
		busy++
		go func() {
			if t.c.Idle(ctx) != nil {
				return
			}
			select {
			case idle <- struct{}{}:
			case <-ctx.Done():
			}
		}()
	}
	t.prompt()
	ended := false
	defer t.End()
	for {
		lines := lines
		if t.c.Script && busy > 0 {
			lines = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case line := <-lines:
			if t.c.Script {
				t.print(line + "\n")
			} else if len(line) == longestTyped {
				t.print(t.dim(cutText) + "\n")
			}
			handled, err := t.line(ctx, h, line)
			if err != nil {
				return err
			}
			if handled {
				wait()
			} else if busy == 0 {
				t.prompt()
			}
		case <-idle:
			if busy--; busy > 0 {
				continue
			}
			if ended {
				return nil
			}
			t.prompt()
		case err := <-readErr:
			if errors.Is(err, bufio.ErrTooLong) {
				return fmt.Errorf("a line of the terminal has more than %d MiB; give a long text as a file", maxText>>20)
			}
			if err != nil {
				return fmt.Errorf("reading the terminal: %w", err)
			}
			if busy == 0 {
				return nil
			}
			ended = true
		case <-t.c.Interrupts:
			if busy == 0 {
				t.print("\n")
				return nil
			}
			if err := h.Message(ctx, t.message("/stop")); err != nil {
				return err
			}
		}
	}
}

// line hands one line over; false means that nothing was handed over.
func (t *Terminal) line(ctx context.Context, h core.Handler, line string) (bool, error) {
	line = strings.TrimSpace(line)
	switch {
	case core.Blank(line):
		return false, nil
	case line == "/quit" || line == "/exit":
		return false, io.EOF
	}
	if t.c.Local != nil {
		if reply, ok := t.c.Local(line); ok {
			t.print(t.dim(reply) + "\n")
			return false, nil
		}
	}
	return true, h.Message(ctx, t.message(line))
}

// Say hands one message over, as if it had been typed.
func (t *Terminal) Say(ctx context.Context, h core.Handler, text string) error {
	return h.Message(ctx, t.message(text))
}

// End ends the line that is open.
func (t *Terminal) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeLine()
}

// Post prints a post.
func (t *Terminal) Post(_ context.Context, p core.Post) (core.Posted, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nextID++
	id := strconv.Itoa(t.nextID)
	t.closeLine()
	text := visible(p.Text)
	switch p.Kind {
	case core.PostNotice, core.PostStatus:
		text = t.dim(text)
	case core.PostError:
		text = t.red(text)
	}
	_, err := io.WriteString(t.c.Out, text)
	if p.Kind == core.PostAnswer {
		t.open, t.shown = id, p.Text
	} else {
		fmt.Fprintln(t.c.Out)
	}
	return core.Posted{ID: id}, sendError(err)
}

// Edit goes on with the post on the last line; an earlier one, or one that did
// not just grow, is printed again.
func (t *Terminal) Edit(_ context.Context, id string, p core.Post) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest, grew := strings.CutPrefix(p.Text, t.shown)
	if id != t.open || !grew {
		t.closeLine()
		rest = p.Text
	}
	t.open, t.shown = id, p.Text
	_, err := io.WriteString(t.c.Out, visible(rest))
	return sendError(err)
}

// Delete does nothing: what was printed stays.
func (t *Terminal) Delete(context.Context, core.Target, string) error { return nil }

// Working does nothing: the missing prompt tells it.
func (t *Terminal) Working(context.Context, core.Target, bool) error { return nil }

func (t *Terminal) closeLine() {
	if t.open != "" {
		fmt.Fprintln(t.c.Out)
		t.open, t.shown = "", ""
	}
}

func (t *Terminal) prompt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeLine()
	fmt.Fprint(t.c.Out, "> ")
}

func (t *Terminal) print(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeLine()
	fmt.Fprint(t.c.Out, s)
}

// visible is a text without the characters that steer a terminal: what a model
// says may not move the cursor, change the title or fill the clipboard.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

func (t *Terminal) dim(s string) string { return t.paint("2", s) }
func (t *Terminal) red(s string) string { return t.paint("31", s) }

func (t *Terminal) paint(code, s string) string {
	if !t.c.Color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func sendError(err error) error {
	if err == nil {
		return nil
	}
	return &core.SendError{Permanent: true, Err: errors.Join(errors.New("writing to the terminal"), err)}
}
