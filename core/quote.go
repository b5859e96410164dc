package core

import "strings"

// The bounds of what a message quotes.
const (
	MaxQuotes = 5    // messages that are forwarded in one
	maxQuote  = 1000 // characters of a message that another one points to
)

// WithQuote is text with what somebody else said beneath it, set off as a
// quotation under head. Of a long one the end is missing.
func WithQuote(text, head, quoted string) string {
	if Blank(quoted) {
		return text
	}
	if runes := []rune(quoted); len(runes) > maxQuote {
		quoted = string(runes[:maxQuote-1]) + "…"
	}
	return strings.Trim(text+"\n\n"+head+":\n> "+strings.ReplaceAll(quoted, "\n", "\n> "), "\n")
}
