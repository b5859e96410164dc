package discordtest

import (
	"encoding/json"
	"path"
	"slices"
	"time"
)

// Request is one REST request of the bot, in the order of arrival.
type Request struct {
	At           time.Time
	Method, Path string // the path without /api and version
	Body         json.RawMessage
	Files        int // that came with the body
	Status       int // zero while it is not answered
}

// Field is one value of the request's JSON body, such as "content", and nil if
// it is not there.
func (r Request) Field(name string) any {
	var body map[string]any
	_ = json.Unmarshal(r.Body, &body)
	return body[name]
}

// Requests are the requests whose method and path match; an empty method and
// "*" in the path's segments match anything. No arguments of path: everything.
func (s *Server) Requests(method, pattern string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Request
	for _, r := range s.requests {
		if matches(method, pattern, r.Method, r.Path) {
			all = append(all, *r)
		}
	}
	return all
}

// Careless are the requests that send or edit a message without switching
// mentions off.
func (s *Server) Careless() []Request {
	return slices.DeleteFunc(s.Requests("", ""), func(r Request) bool {
		field := r.Field
		if data, ok := r.Field("data").(map[string]any); ok { // of a callback
			field = func(name string) any { return data[name] }
		}
		if r.Method != "POST" && r.Method != "PATCH" || field("content") == nil {
			return true
		}
		mentions, ok := field("allowed_mentions").(map[string]any)
		if !ok {
			return false
		}
		parse, ok := mentions["parse"].([]any)
		return ok && len(parse) == 0
	})
}

func matches(method, pattern, gotMethod, gotPath string) bool {
	if method != "" && method != gotMethod {
		return false
	}
	ok, err := path.Match(pattern, gotPath)
	return pattern == "" || ok && err == nil
}

// Fault spoils the answer to one request.
type Fault struct {
	Method, Path string // as in [Server.Requests]
	// Status and the error's Code and Message are answered in place of the
	// real answer; Body, when set, is answered as it is (HTML, say).
	Status, Code int
	Message      string
	Body         string
	Field        string        // the field that a 50035 complains about
	RetryAfter   time.Duration // for status 429
	Global       bool          // the 429 holds for all routes
	Shared       bool          // the 429 is one that other bots have caused
	Performed    bool          // the request is carried out all the same
	Times        int           // how often; zero is once
}

type fault struct {
	Fault
	left int
	held *Held
}

// Held is a request that was carried out and whose answer is kept back.
type Held struct {
	// Reached is closed once the request was carried out.
	Reached chan struct{}
	verdict chan bool
}

// Release lets the answer go.
func (h *Held) Release() { h.settle(true) }

// Drop cuts the connection in place of answering.
func (h *Held) Drop() { h.settle(false) }

func (h *Held) settle(answer bool) {
	if h == nil {
		return
	}
	select {
	case h.verdict <- answer:
	default:
	}
}

// Inject spoils the next matching request.
func (s *Server) Inject(f Fault) { s.inject(f, nil) }

// Hold carries out the next matching request and keeps its answer back.
func (s *Server) Hold(method, pattern string) *Held {
	h := &Held{Reached: make(chan struct{}), verdict: make(chan bool, 1)}
	s.inject(Fault{Method: method, Path: pattern, Performed: true}, h)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, h)
	return h
}

func (s *Server) inject(f Fault, h *Held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{Fault: f, left: max(f.Times, 1), held: h})
}

// fault takes the fault that is meant for a request. The lock is held.
func (s *Server) fault(method, path string) *fault {
	for i, f := range s.faults {
		if !matches(f.Method, f.Path, method, path) {
			continue
		}
		if f.left--; f.left == 0 {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return f
	}
	return nil
}
