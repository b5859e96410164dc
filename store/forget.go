package store

import (
	"context"
	"encoding/json"
	"math"

	"understudy/core"
	"understudy/sessions"
)

const (
	// What a person leaves, by where it lies. Those of whole conversations are
	// asked for one session after the other.
	theirHeardQuery   = "SELECT agent, thread, author, at, place FROM heard WHERE author = ?1 AND platform = ?2"
	theirEntriesQuery = "SELECT agent, thread, transcript, min(seq), count(*) FROM entries WHERE author = ? GROUP BY agent, thread, transcript"
	theirGuestQuery   = "SELECT count(*) FROM guests WHERE user = ?1 AND platform = ?2"
	theirSpentQuery   = "SELECT count(*) FROM spent WHERE kind = 'user' AND id = ?"
	theirWaitingQuery = `SELECT count(*) FROM inbox WHERE settled = 0 AND json_extract(message, '$.author.id') = ?1
		AND json_extract(message, '$.target.thread.platform') = ?2`
	othersQuery = "SELECT count(*) FROM entries WHERE agent = ? AND thread = ? AND author IS NOT ?"
	unsaidQuery = "SELECT agent, thread, transcript, seq FROM entries WHERE inbox = ?"
	// A session whose summary may tell of anything; see [sessions.Unsaid].
	blurredQuery = `SELECT inbox.agent, inbox.thread FROM inbox JOIN sessions ON sessions.agent = inbox.agent AND sessions.thread = inbox.thread
		WHERE key = ? AND json_extract(record, '$.summary.through') IS NOT NULL AND json_extract(record, '$.summary.from') IS NULL`
	summedQuery = "SELECT count(*) FROM sessions WHERE agent = ? AND thread = ? AND json_extract(record, '$.summary.through') IS NOT NULL"
)

// reads runs queries: the writer's connection, or one that only reads.
type reads interface {
	// rows calls scan for each row.
	rows(query string, scan func(scanner) error, args ...any) error
}

func (c *conn) rows(query string, scan func(scanner) error, args ...any) error {
	_, err := all(c, func(sc scanner) (struct{}, error) { return struct{}{}, scan(sc) }, query, args...)
	return err
}

// reader reads outside of the writer.
type reader struct {
	ctx context.Context
	s   *Store
}

func (r reader) rows(query string, scan func(scanner) error, args ...any) error {
	_, err := list(r.ctx, r.s, func(sc scanner) (struct{}, error) { return struct{}{}, scan(sc) }, query, args...)
	return err
}

// found is what is stored about a person.
type found struct {
	sessions.Traces
	private []core.Key
	shared  []loss
}

// loss is that a transcript lost entries, from that Seq on. Without a transcript
// it is what a session lost before.
type loss struct {
	key        core.Key
	transcript string
	from       int64
}

// lookFor finds what is stored about a person.
func lookFor(r reads, p sessions.Person) (f found, err error) {
	private, heard := map[core.Key]bool{}, map[core.Key]bool{}
	err = r.rows(theirHeardQuery, func(sc scanner) error {
		h, err := scanHeard(sc)
		if err == nil && h.Private() && !private[h.Session] {
			private[h.Session] = true
			f.private = append(f.private, h.Session)
		}
		if err == nil {
			heard[h.Session] = true
		}
		return err
	}, p.User, p.Platform)
	if err != nil {
		return f, err
	}
	full := map[core.Key]bool{}
	err = r.rows(theirEntriesQuery, func(sc scanner) error {
		var l loss
		var n int
		if err := sc.Scan(&l.key.Agent, &l.key.Thread, &l.transcript, &l.from, &n); err != nil {
			return err
		}
		f.Messages += n
		if !private[l.key] {
			f.shared = append(f.shared, l)
			if !full[l.key] {
				f.Shared++
			}
		}
		full[l.key] = true
		return nil
	}, p.Address())
	if err != nil {
		return f, err
	}
	for k := range heard {
		if private[k] || full[k] {
			continue
		}
		n, err := number(r, summedQuery, k.Agent, k.Thread)
		if err != nil {
			return f, err
		}
		if n > 0 {
			f.shared = append(f.shared, loss{key: k})
			f.Summaries++
		}
	}
	for _, k := range f.private {
		n, err := number(r, othersQuery, k.Agent, k.Thread, p.Address())
		if err != nil {
			return f, err
		}
		f.Replies += n
		if n > 0 || full[k] {
			f.Private++
		}
	}
	return f, f.rest(r, p)
}

// rest looks at what is not in a conversation.
func (f *found) rest(r reads, p sessions.Person) (err error) {
	if f.Waiting, err = number(r, theirWaitingQuery, p.User, p.Platform); err != nil {
		return err
	}
	n, err := number(r, theirGuestQuery, p.User, p.Platform)
	if err != nil {
		return err
	}
	f.Guest = n > 0
	n, err = number(r, theirSpentQuery, p.Address())
	f.Counted = n > 0
	return err
}

// number reads one number.
func number(r reads, query string, args ...any) (n int, err error) {
	err = r.rows(query, func(sc scanner) error { return sc.Scan(&n) }, args...)
	return n, err
}

// Traces counts what Forget would delete.
func (s *Store) Traces(ctx context.Context, p sessions.Person) (sessions.Traces, error) {
	f, err := lookFor(reader{ctx, s}, p)
	return f.Traces, err
}

// Forget deletes what is stored about a person, little at a time.
func (s *Store) Forget(ctx context.Context, o sessions.Oblivion) (gone sessions.Traces, err error) {
	f, err := lookFor(reader{ctx, s}, o.Person)
	if err != nil {
		return gone, err
	}
	g := &forgetting{s: s, o: o, shared: map[core.Key]bool{}, private: map[core.Key]bool{}}
	if err = g.much(ctx, f); err == nil {
		err = g.rest(ctx)
	}
	return g.gone, err
}

// mendAll lets a function change the records of sessions, each once.
func mendAll(c *conn, lost []loss, mend func(s sessions.Session, from int64) sessions.Session) error {
	seen := map[core.Key]bool{}
	for _, l := range lost {
		if seen[l.key] {
			continue
		}
		seen[l.key] = true
		t, err := begin(c, l.key)
		if err != nil {
			return err
		}
		before, err := json.Marshal(t.session)
		if err != nil {
			return err
		}
		from := int64(math.MaxInt64)
		for _, x := range lost {
			if x.key == l.key && (x.transcript == "" || x.transcript == t.session.Transcript) {
				from = min(from, x.from)
			}
		}
		next := mend(t.session, from)
		after, err := json.Marshal(next)
		if err != nil {
			return err
		}
		if string(before) != string(after) {
			t.SetSession(next)
		}
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// Unsay takes one message out of the transcripts.
func (s *Store) Unsay(ctx context.Context, inbox string, mend func(s sessions.Session, from int64) sessions.Session) (found bool, err error) {
	err = s.write(ctx, "unsay", func(c *conn) error {
		lost, err := all(c, func(sc scanner) (l loss, err error) {
			err = sc.Scan(&l.key.Agent, &l.key.Thread, &l.transcript, &l.from)
			return l, err
		}, unsaidQuery, inbox)
		if err != nil {
			return err
		}
		n, err := c.exec("UPDATE inbox SET message = json_set(message, '$.deleted', json('true')) WHERE key = ? AND settled = 0", inbox)
		if err != nil {
			return err
		}
		if len(lost) > 0 {
			if _, err := c.exec("DELETE FROM entries WHERE inbox = ?", inbox); err != nil {
				return err
			}
		} else if lost, err = all(c, func(sc scanner) (loss, error) {
			l := loss{from: math.MaxInt64}
			return l, sc.Scan(&l.key.Agent, &l.key.Thread)
		}, blurredQuery, inbox); err != nil {
			return err
		}
		found = n > 0 || len(lost) > 0
		return mendAll(c, lost, mend)
	})
	return found && err == nil, err
}
