package failover

import (
	"time"

	"understudy/core/llm"
)

// endPass decides what follows a pass in which nobody answered.
func (r *Run) endPass(v View) {
	overloaded, transientOnly := true, true
	for _, c := range r.causes {
		overloaded = overloaded && c == llm.Overloaded
		transientOnly = transientOnly && (c == llm.Overloaded || c == llm.Timeout || c == llm.ServerError)
	}
	switch {
	case r.tool, r.plan.Once:
		r.giveUp(v, nil, false)
	case len(r.causes) == 0: // the user chose again when all had failed
		r.giveUp(v, nil, false)
	case overloaded && r.overloads < maxOverloadRetries:
		wait := overloadWaits[min(r.overloads, len(overloadWaits)-1)]
		r.overloads++
		r.resume = v.Now.Add(wait)
		if stated := r.statedWait; stated.After(r.resume) {
			r.resume = earlier(stated, v.Now.Add(longestStatedWait))
		}
		r.kind = overloadPass
		if r.statusFrom.IsZero() {
			r.statusFrom = later(r.plan.Started.Add(statusAfter), v.Now)
		}
	case transientOnly && !overloaded && !r.transientUsed:
		r.transientUsed = true
		r.overloads = 0 // an overload that follows has its own retries
		r.resume = v.Now.Add(transientWait)
		r.kind = transientPass
	default:
		r.giveUp(v, nil, false)
	}
	if !r.resume.IsZero() {
		r.decisions[len(r.decisions)-1].again(r.plan.Chain[0])
	}
}

func (r *Run) giveUp(v View, e *llm.Error, shown bool) {
	stopped := e != nil && e.Reason == llm.Abort
	if r.at < len(r.plan.Chain) && !stopped {
		r.decide(r.attempts[len(r.attempts)-1])
	}
	if n := len(r.decisions); n > 0 && !stopped {
		r.decisions[n-1].exhausted()
	}
	r.lost = &SummaryError{
		Plan: r.plan, Attempts: r.attempts, Final: e, Shown: shown, Tool: r.tool,
		Soonest: soonest(v, r.plan), Started: r.plan.Started, Ended: v.Now,
	}
	r.statusFrom = time.Time{}
}
