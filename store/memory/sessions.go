package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/sessions"
)

// Admit stores a message unless its key is known. The stored row is returned
// either way; that of a settled message has no Message any more.
func (s *Store) Admit(ctx context.Context, in sessions.Inbound) (row sessions.Inbound, fresh bool, err error) {
	doc, _, err := encode(in.Message)
	if err != nil {
		return in, false, err
	}
	err = s.write(ctx, "admit", func(c *change) error {
		m, known := c.inbox.get(in.Key)
		if !known {
			c.counters.inbox++
			m = message{Inbound: in, doc: doc}
			m.Seq, m.At, m.Message = c.counters.inbox, stored(in.At), core.Message{}
			c.inbox.set(in.Key, m)
			if err := c.hear(in); err != nil {
				return err
			}
		}
		fresh = !known
		row, err = m.inbound()
		return err
	})
	if err != nil {
		return in, false, err
	}
	return row, fresh, nil
}

func (m message) inbound() (in sessions.Inbound, err error) {
	in = m.Inbound
	in.Message, err = decode[core.Message](m.doc)
	return in, err
}

// Change edits or drops a message for which no turn has begun.
func (s *Store) Change(ctx context.Context, ch core.Change) (found bool, err error) {
	err = s.write(ctx, "change", func(c *change) error {
		m, ok := c.inbox.get(ch.InboxKey)
		if !ok || m.settled || m.Turn != "" {
			return nil
		}
		found = true
		if ch.Deleted {
			m.settle()
			c.inbox.set(ch.InboxKey, m)
			return nil
		}
		said, err := decode[core.Message](m.doc)
		if err != nil {
			return err
		}
		said.Text = ch.Text
		if m.doc, _, err = encode(said); err != nil {
			return err
		}
		c.inbox.set(ch.InboxKey, m)
		return nil
	})
	return found && err == nil, err
}

func (m *message) settle() { m.settled, m.doc = true, "" }

// Waiting are all unsettled rows, in order of Seq.
func (s *Store) Waiting(ctx context.Context) (waiting []sessions.Inbound, err error) {
	err = s.read(ctx, func(d *data) error {
		for _, m := range d.inbox {
			if m.settled {
				continue
			}
			in, err := m.inbound()
			if err != nil {
				return err
			}
			waiting = append(waiting, in)
		}
		return nil
	})
	slices.SortFunc(waiting, func(a, b sessions.Inbound) int { return cmp.Compare(a.Seq, b.Seq) })
	return waiting, err
}

// MarkTool notes that a tool of the row's turn is about to start. An unknown
// key is an error.
func (s *Store) MarkTool(ctx context.Context, inbox string) error {
	return s.write(ctx, "tool", func(c *change) error {
		return c.message(inbox, func(m *message) { m.Tool = true })
	})
}

// message changes an inbox row that must be there.
func (c *change) message(key string, edit func(*message)) error {
	m, ok := c.inbox.get(key)
	if !ok {
		return missing("inbox row", key)
	}
	edit(&m)
	c.inbox.set(key, m)
	return nil
}

// Session is the record as stored, or the zero record with its Key set.
func (s *Store) Session(ctx context.Context, k core.Key) (r sessions.Session, err error) {
	err = s.read(ctx, func(d *data) error {
		r, err = d.sessions[k].session(k)
		return err
	})
	return r, err
}

func (r record) session(k core.Key) (sessions.Session, error) {
	s, err := decode[sessions.Session](r.rest)
	if err != nil {
		return s, err
	}
	s.Key = k
	s.Choice, err = decode[sessions.Choice](r.choice)
	return s, err
}

// Commit runs a change to one session; the lease is ignored.
func (s *Store) Commit(ctx context.Context, k core.Key, _ int64, run func(sessions.Tx) error) error {
	return s.commit(ctx, "commit", k, func(t *tx) error { return run(t) })
}

// CommitChoice is Commit for those who may write the choice.
func (s *Store) CommitChoice(ctx context.Context, k core.Key, _ int64, run func(sessions.ChoiceTx) error) error {
	return s.commit(ctx, "choice", k, func(t *tx) error { return run(choiceTx{t}) })
}

func (s *Store) commit(ctx context.Context, op string, k core.Key, run func(*tx) error) error {
	return s.write(ctx, op, func(c *change) error {
		t, err := c.begin(k)
		if err != nil {
			return err
		}
		if err := run(t); err != nil {
			return err
		}
		return t.err
	})
}

// Transcript is the newest limit entries of a transcript, oldest first.
func (s *Store) Transcript(ctx context.Context, k core.Key, id string, limit int) (entries []sessions.Entry, err error) {
	err = s.read(ctx, func(d *data) error {
		all, bytes := d.transcripts[transcript{k, id}], 0
		for _, e := range slices.Backward(all[max(0, len(all)-max(0, limit)):]) {
			v, err := decode[sessions.Entry](e.doc)
			if err != nil {
				return err
			}
			v.Seq = e.seq
			entries = append(entries, v)
			if bytes += len(e.doc); sessions.Enough(bytes, v) {
				break
			}
		}
		slices.Reverse(entries)
		return nil
	})
	return entries, err
}

// Turn is the record of a turn.
func (s *Store) Turn(ctx context.Context, id string) (t sessions.Turn, ok bool, err error) {
	err = s.read(ctx, func(d *data) error {
		var doc string
		if doc, ok = d.turns[id]; ok {
			t, err = decode[sessions.Turn](doc)
		}
		return err
	})
	return t, ok && err == nil, err
}

// tx is a change to one session. The first error of its methods is kept, and
// the commit fails with it.
type tx struct {
	c       *change
	key     core.Key
	session sessions.Session
	err     error
}

// choiceTx adds the one method that a turn must not have.
type choiceTx struct{ *tx }

func (c *change) begin(k core.Key) (*tx, error) {
	r, _ := c.sessions.get(k)
	s, err := r.session(k)
	return &tx{c: c, key: k, session: s}, err
}

// keep remembers the first error.
func (t *tx) keep(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *tx) Session() sessions.Session { return t.session }

func (t *tx) SetSession(s sessions.Session) {
	s.Key, s.Choice = t.key, sessions.Choice{}
	doc, back, err := encode(s)
	t.keep(err)
	r, _ := t.c.sessions.get(t.key)
	t.c.sessions.set(t.key, record{r.choice, doc})
	back.Choice = t.session.Choice
	t.session = back
}

func (t choiceTx) SetChoice(ch sessions.Choice) {
	doc, back, err := encode(ch)
	t.keep(err)
	r, _ := t.c.sessions.get(t.key)
	t.c.sessions.set(t.key, record{doc, r.rest})
	t.session.Choice = back
}

// Append relies on there being one writer: an appended entry lies behind what
// readers see of the slice, and one that was never applied is overwritten.
func (t *tx) Append(id string, entries ...sessions.Entry) {
	at := transcript{t.key, id}
	all, _ := t.c.transcripts.get(at)
	for _, e := range entries {
		e.Seq = 0
		doc, _, err := encode(e)
		t.keep(err)
		t.c.counters.entry++
		all = append(all, entry{t.c.counters.entry, e.Author, e.Inbox, doc})
	}
	t.c.transcripts.set(at, all)
}

func (t *tx) Queue(rows ...delivery.Row) []delivery.Row {
	queued := make([]delivery.Row, 0, len(rows))
	for _, r := range rows {
		r.Session = t.key
		r, err := t.c.queue(r, true)
		t.keep(err)
		queued = append(queued, r)
	}
	return queued
}

func (t *tx) Withdraw(turn string, kind core.PostKind, now time.Time) {
	t.c.withdraw(turn, kind, now)
}

func (t *tx) Begin(inbox, turn string) {
	t.keep(t.c.message(inbox, func(m *message) {
		m.Tool = m.Tool && m.Turn == turn
		m.Turn = turn
	}))
}

func (t *tx) Settle(inbox string) {
	t.keep(t.c.message(inbox, (*message).settle))
}

func (t *tx) SaveTurn(turn sessions.Turn) {
	turn.Session = t.key
	doc, _, err := encode(turn)
	t.keep(err)
	t.c.turns.set(turn.ID, doc)
}

// stored is an instant as it comes back: without a clock reading, in UTC.
func stored(t time.Time) time.Time { return t.Round(0).UTC() }
