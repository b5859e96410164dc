package script

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/core/llm"
)

func TestQueue(t *testing.T) {
	// A digit pushes, a dash asks.
	tests := []struct{ play, want string }{
		{"-", "."},
		{"1---", "111"},
		{"12---", "122"},
		{"12-3--", "123"}, // 2 was not used yet when 3 came
		{"1-2--", "122"},  // 1 was used, so 2 replaces it
		{"1--23---", "11233"},
		{"12--3-4-", "1234"},
	}
	for _, tt := range tests {
		var q Queue[rune]
		var got []rune
		for _, c := range tt.play {
			if c != '-' {
				q.Push(c)
				continue
			}
			v, ok := q.Next()
			if !ok {
				v = '.'
			}
			got = append(got, v)
		}
		if string(got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.play, string(got), tt.want)
		}
	}
}

func TestQueuesOfProfiles(t *testing.T) {
	var log Log
	s := &Script{OnRequest: log.Add}
	m1, m2 := llm.Ref{Provider: "a", Model: "m1"}, llm.Ref{Provider: "a", Model: "m2"}
	s.Push(m1, "", Text("all"))
	s.Push(m1, "a:p2", Text("own"))
	s.Push(m2, "", Text("other"))
	p1, p2 := New(s, "a", "a:p1"), New(s, "a", "a:p2")
	for _, step := range []struct {
		client      llm.Client
		model, want string
	}{{p1, "m1", "all"}, {p2, "m1", "own"}, {p2, "m1", "own"}, {p2, "m2", "other"}, {p1, "m3", "ok"}, {p1, "m1", "all"}} {
		if h := ask(t, t.Context(), step.client, step.model); h.text != step.want {
			t.Errorf("%s said %q, want %q (%v)", step.model, h.text, step.want, h.err)
		}
	}
	var got []string
	for _, r := range log.Requests() {
		got = append(got, r.Ref.String()+"@"+r.Profile)
	}
	if want := []string{"a/m1@a:p1", "a/m1@a:p2", "a/m1@a:p2", "a/m2@a:p2", "a/m3@a:p1", "a/m1@a:p1"}; !slices.Equal(got, want) {
		t.Errorf("requests %v, want %v", got, want)
	}
}

func TestConcurrentRequests(t *testing.T) {
	var log Log
	s := &Script{OnRequest: log.Add}
	ref := llm.Ref{Provider: "a", Model: "m"}
	const n = 50
	for i := range n {
		s.Push(ref, "", Text(fmt.Sprint("answer ", i)))
	}
	got := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { got[i] = ask(t, t.Context(), New(s, "a", ""), "m").text })
	}
	wg.Wait()
	slices.Sort(got)
	if distinct := len(slices.Compact(got)); distinct != n || len(log.Requests()) != n {
		t.Errorf("%d distinct answers and %d requests, want %d of each", distinct, len(log.Requests()), n)
	}
}

func TestParseFault(t *testing.T) {
	for text, want := range map[string]Fault{
		"script/lead=overloaded:1":       {"script/lead", "overloaded", 1, 0},
		"script=billing":                 {"script", "billing", 0, 0},
		"ollama/llama3:8b=rate_limit:2":  {"ollama/llama3:8b", "rate_limit", 2, 0},
		"a/m=rate_limit:3:90s":           {"a/m", "rate_limit", 3, 90 * time.Second},
		"  anthropic overloaded 3 ":      {"anthropic", "overloaded", 3, 0},
		"a/m 503":                        {"a/m", "503", 0, 0},
		"openrouter/x/y=z timeout 1 10s": {"openrouter/x/y=z", "timeout", 1, 10 * time.Second},
		"a ok":                           {"a", "ok", 0, 0},
	} {
		got, err := ParseFault(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                      "target=kind:count",
		"script":                "target=kind:count",
		"a b 1 2s x":            "target=kind:count",
		"script=sulking":        "there are auth,",
		"script=200":            "no kind of failure",
		"script=overloaded:0":   "from 1 to",
		"script=overloaded:x":   "from 1 to",
		"script=overloaded:1:x": "duration",
		"/m=overloaded":         "neither a model nor a provider",
		"a@b=overloaded":        "neither a model nor a provider",
	} {
		if f, err := ParseFault(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want an error with %q", text, f, err, want)
		}
	}
}

func FuzzParseFault(f *testing.F) {
	for _, s := range []string{"script/lead=overloaded:1", "a b 3 1s", "=", "a=529", "a/m:1=x:y:z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := ParseFault(text)
		if err != nil {
			return
		}
		if err := new(Script).Fail(fault); err != nil {
			t.Errorf("%q was read as %+v but is refused: %v", text, fault, err)
		}
	})
}

func TestFail(t *testing.T) {
	s := &Script{}
	lead, stand := New(s, "script", "script:default"), "stand-in"
	reasons := func(models ...string) string {
		var got []string
		for _, m := range models {
			switch h := ask(t, t.Context(), lead, m); {
			case h.err != nil:
				got = append(got, string(h.err.Reason))
			default:
				got = append(got, h.text)
			}
		}
		return strings.Join(got, " ")
	}
	fail := func(text string) {
		t.Helper()
		f, err := ParseFault(text)
		if err == nil {
			err = s.Fail(f)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Push(llm.Ref{Provider: "script", Model: "lead"}, "", Text("fine"))

	fail("script/lead=overloaded:2")
	if got := reasons("lead", stand, "lead", "lead"); got != "overloaded ok overloaded fine" {
		t.Errorf("a model that fails twice: %s", got)
	}
	fail("script rate_limit 2")
	if got := reasons("lead", stand, "lead"); got != "rate_limit rate_limit fine" {
		t.Errorf("a provider that fails twice: %s", got)
	}
	fail("script rate_limit 5")
	fail("script/lead billing 5")
	fail("script/lead auth 1")
	if got := reasons("lead", "lead", stand); got != "auth rate_limit rate_limit" {
		t.Errorf("a later order, the model's before the provider's: %s", got)
	}
	fail("script/lead billing 5")
	fail("script ok")
	if got := reasons("lead", stand); got != "fine ok" {
		t.Errorf("after healing: %s", got)
	}
}

// Every kind is what its name says, in the words of every vendor.
func TestKinds(t *testing.T) {
	for _, provider := range []string{"script", "anthropic", "openai", "google", "openrouter", "groq"} {
		for _, kind := range Kinds() {
			s := &Script{}
			fastTime(s)
			if err := s.Fail(Fault{Target: provider, Kind: kind}); err != nil {
				t.Errorf("%s: %v", kind, err)
				continue
			}
			h := ask(t, t.Context(), New(s, provider, ""), "m")
			want := llm.Reason(kind)
			switch kind {
			case KindOK:
				if h.text != "ok" {
					t.Errorf("%s: %v", kind, h.err)
				}
				continue
			case "hang", "reset", "interrupted":
				want = llm.Timeout
			case "empty":
				want = llm.EmptyResponse
			}
			if h.err == nil || h.err.Reason != want {
				t.Errorf("%s at %s: %v (%s)", kind, provider, h.err, h.err.Evidence)
			}
		}
	}
}

func TestFailStatesTheWait(t *testing.T) {
	s := &Script{}
	fastTime(s)
	if err := s.Fail(Fault{Target: "a/m", Kind: "rate_limit", Count: 1, RetryAfter: 1500 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	h := ask(t, t.Context(), New(s, "a", ""), "m")
	if h.err == nil || h.err.Header.Get("Retry-After") != "2" {
		t.Errorf("got %+v", h.err)
	}
	if want := s.Now().Add(2 * time.Second); !h.err.ResetAt.Equal(want) {
		t.Errorf("the end of the limit is %v, want %v", h.err.ResetAt, want)
	}
}

// A request that no vendor accepts is refused and uses up no answer.
func TestRefusesBadRequests(t *testing.T) {
	call := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.Call{ID: "c1", Name: "echo"}}}}
	result := func(id string) llm.Message {
		return llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.Result{ID: id, Text: "x"}}}}
	}
	hi := llm.TextMessage(llm.User, "hi")
	s := &Script{}
	s.Push(llm.Ref{Provider: "a", Model: "m"}, "", Text("first"))
	s.Push(llm.Ref{Provider: "a", Model: "m"}, "", Text("second"))
	c := New(s, "a", "")
	for name, messages := range map[string][]llm.Message{
		"no message":            nil,
		"an empty message":      {hi, {Role: llm.Assistant}},
		"a call left open":      {hi, call},
		"a user in between":     {hi, call, hi, result("c1")},
		"a result of no call":   {hi, result("c1")},
		"a result of the wrong": {hi, call, result("c2")},
		"a result given twice":  {hi, call, result("c1"), result("c1")},
	} {
		h := send(t, t.Context(), c, llm.Request{Model: "m", Messages: messages})
		if h.err == nil || h.err.Reason != llm.Format {
			t.Errorf("%s: %v, %q", name, h.err, h.text)
		}
	}
	if h := send(t, t.Context(), c, llm.Request{Model: "m", Messages: []llm.Message{hi, call, result("c1")}}); h.text != "first" {
		t.Errorf("a good request: %q, %v", h.text, h.err)
	}
}

func TestEcho(t *testing.T) {
	s := &Script{Default: Echo}
	c := New(s, "script", "script:default")
	hi := llm.TextMessage(llm.User, "Hello\n  there")
	h := send(t, t.Context(), c, llm.Request{Model: "lead", Messages: []llm.Message{hi}})
	for _, want := range []string{"“Hello there”", "script/lead", ":fail script/lead overloaded 3"} {
		if !strings.Contains(h.text, want) {
			t.Errorf("the first answer lacks %q: %s", want, h.text)
		}
	}
	f, err := ParseFault("script/lead overloaded 3")
	if err != nil || f.Count != 3 {
		t.Errorf("the order that the answer teaches is refused: %v", err)
	}

	picture := llm.Message{Role: llm.User, Parts: []llm.Part{{Text: strings.Repeat("ä", 500)}, {Image: &llm.Image{}}}}
	h = send(t, t.Context(), c, llm.Request{Model: "lead", Messages: []llm.Message{hi, llm.TextMessage(llm.Assistant, "x"), picture}})
	for _, want := range []string{"ä…”", "1 picture", "message 2", "script/lead is answering"} {
		if !strings.Contains(h.text, want) {
			t.Errorf("the second answer lacks %q: %s", want, h.text)
		}
	}

	tool := []llm.Message{hi,
		{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.Call{ID: "c", Name: "clock"}}}},
		{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.Result{ID: "c", Text: "noon"}}}}}
	if h = send(t, t.Context(), c, llm.Request{Model: "lead", Messages: tool}); !strings.Contains(h.text, "“noon”") {
		t.Errorf("the answer to a tool: %s", h.text)
	}
}
