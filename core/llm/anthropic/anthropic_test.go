package anthropic_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"understudy/core"
	"understudy/core/llm"
	"understudy/core/llm/anthropic"
	"understudy/core/llm/llmtest"
)

const key = "sk-ant-api-0123456789"

// connect makes a client of a provider whose server is in memory.
func connect(t *testing.T, server *llmtest.Server, cfg anthropic.Config) llm.Client {
	t.Helper()
	cfg.Transport = llm.NewTransport(server, llm.Timeouts{})
	c, err := anthropic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type result struct {
	text  string
	calls []llm.Call
	done  llm.Event
	err   *llm.Error
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

// askRaw gives what the client makes of these events, each "name data".
func askRaw(t *testing.T, events ...string) result {
	t.Helper()
	server := llmtest.NewMemory()
	defer server.Close()
	server.Queue("m", llmtest.Stream(llmtest.Raw(wire(events...)), llmtest.Cut()))
	return ask(t, connect(t, server, anthropic.Config{BaseURL: server.URL}), hello())
}

func wire(events ...string) string {
	text := ""
	for _, e := range events {
		name, members, _ := strings.Cut(e, " ")
		data := `{"type":"` + name + `"`
		if members != "" {
			data += "," + members
		}
		text += "event: " + name + "\ndata: " + data + "}\n\n"
	}
	return text
}

const (
	start    = `message_start "message":{"id":"1","role":"assistant","content":[],"usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":1}}`
	textOpen = `content_block_start "index":0,"content_block":{"type":"text","text":""}`
	textA    = `content_block_delta "index":0,"delta":{"type":"text_delta","text":"a"}`
	textEnd  = `content_block_stop "index":0`
	end      = `message_stop`
)

func stopped(reason string) string {
	return `message_delta "delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":9}`
}

func TestWhoIsAsked(t *testing.T) {
	// Nothing of this may reach the wire.
	t.Setenv("ANTHROPIC_API_KEY", "from-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "from-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://from-the-environment.test")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-From: from-the-environment")
	secret := core.NewSecret(key)
	for _, c := range []struct {
		name       string
		cfg        anthropic.Config
		header     map[string]string // "" for one that must not be there
		has, lacks []string
	}{
		{"the vendor", anthropic.Config{Key: secret},
			map[string]string{"Authorization": "Bearer " + key, "X-Api-Key": "", "Anthropic-Version": "2026-10-21", "Anthropic-Beta": "server-side-fallback-2026-07-01"},
			[]string{`"fallbacks":"default"`, `"cache_control":{"type":"ephemeral"}`}, []string{"temperature"}},
		{"the vendor without its fallback", anthropic.Config{Key: secret, NoRefusalFallback: true},
			map[string]string{"Authorization": "Bearer " + key, "Anthropic-Beta": ""}, nil, []string{"fallbacks"}},
		{"the vendor with a token", anthropic.Config{Key: secret, Bearer: true},
			map[string]string{"Authorization": "Bearer " + key, "Anthropic-Beta": ""}, nil, []string{"fallbacks"}},
		{"another vendor", anthropic.Config{Key: secret, BaseURL: "https://other.test/anthropic"},
			map[string]string{"Authorization": "", "X-Api-Key": key, "Anthropic-Version": "2023-06-01", "Anthropic-Beta": ""},
			[]string{`"temperature":0.5`}, []string{"fallbacks", "cache_control"}},
		{"a gateway", anthropic.Config{Key: secret, Bearer: true, BaseURL: "https://gateway.test"},
			map[string]string{"Authorization": "Bearer " + key, "X-Api-Key": "", "Anthropic-Version": "2023-06-01"}, nil, nil},
		{"no key", anthropic.Config{BaseURL: "http://127.0.0.1:11434"},
			map[string]string{"Authorization": "", "X-Api-Key": ""}, nil, nil},
		{"headers of one's own", anthropic.Config{Key: secret, BaseURL: "https://gateway.test", Header: http.Header{"X-Team": {"a"}, "Anthropic-Version": {"2024-01-01"}}},
			map[string]string{"X-Team": "a", "Anthropic-Version": "2024-01-01"}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := llmtest.NewMemory()
			defer server.Close()
			req := hello()
			req.Temperature = new(float64)
			*req.Temperature = 0.5
			if r := ask(t, connect(t, server, c.cfg), req); r.err != nil {
				t.Fatal(r.err)
			}
			got := server.Requests()[0]
			for name, want := range c.header {
				if v := got.Header.Get(name); v != want {
					t.Errorf("%s: %q, want %q", name, v, want)
				}
			}
			for _, want := range append(c.has, `"stream":true`, `"max_tokens":8192`) {
				if !strings.Contains(string(got.Body), want) {
					t.Errorf("%s lacks %s", got.Body, want)
				}
			}
			for _, not := range c.lacks {
				if strings.Contains(string(got.Body), not) {
					t.Errorf("%s has %s", got.Body, not)
				}
			}
			if strings.Contains(strings.Join(got.Header.Values("X-From"), ""), "environment") {
				t.Error("a header came from the environment")
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	for base, want := range map[string]string{
		"":                        "/v1/messages",
		"https://other.test":      "/v1/messages",
		"https://other.test/":     "/v1/messages",
		"https://other.test/v1":   "/v1/messages",
		"https://other.test/a/v1": "/a/v1/messages",
	} {
		server := llmtest.NewMemory()
		ask(t, connect(t, server, anthropic.Config{BaseURL: base}), hello())
		if got := server.Requests()[0].Path; got != want {
			t.Errorf("%q: %s, want %s", base, got, want)
		}
		server.Close()
	}
}

func TestNew(t *testing.T) {
	transport := llm.NewTransport(llmtest.NewMemory(), llm.Timeouts{})
	for _, cfg := range []anthropic.Config{
		{BaseURL: "host", Transport: transport},
		{BaseURL: "https://me:s3cret@host", Transport: transport},
		{},
	} {
		cfg.Key = core.NewSecret("s3cret")
		if _, err := anthropic.New(cfg); err == nil || !strings.Contains(err.Error(), "anthropic") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%+v: %v, want an error that names the provider", cfg, err)
		}
	}
}

func TestGoodAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []string
		text   string
		stop   llm.Stop
		parts  int
	}{
		{"pings and unknown events", []string{start, "ping", textOpen, "ping", textA, `shrug "x":1`, textEnd, stopped("end_turn"), end}, "a", llm.StopEnd, 1},
		{"stop sequence", []string{start, textOpen, textA, textEnd, stopped("stop_sequence"), end}, "a", llm.StopEnd, 1},
		{"no stop reason", []string{start, textOpen, textA, textEnd, end}, "a", llm.StopEnd, 1},
		{"text at the block's start", []string{start, `content_block_start "index":0,"content_block":{"type":"text","text":"a"}`, stopped("end_turn"), end}, "a", llm.StopEnd, 1},
		{"unknown block", []string{start, `content_block_start "index":0,"content_block":{"type":"shrug"}`, `content_block_start "index":1,"content_block":{"type":"text","text":"a"}`, stopped("max_tokens"), end}, "a", llm.StopLength, 1},
		{"arguments at the block's start", []string{start, `content_block_start "index":0,"content_block":{"type":"tool_use","id":"1","name":"f","input":{"a":1}}`, stopped("tool_use"), end}, "", llm.StopTools, 1},
		{"another of the vendor's models goes on", []string{start,
			`content_block_start "index":0,"content_block":{"type":"thinking","thinking":"hm","signature":"s"}`,
			`content_block_start "index":1,"content_block":{"type":"text","text":"a"}`,
			`content_block_start "index":2,"content_block":{"type":"tool_use","id":"1","name":"f","input":{}}`,
			`content_block_start "index":3,"content_block":{"type":"fallback","from":{"model":"m"},"to":{"model":"n"}}`,
			`content_block_stop "index":3`,
			`content_block_start "index":4,"content_block":{"type":"text","text":"b"}`,
			stopped("end_turn"), end}, "ab", llm.StopEnd, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := askRaw(t, c.events...)
			if r.err != nil {
				t.Fatal(r.err)
			}
			if r.text != c.text || r.done.Stop != c.stop || len(r.done.Reply.Parts) != c.parts {
				t.Errorf("%q, stop %q, reply %+v", r.text, r.done.Stop, r.done.Reply.Parts)
			}
			if r.done.Usage.In != 7 || r.done.Usage.CacheRead != 4 {
				t.Errorf("usage %+v, want the prompt of 7 with 4 from the cache", r.done.Usage)
			}
			for _, call := range r.calls {
				if string(call.Args) != `{"a":1}` {
					t.Errorf("arguments %s", call.Args)
				}
			}
		})
	}
}

func TestFailingAnswers(t *testing.T) {
	refused := `message_delta "delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","explanation":"not this"}},"usage":{"output_tokens":0}`
	for _, c := range []struct {
		name   string
		events []string
		want   llm.Reason
		body   string
	}{
		{"refusal", []string{start, refused, end}, llm.Refusal, "not this"},
		{"window full", []string{start, textOpen, textA, textEnd, stopped("model_context_window_exceeded"), end}, llm.ContextOverflow, ""},
		{"filtered", []string{start, `error "error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}`}, llm.Refusal, "content filtering"},
		{"stop reason, but no end", []string{start, textOpen, textA, textEnd, stopped("end_turn")}, llm.Timeout, ""},
		{"nothing", nil, llm.Timeout, ""},
		{"broken call", []string{start, `content_block_start "index":0,"content_block":{"type":"tool_use","id":"1","name":"f","input":{}}`,
			`content_block_delta "index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a"}`, stopped("tool_use"), end}, llm.Timeout, ""},
		{"call cut by the limit", []string{start, `content_block_start "index":0,"content_block":{"type":"tool_use","id":"1","name":"f","input":{}}`, stopped("max_tokens"), end}, llm.EmptyResponse, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := askRaw(t, c.events...)
			if r.err == nil {
				t.Fatalf("ended well with %q", r.text)
			}
			if r.err.Reason != c.want || r.calls != nil || !strings.Contains(string(r.err.Body), c.body) {
				t.Errorf("%q (%s) with body %q and calls %v, want %q", r.err.Reason, r.err.Evidence, r.err.Body, r.calls, c.want)
			}
			var foreign *sdk.Error
			if errors.As(error(r.err), &foreign) {
				t.Error("the SDK's own error came out")
			}
		})
	}
}

// TestReasoningGoesBack holds that signed reasoning goes back in its place, and
// to the model that made it only.
func TestReasoningGoesBack(t *testing.T) {
	server := llmtest.NewMemory()
	defer server.Close()
	server.Queue("m", llmtest.Stream(llmtest.Raw(wire(start,
		`content_block_start "index":0,"content_block":{"type":"thinking","thinking":"","signature":""}`,
		`content_block_delta "index":0,"delta":{"type":"thinking_delta","thinking":"h"}`,
		`content_block_delta "index":0,"delta":{"type":"thinking_delta","thinking":"m"}`,
		`content_block_delta "index":0,"delta":{"type":"signature_delta","signature":"c2ln"}`,
		`content_block_stop "index":0`,
		`content_block_start "index":1,"content_block":{"type":"redacted_thinking","data":"eHl6"}`,
		`content_block_start "index":2,"content_block":{"type":"thinking","thinking":"unsigned"}`,
		`content_block_start "index":3,"content_block":{"type":"tool_use","id":"1","name":"f","input":{}}`,
		stopped("tool_use"), end)), llmtest.Cut()), llmtest.Text("ok"))
	client := connect(t, server, anthropic.Config{BaseURL: server.URL})
	first := ask(t, client, hello())
	if first.err != nil {
		t.Fatal(first.err)
	}
	stored, err := json.Marshal(first.done.Reply) // as a transcript keeps it
	if err != nil {
		t.Fatal(err)
	}
	var reply llm.Message
	if err := json.Unmarshal(stored, &reply); err != nil {
		t.Fatal(err)
	}
	req := hello()
	req.Messages = append(req.Messages, reply,
		llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.Result{ID: "1"}}}})
	ask(t, client, req)
	req.Model = "other"
	ask(t, client, req)

	log := server.Requests()
	same := string(log[1].Body)
	last := -1
	for _, want := range []string{`"signature":"c2ln"`, `"eHl6"`, `"tool_use"`, `"tool_result"`} {
		at := strings.Index(same, want)
		if at <= last {
			t.Errorf("%s lacks %s, or has it in another place", same, want)
		}
		last = at
	}
	if !strings.Contains(same, `"thinking":"hm"`) || strings.Contains(same, "unsigned") {
		t.Errorf("the same model got %s", same)
	}
	if other := string(log[2].Body); strings.Contains(other, "thinking") {
		t.Errorf("another model got %s", other)
	}
}

func TestBlankPartsAreLeftOut(t *testing.T) {
	server := llmtest.NewMemory()
	defer server.Close()
	req := hello()
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: " "}}},
		llm.Message{Role: llm.User, Parts: []llm.Part{{Text: ""}, {Text: "again"}}},
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Opaque: &llm.Opaque{
			Origin: llm.Ref{Provider: "anthropic", Model: "m"}, Data: json.RawMessage(`{"signature":"c2ln","thinking":"hm"}`),
		}}}},
	)
	ask(t, connect(t, server, anthropic.Config{BaseURL: server.URL}), req)
	asked, err := server.Requests()[0].Asked()
	if err != nil {
		t.Fatal(err)
	}
	if len(asked.Messages) != 2 || asked.Messages[1].Text() != "again" {
		t.Errorf("sent %+v, want two messages of the user", asked.Messages)
	}
}

func TestDocumentsAreBlocks(t *testing.T) {
	server := llmtest.NewMemory()
	defer server.Close()
	req := hello()
	want := llm.Part{Document: &llm.Document{Name: "a.pdf", Data: []byte("%PDF")}}
	req.Messages[0].Parts = append(req.Messages[0].Parts, want)
	ask(t, connect(t, server, anthropic.Config{BaseURL: server.URL}), req)
	asked, err := server.Requests()[0].Asked()
	if err != nil {
		t.Fatal(err)
	}
	if got := asked.Messages[0].Parts; len(got) != 2 || !reflect.DeepEqual(got[1], want) {
		t.Errorf("sent %+v", got)
	}
	if body := string(server.Requests()[0].Body); !strings.Contains(body, `"media_type":"application/pdf"`) {
		t.Errorf("the document has no type: %s", body)
	}
}

// TestHangAfterTheEnd holds that nobody waits for the end of the body once the
// message has ended.
func TestHangAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.NewMemory()
		defer server.Close()
		server.Queue("m", llmtest.Stream(llmtest.Raw(wire(start, textOpen, textA, textEnd, stopped("end_turn"), end)), llmtest.Hang()))
		began := time.Now()
		r := ask(t, connect(t, server, anthropic.Config{BaseURL: server.URL}), hello())
		if r.err != nil || r.text != "a" || time.Since(began) > time.Second {
			t.Errorf("%q, %v after %v", r.text, r.err, time.Since(began))
		}
	})
}

// FuzzEvents holds that no answer, however odd, breaks the client or its
// contract.
func FuzzEvents(f *testing.F) {
	f.Add(wire(start, textOpen, textA, textEnd, stopped("end_turn"), end))
	f.Add(wire(start, `content_block_start "index":0,"content_block":{"type":"tool_use","input":[]}`, stopped("tool_use"), end))
	f.Add(wire(`content_block_delta "index":7,"delta":{"type":"text_delta","text":"a"}`, `error "error":"x"`))
	f.Add("event: error\ndata: not JSON\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		server := llmtest.NewMemory()
		defer server.Close()
		server.Queue("m", llmtest.Stream(llmtest.Raw(text), llmtest.Cut()))
		r := ask(t, connect(t, server, anthropic.Config{BaseURL: server.URL}), hello())
		if (r.err == nil) != (r.done.Kind == llm.DoneEvent) {
			t.Errorf("ended with %+v and %v", r.done, r.err)
		}
	})
}
