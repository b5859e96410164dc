package delivery

import (
	"context"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/rescue"
)

const (
	// typingEvery is how often the indicator is refreshed: Discord shows it
	// for about 10 seconds, Slack for two minutes.
	typingEvery = 8 * time.Second
	// typingLimit ends an indicator that nobody ended. No turn lasts longer.
	typingLimit = 35 * time.Minute
	// typingTimeout and offTimeout bound one request.
	typingTimeout = 5 * time.Second
	offTimeout    = 2 * time.Second
	// stopMoment is how long an answer waits for the indicator to go off. It
	// is better to show both for a while than to hold the answer back.
	stopMoment = 300 * time.Millisecond
)

// typing shows the indicator in one conversation for all who asked for it.
type typing struct {
	users int
	on    context.Context // ends with the last user
	end   context.CancelFunc
	again chan struct{} // asks for a refresh now
	done  chan struct{}
}

// Working shows the typing indicator until stop is called, for half an hour at
// most. Several may ask for the same conversation; it ends with the last. Stop
// cuts off a request that is under way, and returns when the indicator is off
// or after a moment; the rest is done behind its back. Requests of one
// conversation follow each other, so that no refresh comes after the end.
// Calling stop again does nothing.
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
		w = &typing{again: make(chan struct{}, 1), done: make(chan struct{})}
		w.on, w.end = context.WithCancel(background)
		s.typing[key] = w
		s.group.Go(func() { s.keepWorking(t, w, before) })
	}
	w.users++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		w.users--
		last := w.users == 0
		s.mu.Unlock()
		if !last {
			return
		}
		w.end()
		select {
		case <-w.done:
		case <-s.c.After(stopMoment):
		}
	})
}

// keepWorking keeps the indicator alive, and ends it.
func (s *Sender) keepWorking(t core.Target, w, before *typing) {
	defer close(w.done)
	defer w.end()
	if before != nil {
		<-before.done
	}
	limit := s.c.After(typingLimit)
	for on := true; on && w.on.Err() == nil; {
		s.indicate(w.on, t, true, typingTimeout)
		select {
		case <-s.c.After(typingEvery):
		case <-w.again:
		case <-w.on.Done():
		case <-limit:
			on = false
		}
	}
	s.indicate(background, t, false, offTimeout)
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := t.Thread.Key(); s.typing[key] == w {
		delete(s.typing, key)
	}
}

// indicate is one request. The platform's error only matters to those who look
// for it: the indicator is no promise.
func (s *Sender) indicate(ctx context.Context, t core.Target, on bool, limit time.Duration) {
	defer rescue.Panic(s.c.Log, "the typing indicator")
	p, err := s.platform(t.Thread)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, limit)
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
