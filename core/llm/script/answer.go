package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"understudy/core/llm"
)

// Answer is what a model does with one request. The zero value comes back
// empty.
type Answer struct {
	source string
	steps  []step // the last one is the only one that ends an answer
}

// String is the text the answer was read from.
func (a Answer) String() string { return a.source }

// step is one thing that happens on the wire.
type step struct {
	kind   stepKind
	wait   time.Duration
	text   string // a chunk, a finish reason, or the words of an error
	call   llm.Call
	status int
	header http.Header
	body   []byte // of an error, when it was written out
}

type stepKind int

const (
	stepWait stepKind = iota
	stepOpen          // the stream begins: status 200 and its headers
	stepText
	stepCall
	// What follows ends the answer.
	stepDone
	stepStatus
	stepFinish
	stepHang
	stepReset
	stepEmpty
)

// maxWait bounds "pause" and "slow"; longer ones are typing errors.
const maxWait = 1000 * time.Hour

// Text answers with a text, in one piece.
func Text(s string) Answer {
	return Answer{
		source: "text " + strconv.Quote(s),
		steps:  []step{{kind: stepOpen}, {kind: stepText, text: s}, {kind: stepDone}},
	}
}

// ParseError says where an answer stops making sense.
type ParseError struct {
	Text   string // the answer as it was given
	Column int    // in bytes, counted from 1
	Want   string // what may stand there
}

func (e *ParseError) Error() string {
	rest := e.Text[min(e.Column-1, len(e.Text)):]
	if rest == "" {
		return fmt.Sprintf("answer %q ends too early: want %s", e.Text, e.Want)
	}
	return fmt.Sprintf("answer %q, column %d, at %q: want %s", e.Text, e.Column, cut(rest, 20), e.Want)
}

// cut keeps at most n bytes of s, whole characters only.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// ParseAnswer reads one answer:
//
//	text "hello"                    answers
//	stream "par" pause 3s "tial"    answers in pieces; "then" and any answer
//	                                may follow, which for a status is an
//	                                error inside the stream
//	529 "overloaded_error"          fails; the words go into an error body of
//	                                the vendor's shape
//	429 retry-after=120 {"error":…} fails with these headers and this body
//	tool echo {"x":1}               calls a tool; several may follow each other
//	finish abort                    ends with this finish reason
//	hang · reset · empty            never answers, loses the connection, comes
//	                                back with nothing
//	slow 45s text "hi"              waits before any of these
//
// Texts are quoted as in Go or JSON. A quoted error that begins with <, { or [
// is sent as it is. Errors are of type *[ParseError].
func ParseAnswer(text string) (Answer, error) {
	p := &parser{text: text}
	if err := p.answer(); err != nil {
		return Answer{}, err
	}
	if p.skip(); p.pos < len(p.text) {
		return Answer{}, p.fail("nothing more")
	}
	return Answer{source: strings.TrimSpace(text), steps: p.steps}, nil
}

type parser struct {
	text  string
	pos   int
	steps []step
}

func (p *parser) fail(want string) error {
	return &ParseError{Text: p.text, Column: p.pos + 1, Want: want}
}

func (p *parser) skip() {
	for p.pos < len(p.text) && (p.text[p.pos] == ' ' || p.text[p.pos] == '\t') {
		p.pos++
	}
}

// peek is the next word, up to white space.
func (p *parser) peek() string {
	p.skip()
	rest := p.text[p.pos:]
	if i := strings.IndexAny(rest, " \t"); i >= 0 {
		return rest[:i]
	}
	return rest
}

func (p *parser) word() string {
	w := p.peek()
	p.pos += len(w)
	return w
}

func (p *parser) add(s step) { p.steps = append(p.steps, s) }

const wantAnswer = `text, stream, tool, hang, reset, empty, finish, slow or a status such as 529`

// answer reads one answer with all that follows it. "slow" and "then" are
// prefixes of another answer, so they loop.
func (p *parser) answer() error {
	for {
		p.skip()
		at := p.pos
		switch w := p.word(); w {
		case "slow":
			d, err := p.duration()
			if err != nil {
				return err
			}
			p.add(step{kind: stepWait, wait: d})
			continue
		case "stream":
			more, err := p.stream()
			if err != nil {
				return err
			}
			if more {
				continue
			}
			p.add(step{kind: stepDone})
		case "text":
			s, err := p.quoted()
			if err != nil {
				return err
			}
			p.add(step{kind: stepOpen})
			p.add(step{kind: stepText, text: s})
			p.add(step{kind: stepDone})
		case "tool":
			p.pos = at
			return p.tools()
		case "finish":
			reason := p.word()
			if reason == "" {
				return p.fail("a finish reason such as abort")
			}
			p.add(step{kind: stepFinish, text: reason})
		case "hang":
			p.add(step{kind: stepHang})
		case "reset":
			p.add(step{kind: stepReset})
		case "empty":
			p.add(step{kind: stepEmpty})
		default:
			n, err := strconv.Atoi(w)
			if err != nil || len(w) != 3 || n < 100 {
				p.pos = at
				return p.fail(wantAnswer)
			}
			return p.status(n)
		}
		return nil
	}
}

// stream reads chunks and pauses; more is true when "then" follows them.
func (p *parser) stream() (more bool, err error) {
	p.add(step{kind: stepOpen})
	for {
		switch w := p.peek(); {
		case w == "":
			return false, nil
		case w == "then":
			p.word()
			return true, nil
		case w == "pause":
			p.word()
			d, err := p.duration()
			if err != nil {
				return false, err
			}
			p.add(step{kind: stepWait, wait: d})
		case w[0] == '"':
			s, err := p.quoted()
			if err != nil {
				return false, err
			}
			p.add(step{kind: stepText, text: s})
		default:
			return false, p.fail(`a quoted chunk, "pause" or "then"`)
		}
	}
}

func (p *parser) tools() error {
	p.add(step{kind: stepOpen})
	for p.peek() == "tool" {
		p.word()
		c := llm.Call{Name: p.word(), Args: json.RawMessage("{}")}
		if c.Name == "" || c.Name[0] == '{' {
			return p.fail("the name of a tool")
		}
		if strings.HasPrefix(p.peek(), "{") {
			args, err := p.json()
			if err != nil {
				return err
			}
			c.Args = args
		}
		p.add(step{kind: stepCall, call: c})
	}
	p.add(step{kind: stepDone})
	return nil
}

// status reads header=value pairs and then a body, all of which may be left
// out.
func (p *parser) status(n int) error {
	s := step{kind: stepStatus, status: n}
	for {
		w := p.peek()
		name, _, found := strings.Cut(w, "=")
		if !found || !isToken(name) {
			break
		}
		p.pos += len(name) + 1
		value := ""
		if strings.HasPrefix(p.text[p.pos:], `"`) {
			v, err := p.quoted()
			if err != nil {
				return err
			}
			value = v
		} else if p.pos < len(p.text) && p.text[p.pos] != ' ' {
			value = p.word()
		}
		if s.header == nil {
			s.header = make(http.Header)
		}
		s.header.Add(name, value)
	}
	if err := p.errorBody(&s); err != nil {
		return err
	}
	p.add(s)
	return nil
}

func (p *parser) errorBody(s *step) error {
	w := p.peek()
	switch {
	case w == "":
	case w[0] == '{' || w[0] == '[':
		body, err := p.json()
		if err != nil {
			return err
		}
		s.body = body
	case w[0] == '"':
		words, err := p.quoted()
		if err != nil {
			return err
		}
		if words != "" && strings.ContainsRune("<{[", rune(words[0])) {
			s.body = []byte(words)
		} else {
			s.text = words
		}
	case isToken(w):
		s.text = p.word() // a bare code, as in: 400 invalid_grant
	default:
		return p.fail("header=value, a JSON body or a quoted text")
	}
	return nil
}

// isToken reports whether s can be the name of a header.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_')
	})
}

func (p *parser) duration() (time.Duration, error) {
	p.skip()
	at := p.pos
	d, err := time.ParseDuration(p.word())
	if err != nil || d < 0 || d > maxWait {
		p.pos = at
		return 0, p.fail("a duration such as 1.5s or 3m")
	}
	return d, nil
}

func (p *parser) quoted() (string, error) {
	p.skip()
	s, n, err := Unquote(p.text[p.pos:])
	if err != nil {
		return "", p.fail(err.Error())
	}
	p.pos += n
	return s, nil
}

func (p *parser) json() (json.RawMessage, error) {
	dec := json.NewDecoder(strings.NewReader(p.text[p.pos:]))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			p.pos += max(0, min(int(syntax.Offset), len(p.text)-p.pos)-1)
		} else {
			p.pos = len(p.text)
		}
		return nil, p.fail("valid JSON")
	}
	p.pos += int(dec.InputOffset())
	return bytes.Clone(raw), nil
}

// Unquote reads the quoted text at the beginning of s, written as in Go or as
// in JSON. n is how many bytes of s it takes, quotes included.
func Unquote(s string) (text string, n int, err error) {
	if s == "" || s[0] != '"' {
		return "", 0, errors.New("a quoted text")
	}
	for n = 1; n < len(s) && s[n] != '"'; n++ {
		if s[n] == '\\' {
			n++
		}
	}
	if n >= len(s) {
		return "", 0, errors.New("a closing quote")
	}
	n++
	if text, err = strconv.Unquote(s[:n]); err != nil {
		err = json.Unmarshal([]byte(s[:n]), &text)
	}
	if err != nil {
		return "", 0, errors.New(`a quoted text with escapes such as \" or \n`)
	}
	return text, n, nil
}
