package store

import (
	"context"
	"encoding/json"

	"understudy/core"
	"understudy/sessions"
)

// forgetAtOnce bounds what is deleted in one change while a person is forgotten,
// in rows.
const forgetAtOnce = 200

const (
	theirPartQuery = "SELECT seq, agent, thread, transcript FROM entries WHERE author = ? LIMIT ?"
	talkPartQuery  = "SELECT seq FROM entries WHERE agent = ? AND thread = ? LIMIT ?"
	settledPosts   = "state NOT IN ('queued', 'sending', 'preview')"
	toThem         = "json_extract(post, '$.target.recipient') = ?1 AND json_extract(post, '$.target.thread.platform') = ?2"
	lastToThem     = "json_extract(record, '$.target.recipient') = ?1 AND json_extract(record, '$.target.thread.platform') = ?2"
)

// leftovers are what no index leads to: they are looked for while the writer
// works for others, and changed by their numbers, listed as JSON in ?3. The first
// two belong to a private session, the others to a person. Posts that are still
// under way stay until they have been sent.
var leftovers = []struct {
	private      bool
	find, change string
}{
	{true, "SELECT rowid FROM turns WHERE agent = ?1 AND thread = ?2", "DELETE FROM turns WHERE rowid IN (SELECT value FROM json_each(?3)) AND agent = ?1 AND thread = ?2"},
	{true, "SELECT id FROM delivery WHERE agent = ?1 AND thread = ?2 AND " + settledPosts,
		"DELETE FROM delivery WHERE id IN (SELECT value FROM json_each(?3)) AND agent = ?1 AND thread = ?2 AND " + settledPosts},
	{false, "SELECT rowid FROM sessions WHERE " + lastToThem,
		"UPDATE sessions SET record = json_remove(record, '$.target.recipient', '$.target.recipientTeam') WHERE rowid IN (SELECT value FROM json_each(?3)) AND " + lastToThem},
	{false, "SELECT id FROM delivery WHERE " + settledPosts + " AND " + toThem,
		"UPDATE delivery SET post = json_remove(post, '$.target.recipient', '$.target.recipientTeam') WHERE id IN (SELECT value FROM json_each(?3)) AND " + settledPosts + " AND " + toThem},
}

// forgetting is a person being forgotten. Every change is whole: what was
// deleted, the records that were mended for it, and the counts.
type forgetting struct {
	s    *Store
	o    sessions.Oblivion
	gone sessions.Traces
	// The conversations that lost something so far.
	shared, private map[core.Key]bool
}

// part makes one change. count notes what it deleted, once that is certain.
func (g *forgetting) part(ctx context.Context, change func(*conn) (count func(), err error)) error {
	var count func()
	err := g.s.write(ctx, "forget", func(c *conn) (err error) {
		count, err = change(c)
		return err
	})
	if err == nil {
		count()
	}
	return err
}

// much deletes what may be much, as long as there is more than goes into the last
// change anyway.
func (g *forgetting) much(ctx context.Context, f found) error {
	said := func(c *conn) (func(), error) { return g.said(c, f.private, forgetAtOnce) }
	if err := g.parts(ctx, f.Messages, &g.gone.Messages, said); err != nil {
		return err
	}
	for _, k := range f.private {
		talked := func(c *conn) (func(), error) { return g.talked(c, k, forgetAtOnce) }
		if err := g.parts(ctx, f.Replies, &g.gone.Replies, talked); err != nil {
			return err
		}
	}
	for _, x := range leftovers {
		if !x.private {
			if err := g.leftover(ctx, x.find, x.change, g.o.User, g.o.Platform); err != nil {
				return err
			}
			continue
		}
		for _, k := range f.private {
			if err := g.leftover(ctx, x.find, x.change, k.Agent, k.Thread); err != nil {
				return err
			}
		}
	}
	return nil
}

// parts makes changes until there is no more than one of them would delete, as
// gone shows.
func (g *forgetting) parts(ctx context.Context, most int, gone *int, change func(*conn) (func(), error)) error {
	for full := true; full && most-*gone > forgetAtOnce; {
		before := *gone
		if err := g.part(ctx, change); err != nil {
			return err
		}
		full = *gone-before == forgetAtOnce
	}
	return nil
}

// leftover finds rows without the writer and changes some at a time.
func (g *forgetting) leftover(ctx context.Context, find, change string, a, b string) error {
	rows, err := list(ctx, g.s, func(sc scanner) (id int64, err error) { err = sc.Scan(&id); return id, err }, find, a, b)
	for ; err == nil && len(rows) > 0; rows = rows[min(len(rows), forgetAtOnce):] {
		var some []byte
		if some, err = json.Marshal(rows[:min(len(rows), forgetAtOnce)]); err == nil {
			err = g.part(ctx, func(c *conn) (func(), error) {
				_, err := c.exec(change, a, b, string(some))
				return func() {}, err
			})
		}
	}
	return err
}

// said deletes what the person wrote, anywhere, the oldest first, and mends the
// records of conversations with others that lose something, or lost more.
func (g *forgetting) said(c *conn, private []core.Key, limit int, more ...loss) (count func(), err error) {
	var lost []loss
	var seqs []int64
	err = c.rows(theirPartQuery, func(sc scanner) error {
		var l loss
		err := sc.Scan(&l.from, &l.key.Agent, &l.key.Thread, &l.transcript)
		lost, seqs = append(lost, l), append(seqs, l.from)
		return err
	}, g.o.Address(), limit)
	if err != nil {
		return nil, err
	}
	some, err := json.Marshal(seqs)
	if err != nil {
		return nil, err
	}
	if _, err := c.exec("DELETE FROM entries WHERE seq IN (SELECT value FROM json_each(?))", string(some)); err != nil {
		return nil, err
	}
	alone := map[core.Key]bool{}
	for _, k := range private {
		alone[k] = true
	}
	for _, l := range lost {
		if !alone[l.key] {
			more = append(more, l)
		}
	}
	return func() {
		g.gone.Messages += len(lost)
		for _, l := range lost {
			g.lost(l.key, alone[l.key])
		}
	}, mendAll(c, more, g.o.Mend)
}

// summed are the conversations that may have only a summary left of the person;
// those that lost entries a moment ago were mended then.
func (g *forgetting) summed(f found) (list []loss) {
	for _, l := range f.shared {
		if l.transcript == "" && !g.shared[l.key] {
			list = append(list, l)
		}
	}
	return list
}

// lost counts a conversation.
func (g *forgetting) lost(k core.Key, private bool) {
	if private {
		g.private[k] = true
	} else {
		g.shared[k] = true
	}
	g.gone.Private, g.gone.Shared = len(g.private), len(g.shared)
}

// talked deletes what was answered in a conversation that is the person's alone.
func (g *forgetting) talked(c *conn, k core.Key, limit int) (count func(), err error) {
	n, err := c.exec("DELETE FROM entries WHERE seq IN ("+talkPartQuery+")", k.Agent, k.Thread, limit)
	return func() {
		if g.gone.Replies += int(n); n > 0 {
			g.lost(k, true)
		}
	}, err
}

// rest deletes what is left: it is little, and what leads to the conversations is
// part of it.
func (g *forgetting) rest(ctx context.Context) error {
	return g.part(ctx, func(c *conn) (func(), error) {
		f, err := lookFor(c, g.o.Person)
		if err != nil {
			return nil, err
		}
		summed := g.summed(f)
		said, err := g.said(c, f.private, -1, summed...)
		if err != nil {
			return nil, err
		}
		counts := []func(){said}
		for _, k := range f.private {
			talked, err := g.talked(c, k, -1)
			if err != nil {
				return nil, err
			}
			if err := blank(c, k); err != nil {
				return nil, err
			}
			counts = append(counts, talked)
		}
		waiting, err := g.loose(c)
		return func() {
			for _, count := range counts {
				count()
			}
			g.gone.Summaries, g.gone.Waiting, g.gone.Guest, g.gone.Counted = len(summed), waiting, f.Guest, f.Counted
		}, err
	})
}

// loose deletes what is in no conversation, and returns how many messages waited.
func (g *forgetting) loose(c *conn) (waiting int, err error) {
	p := g.o.Person
	n, err := c.exec(`UPDATE inbox SET settled = 1, message = '{}' WHERE settled = 0 AND key <> ?3
		AND json_extract(message, '$.author.id') = ?1 AND json_extract(message, '$.target.thread.platform') = ?2`, p.User, p.Platform, g.o.Spare)
	if err != nil {
		return 0, err
	}
	for _, st := range []struct {
		query string
		args  []any
	}{
		{"DELETE FROM heard WHERE author = ? AND platform = ?", []any{p.User, p.Platform}},
		{"DELETE FROM guests WHERE user = ? AND platform = ?", []any{p.User, p.Platform}},
		{"DELETE FROM spent WHERE kind = 'user' AND id = ? AND day <> ?", []any{p.Address(), g.o.Keep}},
	} {
		if _, err := c.exec(st.query, st.args...); err != nil {
			return 0, err
		}
	}
	return int(n), nil
}

// blank empties the record of a conversation.
func blank(c *conn, k core.Key) error {
	doc, _, err := encode(sessions.Blank(k))
	if err != nil {
		return err
	}
	_, err = c.exec("UPDATE sessions SET choice = '{}', record = ?3 WHERE agent = ?1 AND thread = ?2", k.Agent, k.Thread, doc)
	return err
}
