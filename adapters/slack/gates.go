package slack

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"understudy/core"
)

const maxGates = 4096

// quota is how often something may be asked for: one request per every on
// average, burst of them at once. A negative every is no limit of our own.
type quota struct {
	every time.Duration
	burst int
}

// Slack's rates (docs.slack.dev, rate limits): one post a second in a channel,
// short bursts allowed. chat.update is of tier 3, fifty a minute in the whole
// workspace; starting and stopping a stream is of tier 2, twenty a minute, and
// appending to one of tier 4, a hundred.
const (
	postEvery   = time.Second
	postBurst   = 3
	editEvery   = 1200 * time.Millisecond
	streamEvery = 3 * time.Second
	streamBurst = 10
	appendEvery = 600 * time.Millisecond
	appendBurst = 10
)

// rank is who goes first where several wait for the same limit.
type rank int

// What people wait for goes before what grows, that before remarks, and those
// before ornaments.
const (
	rankAnswer rank = iota
	rankLive
	rankNotice
	rankStatus
)

func rankOf(p core.Post) rank {
	switch {
	case p.Kind == core.PostNotice, p.Kind == core.PostAdmin:
		return rankNotice
	case p.Kind == core.PostStatus:
		return rankStatus
	case p.Live:
		return rankLive
	}
	return rankAnswer
}

// gates hold requests back before Slack has to. There is one for each method
// and channel; methods that are counted for the whole workspace have one for
// all.
type gates struct {
	mu    sync.Mutex
	gates map[gateKey]*gate
}

type gateKey struct{ method, channel string }

type gate struct {
	limiter *rate.Limiter
	closed  time.Time // no request before, by Slack's own word
	queue   []*waiter // the next one first
}

// waiter is a request that waits. Wake tells it that it has become the first.
type waiter struct {
	rank rank
	wake chan struct{}
}

func newGates() *gates { return &gates{gates: map[gateKey]*gate{}} }

// pass waits until a request may go out; lower ranks go before higher ones, and
// those of the same in order. It gives up at once, with the time to wait, when
// that is more than patience or beyond the deadline of ctx, and later when
// others that went first used the patience up.
func (g *gates) pass(ctx context.Context, k gateKey, q quota, who rank, patience time.Duration) *core.SendError {
	w := &waiter{rank: who, wake: make(chan struct{}, 1)}
	g.mu.Lock()
	t := g.at(k, q)
	wait := t.join(w, q)
	deadline, limited := ctx.Deadline()
	if wait > patience || limited && time.Now().Add(wait).After(deadline) {
		t.leave(w)
		g.mu.Unlock()
		return unsent(k, wait)
	}
	g.mu.Unlock()
	return g.await(ctx, k, t, w, patience)
}

func unsent(k gateKey, wait time.Duration) *core.SendError {
	return &core.SendError{Unsent: true, RetryAfter: wait, Err: fmt.Errorf("%s in %q would have to wait %s for the rate limit", k.method, k.channel, wait.Round(time.Millisecond))}
}

// await is the waiting itself.
func (g *gates) await(ctx context.Context, k gateKey, t *gate, w *waiter, patience time.Duration) *core.SendError {
	impatient := time.NewTimer(patience)
	defer impatient.Stop()
	for {
		wait, first := g.try(t, w)
		if first && wait <= 0 {
			return nil
		}
		var due <-chan time.Time // only for the first; the others are woken
		if first {
			due = time.After(wait)
		}
		select {
		case <-due:
			continue
		case <-w.wake:
			continue
		case <-impatient.C:
		case <-ctx.Done():
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		t.leave(w)
		if err := ctx.Err(); err != nil {
			return &core.SendError{Unsent: true, Err: fmt.Errorf("%s was given up while it waited for the rate limit: %w", k.method, err)}
		}
		return unsent(k, max(t.delay(), time.Millisecond))
	}
}

// try lets a request out if it is the first and its time has come. Else wait is
// how long that is for the first.
func (g *gates) try(t *gate, w *waiter) (wait time.Duration, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.queue[0] != w {
		return 0, false
	}
	if wait = t.delay(); wait <= 0 {
		t.limiter.Allow()
		t.leave(w)
	}
	return wait, true
}

// delay is how long it is until the next request may go out.
func (t *gate) delay() time.Duration {
	now := time.Now()
	r := t.limiter.ReserveN(now, 1)
	defer r.CancelAt(now)
	return max(r.DelayFrom(now), t.closed.Sub(now))
}

// join puts a request in the queue and estimates how long it will wait.
func (t *gate) join(w *waiter, q quota) time.Duration {
	at := len(t.queue)
	for at > 0 && t.queue[at-1].rank > w.rank {
		at--
	}
	t.queue = slices.Insert(t.queue, at, w)
	return t.delay() + time.Duration(at)*max(q.every, 0)
}

// leave takes a request out of the queue, and wakes the one that is the first
// then.
func (t *gate) leave(w *waiter) {
	at := slices.Index(t.queue, w)
	if at < 0 {
		return
	}
	t.queue = slices.Delete(t.queue, at, at+1)
	if at == 0 && len(t.queue) > 0 {
		select {
		case t.queue[0].wake <- struct{}{}:
		default:
		}
	}
}

// at is the gate for a key. The lock is held.
func (g *gates) at(k gateKey, q quota) *gate {
	if t := g.gates[k]; t != nil {
		return t
	}
	if len(g.gates) >= maxGates {
		g.prune()
	}
	limit := rate.Inf
	if q.every > 0 {
		limit = rate.Every(q.every)
	}
	t := &gate{limiter: rate.NewLimiter(limit, q.burst)}
	g.gates[k] = t
	return t
}

// prune drops the gates that hold nobody back.
func (g *gates) prune() {
	now := time.Now()
	for k, t := range g.gates {
		if len(t.queue) == 0 && now.After(t.closed) && t.limiter.TokensAt(now) >= float64(t.limiter.Burst()) {
			delete(g.gates, k)
		}
	}
}

// shut closes a gate for a while, as Slack asked.
func (g *gates) shut(k gateKey, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.gates[k]; t != nil {
		if until := time.Now().Add(d); until.After(t.closed) {
			t.closed = until
		}
	}
}
