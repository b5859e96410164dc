package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core/llm"
)

// heard is everything that one call gave.
type heard struct {
	text   string
	pieces int
	calls  []llm.Call
	done   *llm.Event
	err    *llm.Error
}

// ask makes a request and holds the client to its contract.
func ask(t testing.TB, ctx context.Context, c llm.Client, model string) heard {
	t.Helper()
	return send(t, ctx, c, llm.Request{Model: model, Messages: []llm.Message{llm.TextMessage(llm.User, "hi")}})
}

func send(t testing.TB, ctx context.Context, c llm.Client, r llm.Request) heard {
	t.Helper()
	var h heard
	for e, err := range c.Stream(ctx, r) {
		if h.done != nil || h.err != nil {
			t.Fatalf("an event after the last one: %+v, %v", e, err)
		}
		switch {
		case err != nil:
			if !errors.As(err, &h.err) {
				t.Fatalf("the error is a %T", err)
			}
		case e.Kind == llm.TextEvent:
			h.text += e.Text
			h.pieces++
		case e.Kind == llm.CallEvent:
			h.calls = append(h.calls, *e.Call)
		case e.Kind == llm.DoneEvent:
			h.done = &e
		default:
			t.Fatalf("unexpected event %+v", e)
		}
	}
	if h.done == nil && h.err == nil {
		t.Fatal("the sequence ended with neither Done nor an error")
	}
	if h.done != nil {
		if got := h.done.Reply.Text(); got != h.text {
			t.Fatalf("the reply holds %q, the events said %q", got, h.text)
		}
		if h.done.Stop == "" || h.done.Usage.Out == 0 {
			t.Fatalf("an incomplete Done: %+v", h.done)
		}
	}
	return h
}

// fastTime gives the script a clock in which waiting takes no time.
func fastTime(s *Script) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return now }
	s.After = func(d time.Duration) <-chan time.Time {
		now = now.Add(d)
		c := make(chan time.Time, 1)
		c <- now
		return c
	}
}

func must(t testing.TB, text string) Answer {
	t.Helper()
	a, err := ParseAnswer(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestGoodAnswers(t *testing.T) {
	tests := []struct {
		answer string
		text   string
		pieces int
		calls  string
		stop   llm.Stop
	}{
		{`text "hello"`, "hello", 1, "", llm.StopEnd},
		{`stream "par" pause 3s "tial"`, "partial", 2, "", llm.StopEnd},
		{`stream "a" "b" then text "c"`, "abc", 3, "", llm.StopEnd},
		{`stream "a" then finish length`, "a", 1, "", llm.StopLength},
		{`tool echo {"x":1}`, "", 0, `echo{"x":1}`, llm.StopTools},
		{`stream "look" then tool a tool b {"y":2}`, "look", 1, `a{} b{"y":2}`, llm.StopTools},
	}
	for _, tt := range tests {
		s := &Script{}
		fastTime(s)
		s.Push(llm.Ref{Provider: "a", Model: "m"}, "", must(t, tt.answer))
		h := ask(t, t.Context(), New(s, "A", "a:p1"), "m")
		if h.done == nil {
			t.Errorf("%s: %v", tt.answer, h.err)
			continue
		}
		var calls []string
		ids := map[string]bool{}
		for _, c := range h.calls {
			calls = append(calls, c.Name+string(c.Args))
			ids[c.ID] = true
		}
		if h.text != tt.text || h.pieces != tt.pieces || strings.Join(calls, " ") != tt.calls || h.done.Stop != tt.stop {
			t.Errorf("%s: %q in %d, %v, %s", tt.answer, h.text, h.pieces, calls, h.done.Stop)
		}
		if len(ids) != len(h.calls) {
			t.Errorf("%s: tool calls share an id: %v", tt.answer, ids)
		}
		if want := len(h.calls) + min(tt.pieces, 1); len(h.done.Reply.Parts) != want {
			t.Errorf("%s: %d parts in the reply, want %d", tt.answer, len(h.done.Reply.Parts), want)
		}
	}
}

func TestFailures(t *testing.T) {
	tests := []struct {
		answer string
		reason llm.Reason
		status int
		after  time.Duration
		text   string
	}{
		{`529 "overloaded_error"`, llm.Overloaded, 529, 0, ""},
		{`401 "invalid x-api-key"`, llm.Auth, 401, 0, ""},
		{`402 "insufficient credits"`, llm.Billing, 402, 0, ""},
		{`404 "no such model"`, llm.ModelNotFound, 404, 0, ""},
		{`429 "slow down"`, llm.RateLimit, 429, 0, ""},
		{`500 "internal server error"`, llm.ServerError, 500, 0, ""},
		{`503`, llm.ServerError, 503, 0, ""},
		{`502 "<html>bad gateway</html>"`, llm.Timeout, 502, 0, ""},
		{`400 "bad tool schema"`, llm.Format, 400, 0, ""},
		{`slow 45s 529 "overloaded_error"`, llm.Overloaded, 529, 45 * time.Second, ""},
		{`stream "par" pause 3s "tial" then 529 "overloaded_error"`, llm.Overloaded, 200, 3 * time.Second, "partial"},
		{`stream then 529 "busy"`, llm.Overloaded, 200, 0, ""},
		{`stream then 429 {"error":{"message":"slow down"}}`, llm.RateLimit, 200, 0, ""},
		{`stream then 500 "boom"`, llm.ServerError, 200, 0, ""},
		{`stream then 401 "go away"`, llm.Auth, 200, 0, ""},
		{`empty`, llm.EmptyResponse, 0, 0, ""},
		{`text ""`, llm.EmptyResponse, 0, 0, ""},
		{`stream "par" then empty`, llm.Timeout, 200, 0, "par"},
		{`finish abort`, llm.Timeout, 408, 0, ""},
		{`finish error`, llm.ServerError, 500, 0, ""},
		{`stream "par" then finish network_error`, llm.Timeout, 408, 0, "par"},
		{`finish content_filter`, llm.Refusal, 200, 0, ""},
		{`reset`, llm.Timeout, 0, 0, ""},
		{`slow 2s reset`, llm.Timeout, 0, 2 * time.Second, ""},
		{`stream "par" then reset`, llm.Timeout, 200, 0, "par"},
		{`hang`, llm.Timeout, 0, 120 * time.Second, ""},
		{`slow 2m text "late"`, llm.Timeout, 0, 120 * time.Second, ""},
		{`slow 1m slow 90s text "late"`, llm.Timeout, 0, 120 * time.Second, ""},
		{`stream "par" then hang`, llm.Timeout, 200, 60 * time.Second, "par"},
		{`stream "par" pause 59s "t" pause 61s "ial"`, llm.Timeout, 200, 119 * time.Second, "part"},
		{`slow 110s stream ` + strings.Repeat(`"." pause 50s `, 10), llm.Timeout, 200, 10 * time.Minute, ".........."},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			s := &Script{}
			s.Push(llm.Ref{Provider: "a", Model: "m"}, "", must(t, tt.answer))
			began := time.Now()
			h := ask(t, t.Context(), New(s, "a", "a:p1"), "m")
			if h.err == nil {
				t.Fatalf("%s: answered %q", tt.answer, h.text)
			}
			if h.err.Reason != tt.reason || h.err.Status != tt.status {
				t.Errorf("%s: %v, status %d (%s); want %s, %d", tt.answer, h.err, h.err.Status, h.err.Evidence, tt.reason, tt.status)
			}
			if h.err.Provider != "a" || h.err.Model != "m" {
				t.Errorf("%s: booked on %s/%s", tt.answer, h.err.Provider, h.err.Model)
			}
			if got := time.Since(began); got != tt.after {
				t.Errorf("%s: failed after %v, want %v", tt.answer, got, tt.after)
			}
			if h.text != tt.text {
				t.Errorf("%s: said %q before, want %q", tt.answer, h.text, tt.text)
			}
		})
	}
}

// The words of a scenario mean the same for every vendor's shape of body,
// before the stream and inside of it.
func TestVendorBodies(t *testing.T) {
	tests := []struct {
		answer string
		reason llm.Reason
	}{
		{`529 "overloaded_error"`, llm.Overloaded},
		{`401 "invalid key"`, llm.Auth},
		{`402 "insufficient credits"`, llm.Billing},
		{`429 "slow down"`, llm.RateLimit},
		{`500 "boom"`, llm.ServerError},
		{`500 "internal server error"`, llm.ServerError},
		{`503 "model is overloaded"`, llm.Overloaded},
		{`400 "maximum context length exceeded"`, llm.ContextOverflow},
		{`404 "no such model"`, llm.ModelNotFound},
	}
	for _, provider := range []string{"a", "anthropic", "openai", "openrouter", "google", "groq", "script"} {
		for _, tt := range tests {
			for _, prefix := range []string{"", "stream then "} {
				s := &Script{}
				s.Push(llm.Ref{Provider: provider, Model: "m"}, "", must(t, prefix+tt.answer))
				h := ask(t, t.Context(), New(s, provider, ""), "m")
				if h.err == nil || h.err.Reason != tt.reason {
					t.Errorf("%s: %s%s: %v, body %s", provider, prefix, tt.answer, h.err, h.err.Body)
				}
				if !json.Valid(h.err.Body) {
					t.Errorf("%s: %s%s: body %q is no JSON", provider, prefix, tt.answer, h.err.Body)
				}
			}
		}
	}
}

func TestStatedWait(t *testing.T) {
	for _, answer := range []string{
		`slow 5s 429 retry-after=120 {"error":{"message":"slow down"}}`,
		`stream pause 5s "par" then 429 retry-after=120 "slow down"`,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &Script{}
			s.Push(llm.Ref{Provider: "a", Model: "m"}, "", must(t, answer))
			h := ask(t, t.Context(), New(s, "a", ""), "m")
			if want := time.Now().Add(120 * time.Second); h.err == nil || !h.err.ResetAt.Equal(want) {
				t.Errorf("%s: the end of the limit is not %v: %+v", answer, want, h.err)
			}
		})
	}
}

// A body that was written out is sent byte for byte, except that inside a
// stream it tells the status that is lost there.
func TestBodies(t *testing.T) {
	for answer, want := range map[string]string{
		`429 {"error":{"message":"a  <b>"}}`: `{"error":{"message":"a  <b>"}}`,
		`429 [{"error": 1}]`:                 `[{"error": 1}]`,
		`502 "<html>"`:                       `<html>`,
		`503`:                                ``,
		`stream then 429 {"error":{"message":"a <b>"}}`:          `{"error":{"code":429,"message":"a <b>"}}`,
		`stream then 529 {"error":{"type":"overloaded"}, "x":1}`: `{"error":{"type":"overloaded"}, "x":1}`,
		`stream then 500 {"error":"no"}`:                         `{"error":"no"}`,
		`stream then 500 "<html>"`:                               `<html>`,
	} {
		s := &Script{}
		s.Push(llm.Ref{Provider: "a", Model: "m"}, "", must(t, answer))
		h := ask(t, t.Context(), New(s, "a", ""), "m")
		if h.err == nil || string(h.err.Body) != want {
			t.Errorf("%s: %+v, want the body %s", answer, h.err, want)
		}
	}
}

func TestTimeoutsAreSettings(t *testing.T) {
	limits := llm.Timeouts{FirstByte: 2 * time.Second, Idle: 3 * time.Second, Attempt: 7 * time.Second}
	for answer, after := range map[string]time.Duration{
		`hang`:                     2 * time.Second,
		`slow 1s stream then hang`: 4 * time.Second,
		`stream "a" pause 2s "b" pause 2s "c" pause 2s "d" pause 2s "e"`: 7 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &Script{Timeouts: limits}
			s.Push(llm.Ref{Provider: "a", Model: "m"}, "", must(t, answer))
			began := time.Now()
			h := ask(t, t.Context(), New(s, "a", ""), "m")
			var limit *llm.TimeoutError
			if h.err == nil || h.err.Reason != llm.Timeout || !errors.As(h.err, &limit) {
				t.Fatalf("%s: %v", answer, h.err)
			}
			if got := time.Since(began); got != after {
				t.Errorf("%s: after %v, want %v", answer, got, after)
			}
		})
	}
}

// A reader that takes its time is no silence of the provider.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Script{}
		s.Push(llm.Ref{Provider: "a", Model: "m"}, "", must(t, `stream "a" pause 1s "b"`))
		var last llm.Event
		for e, err := range New(s, "a", "").Stream(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{llm.TextMessage(llm.User, "hi")}}) {
			if err != nil {
				t.Fatal(err)
			}
			last = e
			time.Sleep(90 * time.Second)
		}
		if last.Kind != llm.DoneEvent {
			t.Errorf("ended with %+v", last)
		}
	})
}

func TestCancel(t *testing.T) {
	for _, answer := range []string{`hang`, `slow 1m text "x"`, `stream "par" then hang`, `stream "par" pause 40s "tial"`} {
		synctest.Test(t, func(t *testing.T) {
			s := &Script{}
			s.Push(llm.Ref{Provider: "a", Model: "m"}, "", must(t, answer))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(5*time.Second, cancel)
			began := time.Now()
			h := ask(t, ctx, New(s, "a", ""), "m")
			if h.err == nil || h.err.Reason != llm.Abort || !errors.Is(h.err, context.Canceled) {
				t.Errorf("%s: %v", answer, h.err)
			}
			if got := time.Since(began); got != 5*time.Second {
				t.Errorf("%s: ended after %v", answer, got)
			}
		})
	}
}

func TestCancelledBefore(t *testing.T) {
	var log Log
	s := &Script{OnRequest: log.Add}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if h := ask(t, ctx, New(s, "a", ""), "m"); h.err == nil || h.err.Reason != llm.Abort {
		t.Errorf("got %v", h.err)
	}
	if n := len(log.Requests()); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestLeavingEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Script{}
		s.Push(llm.Ref{Provider: "a", Model: "m"}, "", must(t, `stream "a" pause 30s "b"`))
		began := time.Now()
		for e := range New(s, "a", "").Stream(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{llm.TextMessage(llm.User, "hi")}}) {
			if e.Text != "a" {
				t.Fatalf("got %+v", e)
			}
			break
		}
		if got := time.Since(began); got != 0 {
			t.Errorf("leaving took %v", got)
		}
	})
}

func TestCutWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log Log
		s := &Script{OnRequest: log.Add}
		s.Push(llm.Ref{Provider: "a", Model: "m"}, "", must(t, `stream "par" pause 40s "tial"`))
		old, young := s.Wire(), s.Wire()
		time.AfterFunc(5*time.Second, old.Cut)
		began := time.Now()
		h := ask(t, t.Context(), old.Client("a", ""), "m")
		if h.err == nil || h.err.Reason != llm.Timeout || !errors.Is(h.err, syscall.ECONNRESET) || time.Since(began) != 5*time.Second {
			t.Errorf("the call under way: %v after %v", h.err, time.Since(began))
		}
		old.Cut()
		if h := ask(t, t.Context(), old.Client("a", ""), "m"); h.err == nil || !errors.Is(h.err, syscall.ECONNREFUSED) {
			t.Errorf("a later call: %v", h.err)
		}
		if n := len(log.Requests()); n != 1 {
			t.Errorf("%d requests reached the script, want 1", n)
		}
		if h := ask(t, t.Context(), young.Client("a", ""), "m"); h.text != "partial" {
			t.Errorf("another wire: %q, %v", h.text, h.err)
		}
	})
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Script{Pace: 100 * time.Millisecond}
		s.Push(llm.Ref{Provider: "a", Model: "m"}, "", Text("one two three"))
		began := time.Now()
		h := ask(t, t.Context(), New(s, "a", ""), "m")
		if h.text != "one two three" || h.pieces != 3 {
			t.Errorf("%q in %d pieces", h.text, h.pieces)
		}
		if got := time.Since(began); got != 200*time.Millisecond {
			t.Errorf("took %v", got)
		}
	})
}

func TestSpedUpTime(t *testing.T) {
	s := &Script{}
	fastTime(s)
	began := s.Now()
	if h := ask(t, t.Context(), New(s, "a", ""), "m"); h.text != "ok" {
		t.Fatalf("the default answer is %q", h.text)
	}
	s.Push(llm.Ref{Provider: "a", Model: "m"}, "", must(t, `hang`))
	if h := ask(t, t.Context(), New(s, "a", ""), "m"); h.err == nil || h.err.Reason != llm.Timeout {
		t.Errorf("got %v", h.err)
	}
	if got := s.Now().Sub(began); got != 120*time.Second {
		t.Errorf("the script's time moved by %v", got)
	}
}

func TestUsage(t *testing.T) {
	s := &Script{Default: func(llm.Ref, llm.Request) Answer { return Text("12345") }}
	r := llm.Request{Model: "m", System: "1234", Messages: []llm.Message{
		{Role: llm.User, Parts: []llm.Part{{Text: "12345678"}, {Image: &llm.Image{MIME: "image/png"}}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.Call{ID: "c", Name: "echo", Args: json.RawMessage(`{}`)}}}},
		{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.Result{ID: "c", Text: "12"}}}},
	}}
	h := send(t, t.Context(), New(s, "a", ""), r)
	if want := (llm.Usage{In: 1005, Out: 2}); h.done == nil || h.done.Usage != want {
		t.Errorf("got %+v (%v), want %+v", h.done, h.err, want)
	}
}

func ExampleParseAnswer() {
	s := new(Script)
	a, err := ParseAnswer(`stream "Hel" "lo" then 529 "overloaded_error"`)
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Push(llm.Ref{Provider: "script", Model: "lead"}, "", a)
	request := llm.Request{Model: "lead", Messages: []llm.Message{llm.TextMessage(llm.User, "Hi")}}
	for event, err := range New(s, "script", "").Stream(context.Background(), request) {
		var failure *llm.Error
		if errors.As(err, &failure) {
			fmt.Println("failed:", failure.Reason)
			return
		}
		fmt.Println(event.Text)
	}
	// Output:
	// Hel
	// lo
	// failed: overloaded
}
