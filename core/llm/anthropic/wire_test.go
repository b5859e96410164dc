package anthropic_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"understudy/core/llm"
	"understudy/core/llm/anthropic"
)

// fixed answers every request with one body.
type fixed struct{ kind, body string }

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {f.kind}}, Body: io.NopCloser(strings.NewReader(f.body)), Request: r}, nil
}

// What servers send that only look like the vendor's.
func TestAnswersThatAreNotQuiteTheProtocol(t *testing.T) {
	const stream, json = "text/event-stream", "application/json"
	good := wire(start, textOpen, textA, textEnd, stopped("end_turn"), end)
	nameless := func(s string) string { return regexp.MustCompile(`(?m)^event: .*\n`).ReplaceAllString(s, "") }
	const bad = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	message := func(content, reason string) string {
		return "{\n" + `"id":"1","type":"message","role":"assistant","content":[` + content + `],"stop_reason":` + reason + `,"usage":{"input_tokens":3,` + "\n" + `"output_tokens":9}}`
	}
	for _, c := range []struct {
		name   string
		answer fixed
		text   string
		calls  int
		want   llm.Reason
	}{
		{"events without names", fixed{stream, nameless(good)}, "a", 0, ""},
		{"events without names, CRLF", fixed{stream, strings.ReplaceAll(nameless(good), "\n", "\r\n")}, "a", 0, ""},
		{"a name behind the data", fixed{stream, regexp.MustCompile(`(event: .*\n)(data: .*\n)`).ReplaceAllString(good, "$2$1")}, "a", 0, ""},
		{"an error without a name", fixed{stream, "data: " + bad + "\n\n"}, "", 0, llm.Overloaded},
		{"an error of another protocol", fixed{stream, "data: {\"error\":{\"message\":\"Insufficient credits\",\"code\":402}}\n\n"}, "", 0, llm.Billing},
		{"an error amid events without names", fixed{stream, nameless(wire(start, textOpen)) + "data: " + bad + "\n\n"}, "", 0, llm.Overloaded},
		{"the end mark of another protocol", fixed{stream, nameless(good) + "data: [DONE]\n\n"}, "a", 0, ""},
		{"cut off", fixed{stream, nameless(wire(start, textOpen, textA))}, "a", 0, llm.Timeout},
		{"a whole answer", fixed{json, message(`{"type":"text","text":"a"}`, `"end_turn"`)}, "a", 0, ""},
		{"a whole answer with a tool", fixed{json, message(`{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"f","input":{"x":`+"\n"+`1}}`, `"tool_use"`)}, "a", 1, ""},
		{"a whole answer of nothing", fixed{json, message(`{"type":"text","text":"\u200b"}`, `"end_turn"`)}, "", 0, llm.EmptyResponse},
		{"a whole refusal", fixed{json, message("", `"refusal"`)}, "", 0, llm.Refusal},
		{"an error in one piece", fixed{json, bad}, "", 0, llm.Overloaded},
		{"an error under a wrong name", fixed{stream, bad}, "", 0, llm.Overloaded},
		{"half a message", fixed{json, `{"type":"message","content":[`}, "", 0, llm.EmptyResponse},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := anthropic.New(anthropic.Config{BaseURL: "http://host.test", Transport: llm.NewTransport(c.answer, llm.Timeouts{})})
			if err != nil {
				t.Fatal(err)
			}
			r := ask(t, client, hello())
			if c.want != "" {
				if r.err == nil || r.err.Reason != c.want {
					t.Fatalf("%q, %+v; want %s", r.text, r.err, c.want)
				}
				return
			}
			if r.err != nil || r.text != c.text || r.done.Reply.Text() != c.text || len(r.calls) != c.calls || r.done.Usage.Out != 9 {
				t.Errorf("%q, %v, %+v, %v", r.text, r.calls, r.done, r.err)
			}
			if c.calls > 0 && string(r.calls[0].Args) != `{"x":1}` {
				t.Errorf("calls %s", r.calls[0].Args)
			}
		})
	}
}
