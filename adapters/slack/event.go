package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"understudy/core"
)

// payload is the outer part of an Events API payload.
type payload struct {
	TeamID         string `json:"team_id"`
	ContextTeamID  string `json:"context_team_id"`
	AppID          string `json:"api_app_id"`
	Authorizations []struct {
		TeamID string `json:"team_id"`
	} `json:"authorizations"`
	Event event `json:"event"`
}

// event is as much of a message or app_mention event as the bot goes by. Of a
// change, Message and Previous hold the message after and before.
type event struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype"`
	Channel     string          `json:"channel"`
	ChannelType string          `json:"channel_type"`
	User        string          `json:"user"`
	BotID       string          `json:"bot_id"`
	AppID       string          `json:"app_id"`
	Username    string          `json:"username"`
	Text        string          `json:"text"`
	TS          stamp           `json:"ts"`
	ThreadTS    stamp           `json:"thread_ts"`
	EventTS     stamp           `json:"event_ts"`
	DeletedTS   stamp           `json:"deleted_ts"`
	Team        string          `json:"team"`
	UserTeam    string          `json:"user_team"`
	SourceTeam  string          `json:"source_team"`
	Hidden      bool            `json:"hidden"`
	Edited      json.RawMessage `json:"edited"`
	Files       []file          `json:"files"`
	Message     *event          `json:"message"`
	Previous    *event          `json:"previous_message"`
}

type file struct {
	Name string `json:"name"`
	MIME string `json:"mimetype"`
	Size int64  `json:"size"`
	Mode string `json:"mode"`
}

// stamp is a Slack timestamp: an id, kept as exact text.
type stamp string

// UnmarshalJSON takes a number too, which has been seen in place of the text.
// Stamps have six decimals; a number has lost its trailing zeros.
func (s *stamp) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*s = stamp(text)
		return nil
	}
	whole, decimals, _ := strings.Cut(string(bytes.TrimSpace(data)), ".")
	if _, err := strconv.ParseUint(whole, 10, 64); err == nil && len(decimals) <= 6 {
		*s = stamp(whole + "." + decimals + "000000"[len(decimals):])
	}
	return nil
}

// time is when the stamp says it was.
func (s stamp) time() time.Time {
	whole, decimals, _ := strings.Cut(string(s), ".")
	sec, _ := strconv.ParseInt(whole, 10, 64)
	micro, _ := strconv.ParseInt(decimals, 10, 64)
	return time.Unix(sec, micro*1000).UTC()
}

// subject is the message that the event is about.
func (p payload) subject() event {
	ev := p.Event
	switch {
	case ev.Message != nil:
		return p.within(*ev.Message)
	case ev.DeletedTS != "":
		gone := event{}
		if ev.Previous != nil {
			gone = *ev.Previous
		}
		gone.TS = ev.DeletedTS
		return p.within(gone)
	}
	if ev.TS == "" {
		ev.TS = ev.EventTS
	}
	return ev
}

// within gives a message inside an event the conversation that only the event
// names.
func (p payload) within(ev event) event {
	ev.Channel, ev.ChannelType = p.Event.Channel, p.Event.ChannelType
	return ev
}

// workspace is where the conversation is at home for this bot. For an app
// installed in a whole organisation the bot's own team says nothing.
func (p payload) workspace() string {
	switch {
	case p.ContextTeamID != "":
		return p.ContextTeamID
	case len(p.Authorizations) > 0 && p.Authorizations[0].TeamID != "":
		return p.Authorizations[0].TeamID
	}
	return p.TeamID
}

// thread is the conversation in which a message is answered: a message inside
// a thread in that thread, whatever the mode; one at the root of a channel in
// the thread that its answer will open, unless replyTo is off; one at the root
// of a direct message right there.
func (a *Adapter) thread(p payload, ev event) core.Thread {
	t := core.Thread{Platform: "slack", Account: a.cfg.Account, Workspace: p.workspace(), Channel: ev.Channel, Kind: placeKind(ev.Channel, ev.ChannelType)}
	switch {
	case ev.ThreadTS != "" && ev.ThreadTS != ev.TS:
		t.Root = string(ev.ThreadTS)
	case t.Kind != core.KindDirect && a.cfg.ReplyTo != ReplyOff:
		t.Root = string(ev.TS)
	}
	if t.Root != "" && t.Shared() {
		t.Kind = core.KindThread
	}
	return t
}

// placeKind reads Slack's channel_type; events that lack it, such as
// app_mention, leave the first letter of the id.
func placeKind(channel, channelType string) core.Kind {
	switch {
	case channelType == "im", channelType == "" && strings.HasPrefix(channel, "D"):
		return core.KindDirect
	case channelType == "mpim":
		return core.KindGroup
	}
	return core.KindChannel
}

// event handles one event. nil means that Slack need not send it again.
func (a *Adapter) event(ctx context.Context, p payload) error {
	switch {
	case p.Event.Type == "app_mention":
		return a.message(ctx, p)
	case p.Event.Type != "message":
		return nil
	}
	switch p.Event.Subtype {
	case "", "file_share", "thread_broadcast", "bot_message":
		return a.message(ctx, p)
	case "message_changed":
		return a.changed(ctx, p)
	case "message_deleted":
		return a.deleted(ctx, p)
	}
	return nil
}

// message hands over what somebody said, if it is for the bot.
func (a *Adapter) message(ctx context.Context, p payload) error {
	ev := p.subject()
	if ev.TS == "" || ev.Hidden || ev.Edited != nil || a.own(p, ev) {
		return nil
	}
	t := a.thread(p, ev)
	who := author(ev)
	if !a.policy.admits(who, t) {
		a.log.Debug("a message was passed over: not allowed here", "channel", t.Channel, "user", who.ID)
		return nil
	}
	addressed := ev.Type == "app_mention" || t.Kind == core.KindDirect || a.cfg.RequireMention == MentionNever || mentions(ev.Text, a.me.user)
	if !addressed && !a.overhears(ev) {
		return nil
	}
	return a.handler.Message(ctx, a.compose(ctx, t, who, ev, addressed))
}

// overhears reports whether a message that is not addressed to the bot is
// handed over all the same: in a thread, where the bot may be engaged, unless
// the message begins with somebody else's name.
func (a *Adapter) overhears(ev event) bool {
	inThread := ev.ThreadTS != "" && ev.ThreadTS != ev.TS
	return inThread && a.cfg.RequireMention != MentionAlways && !strings.HasPrefix(strings.TrimSpace(ev.Text), "<@")
}

// compose makes the message out of the event.
func (a *Adapter) compose(ctx context.Context, t core.Thread, who core.Author, ev event, addressed bool) core.Message {
	ctx, cancel := context.WithTimeout(ctx, nameWait)
	defer cancel()
	if who.Name == "" {
		who.Name = a.names.get(ctx, who.Team, who.ID)
	}
	m := core.Message{
		ID:        string(ev.TS),
		Author:    who,
		Target:    core.Target{Thread: t, Recipient: who.ID, RecipientTeam: who.Team},
		Text:      a.plain(ctx, t.Workspace, ev.Text),
		At:        ev.TS.time(),
		Addressed: addressed,
	}
	if a.cfg.ReplyTo != ReplyOff {
		m.Target.ReplyTo = t.Root
	}
	for _, f := range ev.Files {
		m.Attachments = append(m.Attachments, f.attachment())
	}
	return m
}

func (f file) attachment() core.Attachment {
	at := core.Attachment{Name: f.Name, MIME: f.MIME, Size: f.Size, Note: "files from Slack cannot be read yet"}
	switch f.Mode {
	case "tombstone":
		at.Note = "the file was deleted"
	case "hidden_by_limit":
		at.Note = "Slack hides the file: it is too old for the workspace's plan"
	case "external":
		at.Note = "the file is kept outside of Slack"
	}
	return at
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
	if ev.BotID != "" || ev.Subtype == "bot_message" || ev.User == "USLACKBOT" {
		who.Bot, who.Name = true, ev.Username
		who.ID = first(who.ID, ev.BotID)
	}
	return who
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
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
	if a.own(p, ev) || ev.Edited == nil || before != nil && before.Text == ev.Text || !a.policy.admits(author(ev), a.thread(p, ev)) {
		return nil
	}
	named, cancel := context.WithTimeout(ctx, nameWait)
	defer cancel()
	return a.handler.Change(ctx, core.Change{InboxKey: key, Text: a.plain(named, p.workspace(), ev.Text)})
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
