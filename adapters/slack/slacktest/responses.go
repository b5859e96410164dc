package slacktest

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// Uses and life of a response URL (docs.slack.dev, handling interactions).
const (
	hookUses = 5
	hookLife = 30 * time.Minute
)

// Response is what the bot said to one person alone, or through a response URL.
type Response struct {
	Trigger   string // of the interaction; empty for chat.postEphemeral
	Channel   string
	Root      string
	User      string
	Text      string
	Blocks    json.RawMessage
	Ephemeral bool
	Replaces  bool // takes the place of the message that was acted on
}

// hook is one response URL.
type hook struct {
	trigger, channel, user string
	message                *Message // that was acted on, if it stands in the channel
	uses                   int
	made                   time.Time
	spent                  bool // its trigger opened a view
}

// newHook makes a response URL. The lock is held.
func (s *Server) newHook(channel, user string) (address, trigger string) {
	id, trigger := s.id("hook-"), s.id("trigger-")
	s.hooks[id] = &hook{trigger: trigger, channel: channel, user: user, made: s.now()}
	return "http://" + s.listener.Addr().String() + "/response/" + id, trigger
}

// hookOf is the one that was made with a trigger, or nil. The lock is held.
func (s *Server) hookOf(trigger string) *hook {
	for _, h := range s.hooks {
		if h.trigger == trigger {
			return h
		}
	}
	return nil
}

// Hook makes a response URL that belongs to no interaction.
func (s *Server) Hook(channel, user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	address, _ := s.newHook(channel, user)
	return address
}

// response is what is posted to a response URL.
type response struct {
	Text     string          `json:"text"`
	Blocks   json.RawMessage `json:"blocks"`
	Type     string          `json:"response_type"`
	Root     string          `json:"thread_ts"`
	Replaces bool            `json:"replace_original"`
	Deletes  bool            `json:"delete_original"`
}

// serveResponse takes what is posted to a response URL.
func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var v response
	_ = json.Unmarshal(body, &v)
	call := s.record(r, "response", args{"text": v.Text, "blocks": string(v.Blocks), "response_type": v.Type, "thread_ts": v.Root})
	if fault, armed := s.fault("response"); armed && (fault.Error != "" || !fault.answer(s, w, r)) {
		if fault.Error != "" {
			http.Error(w, fault.Error, http.StatusBadRequest)
		}
		s.settleCall(call, cmp.Or(fault.Error, fault.code()))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	s.calls[call].Done = true
	h := s.hooks[strings.TrimPrefix(r.URL.Path, "/response/")]
	if h == nil || h.uses >= hookUses || s.now().Sub(h.made) > hookLife {
		s.calls[call].Error = "used_url"
		http.Error(w, "used_url", http.StatusNotFound)
		return
	}
	if bad := check(args{"text": v.Text, "blocks": string(v.Blocks)}, maxPostText); bad != nil && !v.Deletes {
		s.calls[call].Error, _ = bad["error"].(string)
		http.Error(w, s.calls[call].Error, http.StatusBadRequest)
		return
	}
	h.uses++
	s.respond(h, v)
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "ok")
}

// respond carries out what was posted. A message that stands in the channel is
// replaced in its place, with its metadata; what all are to see becomes a
// message of the bot's.
func (s *Server) respond(h *hook, v response) {
	m, p := h.message, s.places[h.channel]
	switch {
	case v.Deletes:
		if m != nil && !m.Deleted {
			s.remove(p, m)
		}
		return
	case v.Replaces && m != nil && !m.Deleted:
		before := inside(m)
		m.Text, m.Blocks = v.Text, v.Blocks
		s.emitChange(p, m, before, false)
	case v.Type == "in_channel" && !v.Replaces && p != nil:
		m = &Message{Channel: p.id, TS: s.stamp(), ThreadTS: v.Root, User: s.cfg.BotUser, BotID: s.cfg.BotID, Text: v.Text, Blocks: v.Blocks}
		p.add(m)
		s.emit(s.event(m, p))
	}
	s.responses = append(s.responses, Response{
		Trigger: h.trigger, Channel: h.channel, Root: v.Root, User: h.user, Text: v.Text, Blocks: v.Blocks, Ephemeral: v.Type != "in_channel", Replaces: v.Replaces,
	})
}
