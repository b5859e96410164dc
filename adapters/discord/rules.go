package discord

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// rules say who may talk in shared places; see [Config].
type rules struct {
	everywhere bool
	ids        map[string]bool // places; also people who may talk everywhere
	users      map[string]bool // when set, with roles: only these people
	roles      map[string]bool
	bots       bool // bots may talk where people may
}

func parseRules(allow []string) (rules, error) {
	r := rules{ids: map[string]bool{}, users: map[string]bool{}, roles: map[string]bool{}}
	for _, entry := range allow {
		entry = strings.TrimSpace(entry)
		into, id := r.ids, entry
		if kind, rest, ok := strings.Cut(entry, ":"); ok {
			id = rest
			switch kind {
			case "user":
				into = r.users
			case "role":
				into = r.roles
			default:
				return rules{}, fmt.Errorf("allow has %q: an entry is an id, *, user:<id> or role:<id>", entry)
			}
		}
		switch {
		case entry == "":
		case entry == "*":
			r.everywhere = true
		case strings.Trim(id, "0123456789") != "" || id == "":
			return rules{}, fmt.Errorf("allow has %q: ids are numbers (in Discord: Settings, Advanced, Developer Mode, then Copy ID)", entry)
		default:
			into[id] = true
		}
	}
	return r, nil
}

// empty reports whether nobody is named at all.
func (r rules) empty() bool { return !r.everywhere && len(r.ids)+len(r.users)+len(r.roles) == 0 }

// speaker is who wants something, as the rules see him.
type speaker struct {
	id    string
	roles []string
	bot   bool // a bot or webhook
}

// place reports whether one of the ids, from the guild down, is named.
func (r rules) place(ids []string) bool {
	if r.everywhere || slices.ContainsFunc(ids, func(id string) bool { return r.ids[id] }) {
		return true
	}
	// With nothing but people named, they may talk everywhere.
	return len(r.ids) == 0 && len(r.users)+len(r.roles) > 0
}

// shared decides for places that others can read.
func (r rules) shared(places []string, s speaker) bool {
	has := func(named map[string]bool) bool {
		return slices.ContainsFunc(s.roles, func(id string) bool { return named[id] })
	}
	if s.bot && !r.bots {
		return r.ids[s.id] || r.users[s.id] && r.place(places)
	}
	if r.ids[s.id] || has(r.ids) {
		return true
	}
	if len(r.users)+len(r.roles) > 0 && !r.users[s.id] && !has(r.roles) {
		return false
	}
	return r.place(places)
}

// verdict says whether somebody may talk to the bot.
type verdict int

const (
	refused  verdict = iota
	stranger         // the handler knows whether he may
	allowed
)

func verdictOf(ok bool) verdict {
	if ok {
		return allowed
	}
	return refused
}

// direct decides for direct messages.
func (r rules) direct(policy string, s speaker) verdict {
	switch {
	case s.bot || policy == DMOff:
		return refused
	case policy == DMOpen || r.ids[s.id] || r.users[s.id]:
		return allowed
	case policy == DMPairing:
		return stranger
	}
	return refused
}

// admits is the one decision about who may talk to the bot where. It returns
// the place and what holds it. The place may be known in part already. One that
// cannot be looked up is refused.
func (r *run) admits(ctx context.Context, guild string, here wireChannel, s speaker) ([]wireChannel, verdict) {
	if guild == "" {
		here, ok := r.places.private(ctx, here)
		chain := []wireChannel{here}
		switch {
		case !ok:
			return nil, refused // whoever says so without a guild
		case here.Type == typeGroup:
			return chain, verdictOf(r.rules.shared(placeIDs(guild, chain), s))
		}
		return chain, r.rules.direct(r.config.DM, s)
	}
	r.places.hint(guild, here)
	chain, err := r.places.chain(ctx, here.ID)
	if err != nil {
		r.log.Warn("a message is passed over, since its channel is unknown", "channel", here.ID, "error", err)
		return nil, refused
	}
	return chain, verdictOf(r.rules.shared(placeIDs(guild, chain), s))
}

// permits reports whether somebody may talk without being asked who he is.
func (r *run) permits(ctx context.Context, guild, channel string, s speaker) ([]wireChannel, bool) {
	chain, v := r.admits(ctx, guild, wireChannel{ID: channel}, s)
	return chain, v == allowed
}

// placeIDs are the ids by which a place may be named.
func placeIDs(guild string, chain []wireChannel) []string {
	ids := []string{guild}
	for _, c := range chain {
		ids = append(ids, c.ID)
	}
	return ids
}
