package slack

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"understudy/core"
)

// Slack's rates (docs.slack.dev, rate limits): one post a second in a channel,
// short bursts allowed; chat.update is of tier 3, fifty a minute in the whole
// workspace.
const (
	postEvery = time.Second
	postBurst = 3
	editEvery = 1200 * time.Millisecond
	editBurst = 5
	maxGates  = 4096
)

// gates hold requests back before Slack has to. There is one for each method
// and channel; chat.update has one for all.
type gates struct {
	mu    sync.Mutex
	gates map[gateKey]*gate
}

type gateKey struct{ method, channel string }

type gate struct {
	limiter *rate.Limiter
	closed  time.Time // no request before, by Slack's own word
}

func newGates() *gates { return &gates{gates: map[gateKey]*gate{}} }

// pass waits until a request may go out. It gives up at once, with the time to
// wait, when that is more than patience or beyond the deadline of ctx. every
// is the time between two requests; negative means no limit of our own.
func (g *gates) pass(ctx context.Context, k gateKey, every time.Duration, burst int, patience time.Duration) *core.SendError {
	now := time.Now()
	g.mu.Lock()
	t := g.at(k, every, burst)
	r := t.limiter.ReserveN(now, 1)
	wait := max(r.DelayFrom(now), t.closed.Sub(now))
	deadline, limited := ctx.Deadline()
	if wait > patience || limited && now.Add(wait).After(deadline) {
		r.CancelAt(now)
		g.mu.Unlock()
		return &core.SendError{Unsent: true, RetryAfter: wait, Err: fmt.Errorf("%s in %s would have to wait %s for the rate limit", k.method, k.channel, wait.Round(time.Millisecond))}
	}
	g.mu.Unlock()
	if !sleep(ctx, wait) {
		return &core.SendError{Unsent: true, Err: fmt.Errorf("%s was given up while it waited for the rate limit: %w", k.method, ctx.Err())}
	}
	return nil
}

// at is the gate for a key. The lock is held.
func (g *gates) at(k gateKey, every time.Duration, burst int) *gate {
	if t := g.gates[k]; t != nil {
		return t
	}
	if len(g.gates) >= maxGates {
		g.prune()
	}
	limit := rate.Inf
	if every > 0 {
		limit = rate.Every(every)
	}
	t := &gate{limiter: rate.NewLimiter(limit, burst)}
	g.gates[k] = t
	return t
}

// prune drops the gates that hold nobody back.
func (g *gates) prune() {
	now := time.Now()
	for k, t := range g.gates {
		if now.After(t.closed) && t.limiter.TokensAt(now) >= float64(t.limiter.Burst()) {
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
