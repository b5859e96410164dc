package slacktest

import (
	"io"
	"net/http"
	"strconv"
)

// Fault is something that goes wrong with one call. The zero value is none.
type Fault struct {
	// Error answers ok:false with this code, and Fields beside it.
	Error  string
	Fields map[string]any
	// Status answers with this HTTP status and a page of HTML.
	Status int
	// RetryAfter answers 429 with that many seconds.
	RetryAfter int
	// Drop cuts the connection instead of answering.
	Drop bool
	// Hold keeps the answer back until it is closed. A client that gives up
	// before gets nothing.
	Hold <-chan struct{}
	// Reached, if set, is closed once the call has had its effect, or had none.
	Reached chan<- struct{}
	// Perform does what was asked in spite of the answer. A fault that only
	// holds always does.
	Perform bool
}

// performs reports whether the call has its effect.
func (f Fault) performs() bool {
	return f.Perform || f.Error == "" && f.Status == 0 && f.RetryAfter == 0 && !f.Drop
}

// code is how the log shows a call that got no answer of its own.
func (f Fault) code() string {
	switch {
	case f.RetryAfter > 0:
		return "ratelimited"
	case f.Status > 0:
		return "http_" + strconv.Itoa(f.Status)
	}
	return "no_answer"
}

// Fail arms faults for the next calls of a method, one each, in order.
func (s *Server) Fail(method string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[method] = append(s.faults[method], faults...)
}

// fault takes the next armed fault of a method.
func (s *Server) fault(method string) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.faults[method]
	if len(queue) == 0 {
		return Fault{}, false
	}
	s.faults[method] = queue[1:]
	return queue[0], true
}

// answer plays the fault's part of the answer. It returns true when the usual
// answer is still to be written.
func (f Fault) answer(s *Server, w http.ResponseWriter, r *http.Request) bool {
	if f.Reached != nil {
		close(f.Reached)
	}
	if f.Hold != nil {
		select {
		case <-f.Hold:
		case <-r.Context().Done():
			return false
		case <-s.done:
			return false
		}
	}
	switch {
	case f.Drop:
		if h, ok := w.(http.Hijacker); ok {
			if c, _, err := h.Hijack(); err == nil {
				_ = c.Close()
			}
		}
		return false
	case f.RetryAfter > 0:
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
		http.Error(w, `{"ok":false,"error":"ratelimited"}`, http.StatusTooManyRequests)
		return false
	case f.Status > 0:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, "<html><body>Slack is having trouble</body></html>")
		return false
	}
	return true
}
