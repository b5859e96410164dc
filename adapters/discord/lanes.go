package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Discord's limits where its headers have not said anything yet: about five
// requests in five seconds for each route of a channel, and fifty a second over
// all. https://discord.com/developers/docs/topics/rate-limits
const (
	routeBurst  = 5
	routeEvery  = time.Second
	globalRate  = 50
	laneIdle    = time.Minute // a lane that nobody used for so long is forgotten
	laneSweep   = 256         // lanes are looked through after so many entries
	maxWaiting  = 1000        // requests that may wait for one conversation
	urgentFirst = 0           // what somebody waits for
	whenFree    = 1           // what stands beside it
)

// lanes let the requests of one conversation go out one at a time, in order,
// answers before notices, and all together no faster than Discord allows, again
// answers first. A request whose route has to wait does not hold up the other
// routes of the conversation. Waiting ends with the context.
type lanes struct {
	mu     sync.Mutex
	all    map[string]*lane
	count  int // entries so far
	budget *rate.Limiter
	paused time.Time // nothing goes out before: a limit over all routes was hit
	ready  []*lane   // those that wait for nothing but the budget
	timer  *time.Timer
}

type lane struct {
	busy    bool
	waiting [2][]*ticket
	pace    map[string]*pace  // by bucket, or by route until that is known
	bucket  map[string]string // by route
	timer   *time.Timer
	used    time.Time
}

// ticket is one request that waits.
type ticket struct {
	number int
	route  string
	class  int
	ready  chan struct{}
}

// pace is what one bucket of a conversation allows.
type pace struct {
	stated  bool          // Discord states its limits itself
	after   time.Time     // nothing before
	limiter *rate.Limiter // until it does
}

// newLanes allows so many requests in any second: a fifth of them at once, and
// the rest spread over it.
func newLanes(perSecond int) *lanes {
	burst := max(perSecond/5, 1)
	return &lanes{all: map[string]*lane{}, budget: rate.NewLimiter(rate.Limit(max(perSecond-burst, 1)), burst)}
}

var (
	errCrowded = errors.New("too many requests wait for this conversation")
	errTooLong = fmt.Errorf("the wait for a limit of Discord is longer than there is time: %w", context.DeadlineExceeded)
	// errBusy is the answer to [lanes.try] when something else is under way.
	errBusy = errors.New("the conversation is busy")
)

// enter waits for the turn of a request. Whoever got in calls leave.
func (l *lanes) enter(ctx context.Context, key, route string, class int) error {
	l.mu.Lock()
	n := l.lane(key)
	if len(n.waiting[class]) >= maxWaiting {
		l.mu.Unlock()
		return errCrowded
	}
	if deadline, ok := ctx.Deadline(); ok && time.Now().Add(l.delay(n, route, time.Now())).After(deadline) {
		l.mu.Unlock()
		return errTooLong
	}
	t := &ticket{number: l.count, route: route, class: class, ready: make(chan struct{})}
	n.waiting[class] = append(n.waiting[class], t)
	l.advance(n)
	l.mu.Unlock()
	select {
	case <-t.ready:
	case <-ctx.Done():
		if l.withdraw(n, t) {
			return ctx.Err()
		}
	}
	return nil
}

// try enters only if nothing is in the way.
func (l *lanes) try(key, route string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, now := l.lane(key), time.Now()
	if n.busy || n.queue() > 0 || l.delay(n, route, now) > 0 || !l.afford(now) {
		return errBusy
	}
	n.take(route, now)
	return nil
}

// leave ends a request and notes what Discord said about its limits.
func (l *lanes) leave(key, route string, head http.Header, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.lane(key)
	n.busy = false
	if b := head.Get("X-RateLimit-Bucket"); b != "" {
		n.bucket[route] = b
	}
	p, now := n.route(route), time.Now()
	if left := head.Get("X-RateLimit-Remaining"); left != "" {
		p.stated = true
		if left == "0" {
			p.after = now.Add(seconds(head.Get("X-RateLimit-Reset-After"), time.Second))
		}
	}
	var r *refusal
	if errors.As(err, &r) && r.retryAfter > 0 {
		until := now.Add(r.retryAfter)
		if r.global {
			l.paused = until
		} else {
			p.after = until
		}
	}
	l.advance(n)
}

// lane finds or makes a conversation's lane. The lock is held.
func (l *lanes) lane(key string) *lane {
	now := time.Now()
	if l.count++; l.count%laneSweep == 0 {
		for k, n := range l.all {
			if !n.busy && n.queue() == 0 && now.Sub(n.used) > laneIdle {
				delete(l.all, k)
			}
		}
	}
	n := l.all[key]
	if n == nil {
		n = &lane{pace: map[string]*pace{}, bucket: map[string]string{}}
		l.all[key] = n
	}
	n.used = now
	return n
}

// advance lets the next request of a lane in. When it has to wait for its route,
// a timer comes back to it; when the account has to wait, pump does. The lock is
// held.
func (l *lanes) advance(n *lane) {
	now := time.Now()
	t, soonest := l.next(n, now)
	if n.timer != nil {
		n.timer.Stop()
	}
	switch {
	case t == nil && soonest >= 0:
		n.timer = time.AfterFunc(soonest, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.advance(n)
		})
	case t == nil:
	case l.afford(now):
		n.admit(t, now)
	default:
		if !slices.Contains(l.ready, n) {
			l.ready = append(l.ready, n)
		}
		l.arm(now)
	}
}

// next is the request of a lane that goes out next, if it had only to wait for
// the account; without one it is how long the first has to wait, negative when
// there is none. The lock is held.
func (l *lanes) next(n *lane, now time.Time) (t *ticket, soonest time.Duration) {
	soonest = -1
	if n.busy {
		return nil, soonest
	}
	for _, list := range n.waiting {
		for _, t := range list {
			d := n.delay(t.route, now)
			if d <= 0 {
				return t, 0
			}
			if soonest < 0 || d < soonest {
				soonest = d
			}
		}
	}
	return nil, soonest
}

// afford takes a request from the budget of the account, if nobody waits for
// that already. The lock is held.
func (l *lanes) afford(now time.Time) bool {
	return len(l.ready) == 0 && !now.Before(l.paused) && l.budget.AllowN(now, 1)
}

// arm sets the timer that comes back when the account may make a request. The
// lock is held.
func (l *lanes) arm(now time.Time) {
	wait := l.paused.Sub(now)
	if missing := 1 - l.budget.TokensAt(now); missing > 0 {
		wait = max(wait, time.Duration(missing/float64(l.budget.Limit())*float64(time.Second))+time.Millisecond)
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = time.AfterFunc(max(wait, 0), l.pump)
}

// pump lets requests in that waited for the account, answers before notices and
// otherwise in the order in which they came.
func (l *lanes) pump() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for now := time.Now(); ; {
		var (
			first *ticket
			where *lane
		)
		l.ready = slices.DeleteFunc(l.ready, func(n *lane) bool {
			t, _ := l.next(n, now)
			if t != nil && (first == nil || t.class < first.class || t.class == first.class && t.number < first.number) {
				first, where = t, n
			}
			return t == nil
		})
		if first == nil {
			return
		}
		if now.Before(l.paused) || !l.budget.AllowN(now, 1) {
			l.arm(now)
			return
		}
		where.admit(first, now)
	}
}

// withdraw takes a ticket back; it reports false when it was let in already.
func (l *lanes) withdraw(n *lane, t *ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return n.drop(t)
}

// delay is how long a route has to wait at least. The lock is held.
func (l *lanes) delay(n *lane, route string, now time.Time) time.Duration {
	return max(l.paused.Sub(now), n.delay(route, now))
}

// queue is how many requests wait.
func (n *lane) queue() int { return len(n.waiting[0]) + len(n.waiting[1]) }

// delay is how long a route of the lane has to wait.
func (n *lane) delay(route string, now time.Time) time.Duration {
	p := n.route(route)
	wait := p.after.Sub(now)
	if !p.stated {
		if missing := 1 - p.limiter.TokensAt(now); missing > 0 {
			wait = max(wait, time.Duration(missing*float64(routeEvery))+time.Millisecond)
		}
	}
	return wait
}

// route is the pace of a route, shared with the others of its bucket.
func (n *lane) route(name string) *pace {
	if b := n.bucket[name]; b != "" {
		name = b
	}
	p := n.pace[name]
	if p == nil {
		p = &pace{limiter: rate.NewLimiter(rate.Every(routeEvery), routeBurst)}
		n.pace[name] = p
	}
	return p
}

func (n *lane) take(route string, now time.Time) {
	n.busy = true
	n.route(route).limiter.AllowN(now, 1)
}

func (n *lane) admit(t *ticket, now time.Time) {
	n.drop(t)
	n.take(t.route, now)
	close(t.ready)
}

// drop takes a ticket out of the queue, if it is still there.
func (n *lane) drop(t *ticket) bool {
	i := slices.Index(n.waiting[t.class], t)
	if i >= 0 {
		n.waiting[t.class] = slices.Delete(n.waiting[t.class], i, i+1)
	}
	return i >= 0
}
