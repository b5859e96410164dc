package llm

import "testing"

func TestLists(t *testing.T) {
	for _, c := range []struct {
		model string
		list  []string
		want  bool
	}{
		{"gpt-5", []string{"gpt-5"}, true},
		{"GPT-5", []string{"gpt-5"}, true},
		{"gpt-5", nil, false},
		{"gpt-6", []string{"gpt-5", "gpt-5-mini"}, false},
		{"gpt-5-mini", []string{"gpt-5"}, false},
		{"gpt-5x", []string{"gpt-5"}, false},
		{"claude-sonnet-4-5", []string{"claude-sonnet-4-5-20250929"}, true}, // an alias
		{"claude-sonet-4-5", []string{"claude-sonnet-4-5-20250929"}, false},
		{"claude-3-5-haiku-latest", []string{"claude-3-5-haiku-20241022"}, true},
		{"llama3.2", []string{"llama3.2:latest"}, true}, // Ollama
		{"llama3.3", []string{"llama3.2:latest"}, false},
		{"moonshotai/kimi-k2:nitro", []string{"moonshotai/kimi-k2"}, true}, // OpenRouter's variants
		{"kimi-k2", []string{"moonshotai/kimi-k2"}, false},
		{"gemini-2.5-pro", []string{"models/gemini-2.5-pro"}, true}, // Google
	} {
		if got := Lists(c.list, c.model); got != c.want {
			t.Errorf("%q lists %s: %v", c.list, c.model, got)
		}
	}
}
