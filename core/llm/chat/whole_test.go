package chat_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"understudy/core/llm"
	"understudy/core/llm/chat"
)

// fixed answers every request with one body.
type fixed struct {
	status     int
	kind, body string
}

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: f.status, Header: http.Header{"Content-Type": {f.kind}}, Body: io.NopCloser(strings.NewReader(f.body)), Request: r}, nil
}

// What servers send in place of a stream.
func TestAnswersThatAreNoStream(t *testing.T) {
	const stream, json = "text/event-stream", "application/json"
	good := `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","reasoning_content":"hm"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`
	events := "data: " + delta(`{"content":"Hello"}`) + "\n\ndata: " + finish("stop") + "\n\ndata: [DONE]\n\n"
	for _, c := range []struct {
		name   string
		answer fixed
		text   string
		want   llm.Reason
	}{
		{"a whole answer", fixed{200, json, good}, "Hello", ""},
		{"a whole answer that was filtered", fixed{200, json, `{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}`}, "", llm.Refusal},
		{"a whole answer of nothing", fixed{200, json, `{"choices":[{"message":{"content":" \u200b"},"finish_reason":"stop"}]}`}, "", llm.EmptyResponse},
		{"an error", fixed{200, json, `{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}`}, "", llm.RateLimit},
		{"an error beside choices", fixed{200, json, `{"choices":[{"message":{"content":""}}],"error":{"message":"Insufficient credits","code":402}}`}, "", llm.Billing},
		{"no choices", fixed{200, json, `{"choices":[]}`}, "", llm.EmptyResponse},
		{"no JSON", fixed{200, json, `{"choices":[{"mess`}, "", llm.EmptyResponse},
		{"a failing status beside an answer", fixed{500, json, good}, "", llm.ServerError},
		{"an error that is called a stream", fixed{200, stream, `{"error":{"message":"Rate limit exceeded","code":429}}` + "\n"}, "", llm.RateLimit},
		{"a list that is called a stream", fixed{200, stream, `[{"error":{"code":503,"message":"The model is overloaded."}}]`}, "", llm.Overloaded},
		{"a page that is called a stream", fixed{200, stream, `<!DOCTYPE html><html><title>Sign in</title></html>`}, "", llm.Timeout},
		{"events behind a mark", fixed{200, stream, "\ufeff" + events}, "Hello", ""},
		{"events that show nothing", fixed{200, stream, "data: " + delta(`{"content":"\u200b"}`) + "\n\ndata: " + finish("stop") + "\n\n"}, "", llm.EmptyResponse},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := chat.New(chat.Config{Provider: "host", BaseURL: "http://host.test/v1", Transport: llm.NewTransport(c.answer, llm.Timeouts{})})
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
			if r.err != nil || r.text != c.text || r.done.Reply.Text() != c.text || r.done.Stop != llm.StopEnd {
				t.Errorf("%q, %+v, %v; want %q", r.text, r.done, r.err, c.text)
			}
			if c.answer.kind == json && (r.thinking != "hm" || r.done.Usage.In != 3 || r.done.Usage.Out != 4) {
				t.Errorf("thinking %q, usage %+v", r.thinking, r.done.Usage)
			}
		})
	}
}
