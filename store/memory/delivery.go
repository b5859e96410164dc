package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
)

// find is the row of a turn with that kind and part.
func (c *change) find(turn string, kind core.PostKind, part int) (delivery.Row, bool) {
	ids, _ := c.rowsOf.get(turn)
	for _, id := range ids {
		if r, _ := c.rows.get(id); r.Post.Kind == kind && r.Part == part {
			return r, true
		}
	}
	return delivery.Row{}, false
}

// Outgoing are all open rows, in order of ID.
func (s *Store) Outgoing(ctx context.Context) (open []delivery.Row, err error) {
	err = s.read(ctx, func(d *data) error {
		for _, r := range d.rows {
			if r.State.Open() {
				open = append(open, r)
			}
		}
		return nil
	})
	slices.SortFunc(open, func(a, b delivery.Row) int { return cmp.Compare(a.ID, b.ID) })
	return open, err
}

// Queue stores new rows and returns them with their IDs, or the stored ones in
// their place.
func (s *Store) Queue(ctx context.Context, rows ...delivery.Row) ([]delivery.Row, error) {
	queued := make([]delivery.Row, 0, len(rows))
	err := s.write(ctx, "queue", func(c *change) error {
		for _, r := range rows {
			r, err := c.queue(r, false)
			if err != nil {
				return err
			}
			queued = append(queued, r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return queued, nil
}

// queue stores a row, or finds the one that has its place already; replace
// gives that one the new post while it is open.
func (c *change) queue(r delivery.Row, replace bool) (delivery.Row, error) {
	if r.Turn == "" {
		return r, errors.New("store: a delivery row without a turn cannot be told from the next one")
	}
	if old, ok := c.find(r.Turn, r.Post.Kind, r.Part); ok {
		if replace && old.State.Open() {
			old.Post = r.Post
			c.put(old)
		}
		return old, nil
	}
	c.counters.row++
	r.ID = c.counters.row
	r.State = cmp.Or(r.State, delivery.Queued)
	ids, _ := c.rowsOf.get(r.Turn)
	c.rowsOf.set(r.Turn, append(slices.Clip(ids), r.ID))
	return c.put(r), nil
}

// put stores a row under its id and returns it as stored.
func (c *change) put(r delivery.Row) delivery.Row {
	r.Created, r.Settled = stored(r.Created), stored(r.Settled)
	c.rows.set(r.ID, r)
	return r
}

// withdraw marks the open rows of a turn and kind as withdrawn.
func (c *change) withdraw(turn string, kind core.PostKind, now time.Time) {
	ids, _ := c.rowsOf.get(turn)
	for _, id := range ids {
		if r, _ := c.rows.get(id); r.Post.Kind == kind && r.State.Open() {
			r.State, r.Settled = delivery.Withdrawn, now
			c.put(r)
		}
	}
}

// Mark replaces one row; ID, Session and Turn stay.
func (s *Store) Mark(ctx context.Context, id int64, edit func(delivery.Row) delivery.Row) error {
	return s.write(ctx, "mark", func(c *change) error {
		old, ok := c.rows.get(id)
		if !ok {
			return missing("delivery row", id)
		}
		r := edit(old)
		r.ID, r.Session, r.Turn = old.ID, old.Session, old.Turn
		if other, ok := c.find(r.Turn, r.Post.Kind, r.Part); ok && other.ID != id {
			return fmt.Errorf("store: delivery row %d: row %d is that part of the turn already", id, other.ID)
		}
		c.put(r)
		return nil
	})
}

// GiveUp marks an answer as failed and takes back what its turn said beside
// it. A row that was sent or withdrawn stays as it is. Of a row that is no
// answer only the row is marked.
func (s *Store) GiveUp(ctx context.Context, id int64, why string, now time.Time) error {
	return s.write(ctx, "giveup", func(c *change) error {
		r, ok := c.rows.get(id)
		if !ok {
			return missing("delivery row", id)
		}
		if r.State == delivery.Sent || r.State == delivery.Withdrawn {
			return nil
		}
		r.State, r.Error, r.Settled = delivery.Failed, why, now
		c.put(r)
		if r.Post.Kind != core.PostAnswer {
			return nil
		}
		c.withdraw(r.Turn, core.PostNotice, now)
		return c.restoreNotice(r.Session, r.Turn)
	})
}

// restoreNotice puts a session's notice state back to what it was before the
// turn, if it was that turn that set it.
func (c *change) restoreNotice(k core.Key, turn string) error {
	t, err := c.begin(k)
	if err != nil {
		return err
	}
	r, ok := t.session.TakeBack(turn)
	if !ok {
		return nil
	}
	t.SetSession(r)
	return t.err
}

// States are the states of all profiles of the agent that were ever used.
func (s *Store) States(ctx context.Context, agent string) (states map[string]failover.State, err error) {
	states = map[string]failover.State{}
	err = s.read(ctx, func(d *data) error {
		for p, doc := range d.states {
			if p.agent != agent || doc == "{}" {
				continue
			}
			if states[p.id], err = decode[failover.State](doc); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return states, nil
}

// UpdateState replaces one state.
func (s *Store) UpdateState(ctx context.Context, agent, id string, edit func(failover.State) failover.State) error {
	return s.write(ctx, "state", func(c *change) error {
		p := profile{agent, id}
		doc, _ := c.states.get(p)
		old, err := decode[failover.State](doc)
		if err != nil {
			return err
		}
		doc, _, err = encode(edit(old))
		c.states.set(p, doc)
		return err
	})
}
