package core

import (
	"strings"
	"unicode"
)

// WithoutControls is a text without the characters that steer a device: they
// have no shape, a copy of the text would steer the terminal it is put into, and
// no platform says what it makes of them. Line breaks, as "\n", and tabs stay.
func WithoutControls(text string) string {
	steers := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if !strings.ContainsFunc(text, steers) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return -1
		}
		return r
	}, text)
}
