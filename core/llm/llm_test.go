package llm

import (
	"strings"
	"testing"
	"unicode"
)

func TestParseRef(t *testing.T) {
	for in, want := range map[string]Ref{
		"anthropic/claude-sonnet-4-5":      {"anthropic", "claude-sonnet-4-5"},
		"OpenRouter/moonshotai/Kimi-K2":    {"openrouter", "moonshotai/Kimi-K2"},
		" openai/gpt-4o ":                  {"openai", "gpt-4o"},
		"vertex/anthropic/claude@20250929": {"vertex", "anthropic/claude@20250929"},
	} {
		if got, ok := ParseRef(in); !ok || got != want {
			t.Errorf("ParseRef(%q) = %v, %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "/", "a/", "/b", "gpt-4o", "a b/c", "a/b c", "a/b\n/c", "a@b/c", "a/\x00", "a/b\u00a0c", strings.Repeat("a", 200) + "/b"} {
		if got, ok := ParseRef(in); ok {
			t.Errorf("ParseRef(%q) = %v", in, got)
		}
	}
}

func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"anthropic/claude", "A/b/c", "a@b/c", " x / y ", "\u00a0/x", "É/x", "a/\xff", "/", "ſ/k", "\u0097/0", strings.Repeat("Ⱥ", 99) + "/m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, ok := ParseRef(s)
		if !ok {
			return
		}
		if r.Provider == "" || r.Model == "" || strings.Contains(r.Provider, "/") || strings.ContainsFunc(r.String(), unicode.IsControl) {
			t.Fatalf("ParseRef(%q) = %+v", s, r)
		}
		again, ok := ParseRef(r.String())
		if !ok || again != r {
			t.Fatalf("%q is read as %+v and then as %+v, %v", s, r, again, ok)
		}
		text, _ := r.MarshalText()
		var back Ref
		if err := back.UnmarshalText(text); err != nil || back != r {
			t.Fatalf("%q: %+v came back as %+v: %v", s, r, back, err)
		}
	})
}
