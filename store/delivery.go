package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"understudy/core"
	"understudy/core/delivery"
)

const (
	rowColumns = "id, agent, thread, turn, kind, part, state, platform_id, tries, created, settled, error, post"
	// openStates is written as in the index, which SQLite uses only then.
	openStates    = "state IN ('queued', 'sending', 'preview')"
	rowByID       = "SELECT " + rowColumns + " FROM delivery WHERE id = ?"
	outgoingQuery = "SELECT " + rowColumns + " FROM delivery WHERE " + openStates + " ORDER BY id"
	withdrawQuery = "UPDATE delivery SET state = 'withdrawn', settled = ? WHERE turn = ? AND kind = ? AND " + openStates
)

func scanRow(sc scanner) (r delivery.Row, err error) {
	var kind, post string
	var created, settled instant
	err = sc.Scan(&r.ID, &r.Session.Agent, &r.Session.Thread, &r.Turn, &kind, &r.Part,
		&r.State, &r.PlatformID, &r.Tries, &created, &settled, &r.Error, &post)
	if err != nil {
		return r, err
	}
	r.Created, r.Settled = created.Time, settled.Time
	err = decode(post, &r.Post)
	return r, err
}

// rowArgs are the values of rowColumns after the id.
func rowArgs(r delivery.Row) ([]any, error) {
	post, _, err := encode(r.Post)
	if err != nil {
		return nil, err
	}
	created, err := instant{r.Created}.column()
	if err != nil {
		return nil, err
	}
	settled, err := instant{r.Settled}.column()
	if err != nil {
		return nil, err
	}
	return []any{r.Session.Agent, r.Session.Thread, r.Turn, string(r.Post.Kind), r.Part,
		string(r.State), r.PlatformID, r.Tries, created, settled, r.Error, post}, nil
}

// queueRow stores a row, or finds the one that has its place already; replace
// gives that one the new post while it is open.
func queueRow(c *conn, r delivery.Row, replace bool) (delivery.Row, error) {
	if r.Turn == "" {
		return r, errors.New("store: a delivery row without a turn cannot be told from the next one")
	}
	if r.State == "" {
		r.State = delivery.Queued
	}
	args, err := rowArgs(r)
	if err != nil {
		return r, err
	}
	return one(c, scanRow, `INSERT INTO delivery
		(agent, thread, turn, kind, part, state, platform_id, tries, created, settled, error, post)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
		ON CONFLICT (turn, kind, part) DO UPDATE SET post = iif(?13 AND `+openStates+`, excluded.post, post)
		RETURNING `+rowColumns, append(args, replace)...)
}

func withdraw(c *conn, turn string, kind core.PostKind, now time.Time) error {
	at, err := instant{now}.column()
	if err != nil {
		return err
	}
	_, err = c.exec(withdrawQuery, at, turn, string(kind))
	return err
}

// Outgoing are all open rows, in order of ID.
func (s *Store) Outgoing(ctx context.Context) ([]delivery.Row, error) {
	return list(ctx, s, scanRow, outgoingQuery)
}

// Queue stores new rows and returns them with their IDs, or the stored ones in
// their place.
func (s *Store) Queue(ctx context.Context, rows ...delivery.Row) ([]delivery.Row, error) {
	var queued []delivery.Row
	err := s.write(ctx, "queue", func(c *conn) error {
		queued = make([]delivery.Row, 0, len(rows))
		for _, r := range rows {
			r, err := queueRow(c, r, false)
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

// Mark replaces one row; ID, Session and Turn stay.
func (s *Store) Mark(ctx context.Context, id int64, change func(delivery.Row) delivery.Row) error {
	return s.write(ctx, "mark", func(c *conn) error {
		old, err := rowOf(c, id)
		if err != nil {
			return err
		}
		return updateRow(c, old, change(old))
	})
}

// GiveUp marks an answer as failed and takes back what its turn said beside
// it. A row that was sent or withdrawn stays as it is. Of a row that is no
// answer only the row is marked.
func (s *Store) GiveUp(ctx context.Context, id int64, why string, now time.Time) error {
	return s.write(ctx, "giveup", func(c *conn) error {
		old, err := rowOf(c, id)
		if err != nil || old.State == delivery.Sent || old.State == delivery.Withdrawn {
			return err
		}
		r := old
		r.State, r.Error, r.Settled = delivery.Failed, why, now
		if err := updateRow(c, old, r); err != nil || r.Post.Kind != core.PostAnswer {
			return err
		}
		if err := withdraw(c, r.Turn, core.PostNotice, now); err != nil {
			return err
		}
		return restoreNotice(c, r.Session, r.Turn)
	})
}

// restoreNotice puts a session's notice state back to what it was before the
// turn, if it was that turn that set it.
func restoreNotice(c *conn, k core.Key, turn string) error {
	t, err := begin(c, k)
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

func rowOf(c *conn, id int64) (delivery.Row, error) {
	r, err := one(c, scanRow, rowByID, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = missing("delivery row", id)
	}
	return r, err
}

// updateRow replaces a row, all but its ID, Session and Turn.
func updateRow(c *conn, old, r delivery.Row) error {
	r.ID, r.Session, r.Turn = old.ID, old.Session, old.Turn
	args, err := rowArgs(r)
	if err != nil {
		return err
	}
	if _, err := c.exec(`UPDATE delivery SET (agent, thread, turn, kind, part, state, platform_id, tries, created, settled, error, post)
		= (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) WHERE id = ?13`, append(args, r.ID)...); err != nil {
		return fmt.Errorf("store: delivery row %d: %w", r.ID, err)
	}
	return nil
}
