package llm

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// evidence is everything that a failing answer says about itself, before it is
// weighed.
type evidence struct {
	family family
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
	for _, s := range sigs {
		if ev.has(s) {
			return true
		}
	}
	return false
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
	words, chinese := ev.cut(s, depth)
	ev.match(words)
	if chinese {
		ev.matchChinese(s)
	}
}

// field is what a key of an error object holds.
type field uint8

const (
	fieldSkip    field = iota // not about the failure, or not ours to read
	fieldInto                 // an object, array or text about the failure
	fieldObject               // an object about the failure; a plain text in it is something else
	fieldMessage              // words
	fieldCode                 // a code, type or status
	fieldFinish               // why the answer ended
	fieldChoices              // answers: only what they say of an error counts
	fieldHeaders              // headers of the failing answer
	fieldHint                 // when to try again
)

var fields = fieldsOf(map[field]string{
	fieldInto: `error errors detail details body cause exception fault upstreamresponse upstream innererror lasterror
		originalerror providererror response raw inner statusdetails violations errorinfo debuginfo`,
	fieldObject:  `data result metadata meta baseresp payload incompletedetails promptfeedback reasons`,
	fieldMessage: `message msg statusmsg errormessage errormsg errordescription description title faultstring errmsg reasonphrase localizedmessage`,
	fieldCode:    `code type reason status statuscode httpstatus httpcode httpstatuscode upstreamstatus rawstatuscode errorcode errortype errtype errcode errno __type name errorname statustext upstreamstatustext quotaid subtype providercode`,
	fieldFinish:  `finishreason nativefinishreason stopreason blockreason`,
	fieldChoices: `choices candidates`,
	fieldHeaders: `headers responseheaders`,
	fieldHint:    `resetsat resetat resetsinseconds resetinseconds retryafter retryafterseconds retryafterms retrydelay quotaresetdelay quotaresettimestamp`,
})

func fieldsOf(rows map[field]string) map[string]field {
	m := make(map[string]field, 128)
	for f, names := range rows {
		for n := range strings.FieldsSeq(names) {
			m[n] = f
		}
	}
	return m
}

// fieldOf knows a key however it is written: retryDelay, retry_delay,
// Retry-Delay.
func fieldOf(key string) field {
	var buf [32]byte
	n := 0
	for i := 0; i < len(key); i++ {
		c := key[i]
		if c == '_' && i > 1 || c == '-' {
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if n == len(buf) {
			return fieldSkip
		}
		buf[n] = c
		n++
	}
	if f, ok := fields[string(buf[:n])]; ok {
		return f
	}
	if strings.Contains(string(buf[:n]), "error") {
		return fieldInto
	}
	return fieldSkip
}

// readValue reads one JSON or Python value that begins at i and returns the place
// behind it. A text that is cut off ends the value.
func (ev *evidence) readValue(s string, i int, f field, key string, depth int) int {
	if i >= len(s) {
		return i
	}
	if f == fieldSkip || depth >= maxDepth {
		return skipValue(s, i)
	}
	switch c := s[i]; c {
	case '{':
		return ev.object(s, i+1, f, depth+1)
	case '[':
		for i = skipSpace(s, i+1); i < len(s) && s[i] != ']'; i = skipSpace(s, i) {
			next := ev.readValue(s, i, f, key, depth+1)
			if next == i {
				next++
			}
			i = next
		}
		return min(i+1, len(s))
	case '"', '\'':
		raw, escaped, end := quoted(s, i)
		if escaped && f != fieldChoices {
			raw = unescape(raw)
		}
		ev.text(raw, f, key, depth)
		return end
	}
	start := i
	for i < len(s) && strings.IndexByte(",}] \t\r\n", s[i]) < 0 {
		i++
	}
	ev.literal(s[start:i], f, key, depth)
	return i
}

// object reads the fields behind an opening brace.
func (ev *evidence) object(s string, i int, outer field, depth int) int {
	for i = skipSpace(s, i); i < len(s) && s[i] != '}'; i = skipSpace(s, i) {
		if s[i] != '"' && s[i] != '\'' {
			i++
			continue
		}
		key, _, end := quoted(s, i)
		i = skipSpace(s, end)
		if i >= len(s) || s[i] != ':' {
			continue
		}
		i = skipSpace(s, i+1)
		f := fieldOf(key)
		switch outer {
		case fieldHeaders:
			f = fieldHeaders
		case fieldChoices:
			if f != fieldFinish && key != "error" {
				f = fieldSkip
			}
		}
		i = ev.readValue(s, i, f, key, depth)
	}
	return min(i+1, len(s))
}

// text is a string found in field f.
func (ev *evidence) text(s string, f field, key string, depth int) {
	switch f {
	case fieldMessage:
		ev.read(s, depth+1)
	case fieldInto:
		if isCode(s) {
			ev.code(s, depth)
		}
		ev.read(s, depth+1)
	case fieldCode:
		if len(s) > 64 || strings.Count(s, " ") > 3 {
			ev.read(s, depth+1)
		} else if n := statusOf(s); n != 0 {
			ev.sawStatus(n, depth)
		} else {
			ev.code(s, depth)
		}
	case fieldFinish:
		ev.finish = s
	case fieldHeaders, fieldHint:
		ev.hint(key, s, f == fieldHeaders)
	}
}

// literal is a number or a word without quotes found in field f.
func (ev *evidence) literal(s string, f field, key string, depth int) {
	switch {
	case f == fieldHint || f == fieldHeaders:
		ev.hint(key, s, f == fieldHeaders)
	case f != fieldCode || s == "" || s[0] < '0' || s[0] > '9':
	default:
		ev.text(s, f, key, depth)
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

// code takes one vendor code, type or exception name.
func (ev *evidence) code(s string, depth int) {
	c := normalCode(strings.TrimSpace(s))
	if c == "" || c == "error" || c == "none" || c == "null" || len(c) > 80 {
		return
	}
	if r, ok := vendorCodes[ev.family][c]; ok {
		if codeOrder[r] > codeOrder[ev.vendor] {
			ev.vendor, ev.vendorCode = r, c
		}
		ev.keepCode(s, 4)
		return
	}
	sig, ok := vendorSignals[ev.family][c]
	if !ok {
		sig, ok = commonCodes[c]
	}
	if ok {
		ev.set(sig, c)
		rank := 3
		if sig >= sigServer {
			rank = 2
		}
		ev.keepCode(s, rank)
		return
	}
	ev.keepCode(s, 1)
	ev.match(wordsOfCode(s))
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
	}
	bracketed := start > 0 && end < len(s) && (s[start-1] == '[' && s[end] == ']' || s[start-1] == '(' && s[end] == ')')
	if bracketed && (len(n) == 4 || len(n) == 5) {
		if _, ok := vendorCodes[ev.family][n]; ok {
			ev.code(n, depth)
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

// opensObject reports whether s begins an object with a key, and not just a
// brace in a sentence.
func opensObject(s string) bool {
	i := skipSpace(s, 1)
	if i >= len(s) || s[i] != '"' && s[i] != '\'' {
		return i < len(s) && s[i] == '}'
	}
	end := strings.IndexByte(s[i+1:min(len(s), i+82)], s[i])
	if end < 0 {
		return false
	}
	i = skipSpace(s, i+1+end+1)
	return i < len(s) && s[i] == ':'
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] <= ' ' || s[i] == ',') {
		i++
	}
	return i
}

// quoted is the string whose opening quotation mark stands at i, without the
// marks; escaped tells whether it holds a backslash.
func quoted(s string, i int) (raw string, escaped bool, end int) {
	mark := s[i]
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case mark:
			return s[i+1 : j], escaped, j + 1
		case '\\':
			escaped = true
			j++
		}
	}
	return s[i+1:], escaped, len(s)
}

// skipValue is the place behind the value at i, unread.
func skipValue(s string, i int) int {
	open := 0
	for i < len(s) {
		switch s[i] {
		case '"', '\'':
			_, _, i = quoted(s, i)
			if open == 0 {
				return i
			}
			continue
		case '{', '[':
			open++
		case '}', ']':
			if open == 0 {
				return i
			}
			if open--; open == 0 {
				return i + 1
			}
		case ',':
			if open == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// unescape resolves the escapes of JSON and Python strings.
func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n', 'r':
			b = append(b, '\n')
		case 't':
			b = append(b, ' ')
		case 'b', 'f':
		case 'u':
			r, n := escapedRune(s[i+1:])
			i += n
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, s[i])
		}
	}
	return string(b)
}

// escapedRune reads four hexadecimal digits, and the other half of a surrogate
// pair.
func escapedRune(s string) (r rune, n int) {
	if len(s) < 4 {
		return utf8.RuneError, 0
	}
	v, err := strconv.ParseUint(s[:4], 16, 16)
	if err != nil {
		return utf8.RuneError, 0
	}
	if v < 0xd800 || v > 0xdbff {
		return rune(v), 4
	}
	if len(s) >= 10 && s[4] == '\\' && s[5] == 'u' {
		if w, err := strconv.ParseUint(s[6:10], 16, 16); err == nil && 0xdc00 <= w && w <= 0xdfff {
			return rune(0x10000 + (v-0xd800)<<10 + (w - 0xdc00)), 10
		}
	}
	return utf8.RuneError, 4
}
