package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
)

// The points, besides requests to platforms, at which something can be held.
const (
	atAsked  = "asked"  // a reciting provider got a request
	atSecond = "second" // the second of them got one
	atEnding = "ending" // it has said everything but that this is the end
	atRing   = "ring"   // the bell was rung
)

// latch holds what passes a point, if somebody asked for it.
type latch struct {
	mu    sync.Mutex
	armed map[string]*holding
	held  []*holding
	// watched are the requests of platforms whose next one is kept back until
	// it has passed its point.
	watched map[string]bool
}

// holding is something that is to be held, or is.
type holding struct {
	reached chan struct{}
	what    string        // set before reached is closed
	drop    chan struct{} // closed when it may go on
}

func newLatch() *latch { return &latch{armed: map[string]*holding{}, watched: map[string]bool{}} }

func (l *latch) arm(point string) *holding {
	h := &holding{reached: make(chan struct{}), drop: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed[point] = h
	return h
}

// take is the holding that waits at a point, if any; it is used up.
func (l *latch) take(point, what string) *holding {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.armed[point]
	if h == nil {
		return nil
	}
	delete(l.armed, point)
	l.held = append(l.held, h)
	h.what = what
	close(h.reached)
	return h
}

// pass holds the caller if that was asked for.
func (l *latch) pass(ctx context.Context, point, what string) {
	if h := l.take(point, what); h != nil {
		select {
		case <-h.drop:
		case <-ctx.Done():
		}
	}
}

// gate names the gate before the end of an answer, if it is to be held.
func (l *latch) gate(number string) (name string, armed bool) {
	name = "end of " + number
	return name, l.take(atEnding, name) != nil
}

// disarm forgets what was not reached; it reports false if it was after all.
func (l *latch) disarm(point string, h *holding) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.armed[point] != h {
		return false
	}
	delete(l.armed, point)
	return true
}

// drop lets everything go on that is held.
func (l *latch) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.held {
		close(h.drop)
	}
	l.held = nil
}

// wish is what is to be held, and how long that is waited for.
type wish struct {
	Platform string // discord or slack; without one Request is a point of the stage
	Request  string // as in /fault, or asked, second, ending, ring
	Within   int    // milliseconds
}

// caught says whether something was caught, and what.
type caught struct {
	Reached bool   `json:"reached"`
	What    string `json:"what,omitempty"` // at ending the gate that lets it go on
}

// hold waits until something is held. A request to a platform has been carried
// out by then, and lacks its answer.
func (w *world) hold(ctx context.Context, o wish) (any, error) {
	l, point := w.latch, strings.TrimSpace(o.Platform+" "+o.Request)
	switch method, path, ok := strings.Cut(o.Request, " "); {
	case o.Platform == "":
		point = o.Request
	case o.Platform == "slack":
		l.watch(point, func() (<-chan struct{}, func()) { return catchSlack(w.slack, o.Request) })
	case o.Platform == "discord" && ok:
		l.watch(point, func() (<-chan struct{}, func()) { return catchDiscord(w.discord, method, path) })
	default:
		return nil, fmt.Errorf("%q of %q cannot be held; it must be a method of slack, or a method and a path of discord", o.Request, o.Platform)
	}
	h := l.arm(point)
	select {
	case <-h.reached:
	case <-ctx.Done():
	case <-time.After(time.Duration(cmp.Or(o.Within, 1000)) * time.Millisecond):
	}
	if l.disarm(point, h) {
		return caught{}, nil
	}
	<-h.reached
	return caught{true, h.what}, nil
}

// watch sees to it that the next such request of a platform passes the point.
func (l *latch) watch(point string, catch func() (reached <-chan struct{}, release func())) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watched[point] {
		return // one that was not wanted until now
	}
	l.watched[point] = true
	reached, release := catch()
	go func() {
		<-reached
		l.mu.Lock()
		delete(l.watched, point)
		l.mu.Unlock()
		l.pass(context.Background(), point, point)
		release()
	}()
}

func catchDiscord(s *discordtest.Server, method, path string) (<-chan struct{}, func()) {
	h := s.Hold(method, path)
	return h.Reached, h.Release
}

func catchSlack(s *slacktest.Server, method string) (<-chan struct{}, func()) {
	reached, answer := make(chan struct{}), make(chan struct{})
	s.Fail(method, slacktest.Fault{Hold: answer, Reached: reached, Perform: true})
	return reached, func() { close(answer) }
}
