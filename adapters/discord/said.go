package discord

import (
	"slices"

	"understudy/core"
)

// flagVoice marks a message that was spoken.
const flagVoice = 1 << 13

// said is what a message says to the model: its text, then the messages that it
// forwards or replies to, as quotations. A command stands alone, since all that
// follows its name belongs to it.
func (a *Adapter) said(m wireMessage) string {
	text := a.withForwards(m)
	if _, _, command := core.ParseCommand(text); command {
		return text
	}
	if r := m.Referenced; m.Type == typeReply && r != nil && r.speech() {
		text = core.WithQuote(text, "In reply to "+oneLine(r.author().Name), a.plain(*r, r.content()))
	}
	return text
}

// withForwards is the text of a message, and what it forwards.
func (a *Adapter) withForwards(m wireMessage) string {
	text := a.plain(m, m.content())
	for _, s := range m.Snapshots[:min(len(m.Snapshots), core.MaxQuotes)] {
		text = core.WithQuote(text, "Forwarded message", a.plain(m, s.Message.Content))
	}
	return text
}

// plain is a text that came with a message, with Discord's escapes as people
// read them and without the mention of the bot.
func (a *Adapter) plain(m wireMessage, text string) string {
	user := func(id string) string {
		i := slices.IndexFunc(m.Mentions, func(u wireUser) bool { return u.ID == id })
		if i < 0 {
			return ""
		}
		return author(&m.Mentions[i], nil, false).Name
	}
	channel := func(id string) string {
		c, _ := a.places.known(id)
		return c.Name
	}
	return clean(text, names{a.bot, user, channel})
}

// files are the attachments, without their contents.
func (m wireMessage) files() []core.Attachment {
	all := slices.Clone(m.Attachments)
	for _, s := range m.Snapshots {
		all = append(all, s.Message.Attachments...)
	}
	var out []core.Attachment
	for _, f := range all {
		kind := f.ContentType
		if kind == "" && m.Flags&flagVoice != 0 {
			kind = "audio/ogg"
		}
		out = append(out, core.Attachment{ID: f.ID, Name: f.Filename, MIME: kind, Size: f.Size, URL: f.URL})
	}
	return out
}
