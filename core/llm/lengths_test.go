package llm

import "testing"

func TestLengths(t *testing.T) {
	for _, c := range []struct {
		detail          string
		request, window int
	}{
		{"This model's maximum context length is 128000 tokens. However, your messages resulted in 140211 tokens.", 140211, 128000},
		{"prompt is too long: 214501 tokens > 200000 maximum", 214501, 200000},
		{"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1200000, 1048576},
		{"This model's maximum context length is 4,097 tokens, however you requested 4,927 tokens (3,927 in your prompt; 1,000 for the completion).", 4927, 4097},
		{"request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 5000, 4096},
		{"prompt is too long: 214501 tokens > 200000 maximum (request_id req_9911223344556677889900)", 214501, 200000},
		{"This endpoint's maximum context length is 163840 tokens. However, you requested about 200000 tokens (199000 of text input, 1000 in the output). Please reduce the length of either one.", 200000, 163840},
		{"This model's maximum context length is 4096 tokens. However, you requested 6360 tokens (6000 in the messages, 360 in the completion).", 6360, 4096},
		{"maximum context length is 4,097 tokens, however you requested 5,927 tokens (4,927 in your prompt; 1,000 for the completion)", 5927, 4097},
		{"The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).", 1048577, 1048576},
		{"claude-sonnet-4-20250514: prompt is too long: 208310 tokens > 200000 maximum", 208310, 200000},
		{"context of gpt-4o-2024-08-06 exceeded: 140000 tokens, 128000 at most", 140000, 128000},
		{"Input is too long for requested model.", 0, 0},
		{"maximum context length is 8192 tokens", 0, 0},
		{"error 400 at line 123 of file 456", 0, 0},
		{"Context size has been exceeded.", 0, 0},
		{"max_tokens 12 is more than 8 tokens", 0, 0},
		{"", 0, 0},
	} {
		request, window, ok := Lengths(c.detail)
		if ok != (c.request > 0) || ok && (request != c.request || window != c.window) {
			t.Errorf("%q: %d of %d, %v", c.detail, request, window, ok)
		}
	}
}

// Whatever a provider writes, a length that is told is one that could be.
func FuzzLengths(f *testing.F) {
	f.Add("prompt is too long: 214501 tokens > 200000 maximum")
	f.Add("4,097 tokens, 999,999,999,999,999,999 context")
	f.Fuzz(func(t *testing.T, detail string) {
		if request, window, ok := Lengths(detail); ok && (window < 256 || request <= window || request > 100*window) {
			t.Errorf("%q: %d of %d", detail, request, window)
		}
	})
}
