package llm

import (
	"strings"
	"sync"
)

// Matching words. A text is cut into words once, each as a hash of its letters
// in lower case; the hash is looked up among the first words of all phrases, and
// the few phrases that begin with it are compared. The cost is linear in the
// text, whatever it holds, and words have edges: "limit" is not found in
// "unlimited".

// phrase is one row of the word table, compiled.
type phrase struct {
	text string // as written, for Evidence
	sig  signal
	only family // "" for every provider
	rest []step
}

// step is one word of a phrase after the first.
type step struct {
	words  []hash // alternatives
	starts string // or what the word only has to begin with
	number bool   // or it is any number
	gap    int    // other words that may stand before it
}

// hash is FNV-1a over a word in lower case; endOfSentence stands between the
// words of two sentences, and no phrase reaches across it.
type hash uint64

const (
	endOfSentence hash = 0
	hashStart     hash = 14695981039346656037
	hashPrime     hash = 1099511628211
)

func hashOf(word string) hash {
	h := hashStart
	for i := 0; i < len(word); i++ {
		h = (h ^ hash(smallLetter[word[i]])) * hashPrime
	}
	return h
}

// word is one word of a text.
type word struct {
	hash hash
	text string // as written
}

type phraseIndex map[hash][]*phrase

var phrases = sync.OnceValue(func() phraseIndex {
	x := make(phraseIndex, 1024)
	for _, row := range wordTable {
		for line := range strings.Lines(row.phrases) {
			if line = strings.TrimSpace(line); line != "" {
				x.add(line, row.sig, row.only)
			}
		}
	}
	return x
})

// add compiles one line: words with "|" between alternatives, "#" for any
// number, a "*" at the end of a word for any ending, ".." for up to two and
// "..." for up to six words between.
func (x phraseIndex) add(line string, sig signal, only family) {
	p := &phrase{text: line, sig: sig, only: only}
	fields := strings.Fields(line)
	gap := 0
	for _, f := range fields[1:] {
		st := step{gap: gap}
		gap = 0
		switch start, open := strings.CutSuffix(f, "*"); {
		case f == "..":
			gap = 2
			continue
		case f == "...":
			gap = 6
			continue
		case f == "#":
			st.number = true
		case open:
			st.starts = start
		default:
			for alternative := range strings.SplitSeq(f, "|") {
				st.words = append(st.words, hashOf(alternative))
			}
		}
		p.rest = append(p.rest, st)
	}
	for first := range strings.SplitSeq(fields[0], "|") {
		x[hashOf(first)] = append(x[hashOf(first)], p)
	}
}

// matches reports whether the phrase, whose first word was found, goes on in
// words.
func (p *phrase) matches(words []word) bool {
	for i := range p.rest {
		st := &p.rest[i]
		found := false
		for skipped := 0; skipped <= st.gap && skipped < len(words); skipped++ {
			w := &words[skipped]
			if w.hash == endOfSentence {
				break
			}
			if st.accepts(w) {
				words, found = words[skipped+1:], true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func (st *step) accepts(w *word) bool {
	for _, h := range st.words {
		if w.hash == h {
			return true
		}
	}
	switch {
	case st.number:
		return isDigit(w.text[0])
	case st.starts != "":
		return len(w.text) >= len(st.starts) && strings.EqualFold(w.text[:len(st.starts)], st.starts)
	}
	return false
}

// match sets the signals of all phrases in words. An advertisement ends the
// sentence that it stands in: what it says is no statement about the failure.
func (ev *evidence) match(words []word) {
	x := phrases()
	for i := 0; i < len(words); i++ {
	next:
		for _, p := range x[words[i].hash] {
			if p.only != "" && p.only != ev.family || p.sig != sigAdvert && ev.has(p.sig) {
				continue
			}
			if !p.matches(words[i+1:]) {
				continue
			}
			if p.sig != sigAdvert {
				ev.set(p.sig, p.text)
				continue
			}
			for i+1 < len(words) && words[i+1].hash != endOfSentence {
				i++
			}
			break next
		}
	}
}

// The classes of bytes in a text.
const (
	charLetter = 1 << iota
	charDigit
	charEnd    // ends a sentence when white space follows
	charQuote  // opens and closes a quotation
	charSecret // can be part of a credential
)

var charClass, smallLetter = func() (class, small [256]uint8) {
	for c := range 256 {
		small[c] = uint8(c)
	}
	for c := 'a'; c <= 'z'; c++ {
		class[c], class[c-'a'+'A'] = charLetter|charSecret, charLetter|charSecret
		small[c-'a'+'A'] = uint8(c)
	}
	for c := '0'; c <= '9'; c++ {
		class[c] = charDigit | charSecret
	}
	for _, c := range "-.*+/~" {
		class[c] = charSecret
	}
	class['_'] = charLetter | charSecret
	for _, c := range ".!?;" {
		class[c] |= charEnd
	}
	for _, c := range "\"'`" {
		class[c] = charQuote
	}
	return
}()

func isLetter(c byte) bool { return charClass[c]&charLetter != 0 }
func isDigit(c byte) bool  { return charClass[c]&charDigit != 0 }

// lower is s with ASCII letters in lower case; every byte keeps its place.
func lower(s string) string {
	i := 0
	for i < len(s) && (s[i] < 'A' || s[i] > 'Z') {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:i])
	for ; i < len(s); i++ {
		b.WriteByte(smallLetter[s[i]])
	}
	return b.String()
}

// maxWords bounds what is looked at of one text.
const maxWords = 4096

// cut takes a text apart into words and sentences, and notes the codes, numbers
// and finish reasons that it passes. URLs are left out, and so are quotations of
// what the user or the program had sent. chinese tells that there may be words
// without spaces between them.
func (ev *evidence) cut(s string, depth int) (words []word, chinese bool) {
	out := ev.words[:0]
	if need := min(len(s)/5+8, maxWords); cap(out) < need {
		out = make([]word, 0, need)
	}
	for i := 0; i < len(s) && len(out) < maxWords; {
		class := charClass[s[i]]
		switch {
		case class&(charLetter|charDigit) != 0:
			start := i
			var h hash
			h, i = nextWord(s, i)
			w := s[start:i]
			if i < len(s) && s[i] == ':' && strings.HasPrefix(s[i:], "://") {
				i = urlEnd(s, i)
				continue
			}
			out = append(out, word{h, w})
			switch {
			case class&charDigit != 0:
				ev.number(s, start, i, out, depth)
			case looksLikeCode(w):
				ev.knownCode(w)
			}
			if i < len(s) && (s[i] == ':' || s[i] == '=') {
				ev.finishBehind(w, s[i+1:])
			}
		case s[i] == '\n', class&charEnd != 0 && (i+1 == len(s) || s[i+1] <= ' ' || s[i] == ';'):
			out = append(out, word{})
			i++
		case class == charQuote && opensQuote(s, i) && len(out) > 0 && quotesInput(out[len(out)-1].text):
			i = quoteEnd(s, i)
		default:
			chinese = chinese || s[i] >= firstChinese
			i++
		}
	}
	ev.words = out
	return out, chinese
}

// nextWord is the hash and the end of the word that begins at i. A number keeps
// its decimal point and its thousands separators.
func nextWord(s string, i int) (hash, int) {
	h := hashStart
	for i < len(s) {
		c := s[i]
		if charClass[c]&(charLetter|charDigit) == 0 {
			if c != '.' && c != ',' || i == 0 || i+1 == len(s) || !isDigit(s[i-1]) || !isDigit(s[i+1]) {
				break
			}
		}
		h = (h ^ hash(smallLetter[c])) * hashPrime
		i++
	}
	return h, i
}

func urlEnd(s string, i int) int {
	if end := strings.IndexAny(s[i:], " \t\n\"'`<>)|"); end >= 0 {
		return i + end
	}
	return len(s)
}

// opensQuote reports whether the quotation mark at i does not close one.
func opensQuote(s string, i int) bool {
	return i > 0 && charClass[s[i-1]]&(charLetter|charDigit) == 0
}

// quotesInput reports whether what is quoted after this word is an echo of the
// request.
func quotesInput(word string) bool {
	switch lower(word) {
	case "value", "input", "input_value", "prompt", "content", "got", "received", "query", "argument", "arguments":
		return true
	}
	return false
}

// quoteEnd is the place behind the quotation that begins at i.
func quoteEnd(s string, i int) int {
	if end := strings.IndexByte(s[i+1:], s[i]); end >= 0 {
		return i + 1 + end + 1
	}
	return len(s)
}

// looksLikeCode reports whether a word in a sentence is written as vendors
// write codes and exception names.
func looksLikeCode(w string) bool {
	if len(w) < 8 {
		return false
	}
	switch w[len(w)-1] {
	case 'r', 'R':
		return strings.EqualFold(w[len(w)-5:], "error") || strings.IndexByte(w, '_') > 0
	case 'n', 'N':
		return len(w) > 9 && strings.EqualFold(w[len(w)-9:], "exception") || strings.IndexByte(w, '_') > 0
	}
	return strings.IndexByte(w, '_') > 0
}
