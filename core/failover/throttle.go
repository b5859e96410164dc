package failover

import (
	"sync"
	"time"

	"understudy/core/llm"
)

// How often a blocked provider may be asked all the same.
const (
	probeNear  = 2 * time.Minute  // a cooldown that ends within this may be probed
	probeEvery = 30 * time.Second // such probes of one provider are this far apart
	probeLone  = 30 * time.Minute // a lone candidate is probed this often, whatever the end
)

// Throttles remembers when blocked providers were last probed, by agent. It
// lives in memory: a restart may probe once more.
type Throttles struct {
	mu   sync.Mutex
	last map[throttleKey]time.Time
}

type throttleKey struct {
	agent, provider string
	lane            string // "cooldown" or "billing"
}

// NewThrottles is an empty memory of probes.
func NewThrottles() *Throttles { return &Throttles{last: map[throttleKey]time.Time{}} }

// take reserves a probe when the last one, or since, is at least every ago. The
// returned function gives the reservation back, unless a newer one replaced it.
func (t *Throttles) take(k throttleKey, since time.Time, every time.Duration, now time.Time) (undo func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, had := t.last[k]
	if last.After(since) {
		since = last
	}
	if !since.IsZero() && now.Sub(since) < every {
		return nil, false
	}
	t.last[k] = now
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.last[k].Equal(now) {
			return
		}
		if had {
			t.last[k] = last
		} else {
			delete(t.last, k)
		}
	}, true
}

// SkipCache remembers fallbacks that failed for auth in a session, so that they
// are passed over for a while. It lives in memory.
type SkipCache struct {
	ttl time.Duration

	mu    sync.Mutex
	until map[skipKey]time.Time
}

type skipKey struct {
	session string
	model   llm.Ref
}

// NewSkipCache makes a cache that holds entries for ttl: 0 is off, anything
// else is held to 1 s … 10 min.
func NewSkipCache(ttl time.Duration) *SkipCache {
	if ttl > 0 {
		ttl = min(max(ttl, time.Second), 10*time.Minute)
	}
	return &SkipCache{ttl: max(ttl, 0), until: map[skipKey]time.Time{}}
}

func (c *SkipCache) add(session string, model llm.Ref, now time.Time) {
	if c.ttl == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, t := range c.until {
		if !now.Before(t) {
			delete(c.until, k)
		}
	}
	c.until[skipKey{session, model}] = now.Add(c.ttl)
}

func (c *SkipCache) has(session string, model llm.Ref, now time.Time) bool {
	if c.ttl == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Before(c.until[skipKey{session, model}])
}
