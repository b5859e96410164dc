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
	Profile
	block Block
}

// rank orders profiles for model: free ones first, in the operator's order or
// in turns, the pinned one before all; then blocked ones, soonest first.
func rank(ps Profiles, states map[string]State, model, pin string, now time.Time, overlook func(profile, key string, w Window) bool) []ranked {
	list := make([]ranked, 0, len(ps.List))
	for _, p := range inTurn(ps, states) {
		var o func(string, Window) bool
		if overlook != nil {
			o = func(key string, w Window) bool { return overlook(p.ID, key, w) }
		}
		list = append(list, ranked{p, states[p.ID].blocked(model, now, o)})
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		return cmp.Or(
			compareBool(a.block.Live(), b.block.Live()),
			compareBool(a.ID != pin, b.ID != pin)*boolInt(!a.block.Live()),
			a.block.Until.Compare(b.block.Until),
		)
	})
	return list
}

// inTurn is the order of the profiles without regard to blocks and pins.
func inTurn(ps Profiles, states map[string]State) []Profile {
	if ps.Ordered {
		return ps.List
	}
	list := slices.Clone(ps.List)
	slices.SortStableFunc(list, func(a, b Profile) int {
		return cmp.Or(
			cmp.Compare(a.Type.rank(), b.Type.rank()),
			compareBool(a.Expired, b.Expired),
			states[a.ID].LastUsed.Compare(states[b.ID].LastUsed),
		)
	})
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
	for _, r := range rank(ps, states, model, "", now, nil) {
		list = append(list, Ranked{r.Profile, r.block})
	}
	return list
}
