package slack

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// style is what the text around is already set in. Slack cannot nest a style in
// itself, so its markers are left out there.
type style struct {
	bold, italic, strike bool
	// plain writes no markup at all and escapes nothing, for text that goes
	// into code.
	plain bool
	depth int
}

// maxDepth bounds how deep styles are looked for within styles.
const maxDepth = 6

// inline turns the Markdown of one line into Slack's markup.
func inline(s string, st style) string {
	p := &inliner{src: strayStars.ReplaceAllString(s, "<$1>$2"), st: st, dead: map[string]bool{}}
	for p.at < len(p.src) {
		p.step()
	}
	return p.out.String()
}

// bare is the Markdown of one line without its markup.
func bare(s string) string { return inline(s, style{plain: true}) }

// strayStars are the closing stars of "**<https://e.invalid/**>", which models
// write: taken for part of the address they would break both.
var strayStars = regexp.MustCompile(`<(https?://[^\s<>*]+)(\*+)>`)

// inliner goes through one line once.
type inliner struct {
	src  string
	at   int
	st   style
	out  strings.Builder
	dead map[string]bool // markers that nothing closes from here on
}

func (p *inliner) step() {
	rest := p.src[p.at:]
	switch c := rest[0]; {
	case c == '\\' && len(rest) > 1 && isPunct(rest[1]):
		p.text(rest[1:2], 2)
	case c == '`':
		p.code(rest)
	case c == '<':
		if m := autolink.FindStringSubmatch(rest); m != nil {
			p.link(m[1], "", len(m[0]))
		} else {
			p.text("<", 1)
		}
	case c == '!' && strings.HasPrefix(rest, "!["):
		p.bracket(rest[1:], 1)
	case c == '[':
		p.bracket(rest, 0)
	case c == '*' || c == '_' || c == '~':
		p.emphasis(rest)
	case c == '&':
		p.entity(rest)
	case c == 'h' && !wordBefore(p.src, p.at) && bareURL.MatchString(rest):
		url := trimURL(bareURL.FindString(rest))
		p.link(url, "", len(url))
	default:
		n := 1 + strings.IndexAny(rest[1:], "\\`<![*_~&h>")
		if n == 0 {
			n = len(rest)
		}
		p.text(rest[:n], n)
	}
}

// text writes text and goes on.
func (p *inliner) text(s string, size int) {
	if !p.st.plain {
		s = escape.Replace(s)
	}
	p.out.WriteString(s)
	p.at += size
}

// raw writes markup and goes on.
func (p *inliner) raw(s string, size int) {
	p.out.WriteString(s)
	p.at += size
}

// code writes a code span. Slack knows one backtick only, and none inside.
func (p *inliner) code(rest string) {
	ticks := run(rest, '`')
	marker := rest[:ticks]
	for end := ticks; !p.dead[marker]; {
		i := strings.IndexByte(rest[end:], '`')
		if i < 0 {
			p.dead[marker] = true
			break
		}
		end += i
		n := run(rest[end:], '`')
		if n != ticks {
			end += n
			continue
		}
		body := rest[ticks:end]
		if len(body) > 2 && body[0] == ' ' && body[len(body)-1] == ' ' && strings.TrimSpace(body) != "" {
			body = body[1 : len(body)-1]
		}
		if !p.st.plain {
			body = "`" + escape.Replace(strings.ReplaceAll(body, "`", "ˋ")) + "`"
		}
		p.raw(body, end+ticks)
		return
	}
	p.text(marker, ticks)
}

var (
	autolink = regexp.MustCompile(`^<((?:https?://|mailto:)[^\s<>]+)>`)
	bareURL  = regexp.MustCompile("^https?://[^\\s<>`|\"]+")
	target   = regexp.MustCompile(`^<?((?:https?://|mailto:)[^\s<>]+?)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*$`)
)

// bracket writes a link or, skipping the mark before it, a picture. Anything
// but a web or mail address stays text.
func (p *inliner) bracket(rest string, skip int) {
	label := closing(rest, '[', ']')
	if label > 0 && strings.HasPrefix(rest[label:], "(") {
		if size := closing(rest[label:], '(', ')'); size > 0 {
			if m := target.FindStringSubmatch(rest[label+1 : label+size-1]); m != nil {
				p.link(m[1], bare(rest[1:label-1]), skip+label+size)
				return
			}
		}
	}
	p.text(p.src[p.at:p.at+skip+1], skip+1)
}

const maxBracket = 1000 // bytes

// closing is the size of a bracketed piece at the front, with its brackets, or
// 0. It gives up after maxBracket, so that many open brackets cost little.
func closing(s string, open, end byte) int {
	depth := 0
	for i := 0; i < min(len(s), maxBracket); i++ {
		switch s[i] {
		case '\\':
			i++
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

var linkEscape = strings.NewReplacer("&amp;", "&amp;", "&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C")

// link writes a link.
func (p *inliner) link(url, label string, size int) {
	if p.st.plain {
		if label == "" || label == url {
			p.raw(url, size)
		} else {
			p.raw(label+" ("+url+")", size)
		}
		return
	}
	out := "<" + linkEscape.Replace(url)
	if strings.TrimSpace(label) != "" {
		out += "|" + escape.Replace(strings.ReplaceAll(label, "|", "¦"))
	}
	p.raw(out+">", size)
}

// trimURL takes off what ends a sentence rather than an address.
func trimURL(url string) string {
	for _, bracket := range []string{"&lt;", "&gt;"} {
		url, _, _ = strings.Cut(url, bracket)
	}
	for {
		r, size := utf8.DecodeLastRuneInString(url)
		switch {
		case strings.HasSuffix(url, "&amp;"):
			url = url[:len(url)-len("&amp;")]
		case strings.ContainsRune(".,;:!?'*_~", r),
			r == ')' && strings.Count(url, ")") > strings.Count(url, "("),
			r == ']' && strings.Count(url, "]") > strings.Count(url, "["):
			url = url[:len(url)-size]
		default:
			return url
		}
	}
}

// entity writes an entity. The three that Slack knows are as they should be;
// escaping them again would show their names.
func (p *inliner) entity(rest string) {
	for _, e := range []string{"&amp;", "&lt;", "&gt;"} {
		if strings.HasPrefix(rest, e) {
			if p.st.plain {
				e = unescape.Replace(e)
			}
			p.raw(e, len(rest[:strings.IndexByte(rest, ';')+1]))
			return
		}
	}
	p.text("&", 1)
}

// emphasis writes a bold, italic or struck piece, or its markers as text if
// they open nothing.
func (p *inliner) emphasis(rest string) {
	n := run(rest, rest[0])
	marker := rest[:n]
	body, ok := p.body(rest, marker)
	if !ok || p.st.depth >= maxDepth {
		p.text(marker, n)
		return
	}
	inner := p.st
	inner.depth++
	var around string
	switch {
	case rest[0] == '~':
		around, inner.strike = "~", true
		if p.st.strike {
			around = ""
		}
	case n == 1:
		around, inner.italic = "_", true
		if p.st.italic {
			around = ""
		}
	case n == 2:
		around, inner.bold = "*", true
		if p.st.bold {
			around = ""
		}
	default:
		around, inner.bold, inner.italic = "*_", true, true
		if p.st.bold {
			around = "_"
		}
		if p.st.italic {
			around = strings.TrimSuffix(around, "_")
		}
	}
	p.styled(around, inline(body, inner), 2*n+len(body))
}

// styled writes text between markers. Slack reads markers only at the edge of a
// word; inside one a character that does not show makes an edge.
func (p *inliner) styled(around, text string, size int) {
	if p.st.plain || around == "" {
		p.raw(text, size)
		return
	}
	edge := func(word bool) string {
		if word {
			return "\u200b"
		}
		return ""
	}
	back := around
	if len(back) == 2 {
		back = "_*"
	}
	before, after := wordBefore(p.src, p.at), wordAfter(p.src, p.at+size)
	p.raw(edge(before)+around+text+back+edge(after), size)
}

// body is what stands between the marker at the front and the one that closes
// it.
func (p *inliner) body(rest, marker string) (string, bool) {
	n := len(marker)
	if n > 3 || p.dead[marker] || marker[0] == '~' && n != 2 || n == len(rest) {
		return "", false
	}
	if r, _ := utf8.DecodeRuneInString(rest[n:]); unicode.IsSpace(r) {
		return "", false
	}
	if marker[0] == '_' && wordBefore(p.src, p.at) {
		return "", false // snake_case
	}
	for i := n; i < len(rest); {
		switch c := rest[i]; {
		case c == '\\':
			i += 2
		case c == '`':
			i += skipCode(rest[i:])
		case c == marker[0]:
			size := run(rest[i:], c)
			if size == n && closes(rest, i, size, c) {
				return rest[n:i], true
			}
			i += size
		default:
			i++
		}
	}
	p.dead[marker] = true
	return "", false
}

// closes reports whether the marker at i may close: it follows text, and an
// underscore does not stand inside a word.
func closes(s string, i, size int, c byte) bool {
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return !unicode.IsSpace(r) && (c != '_' || !wordAfter(s, i+size))
}

// skipCode is the size of the code span at the front, or of the backticks that
// open none.
func skipCode(s string) int {
	ticks := run(s, '`')
	for i := ticks; i < len(s); {
		j := strings.IndexByte(s[i:], '`')
		if j < 0 {
			break
		}
		i += j
		n := run(s[i:], '`')
		i += n
		if n == ticks {
			return i
		}
	}
	return ticks
}

// run is how many of c the text begins with.
func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

func wordBefore(s string, i int) bool {
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func wordAfter(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func isPunct(c byte) bool { return c < utf8.RuneSelf && unicode.In(rune(c), unicode.P, unicode.S) }
