package chat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/core/llm"
	"understudy/core/llm/chat"
	"understudy/core/llm/llmtest"
)

// connect makes a client of a provider whose server is in memory.
func connect(t *testing.T, server *llmtest.Server, cfg chat.Config) llm.Client {
	t.Helper()
	if cfg.BaseURL == "" {
		cfg.BaseURL = server.URL + "/v1"
	}
	cfg.Transport = llm.NewTransport(server, llm.Timeouts{})
	c, err := chat.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type result struct {
	text, thinking string
	calls          []llm.Call
	done           llm.Event
	err            *llm.Error
}

func ask(t *testing.T, c llm.Client, req llm.Request) result {
	t.Helper()
	var r result
	for ev, err := range c.Stream(t.Context(), req) {
		if err != nil && !errors.As(err, &r.err) {
			t.Fatalf("%T: %v", err, err)
		}
		switch ev.Kind {
		case llm.TextEvent:
			r.text += ev.Text
		case llm.ThinkingEvent:
			r.thinking += ev.Text
		case llm.CallEvent:
			r.calls = append(r.calls, *ev.Call)
		case llm.DoneEvent:
			r.done = ev
		}
	}
	return r
}

func hello() llm.Request {
	return llm.Request{Model: "m", Messages: []llm.Message{llm.TextMessage(llm.User, "hello")}}
}

// askRaw gives what the client makes of these events.
func askRaw(t *testing.T, provider string, events ...string) result {
	t.Helper()
	server := llmtest.NewMemory()
	defer server.Close()
	wire := ""
	for _, e := range events {
		if !strings.HasPrefix(e, ":") && !strings.HasPrefix(e, "event:") {
			e = "data: " + e
		}
		wire += e + "\n\n"
	}
	server.Queue("m", llmtest.Stream(llmtest.Raw(wire), llmtest.Cut()))
	return ask(t, connect(t, server, chat.Config{Provider: provider}), hello())
}

func delta(body string) string {
	return `{"choices":[{"index":0,"delta":` + body + `}]}`
}

func finish(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

const done = "[DONE]"

func TestOddButGoodAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []string
		text   string
		stop   llm.Stop
	}{
		{"empty error members", []string{
			`{"error":null,"choices":[{"delta":{"content":"a"}}]}`,
			`{"error":{},"choices":[{"delta":{"content":"b"},"error":null}]}`,
			`{"error":"","choices":[{"delta":{"content":"c"},"error":false}]}`,
			finish("stop"), done,
		}, "abc", llm.StopEnd},
		{"comments and unknown events", []string{
			": PROCESSING", "event: ping\ndata: {}", delta(`{"content":"a"}`), `{"choices":[],"prompt_filter_results":[]}`, finish("stop"), done,
		}, "a", llm.StopEnd},
		{"no [DONE]", []string{delta(`{"content":"a"}`), finish("stop")}, "a", llm.StopEnd},
		{"text with the finish reason", []string{
			`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, done,
		}, "a", llm.StopEnd},
		{"null members", []string{
			`{"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":null,"reasoning":null},"finish_reason":null}],"usage":null}`,
			delta(`{"content":"a"}`), `{"choices":[{"delta":null,"finish_reason":"eos_token"}]}`, done,
		}, "a", llm.StopEnd},
		{"text in pieces", []string{
			delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}`),
			finish("stop"), done,
		}, "a", llm.StopEnd},
		{"odd usage", []string{delta(`{"content":"a"}`), finish("length"), `{"choices":[],"usage":{"prompt_tokens":"many"}}`, done}, "a", llm.StopLength},
		{"upper case", []string{delta(`{"content":"a"}`), finish("MAX_TOKENS"), done}, "a", llm.StopLength},
		{"tool_calls without a call", []string{delta(`{"content":"a"}`), finish("tool_calls"), done}, "a", llm.StopEnd},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := askRaw(t, "host", c.events...)
			if r.err != nil {
				t.Fatal(r.err)
			}
			if r.text != c.text || r.done.Stop != c.stop || r.done.Reply.Text() != c.text {
				t.Errorf("%q, stop %q, reply %q; want %q, %q", r.text, r.done.Stop, r.done.Reply.Text(), c.text, c.stop)
			}
		})
	}
}

func TestFailingAnswers(t *testing.T) {
	text := delta(`{"content":"a"}`)
	for _, c := range []struct {
		name   string
		events []string
		want   llm.Reason
		body   string
	}{
		{"error beside choices", []string{`{"choices":[],"error":{"code":502,"message":"Worker local total request limit reached (33/32)"}}`}, llm.Overloaded, "33/32"},
		{"error of a choice", []string{`{"choices":[{"delta":{"content":""},"error":{"code":429,"message":"Rate limit exceeded"},"finish_reason":"error"}]}`}, llm.RateLimit, "Rate limit"},
		{"error object", []string{text, `{"object":"error","message":"This model's maximum context length is 4096 tokens","code":400}`}, llm.ContextOverflow, "4096"},
		{"error as a string", []string{`{"error":"insufficient credits"}`}, llm.Billing, "credits"},
		{"error, then a finish reason", []string{`{"message":"Too many tokens, please wait before trying again."}`, finish("error_finish")}, llm.RateLimit, "Too many"},
		{"error, then nothing", []string{`{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`}, llm.Billing, "1008"},
		{"finish reason error", []string{text, finish("error"), done}, llm.ServerError, ""},
		{"finish reason abort", []string{text, finish("abort"), done}, llm.Timeout, ""},
		{"finish reason network_error", []string{text, finish("network_error"), done}, llm.Timeout, ""},
		{"finish reason malformed_response", []string{text, finish("malformed_response"), done}, llm.Timeout, ""},
		{"finish reason content_filter", []string{text, finish("content_filter"), done}, llm.Refusal, ""},
		{"the upstream's finish reason", []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop","native_finish_reason":"network_error"}]}`, done}, llm.Timeout, ""},
		{"[DONE] alone", []string{text, done}, llm.Timeout, ""},
		{"nothing", nil, llm.Timeout, ""},
		{"blank text", []string{delta(`{"content":" \n"}`), finish("stop"), done}, llm.EmptyResponse, ""},
		{"refused", []string{delta(`{"refusal":"I cannot help with that."}`), finish("stop"), done}, llm.Refusal, ""},
		{"broken call", []string{delta(`{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":"}}]}`), finish("tool_calls"), done}, llm.Timeout, ""},
		{"call cut by the limit", []string{delta(`{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}]}`), finish("length"), done}, llm.EmptyResponse, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			provider := "host"
			if strings.Contains(c.body, "1008") {
				provider = "minimax"
			}
			r := askRaw(t, provider, c.events...)
			if r.err == nil {
				t.Fatalf("ended well with %q", r.text)
			}
			if r.err.Reason != c.want || r.calls != nil || !strings.Contains(string(r.err.Body), c.body) {
				t.Errorf("%q (%s) with body %q and calls %v, want %q", r.err.Reason, r.err.Evidence, r.err.Body, r.calls, c.want)
			}
		})
	}
}

func TestNoJSON(t *testing.T) {
	r := askRaw(t, "host", delta(`{"content":"a"}`), "upstream connect error")
	if r.err == nil || string(r.err.Body) != "upstream connect error" {
		t.Errorf("%+v, want an error with the event as its body", r.err)
	}
}

func TestCallsOfManyServers(t *testing.T) {
	f := func(members string) string { return delta(`{"tool_calls":[` + members + `]}`) }
	two := []llm.Call{{ID: "1", Name: "f", Args: json.RawMessage(`{"a":1}`)}, {ID: "2", Name: "g", Args: json.RawMessage(`{}`)}}
	for _, c := range []struct {
		name   string
		events []string
		want   []llm.Call
	}{
		{"interleaved", []string{
			f(`{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\""}},{"index":1,"id":"2","function":{"name":"g"}}`),
			f(`{"index":1,"function":{"arguments":"{}"}}`), f(`{"index":0,"function":{"arguments":":1}"}}`), finish("tool_calls"),
		}, two},
		{"id in every piece", []string{
			f(`{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\""}}`), f(`{"index":0,"id":"1","function":{"name":"f","arguments":":1}"}}`),
			f(`{"index":1,"id":"2","function":{"name":"g","arguments":"{}"}}`), finish("tool_calls"),
		}, two},
		{"no index", []string{
			f(`{"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}`), f(`{"id":"2","function":{"name":"g","arguments":""}}`), finish("stop"),
		}, two},
		{"no index in the later pieces", []string{
			f(`{"id":"1","function":{"name":"f","arguments":"{\"a\""}}`), f(`{"function":{"arguments":":1}"}}`),
			f(`{"id":"2","function":{"name":"g","arguments":"null"}}`), finish("tool_calls"),
		}, two},
		{"one index for all", []string{
			f(`{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}`), f(`{"index":0,"id":"2","function":{"name":"g","arguments":"{}"}}`), finish("tool_calls"),
		}, two},
		{"arguments as an object", []string{
			f(`{"index":0,"id":"1","function":{"name":"f","arguments":{"a":1}}}`), f(`{"index":1,"id":"2","function":{"name":"g","arguments":{}}}`), finish("tool_calls"),
		}, two},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := askRaw(t, "host", append(c.events, done)...)
			if r.err != nil {
				t.Fatal(r.err)
			}
			if !reflect.DeepEqual(r.calls, c.want) || r.done.Stop != llm.StopTools {
				t.Errorf("%s, stop %q; want %s", fmt.Sprintf("%s", r.calls), r.done.Stop, fmt.Sprintf("%s", c.want))
			}
		})
	}
	t.Run("no id", func(t *testing.T) {
		r := askRaw(t, "host", f(`{"function":{"name":"f","arguments":"{}"}}`), f(`{"function":{"name":"g","arguments":"{}"}}`), finish("tool_calls"), done)
		if len(r.calls) != 2 || r.calls[0].ID == "" || r.calls[0].ID == r.calls[1].ID {
			t.Errorf("calls %+v, want two with ids of their own", r.calls)
		}
	})
}

// TestReasoningGoesBack holds that reasoning goes back to the model that made
// it, under its own name, and only together with tool calls.
func TestReasoningGoesBack(t *testing.T) {
	call := delta(`{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}]}`)
	for _, c := range []struct {
		name, want, thinking string
		events               []string
	}{
		{"reasoning_content", `"reasoning_content":"hm, well"`, "hm, well",
			[]string{delta(`{"reasoning_content":"hm, "}`), delta(`{"reasoning_content":"well"}`), call, finish("tool_calls")}},
		{"reasoning", `"reasoning":"hm"`, "hm", []string{delta(`{"reasoning":"hm"}`), call, finish("tool_calls")}},
		{"both", `"reasoning_content":"hm"`, "hm", []string{delta(`{"reasoning":"hm","reasoning_content":"hm"}`), call, finish("tool_calls")}},
		{"details", `"reasoning_details":[{"index":0,"signature":"s","text":"hm, well","type":"reasoning.text"},{"data":"xy","index":1,"type":"reasoning.encrypted"}]`, "hm, well", []string{
			delta(`{"reasoning":"hm, ","reasoning_details":[{"type":"reasoning.text","index":0,"text":"hm, ","signature":null}]}`),
			delta(`{"reasoning":"well","reasoning_details":[{"type":"reasoning.text","index":0,"text":"well","signature":"s"}]}`),
			delta(`{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"xy"}]}`), call, finish("tool_calls"),
		}},
		{"without a call", "", "hm", []string{delta(`{"reasoning_content":"hm"}`), delta(`{"content":"a"}`), finish("stop")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := llmtest.NewMemory()
			defer server.Close()
			wire := ""
			for _, e := range append(c.events, done) {
				wire += "data: " + e + "\n\n"
			}
			server.Queue("m", llmtest.Stream(llmtest.Raw(wire), llmtest.Cut()))
			server.Queue("m", llmtest.Text("ok"))
			server.Queue("other", llmtest.Text("ok"))
			client := connect(t, server, chat.Config{Provider: "host"})
			first := ask(t, client, hello())
			if first.err != nil || first.thinking != c.thinking {
				t.Fatalf("thinking %q, %v; want %q", first.thinking, first.err, c.thinking)
			}
			req := hello()
			req.Messages = append(req.Messages, first.done.Reply,
				llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.Result{ID: "1", Text: "ok"}}}})
			ask(t, client, req)
			req.Model = "other"
			ask(t, client, req)

			log := server.Requests()
			if same := string(log[1].Body); c.want != "" && !strings.Contains(same, c.want) || c.want == "" && strings.Contains(same, "hm") {
				t.Errorf("the same model got %s, want %q in it", same, c.want)
			}
			if other := string(log[2].Body); strings.Contains(other, "reasoning") {
				t.Errorf("another model got %s", other)
			}
		})
	}
}

// TestHangAfterTheEnd holds that nobody waits long for what may follow the
// finish reason.
func TestHangAfterTheEnd(t *testing.T) {
	for name, end := range map[string]string{"no usage": finish("stop"), "no end": finish("stop") + "\n\ndata: " + done} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := llmtest.NewMemory()
				defer server.Close()
				server.Queue("m", llmtest.Stream(llmtest.Say("hi"), llmtest.Raw("data: "+end+"\n\n"), llmtest.Hang()))
				start := time.Now()
				r := ask(t, connect(t, server, chat.Config{Provider: "host"}), hello())
				if r.err != nil || r.text != "hi" {
					t.Errorf("%q, %v", r.text, r.err)
				}
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("the answer took %v", took)
				}
			})
		})
	}
}

func TestRequest(t *testing.T) {
	for _, c := range []struct {
		name  string
		cfg   chat.Config
		req   llm.Request
		has   []string
		lacks []string
	}{
		{"plain", chat.Config{Provider: "host"}, hello(),
			[]string{`"stream":true`, `"stream_options":{"include_usage":true}`, `"content":"hello"`},
			[]string{"max_tokens", "temperature", "tools", "system"}},
		{"mistral", chat.Config{Provider: "mistral"}, llm.Request{Model: "m", Messages: []llm.Message{
			{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.Call{ID: "call_1", Name: "f"}}, {Call: &llm.Call{ID: "abcDEF123", Name: "f"}}}},
		}}, []string{`"content":null`, `"id":"abcDEF123"`, `"arguments":"{}"`}, []string{"stream_options", "call_1"}},
		{"long ids", chat.Config{Provider: "host"}, llm.Request{Model: "m", Messages: []llm.Message{
			{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.Call{ID: strings.Repeat("x", 41), Name: "f"}}}},
		}}, nil, []string{strings.Repeat("x", 41)}},
		{"tool without a schema", chat.Config{Provider: "host"}, llm.Request{Model: "m", Tools: []llm.Tool{{Name: "f"}}},
			[]string{`"parameters":{"type":"object","properties":{}}`}, nil},
		{"nothing left of a message", chat.Config{Provider: "host"}, llm.Request{Model: "m", Messages: []llm.Message{
			{Role: llm.Assistant, Parts: []llm.Part{{Opaque: &llm.Opaque{}}}}, {Role: llm.Assistant},
		}}, []string{`"messages":null`}, []string{"assistant"}},
		{"document", chat.Config{Provider: "openai"}, withPDF(), []string{
			`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="}}`}, []string{"cannot be shown"}},
		{"document elsewhere", chat.Config{Provider: "host"}, withPDF(), []string{`"content":"read it[the PDF a.pdf cannot be shown to this model]"`}, []string{"JVBERg"}},
		{"temperature", chat.Config{Provider: "host"}, llm.Request{Model: "m", Temperature: new(float64)}, []string{`"temperature":0`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := llmtest.NewMemory()
			defer server.Close()
			ask(t, connect(t, server, withAddress(c.cfg, server)), c.req)
			body := string(server.Requests()[0].Body)
			for _, want := range c.has {
				if !strings.Contains(body, want) {
					t.Errorf("%s lacks %s", body, want)
				}
			}
			for _, not := range c.lacks {
				if strings.Contains(body, not) {
					t.Errorf("%s has %s", body, not)
				}
			}
		})
	}
}

func withPDF() llm.Request {
	return llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{
		{Text: "read it"}, {Document: &llm.Document{Name: "a.pdf", Data: []byte("%PDF")}},
	}}}}
}

func withAddress(cfg chat.Config, s *llmtest.Server) chat.Config {
	cfg.BaseURL = s.URL + "/v1/"
	return cfg
}

func TestHeaders(t *testing.T) {
	server := llmtest.NewMemory()
	defer server.Close()
	ask(t, connect(t, server, chat.Config{Provider: "host", Header: http.Header{"x-title": {"bot"}, "User-Agent": {"mine"}}}), hello())
	got := server.Requests()[0]
	if got.Header.Get("X-Title") != "bot" || got.Header.Get("User-Agent") != "mine" || got.Path != "/v1/chat/completions" {
		t.Errorf("%s with %v", got.Path, got.Header)
	}
	if _, sent := got.Header["Authorization"]; sent {
		t.Error("an authorization was sent without a key")
	}
}

func TestNew(t *testing.T) {
	transport := llm.NewTransport(llmtest.NewMemory(), llm.Timeouts{})
	for _, cfg := range []chat.Config{
		{Provider: "nobody", Transport: transport},
		{Provider: "host", BaseURL: "host/v1", Transport: transport},
		{Provider: "ollama"},
	} {
		cfg.Key = core.NewSecret("s3cret")
		if _, err := chat.New(cfg); err == nil || !strings.Contains(err.Error(), cfg.Provider) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%+v: %v, want an error that names the provider", cfg, err)
		}
	}
	if _, err := chat.New(chat.Config{Provider: "ollama", Transport: transport}); err != nil {
		t.Errorf("ollama without an address: %v", err)
	}
	if url, ok := chat.BaseURL("groq"); !ok || url == "" {
		t.Error("groq has no address")
	}
	if _, ok := chat.BaseURL("nobody"); ok {
		t.Error("nobody has an address")
	}
}

// FuzzEvents holds that no answer, however odd, breaks the client or its
// contract.
func FuzzEvents(f *testing.F) {
	f.Add(delta(`{"content":"a"}`), finish("stop"))
	f.Add(delta(`{"content":[{"type":"text","text":"a"}]}`), `{"choices":[{"finish_reason":"tool_calls"}]}`)
	f.Add(delta(`{"tool_calls":[{"function":{"name":"f","arguments":" "}}]}`), finish("tool_calls"))
	f.Add(`{"choices":[{"delta":{"reasoning_details":[{"index":[],"type":{}}]}}]}`, `{"error":[]}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		r := askRaw(t, "host", a, b, done)
		if (r.err == nil) != (r.done.Kind == llm.DoneEvent) {
			t.Errorf("ended with %+v and %v", r.done, r.err)
		}
	})
}
