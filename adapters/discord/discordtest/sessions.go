package discordtest

import (
	"encoding/json"
	"slices"
	"strconv"
)

// session outlives its connections, so that it can be resumed.
type session struct {
	id      string
	intents int
	shard   int
	shards  int
	lost    int64 // events up to this one are not kept any more
	events  []event
	socket  *socket // nil while nobody is connected
}

type event struct {
	seq  int64
	name string
	data json.RawMessage
}

// tells reports whether what happens in a guild is told to the session. The
// first shard is told what happens outside of guilds.
func (n *session) tells(guild string) bool {
	id, _ := strconv.ParseUint(guild, 10, 64) // none is the first shard's
	return int(id>>22%uint64(n.shards)) == n.shard
}

// dispatch sends an event to every session that asked for one of the intents
// and that is told of its guild; zero goes to everybody. The lock is held.
func (s *Server) dispatch(name string, intents int, data any) {
	o, _ := data.(object)
	guild, _ := o["guild_id"].(string)
	for _, n := range s.sessions {
		if (intents == 0 || n.intents&intents != 0) && n.tells(guild) {
			n.dispatch(name, data)
		}
	}
}

// dispatchMessage sends a message as the gateway shows it: with guild and
// member, and without content for a bot that may not read it. The lock is held.
func (s *Server) dispatchMessage(name string, m *Message) {
	c := s.channels[m.Channel]
	for _, n := range s.sessions {
		if n.intents&messageIntent(c) == 0 || !n.tells(c.Guild) {
			continue
		}
		o := s.messageJSON(m)
		o["channel_type"] = c.Type
		if c.Guild != "" {
			o["guild_id"] = c.Guild
			if m.Webhook == "" {
				o["member"] = s.memberJSON(m.Author)
			}
		}
		open := c.Guild == "" || m.Author == BotID || slices.Contains(m.Mentions, BotID)
		if n.intents&intentMessageContent == 0 && !open {
			o["content"], o["attachments"], o["embeds"], o["components"] = "", []object{}, []object{}, []object{}
		}
		n.dispatch(name, o)
	}
}

func messageIntent(c *Channel) int {
	if c.Guild == "" {
		return intentDirectMessages
	}
	return intentGuildMessages
}

func (n *session) dispatch(name string, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic("fake Discord: " + err.Error()) // a mistake in a test's data
	}
	e := event{seq: n.seq() + 1, name: name, data: raw}
	n.events = append(n.events, e)
	if len(n.events) > maxKept {
		n.events = slices.Clone(n.events[maxKept/2:])
		n.lost = n.events[0].seq - 1
	}
	if n.socket != nil {
		n.socket.dispatch(e)
	}
}

// maxKept are the events of a session that can be replayed.
const maxKept = 10000

// seq is the number of the session's newest event.
func (n *session) seq() int64 {
	if len(n.events) == 0 {
		return 0
	}
	return n.events[len(n.events)-1].seq
}

func (s *Server) guildJSON(id string) object {
	var channels, threads []object
	for _, c := range s.channels {
		switch {
		case c.Guild != id:
		case c.thread() && !c.Archived:
			threads = append(threads, s.channelJSON(c))
		case !c.thread():
			channels = append(channels, s.channelJSON(c))
		}
	}
	member := s.memberJSON(BotID)
	member["user"] = s.userJSON(BotID)
	own := role(BotRole, "understudy")
	own["managed"], own["tags"] = true, object{"bot_id": BotID}
	return object{"id": id, "name": "guild " + id, "icon": nil, "splash": nil, "owner_id": "700",
		"afk_channel_id": nil, "afk_timeout": 300, "verification_level": 0, "default_message_notifications": 0,
		"explicit_content_filter": 0, "roles": []object{role(id, "@everyone"), own},
		"emojis": []object{}, "stickers": []object{}, "features": []string{}, "mfa_level": 0,
		"system_channel_id": nil, "system_channel_flags": 0, "rules_channel_id": nil, "vanity_url_code": nil,
		"description": nil, "banner": nil, "premium_tier": s.boosts[id], "preferred_locale": "en-US",
		"public_updates_channel_id": nil, "nsfw_level": 0, "premium_progress_bar_enabled": false,
		"joined_at": "2026-01-01T00:00:00.000000+00:00", "large": false, "unavailable": false, "member_count": len(s.users),
		"voice_states": []object{}, "members": []object{member}, "channels": orEmpty(channels),
		"threads": orEmpty(threads), "presences": []object{}, "stage_instances": []object{},
		"guild_scheduled_events": []object{}, "soundboard_sounds": []object{}}
}

func role(id, name string) object {
	return object{"id": id, "name": name, "permissions": "0", "color": 0, "hoist": false, "position": 0,
		"colors":  object{"primary_color": 0, "secondary_color": nil, "tertiary_color": nil},
		"managed": false, "mentionable": false, "flags": 0}
}

func orEmpty(o []object) []object {
	if o == nil {
		return []object{}
	}
	return o
}
