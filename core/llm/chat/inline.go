package chat

import "strings"

// Servers that do not know a model's way of thinking aloud leave it in the text,
// before the answer.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	whiteSpace = " \t\r\n"
)

// inline parts what a model thinks aloud at the beginning of its text from the
// answer behind it.
type inline struct {
	phase inlinePhase
	held  string // what may be half of a tag
}

type inlinePhase uint8

const (
	inlineBegin   inlinePhase = iota // nothing but white space so far, and maybe half of a tag
	inlineThought                    // behind the opening tag
	inlineGap                        // behind the closing tag: white space does not count
	inlineAnswer
)

// take parts one piece of the text.
func (t *inline) take(s string) (thinking, text string) {
	if t.phase == inlineBegin {
		t.held += s
		begin := strings.TrimLeft(t.held, whiteSpace)
		switch {
		case len(begin) < len(thinkOpen) && strings.HasPrefix(thinkOpen, begin):
			return "", ""
		case strings.HasPrefix(begin, thinkOpen):
			t.phase, t.held, s = inlineThought, "", begin[len(thinkOpen):]
		default:
			t.phase, s, t.held = inlineAnswer, t.held, ""
		}
	}
	if t.phase == inlineThought {
		s = t.held + s
		before, after, closed := strings.Cut(s, thinkClose)
		if !closed {
			keep := half(s)
			t.held = s[len(s)-keep:]
			return s[:len(s)-keep], ""
		}
		t.phase, t.held, thinking, s = inlineGap, "", before, after
	}
	if t.phase == inlineGap {
		if s = strings.TrimLeft(s, whiteSpace); s != "" {
			t.phase = inlineAnswer
		}
	}
	return thinking, s
}

// rest is what was held back of a text that is no thought, at its end.
func (t *inline) rest() string {
	if t.phase != inlineBegin {
		return ""
	}
	s := t.held
	t.held = ""
	return s
}

// half is how much of the end of s may be the beginning of the closing tag.
func half(s string) int {
	for n := min(len(s), len(thinkClose)-1); n > 0; n-- {
		if strings.HasSuffix(s, thinkClose[:n]) {
			return n
		}
	}
	return 0
}
