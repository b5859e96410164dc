package slacktest

import "time"

// Advance moves the server's clock ahead: streams and statuses run out, and
// triggers and response URLs expire, as if that time had passed.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
	s.touch()
}

// now is the server's time. The lock is held.
func (s *Server) now() time.Time { return time.Now().Add(s.ahead) }
