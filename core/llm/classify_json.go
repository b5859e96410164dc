package llm

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Reading JSON, Python literals and what is left of them when a gateway cut them
// off. Nothing is ever invalid: what cannot be read is passed over.

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
	fieldCode:    `code type reason status statuscode httpstatus httpcode httpstatuscode upstreamstatus rawstatuscode originalstatuscode errorcode errortype errtype errcode errno __type name errorname statustext upstreamstatustext quotaid subtype providercode`,
	fieldFinish:  `finishreason nativefinishreason stopreason blockreason`,
	fieldChoices: `choices candidates`,
	fieldHeaders: `headers responseheaders`,
	fieldHint: `resetsat resetat resetsinseconds resetinseconds retryafter retryafterseconds retryafterms retrydelay quotaresetdelay quotaresettimestamp
		retryin retryinseconds retryat resettime resetafter resetafterseconds waitseconds estimatedtime`,
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

// fieldLengths has a bit for the length of each of the fields that begin with a
// byte. What stands beside the failure is passed by without a look into the map.
var fieldLengths = func() (t [256]uint64) {
	for name := range fields {
		t[name[0]] |= 1 << len(name)
	}
	return
}()

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
	if n > 0 && fieldLengths[buf[0]]&(1<<n) != 0 {
		if f, ok := fields[string(buf[:n])]; ok {
			return f
		}
	}
	if strings.Contains(string(buf[:n]), "error") || strings.HasSuffix(string(buf[:n]), "exception") {
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
		case fieldHint:
			i = ev.delayPart(s, i, key)
			continue
		case fieldChoices:
			if f != fieldFinish && key != "error" {
				f = fieldSkip
			}
		}
		if f == fieldInto && i < len(s) && s[i] == '{' {
			_ = ev.knownCode(key) // {"throttlingException": {…}}
		}
		i = ev.readValue(s, i, f, key, depth)
	}
	return min(i+1, len(s))
}

// delayPart reads one member of a delay that is an object of seconds and
// nanoseconds, as protobuf's durations are in some clients.
func (ev *evidence) delayPart(s string, i int, key string) int {
	end := skipValue(s, i)
	value := strings.Trim(s[i:end], "\"' \t\r\n}")
	switch key {
	case "seconds":
		ev.hint("retryDelay", value, false)
	case "nanos":
		if n := len(ev.hints) - 1; n >= 0 && ev.hints[n].name == "retrydelay" && len(value) <= 9 {
			ev.hints[n].value += "." + strings.Repeat("0", 9-len(value)) + value
		}
	}
	return end
}

// text is a string found in field f.
func (ev *evidence) text(s string, f field, key string, depth int) {
	switch f {
	case fieldMessage:
		ev.read(s, depth+1)
	case fieldInto:
		if isCode(s) {
			ev.code(s)
		}
		ev.read(s, depth+1)
	case fieldCode:
		if len(s) > 64 || strings.Count(s, " ") > 3 {
			ev.read(s, depth+1)
		} else if n := statusOf(s); n != 0 {
			ev.sawStatus(n, depth)
		} else {
			ev.code(s)
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
