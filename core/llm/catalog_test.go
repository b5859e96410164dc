package llm

import "testing"

func TestLookup(t *testing.T) {
	for _, c := range []struct {
		ref     string
		context int
		output  int
		images  bool
	}{
		{"anthropic/claude-sonnet-4-5", 200000, 64000, true},
		{"anthropic/claude-sonnet-4-5-20250929", 200000, 64000, true},
		{"anthropic/claude-3-5-haiku-latest", 200000, 8192, true},
		{"openai/gpt-4o-2024-11-20", 128000, 16384, true},
		{"openai/gpt-4o-2024-05-13", 128000, 4096, true},
		{"openai-codex/gpt-5-codex", 400000, 128000, true},
		{"google/models/gemini-2.5-pro", 1048576, 65536, true},
		{"groq/openai/gpt-oss-120b", 131072, 65536, false},
		{"openrouter/moonshotai/kimi-k2:free", 131072, 0, false},
		{"mistral/mistral-small-latest", 128000, 0, true},
	} {
		r, ok := ParseRef(c.ref)
		if !ok {
			t.Fatalf("%s is no ref", c.ref)
		}
		m, ok := Lookup(r)
		if !ok || m.Context != c.context || m.Output != c.output || m.Images() != c.images {
			t.Errorf("%s: %+v %v", c.ref, m, ok)
		}
	}
	for _, ref := range []string{"openai/gpt-4o-turbo", "nobody/gpt-4o", "openai/gpt-4o-20241350", "groq/gpt-4o", "openai/-latest"} {
		r, _ := ParseRef(ref)
		if m, ok := Lookup(r); ok {
			t.Errorf("%s was found: %+v", ref, m)
		}
	}
}

// What one caller does with the answer must not reach the next.
func TestLookupGivesCopies(t *testing.T) {
	r := Ref{"openai", "gpt-4o"}
	m, _ := Lookup(r)
	m.Input[0] = "x"
	if again, _ := Lookup(r); again.Input[0] != "text" {
		t.Error("the catalogue was changed through an answer")
	}
}

func TestCatalogIsSane(t *testing.T) {
	for provider, models := range catalog() {
		for name, m := range models {
			if m.Context < 4096 || m.Output < 0 || m.Output > m.Context || len(m.Input) == 0 || m.Input[0] != "text" {
				t.Errorf("%s/%s: %+v", provider, name, m)
			}
			if _, ok := ParseRef(provider + "/" + name); !ok {
				t.Errorf("%s/%s is no ref", provider, name)
			}
		}
	}
}
