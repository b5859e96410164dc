package slacktest

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf16"
)

// Slack's limits, as docs.slack.dev states them for the chat methods and Block
// Kit; the sum over all blocks is what users report.
const (
	maxPostText   = 40000
	maxUpdateText = 4000
	maxBlocks     = 50
	maxBlockSum   = 13200
	maxMarkdown   = 12000
	maxSection    = 3000
	maxContext    = 10
	maxMetadata   = 8000 // bytes, with the event type
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
	m := &Message{Channel: p.id, TS: s.stamp(), ThreadTS: root, User: BotUser, BotID: BotID, Text: a["text"], Blocks: raw(a["blocks"]), Metadata: raw(a["metadata"])}
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
	case m.BotID != BotID:
		return failed("cant_update_message")
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
	case m.BotID != BotID:
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

// check holds content against Slack's limits. nil means that it may stand.
func check(a args, maxText int) reply {
	text := a["text"]
	blocks, bad := checkBlocks(a["blocks"])
	switch {
	case bad != nil:
		return bad
	case strings.TrimSpace(text) == "" && blocks == 0:
		return failed("no_text")
	case units(text) > maxText:
		return failed("msg_too_long")
	case len(a["metadata"]) > maxMetadata:
		return failed("metadata_too_large")
	}
	if meta := a["metadata"]; meta != "" {
		var m struct {
			Type    string          `json:"event_type"`
			Payload json.RawMessage `json:"event_payload"`
		}
		if json.Unmarshal([]byte(meta), &m) != nil || m.Type == "" || m.Payload == nil {
			return failed("invalid_metadata_format")
		}
	}
	return nil
}

// block is as much of Block Kit as the limits are about.
type block struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"`
	Elements []struct {
		Type    string            `json:"type"`
		Text    json.RawMessage   `json:"text"`
		Options []json.RawMessage `json:"options"`
	} `json:"elements"`
}

// checkBlocks counts the blocks and holds them against the limits.
func checkBlocks(text string) (n int, bad reply) {
	if text == "" {
		return 0, nil
	}
	var blocks []block
	if json.Unmarshal([]byte(text), &blocks) != nil || len(blocks) > maxBlocks {
		return 0, failed("invalid_blocks_format")
	}
	sum, markdown := 0, 0
	for _, b := range blocks {
		size := units(blockText(b.Text))
		for _, e := range b.Elements {
			size += units(blockText(e.Text))
			if units(blockText(e.Text)) > maxSection || len(e.Options) > 100 {
				return 0, failed("invalid_blocks")
			}
		}
		sum += size
		switch b.Type {
		case "markdown":
			markdown += size
		case "section":
			if size == 0 || size > maxSection {
				return 0, failed("invalid_blocks")
			}
		case "context":
			if len(b.Elements) == 0 || len(b.Elements) > maxContext {
				return 0, failed("invalid_blocks")
			}
		case "":
			return 0, failed("invalid_blocks")
		}
	}
	if sum > maxBlockSum || markdown > maxMarkdown {
		return 0, failed("msg_blocks_too_long")
	}
	return len(blocks), nil
}

// blockText is the text of a block: a string, or an object with a text.
func blockText(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	var object struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(v, &object)
	return object.Text
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

type statusKey struct{ channel, root string }

type status struct {
	text string
	at   time.Time
}

// setStatus is assistant.threads.setStatus: an empty status clears it.
func (s *Server) setStatus(a args) reply {
	p := s.places[a["channel_id"]]
	switch {
	case p == nil:
		return failed("channel_not_found")
	case a["thread_ts"] == "" || p.find(a["thread_ts"]) == nil:
		return failed("thread_not_found")
	}
	key := statusKey{p.id, a["thread_ts"]}
	if a["status"] == "" {
		delete(s.statuses, key)
	} else {
		s.statuses[key] = status{a["status"], time.Now()}
	}
	return reply{}
}

// Status is what a thread shows as the bot's status now.
func (s *Server) Status(channel, root string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.statuses[statusKey{channel, root}]
	if time.Since(st.at) > statusLife {
		return ""
	}
	return st.text
}
