package slacktest

import (
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
	return page(found, a)
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
	return page(found, a)
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
func page(found []*Message, a args) reply {
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
		if all && m.Metadata != nil {
			v["metadata"] = m.Metadata
		}
		list = append(list, v)
	}
	return reply{"messages": list, "has_more": next != "", "response_metadata": map[string]any{"next_cursor": next}}
}
