package slack

import (
	"context"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

const (
	workingText = "is thinking…"
	// statusFresh is how long a status is left alone before it is set again;
	// Slack drops it after two minutes.
	statusFresh = time.Minute
	// statusTimeout bounds a request that shows a status.
	statusTimeout = 5 * time.Second
)

// statuses are the threads in which the bot shows that it is at work. Slack
// takes a status away with every post of ours in the thread.
type statuses struct {
	mu      sync.Mutex
	threads map[threadRef]*working
	broken  bool // Slack will not have it; do not ask again
}

// working is the status of one thread. Its turn lets one request out at a time,
// so that a late refresh never lands on a status that was taken away: Slack
// locks the composer while one shows.
type working struct {
	turn  chan struct{} // holds one token
	users int           // calls that wait for the turn or have it
	set   time.Time     // zero when Slack shows none
}

func newStatuses() *statuses { return &statuses{threads: map[threadRef]*working{}} }

// posted notes that Slack took the thread's status away.
func (s *statuses) posted(ref threadRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.threads[ref]; w != nil {
		w.set = time.Time{}
	}
}

// enter waits for the thread's turn.
func (s *statuses) enter(ctx context.Context, ref threadRef) (*working, error) {
	s.mu.Lock()
	w := s.threads[ref]
	if w == nil {
		w = &working{turn: make(chan struct{}, 1)}
		s.threads[ref] = w
	}
	w.users++
	s.mu.Unlock()
	select {
	case w.turn <- struct{}{}:
		return w, nil
	case <-ctx.Done():
		s.leave(ref, w)
		return nil, ctx.Err()
	}
}

// leave forgets a thread that nobody works in.
func (s *statuses) leave(ref threadRef, w *working) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.users--
	if w.users == 0 && w.set.IsZero() {
		delete(s.threads, ref)
	}
}

// fresh reports whether the status need not be set again now.
func (s *statuses) fresh(w *working) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(w.set) < statusFresh
}

func (s *statuses) mark(w *working, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.set = at
}

// Working shows or takes away the status line of the thread. Outside of threads,
// and where a thread's first message was deleted, Slack has none. It is always taken away on Slack's side too when it ends,
// whatever is known of it here. A request that shows it goes on when ctx is
// cancelled: Slack might set the status all the same, after the request that
// takes it away.
func (a *Adapter) Working(ctx context.Context, t core.Target, on bool) error {
	ref := refOf(t.Thread)
	s := a.works
	if ref.root == "" || s.refused() || on && a.gone.has(ref) {
		return nil
	}
	w, err := s.enter(ctx, ref)
	if err != nil {
		return err
	}
	defer s.leave(ref, w)
	defer func() { <-w.turn }()
	text, at := "", time.Time{}
	if on {
		if s.fresh(w) {
			return nil
		}
		// Marked before it is asked for: a post that overtakes the request
		// must find something to unmark.
		text, at = workingText, time.Now()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), statusTimeout)
		defer cancel()
	}
	s.mark(w, at)
	err = a.setStatus(ctx, ref, text)
	if on && err != nil {
		s.mark(w, time.Time{}) // the next beat tries again
	}
	return err
}

// setStatus shows a status, or takes it away with an empty text. While Slack
// asks for time none is shown; taking one away waits for as long as it may.
func (a *Adapter) setStatus(ctx context.Context, ref threadRef, text string) error {
	key := gateKey{"assistant.threads.setStatus", ref.channel}
	who, patience := rankStatus, time.Duration(0)
	if text == "" {
		who, patience = rankAnswer, patient
	}
	if wait := a.gates.pass(ctx, key, quota{every: -1, burst: 1}, who, patience); wait != nil {
		return wait
	}
	err := a.api.SetAssistantThreadsStatusContext(ctx, slackgo.AssistantThreadsSetStatusParameters{ChannelID: ref.channel, ThreadTS: ref.root, Status: text})
	e := a.outcome(key, err)
	switch {
	case e == nil:
		return nil
	case e.RetryAfter > 0:
		return e
	case unsupported(err):
		a.log.Info("Slack shows no status lines for this app", "code", code(err))
		a.works.refuse()
		return nil
	case code(err) != "":
		return nil // an ornament: the turn goes on without it
	}
	return clean(err)
}

// unlock takes a status away that may have come after a post for whose buttons
// somebody is to decide: while one shows, Slack keeps people from writing.
func (a *Adapter) unlock(ctx context.Context, t core.Target) {
	if !a.works.known(refOf(t.Thread)) {
		return
	}
	if err := a.Working(ctx, t, false); err != nil {
		a.log.Warn("a status stays beside a question", "channel", t.Thread.Channel, "error", err)
	}
}

// known reports whether a thread has, or is about to have, a status.
func (s *statuses) known(ref threadRef) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.threads[ref] != nil
}

func (s *statuses) refused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

func (s *statuses) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
}
