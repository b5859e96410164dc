package discordtest

import (
	"maps"
	"slices"
	"time"
)

// conduct is how the gateway (mis)behaves from now on.
type conduct struct {
	refuse     int           // close code for everybody who identifies or resumes
	odd, code  int           // close code for so many of them
	heartbeat  time.Duration // interval stated in hello
	reconnects int           // so many connections get op 7 as their first packet
	replay     int           // so many events too many are replayed on a resume
	resume     string        // where sessions are said to be resumed; as usual if empty
	mute       bool          // say nothing any more, not even acks
}

// sockets are all live connections. The lock is held.
func (s *Server) sockets() []*socket {
	return slices.Collect(maps.Keys(s.open))
}

// each does something to all live connections.
func (s *Server) each(do func(*socket)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sockets() {
		do(c)
	}
}

// Connected is the number of live sessions of the bot.
func (s *Server) Connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for _, n := range s.sessions {
		if n.socket != nil {
			count++
		}
	}
	return count
}

// Identifies are all attempts of the bot to open a connection.
func (s *Server) Identifies() []Identify {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.identifies)
}

// CloseAll closes every connection with a close code.
func (s *Server) CloseAll(code int) { s.each(func(c *socket) { c.close(code) }) }

// DropAll cuts every connection without a word.
func (s *Server) DropAll() { s.each(func(c *socket) { c.drop() }) }

// Cut cuts the connection of one shard without a word.
func (s *Server) Cut(shard int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.sessions {
		if n.shard == shard && n.socket != nil {
			n.socket.drop()
		}
	}
}

// AskReconnect sends op 7 to every connection.
func (s *Server) AskReconnect() { s.each(func(c *socket) { c.send(opReconnect, nil) }) }

// Invalidate sends op 9 to every connection. A session that is not resumable
// is gone.
func (s *Server) Invalidate(resumable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sockets := s.sockets()
	if !resumable { // first: what happens from here on is told to nobody
		s.sessions = map[string]*session{}
	}
	for _, c := range sockets {
		c.known = false // it may identify again
		c.send(opInvalidSession, resumable)
	}
}

// ForgetSessions makes every later resume fail with op 9.
func (s *Server) ForgetSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = map[string]*session{}
}

// Refuse closes every connection that identifies or resumes from now on with a
// close code; zero lets them in again.
func (s *Server) Refuse(code int) { s.behave(func(c *conduct) { c.refuse = code }) }

// ReconnectFirst answers the next n connections with op 7 instead of READY.
func (s *Server) ReconnectFirst(n int) { s.behave(func(c *conduct) { c.reconnects = n }) }

// ReplayMore replays n events to the next resumed session that it has already.
func (s *Server) ReplayMore(n int) { s.behave(func(c *conduct) { c.replay = n }) }

// RefuseNext closes the next n connections that identify or resume with a code.
func (s *Server) RefuseNext(n, code int) {
	s.behave(func(c *conduct) { c.odd, c.code = n, code })
}

// AskHeartbeat sends op 1 to every connection.
func (s *Server) AskHeartbeat() { s.each(func(c *socket) { c.send(opHeartbeat, nil) }) }

// SendRaw sends a frame to every connection as it stands.
func (s *Server) SendRaw(frame string) {
	s.each(func(c *socket) { c.push(outgoing{data: []byte(frame)}) })
}

// Heartbeats is how many heartbeats have come so far, and Late how many
// connections were closed for want of them.
func (s *Server) Heartbeats() (beats, late int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beats, s.late
}

// ResumeAt names another address for resumptions in coming greetings.
func (s *Server) ResumeAt(address string) { s.behave(func(c *conduct) { c.resume = address }) }

// Mute lets connections stand open and says nothing on them, not even acks.
func (s *Server) Mute(on bool) { s.behave(func(c *conduct) { c.mute = on }) }

// Heartbeat sets the heartbeat interval of coming connections.
func (s *Server) Heartbeat(every time.Duration) { s.behave(func(c *conduct) { c.heartbeat = every }) }

func (s *Server) behave(change func(*conduct)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.conduct)
}

// Sessions is the number of sessions that could be resumed or are in use.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}
