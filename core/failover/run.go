package failover

import (
	"slices"
	"time"

	"understudy/core/llm"
)

// The waits between passes.
const (
	maxOverloadRetries = 10
	longestStatedWait  = 30 * time.Second
	transientWait      = 2500 * time.Millisecond
	statusAfter        = 30 * time.Second
	maxSwitches        = 5
)

// overloadWaits are the waits after an overloaded pass; the last one repeats.
var overloadWaits = [...]time.Duration{
	2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second,
}

// View is what a run looks at when it decides: the states of the profiles and
// the profiles of each provider, as they are now.
type View struct {
	Now      time.Time
	States   map[string]State
	Profiles func(provider string) Profiles
}

// StepKind says what a run wants next.
type StepKind int

// The kinds of steps.
const (
	Ask    StepKind = iota // make the request Attempt describes, with Profile
	Wait                   // do nothing until Until, then decide again
	GaveUp                 // the turn has no answer; Err says why
)

// Step is the next thing to do.
type Step struct {
	Kind    StepKind
	Attempt Attempt
	Profile Profile
	Until   time.Time
	Err     *SummaryError
}

// Booking is a change to a profile's state that an outcome demands. Apply it
// to the stored state at once.
type Booking struct {
	Profile string
	Model   string
	Error   *llm.Error // nil for a success
	At      time.Time
}

// passKind tells which blocks a pass overlooks and whether it rotates.
type passKind int

const (
	firstPass passKind = iota
	overloadPass
	transientPass
)

// Run is the step machine of one turn. Next is asked what to do; after a Step
// of kind Ask exactly one of Won, Failed, Unasked or Broke follows.
type Run struct {
	plan      Plan
	rules     Rules
	throttles *Throttles
	skips     *SkipCache

	pass int // from 1
	kind passKind
	at   int // the candidate's place in plan.Chain

	// Of the candidate in this pass.
	asked    int             // requests made
	failed   map[string]bool // profiles that failed
	rotated  map[llm.Reason]int
	rotate   bool      // another profile of it may be asked
	notUntil time.Time // pause before a rotation
	keep     string    // the profile that answered the last call, or is asked again
	mended   bool      // it was asked once more with a mended request
	shrunk   bool      // it was asked once more with a shorter one

	// Of this pass.
	causes     []llm.Reason
	probed     map[string]bool // providers probed by the transient rules
	statedWait time.Time       // the latest end that an overloaded answer named

	// Of the turn.
	flight        *flight
	room          ranking // of one candidate after the other
	lastAsked     map[llm.Ref]string
	own           map[ownKey]time.Time // windows this turn's own transient failures set
	overloads     int
	transientUsed bool
	tool          bool // a tool was started
	switches      int
	freshUsed     bool
	chainPass     int       // the pass in which the present chain is walked first
	resume        time.Time // end of the wait between passes; zero outside of one
	statusFrom    time.Time // when the status notice is due; zero while it is not
	attempts      []Attempt
	decisions     []Decision
	unlogged      int // decisions[unlogged:] were not taken yet
	lost          *SummaryError
}

type ownKey struct{ profile, model string }

type flight struct {
	attempt Attempt
	profile Profile
	undo    func()
}

// NewRun starts a turn's machine at its first candidate.
func NewRun(plan Plan, rules Rules, throttles *Throttles, skips *SkipCache) *Run {
	r := &Run{plan: plan, rules: rules, throttles: throttles, skips: skips,
		lastAsked: map[llm.Ref]string{}, own: map[ownKey]time.Time{}}
	r.beginPass(firstPass)
	r.chainPass = r.pass
	return r
}

// Plan is the plan as it stands, with the chain that a switch may have changed.
func (r *Run) Plan() Plan { return r.plan }

// Attempts are all attempts so far, in order.
func (r *Run) Attempts() []Attempt { return slices.Clone(r.attempts) }

// StatusAt is when the status notice is due: not before an overloaded pass
// ended. ok is false while none is due at all.
func (r *Run) StatusAt() (at time.Time, ok bool) {
	return r.statusFrom, !r.statusFrom.IsZero() && r.lost == nil
}

// ToolStarted marks the turn: from now on no further pass is made.
func (r *Run) ToolStarted() { r.tool = true }

func (r *Run) beginPass(kind passKind) {
	r.pass++
	r.kind, r.at = kind, 0
	r.causes, r.probed, r.statedWait = nil, map[string]bool{}, time.Time{}
	r.resume = time.Time{}
	r.beginCandidate()
}

func (r *Run) beginCandidate() {
	r.asked, r.failed, r.rotated = 0, map[string]bool{}, map[llm.Reason]int{}
	r.rotate, r.notUntil, r.keep, r.mended, r.shrunk = false, time.Time{}, "", false, false
}

func (r *Run) candidate() llm.Ref { return r.plan.Chain[r.at] }

// lastCandidate reports whether nothing follows in this chain.
func (r *Run) lastCandidate() bool { return r.at == len(r.plan.Chain)-1 }

// Next decides the next step.
func (r *Run) Next(v View) Step {
	for {
		switch {
		case r.lost != nil:
			return Step{Kind: GaveUp, Err: r.lost}
		case !r.resume.IsZero():
			if v.Now.Before(r.resume) {
				return Step{Kind: Wait, Until: r.resume}
			}
			r.beginPass(r.kind)
		case r.at >= len(r.plan.Chain):
			r.endPass(v)
		case v.Now.Before(r.notUntil):
			return Step{Kind: Wait, Until: r.notUntil}
		default:
			if s, ok := r.tryCandidate(v); ok {
				return s
			}
		}
	}
}

// tryCandidate picks a profile of the present candidate, or moves on.
func (r *Run) tryCandidate(v View) (Step, bool) {
	ref := r.candidate()
	p, skip := r.pick(v)
	if skip != nil {
		skip.Model, skip.Pass, skip.At, skip.Skipped = ref, r.pass, v.Now, true
		r.attempts = append(r.attempts, *skip)
		r.causes = append(r.causes, skip.Cause())
		r.leave(*skip)
		return Step{}, false
	}
	if p == nil {
		// Every profile that this pass may ask has failed.
		r.leave(r.attempts[len(r.attempts)-1])
		return Step{}, false
	}
	r.notUntil = time.Time{}
	p.attempt.Model, p.attempt.Profile, p.attempt.Pass, p.attempt.At = ref, p.profile.ID, r.pass, v.Now
	r.flight = p
	return Step{Kind: Ask, Attempt: p.attempt, Profile: p.profile}, true
}

// leave moves to the next candidate and notes why.
func (r *Run) leave(why Attempt) {
	r.decide(why)
	r.at++
	r.beginCandidate()
}

// Won books that the request in flight was answered. The run stays where it
// is: the next call of the turn starts with the same profile. mayPin reports
// whether the session may be pinned to the profile.
func (r *Run) Won(v View) (b Booking, pin bool) {
	f := r.land(v.Now)
	f.attempt.Won = true
	r.attempts = append(r.attempts, f.attempt)
	r.wonDecision(f.attempt)
	r.keep, r.mended, r.shrunk = f.profile.ID, false, false
	r.statusFrom = time.Time{}
	ps := v.Profiles(f.attempt.Model.Provider)
	pin = mayPin(ps, v.States, f.attempt.Model.Model, f.profile.ID, v.Now)
	return Booking{Profile: f.profile.ID, Model: f.attempt.Model.Model, At: v.Now}, pin
}

// Failed books that the request in flight failed with e. shown tells that
// people have seen output of this turn, so that nobody else may be asked.
func (r *Run) Failed(v View, e *llm.Error, shown bool) Booking {
	f := r.land(v.Now)
	a := f.attempt
	a.Reason, a.Status, a.Code, a.Detail, a.Until = e.Reason, e.Status, e.Code, e.Detail, e.ResetAt
	r.attempts = append(r.attempts, a)
	r.causes = append(r.causes, e.Reason)
	r.failed[a.Profile] = true
	r.keep = ""
	b := Booking{Profile: a.Profile, Model: a.Model.Model, Error: e, At: v.Now}
	if e.Reason == llm.Overloaded && e.ResetAt.After(r.statedWait) {
		r.statedWait = e.ResetAt
	}
	switch {
	case !e.Advances():
		r.giveUp(v, e, shown)
	case shown:
		r.giveUp(v, e, true)
	default:
		if r.at > 0 && (e.Reason == llm.Auth || e.Reason == llm.AuthPermanent) {
			r.skips.add(r.plan.Session, a.Model, v.Now)
		}
		r.rotate = r.rotates(e, a.Probe)
		if r.rotate && e.Reason == llm.Overloaded && r.rules.OverloadedBackoff > 0 {
			r.notUntil = v.Now.Add(r.rules.OverloadedBackoff)
		}
	}
	return b
}

// Mended books that the request in flight was refused for a fault that could
// be mended: the same candidate is asked once more with the same profile. It
// reports false, and books nothing, when that was done already.
func (r *Run) Mended(now time.Time, e *llm.Error) bool {
	if r.mended {
		return false
	}
	r.mended = true
	r.askAgain(now, e)
	return true
}

// Shrunk books that the request in flight was refused because it was too long:
// the same candidate is asked once more with a shorter one, unless [Run.TooLong]
// follows. It reports false, and books nothing, when that was done already.
func (r *Run) Shrunk(now time.Time, e *llm.Error) bool {
	if r.shrunk {
		return false
	}
	r.shrunk = true
	r.askAgain(now, e)
	return true
}

// TooLong ends the run after Shrunk, since the request cannot be made shorter.
func (r *Run) TooLong(v View, e *llm.Error) { r.giveUp(v, e, false) }

// askAgain notes a refusal after which the same profile is asked once more.
func (r *Run) askAgain(now time.Time, e *llm.Error) {
	f := r.land(now)
	a := f.attempt
	a.Reason, a.Status, a.Code, a.Detail = e.Reason, e.Status, e.Code, e.Detail
	r.attempts = append(r.attempts, a)
	r.keep = f.profile.ID
}

// Booked tells the run which window a booking led to, so that it knows its
// own blocks in a later pass.
func (r *Run) Booked(b Booking, s State) {
	if b.Error == nil {
		return
	}
	switch b.Error.Reason {
	case llm.Overloaded, llm.Timeout:
		if w := s.Models[b.Model]; w.Since.Equal(b.At) {
			r.own[ownKey{b.Profile, b.Model}] = w.Since
		}
	}
	if n := len(r.attempts); n > 0 {
		if until := s.Blocked(b.Model, b.At).Until; !until.IsZero() {
			r.attempts[n-1].Until = until
		}
	}
}

// Unasked takes the request in flight back: it was never made.
func (r *Run) Unasked() {
	if r.flight.undo != nil {
		r.flight.undo()
	}
	r.asked--
	r.flight = nil
}

// Broke ends the run for a fault of this program: nobody is blamed and nothing
// cools down.
func (r *Run) Broke(v View, err error) {
	if r.flight != nil {
		r.flight = nil
	}
	if r.lost == nil {
		r.lost = &SummaryError{Plan: r.plan, Attempts: r.attempts, Local: err}
	}
}

func (r *Run) land(now time.Time) *flight {
	f := r.flight
	r.flight = nil
	f.attempt.Took = now.Sub(f.attempt.At)
	return f
}

// rotates says whether a further profile of the candidate is asked after e.
func (r *Run) rotates(e *llm.Error, probe bool) bool {
	if probe || r.pass != 1 {
		return false // one request per candidate
	}
	if r.lastCandidate() {
		return true // nobody else is left: every usable profile once
	}
	budget := 0
	switch e.Reason {
	case llm.Auth, llm.AuthPermanent, llm.Billing, llm.Timeout, llm.ServerError, llm.ModelNotFound:
		return true
	case llm.Overloaded:
		budget = r.rules.OverloadedRotations
	case llm.RateLimit:
		if !e.Never {
			budget = r.rules.RateLimitedRotations
		}
	}
	if r.rotated[e.Reason] >= budget {
		return false
	}
	r.rotated[e.Reason]++
	return true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
