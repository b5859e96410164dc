package sessions

import (
	"context"
	"slices"
	"sync"
)

// Slots are how many of something may go on at once, shared fairly between
// people:
//
//   - A free slot goes to whoever holds the fewest; those who hold equally many
//     take turns. So a person who has none waits for at most one that is given to
//     each other person, however many those ask for.
//   - Of eight slots or more, one in eight is kept from a person who holds all
//     the others: somebody else need not wait until a request of theirs ends.
//   - What one person asks for is served in the order of asking.
//
// It is safe for concurrent use.
type Slots struct {
	mu     sync.Mutex
	free   int
	most   int // that one person may hold
	people map[string]*claimant
	ring   []*claimant // those who wait for something, whose turn it is first
}

// claimant is somebody who holds slots or waits for some.
type claimant struct {
	who     string
	held    int
	waiting []*claim
}

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
		p = &claimant{who: who}
		s.people[who] = p
	}
	c := &claim{of: p, grant: grant}
	if p.waiting = append(p.waiting, c); len(p.waiting) == 1 {
		s.ring = append(s.ring, p)
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
	for i, p := range s.ring {
		if p.held < s.most && (at < 0 || p.held < s.ring[at].held) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	p := s.ring[at]
	c := p.waiting[0]
	p.waiting[0] = nil
	p.waiting = p.waiting[1:]
	s.ring = slices.Delete(s.ring, at, at+1)
	if len(p.waiting) > 0 {
		s.ring = append(s.ring, p)
	}
	p.held++
	s.free--
	return c
}

func (s *Slots) release(p *claimant) {
	s.mu.Lock()
	s.free++
	p.held--
	s.forget(p)
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
		s.ring = slices.DeleteFunc(s.ring, func(o *claimant) bool { return o == p })
		s.forget(p)
	}
	return true
}

// forget drops somebody who neither holds a slot nor waits for one. The lock is
// held.
func (s *Slots) forget(p *claimant) {
	if p.held == 0 && len(p.waiting) == 0 {
		delete(s.people, p.who)
	}
}
