// Package notices decides who is told of which event, once, and in what words.
//
// A fallback notice is sent once per change of the pair (selected model,
// model that answers), and a cleared notice once when the selected model is
// back. [Next] is the whole rule, a pure function over the [State] that a
// session stores in the same commit that queues the notice: so neither a
// restart nor further turns on the same pair repeat it, and none is lost.
// Notices never enter a transcript or a model's context.
//
// All sentences that people read about models and failures are made here. They
// hold model names and reasons, never a provider's own words, an address, a
// request id or a credential.
package notices

import (
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
)

// Policy says where a fallback notice goes.
type Policy string

// The policies. Every one keeps the state, so that /status is right.
const (
	Reply Policy = "reply" // posted beside the answer; the default
	Log   Policy = "log"   // log and admin feed only
	Off   Policy = "off"   // state only
)

// Policies chooses a policy by the kind of place; the zero value replies
// everywhere.
type Policies struct {
	Default Policy
	ByKind  map[core.Kind]Policy
}

// For is the policy in a place.
func (p Policies) For(k core.Kind) Policy {
	if k == core.KindGroup {
		k = core.KindChannel // a group is a shared place like a channel
	}
	if v, ok := p.ByKind[k]; ok {
		return v
	}
	if p.Default != "" {
		return p.Default
	}
	return Reply
}

// Outcome is what a turn that was answered says about models.
type Outcome struct {
	Turn     string
	Selected llm.Ref
	Active   llm.Ref
	// Attempts are the turn's; the selected model's last one gives the reason.
	Attempts []failover.Attempt
	At       time.Time
}

// Next is the state after an answered turn and the notice text that is due, or
// "" when nothing changed.
func Next(s State, o Outcome) (State, string) {
	if s.Selected != o.Selected {
		// Somebody chose another model: what was said about the old pair is
		// over, silently.
		s = State{}
	}
	before := s
	before.Before = nil
	switch {
	case o.Active == o.Selected:
		if !s.Moved() {
			return State{}, ""
		}
		return State{Selected: o.Selected, Active: o.Selected, Since: o.At, Turn: o.Turn, Before: &before},
			Cleared(o.Selected, s.Active)
	case s.Active == o.Active:
		return s, ""
	}
	reason := o.reason(s)
	return State{Selected: o.Selected, Active: o.Active, Reason: reason, Since: o.At, Turn: o.Turn, Before: &before},
		Moved(o.Active, o.Selected, reason)
}

// reason is why the selected model did not answer.
func (o Outcome) reason(s State) llm.Reason {
	for i := len(o.Attempts) - 1; i >= 0; i-- {
		if a := o.Attempts[i]; a.Model == o.Selected && !a.Won && !a.Switched {
			return a.Cause()
		}
	}
	return s.Reason
}

// Undo is the state before the turn that stored s, for an answer that never
// arrived; another turn's state is left alone.
func (s State) Undo(turn string) State {
	switch {
	case s.Turn != turn:
		return s
	case s.Before == nil:
		return State{}
	}
	return *s.Before
}
