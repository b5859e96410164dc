package discord

import (
	"context"
	"slices"
	"strings"

	"understudy/core"
)

// The types of messages that people write. All others are made by Discord, or
// by other bots' commands.
const (
	typePlain = 0
	typeReply = 19
)

// message takes a new message, live, replayed or read later.
func (r *run) message(m wireMessage) {
	bot, _ := r.identity()
	if m.ID == "" || m.ChannelID == "" || m.Author == nil || m.Author.ID == "" || m.Author.ID == bot || bot == "" {
		return
	}
	if m.Type != typePlain && m.Type != typeReply {
		return
	}
	chain, ok := r.permits(r.ctx, m.GuildID, m.ChannelID, m.speaker())
	if !ok {
		return
	}
	text := r.text(m)
	if text == "" && len(m.files()) == 0 {
		return
	}
	called := r.addressed(m, bot)
	target := r.target(m.GuildID, chain[0], m.Author.ID)
	rule := r.config.RequireMention(target.Thread)
	if !called && (m.machine() || !wanted(chain[0], rule)) {
		return
	}
	out := core.Message{
		ID: m.ID, Author: m.author(), Text: text, At: when(m.Timestamp), Attachments: m.files(),
		Target:    target,
		Addressed: called || m.GuildID == "" || rule == MentionNever,
	}
	out.Target.ReplyTo = m.ID
	if called && !r.config.NoAutoThread && (chain[0].Type == typeText || chain[0].Type == typeAnnouncement) && m.GuildID != "" {
		// The thread will have the id of the message it is opened from.
		out.Target.Opens, out.Target.Title = m.ID, threadName(text)
		out.Target.Thread.Channel, out.Target.Thread.Parent = m.ID, m.ChannelID
		out.Target.Thread.Kind = core.KindThread
	}
	r.remember(m.ID, written{m.content(), text})
	r.inbox.admit(entry{"message " + m.ID, func(ctx context.Context) error { return r.handler.Message(ctx, out) }})
}

// wanted reports whether a message in that place may be for the bot although it
// does not address it. In threads the sessions know whether the bot takes part.
func wanted(here wireChannel, rule string) bool {
	switch {
	case here.Type == typeDirect, rule == MentionNever:
		return true
	case rule == MentionAlways:
		return false
	}
	return here.thread() || here.Type == typeGroup
}

// addressed reports whether the bot is meant: mentioned by hand, or replied to
// by a person. The ping that goes with a reply is no mention, and neither is
// one of everybody.
func (r *run) addressed(m wireMessage, bot string) bool {
	if m.machine() {
		return typed(m.content(), func(kind, id string) bool { return kind != "@&" && id == bot })
	}
	return typed(m.content(), r.bot) ||
		m.Type == typeReply && m.Referenced != nil && m.Referenced.Author != nil && m.Referenced.Author.ID == bot
}

// bot reports whether a mention is one of the bot: of itself, or of the role
// that Discord made for it, which has the same name in the list to pick from.
func (r *run) bot(kind, id string) bool {
	switch kind {
	case "@", "@!":
		user, _ := r.identity()
		return id == user
	case "@&":
		return r.places.ownRole(id)
	}
	return false
}

func (m wireMessage) content() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// machine reports whether no person wrote the message.
func (m wireMessage) machine() bool { return m.Author.Bot || m.WebhookID != "" }

func (m wireMessage) speaker() speaker {
	s := speaker{id: m.Author.ID, bot: m.machine()}
	if m.Member != nil {
		s.roles = m.Member.Roles
	}
	return s
}

func (m wireMessage) author() core.Author { return author(m.Author, m.Member, m.machine()) }

func author(u *wireUser, member *wireMember, bot bool) core.Author {
	a := core.Author{ID: u.ID, Name: u.Username, Bot: bot}
	if u.GlobalName != "" {
		a.Name = u.GlobalName
	}
	if member != nil {
		a.Roles = member.Roles
		if member.Nick != "" {
			a.Name = member.Nick
		}
	}
	return a
}

// text is what the message says, with forwarded messages in it.
func (r *run) text(m wireMessage) string {
	raw := m.content()
	for _, s := range m.Snapshots {
		if s.Message.Content != "" {
			raw = strings.TrimSpace(raw + "\n\nForwarded message:\n" + s.Message.Content)
		}
	}
	user := func(id string) string {
		i := slices.IndexFunc(m.Mentions, func(u wireUser) bool { return u.ID == id })
		if i < 0 {
			return ""
		}
		return author(&m.Mentions[i], nil, false).Name
	}
	channel := func(id string) string {
		c, _ := r.places.known(id)
		return c.Name
	}
	return clean(raw, names{r.bot, user, channel})
}

// files are the attachments, without their contents.
func (m wireMessage) files() []core.Attachment {
	all := slices.Clone(m.Attachments)
	for _, s := range m.Snapshots {
		all = append(all, s.Message.Attachments...)
	}
	var out []core.Attachment
	for _, f := range all {
		out = append(out, core.Attachment{Name: f.Filename, MIME: f.ContentType, Size: f.Size,
			Note: "files on Discord are not read"})
	}
	return out
}

// target is where answers go that need no new thread.
func (r *run) target(guild string, here wireChannel, recipient string) core.Target {
	t := core.Target{Thread: core.Thread{Platform: "discord", Account: r.config.Account, Workspace: guild,
		Channel: here.ID, Kind: core.KindChannel}, Recipient: recipient}
	switch {
	case guild == "" && here.Type == typeGroup:
		t.Thread.Kind = core.KindGroup
	case guild == "":
		t.Thread.Kind = core.KindDirect
	case here.thread():
		t.Thread.Kind, t.Thread.Parent = core.KindThread, here.ParentID
		if parent, ok := r.places.known(here.ParentID); ok {
			t.Thread.Category = parent.ParentID
		}
	default:
		t.Thread.Category = here.ParentID
	}
	return t
}

// edited takes an update of a message, most of which are no edits: Discord adds
// previews of links, for one.
func (r *run) edited(m wireMessage) {
	bot, _ := r.identity()
	if m.ID == "" || m.Content == nil || m.EditedAt == "" || m.Author == nil || m.Author.ID == bot {
		return
	}
	r.mu.Lock()
	before, known := r.texts.get(m.ID)
	r.mu.Unlock()
	if known && before.content == *m.Content {
		return
	}
	if _, ok := r.permits(r.ctx, m.GuildID, m.ChannelID, m.speaker()); !ok {
		return
	}
	text := r.text(m)
	if known {
		r.remember(m.ID, written{*m.Content, text})
	}
	r.change(core.Change{InboxKey: r.inboxKey(m.GuildID, m.ChannelID, m.ID), Text: text})
}

func (r *run) deleted(d wireDeletion) {
	for _, id := range append(d.IDs, d.ID) {
		if id != "" {
			r.change(core.Change{InboxKey: r.inboxKey(d.GuildID, d.ChannelID, id), Deleted: true})
		}
	}
}

func (r *run) change(c core.Change) {
	r.inbox.admit(entry{"change of " + c.InboxKey, func(ctx context.Context) error { return r.handler.Change(ctx, c) }})
}

// inboxKey is the key that a message of a channel was handed over with. It is
// the same whether or not a thread was to be opened from it.
func (r *run) inboxKey(guild, channel, id string) string {
	here := wireChannel{ID: channel}
	return core.Message{ID: id, Target: r.target(guild, here, "")}.InboxKey()
}

func (r *run) remember(id string, w written) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts.put(id, w)
}
