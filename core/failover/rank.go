package failover

import (
	"cmp"
	"context"
	"slices"
	"time"

	"understudy/core/llm"
)

// CredentialType is the kind of a credential.
type CredentialType string

// The kinds of credentials, in the order in which round robin prefers them.
const (
	OAuth  CredentialType = "oauth"
	Token  CredentialType = "token"
	APIKey CredentialType = "api_key"
)

func (t CredentialType) rank() int {
	switch t {
	case OAuth:
		return 0
	case Token:
		return 1
	}
	return 2
}

// Profile is one credential of one provider.
type Profile struct {
	ID       string // "provider:name"
	Provider string
	Type     CredentialType
	// Expired marks an OAuth profile whose access token must be refreshed
	// before it can be used.
	Expired bool
	// Client gives the client that speaks with this credential, refreshed if
	// needed. Its error counts as the attempt's failure.
	Client func(context.Context) (llm.Client, error)
}

// Profiles are those of one provider that an agent may use.
type Profiles struct {
	// Known is false for a provider that is not configured at all.
	Known bool
	// Ordered is true when an operator wrote the order down: it is kept as it
	// is. Otherwise the profiles take turns.
	Ordered bool
	List    []Profile
}

// ranked is a profile with what holds it.
type ranked struct {
	*Profile
	block Block
}

// place is where a profile stands in an order: what the comparison looks at,
// and nothing else, since a turn ranks every profile of its chain.
type place struct {
	i           int // in the list
	held        bool
	other       bool // not the pinned one
	kind        int8 // of the credential, less is better
	expired     bool
	last, until int64 // when it was used last, and when it is free again
}

func (a place) compare(b place) int {
	switch {
	case a.held != b.held:
		return compareBool(a.held, b.held)
	case !a.held && a.other != b.other:
		return compareBool(a.other, b.other)
	case a.held && a.until != b.until:
		return cmp.Compare(a.until, b.until)
	}
	return a.inTurn(b)
}

// inTurn compares without regard to blocks and pins.
func (a place) inTurn(b place) int {
	switch {
	case a.kind != b.kind:
		return cmp.Compare(a.kind, b.kind)
	case a.expired != b.expired:
		return compareBool(a.expired, b.expired)
	case a.last != b.last:
		return cmp.Compare(a.last, b.last)
	}
	return cmp.Compare(a.i, b.i)
}

// place is the standing of the i-th profile in state s.
func (ps Profiles) place(i int, s *State) place {
	if ps.Ordered {
		return place{i: i}
	}
	p := &ps.List[i]
	at := place{i: i, kind: int8(p.Type.rank()), expired: p.Expired}
	if !s.LastUsed.IsZero() {
		at.last = s.LastUsed.UnixNano()
	}
	return at
}

// rank orders profiles for model: free ones first, in the operator's order or
// in turns, the pinned one before all; then blocked ones, soonest first. The
// list is built in room, which may be nil.
func rank(room []ranked, ps Profiles, states map[string]State, model, pin string, now time.Time, overlook func(profile, key string, w Window) bool) []ranked {
	var places [32]place // most lists are short enough for the stack
	var held [32]Block
	order, blocks := places[:0], held[:]
	if len(ps.List) > len(held) {
		blocks = make([]Block, len(ps.List))
	}
	for i := range ps.List {
		p := &ps.List[i]
		s := states[p.ID]
		var o func(string, Window) bool
		if overlook != nil {
			o = func(key string, w Window) bool { return overlook(p.ID, key, w) }
		}
		blocks[i] = s.blocked(model, now, o)
		at := ps.place(i, &s)
		at.other = p.ID != pin
		if blocks[i].Live() {
			at.held, at.until = true, blocks[i].Until.UnixNano()
		}
		order = append(order, at)
	}
	slices.SortFunc(order, place.compare)
	list := slices.Grow(room[:0], len(order))
	for _, at := range order {
		list = append(list, ranked{&ps.List[at.i], blocks[at.i]})
	}
	return list
}

// inTurn is the order of the profiles without regard to blocks and pins.
func inTurn(ps Profiles, states map[string]State) []Profile {
	if ps.Ordered {
		return ps.List
	}
	order := make([]place, len(ps.List))
	for i := range ps.List {
		s := states[ps.List[i].ID]
		order[i] = ps.place(i, &s)
	}
	slices.SortFunc(order, place.inTurn)
	list := make([]Profile, len(order))
	for n, at := range order {
		list[n] = ps.List[at.i]
	}
	return list
}

// mayPin reports whether an answer by profile may pin the session to it: not
// while a better one (earlier in the operator's order, or of a better type) was
// merely blocked.
func mayPin(ps Profiles, states map[string]State, model, profile string, now time.Time) bool {
	i := slices.IndexFunc(ps.List, func(p Profile) bool { return p.ID == profile })
	if i < 0 {
		return false
	}
	for j, p := range ps.List {
		better := j < i
		if !ps.Ordered {
			better = p.Type.rank() < ps.List[i].Type.rank()
		}
		if better && p.ID != profile && states[p.ID].Blocked(model, now).Live() {
			return false
		}
	}
	return true
}

func compareBool(a, b bool) int { return boolInt(a) - boolInt(b) }

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Ranked is a profile with what blocks it.
type Ranked struct {
	Profile Profile
	Block   Block // not Live for a free profile
}

// Ranked are the profiles in the order in which a new session would ask them
// for the model.
func (ps Profiles) Ranked(states map[string]State, model string, now time.Time) []Ranked {
	var list []Ranked
	for _, r := range rank(nil, ps, states, model, "", now, nil) {
		list = append(list, Ranked{*r.Profile, r.block})
	}
	return list
}
