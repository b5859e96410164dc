package llmtest

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"understudy/core/llm"
)

// player plays one response to one request.
type player struct {
	s       *Server
	w       http.ResponseWriter
	ctx     context.Context
	dialect Dialect
	answer  Answer
	begun   bool // the headers are out
	used    bool // a tool call was streamed
}

// play reports whether the client stayed to the end.
func (p *player) play(r Response) bool {
	if !p.wait(r.Delay) {
		return false
	}
	for name, value := range r.Header {
		p.w.Header().Set(name, value)
	}
	if r.Status != 0 {
		p.plain(r)
		return true
	}
	for _, step := range r.Steps {
		over, stayed := p.step(step)
		if over || !stayed {
			return stayed
		}
	}
	stop := llm.StopEnd
	if p.used {
		stop = llm.StopTools
	}
	return p.send(p.answer.Finish(stop, llm.Usage{In: 7, Out: 5}))
}

func (p *player) plain(r Response) {
	body := r.Body
	if body == "" && (r.Code != "" || r.Message != "") {
		body = p.dialect.Error(r.Status, r.Code, r.Message)
	}
	if p.w.Header().Get("Content-Type") == "" {
		p.w.Header().Set("Content-Type", "application/json")
	}
	p.w.WriteHeader(r.Status)
	_, _ = io.WriteString(p.w, body) // who left is told by nobody here
}

// step acts, and reports whether the answer is over and the client still there.
func (p *player) step(s Step) (over, stayed bool) {
	switch s.Do {
	case "say":
		return false, p.send(p.answer.Say(s.Text))
	case "think":
		return false, p.send(p.answer.Think(s.Text))
	case "use":
		p.used = true
		return false, p.send(p.answer.Use(*s.Call))
	case "ping":
		return false, p.send(p.answer.Ping())
	case "raw":
		return false, p.send(s.Text)
	case "pause":
		return false, p.wait(s.For)
	case "gate":
		select {
		case <-p.s.gate(s.Text):
			return false, true
		case <-p.ctx.Done():
			return true, false
		}
	case "hang":
		<-p.ctx.Done()
		return true, false
	case "finish":
		return true, p.send(p.answer.Finish(s.Stop, s.Usage))
	case "refuse":
		return true, p.send(p.answer.Refuse())
	case "fail":
		return true, p.send(p.answer.Fail(s.Text, s.Message))
	case "cut":
		return true, p.send("")
	case "drop", "reset":
		p.abort(s.Do == "reset")
		return true, true
	}
	return true, p.send(p.answer.Fail("api_error", "the script has a step that nobody knows: "+s.Do))
}

// send writes to the stream, after the headers.
func (p *player) send(wire string) bool {
	if !p.begun {
		p.begun = true
		p.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		p.w.WriteHeader(http.StatusOK)
	}
	if _, err := io.WriteString(p.w, wire); err != nil {
		return false
	}
	return http.NewResponseController(p.w).Flush() == nil
}

func (p *player) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// abort ends the connection without ending the answer.
func (p *player) abort(reset bool) {
	if m, ok := p.w.(*memoryWriter); ok {
		m.abort(reset)
		return
	}
	conn, _, err := http.NewResponseController(p.w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
