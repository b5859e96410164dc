package slack

import (
	"context"
	"slices"
	"strings"

	"understudy/core"
)

// plain turns the text of an event into what the person typed: the mention of
// the bot around the text is taken off, tokens in angle brackets become what
// people see, and the three escaped characters are put back, once.
func (a *Adapter) plain(ctx context.Context, team, text string) string {
	var b strings.Builder
	for text = stripMentions(text, a.me.user); text != ""; {
		open := strings.IndexByte(text, '<')
		if open < 0 {
			break
		}
		size := strings.IndexByte(text[open:], '>')
		if size < 0 {
			break // cannot be: Slack escapes a bracket that is none of its own
		}
		b.WriteString(unescape.Replace(text[:open]))
		b.WriteString(a.token(ctx, team, text[open+1:open+size]))
		text = text[open+size+1:]
	}
	b.WriteString(unescape.Replace(text))
	return strings.TrimSpace(b.String())
}

// words is what a message says: its text, and beneath it what it forwards. A
// command stands alone. What an app says is often in nothing else.
func (a *Adapter) words(ctx context.Context, team string, ev event) string {
	text := a.plain(ctx, team, ev.Text)
	if _, _, command := core.ParseCommand(text); command {
		return text
	}
	bare := core.Blank(text)
	for _, s := range ev.Attachments[:min(len(ev.Attachments), core.MaxQuotes)] {
		said := a.plain(ctx, team, first(s.Text, s.Title, s.Fallback))
		switch forwarded := s.IsShare || s.IsUnfurl; {
		case forwarded && s.Author != "":
			text = core.WithQuote(text, "Forwarded message of "+s.Author, said)
		case forwarded:
			text = core.WithQuote(text, "Forwarded message", said)
		case bare:
			text = strings.TrimSpace(text + "\n" + said)
		}
	}
	return text
}

// files are those of a message and of what it forwards.
func (ev event) files() []file {
	all := ev.Files
	for _, s := range ev.Attachments {
		if s.IsShare || s.IsUnfurl {
			all = slices.Concat(all, s.Files)
		}
	}
	return all
}

// unescape reads the text once: "&amp;lt;" was typed as "&lt;".
var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// token is what people see of one token: a mention, a channel, a link.
func (a *Adapter) token(ctx context.Context, team, token string) string {
	id, label, _ := strings.Cut(token, "|")
	label = unescape.Replace(label)
	switch {
	case strings.HasPrefix(id, "@"):
		if id[1:] == a.me.user {
			return "@" + a.me.name
		}
		if label == "" {
			label = a.names.get(ctx, team, id[1:])
		}
		return "@" + strings.TrimPrefix(label, "@")
	case strings.HasPrefix(id, "#"):
		return "#" + first(label, id[1:])
	case strings.HasPrefix(id, "!subteam^"):
		return "@" + strings.TrimPrefix(first(label, id[len("!subteam^"):]), "@")
	case strings.HasPrefix(id, "!date^"):
		return label
	case strings.HasPrefix(id, "!"):
		return "@" + strings.TrimPrefix(first(label, id[1:]), "@")
	}
	address := strings.TrimPrefix(unescape.Replace(id), "mailto:")
	if label == "" || label == address || strings.HasSuffix(address, "://"+label) {
		return address
	}
	return "[" + label + "](" + address + ")"
}

// stripMentions takes mentions of the bot off both ends, with the comma or
// colon that people put after a name. One inside the text stays and is read as
// a name.
func stripMentions(text, user string) string {
	text = strings.TrimSpace(text)
	for {
		rest, ok := cutMention(text, user)
		if !ok {
			break
		}
		text = strings.TrimLeft(rest, " \t\n,:")
	}
	bare := "<@" + user + ">"
	for strings.HasSuffix(text, bare) {
		text = strings.TrimSpace(strings.TrimSuffix(text, bare))
	}
	return text
}

// cutMention takes a mention of the user off the front.
func cutMention(text, user string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, "<@"+user)
	if !ok {
		return text, false
	}
	if after, ok := strings.CutPrefix(rest, ">"); ok {
		return after, true
	}
	if end := strings.IndexByte(rest, '>'); end > 0 && rest[0] == '|' {
		return rest[end+1:], true
	}
	return text, false
}

// mentions reports whether a text mentions the user outside of code.
func mentions(text, user string) bool {
	for i, prose := range strings.Split(text, "```") {
		if i%2 == 1 {
			continue
		}
		pieces := strings.Split(prose, "`")
		for j, piece := range pieces {
			quoted := j%2 == 1 && j < len(pieces)-1
			if !quoted && (strings.Contains(piece, "<@"+user+">") || strings.Contains(piece, "<@"+user+"|")) {
				return true
			}
		}
	}
	return false
}
