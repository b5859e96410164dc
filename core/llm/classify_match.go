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

// phraseIndex finds the phrases that begin with a word.
type phraseIndex struct {
	byFirst map[hash][]*phrase
	// may is set for the last bits of the hashes in byFirst: most words of a text
	// begin no phrase, and are passed by without a look into the map.
	may [1 << 12]bool
}

func (x *phraseIndex) from(h hash) []*phrase {
	if !x.may[h%hash(len(x.may))] {
		return nil
	}
	return x.byFirst[h]
}

var phrases = sync.OnceValue(func() *phraseIndex {
	x := &phraseIndex{byFirst: make(map[hash][]*phrase, 1024)}
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
func (x *phraseIndex) add(line string, sig signal, only family) {
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
		h := hashOf(first)
		x.byFirst[h] = append(x.byFirst[h], p)
		x.may[h%hash(len(x.may))] = true
	}
}

// matches reports whether the phrase, whose first word was found, goes on in
// words.
func (p *phrase) matches(words []word) bool {
	for i := range p.rest {
		n := p.rest[i].find(words)
		if n < 0 {
			return false
		}
		words = words[n+1:]
	}
	return true
}

// find is the place of the first of words that is this word of a phrase, or -1
// if none in reach is.
func (st *step) find(words []word) int {
	for n := range words[:min(len(words), st.gap+1)] {
		w := &words[n]
		if w.hash == endOfSentence {
			break
		}
		for _, h := range st.words {
			if w.hash == h {
				return n
			}
		}
		if st.words == nil && st.accepts(w.text) {
			return n
		}
	}
	return -1
}

// accepts is for what a phrase does not name in full.
func (st *step) accepts(word string) bool {
	if st.number {
		return isDigit(word[0])
	}
	return beginsWith(word, st.starts)
}

// match sets the signals of all phrases in words. An advertisement ends the
// sentence that it stands in: what it says is no statement about the failure.
func (ev *evidence) match(words []word) {
	x := phrases()
	for i := 0; i < len(words); i++ {
	next:
		for _, p := range x.from(words[i].hash) {
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
	charURLEnd
	charValueEnd // ends what is set to a name
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
	for _, c := range " \t\n\"'`<>)|" {
		class[c] |= charURLEnd
	}
	for _, c := range " \t\r\n\"'&,;)}]<>" {
		class[c] |= charValueEnd
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
	for i < len(s) {
		var piece [64]byte
		n := copy(piece[:], s[i:])
		for j := range piece[:n] {
			piece[j] = smallLetter[piece[j]]
		}
		b.Write(piece[:n])
		i += n
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
		case class&charQuote != 0 && opensQuote(s, i) && len(out) > 0 && quotesInput(out[len(out)-1].text):
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
	for {
		for i < len(s) && charClass[s[i]]&(charLetter|charDigit) != 0 {
			h = (h ^ hash(smallLetter[s[i]])) * hashPrime
			i++
		}
		if i+1 >= len(s) || s[i] != '.' && s[i] != ',' || i == 0 || !isDigit(s[i-1]) || !isDigit(s[i+1]) {
			return h, i
		}
		h = (h ^ hash(s[i])) * hashPrime
		i++
	}
}

func urlEnd(s string, i int) int {
	for i < len(s) && charClass[s[i]]&charURLEnd == 0 {
		i++
	}
	return i
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
