package failover

import (
	"slices"
	"time"

	"understudy/core/llm"
)

// Source says who set the model that a turn starts with.
type Source string

// The sources of a selection; docs/failover.md has the rules of each.
const (
	FromDefault   Source = "default"
	FromAgent     Source = "agent"
	FromUser      Source = "user"
	FromLegacy    Source = "legacy"
	FromAuto      Source = "auto"
	FromCron      Source = "cron"
	FromHeartbeat Source = "heartbeat"
	FromCLI       Source = "cli"
)

// Models is a primary with its fallbacks, as an operator wrote them. Fallbacks
// is nil where none were written, and empty but not nil where an empty list was.
type Models struct {
	Primary   llm.Ref
	Fallbacks []llm.Ref
}

// Zero reports whether nothing was written.
func (m Models) Zero() bool { return m.Primary == (llm.Ref{}) && m.Fallbacks == nil }

// Policy is what the configuration says about the models of an agent.
type Policy struct {
	Defaults Models
	Agent    Models // zero where the agent has no model of its own
	Job      Models // payload of a job, zero elsewhere
}

// Resolve is the model and source of a session without a choice of its own.
func (p Policy) Resolve() (llm.Ref, Source) {
	if p.Agent.Primary != (llm.Ref{}) {
		return p.Agent.Primary, FromAgent
	}
	return p.Defaults.Primary, FromDefault
}

// Chain is the ordered list of models that a turn may try: requested first,
// without duplicates. The allowlist for people's picks does not filter it.
func (p Policy) Chain(requested llm.Ref, source Source) []llm.Ref {
	own := p.Agent.Fallbacks
	switch source {
	case FromAgent:
		return unique(requested, own) // nil is strict
	case FromCron:
		return p.jobChain(requested)
	case FromDefault, FromAuto, FromHeartbeat:
		if source == FromAuto && own != nil {
			// The agent's own list is an override list; its primary is where
			// the chain can settle again.
			return unique(requested, own, p.Agent.Primary)
		}
		return unique(requested, p.Defaults.Fallbacks, p.Defaults.Primary)
	}
	return []llm.Ref{requested}
}

func (p Policy) jobChain(requested llm.Ref) []llm.Ref {
	switch {
	case p.Job.Fallbacks != nil:
		return unique(requested, p.Job.Fallbacks)
	case len(p.Agent.Fallbacks) > 0:
		return unique(requested, p.Agent.Fallbacks)
	case len(p.Defaults.Fallbacks) > 0:
		return unique(requested, p.Defaults.Fallbacks, p.Defaults.Primary)
	}
	return []llm.Ref{requested}
}

func unique(first llm.Ref, rest []llm.Ref, last ...llm.Ref) []llm.Ref {
	chain := make([]llm.Ref, 1, 1+len(rest)+len(last))
	chain[0] = first
	for _, list := range [...][]llm.Ref{rest, last} {
		for _, r := range list {
			if r != (llm.Ref{}) && !slices.Contains(chain, r) {
				chain = append(chain, r)
			}
		}
	}
	return chain
}

// Plan is what one turn may do. It is fixed when the turn starts; only a choice
// that the user makes meanwhile replaces the chain.
type Plan struct {
	Agent   string
	Session string // names the session in logs and in the skip cache
	Turn    string
	Person  string // for whom the turn is; "" is nobody
	Source  Source
	Chain   []llm.Ref // at least one
	// Lock is the profile that a user tied the session to: candidates of its
	// provider use it and no other.
	Lock string
	// Pins are the profiles, by provider, that are asked first.
	Pins map[string]string
	// Fresh: this is the first turn since a user chose the model.
	Fresh bool
	// Once: the chain is walked once; nothing is waited for.
	Once bool
	// Aside: nobody asked for an answer, so that none is no loss to hear of.
	Aside bool
	// Started is when the turn was taken up; the status notice counts from
	// here.
	Started time.Time
}

// Strict reports whether one model must answer or nobody.
func (p Plan) Strict() bool {
	switch p.Source {
	case FromUser, FromLegacy, FromCLI, FromAgent:
		return len(p.Chain) == 1
	}
	return false
}
