package slacktest

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// maxConns is the number of sockets that one app may hold (docs.slack.dev,
// Socket Mode).
const maxConns = 10

// maxAttempts is the first delivery of an envelope and its three repeats.
const maxAttempts = 4

// envelope is one thing that Slack tells and wants acknowledged.
type envelope struct {
	id       string
	kind     string
	payload  any
	raw      []byte // sent as it is, when set
	accepts  bool
	http     bool // it goes to the app's address
	attempts int
	reason   string // of the repeat
	conn     *conn  // the one that it was given to last
	timer    *time.Timer
	acked    []time.Time
	ackBody  json.RawMessage
}

func (e *envelope) stop() {
	if e.timer != nil {
		e.timer.Stop()
	}
}

// frame is the envelope as it goes over the wire.
func (e *envelope) frame() []byte {
	if e.raw != nil {
		return e.raw
	}
	b, _ := json.Marshal(map[string]any{
		"envelope_id": e.id, "type": e.kind, "payload": e.payload, "accepts_response_payload": e.accepts,
		"retry_attempt": e.attempts - 1, "retry_reason": e.reason,
	})
	return b
}

// emit wraps an event and sends it. The lock is held.
func (s *Server) emit(event map[string]any) {
	s.send(&envelope{kind: "events_api", payload: s.wrap(event)})
}

// wrap is the outer part of an Events API payload. Events of a channel are of
// the workspace that the channel is in.
func (s *Server) wrap(event any) map[string]any {
	team, shared := Team, false
	if fields, ok := event.(map[string]any); ok {
		id, _ := fields["channel"].(string)
		if p := s.places[id]; p != nil {
			team, shared = p.team, p.shared
		}
	}
	v := map[string]any{
		"type": "event_callback", "team_id": team, "context_team_id": team, "api_app_id": App,
		"event_id": s.id("Ev"), "event_time": time.Now().Unix(), "event": event, "is_ext_shared_channel": shared,
	}
	authorization := map[string]any{"team_id": team, "user_id": s.cfg.BotUser, "is_bot": true, "enterprise_id": nil, "is_enterprise_install": s.cfg.OrgWide}
	if s.cfg.Organisation != "" {
		v["enterprise_id"], v["context_enterprise_id"], authorization["enterprise_id"] = s.cfg.Organisation, s.cfg.Organisation, s.cfg.Organisation
	}
	v["authorizations"] = []any{authorization}
	return v
}

// send hands an envelope to one connection or the app's address, or counts it
// as missed.
func (s *Server) send(e *envelope) {
	if e.id == "" {
		e.id = s.id("E")
	}
	s.envelopes = append(s.envelopes, e)
	if s.endpoints != nil && !s.closed {
		at := *s.endpoints
		e.http = true
		s.wg.Go(func() { s.post(e, at) })
		return
	}
	if len(s.conns) == 0 {
		s.missed++
		return
	}
	s.deliver(e, "")
}

// deliver gives an envelope to the next connection in turn and waits for the
// acknowledgement in the background. The lock is held.
func (s *Server) deliver(e *envelope, reason string) {
	if s.closed || len(e.acked) > 0 || e.attempts >= maxAttempts || len(s.conns) == 0 {
		return
	}
	s.next = (s.next + 1) % len(s.conns)
	e.attempts++
	e.reason, e.conn = reason, s.conns[s.next]
	e.conn.put(e.frame())
	e.stop()
	e.timer = time.AfterFunc(s.cfg.AckWithin, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.deliver(e, "timeout")
	})
}

// SendEvent sends any event, wrapped as Slack wraps it, and returns the
// envelope's id.
func (s *Server) SendEvent(event any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &envelope{kind: "events_api", payload: s.wrap(event)}
	s.send(e)
	return e.id
}

// SendFrame sends any frame that holds an envelope with that id, well-formed or
// not.
func (s *Server) SendFrame(id string, frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send(&envelope{id: id, raw: frame})
}

// Redeliver sends the newest envelope again as if its acknowledgement had been
// lost. It returns its id, or nothing when there is none yet.
func (s *Server) Redeliver() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.envelopes) == 0 {
		return ""
	}
	last := s.envelopes[len(s.envelopes)-1]
	e := &envelope{id: last.id, kind: last.kind, payload: last.payload, raw: last.raw, accepts: last.accepts, attempts: last.attempts}
	s.envelopes = append(s.envelopes, e)
	s.deliver(e, "timeout")
	return e.id
}

// Acks are the times at which an envelope was acknowledged, over all its
// deliveries, and the newest payload that came with it.
func (s *Server) Acks(id string) (times []time.Time, payload json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.envelopes {
		if e.id == id {
			times = append(times, e.acked...)
			if e.ackBody != nil {
				payload = e.ackBody
			}
		}
	}
	return times, payload
}

// Unacked are the ids of envelopes that were sent and not acknowledged.
func (s *Server) Unacked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, e := range s.envelopes {
		if (e.attempts > 0 || e.http) && len(e.acked) == 0 {
			ids = append(ids, e.id)
		}
	}
	return ids
}

// Missed is the number of envelopes that found no connection.
func (s *Server) Missed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missed
}

// Connected is the number of open sockets.
func (s *Server) Connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Opened is the number of sockets that were ever opened.
func (s *Server) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// Disconnect asks every connection to go, for the reason given: warning,
// refresh_requested, link_disabled, too_many_websockets. All but a warning
// close the socket at once.
func (s *Server) Disconnect(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.put(goodbye(reason))
		if reason != "warning" {
			c.put(nil)
		}
	}
}

// Refuse greets every later connection with a disconnect for that reason;
// empty stops it.
func (s *Server) Refuse(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = reason
}

// Drop cuts every socket without a word.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.close()
	}
}

// Mute stops the pings: to a client the sockets look half-open.
func (s *Server) Mute() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = true
}

func goodbye(reason string) []byte {
	b, _ := json.Marshal(map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": "slacktest"}})
	return b
}

// conn is one socket. Frames are queued, so that no one who holds the server's
// lock ever waits for a reader.
type conn struct {
	ws    *websocket.Conn
	mu    sync.Mutex
	queue [][]byte // nil closes
	wake  chan struct{}
}

func (c *conn) put(frame []byte) {
	c.mu.Lock()
	c.queue = append(c.queue, frame)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *conn) close() { _ = c.ws.NetConn().Close() }

// serveSocket runs one socket until either side ends it.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	ticket := r.URL.Query().Get("ticket")
	valid := s.tickets[ticket]
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if !valid {
		http.Error(w, "no such ticket", http.StatusForbidden)
		return
	}
	// Clients send Slack's own origin, which is not this host.
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &conn{ws: ws, wake: make(chan struct{}, 1)}
	s.attach(c)
	gone := make(chan struct{})
	s.wg.Go(func() { s.write(c, gone) })
	s.read(c)
	close(gone)
	c.close()
	s.detach(c)
}

// attach greets a connection and gives it what still waits for one.
func (s *Server) attach(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	s.opened++
	switch {
	case s.refuse != "":
		c.put(goodbye(s.refuse))
		c.put(nil)
		return
	case len(s.conns) >= maxConns:
		c.put(goodbye("too_many_websockets"))
		c.put(nil)
		return
	case s.closed:
		c.put(nil)
		return
	}
	s.conns = append(s.conns, c)
	hello, _ := json.Marshal(map[string]any{
		"type": "hello", "num_connections": len(s.conns), "connection_info": map[string]any{"app_id": App},
		"debug_info": map[string]any{"host": "slacktest", "approximate_connection_time": 3600},
	})
	c.put(hello)
	for _, e := range s.envelopes {
		if e.attempts > 0 && e.conn == nil && !e.http {
			s.deliver(e, "timeout")
		}
	}
}

// detach forgets a connection and passes its unacknowledged envelopes on.
func (s *Server) detach(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	s.conns = slices.DeleteFunc(s.conns, func(o *conn) bool { return o == c })
	for _, e := range s.envelopes {
		if e.conn == c && len(e.acked) == 0 {
			e.stop()
			e.conn = nil
			s.deliver(e, "timeout")
		}
	}
}

// write sends queued frames and pings.
func (s *Server) write(c *conn, gone <-chan struct{}) {
	ping := time.NewTicker(s.cfg.PingEvery)
	defer ping.Stop()
	for {
		select {
		case <-gone:
			return
		case <-ping.C:
			s.mu.Lock()
			mute := s.mute
			s.mu.Unlock()
			if !mute {
				_ = c.ws.WriteControl(websocket.PingMessage, []byte("ping"), time.Now().Add(time.Second))
			}
		case <-c.wake:
			c.mu.Lock()
			frames := c.queue
			c.queue = nil
			c.mu.Unlock()
			for _, f := range frames {
				if f == nil {
					_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
					c.close()
					return
				}
				if c.ws.WriteMessage(websocket.TextMessage, f) != nil {
					return
				}
			}
		}
	}
}

// read takes acknowledgements until the socket ends.
func (s *Server) read(c *conn) {
	for {
		_, frame, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		var ack struct {
			ID      string          `json:"envelope_id"`
			Payload json.RawMessage `json:"payload"`
		}
		if json.Unmarshal(frame, &ack) == nil && ack.ID != "" {
			s.ack(c, ack.ID, ack.Payload)
		}
	}
}

// LoseAcks lets the next n acknowledgements get lost on their way: Slack sends
// those envelopes again.
func (s *Server) LoseAcks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = n
}

func (s *Server) ack(c *conn, id string, payload json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	if s.deaf > 0 {
		s.deaf--
		return
	}
	for _, e := range slices.Backward(s.envelopes) {
		if e.id == id {
			e.stop()
			e.acked = append(e.acked, time.Now())
			e.ackBody = payload
			return
		}
	}
}
