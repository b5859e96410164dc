package llmtest

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core/llm"
)

// inFakeTime makes one call without sockets, and tells how long it took.
func (s suite) inFakeTime(t *testing.T, answer Response, check func(t *testing.T, o outcome, took time.Duration)) {
	synctest.Test(t, func(t *testing.T) {
		server := NewMemory()
		defer server.Close()
		w := &Wire{URL: server.URL, Key: Key, Transport: llm.NewTransport(server, llm.Timeouts{}), Server: server}
		server.Queue(Model, answer)
		start := time.Now()
		o := call(t, t.Context(), s.newClient(w), hello(), func(ev llm.Event) {
			if ev.Kind == llm.TextEvent && ev.Text == "wait" {
				time.Sleep(5 * time.Minute)
			}
		})
		check(t, o, time.Since(start))
	})
}

// timesOut is a check for a deadline that passed.
func timesOut(want time.Duration) func(*testing.T, outcome, time.Duration) {
	return func(t *testing.T, o outcome, took time.Duration) {
		var deadline *llm.TimeoutError
		if got := o.reason(t); got != llm.Timeout || !errors.As(o.err, &deadline) {
			t.Errorf("reason %q from %v, want a deadline of our own", got, o.err.Err)
		}
		if took != want {
			t.Errorf("the call gave up after %v, want %v", took, want)
		}
	}
}

func (s suite) firstByte(t *testing.T) {
	s.inFakeTime(t, Stream(Hang()), timesOut(120*time.Second))
}

func (s suite) idle(t *testing.T) {
	s.inFakeTime(t, Stream(Say("par"), Pause(59*time.Second), Ping(), Hang()), timesOut(119*time.Second))
}

func (s suite) attempt(t *testing.T) {
	var steps []Step
	for range 20 {
		steps = append(steps, Ping(), Pause(50*time.Second))
	}
	s.inFakeTime(t, Stream(steps...), timesOut(10*time.Minute))
}

func (s suite) slowReader(t *testing.T) {
	s.inFakeTime(t, Stream(Say("wait"), Say("more")), func(t *testing.T, o outcome, _ time.Duration) {
		if o.done(t); o.text() != "waitmore" {
			t.Errorf("text %q, want all of it", o.text())
		}
	})
}
