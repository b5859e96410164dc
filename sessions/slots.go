package sessions

import (
	"context"
	"slices"
	"sync"
)

// Slots are how many of something may go on at once, shared fairly between
// people:
//
//   - A free slot goes to whoever holds the fewest, and of those who hold equally
//     many to whoever was served longest ago. So a person who has none waits for
//     at most one that is given to each other person, however many those ask for.
//   - Of eight slots or more, one in eight is kept from a person who holds all
//     the others: somebody else need not wait until a request of theirs ends.
//   - What one person asks for is served in the order of asking.
//
// It is safe for concurrent use.
type Slots struct {
	mu     sync.Mutex
	free   int
	most   int // that one person may hold
	given  int // so far
	people map[string]*claimant
	queue  []*claimant // those who wait for something, by when they were served
}

// claimant is somebody who holds slots, waits for some, or did lately.
type claimant struct {
	held    int
	waiting []*claim
	// served is twice the number of the slot that was given last. Who is new
	// comes just before whoever was served then.
	served int
}

// maxRemembered is how many people are remembered who neither hold nor want
// anything, so that whoever comes back keeps their place.
const maxRemembered = 1000

// claim is one slot that somebody waits for.
type claim struct {
	of    *claimant
	grant func(release func())
}

// NewSlots makes n slots, at least one.
func NewSlots(n int) *Slots {
	n = max(n, 1)
	return &Slots{free: n, most: n - n/8, people: map[string]*claimant{}}
}

// Take waits for a slot for somebody and takes it. The error is that of the
// context; without one, release must be called once.
func (s *Slots) Take(ctx context.Context, who string) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	got := make(chan func(), 1)
	withdraw := s.Ask(who, func(release func()) { got <- release })
	select {
	case release := <-got:
		return release, nil
	case <-ctx.Done():
		if !withdraw() { // it came just now
			(<-got)()
		}
		return nil, ctx.Err()
	}
}

// Ask calls grant with a slot once there is one for somebody, perhaps before it
// returns, and perhaps out of a release. The slot is held until release is
// called, once. withdraw takes the claim back; it reports false when the slot was
// given already.
func (s *Slots) Ask(who string, grant func(release func())) (withdraw func() bool) {
	s.mu.Lock()
	p := s.people[who]
	if p == nil {
		s.tidy()
		p = &claimant{served: 2*s.given - 1}
		s.people[who] = p
	}
	c := &claim{of: p, grant: grant}
	if p.waiting = append(p.waiting, c); len(p.waiting) == 1 {
		s.enter(p)
	}
	s.mu.Unlock()
	s.serve()
	return func() bool { return s.withdraw(c) }
}

// serve gives free slots to those who wait.
func (s *Slots) serve() {
	for {
		s.mu.Lock()
		c := s.next()
		s.mu.Unlock()
		if c == nil {
			return
		}
		c.grant(func() { s.release(c.of) })
	}
}

// next takes a slot for the claim whose turn it is; nil is nobody's.
func (s *Slots) next() *claim {
	if s.free == 0 {
		return nil
	}
	at := -1
	for i, p := range s.queue {
		if p.held < s.most && (at < 0 || p.held < s.queue[at].held) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	p := s.queue[at]
	c := p.waiting[0]
	p.waiting[0] = nil
	p.waiting = p.waiting[1:]
	s.queue = slices.Delete(s.queue, at, at+1)
	s.free--
	s.given++
	p.held++
	p.served = 2 * s.given
	if len(p.waiting) > 0 {
		s.enter(p)
	}
	return c
}

// enter puts somebody who waits in the queue. The lock is held.
func (s *Slots) enter(p *claimant) {
	at := len(s.queue)
	for at > 0 && s.queue[at-1].served > p.served {
		at--
	}
	s.queue = slices.Insert(s.queue, at, p)
}

func (s *Slots) release(p *claimant) {
	s.mu.Lock()
	s.free++
	p.held--
	s.mu.Unlock()
	s.serve()
}

func (s *Slots) withdraw(c *claim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := c.of
	at := slices.Index(p.waiting, c)
	if at < 0 {
		return false
	}
	if p.waiting = slices.Delete(p.waiting, at, at+1); len(p.waiting) == 0 {
		s.queue = slices.DeleteFunc(s.queue, func(o *claimant) bool { return o == p })
	}
	return true
}

// tidy forgets those who neither hold nor want anything, once they are many. The
// lock is held.
func (s *Slots) tidy() {
	if len(s.people) < maxRemembered {
		return
	}
	for who, p := range s.people {
		if p.held == 0 && len(p.waiting) == 0 {
			delete(s.people, who)
		}
	}
}
