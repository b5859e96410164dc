package failover

import (
	"fmt"
	"strings"
	"time"

	"understudy/core/llm"
)

// Kind is what a lost turn failed of, as far as people are concerned.
type Kind string

// The kinds of lost turns; the wording of each is the notices'.
const (
	AllRateLimited Kind = "rate_limited"
	AllOverloaded  Kind = "overloaded"
	AllTransient   Kind = "unavailable" // time-outs and server errors
	AllBilling     Kind = "billing"
	AllAuth        Kind = "auth"
	Mixed          Kind = "mixed"
)

// SummaryError says that a turn has no answer and why. (Elsewhere it is known
// as FallbackSummaryError.) Its text is for logs; what people read is worded by
// the notices.
type SummaryError struct {
	Plan     Plan
	Attempts []Attempt
	// Soonest is when some candidate of this chain becomes usable again; zero
	// when that is not known, or when one is usable now.
	Soonest time.Time
	// Final is the failure that ended the chain at once, nil when it was
	// exhausted.
	Final *llm.Error
	// Shown: people have seen a part of an answer. Tool: a tool was started.
	Shown, Tool bool
	// Size is how long the request was that no window holds, and Window what its
	// model holds, in tokens, where the owner of the turn knows them.
	Size, Window int
	// Alone: there was nothing before the message that could have been left out.
	// Unsummarised is why what was said before could not be summarised.
	Alone        bool
	Unsummarised error
	// TooManySwitches: the user changed the model too often in one turn.
	TooManySwitches bool
	// Local is a fault of this program; no provider is to blame.
	Local          error
	Started, Ended time.Time
}

func (e *SummaryError) Error() string {
	switch {
	case e.Local != nil:
		return "the turn failed inside the program: " + e.Local.Error()
	case e.TooManySwitches:
		return "the model was changed too often in one turn"
	case e.Final != nil && !e.Final.Advances():
		return e.Final.Error()
	}
	var parts []string
	for _, a := range e.Attempts {
		if a.Reason != "" {
			parts = append(parts, fmt.Sprintf("%s: %s", a.Model, a.Cause()))
		}
	}
	return "no model answered: " + strings.Join(parts, ", ")
}

// Unwrap gives the local fault or the final failure.
func (e *SummaryError) Unwrap() error {
	if e.Local != nil {
		return e.Local
	}
	if e.Final != nil {
		return e.Final
	}
	return nil
}

// Requests is the number of requests that were made.
func (e *SummaryError) Requests() int {
	n := 0
	for _, a := range e.Attempts {
		if !a.Skipped && !a.Switched {
			n++
		}
	}
	return n
}

// Last are the last attempts of each candidate that was tried, in the order of
// the chain.
func (e *SummaryError) Last() []Attempt {
	var list []Attempt
	for _, ref := range e.Plan.Chain {
		for i := len(e.Attempts) - 1; i >= 0; i-- {
			if a := e.Attempts[i]; a.Model == ref && !a.Switched && !a.Won {
				list = append(list, a)
				break
			}
		}
	}
	return list
}

// Kind puts the last attempts of all candidates under one heading. Candidates
// that never had a credential do not count while another one does.
func (e *SummaryError) Kind() Kind {
	var kind Kind
	for _, a := range e.Last() {
		k := kindOf(a.Cause())
		if k == "" {
			continue
		}
		if kind != "" && kind != k {
			return Mixed
		}
		kind = k
	}
	if kind == "" {
		return AllAuth
	}
	return kind
}

func kindOf(r llm.Reason) Kind {
	switch r {
	case llm.RateLimit:
		return AllRateLimited
	case llm.Overloaded:
		return AllOverloaded
	case llm.Timeout, llm.ServerError:
		return AllTransient
	case llm.Billing:
		return AllBilling
	case llm.Auth, llm.AuthPermanent:
		return AllAuth
	case llm.MissingAuth, llm.UnknownProvider:
		return ""
	}
	return Mixed
}

// soonest is when the first candidate of the chain becomes usable. A candidate
// held by rate limits of its own model alone is usable with the last of its
// profiles, any other with the first.
func soonest(v View, plan Plan) time.Time {
	var best time.Time
	for _, ref := range plan.Chain {
		var first, last time.Time
		only, held := true, false
		ps := v.Profiles(ref.Provider)
		for _, p := range ps.List {
			if plan.Lock != "" && ProviderOf(plan.Lock) == ref.Provider && plan.Lock != p.ID {
				continue
			}
			b := v.States[p.ID].Blocked(ref.Model, v.Now)
			if !b.Live() {
				return time.Time{} // usable now
			}
			held = true
			only = only && b.rateOnly
			last = later(last, b.Until)
			if first.IsZero() || b.Until.Before(first) {
				first = b.Until
			}
		}
		if !held {
			continue
		}
		if only {
			first = last
		}
		if best.IsZero() || first.Before(best) {
			best = first
		}
	}
	return best
}
