package failover

import (
	"context"
	"math"
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
	block *Block // never nil
}

// unblocked is the block of every free profile. Nobody writes to it.
var unblocked = Block{rateOnly: true}

// place is where a profile stands in an order: what the comparison looks at,
// and nothing else, since a turn ranks every profile of its chain.
type place struct {
	until int64 // when it is free again; isFree for one that is
	class uint8 // less is better: the pinned one if it is free, then by credential
	last  int64 // when it was used last
}

// isFree is before the end of any block.
const isFree = math.MinInt64

// The bits of place.class, the first one counting most; below them is the rank
// of the credential's type.
const (
	notPinned = 1 << 3
	ofType    = 1 << 1
	expired   = 1 << 0
)

func (a *place) before(b *place) bool {
	switch {
	case a.until != b.until:
		return a.until < b.until
	case a.class != b.class:
		return a.class < b.class
	}
	return a.last < b.last
}

// standing is the place of a profile that is free and was used last at last.
func (p *Profile) standing(last time.Time) place {
	at := place{until: isFree, class: uint8(p.Type.rank()) * ofType}
	if p.Expired {
		at.class |= expired
	}
	if !last.IsZero() {
		at.last = last.UnixNano()
	}
	return at
}

// sorted are the indexes of places in their order, made in room; those with
// the same place stay as they are. Lists are short, and many are in order
// already or in the reverse of it.
func sorted(room []int32, places []place) []int32 {
	order := room[:0]
	for i := range places {
		at := &places[i]
		low, high := 0, len(order)
		switch {
		case high == 0 || !at.before(&places[order[high-1]]):
			low = high
		case at.before(&places[order[0]]):
			high = 0
		}
		for low < high {
			if mid := (low + high) / 2; at.before(&places[order[mid]]) {
				high = mid
			} else {
				low = mid + 1
			}
		}
		order = append(order, 0)
		copy(order[low+1:], order[low:])
		order[low] = int32(i)
	}
	return order
}

// short is the length of most lists of profiles: what is made of one of them
// finds room on the stack.
const short = 32

// ranking is the room in which profiles are ranked. It is used again for one
// candidate after the other; the zero value is ready.
type ranking struct {
	list   []ranked
	blocks []Block
}

// rank orders profiles for model: free ones first, in the operator's order or
// in turns, the pinned one before all; then blocked ones, soonest first. What it
// returns is good until it is called again. overlook tells which windows count
// for nothing; nil is none.
func (k *ranking) rank(ps Profiles, states map[string]State, model, pin string, now time.Time, overlook overlooker) []ranked {
	var onStack [short]place
	var blocks [short]*Block
	places, held := onStack[:0], blocks[:0]
	k.blocks = k.blocks[:0]
	for i := range ps.List {
		p := &ps.List[i]
		s := states[p.ID]
		at := place{until: isFree}
		if !ps.Ordered {
			at = p.standing(s.LastUsed)
		}
		block := &unblocked
		if s.booked() {
			if b := k.slot(len(ps.List)); s.blocked(b, p.ID, model, now, overlook) {
				k.blocks = k.blocks[:len(k.blocks)+1]
				block, at.until = b, b.Until.UnixNano()
			}
		}
		if block == &unblocked && p.ID != pin {
			at.class |= notPinned
		}
		places, held = append(places, at), append(held, block)
	}
	var indexes [short]int32
	k.list = slices.Grow(k.list[:0], len(places))
	for _, i := range sorted(indexes[:0], places) {
		k.list = append(k.list, ranked{&ps.List[i], held[i]})
	}
	return k.list
}

// slot is where the next block of at most n can be kept until rank is called
// again.
func (k *ranking) slot(n int) *Block {
	if len(k.blocks) == 0 {
		k.blocks = slices.Grow(k.blocks, n) // and not later, which would move them
	}
	return &k.blocks[:len(k.blocks)+1][len(k.blocks)]
}

// inTurn is the order of the profiles without regard to blocks and pins.
func inTurn(ps Profiles, states map[string]State) []Profile {
	if ps.Ordered {
		return ps.List
	}
	places := make([]place, len(ps.List))
	for i := range ps.List {
		places[i] = ps.List[i].standing(states[ps.List[i].ID].LastUsed)
	}
	list := make([]Profile, 0, len(places))
	for _, i := range sorted(nil, places) {
		list = append(list, ps.List[i])
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

// Ranked is a profile with what blocks it.
type Ranked struct {
	Profile Profile
	Block   Block // not Live for a free profile
}

// Ranked are the profiles in the order in which a new session would ask them
// for the model.
func (ps Profiles) Ranked(states map[string]State, model string, now time.Time) []Ranked {
	var list []Ranked
	for _, r := range new(ranking).rank(ps, states, model, "", now, nil) {
		list = append(list, Ranked{*r.Profile, *r.block})
	}
	return list
}
