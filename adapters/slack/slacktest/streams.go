package slacktest

import (
	"encoding/json"
	"time"
)

const (
	// maxStreamText is what one call may add (docs.slack.dev, chat.appendStream).
	maxStreamText = 12000
	// streamLife is when Slack ends a stream by itself. Slack does not say;
	// about five minutes are what people see.
	streamLife = 5 * time.Minute
)

type messageKey struct{ channel, ts string }

// stream is a message that grows.
type stream struct {
	until   time.Time
	stopped bool
}

// growing reports whether a message is in the streaming state. The lock is held.
func (s *Server) growing(m *Message) bool {
	st := s.streams[messageKey{m.Channel, m.TS}]
	return st != nil && !st.stopped && s.now().Before(st.until)
}

// Streaming reports whether a message is still open for more text.
func (s *Server) Streaming(channel, ts string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.places[channel].find(ts)
	return m != nil && !m.Deleted && s.growing(m)
}

// streamText is the text that a call adds: markdown_text, or what stands in
// chunks of that type, of which clients send either.
func streamText(a args) string {
	var chunks []struct{ Type, Text string }
	_ = json.Unmarshal([]byte(a["chunks"]), &chunks) // other kinds of chunks show no text
	text := a["markdown_text"]
	for _, c := range chunks {
		if c.Type == "markdown_text" {
			text += c.Text
		}
	}
	return text
}

// startStream is chat.startStream. A stream is a reply; outside of direct
// messages it names who reads it.
func (s *Server) startStream(a args) reply {
	p, bad := s.writable(a["channel"])
	if bad != nil {
		return bad
	}
	root := p.find(a["thread_ts"])
	switch {
	case a["thread_ts"] == "":
		return failed("invalid_arguments")
	case root == nil || root.Deleted || root.ThreadTS != "" && root.ThreadTS != root.TS:
		return failed("thread_not_found")
	case p.kind != "im" && a["recipient_user_id"] == "":
		return failed("missing_recipient_user_id")
	case p.kind != "im" && a["recipient_team_id"] == "":
		return failed("missing_recipient_team_id")
	case a["recipient_user_id"] != "" && !s.human(a["recipient_user_id"]):
		return failed("user_not_found")
	case units(streamText(a)) > maxStreamText:
		return failed("msg_too_long")
	}
	m := &Message{Channel: p.id, TS: s.stamp(), ThreadTS: root.TS, User: s.cfg.BotUser, BotID: s.cfg.BotID, Text: streamText(a)}
	p.add(m)
	s.streams[messageKey{p.id, m.TS}] = &stream{until: s.now().Add(streamLife)}
	delete(s.statuses, statusKey{p.id, root.TS})
	s.emit(s.event(m, p))
	return reply{"channel": p.id, "ts": m.TS}
}

func (s *Server) human(id string) bool {
	who := s.users[id]
	return who != nil && !who.Bot
}

// appendStream is chat.appendStream.
func (s *Server) appendStream(a args) reply {
	_, m, bad := s.streamed(a)
	switch {
	case bad != nil:
		return bad
	case streamText(a) == "" && a["chunks"] == "":
		return failed("no_text")
	}
	m.Text += streamText(a)
	return reply{"channel": m.Channel, "ts": m.TS}
}

// stopStream is chat.stopStream. Its blocks go under the text.
func (s *Server) stopStream(a args) reply {
	p, m, bad := s.streamed(a)
	if bad != nil {
		return bad
	}
	if _, bad := checkBlocks(a["blocks"]); bad != nil {
		return bad
	}
	if bad := checkMetadata(a["metadata"]); bad != nil {
		return bad
	}
	before := inside(m)
	m.Text += streamText(a)
	if meta := raw(a["metadata"]); meta != nil {
		m.Metadata = meta
	}
	if blocks := raw(a["blocks"]); blocks != nil && string(blocks) != "[]" {
		text, _ := json.Marshal(map[string]string{"type": "markdown", "text": m.Text})
		m.Blocks = append(append([]byte{'['}, append(text, ',')...), blocks[1:]...)
	}
	s.streams[messageKey{p.id, m.TS}].stopped = true
	s.emitChange(p, m, before, false)
	return reply{"channel": p.id, "ts": m.TS, "message": inside(m)}
}

// streamed is the growing message that a call is about.
func (s *Server) streamed(a args) (*place, *Message, reply) {
	p, bad := s.writable(a["channel"])
	if bad != nil {
		return nil, nil, bad
	}
	m := p.find(a["ts"])
	switch {
	case m == nil || m.Deleted:
		return nil, nil, failed("message_not_found")
	case m.BotID != s.cfg.BotID:
		return nil, nil, failed("message_not_owned_by_app")
	case !s.growing(m):
		return nil, nil, failed("message_not_in_streaming_state")
	case units(streamText(a)) > maxStreamText:
		return nil, nil, failed("msg_too_long")
	}
	return p, m, nil
}
