package discord

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// marks are Discord's own escapes: mentions of users, roles and channels, and
// emoji of a server.
var marks = regexp.MustCompile(`<(@!?|@&|#|a?:\w+:)(\d+)>`)

// everybody is how everybody in a channel is mentioned.
var everybody = regexp.MustCompile(`@(everyone|here)\b`)

// typed reports whether a text mentions somebody by hand: outside of code. The
// kind of a mention is "@", "@!" for users and "@&" for roles.
func typed(text string, is func(kind, id string) bool) bool {
	found := false
	prose(text, func(part string) string {
		for _, m := range marks.FindAllStringSubmatch(part, -1) {
			found = found || is(m[1], m[2])
		}
		return part
	})
	return found
}

// names are what Discord's escapes stand for; empty where that is not known.
type names struct {
	bot           func(kind, id string) bool // whether the bot is mentioned
	user, channel func(id string) string
}

// clean takes the mention of the bot out of a text and writes Discord's escapes
// as people read them. Code stays as it is.
func clean(text string, known names) string {
	text = prose(text, func(part string) string {
		return marks.ReplaceAllStringFunc(part, func(mark string) string {
			m := marks.FindStringSubmatch(mark)
			switch kind, id := m[1], m[2]; {
			case known.bot(kind, id):
				return ""
			case kind == "@" || kind == "@!":
				return named("@", known.user(id), mark)
			case kind == "#":
				return named("#", known.channel(id), mark)
			case kind == "@&":
				return mark
			default: // an emoji
				return strings.TrimPrefix(kind, "a")
			}
		})
	})
	return strings.TrimSpace(text)
}

func named(sign, name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return sign + name
}

// prose applies a change to the parts of a text that are not code. Code begins
// with a run of back-ticks and ends with a run of the same length.
func prose(text string, change func(string) string) string {
	var b strings.Builder
	for {
		start := strings.IndexByte(text, '`')
		if start < 0 {
			break
		}
		run := len(text[start:]) - len(strings.TrimLeft(text[start:], "`"))
		end := closing(text[start+run:], run)
		if end < 0 {
			if run < 3 {
				// A stray back-tick opens nothing.
				b.WriteString(change(text[:start]))
				b.WriteString(text[start : start+run])
				text = text[start+run:]
				continue
			}
			end = len(text) - start - run
		}
		b.WriteString(change(text[:start]))
		b.WriteString(text[start : start+run+end])
		text = text[start+run+end:]
	}
	b.WriteString(change(text))
	return b.String()
}

// closing is where a run of exactly n back-ticks ends, or -1.
func closing(text string, n int) int {
	for at := 0; at < len(text); {
		start := strings.IndexByte(text[at:], '`')
		if start < 0 {
			return -1
		}
		at += start
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		at += run
		if run == n {
			return at
		}
	}
	return -1
}

const (
	maxThreadName = 80 // Discord takes 100; a list shows less
	unnamed       = "Conversation"
)

// threadName makes the name of a thread out of what was said. What shows nothing
// is no name: Discord might open no thread with it, and the answer would have no
// place.
func threadName(text string) string {
	text = strings.Map(func(c rune) rune {
		switch {
		case strings.ContainsRune("*_~`|>#", c), unicode.IsControl(c) && !unicode.IsSpace(c), unicode.Is(unicode.Bidi_Control, c):
			return -1
		}
		return c
	}, marks.ReplaceAllString(text, ""))
	text = everybody.ReplaceAllString(text, "") // last: what went before may have hidden one
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if !slices.ContainsFunc(runes, func(c rune) bool { return unicode.IsGraphic(c) && !unicode.IsSpace(c) }) {
		return unnamed
	}
	if len(runes) > maxThreadName {
		return strings.TrimSpace(string(runes[:maxThreadName-1])) + "…"
	}
	return string(runes)
}
