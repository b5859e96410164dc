package discordtest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/websocket"
)

// The intents that decide which events a bot gets.
const (
	intentGuilds         = 1 << 0
	intentGuildMessages  = 1 << 9
	intentDirectMessages = 1 << 12
	intentMessageContent = 1 << 15
)

// Gateway opcodes.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

// Identify is one opening of a gateway connection by the bot.
type Identify struct {
	Intents int
	Resume  bool // an op 6 instead of an op 2
	At      time.Time
}

// conduct is how the gateway (mis)behaves from now on.
type conduct struct {
	refuse     int           // close code for everybody who identifies or resumes
	heartbeat  time.Duration // interval stated in hello
	reconnects int           // so many connections get op 7 as their first packet
	replay     int           // so many events too many are replayed on a resume
	mute       bool          // say nothing any more, not even acks
}

// session outlives its connections, so that it can be resumed.
type session struct {
	id      string
	intents int
	events  []event
	socket  *socket // nil while nobody is connected
}

type event struct {
	seq  int64
	name string
	data json.RawMessage
}

type frame struct {
	Op int             `json:"op"`
	D  json.RawMessage `json:"d"`
	S  *int64          `json:"s,omitempty"`
	T  string          `json:"t,omitempty"`
}

func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &socket{ws: ws, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = ws.Close()
		return
	}
	interval := s.conduct.heartbeat
	s.open[c] = true
	s.done.Go(c.write)
	s.done.Go(func() { s.read(c) })
	s.mu.Unlock()
	if interval == 0 {
		interval = 41250 * time.Millisecond
	}
	c.send(opHello, object{"heartbeat_interval": interval.Milliseconds()})
}

// read handles what a bot sends until its connection ends.
func (s *Server) read(c *socket) {
	defer s.detach(c)
	for {
		var f frame
		if err := c.ws.ReadJSON(&f); err != nil {
			return
		}
		s.mu.Lock()
		switch {
		case s.conduct.mute:
		case f.Op == opHeartbeat:
			c.send(opHeartbeatAck, nil)
		case f.Op == opIdentify:
			s.identify(c, f.D)
		case f.Op == opResume:
			s.resume(c, f.D)
		}
		s.mu.Unlock()
	}
}

// greet does what identify and resume have in common; it reports false when the
// connection was turned away. The lock is held.
func (s *Server) greet(c *socket, token string, id Identify) bool {
	id.At = time.Now()
	s.identifies = append(s.identifies, id)
	defer s.happened()
	switch {
	case s.conduct.refuse != 0:
		c.close(s.conduct.refuse)
	case token != s.token && token != "Bot "+s.token:
		c.close(4004)
	case s.conduct.reconnects > 0:
		s.conduct.reconnects--
		c.send(opReconnect, nil)
	default:
		return true
	}
	return false
}

func (s *Server) identify(c *socket, raw json.RawMessage) {
	var d struct {
		Token   string
		Intents int
	}
	if json.Unmarshal(raw, &d) != nil {
		c.close(4002)
		return
	}
	if !s.greet(c, d.Token, Identify{Intents: d.Intents}) {
		return
	}
	n := &session{id: "session-" + s.newID(), intents: d.Intents, socket: c}
	s.sessions[n.id] = n
	var guilds []object
	for _, g := range s.guilds {
		guilds = append(guilds, object{"id": g, "unavailable": true})
	}
	n.dispatch("READY", object{"v": 10, "user": s.userJSON(BotID), "guilds": guilds, "session_id": n.id,
		"resume_gateway_url": s.gateway, "private_channels": []object{}, "user_settings": object{},
		"application": object{"id": ApplicationID, "flags": 0}, "shard": []int{0, 1}})
	for _, g := range s.guilds {
		n.dispatch("GUILD_CREATE", s.guildJSON(g))
	}
}

func (s *Server) resume(c *socket, raw json.RawMessage) {
	var d struct {
		Token   string
		Session string `json:"session_id"`
		Seq     int64
	}
	if json.Unmarshal(raw, &d) != nil {
		c.close(4002)
		return
	}
	if !s.greet(c, d.Token, Identify{Resume: true}) {
		return
	}
	old := s.sessions[d.Session]
	if old == nil {
		c.send(opInvalidSession, false)
		return
	}
	if old.socket != nil {
		old.socket.close(4000)
	}
	old.socket = c
	from := d.Seq - int64(s.conduct.replay)
	s.conduct.replay = 0
	for _, e := range old.events {
		if e.seq > from && e.name != "READY" && e.name != "GUILD_CREATE" {
			c.dispatch(e)
		}
	}
	old.dispatch("RESUMED", object{})
}

// detach takes the connection from its session, which stays resumable.
func (s *Server) detach(c *socket) {
	c.drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	for _, n := range s.sessions {
		if n.socket == c {
			n.socket = nil
		}
	}
	s.happened()
}

// dispatch sends an event to every session that asked for one of the intents;
// zero goes to everybody. The lock is held.
func (s *Server) dispatch(name string, intents int, data any) {
	for _, n := range s.sessions {
		if intents == 0 || n.intents&intents != 0 {
			n.dispatch(name, data)
		}
	}
}

// dispatchMessage sends a message as the gateway shows it: with guild and
// member, and without content for a bot that may not read it. The lock is held.
func (s *Server) dispatchMessage(name string, m *Message) {
	c := s.channels[m.Channel]
	for _, n := range s.sessions {
		if n.intents&messageIntent(c) == 0 {
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
	e := event{seq: 1, name: name, data: raw}
	if len(n.events) > 0 {
		e.seq = n.events[len(n.events)-1].seq + 1
	}
	n.events = append(n.events, e)
	if len(n.events) > 10000 {
		n.events = slices.Clone(n.events[5000:])
	}
	if n.socket != nil {
		n.socket.dispatch(e)
	}
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
		"description": nil, "banner": nil, "premium_tier": 0, "preferred_locale": "en-US",
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

// sockets are all live connections. The lock is held.
func (s *Server) sockets() []*socket {
	return slices.Collect(maps.Keys(s.open))
}

// each does something to all live connections.
func (s *Server) each(do func(*socket)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sockets() {
		do(c)
	}
}

// Connected is the number of live sessions of the bot.
func (s *Server) Connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for _, n := range s.sessions {
		if n.socket != nil {
			count++
		}
	}
	return count
}

// Identifies are all attempts of the bot to open a connection.
func (s *Server) Identifies() []Identify {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.identifies)
}

// CloseAll closes every connection with a close code.
func (s *Server) CloseAll(code int) { s.each(func(c *socket) { c.close(code) }) }

// DropAll cuts every connection without a word.
func (s *Server) DropAll() { s.each(func(c *socket) { c.drop() }) }

// AskReconnect sends op 7 to every connection.
func (s *Server) AskReconnect() { s.each(func(c *socket) { c.send(opReconnect, nil) }) }

// Invalidate sends op 9 to every connection. A session that is not resumable
// is gone.
func (s *Server) Invalidate(resumable bool) {
	s.each(func(c *socket) { c.send(opInvalidSession, resumable) })
	if !resumable {
		s.ForgetSessions()
	}
}

// ForgetSessions makes every later resume fail with op 9.
func (s *Server) ForgetSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = map[string]*session{}
}

// Refuse closes every connection that identifies or resumes from now on with a
// close code; zero lets them in again.
func (s *Server) Refuse(code int) { s.behave(func(c *conduct) { c.refuse = code }) }

// ReconnectFirst answers the next n connections with op 7 instead of READY.
func (s *Server) ReconnectFirst(n int) { s.behave(func(c *conduct) { c.reconnects = n }) }

// ReplayMore replays n events to the next resumed session that it has already.
func (s *Server) ReplayMore(n int) { s.behave(func(c *conduct) { c.replay = n }) }

// Mute lets connections stand open and says nothing on them, not even acks.
func (s *Server) Mute(on bool) { s.behave(func(c *conduct) { c.mute = on }) }

// Heartbeat sets the heartbeat interval of coming connections.
func (s *Server) Heartbeat(every time.Duration) { s.behave(func(c *conduct) { c.heartbeat = every }) }

func (s *Server) behave(change func(*conduct)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.conduct)
}

// gatewayInfo answers GET /gateway and /gateway/bot.
func (s *Server) gatewayInfo(*call) (int, any) {
	return http.StatusOK, object{"url": s.gateway, "shards": 1, "session_start_limit": object{
		"total": 1000, "remaining": 999, "reset_after": 14400000, "max_concurrency": 1}}
}
