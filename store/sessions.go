package store

import (
	"context"
	"slices"

	"understudy/core"
	"understudy/sessions"
)

const (
	sessionQuery    = "SELECT choice, record FROM sessions WHERE agent = ? AND thread = ?"
	transcriptQuery = `SELECT seq, entry FROM entries
		WHERE agent = ? AND thread = ? AND transcript = ? ORDER BY seq DESC LIMIT ?`
	turnQuery = "SELECT turn FROM turns WHERE id = ?"
)

// Session is the record as stored, or the zero record with its Key set.
func (s *Store) Session(ctx context.Context, k core.Key) (sessions.Session, error) {
	found, err := brief(ctx, s, func(sc scanner) (sessions.Session, error) { return scanSession(sc, k) },
		sessionQuery, k.Agent, k.Thread)
	if err != nil {
		return sessions.Session{}, err
	}
	if len(found) == 0 {
		return sessions.Session{Key: k}, nil
	}
	return found[0], nil
}

func scanSession(sc scanner, k core.Key) (r sessions.Session, err error) {
	var choice, record string
	if err := sc.Scan(&choice, &record); err != nil {
		return r, err
	}
	if err := decode(record, &r); err != nil {
		return r, err
	}
	r.Key = k
	return r, decode(choice, &r.Choice)
}

// Commit runs a change to one session. The lease is ignored: one process runs
// the sessions of a file.
func (s *Store) Commit(ctx context.Context, k core.Key, _ int64, change func(sessions.Tx) error) error {
	return s.commitTx(ctx, "commit", k, func(t *tx) error { return change(t) })
}

// CommitChoice is Commit for those who may write the choice.
func (s *Store) CommitChoice(ctx context.Context, k core.Key, _ int64, change func(sessions.ChoiceTx) error) error {
	return s.commitTx(ctx, "choice", k, func(t *tx) error { return change(choiceTx{t}) })
}

func (s *Store) commitTx(ctx context.Context, op string, k core.Key, change func(*tx) error) error {
	return s.write(ctx, op, func(c *conn) error {
		t, err := begin(c, k)
		if err != nil {
			return err
		}
		if err := change(t); err != nil {
			return err
		}
		return t.err
	})
}

// Transcript is the newest limit entries of a transcript, oldest first, or fewer
// where they are large.
func (s *Store) Transcript(ctx context.Context, k core.Key, transcript string, limit int) ([]sessions.Entry, error) {
	bytes, enough := 0, false
	entries, err := brief(ctx, s, func(sc scanner) (sessions.Entry, error) {
		if enough {
			return sessions.Entry{}, errEnough
		}
		e, n, err := scanEntry(sc)
		bytes += n
		enough = sessions.Enough(bytes, e)
		return e, err
	}, transcriptQuery, k.Agent, k.Thread, transcript, max(limit, 0))
	slices.Reverse(entries)
	return entries, err
}

// scanEntry reads an entry, and how many bytes it takes.
func scanEntry(sc scanner) (e sessions.Entry, bytes int, err error) {
	var seq int64
	var doc string
	if err := sc.Scan(&seq, &doc); err != nil {
		return e, 0, err
	}
	err = decode(doc, &e)
	e.Seq = seq
	return e, len(doc), err
}

// Turn is the record of a turn.
func (s *Store) Turn(ctx context.Context, id string) (t sessions.Turn, ok bool, err error) {
	found, err := brief(ctx, s, func(sc scanner) (t sessions.Turn, err error) {
		var doc string
		if err := sc.Scan(&doc); err != nil {
			return t, err
		}
		return t, decode(doc, &t)
	}, turnQuery, id)
	if err != nil || len(found) == 0 {
		return t, false, err
	}
	return found[0], true, nil
}
