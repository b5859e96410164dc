package store

import (
	"context"
	"database/sql"
	"errors"

	"understudy/core/failover"
)

const statesQuery = "SELECT profile, state FROM states WHERE agent = ?"

// States are the states of all profiles of the agent that were ever used.
func (s *Store) States(ctx context.Context, agent string) (map[string]failover.State, error) {
	type named struct {
		profile string
		state   failover.State
	}
	found, err := list(ctx, s, func(sc scanner) (n named, err error) {
		var doc string
		if err := sc.Scan(&n.profile, &doc); err != nil {
			return n, err
		}
		return n, decode(doc, &n.state)
	}, statesQuery, agent)
	if err != nil {
		return nil, err
	}
	states := make(map[string]failover.State, len(found))
	for _, n := range found {
		states[n.profile] = n.state
	}
	return states, nil
}

// UpdateState replaces one state. One that is zero again is forgotten.
func (s *Store) UpdateState(ctx context.Context, agent, profile string, change func(failover.State) failover.State) error {
	return s.write(ctx, "state", func(c *conn) error {
		old, err := one(c, scanState, "SELECT state FROM states WHERE agent = ? AND profile = ?", agent, profile)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		doc, _, err := encode(change(old))
		if err != nil {
			return err
		}
		if doc == "{}" {
			_, err = c.exec("DELETE FROM states WHERE agent = ? AND profile = ?", agent, profile)
			return err
		}
		_, err = c.exec(`INSERT INTO states (agent, profile, state) VALUES (?, ?, ?)
			ON CONFLICT (agent, profile) DO UPDATE SET state = excluded.state`, agent, profile, doc)
		return err
	})
}

func scanState(sc scanner) (st failover.State, err error) {
	var doc string
	if err := sc.Scan(&doc); err != nil {
		return st, err
	}
	return st, decode(doc, &st)
}
