package slacktest

import (
	"encoding/json"
	"slices"
	"time"
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
