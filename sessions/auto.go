package sessions

import (
	"context"
	"slices"
	"time"

	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
)

// autoProbeEvery is how often a session that an older system left on a fallback
// tries the model it came from.
const autoProbeEvery = 5 * time.Minute

// auto is the part of a turn whose session has an auto choice: the model that
// it stands in for counts as selected.
type auto struct {
	origin  llm.Ref
	probing bool // this turn starts with the origin
}

// autoPlan decides whether the turn tries the origin first.
func (t *turn) autoPlan() {
	c := t.sess.Choice
	t.auto.origin = c.Origin
	policy := t.set.agent(t.in.Session.Agent).Policy
	if t.auto.origin == (llm.Ref{}) {
		t.auto.origin, _ = policy.Resolve()
	}
	if !c.Probed.IsZero() && t.record.Started.Sub(c.Probed) < autoProbeEvery {
		return
	}
	t.auto.probing = true
	t.plan.Chain = policy.Chain(t.auto.origin, failover.FromAuto)
	if !slices.Contains(t.plan.Chain, c.Model) {
		t.plan.Chain = append(t.plan.Chain, c.Model)
	}
}

// selected is the model that notices call selected.
func (t *turn) selected() llm.Ref {
	if t.sel.Source == failover.FromAuto {
		return t.auto.origin
	}
	return t.sel.Model
}

// probeWon: the origin answered the turn that tried it.
func (t *turn) probeWon() bool {
	return t.record.Outcome != "" && t.auto.probing && t.answer.Model == t.auto.origin
}

// before is the notice state that a turn is compared with. A session whose
// override came from elsewhere was on its fallback, whoever was told.
func (t *turn) before(s notices.State) notices.State {
	if t.sel.Source == failover.FromAuto && s.Selected != t.auto.origin {
		return notices.State{Selected: t.auto.origin, Active: t.sess.Choice.Model}
	}
	return s
}

// commitWith commits the end of a turn. A choice that cannot be followed goes in
// the transaction that tells so, and an auto choice in that of the turn whose
// probe won, unless somebody chose meanwhile.
func (t *turn) commitWith(ctx context.Context, change func(Tx) error) error {
	if !t.probeWon() && !t.drops {
		return t.b.Store.Commit(ctx, t.in.Session, 0, change)
	}
	return t.b.Store.CommitChoice(ctx, t.in.Session, 0, func(tx ChoiceTx) error {
		c := tx.Session().Choice
		if err := change(tx); err != nil {
			return err
		}
		switch {
		case c != t.sess.Choice:
		case t.drops:
			tx.SetChoice(Choice{})
		default:
			tx.SetChoice(Choice{Lock: c.Lock})
		}
		return nil
	})
}
