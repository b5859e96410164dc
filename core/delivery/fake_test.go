package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"understudy/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDead = errors.New("the process is dead")

// memory is a store. Its rows outlive the process that wrote them.
type memory struct {
	mu   sync.Mutex
	rows []Row
	fail func(op string) error // scripted trouble
}

// handle is the store of one process.
type handle struct {
	*memory
	dead bool // under memory.mu
}

func (h *handle) do(ctx context.Context, op string, f func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead {
		return errDead
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if h.fail != nil {
		if err := h.fail(op); err != nil {
			return err
		}
	}
	return f()
}

func (h *handle) Outgoing(ctx context.Context) (open []Row, err error) {
	err = h.do(ctx, "outgoing", func() error {
		for _, r := range h.rows {
			if r.State.Open() {
				open = append(open, r)
			}
		}
		return nil
	})
	return open, err
}

func (h *handle) find(turn string, kind core.PostKind, part int) int {
	return slices.IndexFunc(h.rows, func(r Row) bool { return r.Turn == turn && r.Post.Kind == kind && r.Part == part })
}

func (h *handle) Queue(ctx context.Context, rows ...Row) (stored []Row, err error) {
	err = h.do(ctx, "queue", func() error {
		for _, r := range rows {
			i := h.find(r.Turn, r.Post.Kind, r.Part)
			if i < 0 {
				i = len(h.rows)
				r.ID = int64(i + 1)
				h.rows = append(h.rows, r)
			}
			stored = append(stored, h.rows[i])
		}
		return nil
	})
	return stored, err
}

// commit queues rows as the commit of a turn does: an open row takes the new
// post.
func (h *handle) commit(t testing.TB, rows ...Row) (stored []Row) {
	err := h.do(t.Context(), "commit", func() error {
		for _, r := range rows {
			i := h.find(r.Turn, r.Post.Kind, r.Part)
			switch {
			case i < 0:
				i = len(h.rows)
				r.ID, r.PlatformID = int64(i+1), ""
				h.rows = append(h.rows, r)
			case h.rows[i].State.Open():
				h.rows[i].Post = r.Post
			}
			stored = append(stored, h.rows[i])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func (h *handle) Mark(ctx context.Context, id int64, change func(Row) Row) error {
	return h.do(ctx, "mark", func() error {
		if id < 1 || int(id) > len(h.rows) {
			return fmt.Errorf("there is no row %d", id)
		}
		r := h.rows[id-1]
		next := change(r)
		next.ID, next.Session, next.Turn = r.ID, r.Session, r.Turn
		h.rows[id-1] = next
		return nil
	})
}

func (h *handle) GiveUp(ctx context.Context, id int64, why string, now time.Time) error {
	return h.do(ctx, "give up", func() error {
		r := &h.rows[id-1]
		r.State, r.Error, r.Settled = Failed, why, now
		for i, o := range h.rows {
			if o.Turn == r.Turn && o.Post.Kind == core.PostNotice && o.State.Open() {
				h.rows[i].State = Withdrawn
			}
		}
		return nil
	})
}

// row is a row as it is stored now.
func (h *handle) row(id int64) Row {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rows[id-1]
}

// message is a message as the platform shows it.
type message struct {
	id, channel, text, nonce string
	kind                     core.PostKind
	link, deleted, live      bool
	files                    []core.File
	posted                   time.Time
	edits                    []time.Time
	texts                    []string // it has shown, in order
}

// fault is what happens to one request.
type fault struct {
	err   error
	done  bool          // it is carried out all the same
	delay time.Duration // before the answer
	deaf  bool          // does not listen to its context meanwhile
}

// fake is a platform. It keeps one message per nonce, as Discord does.
type fake struct {
	mu       sync.Mutex
	messages []*message
	limits   core.Limits
	// fault is asked for every request: "post", "edit", "delete", "working".
	fault   func(op string, p core.Post) fault
	working []string // "on" and "off" with the channel
	loose   bool     // forgets nonces: a second post makes a second message
}

// rotateSlack is how much longer than its limit a message may be a live one: a
// change may be waited for.
const rotateSlack = 2 * time.Second

func newFake() *fake {
	return &fake{limits: core.Limits{
		MaxText: 2000, Count: utf8.RuneCountInString, MaxParts: 10,
		FirstPreview: time.Second, EditEvery: 1200 * time.Millisecond,
	}}
}

// script sets what happens to the requests from now on.
func (f *fake) script(fault func(op string, p core.Post) fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// all are the messages so far, also those that were deleted.
func (f *fake) all() []message {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []message
	for _, m := range f.messages {
		c := *m
		c.edits, c.texts = slices.Clone(m.edits), slices.Clone(m.texts)
		all = append(all, c)
	}
	return all
}

// indications are the changes of the typing indicator so far.
func (f *fake) indications() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.working)
}

// request waits out the fault and carries a request out.
func (f *fake) request(ctx context.Context, op string, p core.Post, do func() error) error {
	f.mu.Lock()
	var what fault
	if f.fault != nil {
		what = f.fault(op, p)
	}
	f.mu.Unlock()
	if what.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	if what.delay > 0 {
		select {
		case <-time.After(what.delay):
		case <-ctx.Done():
			return &core.SendError{Unknown: true, Err: ctx.Err()}
		}
	}
	if what.err == nil || what.done {
		f.mu.Lock()
		defer f.mu.Unlock()
		if err := do(); err != nil {
			return err
		}
	}
	return what.err
}

func (f *fake) Limits(core.Thread) core.Limits { return f.limits }

func (f *fake) Post(ctx context.Context, p core.Post) (posted core.Posted, err error) {
	err = f.request(ctx, "post", p, func() error {
		if n := f.limits.Count(p.Text); n > f.limits.MaxText || p.Text == "" || len(p.Nonce) > 25 || p.Nonce == "" {
			return &core.SendError{Permanent: true, Err: fmt.Errorf("a text of %d and a nonce of %d", n, len(p.Nonce))}
		}
		for _, m := range f.messages {
			if m.nonce == p.Nonce && !f.loose {
				posted = core.Posted{ID: m.id, Linked: m.link}
				return nil
			}
		}
		m := &message{
			id: fmt.Sprintf("m%d", len(f.messages)+1), channel: p.Target.Thread.Channel, text: p.Text, nonce: p.Nonce,
			kind: p.Kind, link: p.Link, posted: time.Now(), texts: []string{p.Text}, live: p.Live, files: p.Files,
		}
		for _, x := range p.Files {
			if len(x.Data) > f.limits.MaxFile {
				return &core.SendError{Permanent: true, Err: errors.New("no file of that size")}
			}
		}
		f.messages = append(f.messages, m)
		posted = core.Posted{ID: m.id, Linked: m.link}
		return nil
	})
	if err != nil {
		posted = core.Posted{}
	}
	return posted, err
}

func (f *fake) Edit(ctx context.Context, id string, p core.Post) error {
	return f.request(ctx, "edit", p, func() error {
		if f.limits.Count(p.Text) > f.limits.MaxText {
			return &core.SendError{TooLong: true, Err: errors.New("too long")}
		}
		for _, m := range f.messages {
			if m.id == id && !m.deleted {
				switch {
				case len(p.Files) > 0:
					return &core.SendError{Permanent: true, Err: errors.New("an edit cannot add files")}
				case p.Live && (!m.live || f.limits.Rotate > 0 && time.Since(m.posted) > f.limits.Rotate+rotateSlack):
					return &core.SendError{Permanent: true, Err: errors.New("the message is finished")}
				}
				m.live = p.Live
				m.text = p.Text
				m.texts = append(m.texts, p.Text)
				m.edits = append(m.edits, time.Now())
				return nil
			}
		}
		return &core.SendError{Permanent: true, Err: errors.New("unknown message")}
	})
}

func (f *fake) Delete(ctx context.Context, t core.Target, id string) error {
	return f.request(ctx, "delete", core.Post{Target: t}, func() error {
		for _, m := range f.messages {
			if m.id == id {
				m.deleted = true
			}
		}
		return nil
	})
}

func (f *fake) Working(ctx context.Context, t core.Target, on bool) error {
	return f.request(ctx, "working", core.Post{Target: t}, func() error {
		word := map[bool]string{true: "on ", false: "off "}[on]
		f.working = append(f.working, word+t.Thread.Channel)
		return nil
	})
}

// finder is a fake that can look for messages.
type finder struct {
	*fake
	since time.Time // of the last search
}

func (f *finder) Find(ctx context.Context, p core.Post, since time.Time) (posted core.Posted, found bool, err error) {
	err = f.request(ctx, "find", p, func() error {
		f.since = since
		for _, m := range f.messages {
			if m.nonce == p.Nonce && !m.posted.Before(since) {
				posted, found = core.Posted{ID: m.id, Linked: m.link}, true
			}
		}
		return nil
	})
	return posted, found, err
}

// texts are the messages of a channel that are there, in order.
func (f *fake) texts(channel string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	texts := []string{}
	for _, m := range f.messages {
		if m.channel == channel && !m.deleted {
			texts = append(texts, m.text)
		}
	}
	return texts
}

// world is a process with its store and platform.
type world struct {
	t testing.TB
	*handle
	platform core.Platform
	*Sender
	gaveUp []Row
	cancel context.CancelFunc
	over   chan struct{}
}

// start runs a process on a store and a platform.
func start(t testing.TB, m *memory, p core.Platform) *world {
	return startWith(t, m, p, func(*Config) {})
}

// startWith is start with other settings.
func startWith(t testing.TB, m *memory, p core.Platform, change func(*Config)) *world {
	w := &world{t: t, handle: &handle{memory: m}, platform: p, over: make(chan struct{})}
	c := Config{
		Store:    w.handle,
		Platform: func(th core.Thread) (core.Platform, bool) { return p, th.Account != "gone" },
		GaveUp:   func(r Row) { w.gaveUp = append(w.gaveUp, r) },
	}
	change(&c)
	w.Sender = New(c)
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() {
		defer close(w.over)
		if err := w.Run(ctx); err != nil && !errors.Is(err, errDead) {
			t.Errorf("Run: %v", err)
		}
	}()
	synctest.Wait()
	return w
}

// stop ends the process in good order, kill at once: what it does from now on
// has no effect.
func (w *world) stop() {
	w.cancel()
	<-w.over
}

func (w *world) kill() {
	w.handle.mu.Lock()
	w.handle.dead = true
	w.handle.mu.Unlock()
	w.stop()
}

// say commits rows and hands them over.
func (w *world) say(rows ...Row) []Row {
	rows = w.commit(w.t, rows...)
	w.Send(rows...)
	return rows
}

func (w *world) flush() {
	w.t.Helper()
	if err := w.Flush(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) expect(channel string, want ...string) {
	w.t.Helper()
	f, ok := w.platform.(*fake)
	if !ok {
		f = w.platform.(*finder).fake
	}
	if got := f.texts(channel); !slices.Equal(got, want) {
		w.t.Errorf("%s shows %q, want %q", channel, got, want)
	}
}

func target(channel string) core.Target {
	return core.Target{Thread: core.Thread{Platform: "test", Account: "main", Channel: channel}, ReplyTo: "question"}
}

func row(channel, turn string, kind core.PostKind, part int, text string) Row {
	return Row{
		Session: core.Key{Agent: "main", Thread: channel}, Turn: turn, Part: part, State: Queued, Created: time.Now(),
		Post: core.Post{Target: target(channel), Kind: kind, Text: text, Nonce: Nonce(turn, kind, part)},
	}
}

// failing makes the first requests of a kind fail.
func failing(op string, errs ...error) func(string, core.Post) fault {
	return func(got string, _ core.Post) fault {
		if got != op || len(errs) == 0 {
			return fault{}
		}
		err := errs[0]
		errs = errs[1:]
		return fault{err: err}
	}
}

var (
	errBusy = &core.SendError{Err: errors.New("busy")}
	errGone = &core.SendError{Permanent: true, Err: errors.New("gone")}
	errLost = &core.SendError{Unknown: true, Err: errors.New("connection reset")}
	errLong = &core.SendError{TooLong: true, Err: errors.New("too long")}
	errDown = &core.SendError{Unreached: true, Err: errors.New("connection refused")}
)

// asked is a platform that wants to be left alone for a while.
func asked(wait time.Duration) error {
	return &core.SendError{RetryAfter: wait, Err: errors.New("rate limit")}
}

// unsent is a queue of our own that the post did not get through.
func unsent(wait time.Duration) error {
	return &core.SendError{Unsent: true, RetryAfter: wait, Err: errors.New("it would have to wait")}
}
