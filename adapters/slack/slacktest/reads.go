package slacktest

import (
	"maps"
	"slices"
	"strconv"
)

// history is conversations.history: what stands in the channel itself, newest
// first.
func (s *Server) history(a args) reply {
	p := s.places[a["channel"]]
	if p == nil {
		return failed("channel_not_found")
	}
	if p.outside {
		return failed("not_in_channel")
	}
	var found []*Message
	for _, m := range p.messages {
		reply := m.ThreadTS != "" && m.ThreadTS != m.TS && m.Subtype != "thread_broadcast"
		if !m.Deleted && !reply && within(m, a) {
			found = append(found, m)
		}
	}
	slices.Reverse(found)
	return p.page(found, a)
}

// replies is conversations.replies: the root and its replies, oldest first. For
// the timestamp of a reply it is that message alone.
func (s *Server) replies(a args) reply {
	p := s.places[a["channel"]]
	if p == nil {
		return failed("channel_not_found")
	}
	root := p.find(a["ts"])
	if root == nil {
		return failed("thread_not_found")
	}
	var found []*Message
	for _, m := range p.messages {
		if !m.Deleted && (m == root || m.ThreadTS == root.TS && within(m, a)) {
			found = append(found, m)
		}
	}
	return p.page(found, a)
}

// threading is what a message tells about its thread where it is read: a root
// with replies how many, a reply whose thread it is in.
func (p *place) threading(m *Message) map[string]any {
	if m.ThreadTS != "" && m.ThreadTS != m.TS {
		if root := p.find(m.ThreadTS); root != nil && root.User != "" {
			return map[string]any{"parent_user_id": root.User}
		}
		return nil
	}
	replies, latest := 0, ""
	for _, r := range p.messages {
		if !r.Deleted && r.ThreadTS == m.TS && r != m {
			replies, latest = replies+1, r.TS
		}
	}
	if replies == 0 {
		return nil
	}
	return map[string]any{"thread_ts": m.TS, "reply_count": replies, "latest_reply": latest}
}

// within reports whether a message is between oldest and latest. Timestamps
// here are all of one length, so that text order is time order.
func within(m *Message, a args) bool {
	inclusive := a["inclusive"] == "1" || a["inclusive"] == "true"
	if o := a["oldest"]; o != "" && (m.TS < o || m.TS == o && !inclusive) {
		return false
	}
	if l := a["latest"]; l != "" && (m.TS > l || m.TS == l && !inclusive) {
		return false
	}
	return true
}

// page cuts the part out that cursor and limit ask for.
func (p *place) page(found []*Message, a args) reply {
	limit, _ := strconv.Atoi(a["limit"])
	if limit <= 0 || limit > 1000 {
		limit = 100
	}
	start, _ := strconv.Atoi(a["cursor"])
	start = min(max(start, 0), len(found))
	end := min(start+limit, len(found))
	next := ""
	if end < len(found) {
		next = strconv.Itoa(end)
	}
	all := a["include_all_metadata"] == "1" || a["include_all_metadata"] == "true"
	list := []any{}
	for _, m := range found[start:end] {
		v := inside(m)
		maps.Copy(v, p.threading(m))
		if all && m.Metadata != nil {
			v["metadata"] = m.Metadata
		}
		list = append(list, v)
	}
	return reply{"messages": list, "has_more": next != "", "response_metadata": map[string]any{"next_cursor": next}}
}
