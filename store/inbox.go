package store

import (
	"context"

	"understudy/core"
	"understudy/sessions"
)

const (
	inboundColumns = "seq, key, agent, thread, at, turn, tool, message"
	inboundQuery   = "SELECT " + inboundColumns + " FROM inbox WHERE key = ?"
	waitingQuery   = "SELECT " + inboundColumns + " FROM inbox WHERE settled = 0 ORDER BY seq"
)

func (s *Store) scanInbound(sc scanner) (in sessions.Inbound, err error) {
	var at instant
	var message string
	err = sc.Scan(&in.Seq, &in.Key, &in.Session.Agent, &in.Session.Thread, &at, &in.Turn, &in.Tool, &message)
	if err != nil {
		return in, err
	}
	in.At = at.Time
	err = decode(message, &in.Message)
	in.Message = s.unsealMessage(in.Key, in.Message)
	return in, err
}

// Admit stores a message unless its key is known. The stored row is returned
// either way; that of a settled message has no Message any more.
func (s *Store) Admit(ctx context.Context, in sessions.Inbound) (row sessions.Inbound, fresh bool, err error) {
	message, _, err := encode(s.sealMessage(in.Key, in.Message))
	if err != nil {
		return in, false, err
	}
	at, err := instant{in.At}.column()
	if err != nil {
		return in, false, err
	}
	err = s.write(ctx, "admit", func(c *conn) error {
		n, err := c.exec(`INSERT INTO inbox (key, agent, thread, at, turn, tool, message)
			VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`,
			in.Key, in.Session.Agent, in.Session.Thread, at, in.Turn, in.Tool, message)
		if err != nil {
			return err
		}
		fresh = n == 1
		if fresh {
			if err := hear(c, in, at); err != nil {
				return err
			}
		}
		row, err = one(c, s.scanInbound, inboundQuery, in.Key)
		return err
	})
	if err != nil {
		return in, false, err
	}
	return row, fresh, nil
}

// Change edits or drops a message for which no turn has begun.
func (s *Store) Change(ctx context.Context, ch core.Change) (found bool, err error) {
	err = s.write(ctx, "change", func(c *conn) error {
		query, args := `UPDATE inbox SET message = json_set(message, '$.text', ?2)
			WHERE key = ?1 AND turn = '' AND settled = 0`, []any{ch.InboxKey, ch.Text}
		if ch.Deleted {
			query, args = `UPDATE inbox SET settled = 1, message = '{}'
				WHERE key = ?1 AND turn = '' AND settled = 0`, []any{ch.InboxKey}
		}
		n, err := c.exec(query, args...)
		found = n == 1
		return err
	})
	return found && err == nil, err
}

// Waiting are all unsettled rows, in order of Seq.
func (s *Store) Waiting(ctx context.Context) ([]sessions.Inbound, error) {
	return list(ctx, s, s.scanInbound, waitingQuery)
}

// MarkTool notes that a tool of the row's turn is about to start. An unknown
// key is an error.
func (s *Store) MarkTool(ctx context.Context, inbox string) error {
	return s.write(ctx, "tool", func(c *conn) error {
		return c.must("inbox row", inbox, "UPDATE inbox SET tool = 1 WHERE key = ?", inbox)
	})
}
