package store

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"sync"

	"understudy/core/failover"
)

const statesQuery = "SELECT profile, state FROM states WHERE agent = ?"

// States are the states of all profiles of the agent that were ever used.
func (s *Store) States(ctx context.Context, agent string) (map[string]failover.State, error) {
	type named struct {
		profile string
		state   failover.State
	}
	found, err := brief(ctx, s, func(sc scanner) (n named, err error) {
		var doc string
		if err := sc.Scan(&n.profile, &doc); err != nil {
			return n, err
		}
		n.state, err = s.known.state(agent, n.profile, doc)
		return n, err
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
		old, err := one(c, func(sc scanner) (st failover.State, err error) {
			var doc string
			if err := sc.Scan(&doc); err != nil {
				return st, err
			}
			return s.known.state(agent, profile, doc)
		}, "SELECT state FROM states WHERE agent = ? AND profile = ?", agent, profile)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		doc, back, err := encode(change(old))
		if err != nil {
			return err
		}
		s.known.keep(agent, profile, doc, back)
		if doc == "{}" {
			_, err = c.exec("DELETE FROM states WHERE agent = ? AND profile = ?", agent, profile)
			return err
		}
		_, err = c.exec(`INSERT INTO states (agent, profile, state) VALUES (?, ?, ?)
			ON CONFLICT (agent, profile) DO UPDATE SET state = excluded.state`, agent, profile, doc)
		return err
	})
}

// knownStates remembers for each profile what its last document says: every
// decision of every turn reads the states of all profiles, and decoding them
// would take longer than all else of it. Since the document is read each time
// and compared, what another process wrote is never missed. The zero value is
// ready.
type knownStates struct {
	of sync.Map // of knownState by the agent and the profile
}

type knownState struct {
	doc   string
	state failover.State // nobody else has its maps
}

// state decodes the document of a profile unless that was done before.
func (k *knownStates) state(agent, profile, doc string) (st failover.State, err error) {
	if known, ok := k.of.Load([2]string{agent, profile}); ok {
		if known := known.(knownState); known.doc == doc {
			st = known.state
			st.Models = maps.Clone(st.Models)
			return st, nil
		}
	}
	if err = decode(doc, &st); err == nil {
		k.keep(agent, profile, doc, st)
	}
	return st, err
}

// keep remembers that the document of a profile says st.
func (k *knownStates) keep(agent, profile, doc string, st failover.State) {
	st.Models = maps.Clone(st.Models)
	k.of.Store([2]string{agent, profile}, knownState{doc, st})
}
