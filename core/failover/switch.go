package failover

import (
	"slices"

	"understudy/core/llm"
)

// Switch takes up what the user chose while the turn runs. A later candidate is
// gone to directly; any other model starts a chain of its own. Nothing follows
// a model that was chosen by name. Where only the profile changed, the chain
// goes on with it.
func (r *Run) Switch(v View, s Switch) {
	from := r.plan.Chain[min(r.at, len(r.plan.Chain)-1)]
	r.attempts = append(r.attempts, Attempt{Model: from, Pass: r.pass, At: v.Now, Switched: true})
	r.switches++
	if r.switches > maxSwitches {
		r.lost = &SummaryError{Plan: r.plan, Attempts: r.attempts, TooManySwitches: true, Started: r.plan.Started, Ended: v.Now}
		return
	}
	r.decideSwitch(from, s.Model)
	source, chain := FromUser, []llm.Ref{s.Model}
	if len(s.Chain) > 0 {
		source, chain = s.Source, s.Chain
	}
	r.plan.Source, r.plan.Lock, r.plan.Fresh, r.freshUsed = source, s.Lock, source == FromUser, false
	if slices.Equal(chain, r.plan.Chain) {
		r.beginCandidate()
		return
	}
	begun := slices.ContainsFunc(r.attempts, func(a Attempt) bool { return !a.Switched })
	j := slices.Index(r.plan.Chain[min(r.at, len(r.plan.Chain)):], s.Model)
	r.plan.Chain, r.at = chain, 0
	switch {
	case j >= 0 || !begun:
		r.beginCandidate() // also the one that failed: it was asked for anew
	default:
		r.beginPass(overloadPass)
	}
	r.causes, r.keep, r.chainPass = nil, "", r.pass
}

// Bound is the most requests that a plan may lead to for one model call, given
// how many profiles each candidate has: every profile once in the first pass,
// and one request per candidate in each later one. Calls that follow tools add
// one request each, those that a switch adds are at most one per switch and
// later pass.
func (p Plan) Bound(profiles func(llm.Ref) int) int {
	n := 0
	for _, ref := range p.Chain {
		n += max(1, profiles(ref))
	}
	later := 2*maxOverloadRetries + 1
	return 3*(n+later*len(p.Chain)) + maxSwitches // each may be mended once, and shortened once
}
