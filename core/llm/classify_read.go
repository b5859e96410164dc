package llm

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// evidence is everything that a failing answer says about itself, before it is
// weighed.
type evidence struct {
	family family
	codes  map[string]Reason  // the vendorCodes of the family
	seen   uint64             // a bit for each signal
	why    [numSignals]string // the phrase or code that set it first

	vendor     Reason // of the code that decides alone
	vendorCode string
	best       string // the most telling code as written, for Error.Code
	codeRank   int
	status     int // the innermost HTTP status named inside the answer
	deep       int // how deep it was found
	finish     string

	texts            []string // the sentences, as written
	limit, requested float64  // of "Limit 6000, Requested 9000"
	longest          float64  // of "maximum length 40"
	page             bool     // an HTML page stands where an answer should
	challenge        bool     // and it wants to know whether we are human
	hints            []hint
	words            []word // of the text being read
}

// spare holds evidence to be used again: a failure storm classifies thousands of
// answers at once.
var spare = sync.Pool{New: func() any { return new(evidence) }}

func newEvidence(provider string) *evidence {
	ev := spare.Get().(*evidence)
	ev.family = familyOf(provider)
	ev.codes = vendorCodes[ev.family]
	return ev
}

// free forgets everything but the room for words, texts and hints. Large rooms
// are let go.
func (ev *evidence) free() {
	words, texts, hints := ev.words, ev.texts, ev.hints
	clear(texts)
	clear(hints)
	if cap(words) > 512 {
		words = nil
	}
	*ev = evidence{words: words[:0], texts: texts[:0], hints: hints[:0]}
	spare.Put(ev)
}

func (ev *evidence) has(s signal) bool { return ev.seen&(1<<s) != 0 }

func (ev *evidence) any(sigs ...signal) bool {
	asked := uint64(0)
	for _, s := range sigs {
		asked |= 1 << s
	}
	return ev.seen&asked != 0
}

func (ev *evidence) set(s signal, why string) {
	if !ev.has(s) {
		ev.seen |= 1 << s
		ev.why[s] = why
	}
}

// silent reports whether nothing was said that could be an error.
func (ev *evidence) silent() bool {
	return ev.seen == 0 && ev.vendor == "" && ev.status == 0 && len(ev.texts) == 0 && finishes[lower(ev.finish)] == "" && !ev.page
}

// The bounds of reading: how deep JSON, also JSON inside of strings, is
// followed, and how many sentences are kept.
const (
	maxDepth = 24
	maxTexts = 8
)

// read looks at a text that may be JSON, hold JSON or a Python literal, be an
// HTML page, or plain words. Only the fields of an error are looked at: what a
// model wrote, and what was sent to it, stays unread.
func (ev *evidence) read(s string, depth int) {
	s = strings.TrimSpace(s)
	if s == "" {
		return
	}
	if isPage(s) {
		ev.readPage(s)
		return
	}
	if depth >= maxDepth {
		return
	}
	start := 0
	for i := 0; i < len(s); {
		open := strings.IndexByte(s[i:], '{')
		if open < 0 {
			break
		}
		if i += open; !opensObject(s[i:]) {
			i++
			continue
		}
		ev.say(s[start:i], depth)
		i = ev.object(s, i+1, fieldInto, depth+1)
		start = i
	}
	if start < len(s) {
		ev.say(s[start:], depth)
	}
}

// say takes one piece of plain words.
func (ev *evidence) say(s string, depth int) {
	s = strings.TrimSpace(s)
	if len(s) < 3 {
		return
	}
	for _, t := range ev.texts {
		if t == s {
			return
		}
	}
	if len(ev.texts) < maxTexts {
		ev.texts = append(ev.texts, s)
	}
	if isCode(s) && looksLikeCode(s) {
		ev.code(s)
		return
	}
	words, chinese := ev.cut(s, depth)
	ev.match(words)
	if chinese {
		ev.matchChinese(s)
	}
}

// isCode reports whether a string is one word such as vendors use for codes.
func isCode(s string) bool {
	if len(s) < 4 || len(s) > 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !isLetter(s[i]) && !isDigit(s[i]) && s[i] != '_' && s[i] != '-' && s[i] != '.' {
			return false
		}
	}
	return true
}

// sawStatus keeps the innermost status: outer ones are those of gateways.
func (ev *evidence) sawStatus(n, depth int) {
	if ev.status == 0 || depth > ev.deep {
		ev.status, ev.deep = n, depth
	}
}

// code takes what stands in a field for codes. One that nobody knows is read as
// words.
func (ev *evidence) code(s string) {
	if s = strings.TrimSpace(s); len(s) <= 80 && !ev.knownCode(s) {
		ev.keepCode(s, 1)
		ev.match(wordsOfCode(s))
	}
}

// knownCode takes a vendor code, type or exception name that a table holds, and
// those that mean nothing.
func (ev *evidence) knownCode(s string) bool {
	c := normalCode(s)
	switch c {
	case "", "error", "none", "null":
		return true
	}
	if r, ok := ev.codes[c]; ok {
		if codeOrder[r] > codeOrder[ev.vendor] {
			ev.vendor, ev.vendorCode = r, c
		}
		ev.keepCode(s, 4)
		return true
	}
	sig, ok := vendorSignals[ev.family][c]
	if !ok {
		sig, ok = commonCodes[c]
	}
	if !ok {
		return false
	}
	ev.set(sig, c)
	if sig < sigServer {
		ev.keepCode(s, 3)
	} else {
		ev.keepCode(s, 2)
	}
	return true
}

func (ev *evidence) keepCode(s string, rank int) {
	if rank > ev.codeRank && strings.IndexByte(s, ' ') < 0 {
		ev.best, ev.codeRank = s, rank
	}
}

// number looks at a number in a sentence: words[len(words)-1], from start to
// end in s.
func (ev *evidence) number(s string, start, end int, words []word, depth int) {
	n := words[len(words)-1].text
	before := endOfSentence
	if len(words) > 1 {
		before = words[len(words)-2].hash
	}
	switch before {
	case hashLimit:
		ev.limit = amount(n)
	case hashRequested:
		ev.requested = amount(n)
	case hashLength:
		if len(words) > 2 && words[len(words)-3].hash == hashMaximum {
			ev.longest = amount(n)
		}
	}
	bracketed := start > 0 && end < len(s) && (s[start-1] == '[' && s[end] == ']' || s[start-1] == '(' && s[end] == ')')
	if bracketed && (len(n) == 4 || len(n) == 5) {
		if _, ok := ev.codes[n]; ok {
			ev.knownCode(n)
		}
	}
	status := statusOf(n)
	if status == 0 {
		return
	}
	behindVersion := len(words) > 2 && words[len(words)-3].hash == hashHTTP && len(words[len(words)-2].text) <= 3
	if len(words) == 1 || behindVersion || slices.Contains(beforeStatus, before) {
		ev.sawStatus(status, depth+1)
	}
}

var (
	hashLimit, hashRequested, hashHTTP = hashOf("limit"), hashOf("requested"), hashOf("http")
	hashLength, hashMaximum            = hashOf("length"), hashOf("maximum")
	// beforeStatus are the words that a status follows in a sentence.
	beforeStatus = []hash{hashHTTP, hashOf("status"), hashOf("code"), hashOf("error"), hashOf("statuscode"), hashOf("status_code")}
)

// statusOf is s as the status of a failure, 0 if it is none.
func statusOf(s string) int {
	if len(s) != 3 || s[0] != '4' && s[0] != '5' || !isDigit(s[1]) || !isDigit(s[2]) {
		return 0
	}
	return int(s[0]-'0')*100 + int(s[1]-'0')*10 + int(s[2]-'0')
}

func amount(s string) float64 {
	v, _ := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	return v
}
