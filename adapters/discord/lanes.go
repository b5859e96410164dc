package discord

import (
	"context"
	"errors"
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
// answers before notices, and no faster than Discord allows. A request whose
// route has to wait does not hold up the other routes of the conversation.
// Waiting ends with the context.
type lanes struct {
	global *rate.Limiter

	mu     sync.Mutex
	all    map[string]*lane
	paused time.Time // nothing goes out before: a limit over all routes was hit
	count  int
}

type lane struct {
	busy    bool
	waiting [2][]*ticket
	pace    map[string]*pace // by route
	timer   *time.Timer
	used    time.Time
}

// ticket is one request that waits.
type ticket struct {
	route string
	ready chan struct{}
}

// pace is what one route of a conversation allows.
type pace struct {
	stated  bool          // Discord states its limits itself
	after   time.Time     // nothing before
	limiter *rate.Limiter // until it does
}

func newLanes(perSecond int) *lanes {
	return &lanes{all: map[string]*lane{}, global: rate.NewLimiter(rate.Limit(perSecond), perSecond)}
}

var errCrowded = errors.New("too many requests wait for this conversation")

// errBusy is the answer to [lanes.try] when something else is under way.
var errBusy = errors.New("the conversation is busy")

// enter waits for the turn of a request. Whoever got in calls leave.
func (l *lanes) enter(ctx context.Context, key, route string, class int) error {
	l.mu.Lock()
	n := l.lane(key)
	if len(n.waiting[class]) >= maxWaiting {
		l.mu.Unlock()
		return errCrowded
	}
	t := &ticket{route: route, ready: make(chan struct{})}
	n.waiting[class] = append(n.waiting[class], t)
	l.advance(n)
	l.mu.Unlock()
	select {
	case <-t.ready:
	case <-ctx.Done():
		if l.withdraw(n, class, t) {
			return ctx.Err()
		}
	}
	if err := l.global.Wait(ctx); err != nil {
		l.leave(key, route, nil, nil)
		return err
	}
	return nil
}

// try enters only if nothing is in the way.
func (l *lanes) try(key, route string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, now := l.lane(key), time.Now()
	if n.busy || len(n.waiting[0])+len(n.waiting[1]) > 0 || l.delay(n, route, now) > 0 {
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
			if !n.busy && len(n.waiting[0])+len(n.waiting[1]) == 0 && now.Sub(n.used) > laneIdle {
				delete(l.all, k)
			}
		}
	}
	n := l.all[key]
	if n == nil {
		n = &lane{pace: map[string]*pace{}}
		l.all[key] = n
	}
	n.used = now
	return n
}

// advance lets the next request of a lane in, or sets a timer for when that is
// possible. The lock is held.
func (l *lanes) advance(n *lane) {
	if n.busy {
		return
	}
	now, soonest := time.Now(), time.Duration(-1)
	for class, list := range n.waiting {
		for i, t := range list {
			d := l.delay(n, t.route, now)
			if d <= 0 {
				n.waiting[class] = slices.Delete(list, i, i+1)
				n.take(t.route, now)
				close(t.ready)
				return
			}
			if soonest < 0 || d < soonest {
				soonest = d
			}
		}
	}
	if n.timer != nil {
		n.timer.Stop()
	}
	if soonest >= 0 {
		n.timer = time.AfterFunc(soonest, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.advance(n)
		})
	}
}

// withdraw takes a ticket back; it reports false when it was let in already.
func (l *lanes) withdraw(n *lane, class int, t *ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(n.waiting[class], t)
	if i < 0 {
		return false
	}
	n.waiting[class] = slices.Delete(n.waiting[class], i, i+1)
	return true
}

// delay is how long a route has to wait. The lock is held.
func (l *lanes) delay(n *lane, route string, now time.Time) time.Duration {
	p := n.route(route)
	wait := max(l.paused.Sub(now), p.after.Sub(now))
	if !p.stated {
		if missing := 1 - p.limiter.TokensAt(now); missing > 0 {
			wait = max(wait, time.Duration(missing*float64(routeEvery))+time.Millisecond)
		}
	}
	return wait
}

func (n *lane) route(name string) *pace {
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
