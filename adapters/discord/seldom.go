package discord

import (
	"sync"
	"time"
)

const (
	// alertEvery is how long an operator is not told again that the same person
	// tried the same.
	alertEvery = 10 * time.Minute
	manyAlerts = 1000
)

// seldom tells what happened again within some time.
type seldom struct {
	every time.Duration

	mu   sync.Mutex
	last *bounded[time.Time]
}

func newSeldom(every time.Duration) *seldom {
	return &seldom{every: every, last: newBounded[time.Time](manyAlerts)}
}

// due reports whether something did not happen within the time before, and
// notes that it does now.
func (s *seldom) due(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if last, ok := s.last.get(key); ok && now.Sub(last) < s.every {
		return false
	}
	s.last.put(key, now)
	return true
}
