package script

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"understudy/core/llm"
)

// The limits of a request where the script's Timeouts leave them open; they are
// those of [llm.Transport].
const (
	firstByteTimeout = 120 * time.Second
	idleTimeout      = 60 * time.Second
	attemptTimeout   = 10 * time.Minute
)

// New makes the client of one provider with one profile. Provider and profile
// are what answers are queued for; the provider also decides how errors look.
func New(s *Script, provider, profile string) llm.Client {
	return s.Wire().Client(provider, profile)
}

// Wire is how one process reaches a script. Cutting it is what the death of
// the process looks like from outside: the calls under way break off, and
// later ones are refused without ever reaching the script.
type Wire struct {
	script *Script
	once   sync.Once
	gone   chan struct{}
}

// Wire makes a new way to the script, independent of all others.
func (s *Script) Wire() *Wire { return &Wire{script: s, gone: make(chan struct{})} }

// Cut cuts the wire for good.
func (w *Wire) Cut() { w.once.Do(func() { close(w.gone) }) }

// Client makes a client whose calls go over this wire.
func (w *Wire) Client(provider, profile string) llm.Client {
	return &client{wire: w, provider: strings.ToLower(provider), profile: profile}
}

type client struct {
	wire              *Wire
	provider, profile string
}

// Stream plays the answer that the script has for the request. Each run over
// the sequence is a request of its own.
func (c *client) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		s := c.wire.script
		now := s.now()
		p := &player{
			ctx: ctx, wire: c.wire, script: s, yield: yield,
			ref: llm.Ref{Provider: c.provider, Model: req.Model}, request: req,
			began: now, last: now,
		}
		if f := p.interrupted(refused); f != nil {
			p.end(f)
			return
		}
		a, n := s.take(Record{At: now, Ref: p.ref, Profile: c.profile, Request: req})
		p.number = n
		p.play(a)
	}
}

// player plays one answer.
type player struct {
	ctx     context.Context
	wire    *Wire
	script  *Script
	yield   func(llm.Event, error) bool
	ref     llm.Ref
	request llm.Request
	number  int

	began  time.Time
	last   time.Time // when the present silence began
	opened bool      // the stream has begun
	left   bool      // the caller has left the loop
	parts  []llm.Part
}

func (p *player) play(a Answer) {
	for _, s := range a.steps {
		f := p.step(s)
		if p.left {
			return
		}
		if f != nil {
			p.end(f)
			return
		}
		if s.kind >= stepDone {
			return
		}
	}
	p.end(&llm.Failure{Empty: true}) // only the zero Answer has no last step
}

// step does one step and says how it failed, if it did.
func (p *player) step(s step) *llm.Failure {
	switch s.kind {
	case stepWait:
		return p.wait(s.wait)
	case stepOpen:
		p.opened = true
		p.last = p.script.now()
		return p.interrupted(reset)
	case stepText:
		return p.text(s.text)
	case stepCall:
		return p.call(s.call)
	case stepDone:
		return p.done(llm.StopEnd)
	case stepStatus:
		return p.status(s)
	case stepFinish:
		return p.finish(s.text)
	case stepHang:
		return p.wait(math.MaxInt64)
	case stepReset:
		return &llm.Failure{Err: reset()}
	}
	return p.empty()
}

// emit hands one event to the caller, unless the call was broken off.
func (p *player) emit(e llm.Event) *llm.Failure {
	if f := p.interrupted(reset); f != nil {
		return f
	}
	p.left = !p.yield(e, nil)
	p.last = p.script.now() // a slow reader is no silence of the provider
	return nil
}

// end hands the failure to the caller, classified.
func (p *player) end(f *llm.Failure) {
	f.Provider, f.Model, f.Now = p.ref.Provider, p.ref.Model, p.script.now()
	if p.opened && !f.Empty {
		f.Stream, f.Status = true, http.StatusOK
	}
	if f.Finish != "" || f.Empty { // such an end comes with the counts of any other
		f.Usage = usage(p.request, llm.Message{Parts: p.parts})
	}
	p.yield(llm.Event{}, llm.Classify(*f))
}

// text sends a chunk, word by word where the script has a pace.
func (p *player) text(s string) *llm.Failure {
	pieces := []string{s}
	if p.script.Pace > 0 {
		pieces = strings.SplitAfter(s, " ")
	}
	for i, piece := range pieces {
		if i > 0 {
			if f := p.wait(p.script.Pace); f != nil {
				return f
			}
		}
		if piece == "" {
			continue
		}
		if n := len(p.parts); n > 0 && p.parts[n-1].Call == nil {
			p.parts[n-1].Text += piece
		} else {
			p.parts = append(p.parts, llm.Part{Text: piece})
		}
		if f := p.emit(llm.Event{Kind: llm.TextEvent, Text: piece}); f != nil || p.left {
			return f
		}
	}
	return nil
}

func (p *player) call(c llm.Call) *llm.Failure {
	c.ID = fmt.Sprintf("call_%d_%d", p.number, len(p.parts)+1)
	c.Args = slices.Clone(c.Args)
	p.parts = append(p.parts, llm.Part{Call: &c})
	return p.emit(llm.Event{Kind: llm.CallEvent, Call: &c})
}

// done ends the answer well, if anything was said.
func (p *player) done(stop llm.Stop) *llm.Failure {
	if len(p.parts) == 0 {
		return p.empty()
	}
	if slices.ContainsFunc(p.parts, func(part llm.Part) bool { return part.Call != nil }) {
		stop = llm.StopTools
	}
	reply := llm.Message{Role: llm.Assistant, Parts: p.parts}
	return p.emit(llm.Event{Kind: llm.DoneEvent, Stop: stop, Reply: reply, Usage: usage(p.request, reply)})
}

// empty is an answer that ends with nothing in it. After output the same end
// is a stream that was cut short.
func (p *player) empty() *llm.Failure {
	if len(p.parts) == 0 {
		return &llm.Failure{Empty: true}
	}
	return &llm.Failure{Cut: true}
}

// status fails the request, or sends an error event where a stream has begun.
func (p *player) status(s step) *llm.Failure {
	body := s.body
	if body == nil && (s.text != "" || p.opened) {
		body = vendorBody(p.ref.Provider, s.text, s.status, p.opened)
	}
	h := s.header.Clone()
	if p.opened { // its headers, if any, came with the stream's own
		return &llm.Failure{Header: h, Body: inStreamBody(body, s.status)}
	}
	if h == nil {
		h = make(http.Header)
	}
	if h.Get("Content-Type") == "" && len(body) > 0 {
		h.Set("Content-Type", contentType(body))
	}
	return &llm.Failure{Status: s.status, Header: h, Body: body}
}

func contentType(body []byte) string {
	if json.Valid(body) {
		return "application/json"
	}
	return http.DetectContentType(body)
}

// finish ends the stream with a reason. Some reasons are good ends.
func (p *player) finish(reason string) *llm.Failure {
	switch strings.ToLower(reason) {
	case "stop", "end", "end_turn", "tool_calls", "tool_use":
		return p.done(llm.StopEnd)
	case "length", "max_tokens":
		return p.done(llm.StopLength)
	}
	p.opened = true
	return &llm.Failure{Finish: reason}
}

func (p *player) limits() llm.Timeouts {
	t := p.script.Timeouts
	return llm.Timeouts{
		FirstByte: cmp.Or(t.FirstByte, firstByteTimeout),
		Idle:      cmp.Or(t.Idle, idleTimeout),
		Attempt:   cmp.Or(t.Attempt, attemptTimeout),
	}
}

// wait lets time pass in which nothing comes over the wire. Waits add up until
// something does; the first limit that is reached ends the call.
func (p *player) wait(d time.Duration) *llm.Failure {
	limits := p.limits()
	limit := &llm.TimeoutError{Phase: "first byte", After: limits.FirstByte}
	if p.opened {
		limit = &llm.TimeoutError{Phase: "next byte", After: limits.Idle}
	}
	now := p.script.now()
	left := p.last.Add(limit.After).Sub(now)
	if whole := p.began.Add(limits.Attempt).Sub(now); whole < left {
		left, limit = whole, &llm.TimeoutError{Phase: "end", After: limits.Attempt}
	}
	if d < left {
		return p.sleep(d)
	}
	if f := p.sleep(left); f != nil {
		return f
	}
	return &llm.Failure{Err: limit}
}

func (p *player) sleep(d time.Duration) *llm.Failure {
	if d > 0 {
		select {
		case <-p.script.after(d):
		case <-p.ctx.Done():
		case <-p.wire.gone:
		}
	}
	return p.interrupted(reset)
}

// interrupted is the failure of a call that was broken off from outside; lost
// is the error of one whose wire was cut.
func (p *player) interrupted(lost func() error) *llm.Failure {
	if p.ctx.Err() != nil {
		return &llm.Failure{Cancelled: true, Err: context.Cause(p.ctx)}
	}
	select {
	case <-p.wire.gone:
		return &llm.Failure{Err: lost()}
	default:
		return nil
	}
}

func reset() error {
	return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}

func refused() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

// usage counts tokens roughly: four bytes of text each, 1,000 for a picture or
// a document.
func usage(r llm.Request, reply llm.Message) llm.Usage {
	in := len(r.System)
	for _, m := range r.Messages {
		in += size(m)
	}
	return llm.Usage{In: (in + 3) / 4, Out: (size(reply) + 3) / 4}
}

func size(m llm.Message) int {
	n := 0
	for _, part := range m.Parts {
		n += len(part.Text)
		switch {
		case part.Image != nil, part.Document != nil:
			n += 4000
		case part.Call != nil:
			n += len(part.Call.Name) + len(part.Call.Args)
		case part.Result != nil:
			n += len(part.Result.Text)
		}
	}
	return n
}
