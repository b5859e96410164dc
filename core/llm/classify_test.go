package llm

import (
	"bufio"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"testing"
	"time"
)

// payload is one line of testdata/classify.jsonl: an answer that a provider
// really gave.
type payload struct {
	ID        string            `json:"id"`
	Provider  string            `json:"provider"`
	Status    int               `json:"status"`
	Headers   map[string]string `json:"headers"`
	Body      string            `json:"body"`
	Stream    bool              `json:"stream"`
	Expected  Reason            `json:"expected"`
	RetryHint any               `json:"retry_hint"`
	Scope     string            `json:"scope"`
	Cancelled bool              `json:"caller_cancelled"`
}

func (p payload) failure(now time.Time) Failure {
	h := http.Header{}
	for k, v := range p.Headers {
		h.Set(k, v)
	}
	return Failure{
		Provider: p.Provider, Model: "m1", Status: p.Status, Header: h, Body: []byte(p.Body), Stream: p.Stream,
		Cancelled: p.Cancelled, Now: now,
	}
}

func payloads(t testing.TB) []payload {
	t.Helper()
	f, err := os.Open("testdata/classify.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []payload
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var p payload
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// scopeOf is the scope that a reason has when the payload does not change it.
func scopeOf(p payload) Scope {
	switch p.Expected {
	case Auth, AuthPermanent, Billing:
		return ScopeProfile
	case Overloaded, Timeout, ModelNotFound:
		return ScopeModel
	case RateLimit:
		return Scope(p.Scope)
	}
	return ScopeNone
}

func TestPayloads(t *testing.T) {
	all := payloads(t)
	if len(all) != 136 {
		t.Errorf("%d payloads, want 136", len(all))
	}
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	for _, p := range all {
		t.Run(p.ID, func(t *testing.T) {
			e := Classify(p.failure(now))
			same := e.Reason == p.Expected
			if p.Status >= 500 && (p.Expected == Timeout || p.Expected == ServerError) {
				same = e.Reason == Timeout || e.Reason == ServerError
			}
			if !same {
				t.Errorf("reason %q (%s), want %q\n%s", e.Reason, e.Evidence, p.Expected, p.Body)
			}
			if want := scopeOf(p); same && e.Reason == p.Expected && e.Scope != want {
				t.Errorf("scope %q, want %q\n%s", e.Scope, want, p.Body)
			}
			if want := resetOf(t, p, now); !e.ResetAt.Equal(want) {
				t.Errorf("reset at %v, want %v\n%s", e.ResetAt, want, p.Body)
			}
		})
	}
}

// resetOf is the moment that the payload's hint means. One payload's hint is
// from the report around it and is not in the answer.
func resetOf(t *testing.T, p payload, now time.Time) time.Time {
	t.Helper()
	switch hint := p.RetryHint.(type) {
	case float64:
		return now.Add(time.Duration(math.Round(hint * 1e9)))
	case string:
		switch p.ID {
		case "c034":
			return time.Time{}
		case "c204":
			return time.Date(2026, 3, 20, 19, 0, 0, 0, time.UTC) // 3 pm in New York
		}
		at, err := time.Parse(time.RFC3339, hint)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	return time.Time{}
}
