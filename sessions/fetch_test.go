package sessions

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/delivery"
)

// files is a platform that gives out files of one size.
type files struct {
	core.Platform
	size   int
	limits []int64
}

func (f *files) Fetch(_ context.Context, _ core.Thread, a core.Attachment, limit int64) (core.Attachment, error) {
	f.limits = append(f.limits, limit)
	if a.Name == "none" {
		return a, nil // neither data nor a note
	}
	a.Data = make([]byte, f.size)
	return a, nil
}

// fetching is a turn whose message brought n files.
func fetching(p core.Platform, set Settings, n int) *turn {
	b := New(Config{Sender: delivery.New(delivery.Config{
		Platform: func(core.Thread) (core.Platform, bool) { return p, p != nil },
	})})
	t := &turn{b: b, set: &set}
	for i := range n {
		t.in.Message.Attachments = append(t.in.Message.Attachments, core.Attachment{Name: string(rune('a' + i))})
	}
	return t
}

func notes(t *testing.T, turn *turn) (list []string) {
	t.Helper()
	got, err := turn.fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range got {
		list = append(list, a.Note)
		if (a.Note == "") != (a.Data != nil) {
			t.Errorf("%s has %d bytes and the note %q", a.Name, len(a.Data), a.Note)
		}
	}
	for _, a := range turn.in.Message.Attachments {
		if a.Data != nil {
			t.Error("the message itself was changed")
		}
	}
	return list
}

func TestLimitsOfFiles(t *testing.T) {
	p := &files{size: 15 << 20}
	want := slices.Repeat([]string{""}, 4)
	want = append(want, slices.Repeat([]string{noteTogether}, 6)...)
	want = append(want, noteTooMany, noteTooMany)
	if got := notes(t, fetching(p, Settings{}, 12)); !slices.Equal(got, want) {
		t.Errorf("notes %q", got)
	}
	// The fourth may be as large as what is left; this platform does not care.
	if want := []int64{20 << 20, 20 << 20, 20 << 20, 5 << 20}; !slices.Equal(p.limits, want) {
		t.Errorf("asked with the limits %v", p.limits)
	}
	p = &files{size: 10}
	stated := fetching(p, Settings{MaxAttachment: 100}, 2)
	stated.in.Message.Attachments[1].Size = 60 << 20
	if got := notes(t, stated); !slices.Equal(got, []string{"", noteTogether}) || !slices.Equal(p.limits, []int64{100}) {
		t.Errorf("notes %q, limits %v", got, p.limits)
	}
}

// The files of all open turns have a limit together: where there is no room for
// another one its sender is told, and it is there again when a turn is over.
func TestLimitsOfFilesOfAllTurns(t *testing.T) {
	b := New(Config{Sender: delivery.New(delivery.Config{
		Platform: func(core.Thread) (core.Platform, bool) { return &files{size: 1 << 20}, true },
	})})
	next := func(size int64) *turn {
		x := &turn{b: b, set: &Settings{}}
		x.in.Message.Attachments = []core.Attachment{{Name: "a", Size: size}}
		return x
	}
	if !b.files.hold(maxOpened - 10<<20) { // others have nearly all of it
		t.Fatal("there is no room from the beginning")
	}
	first := next(10 << 20)
	if got := notes(t, first); !slices.Equal(got, []string{""}) || first.opened != 1<<20 {
		t.Errorf("the last file that has room: notes %q, %d bytes", got, first.opened)
	}
	if got := notes(t, next(10<<20)); !slices.Equal(got, []string{noteBusy}) {
		t.Errorf("one too many: notes %q", got)
	}
	if got := notes(t, next(0)); !slices.Equal(got, []string{noteBusy}) { // it may be 20 MiB
		t.Errorf("one of unknown size: notes %q", got)
	}
	b.files.free(first.opened)
	if got := notes(t, next(10<<20)); !slices.Equal(got, []string{""}) {
		t.Errorf("when a turn is over: notes %q", got)
	}
}

func TestFilesThatCannotBeFetched(t *testing.T) {
	for name, c := range map[string]struct {
		p    core.Platform
		want string
	}{
		"no account":   {nil, noteUnread},
		"no such door": {struct{ core.Platform }{}, noteNoFiles},
	} {
		if got := notes(t, fetching(c.p, Settings{}, 1)); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: notes %q", name, got)
		}
	}
	odd := fetching(&files{}, Settings{}, 1)
	odd.in.Message.Attachments[0].Name = "none"
	if got := notes(t, odd); !slices.Equal(got, []string{noteUnread}) {
		t.Errorf("nothing at all: notes %q", got)
	}
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)
	if _, err := fetching(&files{size: 1}, Settings{}, 1).fetch(over); !errors.Is(err, errStopped) {
		t.Errorf("a stopped turn fetches on: %v", err)
	}
}

func TestLabels(t *testing.T) {
	for name, want := range map[string]string{
		"a.txt": "a.txt", "": "without a name", " \n": "without a name", "a\nb]\u2028`x": "a b_ _x",
	} {
		if got := label(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	if got := label(string(make([]byte, 60)) + string(slices.Repeat([]rune{'ä'}, 200))); len(got) > maxLabel+len("…") {
		t.Errorf("a name of %d bytes", len(got))
	}
}

// The lists that can be picked from do not pile up; the oldest go first.
func TestPagesAreBounded(t *testing.T) {
	var p pages
	now := time.Now()
	var tokens []string
	for range maxPages + 10 {
		tokens = append(tokens, p.keep(page{made: now}))
	}
	if len(p.list) != maxPages {
		t.Errorf("%d are kept", len(p.list))
	}
	if _, ok := p.find(tokens[9], now); ok {
		t.Error("an old one is still there")
	}
	if _, ok := p.find(tokens[10], now); !ok {
		t.Error("a newer one is gone")
	}
}
