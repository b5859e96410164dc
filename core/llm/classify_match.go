package llm

import (
	"strings"
	"sync"
)

// Matching words. A text is cut into lower-case words once; each word is looked
// up among the first words of all phrases, and the few phrases that begin with
// it are compared. The cost is linear in the text, whatever it holds, and words
// have edges: "limit" is not found in "unlimited".

// phrase is one row of the word table, compiled.
type phrase struct {
	text string // as written, for Evidence
	sig  signal
	only family // "" for every provider
	rest []step
}

// step is one word of a phrase after the first.
type step struct {
	words []string // alternatives; "#" is any number
	gap   int      // other words that may stand before it
	start bool     // the word only has to begin like this
}

// endOfSentence stands between the words of two sentences. No phrase reaches
// across it.
const endOfSentence = ""

type phraseIndex struct {
	first map[string][]*phrase
	// shape has a bit for each length that a first word with this first byte
	// has; it spares most look-ups.
	shape [256]uint32
}

var phrases = sync.OnceValue(func() *phraseIndex {
	x := &phraseIndex{first: make(map[string][]*phrase, 512)}
	for _, row := range wordTable {
		for line := range strings.Lines(row.phrases) {
			if line = strings.TrimSpace(line); line != "" {
				x.add(line, row.sig, row.only)
			}
		}
	}
	return x
})

// add compiles one line: words with "|" between alternatives, a "*" at the end
// of a word for any ending, ".." for up to two and "..." for up to six words
// between.
func (x *phraseIndex) add(line string, sig signal, only family) {
	p := &phrase{text: line, sig: sig, only: only}
	fields := strings.Fields(line)
	gap := 0
	for _, f := range fields[1:] {
		switch f {
		case "..":
			gap = 2
		case "...":
			gap = 6
		default:
			word, start := strings.CutSuffix(f, "*")
			p.rest = append(p.rest, step{strings.Split(word, "|"), gap, start})
			gap = 0
		}
	}
	for first := range strings.SplitSeq(fields[0], "|") {
		x.first[first] = append(x.first[first], p)
		x.shape[first[0]] |= 1 << min(len(first), 31)
	}
}

// at are the phrases that begin with word.
func (x *phraseIndex) at(word string) []*phrase {
	if word == "" || x.shape[word[0]]&(1<<min(len(word), 31)) == 0 {
		return nil
	}
	return x.first[word]
}

// matches reports whether the phrase, whose first word was found, goes on in
// words.
func (p *phrase) matches(words []string) bool {
	for i := range p.rest {
		st := &p.rest[i]
		found := false
		for skipped := 0; skipped <= st.gap && skipped < len(words); skipped++ {
			w := words[skipped]
			if w == endOfSentence {
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

func (st *step) accepts(w string) bool {
	for _, want := range st.words {
		switch {
		case w == want, st.start && strings.HasPrefix(w, want):
			return true
		case want == "#" && w[0] >= '0' && w[0] <= '9':
			return true
		}
	}
	return false
}

// match sets the signals of all phrases in words. An advertisement ends the
// sentence that it stands in: what it says is no statement about the failure.
func (ev *evidence) match(words []string) {
	x := phrases()
	for i := 0; i < len(words); i++ {
	next:
		for _, p := range x.at(words[i]) {
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
			for i+1 < len(words) && words[i+1] != endOfSentence {
				i++
			}
			break next
		}
	}
}

// lower is s with ASCII letters in lower case; every byte keeps its place.
func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if c := b[i]; 'A' <= c && c <= 'Z' {
					b[i] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// The classes of bytes in a text.
const (
	charLetter = 1 << iota
	charDigit
	charEnd   // ends a sentence when white space follows
	charQuote // opens and closes a quotation
)

var charClass = func() (t [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] = charLetter
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = charDigit
	}
	t['_'] = charLetter
	for _, c := range ".!?;" {
		t[c] = charEnd
	}
	for _, c := range "\"'`" {
		t[c] = charQuote
	}
	return
}()

// maxWords bounds what is looked at of one text.
const maxWords = 4096

// words cuts a lower-case text into words and sentences. URLs are left out, and
// so are quotations of what the user or the program had sent.
func (ev *evidence) words(s string, depth int) []string {
	out := make([]string, 0, min(len(s)/4+8, maxWords))
	for i := 0; i < len(s) && len(out) < maxWords; {
		class := charClass[s[i]]
		switch {
		case class&(charLetter|charDigit) != 0:
			start := i
			i = wordEnd(s, i)
			w := s[start:i]
			if strings.HasPrefix(s[i:], "://") {
				i = urlEnd(s, i)
				continue
			}
			out = append(out, w)
			if class == charDigit {
				ev.number(s, start, i, out, depth)
			} else if looksLikeCode(w) {
				ev.code(w, depth)
			}
		case s[i] == '\n', class == charEnd && (i+1 == len(s) || s[i+1] <= ' ' || s[i] == ';'):
			out = append(out, endOfSentence)
			i++
		case class == charQuote && opensQuote(s, i) && len(out) > 0 && quotesInput(out[len(out)-1]):
			i = quoteEnd(s, i)
		default:
			i++
		}
	}
	return out
}

// wordEnd is the end of the word that begins at i. A number keeps its decimal
// point and its thousands separators.
func wordEnd(s string, i int) int {
	for i < len(s) {
		c := s[i]
		if charClass[c]&(charLetter|charDigit) != 0 {
			i++
			continue
		}
		if (c == '.' || c == ',') && i > 0 && i+1 < len(s) && charClass[s[i-1]] == charDigit && charClass[s[i+1]] == charDigit {
			i++
			continue
		}
		break
	}
	return i
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
	switch word {
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
	return strings.IndexByte(w, '_') > 0 || strings.HasSuffix(w, "error") || strings.HasSuffix(w, "exception")
}
