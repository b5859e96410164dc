package llm

import (
	"net/http"
	"strings"
	"testing"
)

// answering is a network of one answer.
type answering func(*http.Request) *http.Response

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// What a provider says of a credential that the request did not go out with is
// hidden as well, in its body and its headers.
func TestAnAttemptHidesWhatTheProgramKnows(t *testing.T) {
	const own, other = "the key of this request", "the key of somebody else"
	tr := NewTransport(answering(func(*http.Request) *http.Response {
		return &http.Response{StatusCode: 401, Header: http.Header{"X-Said": {own + other}}, Body: http.NoBody}
	}), Timeouts{})
	tr.Veil = NewVeil(other)
	for _, secrets := range [][]string{nil, {own}} {
		a := tr.Attempt(secrets...)
		req, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		f := a.Failure(t.Context(), nil)
		for _, text := range []string{f.Header.Get("X-Said"), string(a.Hide([]byte("wrong: " + other)))} {
			if strings.Contains(text, "somebody else") || !strings.Contains(text, masked) {
				t.Errorf("with %q it keeps %q", secrets, text)
			}
		}
		a.Close()
	}
}

// A key in all its forms is some thousands of pieces, which are not to be made
// for every request.
func TestVeilOfAClientIsMadeOnce(t *testing.T) {
	tr := NewTransport(nil, Timeouts{})
	secrets := Secrets("sk-of-one-client-0123456789", http.Header{"X-Team": {"a-long-value-of-a-header"}})
	said := []byte("the key sk-of-one-client-0123456789 of a-long-value-of-a-header is wrong")
	tr.Attempt(secrets...).Hide(said)
	if n := testing.AllocsPerRun(20, func() { tr.Attempt(secrets...).Hide(said) }); n > 20 {
		t.Errorf("%v allocations for each attempt", n)
	}
	knowing := NewTransport(nil, Timeouts{})
	knowing.Veil = NewVeil(secrets...)
	if got := string(knowing.Attempt(secrets...).Hide(said)); got != "the key "+masked+" of "+masked+" is wrong" {
		t.Errorf("where the program knows them: %q", got)
	}
	if knowing.veilOf(secrets) != nothing {
		t.Error("what the program knows is looked for twice")
	}
	if knowing.veilOf(append(secrets, "sk-of-another-9876543210")) == nothing {
		t.Error("what the program does not know is not looked for")
	}
	for _, other := range [][]string{{"sk-of-another-9876543210"}, {"sk-of-another-9876543210", secrets[0]}} {
		want := strings.ReplaceAll(string(said), secrets[0], masked)
		if len(other) == 1 {
			want = string(said)
		}
		if got := string(tr.Attempt(other...).Hide(said)); got != want {
			t.Errorf("with other secrets: %q", got)
		}
	}
}
