package slacktest

import (
	"maps"
	"strconv"
	"strings"
)

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
		"team_id": p.team, "enterprise_id": s.cfg.Organisation, "api_app_id": App, "response_url": address, "trigger_id": trigger, "is_enterprise_install": strconv.FormatBool(s.cfg.OrgWide),
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

// Click is a person clicking the button with that action id and value, in a
// message of the bot that stands in a channel.
func (s *Server) Click(channel, ts, user, action, value string) (trigger, envelopeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	m := p.find(ts)
	address, trigger := s.newHook(channel, user)
	s.hookOf(trigger).message = m
	container := map[string]any{"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": false}
	if m.ThreadTS != "" {
		container["thread_ts"] = m.ThreadTS
	}
	e := &envelope{kind: "interactive", accepts: true, payload: s.interaction("block_actions", p, user, map[string]any{
		"container": container, "message": inside(m), "trigger_id": trigger, "response_url": address,
		"actions": []any{map[string]any{"type": "button", "action_id": action, "block_id": "b", "action_ts": s.stamp(), "value": value}},
	})}
	s.send(e)
	return trigger, e.id
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

// workspaceOf is the team of an interaction: in a channel that is shared with
// another company it is that of the person, and no part of the organisation.
func (s *Server) workspaceOf(p *place, who *Person) map[string]any {
	if p.shared && who.Team != p.team {
		return map[string]any{"id": who.Team, "domain": "elsewhere"}
	}
	v := map[string]any{"id": p.team, "domain": "fake"}
	if s.cfg.Organisation != "" {
		v["enterprise_id"], v["enterprise_name"] = s.cfg.Organisation, "Fake"
	}
	return v
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
		"team":    s.workspaceOf(p, who),
		"channel": map[string]any{"id": p.id, "name": name},
	}
	if s.cfg.Organisation != "" {
		v["enterprise"] = map[string]any{"id": s.cfg.Organisation, "name": "Fake"}
	}
	maps.Copy(v, fields)
	return v
}
