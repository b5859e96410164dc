package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"understudy/core/llm"
	"understudy/core/llm/script"
)

// lineReader takes one line apart. It keeps the first error and reads on, so
// that callers need not ask after every word.
type lineReader struct {
	rest string
	err  error
}

func (r *lineReader) fail(want string) {
	if r.err != nil {
		return
	}
	if at := strings.TrimSpace(r.rest); at != "" {
		r.err = fmt.Errorf("want %s, at %q", want, at)
	} else {
		r.err = fmt.Errorf("want %s, at the end", want)
	}
}

// peek is the next word, or empty at the end and before a comment.
func (r *lineReader) peek() string {
	r.rest = strings.TrimLeft(r.rest, " \t")
	if strings.HasPrefix(r.rest, "#") {
		return ""
	}
	if i := strings.IndexAny(r.rest, " \t"); i >= 0 {
		return r.rest[:i]
	}
	return r.rest
}

func (r *lineReader) next() string {
	w := r.peek()
	r.rest = r.rest[len(w):]
	return w
}

// is takes the words if they come next.
func (r *lineReader) is(words ...string) bool {
	before := r.rest
	for _, w := range words {
		if r.next() != w {
			r.rest = before
			return false
		}
	}
	return true
}

func (r *lineReader) literal(word string) {
	if !r.is(word) {
		r.fail(strconv.Quote(word))
	}
}

// word is the next word, which may be quoted.
func (r *lineReader) word(what string) string {
	w := r.peek()
	switch {
	case w == "":
		r.fail(what)
	case w[0] == '"':
		return r.quoted()
	default:
		r.next()
	}
	return w
}

func (r *lineReader) quoted() string {
	r.peek()
	text, n, err := script.Unquote(r.rest)
	if err != nil {
		r.fail(err.Error())
	}
	r.rest = r.rest[n:]
	return text
}

// closed is cmd, after which nothing may follow.
func closed(r *lineReader, cmd any) any {
	r.end()
	return cmd
}

func (r *lineReader) end() {
	if r.peek() != "" {
		r.fail("nothing more")
	}
}

// upToColon is the next word without the colon at its end; more is true when
// there is none, so that something stands before the colon still.
func (r *lineReader) upToColon(what string) (word string, more bool) {
	word, found := strings.CutSuffix(r.word(what), ":")
	if word == "" {
		r.fail(what)
	}
	return word, !found
}

// colonWord is a word with the given beginning, without the colon that must
// stand at its end.
func (r *lineReader) colonWord(what, prefix string) string {
	w, found := strings.CutSuffix(r.peek(), ":")
	if !found || !strings.HasPrefix(w, prefix) {
		r.fail(what)
		return ""
	}
	r.next()
	return w
}

// cutText cuts off the free text behind the first colon that ends a word, and
// leaves what is before it to be read.
func (r *lineReader) cutText() string {
	head, text, ok := splitText(r.rest)
	if !ok {
		r.fail("a colon and a text")
		return ""
	}
	r.rest = head
	return text
}

// splitText splits at the first colon that ends a word and is in no quotes.
func splitText(s string) (head, text string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			_, n, err := script.Unquote(s[i:])
			if err != nil {
				return s, "", false
			}
			i += n - 1
		case s[i] == ':' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\t'):
			return s[:i], strings.TrimSpace(s[i+1:]), true
		}
	}
	return s, "", false
}

// stripComment cuts off a comment: a # that begins a word and is in no quotes.
func stripComment(s string) string {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			_, n, err := script.Unquote(s[i:])
			if err != nil {
				return s // whoever reads the text says what is wrong with it
			}
			i += n - 1
		case s[i] == '#' && i > 0 && (s[i-1] == ' ' || s[i-1] == '\t'):
			return s[:i]
		}
	}
	return s
}

func (r *lineReader) ref(text string) llm.Ref {
	ref, ok := llm.ParseRef(text)
	if !ok {
		r.fail(fmt.Sprintf("a model ref such as a/m1, not %q", text))
	}
	return ref
}

func (r *lineReader) profile() string { return r.profileName(r.word("a profile")) }

func (r *lineReader) profileName(id string) string {
	if provider, name, ok := strings.Cut(id, ":"); !ok || provider == "" || name == "" {
		r.fail(fmt.Sprintf("a profile such as a:p1, not %q", id))
	}
	return id
}

// place is the name of a thread, dm:NAME or channel:NAME.
func (r *lineReader) place() string {
	p := r.word("a place such as t1, dm:ann or channel:c1")
	if kind, name, ok := strings.Cut(p, ":"); ok && (name == "" || kind != "dm" && kind != "channel") {
		r.fail(fmt.Sprintf("a place such as t1, dm:ann or channel:c1, not %q", p))
	}
	return p
}

func (r *lineReader) number(least int) int {
	n, err := strconv.Atoi(r.peek())
	if err != nil || n < least {
		r.fail(fmt.Sprintf("a number from %d", least))
		return 0
	}
	r.next()
	return n
}

// duration reads a Go duration that may begin with days: 29.999s, 5h, 32d, 1d12h.
func (r *lineReader) duration() time.Duration {
	d, err := parseSpan(r.peek())
	if err != nil {
		r.fail("a duration such as 1.5s, 5h or 2d")
		return 0
	}
	r.next()
	return d
}

func parseSpan(s string) (time.Duration, error) {
	total := time.Duration(0)
	if i := strings.IndexByte(s, 'd'); i > 0 {
		days, err := strconv.Atoi(s[:i])
		if err != nil || days < 0 || days > 10_000 {
			return 0, fmt.Errorf("%q is no duration", s)
		}
		if total, s = time.Duration(days)*24*time.Hour, s[i+1:]; s == "" {
			return total, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || total+d < 0 {
		return 0, fmt.Errorf("%q is no duration", s)
	}
	return total + d, nil
}

// fields reads name=value pairs up to the end; there is at least one. A value
// may be quoted, as a whole.
func (r *lineReader) fields() []assignment {
	var fields []assignment
	for r.err == nil {
		w := r.peek()
		if w == "" {
			break
		}
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			r.fail("name=value")
			break
		}
		r.rest = r.rest[len(name)+1:]
		if strings.HasPrefix(value, `"`) {
			value = r.quoted()
		} else {
			r.rest = r.rest[len(value):]
		}
		fields = append(fields, assignment{name, value})
	}
	if len(fields) == 0 {
		r.fail("name=value")
	}
	return fields
}

// pattern is what a text is compared with: /a regular expression/, a text that
// ends with … and matches whatever follows, or the exact text. The exact text
// may be quoted, so that it can hold line breaks.
type pattern struct {
	source string
	re     *regexp.Regexp
	texts  []string // any of these
	prefix bool
}

func parsePattern(s string) (pattern, error) {
	p := pattern{source: s}
	if len(s) > 2 && s[0] == '/' && s[len(s)-1] == '/' {
		re, err := regexp.Compile(s[1 : len(s)-1])
		if err != nil {
			return p, fmt.Errorf("pattern %s: %w", s, err)
		}
		p.re = re
		return p, nil
	}
	p.texts = []string{s}
	if text, n, err := script.Unquote(s); err == nil && n == len(s) {
		p.texts = append(p.texts, text)
	}
	for i, text := range p.texts {
		if cut, ok := strings.CutSuffix(text, "…"); ok {
			p.texts[i], p.prefix = cut, true
		}
	}
	return p, nil
}

// match compares; white space around the text does not count, since a line of
// a script cannot hold it.
func (p pattern) match(text string) bool {
	if p.re != nil {
		return p.re.MatchString(text)
	}
	trimmed := strings.TrimSpace(text)
	for _, want := range p.texts {
		if text == want || trimmed == want || p.prefix && (strings.HasPrefix(text, want) || strings.HasPrefix(trimmed, want)) {
			return true
		}
	}
	return false
}

func (p pattern) String() string { return p.source }
