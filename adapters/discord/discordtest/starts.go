package discordtest

import (
	"net/http"
	"time"
)

// StartLimit is how many sessions a bot may begin.
type StartLimit struct {
	Remaining      int           // until Reset; each new session takes one
	Reset          time.Duration // from now on; then there are 1000 again
	MaxConcurrency int           // shards that may begin at a time; 1 if zero
	// Every is the time in which that many may begin. Discord's five seconds
	// would make every test of a reconnect long; zero is no limit.
	Every time.Duration
}

const totalStarts = 1000

// starts is what GET /gateway/bot tells, and what new sessions are held to.
type starts struct {
	shards int
	limit  StartLimit
	resets time.Time
	last   map[int]time.Time // by shard modulo MaxConcurrency
}

// Shards sets the number of shards that the bot is told to use. New sessions
// with fewer are refused with 4011.
func (s *Server) Shards(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts.shards = n
}

// LimitStarts sets how many sessions may begin.
func (s *Server) LimitStarts(l StartLimit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts.limit, s.starts.resets, s.starts.last = l, time.Now().Add(l.Reset), map[int]time.Time{}
}

// refill begins a new day when the old one is over.
func (s *starts) refill() {
	if !s.resets.After(time.Now()) {
		s.limit.Remaining, s.limit.Reset = totalStarts, 24*time.Hour
		s.resets = time.Now().Add(s.limit.Reset)
	}
}

// take lets a session begin, if it may.
func (s *starts) take(shard int) bool {
	s.refill()
	turn := shard % max(s.limit.MaxConcurrency, 1)
	if s.limit.Remaining <= 0 || time.Since(s.last[turn]) < s.limit.Every {
		return false
	}
	s.limit.Remaining--
	if s.last == nil {
		s.last = map[int]time.Time{}
	}
	s.last[turn] = time.Now()
	return true
}

// gatewayAddress answers GET /gateway.
func (s *Server) gatewayAddress(*call) (int, any) {
	return http.StatusOK, object{"url": s.gateway}
}

// gatewayInfo answers GET /gateway/bot.
func (s *Server) gatewayInfo(*call) (int, any) {
	s.starts.refill()
	return http.StatusOK, object{"url": s.gateway, "shards": max(s.starts.shards, 1), "session_start_limit": object{
		"total": totalStarts, "remaining": s.starts.limit.Remaining,
		"reset_after":     time.Until(s.starts.resets).Milliseconds(),
		"max_concurrency": max(s.starts.limit.MaxConcurrency, 1)}}
}
