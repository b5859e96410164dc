package discordtest

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"time"
)

// The types of channels that a bot meets.
const (
	TextChannel   = 0
	DirectMessage = 1
	GroupMessage  = 3
	VoiceChannel  = 2
	Category      = 4
	Announcements = 5
	NewsThread    = 10
	PublicThread  = 11
	PrivateThread = 12
	Forum         = 15
	Media         = 16
)

// User is a person or a bot.
type User struct {
	ID, Name string
	Nick     string // name in the guild, if it differs
	Roles    []string
	Bot      bool
	NoDirect bool // takes no direct messages
}

// Channel is a place; threads are channels too. The flags at the end refuse
// things as missing permissions do.
type Channel struct {
	ID, Guild, Parent, Name string
	Type                    int
	Recipient               string // the other side of a direct message
	Archived, Locked        bool
	NoAccess                bool // 50001 for everything
	NoPosts                 bool // 50013 when something is sent
	NoThreads               bool // 50013 when a thread is opened
	NoFiles                 bool // 50013 when a file is sent
	NeedsTag                bool // of a forum: a post must have one
}

func (c *Channel) thread() bool { return c.Type >= NewsThread && c.Type <= PrivateThread }

// Message is a message in a channel.
type Message struct {
	ID, Channel, Author string
	Content             string
	Nonce               string
	Reference           string // the message it replies to
	Type, Flags         int
	Mentions            []string // user ids, as the platform counts them
	Everyone            bool     // the author used @everyone or @here
	Webhook             string
	At, Edited          time.Time
	Components          []Row
	Files               []File
	Reactions           []string // of the bot
	// The components and embeds as they came.
	components, embeds json.RawMessage
	// Extra fields are put into the JSON as they are, such as components.
	Extra map[string]any
}

func (s *Server) populate() {
	s.guilds = []string{"900"}
	for _, u := range []User{
		{ID: BotID, Name: "understudy", Bot: true},
		{ID: "700", Name: "ann"}, {ID: "701", Name: "bob"},
		{ID: "805", Name: "otherbot", Bot: true},
	} {
		s.users[u.ID] = &u
	}
	for _, c := range []Channel{
		{ID: "100", Guild: "900", Name: "general"},
		{ID: "110", Guild: "900", Name: "random"},
	} {
		s.channels[c.ID] = &c
	}
}

// AddUser makes or replaces a user.
func (s *Server) AddUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.ID] = &u
}

// AddChannel makes or replaces a channel and tells the bot about it. A channel
// without a guild that is no private one belongs to the first guild.
func (s *Server) AddChannel(c Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Guild == "" && c.Type != DirectMessage && c.Type != GroupMessage {
		c.Guild = s.guilds[0]
	}
	_, known := s.channels[c.ID]
	s.channels[c.ID] = &c
	s.announce(&c, known)
}

// AddQuietly makes a channel without telling the bot, as happens to channels
// that the gateway does not list.
func (s *Server) AddQuietly(c Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[c.ID] = &c
}

// announce dispatches the event that says a channel is new or has changed. The
// lock is held.
func (s *Server) announce(c *Channel, known bool) {
	event := "CHANNEL_CREATE"
	switch {
	case c.thread() && known:
		event = "THREAD_UPDATE"
	case c.thread():
		event = "THREAD_CREATE"
	case known:
		event = "CHANNEL_UPDATE"
	}
	if c.Guild != "" {
		s.dispatch(event, intentGuilds, s.channelJSON(c))
	}
}

// Change alters a channel and tells the bot.
func (s *Server) Change(id string, change func(*Channel)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[id]
	change(c)
	s.announce(c, true)
	s.happened()
}

// Direct is the id of the direct messages between a user and the bot.
func (s *Server) Direct(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.direct(user).ID
}

// direct is Direct with the lock held.
func (s *Server) direct(user string) *Channel {
	id := "6" + user
	if s.channels[id] == nil {
		s.channels[id] = &Channel{ID: id, Type: DirectMessage, Recipient: user}
	}
	return s.channels[id]
}

// Posts are the messages of the bot that a channel shows now, oldest first.
func (s *Server) Posts(channel string) []Message {
	return slices.DeleteFunc(s.Messages(channel), func(m Message) bool { return m.Author != BotID })
}

// Messages are all messages that a channel shows now, oldest first.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Message
	for _, m := range s.messages[channel] {
		all = append(all, *m)
	}
	return all
}

// Exists reports whether there is a channel or thread.
func (s *Server) Exists(channel string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channels[channel] != nil
}

// Threads are the threads of a channel, in order of their ids.
func (s *Server) Threads(parent string) []Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Channel
	for _, id := range slices.Sorted(maps.Keys(s.channels)) {
		if c := s.channels[id]; c.Parent == parent && c.thread() {
			all = append(all, *c)
		}
	}
	return all
}

// find looks a message up in its channel. The lock is held.
func (s *Server) find(channel, id string) *Message {
	for _, m := range s.messages[channel] {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// locate looks a message up in all channels. The lock is held.
func (s *Server) locate(id string) *Message {
	for channel := range s.messages {
		if m := s.find(channel, id); m != nil {
			return m
		}
	}
	return nil
}

// add puts a message into its channel and dispatches it. The lock is held.
func (s *Server) add(m *Message) {
	if m.ID == "" {
		m.ID = s.newID()
	}
	if m.At.IsZero() {
		m.At = time.Now()
	}
	s.store(m)
	c := s.channels[m.Channel]
	if c == nil {
		panic("discordtest: nothing can be said in the channel " + m.Channel + ", which is not there (yet)")
	}
	if c.Archived {
		c.Archived = false
		s.announce(c, true)
	}
	s.messages[m.Channel] = append(s.messages[m.Channel], m)
	s.dispatchMessage("MESSAGE_CREATE", m)
	s.happened()
}

var mentionPattern = regexp.MustCompile(`<@!?(\d+)>`)

// mentioned are the known users that a text mentions. The lock is held.
func (s *Server) mentioned(text string) []string {
	var ids []string
	for _, m := range mentionPattern.FindAllStringSubmatch(text, -1) {
		if s.users[m[1]] != nil && !slices.Contains(ids, m[1]) {
			ids = append(ids, m[1])
		}
	}
	return ids
}

// object is a JSON object.
type object = map[string]any

func (s *Server) userJSON(id string) object {
	u := s.users[id]
	if u == nil {
		u = &User{ID: id, Name: "user" + id}
	}
	return object{"id": u.ID, "username": u.Name, "global_name": nil, "discriminator": "0",
		"avatar": nil, "bot": u.Bot, "flags": 0, "public_flags": 0}
}

func (s *Server) memberJSON(id string) object {
	m := object{"roles": []string{}, "nick": nil, "joined_at": "2026-01-01T00:00:00.000000+00:00",
		"deaf": false, "mute": false, "flags": 0, "premium_since": nil, "pending": false}
	if u := s.users[id]; u != nil {
		if u.Nick != "" {
			m["nick"] = u.Nick
		}
		if u.Roles != nil {
			m["roles"] = u.Roles
		}
	}
	return m
}

func (s *Server) channelJSON(c *Channel) object {
	o := object{"id": c.ID, "type": c.Type, "flags": 0, "last_message_id": nil}
	if all := s.messages[c.ID]; len(all) > 0 {
		o["last_message_id"] = all[len(all)-1].ID
	}
	if c.Guild == "" {
		o["recipients"] = []object{s.userJSON(c.Recipient)}
		return o
	}
	o["guild_id"], o["name"], o["parent_id"] = c.Guild, c.Name, orNull(c.Parent)
	o["position"], o["nsfw"], o["topic"], o["permission_overwrites"] = 0, false, nil, []object{}
	o["rate_limit_per_user"] = 0
	if c.thread() {
		o["owner_id"], o["message_count"], o["member_count"], o["total_message_sent"] = BotID, 0, 1, 0
		o["thread_metadata"] = object{"archived": c.Archived, "locked": c.Locked,
			"auto_archive_duration": 1440, "archive_timestamp": stamp(time.Now())}
	}
	return o
}

// messageJSON is a message as REST shows it; the gateway adds guild and member.
func (s *Server) messageJSON(m *Message) object {
	o := object{"id": m.ID, "channel_id": m.Channel, "author": s.userJSON(m.Author), "content": m.Content,
		"timestamp": stamp(m.At), "edited_timestamp": nil, "tts": false, "mention_everyone": m.Everyone,
		"mentions": []object{}, "mention_roles": []string{}, "attachments": []object{}, "embeds": []object{},
		"components": []object{}, "pinned": false, "type": m.Type, "flags": m.Flags}
	if !m.Edited.IsZero() {
		o["edited_timestamp"] = stamp(m.Edited)
	}
	if m.Nonce != "" {
		o["nonce"] = m.Nonce
	}
	if m.Webhook != "" {
		o["webhook_id"] = m.Webhook
	}
	if m.components != nil {
		o["components"] = m.components
	}
	if m.embeds != nil {
		o["embeds"] = m.embeds
	}
	files := []object{}
	for _, f := range m.Files {
		files = append(files, fileJSON(f))
	}
	o["attachments"] = files
	var mentions []object
	for _, id := range m.Mentions {
		mentions = append(mentions, s.userJSON(id))
	}
	if mentions != nil {
		o["mentions"] = mentions
	}
	if m.Reference != "" {
		o["message_reference"] = object{"type": 0, "message_id": m.Reference, "channel_id": m.Channel}
		o["referenced_message"] = nil
		if r := s.find(m.Channel, m.Reference); r != nil {
			flat := *r
			flat.Reference = ""
			o["referenced_message"] = s.messageJSON(&flat)
		}
	}
	maps.Copy(o, m.Extra)
	return o
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
