package store

import (
	"database/sql"
	"errors"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/sessions"
)

// tx is a change to one session inside the writer's transaction. Its methods
// return no errors: the first one is kept, and the commit fails with it.
type tx struct {
	c       *conn
	key     core.Key
	session sessions.Session // as stored, with what this change did to it
	err     error
}

// choiceTx adds the one method that a turn must not have.
type choiceTx struct{ *tx }

var (
	_ sessions.Tx       = (*tx)(nil)
	_ sessions.ChoiceTx = choiceTx{}
)

func begin(c *conn, k core.Key) (*tx, error) {
	r, err := one(c, func(sc scanner) (sessions.Session, error) { return scanSession(sc, k) }, sessionQuery, k.Agent, k.Thread)
	if errors.Is(err, sql.ErrNoRows) {
		r, err = sessions.Session{Key: k}, nil
	}
	return &tx{c: c, key: k, session: r}, err
}

// keep remembers the first error.
func (t *tx) keep(err error) {
	if t.err == nil {
		t.err = err
	}
}

// exec runs a statement unless an earlier one failed.
func (t *tx) exec(query string, args ...any) {
	if t.err == nil {
		_, t.err = t.c.exec(query, args...)
	}
}

// Session is the record as this change sees it.
func (t *tx) Session() sessions.Session { return t.session }

// SetSession stores everything but the Choice.
func (t *tx) SetSession(r sessions.Session) {
	r.Key, r.Choice = t.key, sessions.Choice{}
	doc, back, err := encode(r)
	t.keep(err)
	t.exec(`INSERT INTO sessions (agent, thread, record) VALUES (?, ?, ?)
		ON CONFLICT (agent, thread) DO UPDATE SET record = excluded.record`, t.key.Agent, t.key.Thread, doc)
	back.Choice = t.session.Choice
	t.session = back
}

// SetChoice stores the choice and nothing else.
func (t choiceTx) SetChoice(ch sessions.Choice) {
	doc, back, err := encode(ch)
	t.keep(err)
	t.exec(`INSERT INTO sessions (agent, thread, choice) VALUES (?, ?, ?)
		ON CONFLICT (agent, thread) DO UPDATE SET choice = excluded.choice`, t.key.Agent, t.key.Thread, doc)
	t.session.Choice = back
}

// Append adds entries to a transcript.
func (t *tx) Append(transcript string, entries ...sessions.Entry) {
	for _, e := range entries {
		e.Seq = 0 // the column has it
		doc, _, err := encode(e)
		t.keep(err)
		t.exec("INSERT INTO entries (agent, thread, transcript, at, entry) VALUES (?, ?, ?, ?, ?)",
			t.key.Agent, t.key.Thread, transcript, t.age(e.At), doc)
	}
}

// Queue adds delivery rows of this session.
func (t *tx) Queue(rows ...delivery.Row) []delivery.Row {
	queued := make([]delivery.Row, 0, len(rows))
	for _, r := range rows {
		if t.err != nil {
			return nil
		}
		r.Session = t.key
		r, t.err = queueRow(t.c, r, true)
		queued = append(queued, r)
	}
	return queued
}

// Withdraw marks the open rows of a turn and kind as withdrawn.
func (t *tx) Withdraw(turn string, kind core.PostKind, now time.Time) {
	if t.err == nil {
		t.err = withdraw(t.c, turn, kind, now)
	}
}

// Begin notes that a turn has begun for an inbox row. Another turn than before
// has not started a tool yet.
func (t *tx) Begin(inbox, turn string) {
	t.must(inbox, "UPDATE inbox SET tool = tool AND turn = ?2, turn = ?2 WHERE key = ?1", inbox, turn)
}

// Settle notes that nothing is left to do for an inbox row.
func (t *tx) Settle(inbox string) {
	t.must(inbox, "UPDATE inbox SET settled = 1, message = '{}' WHERE key = ?", inbox)
}

// must runs an update of an inbox row that has to be there.
func (t *tx) must(inbox, query string, args ...any) {
	if t.err == nil {
		t.err = t.c.must("inbox row", inbox, query, args...)
	}
}

// SaveTurn stores the record of a turn of this session.
func (t *tx) SaveTurn(turn sessions.Turn) {
	turn.Session = t.key
	doc, _, err := encode(turn)
	t.keep(err)
	t.exec(`INSERT INTO turns (id, agent, thread, at, turn) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET agent = excluded.agent, thread = excluded.thread, at = excluded.at, turn = excluded.turn`, turn.ID, t.key.Agent, t.key.Thread, t.age(turn.Started), doc)
}

// age is a time by which something is removed one day. It is in the document as
// well, so one that has no column is no error: such a thing stays.
func (t *tx) age(at time.Time) any {
	column, err := instant{at}.column()
	if err != nil {
		return nil
	}
	return column
}
