package llm

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

func TestCancelDecidesFirst(t *testing.T) {
	for _, f := range []Failure{
		{},
		{Status: 429, Body: []byte("rate limit")},
		{Err: context.DeadlineExceeded},
		{Err: io.EOF, Cut: true},
		{Finish: "content_filter"},
		{Empty: true},
	} {
		f.Cancelled = true
		if e := Classify(f); e.Reason != Abort || e.Scope != ScopeNone || e.Advances() {
			t.Errorf("%+v: %s", f, e.Reason)
		}
	}
}

func TestTransportErrors(t *testing.T) {
	post := func(err error) error { return &url.Error{Op: "Post", URL: "https://a.test/v1?key=abc", Err: err} }
	for _, err := range []error{
		context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET,
		&net.DNSError{Err: "no such host", Name: "a.test"}, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		x509.UnknownAuthorityError{}, &TimeoutError{Phase: "first byte", After: time.Minute},
		errors.New("net/http: TLS handshake timeout"), errors.New("http2: server sent GOAWAY and closed the connection: connection lost"),
	} {
		for _, wrapped := range []error{err, post(err), fmt.Errorf("stream: %w", post(err))} {
			e := Classify(Failure{Provider: "any", Model: "m", Err: wrapped})
			if e.Reason != Timeout || e.Scope != ScopeModel {
				t.Errorf("%v: %s (%s)", wrapped, e.Reason, e.Evidence)
			}
			if !errors.Is(e, err) {
				t.Errorf("%v is lost", err)
			}
			if strings.Contains(e.Error(), "key=abc") {
				t.Errorf("%q shows the query", e.Error())
			}
		}
	}
	// A fault of this program is no broken connection.
	if e := Classify(Failure{Err: post(errors.New("unsupported protocol scheme"))}); e.Reason != Unclassified {
		t.Errorf("%s (%s)", e.Reason, e.Evidence)
	}
	// What was answered counts, even if the body broke off.
	if e := Classify(Failure{Status: 429, Err: io.ErrUnexpectedEOF}); e.Reason != RateLimit {
		t.Errorf("%s (%s)", e.Reason, e.Evidence)
	}
	// An error event counts before the cut that follows it.
	if e := Classify(Failure{Status: 200, Stream: true, Cut: true, Body: []byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)}); e.Reason != Overloaded {
		t.Errorf("%s (%s)", e.Reason, e.Evidence)
	}
	if e := Classify(Failure{Status: 200, Stream: true, Cut: true}); e.Reason != Timeout {
		t.Errorf("%s (%s)", e.Reason, e.Evidence)
	}
}

func TestFinishReasons(t *testing.T) {
	for _, c := range []struct {
		finish string
		reason Reason
		status int
	}{
		{"abort", Timeout, 408}, {"network_error", Timeout, 408}, {"malformed_response", Timeout, 408},
		{"error", ServerError, 500}, {"MALFORMED_FUNCTION_CALL", ServerError, 500},
		{"content_filter", Refusal, 200}, {"refusal", Refusal, 200}, {"SAFETY", Refusal, 200},
		{"model_context_window_exceeded", ContextOverflow, 200},
	} {
		e := Classify(Failure{Provider: "any", Status: 200, Stream: true, Finish: c.finish})
		if e.Reason != c.reason || e.Status != c.status {
			t.Errorf("finish %s: %s, status %d", c.finish, e.Reason, e.Status)
		}
		e = Classify(Failure{Provider: "any", Body: []byte("Provider finish_reason: " + c.finish)})
		if e.Reason != c.reason || c.status >= 400 && e.Status != c.status || e.Detail != "Provider finish_reason: "+c.finish {
			t.Errorf("text of %s: %s, status %d, %q", c.finish, e.Reason, e.Status, e.Detail)
		}
	}
	// An error beside the finish reason says more.
	e := Classify(Failure{Status: 200, Stream: true, Finish: "error", Body: []byte(`{"choices":[],"error":{"message":"Upstream is overloaded","code":502}}`)})
	if e.Reason != Overloaded {
		t.Errorf("%s (%s)", e.Reason, e.Evidence)
	}
}

func TestWholeTexts(t *testing.T) {
	for _, c := range []struct {
		provider, text string
		reason         Reason
		advances       bool
	}{
		{"any", "Unknown error (no error details in response)", NoErrorDetails, true},
		{"any", "An unknown error occurred", Timeout, true},
		{"any", "LLM request failed with an unknown error.", Unclassified, false},
		{"any", "LLM request failed.", Unclassified, true},
		{"any", "LLM request failed with an unknown error. Ask somebody.", Unclassified, true},
		{"any", "", EmptyResponse, true},
		{"openrouter", "Provider returned error", Timeout, true},
		{"OpenRouter", "Provider returned error", Timeout, true},
		{"openrouter2", "Provider returned error", Unclassified, true},
	} {
		e := ClassifyText(c.provider, c.text, noon)
		if e.Reason != c.reason || e.Advances() != c.advances {
			t.Errorf("%s %q: %s, advances %v", c.provider, c.text, e.Reason, e.Advances())
		}
	}
}

func TestClassifyTextFindsTheStatus(t *testing.T) {
	for text, status := range map[string]int{
		"429 slow": 429, "HTTP 503: x": 503, "HTTP/2 429": 429, "HTTP/1.1 502 Bad Gateway": 502, "status code 400: x": 400,
		"Error code: 401 - {'error': {'message': 'x'}}": 401, `{"error":{"code":404,"message":"x"}}`: 404, `{"error":{"code":"403"}}`: 403,
		"port 443 is open": 0, "I have 429 apples": 0, "code 200": 0, "error 5000": 0,
	} {
		if e := ClassifyText("any", text, noon); e.Status != status {
			t.Errorf("%q: status %d, want %d", text, e.Status, status)
		}
	}
}

func TestNeverFits(t *testing.T) {
	for text, never := range map[string]bool{
		"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389.":     true,
		"Request too large for gpt-4o on tokens per min (TPM): Limit 30,000, Requested 342,389.":   true,
		"Rate limit reached on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443.":    false,
		"Rate limit reached on tokens per minute (TPM): Limit 6000, Used 6000, Requested 6000.":    false,
		"Rate limit reached on tokens per minute (TPM). Requested and limited without any numbers": false,
	} {
		e := Classify(Failure{Provider: "groq", Status: 413, Body: []byte(text), Now: noon})
		if e.Reason != RateLimit || e.Never != never {
			t.Errorf("%q: %s, never %v", text, e.Reason, e.Never)
		}
	}
}

// What is told about an error is short, clean, and the provider's own.
func TestDetailAndCode(t *testing.T) {
	for _, c := range []struct{ body, detail, code string }{
		{`{"error":{"message":"The model is gone","type":"invalid_request_error","code":"model_not_found"}}`, "The model is gone", "model_not_found"},
		{`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"tools are broken\"}}"}}}`, "tools are broken", ""},
		{`{"error":"just words"}`, "just words", ""},
		{`{"detail":{"code":"deactivated_workspace"}}`, "deactivated_workspace", "deactivated_workspace"},
		{"two\nlines\tand \x1b[31mcolour", "two lines and [31mcolour", ""},
		{`<html><head><title>502 Bad Gateway</title></head><body>secret</body></html>`, "502 Bad Gateway", ""},
	} {
		e := Classify(Failure{Provider: "openai", Model: "m", Status: 400, Body: []byte(c.body)})
		if c.detail != e.Detail && c.detail != e.Code || c.code != e.Code {
			t.Errorf("%s\n\tdetail %q, code %q", c.body, e.Detail, e.Code)
		}
	}
	e := Classify(Failure{Status: 500, Body: []byte(strings.Repeat("lang und länger ", 9000))})
	if n := utf8.RuneCountInString(e.Detail); n > maxDetail || len(e.Body) > MaxBody {
		t.Errorf("%d runes, %d bytes", n, len(e.Body))
	}
}

func TestHeaderEvidence(t *testing.T) {
	e := Classify(Failure{Provider: "bedrock", Status: 400, Header: http.Header{"X-Amzn-Errortype": {"ThrottlingException:http://internal.amazon.com/x"}}, Body: []byte(`{"message":"x"}`)})
	if e.Reason != RateLimit || e.Code != "throttlingexception" {
		t.Errorf("%s, code %q", e.Reason, e.Code)
	}
	e = Classify(Failure{Status: 403, Header: http.Header{"Cf-Mitigated": {"challenge"}}})
	if e.Reason != Timeout {
		t.Errorf("%s (%s)", e.Reason, e.Evidence)
	}
}

// Hostile answers cost no more than long ones.
func TestHostileBodies(t *testing.T) {
	unit := func(s string) string { return strings.Repeat(s, MaxBody/len(s)+1)[:MaxBody] }
	nested := `{"message":"x"}`
	for len(nested) < MaxBody/2 {
		nested = fmt.Sprintf(`{"message":%q}`, nested)
	}
	for name, body := range map[string]string{
		"brackets": unit("["), "braces": unit("{"), "objects": unit(`{"error":`), "keys": unit(`{"a`), "quotes": unit(`"`),
		"arrays": unit(`{"error":[`), "backslashes": unit(`{"message":"\\`), "nested": nested, "words": unit("input request exceeds model tokens "),
		"limits": unit("limit reached exceeded "), "numbers": unit("429 "), "markers": unit("retry after again in reset at "), "months": unit("resets may "),
		"secrets": unit("sk-aaaaaaaa key="), "urls": unit("https://a@b?c "), "chinese": unit("余额负载频率"), "html": "<html>" + unit("<title>"), "echo": unit(`input "`),
		"finish": unit("reason: "), "codes": unit("some_unknown_code "), "hints": unit(`{"retry_after":1,"headers":{"retry-after":"1"},`), "nul": unit("\x00"), "bad utf-8": unit("\xe4\xff"),
	} {
		best := time.Hour
		for range 3 {
			start := time.Now()
			Classify(Failure{Provider: "google", Status: 429, Body: []byte(body), Now: noon})
			best = min(best, time.Since(start))
		}
		t.Logf("%-12s %v", name, best)
		// Far above what it takes, also with the race detector, and far below
		// what anything quadratic would take.
		if best > time.Second {
			t.Errorf("%s took %v", name, best)
		}
	}
}

func TestClassifyTogether(t *testing.T) {
	all := payloads(t)
	want := make([]string, len(all))
	for i, p := range all {
		want[i] = Classify(p.failure(noon)).Error()
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i, p := range all {
				if got := Classify(p.failure(noon)).Error(); got != want[i] {
					t.Errorf("%s: %s, want %s", p.ID, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

func FuzzClassify(f *testing.F) {
	for _, p := range payloads(f) {
		f.Add(p.Provider, p.Status, p.Body, p.Headers["retry-after"], p.Stream)
	}
	f.Add("any", 400, "{\"code\":\"0\\u0000\"}", "", false)
	f.Fuzz(func(t *testing.T, provider string, status int, body, retryAfter string, stream bool) {
		in := Failure{Provider: provider, Model: "m", Status: status, Body: []byte(body), Header: http.Header{"Retry-After": {retryAfter}}, Stream: stream, Now: noon}
		e := Classify(in)
		switch e.Reason {
		case Auth, AuthPermanent, Billing, RateLimit, Overloaded, Timeout, ServerError, ModelNotFound, Format, ContextOverflow,
			Refusal, EmptyResponse, NoErrorDetails, Unclassified:
		default:
			t.Fatalf("reason %q", e.Reason)
		}
		if e.Scope == "" || e.Evidence == "" {
			t.Fatalf("no scope or evidence: %+v", e)
		}
		for _, s := range []string{e.Detail, e.Code} {
			if strings.ContainsAny(s, "\n\r\x00") || utf8.RuneCountInString(s) > maxDetail || utf8.ValidString(body) && !utf8.ValidString(s) {
				t.Fatalf("%q is no short line", s)
			}
		}
		if Mask(e.Detail) != e.Detail {
			t.Fatalf("%q is not masked", e.Detail)
		}
		if again := Classify(in); again.Error() != e.Error() || again.Scope != e.Scope || !again.ResetAt.Equal(e.ResetAt) {
			t.Fatalf("%v, then %v", e, again)
		}
		in.Cancelled = true
		if e := Classify(in); e.Reason != Abort {
			t.Fatalf("cancelled: %s", e.Reason)
		}
	})
}
