package sessions

import (
	"context"
	"fmt"

	"understudy/core/failover"
)

// pending is a choice that this turn may still take up: not once people have
// seen output, for one answer is never written by two models.
func (t *turn) pending(ctx context.Context) (failover.Switch, bool, error) {
	s, err := t.b.Store.Session(ctx, t.in.Session)
	if err != nil {
		return failover.Switch{}, false, fmt.Errorf("reading the session: %w", err)
	}
	if s.Pending == nil || t.image || !t.discard() {
		return failover.Switch{}, false, nil
	}
	sel := t.set.resolve(t.in.Session.Agent, s.Choice)
	t.sel = sel
	to := failover.Switch{ID: s.Pending.ID, Model: sel.Model, Lock: sel.Lock}
	if sel.Source != failover.FromUser {
		to.Source, to.Chain = sel.Source, t.set.agent(t.in.Session.Agent).Policy.Chain(sel.Model, sel.Source)
	}
	return to, true, nil
}

// taken clears the mark that was acted on, and no newer one.
func (t *turn) taken(ctx context.Context, id string) error {
	err := t.b.Store.Commit(ctx, t.in.Session, 0, func(tx Tx) error {
		s := tx.Session()
		if s.Pending != nil && s.Pending.ID == id {
			s.Pending, s.Fresh = nil, false // this is the first turn with it
			tx.SetSession(s)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("clearing a pending choice: %w", err)
	}
	return nil
}
