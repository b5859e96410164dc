package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/rescue"
)

// Config is what a Sender works with. Store and Platform are needed.
type Config struct {
	Store Store
	// Platform finds the account that posts in a thread.
	Platform func(core.Thread) (core.Platform, bool)
	// Now and After are the clock; the real one if nil.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
	Log   *slog.Logger
	// Wanted is asked right before a post is handed to its platform, whichever
	// way it came; one that is not wanted is withdrawn. Nil wants all.
	Wanted func(core.Post) bool
	// GaveUp hears of every post that was given up, except those for
	// operators. It must not block.
	GaveUp func(Row)
	// Held hears, perhaps more than once, of a post that waits since the store
	// is in trouble. It must not block.
	Held func(Row)
	// Hide takes credentials out of what is kept of an error; nil takes none.
	Hide func(string) string
}

// words are what is kept of an error. Platforms may say back in it what they were
// sent.
func (s *Sender) words(err error) string {
	if s.c.Hide == nil {
		return err.Error()
	}
	return s.c.Hide(err.Error())
}

// Sender sends rows. Its methods are safe for concurrent use.
type Sender struct {
	c Config

	mu     sync.Mutex
	ctx    context.Context // of Run; nil before it
	ended  bool            // Run is over
	lanes  map[string]*lane
	idle   chan struct{} // closed when there are no lanes, or when Run is over
	shown  map[int64]glimpse
	typing map[string]*typing

	group sync.WaitGroup
}

// glimpse is the last text that a preview showed, and since when.
type glimpse struct {
	text string    // empty if that is not known
	at   time.Time // zero if it was not shown
	live bool      // as one to which more is added
	hold time.Time // the platform wants no edit before that
}

// unfinished reports whether the message is to be edited although it shows the
// whole text.
func (g glimpse) unfinished(l core.Limits) bool { return g.live && l.Rotate > 0 }

// lane holds what is to be sent in one conversation, in order of ID.
type lane struct {
	rows []Row
	busy int64 // the row that is being sent
}

// New returns a Sender. It sends nothing before Run.
func New(c Config) *Sender {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Wanted == nil {
		c.Wanted = func(core.Post) bool { return true }
	}
	if c.GaveUp == nil {
		c.GaveUp = func(Row) {}
	}
	if c.Held == nil {
		c.Held = func(Row) {}
	}
	return &Sender{
		c:      c,
		lanes:  map[string]*lane{},
		idle:   make(chan struct{}),
		shown:  map[int64]glimpse{},
		typing: map[string]*typing{},
	}
}

// Run takes up what an earlier process left, then sends what it is given until
// the context ends, and returns when all is quiet. What is in the air then is
// settled by the next process. Run is called once.
func (s *Sender) Run(ctx context.Context) error {
	rows, err := s.outgoing(ctx)
	if err != nil {
		return fmt.Errorf("read the posts that are still to be sent: %w", err)
	}
	s.begin(ctx, rows)
	<-ctx.Done()
	s.end()
	s.group.Wait()
	return nil
}

// outgoing reads what is to be sent, also from a store that is in trouble for a
// while.
func (s *Sender) outgoing(ctx context.Context) ([]Row, error) {
	for try := 0; ; try++ {
		rows, err := s.c.Store.Outgoing(ctx)
		if err == nil || !core.StoreTrouble(err) || !s.pauseFor(ctx, try, err) {
			return rows, err
		}
	}
}

func (s *Sender) begin(ctx context.Context, rows []Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
	for _, r := range rows {
		s.add(r)
	}
	for key := range s.lanes {
		s.group.Go(func() { s.work(ctx, key) })
	}
}

func (s *Sender) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, w := range s.typing {
		w.end()
	}
	close(s.idle)
}

// Send hands over rows that were just committed, with their IDs. Rows without
// text, status messages, and rows that are settled are passed over.
func (s *Sender) Send(rows ...Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rows {
		if key, fresh := s.add(r); fresh && s.ctx != nil && !s.ended {
			s.group.Go(func() { s.work(s.ctx, key) })
		}
	}
}

// add puts a row in its lane; fresh is true if that lane is new. Rows that wait
// for somebody else's word are no part of it, nor are posts for operators: they
// have a queue and a rate of their own. The lock is held.
func (s *Sender) add(r Row) (key string, fresh bool) {
	if !r.State.Open() || r.Post.Text == "" || r.Post.Kind == core.PostStatus || r.Post.Kind == core.PostAdmin {
		return "", false
	}
	key = r.Post.Target.Thread.Key()
	l := s.lanes[key]
	if l == nil {
		l, fresh = &lane{}, true
		s.lanes[key] = l
	}
	at, known := slices.BinarySearchFunc(l.rows, r.ID, func(have Row, id int64) int { return cmp.Compare(have.ID, id) })
	if !known && l.busy != r.ID {
		l.rows = slices.Insert(l.rows, at, r)
	}
	return key, fresh
}

// Flush waits until nothing is left to send. Its error says that the context
// or Run ended before that.
func (s *Sender) Flush(ctx context.Context) error {
	for {
		s.mu.Lock()
		left, ended, idle := len(s.lanes), s.ended, s.idle
		s.mu.Unlock()
		switch {
		case left == 0:
			return nil
		case ended:
			return errors.New("the sender has stopped; what was not sent is kept for the next start")
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return fmt.Errorf("posts of %d conversations are not sent yet: %w", left, ctx.Err())
		}
	}
}

// work sends the rows of one lane until there are none.
func (s *Sender) work(ctx context.Context, key string) {
	sent := false
	defer func() {
		if !sent {
			s.abandon(key)
		}
	}()
	defer rescue.Panic(s.c.Log, "sending the posts of a conversation")
	s.sendAll(ctx, key)
	sent = true
}

// abandon closes a lane in which something went wrong. Its rows are for the next
// start, new ones get a lane of their own.
func (s *Sender) abandon(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lanes, key)
	if len(s.lanes) == 0 && !s.ended {
		close(s.idle)
		s.idle = make(chan struct{})
	}
}

func (s *Sender) sendAll(ctx context.Context, key string) {
	for ctx.Err() == nil {
		r, ok := s.next(key)
		if !ok {
			return
		}
		s.deliver(ctx, key, r)
	}
}

// next takes the row out of a lane that is to be sent next. An empty lane is
// closed.
func (s *Sender) next(key string) (Row, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[key]
	if len(l.rows) == 0 {
		delete(s.lanes, key)
		if len(s.lanes) == 0 && !s.ended {
			close(s.idle)
			s.idle = make(chan struct{})
		}
		return Row{}, false
	}
	at := 0
	if first := l.rows[0]; first.Post.Kind == core.PostNotice {
		// The answer of the same turn goes first.
		at = max(0, slices.IndexFunc(l.rows, func(r Row) bool {
			return r.Turn == first.Turn && (r.Post.Kind == core.PostAnswer || r.Post.Kind == core.PostError)
		}))
	}
	r := l.rows[at]
	l.rows = slices.Delete(l.rows, at, at+1)
	l.busy = r.ID
	return r, true
}

// take removes the rows that fit from a lane.
func (s *Sender) take(key string, fits func(Row) bool) []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[key]
	var taken []Row
	for _, r := range l.rows {
		if fits(r) {
			taken = append(taken, r)
		}
	}
	l.rows = slices.DeleteFunc(l.rows, fits)
	return taken
}

// waiting reports whether posts of a conversation are still to be sent, as far
// as is known before Run.
func (s *Sender) waiting(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx == nil || s.lanes[key] != nil
}

// pause waits; it reports false if the context ended first.
func (s *Sender) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-s.c.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// platform is the account that posts in a thread.
func (s *Sender) platform(t core.Thread) (core.Platform, error) {
	if p, ok := s.c.Platform(t); ok {
		return p, nil
	}
	return nil, &core.SendError{
		Err:  fmt.Errorf("no account %q of %s is running", t.Account, t.Platform),
		Help: "configure the account again, or forget the thread",
	}
}
