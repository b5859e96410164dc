package sessions

import (
	"maps"
	"strings"
)

// pins are the profiles that a turn of the session asks first. One that was
// pinned under another order of the operator's does not count any more: whoever
// writes a new order down means it for running sessions as well.
func (s *Settings) pins(agent string, sess Session) map[string]string {
	pins := maps.Clone(sess.Pins)
	maps.DeleteFunc(pins, func(provider, _ string) bool {
		under, known := sess.PinnedUnder[provider] // imported pins have no order
		return known && under != s.orderOf(agent, provider)
	})
	return pins
}

// pin pins the session to a profile of the provider, unless it is pinned.
func (s *Settings) pin(agent string, sess Session, provider, profile string) Session {
	sess.Pins = s.pins(agent, sess)
	if sess.Pins[provider] != "" {
		return sess
	}
	if sess.Pins == nil {
		sess.Pins = map[string]string{}
	}
	sess.Pins[provider] = profile
	sess.PinnedUnder = maps.Clone(sess.PinnedUnder)
	if sess.PinnedUnder == nil {
		sess.PinnedUnder = map[string]string{}
	}
	sess.PinnedUnder[provider] = s.orderOf(agent, provider)
	return sess
}

// orderOf is the operator's order of a provider's profiles; empty where they
// take turns.
func (s *Settings) orderOf(agent, provider string) string {
	ps, err := s.Profiles(agent, provider)
	if err != nil || !ps.Ordered {
		return ""
	}
	ids := make([]string, len(ps.List))
	for i, p := range ps.List {
		ids[i] = p.ID
	}
	return strings.Join(ids, " ")
}
