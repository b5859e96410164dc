package llmtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"understudy/core/llm"
)

// patience bounds every wait of the suite; nothing that works comes near it.
const patience = 10 * time.Second

// promptly is the most that a cancelled call may take to end. It is far more
// than the milliseconds it takes, because tests share their machine.
const promptly = 2 * time.Second

// Model is the model that the suite asks for.
const Model = "some-model"

// outcome is how one call went.
type outcome struct {
	events []llm.Event
	err    *llm.Error
}

func (o outcome) text() string {
	var b strings.Builder
	for _, e := range o.events {
		if e.Kind == llm.TextEvent {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

func (o outcome) calls() []llm.Call {
	var calls []llm.Call
	for _, e := range o.events {
		if e.Kind == llm.CallEvent {
			calls = append(calls, *e.Call)
		}
	}
	return calls
}

// done is the last event of an answer.
func (o outcome) done(t *testing.T) llm.Event {
	t.Helper()
	if o.err != nil {
		t.Fatalf("the call failed: %v\nbody: %s", o.err, o.err.Body)
	}
	return o.events[len(o.events)-1]
}

// reason is why the call failed.
func (o outcome) reason(t *testing.T) llm.Reason {
	t.Helper()
	if o.err == nil {
		t.Fatalf("the call ended well with %q, want an error", o.text())
	}
	return o.err.Reason
}

// call makes one call to its end and checks what holds for every call: exactly
// one terminal event, nothing after it, and only whole tool calls.
func call(t *testing.T, ctx context.Context, c llm.Client, req llm.Request, see func(llm.Event)) outcome {
	t.Helper()
	var o outcome
	ended := false
	for ev, err := range c.Stream(ctx, req) {
		if ended {
			t.Fatalf("after the end came %+v, %v", ev, err)
		}
		if err != nil {
			if !errors.As(err, &o.err) {
				t.Fatalf("the error is a %T, want an *llm.Error: %v", err, err)
			}
			if o.err.Model != req.Model || o.err.Provider == "" {
				t.Errorf("the error is about %q/%q, want the asked model and its provider", o.err.Provider, o.err.Model)
			}
			ended = true
			continue
		}
		checkEvent(t, ev)
		o.events = append(o.events, ev)
		ended = ev.Kind == llm.DoneEvent
		if see != nil {
			see(ev)
		}
	}
	if !ended {
		t.Fatal("the sequence ended with neither Done nor an error")
	}
	return o
}

func checkEvent(t *testing.T, ev llm.Event) {
	t.Helper()
	switch ev.Kind {
	case llm.TextEvent, llm.ThinkingEvent:
		if ev.Text == "" {
			t.Error("an empty piece of text was delivered")
		}
	case llm.CallEvent:
		if ev.Call == nil || ev.Call.ID == "" || ev.Call.Name == "" || !strings.HasPrefix(string(ev.Call.Args), "{") {
			t.Errorf("a tool call is not whole: %+v", ev.Call)
		}
	case llm.DoneEvent:
		if ev.Reply.Role != llm.Assistant || len(ev.Reply.Parts) == 0 || ev.Stop == "" {
			t.Errorf("Done lacks its reply or its stop reason: %+v", ev)
		}
	default:
		t.Errorf("an event of unknown kind %d", ev.Kind)
	}
}

// hello is a plain request.
func hello() llm.Request {
	return llm.Request{Model: Model, Messages: []llm.Message{llm.TextMessage(llm.User, "hello")}}
}

var weather = []llm.Call{
	{ID: "call_1", Name: "weather", Args: []byte(`{"city":"Zürich"}`)},
	{ID: "call_2", Name: "clock", Args: []byte(`{}`)},
}

// contractCase is one answer of a provider and what a client makes of it.
type contractCase struct {
	name   string
	answer Response
	check  func(t *testing.T, o outcome)
}

// fails is a case that ends with that reason.
func fails(name string, want llm.Reason, answer Response, more ...func(*testing.T, *llm.Error)) contractCase {
	return contractCase{name, answer, func(t *testing.T, o outcome) {
		if got := o.reason(t); got != want {
			t.Errorf("reason %q (%s), want %q", got, o.err.Evidence, want)
		}
		for _, check := range more {
			check(t, o.err)
		}
	}}
}

func status(want int) func(*testing.T, *llm.Error) {
	return func(t *testing.T, e *llm.Error) {
		if e.Status != want {
			t.Errorf("status %d, want %d", e.Status, want)
		}
	}
}

func body(want string) func(*testing.T, *llm.Error) {
	return func(t *testing.T, e *llm.Error) {
		if !strings.Contains(string(e.Body), want) {
			t.Errorf("body %q, want %q in it", e.Body, want)
		}
	}
}

func resetIn(want time.Duration) func(*testing.T, *llm.Error) {
	return func(t *testing.T, e *llm.Error) {
		if left := time.Until(e.ResetAt); left <= want-patience || left > want {
			t.Errorf("the limit ends in %v, want about %v", left, want)
		}
	}
}

// answers are the cases in which the provider answers well.
func answers() []contractCase {
	return []contractCase{
		{"text", Stream(Say("Hel"), Say("lo "), Say("wörld")), checkText},
		{"thinking", Stream(Think("hm, "), Think("well"), Say("yes")), checkThinking},
		{"tool calls", Stream(Say("let me see"), Use(weather[0]), Use(weather[1])), checkCalls},
		{"tool calls without text", Stream(Use(weather[0])), func(t *testing.T, o outcome) {
			if done := o.done(t); done.Stop != llm.StopTools || len(o.calls()) != 1 {
				t.Errorf("stop %q with calls %v, want one call", done.Stop, o.calls())
			}
		}},
		{"output limit", Stream(Say("so long"), Finish(llm.StopLength, llm.Usage{Out: 3})), func(t *testing.T, o outcome) {
			if done := o.done(t); done.Stop != llm.StopLength {
				t.Errorf("stop %q, want %q", done.Stop, llm.StopLength)
			}
		}},
		{"usage", Stream(Say("hi"), Finish(llm.StopEnd, counted)), func(t *testing.T, o outcome) {
			if got := o.done(t).Usage; got != counted {
				t.Errorf("usage %+v, want %+v", got, counted)
			}
		}},
	}
}

var counted = llm.Usage{In: 100, Out: 20, CacheRead: 60, CacheWrite: 10, Reasoning: 5}

func checkText(t *testing.T, o outcome) {
	done := o.done(t)
	if o.text() != "Hello wörld" || done.Reply.Text() != "Hello wörld" {
		t.Errorf("text %q, reply %q, want %q in both", o.text(), done.Reply.Text(), "Hello wörld")
	}
	if done.Stop != llm.StopEnd {
		t.Errorf("stop %q, want %q", done.Stop, llm.StopEnd)
	}
}

func checkThinking(t *testing.T, o outcome) {
	thinking := ""
	for _, e := range o.events {
		if e.Kind == llm.ThinkingEvent {
			thinking += e.Text
		}
	}
	if thinking != "hm, well" {
		t.Errorf("thinking %q, want %q", thinking, "hm, well")
	}
	if done := o.done(t); o.text() != "yes" || done.Reply.Text() != "yes" {
		t.Errorf("text %q, reply %q, want the answer without its reasoning", o.text(), done.Reply.Text())
	}
}

func checkCalls(t *testing.T, o outcome) {
	done := o.done(t)
	if got, want := fmt.Sprintf("%s", o.calls()), fmt.Sprintf("%s", weather); got != want {
		t.Errorf("calls %s, want %s", got, want)
	}
	if done.Stop != llm.StopTools {
		t.Errorf("stop %q, want %q", done.Stop, llm.StopTools)
	}
	kept := 0
	for _, p := range done.Reply.Parts {
		if p.Call != nil {
			kept++
		}
	}
	if kept != len(weather) || done.Reply.Text() != "let me see" {
		t.Errorf("the reply holds %d calls and %q", kept, done.Reply.Text())
	}
}

// failures are the cases in which the provider fails.
func failures() []contractCase {
	overloaded := Failure(529, "overloaded_error", "Overloaded")
	return []contractCase{
		fails("rate limit", llm.RateLimit,
			Failure(429, "rate_limit_error", "Too many requests").With("Retry-After", "120"), status(429), resetIn(120*time.Second)),
		fails("overloaded", llm.Overloaded, overloaded, status(529), body("Overloaded")),
		fails("bad key", llm.Auth, Failure(401, "authentication_error", "invalid x-api-key"), status(401)),
		fails("no such model", llm.ModelNotFound, Failure(404, "not_found_error", "model: some-model"), status(404)),
		fails("bad request", llm.Format,
			Failure(400, "invalid_request_error", "messages.0: unexpected role"), status(400), body("unexpected role")),
		fails("edge page", llm.Timeout,
			Plain(502, "text/html", "<html><title>502 Bad Gateway</title></html>"), status(502), body("Bad Gateway")),
		fails("overloaded in the stream", llm.Overloaded,
			Stream(Say("par"), Fail("overloaded_error", "Overloaded")), status(200), body("overloaded_error")),
		fails("error before any text", llm.Overloaded, Stream(Fail("overloaded_error", "Overloaded")), status(200)),
		fails("cut short", llm.Timeout, Stream(Say("par"), Cut())),
		fails("dropped", llm.Timeout, Stream(Say("par"), Drop())),
		fails("reset in the stream", llm.Timeout, Stream(Say("par"), Reset())),
		fails("reset before headers", llm.Timeout, Stream(Reset())),
		fails("empty answer", llm.EmptyResponse, Stream(Finish(llm.StopEnd, llm.Usage{}))),
		fails("only reasoning", llm.EmptyResponse, Stream(Think("hm"), Finish(llm.StopEnd, llm.Usage{Out: 1}))),
		{"usage of a failed answer", Stream(Think("hm"), Finish(llm.StopEnd, counted)), func(t *testing.T, o outcome) {
			if got := o.reason(t); got != llm.EmptyResponse {
				t.Errorf("reason %q", got)
			}
			if o.err.Usage != counted {
				t.Errorf("usage %+v, want %+v", o.err.Usage, counted)
			}
		}},
		fails("refusal", llm.Refusal, Stream(Refuse())),
		fails("refusal after text", llm.Refusal, Stream(Say("I"), Refuse())),
		{"calls of a cut answer", Stream(Use(weather[0]), Cut()), func(t *testing.T, o outcome) {
			if got := o.reason(t); got != llm.Timeout || o.calls() != nil {
				t.Errorf("reason %q with calls %v, want a time-out without calls", got, o.calls())
			}
		}},
		{"error as the whole answer", Plain(http.StatusOK, "application/json", `{"error":{"message":"nope"}}`), func(t *testing.T, o outcome) {
			o.reason(t)
			status(200)(t, o.err)
			body("nope")(t, o.err)
		}},
	}
}

// Contract tests what holds for every client, with a wire or without. newClient
// makes a client whose provider answers every request for [Model] in that way.
func Contract(t *testing.T, newClient func(*testing.T, Response) llm.Client) {
	for _, c := range append(answers(), failures()...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, call(t, t.Context(), newClient(t, c.answer), hello(), nil))
		})
	}
	t.Run("cancelled before it begins", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := call(t, ctx, newClient(t, Text("hi")), hello(), nil).reason(t); got != llm.Abort {
			t.Errorf("reason %q, want %q", got, llm.Abort)
		}
	})
	t.Run("cancelled in the stream", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var at time.Time
		c := newClient(t, Stream(Say("par"), Hang()))
		o := call(t, ctx, c, hello(), func(llm.Event) { at = time.Now(); cancel() })
		if got := o.reason(t); got != llm.Abort {
			t.Errorf("reason %q, want %q", got, llm.Abort)
		}
		if took := time.Since(at); took > promptly {
			t.Errorf("the call ended %v after it was cancelled", took)
		}
	})
	t.Run("left early", func(t *testing.T) {
		t.Parallel()
		n := 0
		for range newClient(t, Stream(Say("one"), Say("two"), Say("three"))).Stream(t.Context(), hello()) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%d events were delivered, want 1", n)
		}
	})
}
