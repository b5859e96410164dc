package store

import (
	"context"

	"understudy/core"
	"understudy/sessions"
)

const (
	keptQuery = `SELECT agent, thread, choice, record,
		(SELECT count(*) FROM entries WHERE entries.agent = sessions.agent AND entries.thread = sessions.thread)
		FROM sessions ORDER BY agent, thread`
	transcriptsQuery = "SELECT transcript FROM entries WHERE agent = ? AND thread = ? GROUP BY transcript ORDER BY min(seq)"
	followingQuery   = `SELECT seq, entry FROM entries
		WHERE agent = ? AND thread = ? AND transcript = ? AND seq > ? ORDER BY seq LIMIT ?`
)

// Sessions are all sessions, by agent and thread.
func (s *Store) Sessions(ctx context.Context) ([]sessions.Kept, error) {
	return list(ctx, s, func(sc scanner) (kept sessions.Kept, err error) {
		var k core.Key
		var choice, record string
		if err := sc.Scan(&k.Agent, &k.Thread, &choice, &record, &kept.Entries); err != nil {
			return kept, err
		}
		if err := decode(record, &kept.Session); err != nil {
			return kept, err
		}
		kept.Key = k
		return kept, decode(choice, &kept.Choice)
	}, keptQuery)
}

// Transcripts are the ids of a session's transcripts, the oldest first.
func (s *Store) Transcripts(ctx context.Context, k core.Key) ([]string, error) {
	return list(ctx, s, func(sc scanner) (id string, err error) {
		err = sc.Scan(&id)
		return id, err
	}, transcriptsQuery, k.Agent, k.Thread)
}

// Following are the entries of a transcript after one of them.
func (s *Store) Following(ctx context.Context, k core.Key, transcript string, after int64, limit int) ([]sessions.Entry, error) {
	bytes := 0
	return list(ctx, s, func(sc scanner) (sessions.Entry, error) {
		if bytes >= sessions.HistoryBytes {
			return sessions.Entry{}, errEnough
		}
		e, n, err := scanEntry(sc)
		bytes += n
		return e, err
	}, followingQuery, k.Agent, k.Thread, transcript, after, max(limit, 0))
}
