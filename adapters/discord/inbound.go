package discord

import (
	"context"
	"errors"
	"slices"
	"time"

	"understudy/core"
)

// The types of messages in which somebody says something. All others are
// Discord's own: somebody joined, a message was pinned.
const (
	typePlain   = 0
	typeReply   = 19
	typeCommand = 20 // a bot answers a command
	typeMenu    = 23 // or a command given through a menu
)

func (m wireMessage) speech() bool {
	switch m.Type {
	case typePlain, typeReply, typeCommand, typeMenu:
		return m.ID != "" && m.Author != nil && m.Author.ID != ""
	}
	return false
}

// message takes a new message, live, replayed or read later.
func (r *run) message(m wireMessage) {
	bot, app := r.identity()
	if bot == "" || m.ChannelID == "" || !m.speech() || m.Author.ID == bot || m.AppID == app && app != "" {
		return
	}
	here := wireChannel{ID: m.ChannelID}
	if m.ChannelType != nil {
		here.Type = *m.ChannelType
	}
	chain, verdict := r.admits(r.ctx, m.GuildID, here, m.speaker())
	if verdict == refused {
		r.passOver(m, "not-allowed")
		if m.GuildID == "" || typed(m.content(), r.bot) {
			r.notAllowed(m)
		}
		return
	}
	text, files := r.said(m), m.files()
	if core.Blank(text) && len(files) == 0 && (m.machine() || !typed(m.content(), r.bot)) {
		return // a sticker, say; a mention alone calls the bot to what was said before
	}
	called, target := r.addressed(m, bot), r.target(m.GuildID, chain, m.Author.ID)
	rule := r.config.RequireMention(target.Thread)
	if !called && (m.machine() && r.config.Bots != BotsAll || !wanted(chain[0], rule)) {
		r.passOver(m, "no-mention")
		return
	}
	if r.config.ReplyTo(target.Thread) != ReplyOff {
		target.ReplyTo = m.ID
	}
	if called && !r.config.NoAutoThread && m.GuildID != "" && (chain[0].Type == typeText || chain[0].Type == typeAnnouncement) {
		// The thread will have the id of the message it is opened from.
		target.Opens, target.Title = m.ID, threadName(m.content())
		target.Thread.Channel, target.Thread.Parent = m.ID, m.ChannelID
		target.Thread.Kind = core.KindThread
	}
	r.remember(m.ID, written{m.content(), text})
	r.handOver(verdict, core.Message{
		ID: m.ID, Author: m.author(), Text: text, At: when(m.Timestamp), Attachments: files, Target: target,
		Addressed: called || m.GuildID == "" && chain[0].Type == typeDirect || rule == MentionNever,
	})
}

// passOver notes why a message is not for the bot.
func (r *run) passOver(m wireMessage, why string) {
	r.log.Debug("a message is passed over", "reason", why, "message", m.ID, "channel", m.ChannelID, "user", m.Author.ID)
}

// notAllowed tells the operator of somebody who spoke to the bot and gets no
// answer, now and then: a list that lacks an id looks just like a bot that is
// broken.
func (r *run) notAllowed(m wireMessage) {
	if m.machine() || !r.refusals.due("message "+m.ChannelID+" "+m.Author.ID) {
		return
	}
	if m.GuildID == "" {
		r.log.Info("a direct message is not answered: its user may not write to the bot; list the user's id in UNDERSTUDY_DISCORD_ALLOW, or see channels.discord.dmPolicy", "user", m.Author.ID)
		return
	}
	r.log.Info("a mention is not answered: it is not allowed here; list the id of the server, channel or user in UNDERSTUDY_DISCORD_ALLOW",
		"server", m.GuildID, "channel", m.ChannelID, "user", m.Author.ID)
}

// handOver gives a message to the handler. Whether a stranger may write is
// asked in the same turn, so that his messages stay in order.
func (r *run) handOver(v verdict, m core.Message) {
	r.inbox.admit(entry{"message " + m.ID, func(ctx context.Context) error {
		if v == allowed {
			return r.handler.Message(ctx, m)
		}
		known, err := r.handler.Known(ctx, m.Thread(), m.Author)
		switch {
		case err != nil:
			return err
		case known:
			return r.handler.Message(ctx, m)
		}
		text, err := r.handler.Knock(ctx, m)
		if err == nil && text != "" {
			r.spawn("answer to a stranger", func(ctx context.Context) { r.tellStranger(ctx, m, text) })
		}
		return err
	}})
}

// tellStranger answers a knock. The nonce keeps a repetition from being a
// second message.
func (r *run) tellStranger(ctx context.Context, m core.Message, text string) {
	p := core.Post{Target: m.Target, Kind: core.PostCommand, Text: text, Nonce: "k" + m.ID}
	for _, pause := range r.pace.admit {
		_, err := r.Post(ctx, p)
		var failed *core.SendError
		if err == nil || errors.As(err, &failed) && failed.Refused() {
			return
		}
		r.log.Warn("somebody who asked for access could not be answered; trying again", "user", m.Author.ID, "error", err)
		select {
		case <-time.After(max(pause, failed.RetryAfter)):
		case <-ctx.Done():
			return
		}
	}
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
// by a person. The ping that goes with a reply is no mention, and one of
// everybody only if the settings say so.
func (r *run) addressed(m wireMessage, bot string) bool {
	if m.machine() {
		return typed(m.content(), func(kind, id string) bool { return kind != "@&" && id == bot })
	}
	return typed(m.content(), r.bot) || m.Everyone && r.config.EveryoneWakes ||
		m.Type == typeReply && m.Referenced != nil && m.Referenced.Author != nil && m.Referenced.Author.ID == bot
}

// bot reports whether a mention is one of the bot: of itself, of the role that
// Discord made for it, which has the same name in the list to pick from, or of a
// role that stands for it.
func (a *Adapter) bot(kind, id string) bool {
	switch kind {
	case "@", "@!":
		user, _ := a.identity()
		return id == user
	case "@&":
		return a.places.ownRole(id) || slices.Contains(a.config.MentionRoles, id)
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

// target is where answers go that need no new thread.
func (r *run) target(guild string, chain []wireChannel, recipient string) core.Target {
	here := chain[0]
	t := core.Target{Thread: core.Thread{Platform: "discord", Account: r.config.Account, Workspace: guild,
		Channel: here.ID, Kind: core.KindChannel}, Recipient: recipient}
	switch {
	case guild == "" && here.Type == typeGroup:
		t.Thread.Kind = core.KindGroup
	case guild == "":
		t.Thread.Kind = core.KindDirect
	case here.thread():
		t.Thread.Kind, t.Thread.Parent = core.KindThread, here.ParentID
		if len(chain) > 1 {
			t.Thread.Category = chain[1].ParentID
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
	if _, v := r.admits(r.ctx, m.GuildID, wireChannel{ID: m.ChannelID}, m.speaker()); v == refused {
		return
	}
	text := r.said(m)
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
	here := []wireChannel{{ID: channel}}
	return core.Message{ID: id, Target: r.target(guild, here, "")}.InboxKey()
}

func (r *run) remember(id string, w written) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts.put(id, w)
}
