package slacktest

import (
	"encoding/json"
	"time"
)

// Slack's limits for modals (docs.slack.dev, views).
const (
	triggerLife  = 3 * time.Second
	maxViewTitle = 24
	maxViewParts = 100
	maxPrivate   = 3000
)

// View is a modal that a person has open.
type View struct {
	ID       string
	User     string
	Title    string
	Callback string // callback_id
	Blocks   json.RawMessage
	Private  string // private_metadata
	Updates  int
}

type view struct {
	View
	hash string
}

// viewRequest is as much of a view as is checked and kept.
type viewRequest struct {
	Type  string `json:"type"`
	Title struct {
		Text string `json:"text"`
	} `json:"title"`
	Blocks   json.RawMessage `json:"blocks"`
	Private  string          `json:"private_metadata"`
	Callback string          `json:"callback_id"`
}

// openView is views.open. A trigger is good for one view, for three seconds.
func (s *Server) openView(a args) reply {
	user, bad := s.useTrigger(a["trigger_id"])
	if bad != nil {
		return bad
	}
	r, bad := readView(a["view"])
	if bad != nil {
		return bad
	}
	v := &view{View: View{ID: s.id("V"), User: user}}
	s.views[v.ID] = v
	v.show(s, r)
	return reply{"view": v.answer()}
}

// updateView is views.update. A hash that is given must be that of the view as
// it stands.
func (s *Server) updateView(a args) reply {
	v := s.views[a["view_id"]]
	switch {
	case v == nil:
		return failed("not_found")
	case a["hash"] != "" && a["hash"] != v.hash:
		return failed("hash_conflict")
	}
	r, bad := readView(a["view"])
	if bad != nil {
		return bad
	}
	v.Updates++
	v.show(s, r)
	return reply{"view": v.answer()}
}

func (v *view) show(s *Server, r viewRequest) {
	v.Title, v.Callback, v.Blocks, v.Private, v.hash = r.Title.Text, r.Callback, r.Blocks, r.Private, s.id("hash-")
}

func (v *view) answer() map[string]any {
	return map[string]any{"id": v.ID, "hash": v.hash, "type": "modal", "callback_id": v.Callback, "private_metadata": v.Private, "blocks": v.Blocks, "team_id": Team, "app_id": App}
}

func readView(text string) (viewRequest, reply) {
	var r viewRequest
	if json.Unmarshal([]byte(text), &r) != nil || r.Type != "modal" || r.Title.Text == "" || units(r.Title.Text) > maxViewTitle || units(r.Private) > maxPrivate {
		return r, failed("invalid_arguments")
	}
	if _, bad := checkBlockList(string(r.Blocks), maxViewParts); bad != nil {
		return r, bad
	}
	return r, nil
}

// useTrigger spends a trigger and says whose it was. The lock is held.
func (s *Server) useTrigger(id string) (user string, bad reply) {
	h := s.hookOf(id)
	switch {
	case h == nil:
		return "", failed("invalid_trigger_id")
	case h.spent:
		return "", failed("exchanged_trigger_id")
	case s.now().Sub(h.made) > triggerLife:
		return "", failed("expired_trigger_id")
	}
	h.spent = true
	return h.user, nil
}

// Views are the modals that were opened, in no order.
func (s *Server) Views() []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []View
	for _, v := range s.views {
		open = append(open, v.View)
	}
	return open
}

// PickInView is the person who has a modal open choosing value from the menu,
// or clicking the button, with that action id.
func (s *Server) PickInView(id, action, value string) (trigger, envelopeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[id]
	_, trigger = s.newHook("", v.User)
	e := &envelope{kind: "interactive", accepts: true, payload: map[string]any{
		"type": "block_actions", "user": map[string]any{"id": v.User, "team_id": Team}, "team": map[string]any{"id": Team}, "api_app_id": App,
		"container": map[string]any{"type": "view", "view_id": v.ID}, "trigger_id": trigger, "view": v.answer(),
		"actions": []any{map[string]any{
			"type": "static_select", "action_id": action, "block_id": "b", "action_ts": s.stamp(),
			"selected_option": map[string]any{"text": map[string]any{"type": "plain_text", "text": value}, "value": value},
		}},
	}}
	s.send(e)
	return trigger, e.id
}

// Submit is the person who has a modal open sending it, with value chosen in
// the menu with that action id.
func (s *Server) Submit(id, action, value string) (trigger, envelopeID string) {
	return s.submit(id, map[string]any{"b": map[string]any{action: map[string]any{
		"type": "static_select", "selected_option": map[string]any{"value": value},
	}}})
}

// Fill is the person who has a modal open sending it, with a text in the field
// of that block and action.
func (s *Server) Fill(id, block, action, text string) (trigger, envelopeID string) {
	return s.submit(id, map[string]any{block: map[string]any{action: map[string]any{"type": "plain_text_input", "value": text}}})
}

func (s *Server) submit(id string, values map[string]any) (trigger, envelopeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[id]
	_, trigger = s.newHook("", v.User)
	shown := v.answer()
	shown["state"] = map[string]any{"values": values}
	e := &envelope{kind: "interactive", accepts: true, payload: map[string]any{
		"type": "view_submission", "user": map[string]any{"id": v.User, "team_id": Team}, "team": map[string]any{"id": Team}, "api_app_id": App,
		"trigger_id": trigger, "view": shown,
	}}
	s.send(e)
	return trigger, e.id
}
