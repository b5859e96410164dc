package core

import (
	"strings"
	"unicode/utf8"
)

// span is a stretch of a text that is not cut: a link, a mention, an emoji, a
// code span, a marker line of a fence. Offsets are bytes of the text.
type span struct{ start, end int }

// spans finds what must stay whole in a text without fences, in order. Base is
// added to the offsets.
func spans(text string, base int) []span {
	var found []span
	for text != "" {
		n := paragraph(text)
		found = inline(found, text[:n], base)
		text, base = text[n:], base+n
	}
	return found
}

// paragraph is the length of the text up to and including the first blank
// line. Nothing inline reaches over one.
func paragraph(text string) int {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
		rest := strings.TrimLeft(text[at:min(len(text), at+maxIndent)], " \t\r")
		if strings.HasPrefix(rest, "\n") {
			return len(text) - len(text[at:]) + strings.IndexByte(text[at:], '\n') + 1
		}
	}
}

// maxIndent is how far into a line it is looked for something else than space.
const maxIndent = 64

// inline appends the spans of one paragraph.
func inline(found []span, p string, base int) []span {
	if !strings.ContainsAny(p, "`<[:") {
		return found
	}
	code := codeSpans(p)
	links := linkSpans(p, code)
	for i := 0; i < len(p); {
		end := i
		switch p[i] {
		case '\\':
			i += 2
			continue
		case '`':
			if end = code[i]; end == 0 {
				i += ticks(p[i:])
				continue
			}
		case '<':
			end = i + angle(p[i:])
		case '!':
			if i+1 < len(p) && p[i+1] == '[' {
				end = max(i, links[i+1])
			}
		case '[':
			end = max(i, links[i])
		case 'h':
			end = i + address(p[i:])
		}
		if end == i {
			i++
			continue
		}
		found = append(found, span{base + i, base + end})
		i = end
	}
	return found
}

// ticks is the number of backticks at the start of s.
func ticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

// codeSpans maps the start of each code span to its end.
func codeSpans(p string) map[int]int {
	if !strings.Contains(p, "`") {
		return nil
	}
	type tick struct{ at, n int }
	var all []tick
	for i := 0; i < len(p); i++ {
		if p[i] == '`' {
			n := ticks(p[i:])
			all = append(all, tick{i, n})
			i += n - 1
		}
	}
	// From the back, the nearest run of each length is known without a search.
	nearest := map[int]int{}
	code := map[int]int{}
	for k := len(all) - 1; k >= 0; k-- {
		t := all[k]
		if at, ok := nearest[t.n]; ok {
			code[t.at] = at + t.n
		}
		nearest[t.n] = t.at
	}
	return code
}

// linkSpans maps the opening bracket of each inline link to the link's end.
func linkSpans(p string, code map[int]int) map[int]int {
	if !strings.Contains(p, "](") {
		return nil
	}
	var brackets, parens []int
	label := map[int]int{} // opening parenthesis → opening bracket of the text before it
	links := map[int]int{}
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '`':
			if end := code[i]; end > 0 {
				i = end - 1
			} else {
				i += ticks(p[i:]) - 1
			}
		case '[':
			brackets = append(brackets, i)
		case ']':
			if n := len(brackets); n > 0 {
				if strings.HasPrefix(p[i+1:], "(") {
					label[i+1] = brackets[n-1]
				}
				brackets = brackets[:n-1]
			}
		case '(':
			parens = append(parens, i)
		case ')':
			if n := len(parens); n > 0 {
				if start, ok := label[parens[n-1]]; ok {
					links[start] = i + 1
				}
				parens = parens[:n-1]
			}
		}
	}
	return links
}

// angle is the length of a mention, emoji, time or link in angle brackets at
// the start of s, or 0.
func angle(s string) int {
	end := strings.IndexAny(s[1:], "<>\n") + 1
	if end < 2 || s[end] != '>' {
		return 0
	}
	switch c := s[1]; {
	case c == '@', c == '#', c == ':', c == '!', c == '/', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		return end + 1
	}
	return 0
}

// address is the length of a bare web address at the start of s, or 0.
func address(s string) int {
	if !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
		return 0
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if space(r) || r == '<' || r == '>' || r == '`' {
			return i
		}
		i += n
	}
	return len(s)
}
