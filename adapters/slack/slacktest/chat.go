package slacktest

import (
	"encoding/json"
	"time"
	"unicode/utf16"
)

// Slack's limits, as docs.slack.dev states them for the chat methods.
const (
	maxPostText   = 40000
	maxUpdateText = 4000
	statusLife    = 2 * time.Minute
)

// postMessage is chat.postMessage.
func (s *Server) postMessage(a args) reply {
	p, bad := s.writable(a["channel"])
	if bad != nil {
		return bad
	}
	if bad := check(a, maxPostText); bad != nil {
		return bad
	}
	root := a["thread_ts"]
	if root != "" {
		parent := p.find(root)
		switch {
		case parent == nil:
			return failed("thread_not_found")
		case parent.ThreadTS != "" && parent.ThreadTS != parent.TS:
			// Slack leaves this undefined; here the mistake shows.
			return failed("thread_not_found")
		case parent.Deleted:
			root = "" // lands in the channel, and the answer has no thread_ts
		}
	}
	if wait := s.limited("chat.postMessage " + p.id); wait > 0 {
		return reply{"error": "ratelimited", "retry": wait}
	}
	m := &Message{Channel: p.id, TS: s.stamp(), ThreadTS: root, User: s.cfg.BotUser, BotID: s.cfg.BotID, Text: a["text"], Blocks: raw(a["blocks"]), Metadata: raw(a["metadata"])}
	p.add(m)
	delete(s.statuses, statusKey{p.id, a["thread_ts"]})
	s.emit(s.event(m, p))
	return reply{"channel": p.id, "ts": m.TS, "message": inside(m)}
}

// updateMessage is chat.update. Blocks go when only a text is given.
func (s *Server) updateMessage(a args) reply {
	p, bad := s.writable(a["channel"])
	if bad != nil {
		return bad
	}
	m := p.find(a["ts"])
	switch {
	case m == nil || m.Deleted:
		return failed("message_not_found")
	case m.BotID != s.cfg.BotID:
		return failed("cant_update_message")
	case s.growing(m):
		return failed("streaming_state_conflict")
	}
	if bad := check(a, maxUpdateText); bad != nil {
		return bad
	}
	before := inside(m)
	m.Text, m.Blocks = a["text"], raw(a["blocks"])
	if meta := raw(a["metadata"]); meta != nil {
		m.Metadata = meta
	}
	s.emitChange(p, m, before, false)
	return reply{"channel": p.id, "ts": m.TS, "text": m.Text, "message": inside(m)}
}

// deleteMessage is chat.delete.
func (s *Server) deleteMessage(a args) reply {
	p := s.places[a["channel"]]
	if p == nil {
		return failed("channel_not_found")
	}
	m := p.find(a["ts"])
	switch {
	case m == nil || m.Deleted:
		return failed("message_not_found")
	case m.BotID != s.cfg.BotID, s.growing(m):
		return failed("cant_delete_message")
	}
	s.remove(p, m)
	return reply{"channel": p.id, "ts": m.TS}
}

// postEphemeral is chat.postEphemeral; nothing of it stays.
func (s *Server) postEphemeral(a args) reply {
	p, bad := s.writable(a["channel"])
	if bad != nil {
		return bad
	}
	if s.users[a["user"]] == nil {
		return failed("user_not_in_channel")
	}
	if bad := check(a, maxPostText); bad != nil {
		return bad
	}
	s.responses = append(s.responses, Response{Channel: p.id, Root: a["thread_ts"], User: a["user"], Text: a["text"], Blocks: raw(a["blocks"]), Ephemeral: true})
	return reply{"message_ts": s.stamp()}
}

// writable is a channel that the bot may post in.
func (s *Server) writable(channel string) (*place, reply) {
	p := s.places[channel]
	switch {
	case p == nil:
		return nil, failed("channel_not_found")
	case p.archived:
		return nil, failed("is_archived")
	case p.outside:
		return nil, failed("not_in_channel")
	}
	return p, nil
}

// limited is how many seconds a call must wait, zero for not at all. Each call
// takes its share of a second; shares may be taken for a second ahead.
func (s *Server) limited(key string) int {
	if s.cfg.PostsPerSecond == 0 {
		return 0
	}
	now := time.Now()
	taken := s.limits[key]
	if taken.Before(now) {
		taken = now
	}
	if ahead := taken.Sub(now); ahead >= time.Second {
		return int(ahead/time.Second) + 1
	}
	s.limits[key] = taken.Add(time.Duration(float64(time.Second) / s.cfg.PostsPerSecond))
	return 0
}

// units counts as JavaScript does, which is never less than the number of
// characters.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

// raw is JSON text, or nil for none.
func raw(text string) json.RawMessage {
	if text == "" || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}
