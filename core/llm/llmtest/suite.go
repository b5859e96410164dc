package llmtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/core/llm"
)

// Key is the credential that the suite's clients hold. It must show up on the
// wire, and nowhere else.
const Key = "sk-suite-0123456789abcdef0123456789abcdef"

// Wire is what a client under test is connected to.
type Wire struct {
	URL       string // of the server, without a path
	Key       string
	Transport *llm.Transport
	Server    *Server
}

// suite binds the tests to one dialect and one client.
type suite struct {
	dialect   Dialect
	newClient func(*Wire) llm.Client
}

// Suite tests a client that speaks that dialect over HTTP. newClient makes one
// that holds wire.Key and uses wire.Transport and nothing else to reach
// wire.URL.
func Suite(t *testing.T, d Dialect, newClient func(*Wire) llm.Client) {
	s := suite{d, newClient}
	t.Run("contract", func(t *testing.T) {
		Contract(t, func(t *testing.T, answer Response) llm.Client {
			w := s.wire(t)
			w.Server.Queue(Model, answer)
			return watched{newClient(w), t, w}
		})
	})
	for name, test := range map[string]func(*testing.T){
		"streams":                s.streams,
		"request":                s.request,
		"models":                 s.models,
		"tool results":           s.toolResults,
		"cancel before headers":  s.cancelBeforeHeaders,
		"cancel is seen":         s.cancelIsSeen,
		"leaving is seen":        s.leavingIsSeen,
		"one connection":         s.oneConnection,
		"too much":               s.tooMuch,
		"connection refused":     s.connectionRefused,
		"no redirect":            s.noRedirect,
		"key stays secret":       s.keyStaysSecret,
		"many at once":           s.manyAtOnce,
		"time-out: first byte":   s.firstByte,
		"time-out: idle":         s.idle,
		"time-out: attempt":      s.attempt,
		"slow reader is no idle": s.slowReader,
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.HasPrefix(name, "time-out") && !strings.HasPrefix(name, "slow") { // fake time does not run in parallel
				t.Parallel()
			}
			test(t)
		})
	}
}

// wire starts a server on loopback.
func (s suite) wire(t *testing.T) *Wire {
	server := NewServer()
	t.Cleanup(server.Close)
	transport := llm.NewTransport(nil, llm.Timeouts{})
	t.Cleanup(transport.CloseIdle)
	return &Wire{URL: server.URL, Key: Key, Transport: transport, Server: server}
}

// watched checks around every call what only the wire can tell.
type watched struct {
	llm.Client
	t    *testing.T
	wire *Wire
}

func (c watched) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		alive := ctx.Err() == nil
		before, _, _ := c.wire.Server.Counts()
		for ev, err := range c.Client.Stream(ctx, req) {
			if err != nil {
				keepsSecret(c.t, err)
			}
			if !yield(ev, err) {
				break
			}
		}
		after, _, _ := c.wire.Server.Counts()
		if n := after - before; alive && n != 1 || n > 1 {
			c.t.Errorf("the call made %d requests, want exactly one", n)
		}
	}
}

// keepsSecret looks for the credential in everything that an error shows.
func keepsSecret(t *testing.T, err error) {
	t.Helper()
	texts := []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)}
	var e *llm.Error
	if errors.As(err, &e) {
		texts = append(texts, string(e.Body), e.Detail, fmt.Sprint(e.Header), fmt.Sprint(e.Err))
	}
	for _, text := range texts {
		if strings.Contains(text, Key) {
			t.Errorf("an error shows the key: %s", text)
		}
	}
}

func (s suite) streams(t *testing.T) {
	w := s.wire(t)
	w.Server.Queue(Model, Stream(Say("one"), Gate("one"), Ping(), Say("two"), Gate("two")))
	// Each gate opens only when the piece before it arrived.
	o := call(t, t.Context(), s.newClient(w), hello(), func(ev llm.Event) { w.Server.Open(ev.Text) })
	if o.done(t); o.text() != "onetwo" {
		t.Errorf("text %q, want %q", o.text(), "onetwo")
	}
}

// tooMuch: an answer that holds more than any model's is a failure that says so,
// and one with just as much as it may is whole.
func (s suite) tooMuch(t *testing.T) {
	calls := func(n int) (steps []Step) {
		for i := range n {
			steps = append(steps, Use(llm.Call{ID: fmt.Sprintf("call_%d", i), Name: "clock", Args: []byte(`{"zone":"UTC"}`)}))
		}
		return steps
	}
	args := func(n int) Step {
		const head, tail = `{"x":"`, `"}`
		return Use(llm.Call{ID: "call_1", Name: "clock", Args: []byte(head + strings.Repeat("x", n-len(head)-len(tail)) + tail)})
	}
	half := Say(strings.Repeat("x", llm.MaxText/2))
	line := strings.Repeat("x", 4<<20)
	for _, c := range []struct {
		name  string
		steps []Step
		fails error
	}{
		{"just enough text", []Step{half, half}, nil},
		{"too much text", []Step{half, half, Say("x")}, llm.ErrMuchText},
		{"just enough calls", calls(llm.MaxCalls), nil},
		{"too many calls", calls(llm.MaxCalls + 1), llm.ErrManyCalls},
		{"just enough arguments", []Step{args(llm.MaxArgs)}, nil},
		{"too long arguments", []Step{args(llm.MaxArgs + 1)}, llm.ErrLongArgs},
		{"a line without an end", []Step{Raw("data: "), Raw(line), Raw(line), Raw(line), Raw(line), Raw(line), Raw(line), Raw(line), Raw(line), Raw(line)}, errors.New("the answer is larger than 32 MiB")},
	} {
		w := s.wire(t)
		w.Server.Queue(Model, Stream(c.steps...))
		o := call(t, t.Context(), s.newClient(w), hello(), nil)
		if c.fails == nil {
			o.done(t)
			continue
		}
		if reason := o.reason(t); reason != llm.Timeout || !strings.Contains(o.err.Detail, c.fails.Error()) {
			t.Errorf("%s: %v with the detail %q, want %q", c.name, reason, o.err.Detail, c.fails)
		}
	}
}

func (s suite) request(t *testing.T) {
	w := s.wire(t)
	req := llm.Request{
		Model:     Model,
		System:    "be brief",
		MaxTokens: 321,
		Tools:     []llm.Tool{{Name: "weather", Description: "tells it", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`)}},
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{
			{Text: "what is <this> & that?"},
			{Image: &llm.Image{MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n...")}},
		}}},
	}
	call(t, t.Context(), s.newClient(w), req, nil).done(t)
	got := s.asked(t, w)
	want := Asked{Model: Model, System: req.System, MaxTokens: 321, Stream: true, Messages: req.Messages, Tools: req.Tools}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("on the wire stood\n%+v, want\n%+v", got, want)
	}
	if key := w.Server.Requests()[0].Key; key != Key {
		t.Errorf("the request came with the credential %q", key)
	}
}

// asked is the one request that the server got.
func (s suite) asked(t *testing.T, w *Wire) Asked {
	t.Helper()
	log := w.Server.Requests()
	if len(log) != 1 {
		t.Fatalf("%d requests, want 1", len(log))
	}
	asked, err := log[0].Asked()
	if err != nil {
		t.Fatalf("%v\n%s", err, log[0].Body)
	}
	return asked
}

func (s suite) toolResults(t *testing.T) {
	w := s.wire(t)
	req := hello()
	foreign := llm.Call{ID: "functions.clock:1|x", Name: "clock", Args: []byte(`{"zone":"UTC"}`)}
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Opaque: &llm.Opaque{Origin: llm.Ref{Provider: "else", Model: "where"}, Data: []byte(`{"reasoning":"secret","signature":"x"}`)}},
			{Text: "let me see"}, {Call: &weather[0]}, {Call: &foreign},
		}},
		llm.Message{Role: llm.ToolRole, Parts: []llm.Part{
			{Result: &llm.Result{ID: weather[0].ID, Text: "sunny"}},
			{Result: &llm.Result{ID: foreign.ID, Text: "no clock", IsError: true}},
		}},
	)
	call(t, t.Context(), s.newClient(w), req, nil).done(t)

	var calls []llm.Call
	var results []llm.Result
	for _, m := range s.asked(t, w).Messages {
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				calls = append(calls, *p.Call)
			case p.Result != nil:
				results = append(results, *p.Result)
			case p.Opaque != nil:
				t.Errorf("another model's reasoning was sent: %s", p.Opaque.Data)
			}
		}
	}
	if len(calls) != 2 || len(results) != 2 {
		t.Fatalf("%d calls and %d results were sent, want 2 of each", len(calls), len(results))
	}
	if strings.Contains(string(w.Server.Requests()[0].Body), "secret") {
		t.Error("another model's reasoning was sent")
	}
	for i, want := range []llm.Result{{Text: "sunny"}, {Text: "no clock", IsError: true}} {
		if got := results[i]; got.Text != want.Text || got.IsError != want.IsError || got.ID != calls[i].ID {
			t.Errorf("result %d is %+v to call %+v", i, got, calls[i])
		}
	}
}

func (s suite) cancelBeforeHeaders(t *testing.T) {
	w := s.wire(t)
	w.Server.Queue(Model, Stream(Hang()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var at time.Time
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if err := w.Server.Await(ctx, 1, 0); err != nil {
			t.Error(err)
		}
		at = time.Now()
		cancel()
	})
	o := call(t, ctx, s.newClient(w), hello(), nil)
	waiting.Wait()
	if got := o.reason(t); got != llm.Abort {
		t.Errorf("reason %q, want %q", got, llm.Abort)
	}
	if took := time.Since(at); took > promptly {
		t.Errorf("the call ended %v after it was cancelled", took)
	}
	s.seesLeave(t, w)
}

func (s suite) seesLeave(t *testing.T, w *Wire) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.Server.Await(ctx, 1, 1); err != nil {
		t.Errorf("the connection stayed open: %v", err)
	}
}

func (s suite) cancelIsSeen(t *testing.T) {
	w := s.wire(t)
	w.Server.Queue(Model, Stream(Say("par"), Hang()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call(t, ctx, s.newClient(w), hello(), func(llm.Event) { cancel() })
	s.seesLeave(t, w)
}

func (s suite) leavingIsSeen(t *testing.T) {
	w := s.wire(t)
	w.Server.Queue(Model, Stream(Say("par"), Hang()))
	for range s.newClient(w).Stream(t.Context(), hello()) {
		break
	}
	s.seesLeave(t, w)
}

// oneConnection holds the speed of a hop: neither an answer nor a failing one
// costs its connection.
func (s suite) oneConnection(t *testing.T) {
	w := s.wire(t)
	w.Server.Queue(Model, Text("one"), Failure(529, "overloaded_error", "Overloaded"), Text("two"))
	for range 3 {
		call(t, t.Context(), s.newClient(w), hello(), nil)
	}
	if asked, _, conns := w.Server.Counts(); asked != 3 || conns != 1 {
		t.Errorf("%d requests over %d connections, want 3 over 1", asked, conns)
	}
}

func (s suite) connectionRefused(t *testing.T) {
	w := s.wire(t)
	w.Server.Close()
	o := call(t, t.Context(), s.newClient(w), hello(), nil)
	if got := o.reason(t); got != llm.Timeout || o.err.Status != 0 {
		t.Errorf("reason %q with status %d, want %q without one", got, o.err.Status, llm.Timeout)
	}
}

func (s suite) noRedirect(t *testing.T) {
	w := s.wire(t)
	w.Server.Queue(Model, Response{Status: 307}.With("Location", w.URL+"/elsewhere"+s.dialect.Path()), Text("stolen"))
	call(t, t.Context(), s.newClient(w), hello(), nil).reason(t)
	if asked, _, _ := w.Server.Counts(); asked != 1 {
		t.Errorf("%d requests, want 1", asked)
	}
}

func (s suite) keyStaysSecret(t *testing.T) {
	for _, answer := range []Response{
		Failure(401, "authentication_error", "incorrect API key provided: "+Key),
		Plain(502, "text/html", "<html>"+Key+"</html>"),
		Plain(200, "application/json", `{"key":"`+Key+`"}`),
		Stream(Fail("authentication_error", "no such key: "+Key)),
		Stream(Say("hm"), Raw("data: not JSON "+Key+"\n\n"), Cut()),
		Failure(500, "api_error", "?").With("X-Your-Key", Key),
	} {
		w := s.wire(t)
		w.Server.Queue(Model, answer)
		o := call(t, t.Context(), s.newClient(w), hello(), nil)
		o.reason(t)
		keepsSecret(t, o.err)
	}
}

func (s suite) manyAtOnce(t *testing.T) {
	w := s.wire(t)
	client := s.newClient(w)
	var all sync.WaitGroup
	for i := range 20 {
		model := fmt.Sprintf("model-%d", i)
		w.Server.Queue(model, Stream(Say("I am "), Say(model)))
		all.Go(func() {
			text := ""
			req := hello()
			req.Model = model
			for ev, err := range client.Stream(t.Context(), req) {
				if err != nil {
					t.Error(err)
				}
				if ev.Kind == llm.TextEvent {
					text += ev.Text
				}
			}
			if text != "I am "+model {
				t.Errorf("%s answered %q", model, text)
			}
		})
	}
	all.Wait()
}
