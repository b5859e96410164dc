package core

import (
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
)

// directive is a word of command, or several, that models learn elsewhere: which
// message to reply to. Here the configuration says that, and nothing that a model
// writes can.
var directive = regexp.MustCompile(`(?i)(?:\[\[ *reply_to(?:_current| *:[^\[\]\n]{0,100})? *\]\] *)+`)

// WithoutDirectives takes out of a model's text what looks like a directive
// about replies, such as [[reply_to_current]] or [[reply_to:<id>]], with the
// white space that it leaves behind. In code it stays: there it is talked about.
// Growing is for a text that goes on: then the beginning of a directive at its
// end is left out too, so that nobody sees half of one.
func WithoutDirectives(text string, growing bool) string {
	if !strings.Contains(text, "[") {
		return text
	}
	if growing {
		text = text[:len(text)-unfinished(text)]
	}
	if !strings.Contains(text, "[[") {
		return text
	}
	var out strings.Builder
	at := 0
	for _, f := range fences(text, math.MaxInt, utf8.RuneCountInString) {
		out.WriteString(undirected(text[at:f.start], at == 0))
		out.WriteString(text[f.start:f.end])
		at = f.end
	}
	out.WriteString(undirected(text[at:], at == 0))
	return out.String()
}

// undirected is a text without fences, and without directives. First is true at
// the very start of what is shown, where no blank lines stay.
func undirected(text string, first bool) string {
	var out strings.Builder
	for text != "" {
		n := paragraph(text)
		para := text[:n]
		text = text[n:]
		code := codeSpans(para)
		at := 0
		for _, d := range directive.FindAllStringIndex(para, -1) {
			if quotedAt(code, d[0]) {
				continue
			}
			before, after := para[at:d[0]], para[d[1]:]
			at = d[1]
			switch {
			case before == "" || strings.HasSuffix(before, "\n"): // it began a line
				if strings.HasPrefix(after, "\n") {
					at++
				}
			case after == "" || after[0] == '\n':
				before = strings.TrimRight(before, " ")
			case para[d[1]-1] == ' ' || strings.HasSuffix(before, " "):
				before = strings.TrimRight(before, " ") + " "
			}
			out.WriteString(before)
		}
		rest := para[at:]
		if first && out.Len() == 0 && at > 0 {
			rest = strings.TrimLeft(rest, "\n")
		}
		out.WriteString(rest)
	}
	return out.String()
}

// quotedAt reports whether an offset is within a code span.
func quotedAt(code map[int]int, at int) bool {
	for start, end := range code {
		if start <= at && at < end {
			return true
		}
	}
	return false
}

// unfinished is the length of what may become a directive, at the end of a text.
func unfinished(text string) int {
	tail := text[max(0, len(text)-maxUnfinished):]
	if i := strings.LastIndex(tail, "[["); i >= 0 {
		word := strings.ToLower(strings.ReplaceAll(tail[i+2:], " ", ""))
		name, id, named := strings.Cut(strings.TrimSuffix(word, "]"), ":")
		switch {
		case named && name == "reply_to" && !strings.ContainsAny(id, "[]\n"),
			!named && (strings.HasPrefix("reply_to", word) || strings.HasPrefix("reply_to_current]", word) || word == "reply_to]"):
			return len(tail) - i
		}
	}
	if strings.HasSuffix(tail, "[") {
		return 1
	}
	return 0
}

// maxUnfinished bounds how far back a directive may begin, in bytes.
const maxUnfinished = 160
