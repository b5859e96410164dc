package slacktest

import (
	"encoding/json"
	"slices"
	"strings"
)

// Person is somebody of the workspace, or a bot.
type Person struct {
	ID, Name string
	Team     string // empty for the server's own
	Bot      bool
	BotID    string
}

// Message is something that stands, or stood, in a channel.
type Message struct {
	Channel  string
	TS       string
	ThreadTS string // the root, for replies
	User     string
	Team     string // of the user
	Guest    bool   // the user is of another workspace than the channel
	BotID    string
	Subtype  string
	Text     string
	Blocks   json.RawMessage
	Metadata json.RawMessage
	Files    []map[string]any
	Shared   []map[string]any // what it forwards
	Edits    int
	Deleted  bool
}

// place is a conversation with its messages in the order of their timestamps.
type place struct {
	id, kind, name string
	team           string // the workspace that it is in
	shared         bool   // with another company
	archived       bool
	outside        bool // the bot is no member
	messages       []*Message
	byTS           map[string]*Message
}

// AddPerson makes somebody known.
func (s *Server) AddPerson(p Person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Team == "" {
		p.Team = Team
	}
	s.users[p.ID] = &p
}

// AddPlace makes a conversation with the bot in it. Kind is what Slack calls
// channel_type: channel, group (a private channel), im or mpim.
func (s *Server) AddPlace(id, kind, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[id] = &place{id: id, kind: kind, name: name, team: Team, byTS: map[string]*Message{}}
}

// Move puts a channel into another workspace of the organisation.
func (s *Server) Move(channel, team string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[channel].team = team
}

// Share shares a channel with another company (Slack Connect).
func (s *Server) Share(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[channel].shared = true
}

// Archive closes a channel.
func (s *Server) Archive(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[channel].archived = true
}

// Expel takes the bot out of a channel. It then hears mentions only, and
// cannot post.
func (s *Server) Expel(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[channel].outside = true
}

// find is the message with that timestamp, or nil. Deleted ones count.
func (p *place) find(ts string) *Message { return p.byTS[ts] }

func (p *place) add(m *Message) {
	p.messages = append(p.messages, m)
	p.byTS[m.TS] = m
}

// Said holds the choices of one Say.
type Said struct {
	Thread       string
	Subtype      string
	Only         string // of the two events of a mention
	MentionFirst bool
	Files        []map[string]any
	Shared       []map[string]any
	Blocks       json.RawMessage
}

// Option changes how something is said.
type Option func(*Said)

// In says it in the thread of the message with that timestamp.
func In(root string) Option { return func(o *Said) { o.Thread = root } }

// Broadcast shows a reply in the channel as well.
func Broadcast() Option { return func(o *Said) { o.Subtype = "thread_broadcast" } }

// MentionFirst sends the app_mention before the message event.
func MentionFirst() Option { return func(o *Said) { o.MentionFirst = true } }

// Only sends one of the two events of a mention: "message" or "app_mention".
// Any other word sends none: the message stands there, and nobody is told.
func Only(event string) Option { return func(o *Said) { o.Only = event } }

// Blocks are what the person wrote as Slack's editor made it.
func Blocks(blocks string) Option { return func(o *Said) { o.Blocks = json.RawMessage(blocks) } }

// Subtype says it as a message of another kind, such as "me_message".
func Subtype(kind string) Option { return func(o *Said) { o.Subtype = kind } }

// File attaches a file.
func File(name, mime string, size int) Option {
	return func(o *Said) {
		o.Subtype = "file_share"
		o.Files = append(o.Files, map[string]any{"id": "F" + name, "name": name, "mimetype": mime, "size": size})
	}
}

// Forwarding puts what somebody else said into the message, as Slack does when
// a message is shared.
func Forwarding(author, text string) Option {
	return func(o *Said) {
		o.Shared = append(o.Shared, map[string]any{"is_share": true, "is_msg_unfurl": true, "author_name": author, "text": text,
			"fallback": "[Nov 30th] " + author + ": " + text, "channel_id": "C0ELSE", "ts": "1700000000.000100"})
	}
}

// Attached is a part of an app's message that is not its text.
func Attached(fallback, text string) Option {
	return func(o *Said) {
		o.Shared = append(o.Shared, map[string]any{"id": 1, "fallback": fallback, "text": text, "color": "d00000"})
	}
}

// Say is a person, or another bot, speaking. It returns the timestamp. In a
// shared place a mention of the bot sends two events with the same timestamp.
func (s *Server) Say(channel, user, text string, opts ...Option) string {
	var o Said
	for _, opt := range opts {
		opt(&o)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	m := &Message{Channel: channel, TS: s.stamp(), ThreadTS: o.Thread, User: user, Text: text, Subtype: o.Subtype, Files: o.Files, Shared: o.Shared, Blocks: o.Blocks}
	if who := s.users[user]; who != nil {
		m.BotID, m.Team, m.Guest = who.BotID, who.Team, who.Team != p.team
	}
	p.add(m)
	ev := s.event(m, p)
	var events []map[string]any
	if !p.outside && (o.Only == "" || o.Only == "message") {
		events = append(events, ev)
	}
	if strings.Contains(text, "<@"+s.cfg.BotUser+">") && p.kind != "im" && (o.Only == "" || o.Only == "app_mention") {
		events = append(events, mention(ev))
	}
	if o.MentionFirst {
		slices.Reverse(events)
	}
	for _, e := range events {
		s.emit(e)
	}
	s.touch()
	return m.TS
}

// event is a message as its event tells it.
func (s *Server) event(m *Message, p *place) map[string]any {
	ev := inside(m)
	ev["channel"], ev["channel_type"], ev["event_ts"] = p.id, p.kind, m.TS
	if root := p.find(m.ThreadTS); root != nil && root != m && root.User != "" {
		ev["parent_user_id"] = root.User
	}
	return ev
}

// inside is a message as it is shown within an event or a history.
func inside(m *Message) map[string]any {
	v := map[string]any{"type": "message", "ts": m.TS, "text": m.Text}
	set := func(key, value string) {
		if value != "" {
			v[key] = value
		}
	}
	set("user", m.User)
	set("bot_id", m.BotID)
	set("subtype", m.Subtype)
	set("thread_ts", m.ThreadTS)
	set("team", m.Team)
	if m.Subtype == "file_share" {
		delete(v, "team") // such an event does not say who is at home where
	} else if m.Guest {
		v["user_team"], v["source_team"] = m.Team, m.Team
	}
	if m.BotID == BotID {
		v["app_id"] = App
	}
	if m.Blocks != nil {
		v["blocks"] = m.Blocks
	}
	if len(m.Files) > 0 {
		v["files"] = m.Files
	}
	if len(m.Shared) > 0 {
		v["attachments"] = m.Shared
	}
	return v
}

// mention is the app_mention event for a message event, which lacks some of
// its fields.
func mention(message map[string]any) map[string]any {
	ev := map[string]any{"type": "app_mention"}
	for _, k := range []string{"user", "text", "ts", "thread_ts", "event_ts", "channel", "team", "user_team", "source_team", "bot_id", "files", "attachments", "blocks"} {
		if v, ok := message[k]; ok {
			ev[k] = v
		}
	}
	return ev
}

// Edit is a person changing a message.
func (s *Server) Edit(channel, ts, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	m := p.find(ts)
	before := inside(m)
	m.Text = text
	s.emitChange(p, m, before, true)
	s.touch()
}

// Repeat is Slack telling of a message a second time, in an envelope of its own.
func (s *Server) Repeat(channel, ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	s.emit(s.event(p.find(ts), p))
	s.touch()
}

// Unfurl is Slack adding a link preview: the message changes, its text does
// not.
func (s *Server) Unfurl(channel, ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	m := p.find(ts)
	s.emitChange(p, m, inside(m), false)
	s.touch()
}

// Remove is a person deleting a message.
func (s *Server) Remove(channel, ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	s.remove(p, p.find(ts))
	s.touch()
}

// remove deletes a message and tells so. A root with replies turns into a
// tombstone on Slack; here too it is the change event that tells.
func (s *Server) remove(p *place, m *Message) {
	before := inside(m)
	m.Deleted = true
	replies := slices.ContainsFunc(p.messages, func(r *Message) bool { return r.ThreadTS == m.TS && !r.Deleted })
	at := s.stamp()
	ev := map[string]any{
		"type": "message", "subtype": "message_deleted", "hidden": true, "channel": p.id, "channel_type": p.kind,
		"deleted_ts": m.TS, "ts": at, "event_ts": at, "previous_message": before,
	}
	if replies {
		ev["subtype"] = "message_changed"
		delete(ev, "deleted_ts")
		ev["message"] = map[string]any{"type": "message", "subtype": "tombstone", "ts": m.TS, "thread_ts": m.TS, "text": "This message was deleted.", "user": "USLACKBOT", "hidden": true}
	}
	s.emit(ev)
}

// emitChange tells that a message changed; by hand adds the edited mark.
func (s *Server) emitChange(p *place, m *Message, before map[string]any, byHand bool) {
	m.Edits++
	at := s.stamp()
	after := inside(m)
	if byHand {
		after["edited"] = map[string]any{"user": m.User, "ts": at}
	}
	s.emit(map[string]any{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": p.id, "channel_type": p.kind,
		"ts": at, "event_ts": at, "message": after, "previous_message": before,
	})
}
