package core

import (
	"strings"
	"unicode"
)

// Blank reports whether people see nothing of a text: it is empty, or of white
// space and of characters without a shape, as keyboards and copying leave them
// behind.
func Blank(text string) bool { return Trim(text) == "" }

// Trim is text without what nobody sees at its ends.
func Trim(text string) string { return strings.TrimFunc(text, unseen) }

// unseen reports whether a character has no shape: white space, marks of
// direction and of width, and the fillers of some scripts.
func unseen(r rune) bool {
	switch r {
	case '\u034f', '\u115f', '\u1160', '\u2800', '\u3164', '\uffa0':
		return true
	}
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}
