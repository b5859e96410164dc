package delivery

import (
	"strings"
	"time"
	"unicode"

	"understudy/core"
)

// fixed is the beginning of an answer that stands in finished messages and is
// not split in another way any more.
type fixed struct {
	texts []string // of the messages
	said  string   // the answer up to where they end
	open  string   // goes before what follows, as the line that opens a code block again
}

// begins reports whether a text has that beginning.
func (f fixed) begins(text string) bool { return strings.HasPrefix(text, f.said) }

// rest is the text without that beginning, or "" if nothing is to be seen there.
func (f fixed) rest(text string) string {
	rest := text[min(len(text), len(f.said)):]
	if core.Blank(rest) {
		return ""
	}
	head, from := core.Resume(f.open, rest)
	return head + rest[from:]
}

// add finishes another message, with what fits into it of a text. It reports
// false if there is nothing for it.
func (f *fixed) add(text string, l core.Limits) bool {
	rest := f.rest(text)
	part, open, at := core.Cut(rest, l)
	said := len(text) - (len(rest) - at)
	if part == "" || said < len(f.said) {
		return false
	}
	f.texts, f.said, f.open = append(f.texts, part), text[:said], open
	return true
}

// rotation is when the live message has to be finished; ok is false if there
// is none, or if it may go on for ever.
func (w *Writer) rotation() (at time.Time, ok bool) {
	n := len(w.parts)
	if w.limits.Rotate <= 0 || n == 0 || w.limits.MaxParts > 0 && n >= w.limits.MaxParts {
		return time.Time{}, false
	}
	last := w.parts[n-1]
	return last.posted.Add(w.limits.Rotate), last.live && !last.posted.IsZero()
}

// rotate fixes what the messages so far hold, if the live one is due: the
// answer goes on in a new one.
func (w *Writer) rotate(text string) {
	if at, ok := w.rotation(); !ok || w.s.c.Now().Before(at) {
		return
	}
	for len(w.fixed.texts) < len(w.parts) && len(w.fixed.said) < len(text) {
		l := w.limits
		if len(w.fixed.texts) == len(w.parts)-1 {
			l.MaxText = rounded(w.fixed.rest(text), l)
		}
		if !w.fixed.add(text, l) {
			return
		}
	}
}

// rounded is the limit under which a text is cut at a good place near its end,
// or not at all if it ends at one.
func rounded(text string, l core.Limits) int {
	said := strings.TrimRight(text, " \t\"')]*_`")
	if n := l.Count(text); n > 1 && n <= l.MaxText && !strings.HasSuffix(said, "\n") && !strings.ContainsRune(".!?:;…。！？", lastRune(said)) {
		return n - 1
	}
	return l.MaxText
}

func lastRune(s string) rune {
	last := unicode.ReplacementChar
	for _, r := range s[max(0, len(s)-4):] {
		last = r
	}
	return last
}
