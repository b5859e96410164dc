package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"understudy/core"
	"understudy/sessions"
)

// hear notes where the author of an admitted message was heard.
func (c *change) hear(in sessions.Inbound) error {
	t := in.Message.Thread()
	place, _, err := encode(t)
	if err != nil {
		return err
	}
	c.heard.set(ear{in.Session, in.Message.Author.ID}, sound{
		Heard:    sessions.Heard{Session: in.Session, Author: in.Message.Author.ID, At: stored(in.At)},
		platform: t.Platform, account: t.Account, holder: t.Holder().Key(), place: place,
	})
	return nil
}

// Heard is where something was said last, newest first.
func (s *Store) Heard(ctx context.Context, w sessions.Where, limit int) (heard []sessions.Heard, err error) {
	err = s.read(ctx, func(d *data) error {
		newest := map[core.Key]sound{}
		for _, x := range d.heard {
			if old, ok := newest[x.Session]; x.matches(w) && (!ok || x.before(old)) {
				newest[x.Session] = x
			}
		}
		for _, x := range newest {
			h := x.Heard
			if h.Thread, err = decode[core.Thread](x.place); err != nil {
				return err
			}
			heard = append(heard, h)
		}
		return nil
	})
	slices.SortFunc(heard, func(a, b sessions.Heard) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Session.Agent, b.Session.Agent), strings.Compare(a.Session.Thread, b.Session.Thread))
	})
	return heard[:min(len(heard), max(limit, 0))], err
}

// before is the order within a session: the newest first.
func (x sound) before(y sound) bool {
	return cmp.Or(y.At.Compare(x.At), strings.Compare(x.Author, y.Author)) < 0
}

func (x sound) matches(w sessions.Where) bool {
	fits := func(want, have string) bool { return want == "" || want == have }
	return fits(w.Platform, x.platform) && fits(w.Account, x.account) && fits(w.Holder, x.holder) && fits(w.Author, x.Author)
}

// Guest is the record as stored, or one with nothing but the ids.
func (s *Store) Guest(ctx context.Context, platform, account, user string) (g sessions.Guest, err error) {
	at := guest{platform, account, user}
	err = s.read(ctx, func(d *data) error {
		g, err = at.record(d.guests[at])
		return err
	})
	return g, err
}

func (at guest) record(doc string) (sessions.Guest, error) {
	g, err := decode[sessions.Guest](doc)
	g.Platform, g.Account, g.User = at.platform, at.account, at.user
	return g, err
}

// Guests are all records.
func (s *Store) Guests(ctx context.Context) (all []sessions.Guest, err error) {
	err = s.read(ctx, func(d *data) error {
		for at, doc := range d.guests {
			if doc == "" {
				continue // forgotten
			}
			g, err := at.record(doc)
			if err != nil {
				return err
			}
			all = append(all, g)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b sessions.Guest) int {
		return cmp.Or(strings.Compare(a.Platform, b.Platform), strings.Compare(a.Account, b.Account), strings.Compare(a.User, b.User))
	})
	return all, err
}

// UpdateGuest replaces one record. One that has nothing but its ids is
// forgotten.
func (s *Store) UpdateGuest(ctx context.Context, platform, account, user string, edit func(sessions.Guest) sessions.Guest) error {
	at := guest{platform, account, user}
	return s.write(ctx, "guest", func(c *change) error {
		doc, _ := c.guests.get(at)
		old, err := at.record(doc)
		if err != nil {
			return err
		}
		g := edit(old)
		g.Platform, g.Account, g.User = platform, account, user
		if g == (sessions.Guest{Platform: platform, Account: account, User: user}) {
			c.guests.set(at, "")
			return nil
		}
		doc, _, err = encode(g)
		if err == nil {
			c.guests.set(at, doc)
		}
		return err
	})
}
