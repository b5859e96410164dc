package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"understudy/core/llm"
)

// What a model thinks aloud in its text is no part of the answer, however the
// text is cut.
func TestThinkingAloud(t *testing.T) {
	for _, c := range []struct{ text, answer, thinking string }{
		{"<think>\nhm\n</think>\n\nHello", "Hello", "\nhm\n"},
		{"\n <think>a < b </thin</think>Hello <think>x</think>", "Hello <think>x</think>", "a < b </thin"},
		{"<think></think>Hello", "Hello", ""},
		{"Hello <think>there</think>", "Hello <think>there</think>", ""},
		{"<thinker> is a word", "<thinker> is a word", ""},
		{"<thi", "<thi", ""},
		{"  Hello", "  Hello", ""},
	} {
		for size := 1; size <= len(c.text); size++ {
			var events []string
			for i := 0; i < len(c.text); i += size {
				piece, _ := json.Marshal(c.text[i:min(i+size, len(c.text))])
				events = append(events, delta(`{"content":`+string(piece)+`}`))
			}
			r := askRaw(t, "host", append(events, finish("stop"), done)...)
			if r.err != nil || r.text != c.answer || r.done.Reply.Text() != c.answer || r.thinking != c.thinking {
				t.Errorf("%q in pieces of %d: answer %q, thinking %q, %v", c.text, size, r.text, r.thinking, r.err)
			}
		}
	}
	for _, text := range []string{"<think>hm", "<think>hm</think>", "<think>hm</think> \n"} {
		if r := askRaw(t, "host", delta(`{"content":"`+strings.ReplaceAll(text, "\n", `\n`)+`"}`), finish("stop"), done); r.err == nil || r.err.Reason != llm.EmptyResponse {
			t.Errorf("%q: %q, %v", text, r.text, r.err)
		}
	}
}
