package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptrace"
	"time"
)

// Timeouts bound one request to a provider; a zero field takes its default.
// They are deadlines of this program: when one passes, the request ends with a
// *[TimeoutError].
type Timeouts struct {
	Connect   time.Duration // until a connection stands, TLS included: 10 s
	FirstByte time.Duration // from the request to the first byte of the answer's body: 120 s
	Idle      time.Duration // between two bytes of the answer: 60 s
	Attempt   time.Duration // the whole request: 10 min
}

func (t Timeouts) withDefaults() Timeouts {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&t.Connect, 10*time.Second)
	set(&t.FirstByte, 120*time.Second)
	set(&t.Idle, 60*time.Second)
	set(&t.Attempt, 10*time.Minute)
	return t
}

// TimeoutError says which deadline of [Timeouts] ended a request.
type TimeoutError struct {
	Phase string // "connection", "first byte", "next byte" or "end"
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("no %s of the provider's answer within %v", e.Phase, e.After)
}

// Timeout and Temporary make it a [net.Error].
func (e *TimeoutError) Timeout() bool   { return true }
func (e *TimeoutError) Temporary() bool { return true }

// guard holds the deadlines of one request. Each of them cancels the request's
// context with a *TimeoutError as its cause.
type guard struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limits Timeouts

	whole, connect, first, idle *time.Timer
}

func newGuard(parent context.Context, limits Timeouts) (context.Context, *guard) {
	ctx, cancel := context.WithCancelCause(parent)
	g := &guard{ctx: ctx, cancel: cancel, limits: limits}
	g.whole = g.deadline("end", limits.Attempt)
	g.first = g.deadline("first byte", limits.FirstByte)
	g.connect = g.deadline("connection", limits.Connect)
	g.connect.Stop()
	g.idle = g.deadline("next byte", limits.Idle)
	g.idle.Stop()
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { g.connect.Reset(limits.Connect) },
		GotConn: func(httptrace.GotConnInfo) { g.connect.Stop() },
	}), g
}

func (g *guard) deadline(phase string, after time.Duration) *time.Timer {
	return time.AfterFunc(after, func() { g.cancel(&TimeoutError{phase, after}) })
}

// end releases everything and drops the connection if it is still in use.
func (g *guard) end() {
	g.stop()
	g.cancel(nil)
}

func (g *guard) stop() {
	for _, t := range []*time.Timer{g.whole, g.connect, g.first, g.idle} {
		t.Stop()
	}
}

// explain puts the deadline that passed in the place of the cancellation that
// it looks like.
func (g *guard) explain(err error) error {
	var timeout *TimeoutError
	if errors.As(context.Cause(g.ctx), &timeout) {
		return timeout
	}
	return err
}

// guardedBody counts silence only while somebody waits for a byte, so that a
// slow reader is never taken for a slow provider.
type guardedBody struct {
	rc    io.ReadCloser
	guard *guard
	read  int64
}

func (b *guardedBody) Read(p []byte) (int, error) {
	if b.read > 0 {
		b.guard.idle.Reset(b.guard.limits.Idle)
	}
	n, err := b.rc.Read(p)
	b.guard.idle.Stop()
	if n > 0 && b.read == 0 {
		b.guard.first.Stop()
	}
	b.read += int64(n)
	switch {
	case b.read > MaxAnswer:
		b.guard.end()
		return n, errAnswerTooLarge
	case errors.Is(err, io.EOF):
		b.guard.stop()
	case err != nil:
		err = b.guard.explain(err)
	}
	return n, err
}

func (b *guardedBody) Close() error {
	b.guard.end()
	return b.rc.Close()
}
