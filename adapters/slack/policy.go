package slack

import (
	"sync"

	"understudy/core"
)

// policy is who may talk to the bot.
type policy struct {
	ids map[string]bool
	dm  DMPolicy
}

func newPolicy(allow []string, dm DMPolicy) policy {
	p := policy{ids: map[string]bool{}, dm: dm}
	for _, id := range allow {
		p.ids[id] = true
	}
	return p
}

// admits reports whether somebody may talk to the bot in a place. It is asked
// on every entrance: messages, commands and picks from menus.
func (p policy) admits(who core.Author, t core.Thread) bool {
	named := p.ids[who.ID]
	if who.Bot {
		return named // a loop of two bots must be somebody's decision
	}
	if guest := who.Team != "" && who.Team != t.Workspace; guest && !named && !p.ids[who.Team] {
		return false
	}
	if t.Kind == core.KindDirect {
		switch p.dm {
		case DMOpen:
			return true
		case DMOff:
			return false
		}
		return named || p.ids[t.Workspace]
	}
	return p.ids[Everybody] || named || p.ids[t.Channel] || p.ids[t.Workspace]
}

// recent remembers the newest keys it was given, up to a bound.
type recent[K comparable] struct {
	mu   sync.Mutex
	keys map[K]bool
	ring []K
	at   int
}

func newRecent[K comparable](most int) *recent[K] {
	return &recent[K]{keys: map[K]bool{}, ring: make([]K, most)}
}

// add remembers a key and reports whether it is new.
func (r *recent[K]) add(k K) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys[k] {
		return false
	}
	delete(r.keys, r.ring[r.at])
	r.keys[k] = true
	r.ring[r.at] = k
	r.at = (r.at + 1) % len(r.ring)
	return true
}

func (r *recent[K]) has(k K) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[k]
}
