package llm

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	// veilPiece is how many bytes in a row of a credential give it away, in any
	// of its forms: what is cut off at either end, or shown in two halves, is
	// found by its pieces.
	veilPiece = 12
	// veilLeast is the length of the shortest credential that is looked for, in
	// bytes. A shorter one cannot be told from ordinary words.
	veilLeast = 6
)

// Veil hides credentials that are known by their value, in the forms in which
// they come back: as they are, escaped for URLs, JSON and Go, in hexadecimal,
// and inside base64, where what stands around them moves their letters. It is
// what [Mask] is not: it hides a credential that looks like any other word. Its
// methods are safe for concurrent use. The zero value hides nothing.
type Veil struct {
	mu     sync.RWMutex
	values map[string]bool // as they were given
	pieces map[string]bool // of veilPiece bytes each
	whole  []string        // forms that are shorter than that
	first  [256]bool       // how pieces begin
}

// NewVeil hides some values.
func NewVeil(values ...string) *Veil {
	v := &Veil{}
	v.Add(values...)
	return v
}

// Add hides more values from now on. Those of less than six bytes are passed
// over.
func (v *Veil) Add(values ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.pieces == nil {
		v.values, v.pieces = map[string]bool{}, map[string]bool{}
	}
	for _, value := range values {
		if len(value) < veilLeast || v.values[value] {
			continue
		}
		v.values[value] = true
		for _, form := range veilForms(value) {
			if len(form) < veilPiece {
				v.whole = append(v.whole, form)
				continue
			}
			for i := 0; i+veilPiece <= len(form); i++ {
				v.pieces[form[i:i+veilPiece]] = true
				v.first[form[i]] = true
			}
		}
	}
}

// knows reports whether adding values would change nothing.
func (v *Veil) knows(values []string) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return !slices.ContainsFunc(values, func(value string) bool { return len(value) >= veilLeast && !v.values[value] })
}

// veilForms are the ways in which a value is written.
func veilForms(value string) []string {
	quoted := strconv.Quote(value)
	doc, _ := json.Marshal(value) // a text always has a document
	forms := []string{
		value, url.QueryEscape(value), url.PathEscape(value), quoted[1 : len(quoted)-1], string(doc[1 : len(doc)-1]),
		hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
	// Three bytes become four letters. Of a value inside a longer text only the
	// letters that hold nothing but the value are always the same.
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := e.EncodeToString(append(make([]byte, before), value...))
			from, to := (before*8+5)/6, (before+len(value))*8/6
			if to-from >= veilLeast {
				forms = append(forms, text[from:to])
			}
		}
	}
	return forms
}

// Hide is s with every piece of a credential replaced.
func (v *Veil) Hide(s string) string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, form := range v.whole {
		s = hideWord(s, form)
	}
	if len(v.pieces) == 0 {
		return s
	}
	var b strings.Builder
	kept := 0 // s[:kept] is written
	for i := 0; i+veilPiece <= len(s); i++ {
		if !v.first[s[i]] || !v.pieces[s[i:i+veilPiece]] {
			continue
		}
		end := i + veilPiece
		for end < len(s) && v.pieces[s[end-veilPiece+1:end+1]] {
			end++
		}
		b.WriteString(s[kept:i])
		b.WriteString(masked)
		kept, i = end, end-1
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// hideWord replaces a short form where it stands as a word of its own.
func hideWord(s, form string) string {
	for from := 0; ; {
		i := strings.Index(s[from:], form)
		if i < 0 {
			return s
		}
		i += from
		end := i + len(form)
		if (i == 0 || !isWordByte(s[i-1])) && (end == len(s) || !isWordByte(s[end])) {
			s = s[:i] + masked + s[end:]
			end = i + len(masked)
		}
		from = end
	}
}

func isWordByte(c byte) bool { return isLetter(c) || isDigit(c) }
