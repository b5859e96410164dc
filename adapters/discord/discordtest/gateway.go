package discordtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// The intents that decide which events a bot gets.
const (
	intentGuilds          = 1 << 0
	intentGuildMessages   = 1 << 9
	intentGuildReactions  = 1 << 10
	intentDirectMessages  = 1 << 12
	intentDirectReactions = 1 << 13
	intentMessageContent  = 1 << 15
)

// The intents that have to be switched on for an application.
const (
	IntentMembers        = 1 << 1
	IntentPresences      = 1 << 8
	IntentMessageContent = intentMessageContent

	knownIntents = 1<<26 - 1
)

// Gateway opcodes.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opPresence       = 3
	opVoice          = 4
	opResume         = 6
	opReconnect      = 7
	opMembers        = 8
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

// Identify is one opening of a gateway connection by the bot.
type Identify struct {
	Intents       int
	Shard, Shards int  // of which there are so many
	Resume        bool // an op 6 instead of an op 2
	Connection    int  // over which; they are counted from 1
	Path          string
	At            time.Time
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
	c := &socket{ws: ws, number: int(s.connections.Add(1)), path: r.URL.Path, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = ws.Close()
		return
	}
	c.interval = s.conduct.heartbeat
	if c.interval == 0 {
		c.interval = 41250 * time.Millisecond
	}
	s.open[c] = true
	s.done.Go(c.write)
	s.done.Go(func() { s.read(c) })
	s.mu.Unlock()
	if v := r.URL.Query().Get("v"); v != "" && v != "9" && v != "10" {
		c.close(4012)
		return
	}
	c.send(opHello, object{"heartbeat_interval": c.interval.Milliseconds(), "_trace": []string{"fake"}})
}

const (
	maxPayload = 4096 // bytes that a bot may send at a time
	maxSends   = 120  // frames that it may send a minute
)

// read handles what a bot sends until its connection ends. One that does not
// send heartbeats is closed.
func (s *Server) read(c *socket) {
	defer s.detach(c)
	for {
		_ = c.ws.SetReadDeadline(time.Now().Add(2*c.interval + heartbeatGrace))
		_, raw, err := c.ws.ReadMessage()
		if err != nil {
			s.left(c, err)
			return
		}
		s.mu.Lock()
		s.take(c, raw)
		s.mu.Unlock()
	}
}

// heartbeatGrace is how much later than due a heartbeat may be.
const heartbeatGrace = time.Second

// take handles one frame of a bot. The lock is held.
func (s *Server) take(c *socket, raw []byte) {
	if s.conduct.mute {
		return
	}
	var f frame
	switch err := json.Unmarshal(raw, &f); {
	case err != nil || len(raw) > maxPayload:
		c.close(4002)
	case c.tooMany():
		c.close(4008)
	case f.Op == opHeartbeat:
		s.beats++
		c.send(opHeartbeatAck, nil)
		s.happened()
	case f.Op == opIdentify && c.known, f.Op == opResume && c.known:
		c.close(4005)
	case f.Op == opIdentify:
		s.identify(c, f.D)
	case f.Op == opResume:
		s.resume(c, f.D)
	case f.Op != opPresence && f.Op != opVoice && f.Op != opMembers:
		c.close(4001)
	case !c.known:
		c.close(4003)
	}
}

// left notes how a bot ended its connection: after a goodbye its session is
// gone, and so it is when it sent no heartbeats.
func (s *Server) left(c *socket, err error) {
	var silent net.Error
	timeout := errors.As(err, &silent) && silent.Timeout()
	s.mu.Lock()
	defer s.mu.Unlock()
	if timeout && s.conduct.mute {
		return
	}
	if timeout {
		s.late++
		_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4009, ""), time.Now().Add(time.Second))
	}
	goodbye := websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) && !c.ending()
	if timeout || goodbye {
		for id, n := range s.sessions {
			if n.socket == c {
				delete(s.sessions, id)
			}
		}
	}
}

// greet does what identify and resume have in common; it reports false when the
// connection was turned away. The lock is held.
func (s *Server) greet(c *socket, token string, id Identify) bool {
	id.At, id.Path, id.Connection = time.Now(), c.path, c.number
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
	case s.conduct.odd > 0:
		s.conduct.odd--
		c.close(s.conduct.code)
	default:
		c.known = true
		return true
	}
	return false
}

func (s *Server) identify(c *socket, raw json.RawMessage) {
	var d struct {
		Token      string
		Intents    *int
		Shard      []int
		Properties map[string]any
	}
	if json.Unmarshal(raw, &d) != nil || d.Intents == nil || d.Properties == nil {
		c.close(4002)
		return
	}
	if d.Shard == nil {
		d.Shard = []int{0, 1}
	}
	valid := len(d.Shard) == 2 && d.Shard[0] >= 0 && d.Shard[0] < d.Shard[1]
	id := Identify{Intents: *d.Intents}
	if valid {
		id.Shard, id.Shards = d.Shard[0], d.Shard[1]
	}
	if !s.greet(c, d.Token, id) {
		return
	}
	c.known = false
	switch {
	case !valid:
		c.close(4010)
	case id.Shards < s.starts.shards:
		c.close(4011)
	case *d.Intents < 0 || *d.Intents > knownIntents:
		c.close(4013)
	case *d.Intents&s.application.off != 0:
		c.close(4014)
	case !s.starts.take(id.Shard):
		c.send(opInvalidSession, false)
	default:
		c.known = true
		s.beginSession(c, id)
	}
}

// beginSession greets a new session with what it needs to know. The lock is held.
func (s *Server) beginSession(c *socket, id Identify) {
	n := &session{id: "session-" + s.newID(), intents: id.Intents, shard: id.Shard, shards: id.Shards, socket: c}
	s.sessions[n.id] = n
	guilds := []object{}
	for _, g := range s.guilds {
		if n.tells(g) {
			guilds = append(guilds, object{"id": g, "unavailable": true})
		}
	}
	n.dispatch("READY", object{"v": 10, "user": s.userJSON(BotID), "guilds": guilds, "session_id": n.id,
		"resume_gateway_url": cmp.Or(s.conduct.resume, s.gateway+"/resume"), "private_channels": []object{}, "user_settings": object{},
		"session_type": "normal", "relationships": []object{}, "presences": []object{}, "_trace": []string{"fake"},
		"application": object{"id": ApplicationID, "flags": s.application.flags()}, "shard": []int{id.Shard, id.Shards}})
	for _, g := range s.guilds {
		if n.tells(g) {
			n.dispatch("GUILD_CREATE", s.guildJSON(g))
		}
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
	old := s.sessions[d.Session]
	id := Identify{Resume: true, Shards: 1}
	if old != nil {
		id.Intents, id.Shard, id.Shards = old.intents, old.shard, old.shards
	}
	if !s.greet(c, d.Token, id) {
		return
	}
	switch {
	case old == nil || d.Seq < old.lost:
		c.known = false
		c.send(opInvalidSession, false)
		return
	case d.Seq > old.seq():
		c.close(4007)
		return
	}
	if old.socket != nil {
		old.socket.close(4000)
	}
	old.socket = c
	from := d.Seq - int64(s.conduct.replay)
	s.conduct.replay = 0
	for _, e := range old.events {
		greeting := e.name == "READY" || e.name == "GUILD_CREATE"
		if e.seq > d.Seq || e.seq > from && !greeting {
			c.dispatch(e)
		}
	}
	old.dispatch("RESUMED", object{"_trace": []string{"fake"}})
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
