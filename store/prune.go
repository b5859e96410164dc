package store

import (
	"context"
	"time"

	"understudy/sessions"
)

// atWork are the sessions of which a message waits or a post is to be sent.
const atWork = `(SELECT agent, thread FROM inbox WHERE settled = 0
	UNION ALL SELECT agent, thread FROM delivery WHERE ` + openStates + `)`

const (
	oldEntries  = "SELECT seq FROM entries WHERE at < ? AND (agent, thread) NOT IN " + atWork + " ORDER BY at LIMIT ?"
	dropEntries = "DELETE FROM entries WHERE seq IN (" + oldEntries + ")"
	// What tells of something that is too old.
	oldSummaries  = "SELECT rowid FROM sessions WHERE told_since < ? AND (agent, thread) NOT IN " + atWork + " ORDER BY told_since LIMIT ?"
	dropSummaries = "UPDATE sessions SET record = json_remove(record, '$.summary') WHERE rowid IN (" + oldSummaries + ")"
	oldTurns      = "SELECT rowid FROM turns WHERE at < ? AND (agent, thread) NOT IN " + atWork + " ORDER BY at LIMIT ?"
	oldRows       = "SELECT id FROM delivery WHERE settled < ? AND NOT " + openStates + " AND (agent, thread) NOT IN " + atWork + " ORDER BY settled LIMIT ?"
	oldDays       = "SELECT kind, id, day, model FROM spent WHERE day < ? ORDER BY day LIMIT ?"
	oldKeys       = "SELECT seq FROM inbox WHERE settled = 1 AND at < ? ORDER BY at LIMIT ?"
)

// Prune forgets what is too old, at most limit rows of each table in one change.
// The file keeps its size; what is free in it is used again.
func (s *Store) Prune(ctx context.Context, r sessions.Retention, limit int) (removed int, err error) {
	err = s.write(ctx, "prune", func(c *conn) error {
		removed = 0
		tells := false // a summary may be left of what is too old, so that stays as well
		for _, x := range []struct {
			before time.Time
			query  string
		}{
			{r.Transcripts, dropSummaries},
			{r.Transcripts, dropEntries},
			{r.Notices, "DELETE FROM turns WHERE rowid IN (" + oldTurns + ")"},
			{r.Notices, "DELETE FROM delivery WHERE id IN (" + oldRows + ")"},
			{r.Inbox, "DELETE FROM inbox WHERE seq IN (" + oldKeys + ")"},
		} {
			if x.before.IsZero() || tells && x.query == dropEntries {
				continue
			}
			at, err := instant{x.before}.column()
			if err != nil {
				return err
			}
			n, err := c.exec(x.query, at, max(limit, 0))
			if err != nil {
				return err
			}
			removed += int(n)
			tells = x.query == dropSummaries && int(n) == max(limit, 0)
		}
		if r.Spent == "" {
			return nil
		}
		n, err := c.exec("DELETE FROM spent WHERE (kind, id, day, model) IN ("+oldDays+")", r.Spent, max(limit, 0))
		removed += int(n)
		return err
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}
