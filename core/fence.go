package core

import (
	"strings"
	"unicode"
)

// fence is a fenced code block. Offsets are bytes of the text.
type fence struct {
	start int // of the opening line
	body  int // after the opening line
	tail  int // of the closing line; the end of the text if there is none
	end   int // after the closing marker; the end of the text if there is none
	// open and close are the lines that carry the block over a cut, each
	// without a line break; quote goes before a line that was cut in two.
	open, close, quote string
}

// closed reports whether the text closes the block itself.
func (f *fence) closed() bool { return f.tail < f.end }

// maxReopen is the longest opening line, in bytes, that is repeated after a
// cut; of a longer one only the marker is.
const maxReopen = 40

// fences finds the fenced code blocks of a text, in order. Blocks whose
// marker lines together cost more than most, as count measures them, are left
// out: they could not be carried over a cut.
func fences(text string, most int, count func(string) int) []fence {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return nil
	}
	var found []fence
	var open *fence
	var mark string // of the open fence
	at := 0
	for line := range strings.Lines(text) {
		next := at + len(line)
		quote, rest := container(line)
		if open != nil && len(quote) < len(open.quote) { // the quote around it ends
			open.tail, open.end = at, at
			open = nil
		}
		marker := line[:len(line)-len(rest)+len(run(rest))]
		switch {
		case open != nil && closes(rest, mark) && count(marker) <= most/2:
			open.tail, open.end = at, at+len(marker)
			open = nil
		case open == nil:
			f, m, ok := opens(line)
			if !ok || max(count(line), count(f.open+"\n"+f.quote))+count("\n"+f.close) > most {
				break
			}
			f.start, f.body, f.tail, f.end = at, next, len(text), len(text)
			found = append(found, f)
			open, mark = &found[len(found)-1], m
		}
		at = next
	}
	return found
}

// container takes the block quote markers, list markers and indentation off
// the front of a line. Quote is what quotes a line of its own as deep.
func container(line string) (quote, rest string) {
	rest = strings.TrimLeft(line, " \t")
	for {
		if strings.HasPrefix(rest, ">") && len(quote) < maxQuotes {
			rest = strings.TrimLeft(rest[1:], " \t")
			quote += "> "
			continue
		}
		i := strings.IndexAny(rest, " \t")
		if i < 1 || i > 4 || !bullet(rest[:i]) {
			return quote, rest
		}
		rest = strings.TrimLeft(rest[i:], " \t")
	}
}

// maxQuotes bounds the markers of nested block quotes, in bytes.
const maxQuotes = 16

// bullet reports whether word starts an item of a list.
func bullet(word string) bool {
	switch word {
	case "-", "*", "+":
		return true
	}
	digits := strings.TrimRight(word, ".)")
	return len(digits) == len(word)-1 && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// run is the fence marker at the start of s, or "".
func run(s string) string {
	if s == "" || s[0] != '`' && s[0] != '~' {
		return ""
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	if n < 3 {
		return ""
	}
	return s[:n]
}

// opens reads the opening line of a fence, and returns its marker.
func opens(line string) (f fence, mark string, ok bool) {
	quote, rest := container(line)
	mark = run(rest)
	if mark == "" {
		return fence{}, "", false
	}
	info := strings.TrimSpace(rest[len(mark):])
	if mark[0] == '`' && strings.Contains(info, "`") {
		return fence{}, "", false // a code span
	}
	f = fence{open: quote + mark, close: quote + mark, quote: quote}
	if len(f.open)+len(info) <= maxReopen {
		f.open += info
	}
	return f, mark, true
}

// closes reports whether a line, without its container, closes a fence that
// was opened with mark.
func closes(rest, mark string) bool {
	m := run(rest)
	return m != "" && m[0] == mark[0] && len(m) >= len(mark) && strings.TrimFunc(rest[len(m):], unicode.IsSpace) == ""
}
