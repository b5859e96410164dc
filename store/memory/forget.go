package memory

import (
	"context"
	"math"
	"reflect"
	"slices"

	"understudy/core"
	"understudy/sessions"
)

// found is what is stored about a person.
type found struct {
	sessions.Traces
	private map[core.Key]bool
	shared  losses
}

// losses are the Seqs of the first entries that transcripts lost; without a
// transcript it is what a session lost before.
type losses map[transcript]int64

// keys are the sessions that lost something.
func (l losses) keys() map[core.Key]bool {
	keys := map[core.Key]bool{}
	for at := range l {
		keys[at.key] = true
	}
	return keys
}

// lookFor finds what is stored about a person.
func (d *data) lookFor(p sessions.Person) (f found, err error) {
	f.private, f.shared = map[core.Key]bool{}, losses{}
	heard := map[core.Key]bool{}
	for at, x := range d.heard {
		if at.author != p.User || x.platform != p.Platform {
			continue
		}
		h := x.Heard
		if h.Thread, err = decode[core.Thread](x.place); err != nil {
			return f, err
		}
		if heard[at.session] = true; h.Private() {
			f.private[at.session] = true
		}
	}
	full := map[core.Key]bool{}
	for at, entries := range d.transcripts {
		for _, e := range entries {
			theirs := e.author == p.Address()
			if theirs {
				f.Messages++
			}
			switch {
			case f.private[at.key]:
				full[at.key] = true
				if !theirs {
					f.Replies++
				}
			case theirs:
				if _, more := f.shared[at]; !more {
					f.shared[at] = e.seq
				}
			}
		}
	}
	with := f.shared.keys()
	f.Private, f.Shared = len(full), len(with)
	for k := range heard {
		r, ok := d.sessions[k]
		if !ok || f.private[k] || with[k] {
			continue
		}
		s, err := decode[sessions.Session](r.rest)
		if err != nil {
			return f, err
		}
		if s.Summary != nil {
			f.shared[transcript{key: k}] = 0
			f.Summaries++
		}
	}
	for _, m := range d.inbox {
		if theirs, err := m.by(p); err != nil {
			return f, err
		} else if theirs {
			f.Waiting++
		}
	}
	for at, doc := range d.guests {
		f.Guest = f.Guest || doc != "" && at.platform == p.Platform && at.user == p.User
	}
	for at, b := range d.spent {
		f.Counted = f.Counted || len(b) > 0 && at.account == sessions.UserOf(p.Platform, p.User)
	}
	return f, nil
}

// by reports whether a message waits and is a person's.
func (m message) by(p sessions.Person) (bool, error) {
	if m.settled {
		return false, nil
	}
	said, err := decode[core.Message](m.doc)
	return said.Author.ID == p.User && said.Thread().Platform == p.Platform, err
}

// Traces counts what Forget would delete.
func (s *Store) Traces(ctx context.Context, p sessions.Person) (t sessions.Traces, err error) {
	err = s.read(ctx, func(d *data) error {
		f, err := d.lookFor(p)
		t = f.Traces
		return err
	})
	return t, err
}

// Forget deletes what is stored about a person.
func (s *Store) Forget(ctx context.Context, o sessions.Oblivion) (gone sessions.Traces, err error) {
	p := o.Person
	err = s.write(ctx, "forget", func(c *change) error {
		f, err := c.data.lookFor(p)
		if err != nil {
			return err
		}
		gone = f.Traces
		if err := c.forgetTalk(p, f); err != nil {
			return err
		}
		for key, m := range c.data.inbox {
			if theirs, err := m.by(p); err != nil {
				return err
			} else if theirs && key != o.Spare {
				m.settle()
				c.inbox.set(key, m)
			} else if theirs {
				gone.Waiting--
			}
		}
		for at, x := range c.data.heard {
			if at.author == p.User && x.platform == p.Platform {
				c.heard.drop(at)
			}
		}
		for at := range c.data.guests {
			if at.platform == p.Platform && at.user == p.User {
				c.guests.drop(at)
			}
		}
		for at := range c.data.spent {
			if at.account == sessions.UserOf(p.Platform, p.User) && at.day != o.Keep {
				c.spent.drop(at)
			}
		}
		return c.mendAll(f.shared, o.Mend)
	})
	return gone, err
}

// forgetTalk deletes what was said, and to whom it was answered.
func (c *change) forgetTalk(p sessions.Person, f found) error {
	for at, entries := range c.data.transcripts {
		if f.private[at.key] {
			c.transcripts.drop(at)
			continue
		}
		c.without(at, entries, func(e entry) bool { return e.author == p.Address() })
	}
	for id, doc := range c.data.turns {
		t, err := decode[sessions.Turn](doc)
		if err != nil {
			return err
		}
		if f.private[t.Session] {
			c.turns.drop(id)
		}
	}
	for id, r := range c.data.rows {
		to := &r.Post.Target
		switch {
		case r.State.Open():
		case f.private[r.Session]:
			c.rows.drop(id)
			ids, _ := c.rowsOf.get(r.Turn)
			c.rowsOf.set(r.Turn, slices.DeleteFunc(slices.Clone(ids), func(x int64) bool { return x == id }))
		case to.Recipient == p.User && to.Thread.Platform == p.Platform:
			to.Recipient, to.RecipientTeam = "", ""
			c.rows.set(id, r)
		}
	}
	for k := range c.data.sessions {
		t, err := c.begin(k)
		if err != nil {
			return err
		}
		s := t.session
		switch {
		case f.private[k]:
			choiceTx{t}.SetChoice(sessions.Choice{})
			t.SetSession(sessions.Blank(k))
		case s.Target.Recipient == p.User && s.Target.Thread.Platform == p.Platform:
			s.Target.Recipient, s.Target.RecipientTeam = "", ""
			t.SetSession(s)
		}
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// without takes entries out of a transcript and reports whether there were any.
func (c *change) without(at transcript, entries []entry, out func(entry) bool) bool {
	if !slices.ContainsFunc(entries, out) {
		return false
	}
	c.transcripts.set(at, slices.DeleteFunc(slices.Clone(entries), out))
	return true
}

// mendAll lets a function change the records of sessions.
func (c *change) mendAll(lost losses, mend func(s sessions.Session, from int64) sessions.Session) error {
	for k := range lost.keys() {
		t, err := c.begin(k)
		if err != nil {
			return err
		}
		from := int64(math.MaxInt64)
		for _, id := range []string{"", t.session.Transcript} {
			if n, ok := lost[transcript{k, id}]; ok {
				from = min(from, n)
			}
		}
		if next := mend(t.session, from); !reflect.DeepEqual(next, t.session) {
			t.SetSession(next)
		}
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// blurred adds the session that took a message up if its summary may tell of
// anything; see [sessions.Unsaid].
func (c *change) blurred(inbox string, lost losses) error {
	m, ok := c.inbox.get(inbox)
	if !ok {
		return nil
	}
	t, err := c.begin(m.Session)
	if err == nil && t.session.Summary != nil && t.session.Summary.From == 0 {
		lost[transcript{key: m.Session}] = math.MaxInt64
	}
	return err
}

// Unsay takes one message out of the transcripts.
func (s *Store) Unsay(ctx context.Context, inbox string, mend func(s sessions.Session, from int64) sessions.Session) (found bool, err error) {
	err = s.write(ctx, "unsay", func(c *change) error {
		if m, ok := c.inbox.get(inbox); ok && !m.settled {
			found = true
			said, err := decode[core.Message](m.doc)
			if err != nil {
				return err
			}
			said.Deleted = true
			if m.doc, _, err = encode(said); err != nil {
				return err
			}
			c.inbox.set(inbox, m)
		}
		lost := losses{}
		theirs := func(e entry) bool { return inbox != "" && e.inbox == inbox }
		for at, entries := range c.data.transcripts {
			if i := slices.IndexFunc(entries, theirs); i >= 0 {
				lost[at] = entries[i].seq
				c.without(at, entries, theirs)
			}
		}
		if len(lost) == 0 {
			if err := c.blurred(inbox, lost); err != nil {
				return err
			}
		}
		found = found || len(lost) > 0
		return c.mendAll(lost, mend)
	})
	return found && err == nil, err
}
