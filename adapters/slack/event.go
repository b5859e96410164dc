package slack

import (
	"context"
	"slices"
	"strings"
	"time"

	"understudy/core"
)

// knockTimeout bounds the answer to a stranger.
const knockTimeout = 5 * time.Second

// thread is the conversation in which a message is answered: a message inside
// a thread in that thread, whatever the mode; one at the root of a channel in
// the thread that its answer will open, unless replyTo is off; one at the root
// of a direct message right there.
func (a *Adapter) thread(p payload, ev event) core.Thread {
	t := a.said(p, ev)
	switch {
	case t.Root != "":
	case t.Kind == core.KindDirect:
		t.Root = string(ev.assistantRoot())
	case a.replyTo(t) != ReplyOff:
		t.Root = string(ev.TS)
	}
	if t.Root != "" && t.Shared() {
		t.Kind = core.KindThread
	}
	return t
}

// said is where a message was said: in a thread, or at the root of a place.
func (a *Adapter) said(p payload, ev event) core.Thread {
	t := core.Thread{Platform: "slack", Account: a.cfg.Account, Workspace: p.workspace(), Channel: ev.Channel, Kind: a.kinds.of(ev.Channel, ev.ChannelType)}
	if ev.inThread() {
		t.Root = string(ev.ThreadTS)
		if t.Shared() {
			t.Kind = core.KindThread
		}
	}
	return t
}

// assistantRoot is the root of the thread of a direct message that is no reply:
// in the assistant view each lives in a thread, of which it may be the first.
// Slack then gives it its own timestamp as that of its thread, or a token for
// whoever answers. Elsewhere there is none.
func (ev event) assistantRoot() stamp {
	if ev.ThreadTS == "" && ev.Assistant.ActionToken != "" {
		return ev.TS
	}
	return ev.ThreadTS
}

// event handles one event. nil means that Slack need not send it again.
func (a *Adapter) event(ctx context.Context, p payload) error {
	if p.Type == "app_rate_limited" {
		a.rateLimited()
		return nil
	}
	a.learnKind(ctx, p.Event)
	switch p.Event.Type {
	case "message":
		return a.speech(ctx, p)
	case "app_mention":
		return a.message(ctx, p)
	case "assistant_thread_started":
		return a.opened(ctx, p)
	case "agent_session_stopped":
		return a.stopped(ctx, p)
	case "app_uninstalled", "tokens_revoked":
		a.removed(p)
	default:
		if !slices.Contains(botEvents, p.Event.Type) {
			a.passOver("kind of event", "kind", p.Event.Type)
		}
	}
	return nil
}

// speech handles a message event. Only speech starts a turn.
func (a *Adapter) speech(ctx context.Context, p payload) error {
	switch {
	case p.Event.Subtype == "message_changed":
		return a.changed(ctx, p)
	case p.Event.Subtype == "message_deleted":
		return a.deleted(ctx, p)
	case p.Event.speech():
		return a.message(ctx, p)
	}
	return nil
}

// message hands over what somebody said, if it is for the bot.
func (a *Adapter) message(ctx context.Context, p payload) error {
	ev := p.subject()
	id := first(string(ev.TS), p.EventID)
	if id == "" || ev.Hidden || ev.Edited != nil && !p.recalled || a.own(p, ev) {
		return nil
	}
	a.recall.came.add(eventRef{ev.Channel, id})
	t := a.thread(p, ev)
	who, outsider := a.sender(ctx, p, ev)
	a.colleague(p, who)
	v, err := a.admits(ctx, who, outsider, t)
	switch {
	case err != nil:
		return err
	case v == refused:
		if t.Kind == core.KindDirect || ev.Type == "app_mention" || ev.mentions(a.me.user) {
			a.notAllowed(who, t, "a message")
		}
		return nil
	case v == stranger:
		return a.knock(ctx, a.compose(ctx, t, who, ev, id))
	}
	rule := a.requireMention(a.said(p, ev))
	called := ev.Type == "app_mention" || ev.mentions(a.me.user)
	if who.Bot && a.cfg.Bots != BotsAll && !called && t.Kind != core.KindDirect {
		return nil
	}
	addressed := called || t.Kind == core.KindDirect || rule == MentionNever || rule == MentionUntilEngaged && !who.Bot && a.repliedTo(ev)
	if addressed {
		a.recall.heard(t)
	} else {
		a.recall.overheard(t)
	}
	if !addressed && !(ev.inThread() && rule != MentionAlways && !ev.toSomebodyElse()) {
		return nil
	}
	m := a.compose(ctx, t, who, ev, id)
	if core.Blank(m.Text) && len(m.Attachments) == 0 && !called {
		return nil // a mention alone calls the bot to what was said before
	}
	if !addressed {
		// In a thread, where Slack knows no commands, one that is typed is meant
		// for the bot.
		_, _, addressed = core.ParseCommand(m.Text)
	}
	m.Addressed = addressed
	a.entitle(ctx, t, m.Text)
	return a.handler.Message(ctx, m)
}

// repliedTo reports whether a message is a reply to the bot: in a thread under a
// message of the bot's, and not to somebody else there.
func (a *Adapter) repliedTo(ev event) bool {
	return ev.inThread() && ev.Parent == a.me.user && !ev.toSomebodyElse()
}

// toSomebodyElse reports whether a message that does not mention the bot begins
// with the name of another person or group.
func (ev event) toSomebodyElse() bool {
	text := strings.TrimSpace(ev.Text)
	return strings.HasPrefix(text, "<@") || strings.HasPrefix(text, "<!subteam^")
}

// compose makes the message out of the event.
func (a *Adapter) compose(ctx context.Context, t core.Thread, who core.Author, ev event, id string) core.Message {
	ctx, cancel := context.WithTimeout(ctx, nameWait)
	defer cancel()
	if who.Name == "" {
		who.Name = a.names.get(ctx, who.Team, who.ID)
	}
	m := core.Message{
		ID:          id,
		Author:      who,
		Target:      core.Target{Thread: t},
		Text:        a.words(ctx, t.Workspace, ev),
		At:          ev.TS.time(),
		Attachments: attachments(ev.files()),
	}
	if !who.Bot { // nothing grows for a bot, and nothing is whispered to one
		m.Target.Recipient, m.Target.RecipientTeam = who.ID, who.Team
	}
	if m.At.IsZero() {
		m.At = time.Now().UTC()
	}
	if a.replyTo(t) != ReplyOff {
		m.Target.ReplyTo = t.Root
	}
	return m
}

// own reports whether the bot said it itself. A post by an app may name only
// one of the three.
func (a *Adapter) own(p payload, ev event) bool {
	return ev.User != "" && ev.User == a.me.user ||
		ev.BotID != "" && ev.BotID == a.me.bot ||
		ev.AppID != "" && ev.AppID == p.AppID
}

// author is who said it, without a name yet except for bots that carry one.
func author(ev event) core.Author {
	who := core.Author{ID: ev.User, Team: first(ev.UserTeam, ev.SourceTeam, ev.Team)}
	if ev.BotID != "" || ev.Subtype == "bot_message" || ev.User == slackbot {
		who.Bot, who.Name = true, ev.Username
		who.ID = first(who.ID, ev.BotID)
	}
	return who
}

// changed passes a person's edit on. A link preview that was added is a change
// as well on Slack, with the same text; so is the bot's own edit.
func (a *Adapter) changed(ctx context.Context, p payload) error {
	if p.Event.Message == nil {
		return nil
	}
	ev := p.subject()
	key := a.inboxKey(p, ev)
	if ev.Subtype == "tombstone" { // the root of a thread with replies was deleted
		return a.handler.Change(ctx, core.Change{InboxKey: key, Deleted: true})
	}
	before := p.Event.Previous
	if ev.TS == "" || a.own(p, ev) || ev.Edited == nil || before != nil && before.Text == ev.Text {
		return nil
	}
	who, outsider := a.sender(ctx, p, ev)
	if v, err := a.admits(ctx, who, outsider, a.thread(p, ev)); err != nil || v != admitted {
		return err
	}
	named, cancel := context.WithTimeout(ctx, nameWait)
	defer cancel()
	return a.handler.Change(ctx, core.Change{InboxKey: key, Text: a.words(named, p.workspace(), ev)})
}

// deleted passes a deletion on.
func (a *Adapter) deleted(ctx context.Context, p payload) error {
	ev := p.subject()
	if ev.TS == "" || a.own(p, ev) {
		return nil
	}
	return a.handler.Change(ctx, core.Change{InboxKey: a.inboxKey(p, ev), Deleted: true})
}

// inboxKey is the key under which the message of an event was handed over.
func (a *Adapter) inboxKey(p payload, ev event) string {
	return core.Message{ID: string(ev.TS), Target: core.Target{Thread: a.thread(p, ev)}}.InboxKey()
}
