package slacktest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
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

// Hook makes a response URL that belongs to no interaction.
func (s *Server) Hook(channel, user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	address, _ := s.newHook(channel, user)
	return address
}

// Slash is a person giving a native command such as "/model" in a channel. It
// returns the ids of the interaction and of the envelope.
func (s *Server) Slash(channel, user, command, text string) (trigger, envelopeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	name := p.name
	switch p.kind {
	case "im":
		name = "directmessage"
	case "group":
		name = "privategroup"
	}
	address, trigger := s.newHook(channel, user)
	who := s.users[user]
	e := &envelope{kind: "slash_commands", accepts: true, payload: map[string]any{
		"command": command, "text": text, "user_id": user, "user_name": strings.ToLower(who.Name), "channel_id": channel, "channel_name": name,
		"team_id": p.team, "api_app_id": App, "response_url": address, "trigger_id": trigger, "is_enterprise_install": strconv.FormatBool(s.cfg.OrgWide),
	}}
	s.send(e)
	return trigger, e.id
}

// Pick is a person choosing value from the menu with that action id, in an
// ephemeral message of the channel, or of the thread of root if it is set.
func (s *Server) Pick(channel, root, user, action, value string) (trigger, envelopeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	address, trigger := s.newHook(channel, user)
	container := map[string]any{"type": "message", "message_ts": s.stamp(), "channel_id": channel, "is_ephemeral": true}
	if root != "" {
		container["thread_ts"] = root
	}
	e := &envelope{kind: "interactive", accepts: true, payload: s.interaction("block_actions", s.places[channel], user, map[string]any{
		"container": container, "trigger_id": trigger, "response_url": address,
		"actions": []any{map[string]any{
			"type": "static_select", "action_id": action, "block_id": "b", "action_ts": s.stamp(),
			"selected_option": map[string]any{"text": map[string]any{"type": "plain_text", "text": value}, "value": value},
		}},
	})}
	s.send(e)
	return trigger, e.id
}

// serveResponse takes what is posted to a response URL.
func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var v struct {
		Text     string          `json:"text"`
		Blocks   json.RawMessage `json:"blocks"`
		Type     string          `json:"response_type"`
		Replaces bool            `json:"replace_original"`
	}
	_ = json.Unmarshal(body, &v)
	call := s.record(r, "response", args{"text": v.Text, "blocks": string(v.Blocks), "response_type": v.Type})
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	h := s.hooks[strings.TrimPrefix(r.URL.Path, "/response/")]
	if h == nil || h.uses >= hookUses || s.now().Sub(h.made) > hookLife {
		s.calls[call].Error = "used_url"
		http.Error(w, "used_url", http.StatusNotFound)
		return
	}
	if bad := check(args{"text": v.Text, "blocks": string(v.Blocks)}, maxPostText); bad != nil {
		s.calls[call].Error, _ = bad["error"].(string)
		http.Error(w, s.calls[call].Error, http.StatusBadRequest)
		return
	}
	h.uses++
	s.responses = append(s.responses, Response{Trigger: h.trigger, Channel: h.channel, User: h.user, Text: v.Text, Blocks: v.Blocks, Ephemeral: v.Type != "in_channel", Replaces: v.Replaces})
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "ok")
}

// Shortcut is a person choosing a shortcut of the app from the menu of a
// message.
func (s *Server) Shortcut(channel, user, callback, ts string) (trigger, envelopeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	address, trigger := s.newHook(channel, user)
	e := &envelope{kind: "interactive", payload: s.interaction("message_action", p, user, map[string]any{
		"callback_id": callback, "trigger_id": trigger, "response_url": address, "message_ts": ts, "message": inside(p.find(ts)), "action_ts": s.stamp(),
	})}
	s.send(e)
	return trigger, e.id
}

// Suggest is a person typing into a menu whose options the app offers while
// people type.
func (s *Server) Suggest(channel, user, action, typed string) (envelopeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	e := &envelope{kind: "interactive", accepts: true, payload: s.interaction("block_suggestion", p, user, map[string]any{
		"action_id": action, "block_id": "b", "value": typed, "container": map[string]any{"type": "message", "message_ts": s.stamp(), "channel_id": channel, "is_ephemeral": true},
	})}
	s.send(e)
	return e.id
}

// interaction is what the payloads of interactions have in common. The lock is
// held.
func (s *Server) interaction(kind string, p *place, user string, fields map[string]any) map[string]any {
	name := p.name
	if p.kind == "im" {
		name = "directmessage"
	}
	who := s.users[user]
	v := map[string]any{
		"type": kind, "api_app_id": App, "token": "unused", "is_enterprise_install": s.cfg.OrgWide, "enterprise": nil,
		"user":    map[string]any{"id": user, "team_id": who.Team, "name": strings.ToLower(who.Name)},
		"team":    map[string]any{"id": p.team, "domain": "fake"},
		"channel": map[string]any{"id": p.id, "name": name},
	}
	if s.cfg.Organisation != "" {
		v["enterprise"] = map[string]any{"id": s.cfg.Organisation, "name": "Fake"}
	}
	maps.Copy(v, fields)
	return v
}
