package core

import (
	"unicode"
	"unicode/utf8"
)

// maxCluster bounds what counts as one character, in runes. The longest emoji
// sequences have about ten; a heap of combining marks is cut somewhere.
const maxCluster = 128

const (
	zeroWidthJoiner    = 0x200D
	zeroWidthNonJoiner = 0x200C
)

// cluster is the length in bytes of the first user-perceived character of s.
// It errs on the side of joining: it never ends inside a grapheme cluster as
// Unicode defines it, but may take two for one in rare scripts.
func cluster(s string) int {
	if len(s) > 1 && s[0] < utf8.RuneSelf && s[1] < utf8.RuneSelf {
		if s[0] == '\r' && s[1] == '\n' {
			return 2
		}
		return 1
	}
	prev, n := utf8.DecodeRuneInString(s)
	if unicode.IsControl(prev) {
		return n
	}
	flag := regional(prev)
	for runes := 1; n < len(s) && runes < maxCluster; runes++ {
		next, size := utf8.DecodeRuneInString(s[n:])
		switch {
		case extends(next):
		case unicode.IsControl(next):
			return n
		case flag && regional(next):
			flag = false
		case joins(prev, next):
		default:
			return n
		}
		prev, n = next, n+size
	}
	return n
}

// extends reports whether r belongs to the character before it.
func extends(r rune) bool {
	switch {
	case r < 0x300:
		return false
	case r == zeroWidthJoiner, r == zeroWidthNonJoiner,
		r == 0x0E33, r == 0x0EB3, // Thai and Lao AM
		r == 0xFF9E, r == 0xFF9F, // half-width Japanese sound marks
		0x1F3FB <= r && r <= 0x1F3FF, // skin tones
		0xE0020 <= r && r <= 0xE007F: // tags of subdivision flags
		return true
	}
	return unicode.Is(unicode.M, r)
}

// joins reports whether next belongs to the same character as prev because of
// what prev is.
func joins(prev, next rune) bool {
	switch {
	case prev == zeroWidthJoiner, linker(prev):
		return !unicode.IsSpace(next)
	case unicode.Is(unicode.Prepended_Concatenation_Mark, prev):
		return true
	case hangul(prev) && hangul(next):
		return true
	}
	return false
}

// linker reports whether r makes one character of the letters around it
// (the viramas of Indic scripts).
func linker(r rune) bool {
	switch r {
	case 0x094D, 0x09CD, 0x0A4D, 0x0ACD, 0x0B4D, 0x0C4D, 0x0D4D, 0x1039, 0x17D2:
		return true
	}
	return false
}

// hangul reports whether r is a Korean letter that may be part of a composed
// syllable. Whole syllables stand alone unless loose letters follow.
func hangul(r rune) bool {
	return 0x1100 <= r && r <= 0x11FF || 0xA960 <= r && r <= 0xA97C || 0xD7B0 <= r && r <= 0xD7FB
}

func regional(r rune) bool { return 0x1F1E6 <= r && r <= 0x1F1FF }
