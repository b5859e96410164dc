package delivery

import (
	"context"
	"sync"
	"time"

	"understudy/core"
)

const (
	// typingEvery is how often the indicator is refreshed: Discord shows it
	// for about 10 seconds, Slack for two minutes.
	typingEvery = 8 * time.Second
	// typingLimit ends an indicator that nobody ended. No turn lasts longer.
	typingLimit   = 35 * time.Minute
	typingTimeout = 5 * time.Second
)

// typing shows the indicator in one conversation for all who asked for it.
type typing struct {
	users int
	quit  chan struct{} // closed when the last user is gone
	again chan struct{} // asks for a refresh now
	done  chan struct{}
}

// Working shows the typing indicator until stop is called, for half an hour at
// most. Several may ask for the same conversation; it ends with the last. Stop
// returns when the indicator is off; calling it again does nothing.
func (s *Sender) Working(t core.Target) (stop func()) {
	key := t.Thread.Key()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return func() {}
	}
	w := s.typing[key]
	if w == nil || w.users == 0 {
		before := w // is just being ended
		w = &typing{quit: make(chan struct{}), again: make(chan struct{}, 1), done: make(chan struct{})}
		s.typing[key] = w
		s.group.Go(func() { s.keepWorking(t, w, before) })
	}
	w.users++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		w.users--
		last := w.users == 0
		s.mu.Unlock()
		if last {
			close(w.quit)
			<-w.done
		}
	})
}

// keepWorking keeps the indicator alive, and ends it.
func (s *Sender) keepWorking(t core.Target, w, before *typing) {
	defer close(w.done)
	if before != nil {
		<-before.done
	}
	limit := s.c.After(typingLimit)
	for on := true; on; {
		s.indicate(t, true)
		select {
		case <-s.c.After(typingEvery):
		case <-w.again:
		case <-w.quit:
			on = false
		case <-limit:
			on = false
		case <-s.over:
			on = false
		}
	}
	s.indicate(t, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := t.Thread.Key(); s.typing[key] == w {
		delete(s.typing, key)
	}
}

// indicate is one request. The platform's error only matters to those who look
// for it: the indicator is no promise.
func (s *Sender) indicate(t core.Target, on bool) {
	p, err := s.platform(t.Thread)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), typingTimeout)
		defer cancel()
		err = p.Working(ctx, t, on)
	}
	if err != nil {
		s.c.Log.Debug("the typing indicator was not changed", "thread", t.Thread.Key(), "on", on, "error", err)
	}
}

// nudge shows the indicator again if it is on: platforms take it away when a
// message of the bot appears.
func (s *Sender) nudge(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.typing[key]; w != nil && w.users > 0 {
		select {
		case w.again <- struct{}{}:
		default:
		}
	}
}
