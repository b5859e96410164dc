package chat_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"understudy/core"
	"understudy/core/llm"
	"understudy/core/llm/chat"
)

// hears is a server without a socket that transcribes.
type hears func(*http.Request) (status int, kind, body string)

func (h hears) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	status, kind, body := h(r)
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func transcriber(t *testing.T, h hears) *chat.Transcriber {
	t.Helper()
	c, err := chat.NewTranscriber(chat.Config{Provider: "openai", Key: core.NewSecret("sk-hear-0123456789"),
		Transport: llm.NewTransport(h, llm.Timeouts{})}, "whisper-1")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTranscribe(t *testing.T) {
	text, err := transcriber(t, func(r *http.Request) (int, string, string) {
		if r.URL.String() != "https://api.openai.com/v1/audio/transcriptions" || r.Header.Get("Authorization") != "Bearer sk-hear-0123456789" {
			t.Errorf("%s was asked with %q", r.URL, r.Header.Get("Authorization"))
		}
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			t.Fatal(err)
		}
		file, head, err := r.FormFile("file")
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(file)
		if r.FormValue("model") != "whisper-1" || string(data) != "sound" || head.Filename != `a "note".m4a` || head.Header.Get("Content-Type") != "audio/mp4" {
			t.Errorf("the form has %v, the file %q %v", r.MultipartForm.Value, data, head)
		}
		return 200, "application/json", `{"text":" Hello there.\n","usage":{}}`
	}).Transcribe(t.Context(), `a "note".m4a`, "audio/mp4", []byte("sound"))
	if err != nil || text != "Hello there." {
		t.Errorf("%q, %v", text, err)
	}
}

func TestTranscribeFails(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       llm.Reason
	}{
		"a bad key":    {401, "application/json", `{"error":{"message":"Incorrect API key provided: sk-hear-0123456789","code":"invalid_api_key"}}`, llm.Auth},
		"too many":     {429, "application/json", `{"error":{"message":"Rate limit reached"}}`, llm.RateLimit},
		"nothing said": {200, "application/json", `{"text":" "}`, llm.EmptyResponse},
		"trouble":      {500, "text/html", "<html>oops", llm.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := transcriber(t, func(*http.Request) (int, string, string) { return c.status, c.kind, c.body }).
				Transcribe(t.Context(), "v.m4a", "audio/mp4", []byte("sound"))
			var e *llm.Error
			if text != "" || !errors.As(err, &e) || e.Reason != c.want || strings.Contains(err.Error(), "sk-hear") {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	for name, body := range map[string]string{"a page": "<html>sign in", "an error with status 200": `{"error":{"message":"no"}}`} {
		if text, err := transcriber(t, func(*http.Request) (int, string, string) { return 200, "application/json", body }).
			Transcribe(t.Context(), "v.m4a", "audio/mp4", nil); text != "" || err == nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var e *llm.Error
	if _, err := transcriber(t, nil).Transcribe(ctx, "v.m4a", "audio/mp4", nil); !errors.As(err, &e) || e.Reason != llm.Abort {
		t.Errorf("cancelled: %v", err)
	}
}
