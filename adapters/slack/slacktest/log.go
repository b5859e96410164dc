package slacktest

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// Call is one request that arrived.
type Call struct {
	Time   time.Time
	Method string            // of HTTP
	Path   string            // of the URL
	Name   string            // of the API method, or "response"
	Args   map[string]string // without the token
	Error  string            // Slack's code, or how a fault ended it; empty for ok
	Done   bool              // it was answered
}

// record logs a request and returns its place in the log.
func (s *Server) record(r *http.Request, name string, a args) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, Call{Time: time.Now(), Method: r.Method, Path: r.URL.Path, Name: name, Args: maps.Clone(a)})
	s.touch()
	return len(s.calls) - 1
}

func (s *Server) settleCall(i int, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[i].Error, s.calls[i].Done = code, true
	s.touch()
}

// Calls are all requests so far, or those of the named methods.
func (s *Server) Calls(names ...string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Call
	for _, c := range s.calls {
		if len(names) == 0 || slices.Contains(names, c.Name) {
			found = append(found, c)
		}
	}
	return found
}

// Posts are the bot's own messages that stand in a channel now: those of the
// thread of root, or outside of threads if root is empty.
func (s *Server) Posts(channel, root string) []Message {
	var own []Message
	for _, m := range s.Messages(channel) {
		if m.BotID == s.cfg.BotID && m.ThreadTS == root {
			own = append(own, m)
		}
	}
	return own
}

// Messages are all messages that stand in a channel and its threads, in order.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Message
	for _, m := range s.places[channel].messages {
		if !m.Deleted {
			found = append(found, *m)
		}
	}
	return found
}

// Responses are the ephemeral posts and what came to response URLs, in order.
func (s *Server) Responses() []Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.responses)
}
