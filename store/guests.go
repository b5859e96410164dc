package store

import (
	"context"
	"database/sql"
	"errors"

	"understudy/sessions"
)

const (
	// Of each session the row of whoever spoke there last.
	heardQuery = `SELECT agent, thread, author, at, place FROM (
			SELECT *, row_number() OVER (PARTITION BY agent, thread ORDER BY at DESC, author) AS nth FROM heard
			WHERE (?1 = '' OR platform = ?1) AND (?2 = '' OR account = ?2)
			AND (?3 = '' OR holder = ?3) AND (?4 = '' OR author = ?4)
		) WHERE nth = 1 ORDER BY at DESC, agent, thread LIMIT ?5`
	guestColumns = "platform, account, user, guest"
	guestQuery   = "SELECT " + guestColumns + " FROM guests WHERE platform = ? AND account = ? AND user = ?"
	guestsQuery  = "SELECT " + guestColumns + " FROM guests ORDER BY platform, account, user"
)

// hear notes where the author of an admitted message was heard.
func hear(c *conn, in sessions.Inbound, at any) error {
	t := in.Message.Thread()
	place, _, err := encode(t)
	if err != nil {
		return err
	}
	_, err = c.exec(`INSERT INTO heard (agent, thread, author, platform, account, holder, at, place)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent, thread, author) DO UPDATE SET holder = excluded.holder, at = excluded.at, place = excluded.place`,
		in.Session.Agent, in.Session.Thread, in.Message.Author.ID, t.Platform, t.Account, t.Holder().Key(), at, place)
	return err
}

// Heard is where something was said last, newest first.
func (s *Store) Heard(ctx context.Context, w sessions.Where, limit int) ([]sessions.Heard, error) {
	return brief(ctx, s, scanHeard, heardQuery, w.Platform, w.Account, w.Holder, w.Author, max(limit, 0))
}

func scanHeard(sc scanner) (h sessions.Heard, err error) {
	var at instant
	var place string
	if err := sc.Scan(&h.Session.Agent, &h.Session.Thread, &h.Author, &at, &place); err != nil {
		return h, err
	}
	h.At = at.Time
	return h, decode(place, &h.Thread)
}

// Guest is the record as stored, or one with nothing but the ids.
func (s *Store) Guest(ctx context.Context, platform, account, user string) (sessions.Guest, error) {
	found, err := brief(ctx, s, s.scanGuest, guestQuery, platform, account, user)
	if err != nil || len(found) == 0 {
		return sessions.Guest{Platform: platform, Account: account, User: user}, err
	}
	return found[0], nil
}

// Guests are all records.
func (s *Store) Guests(ctx context.Context) ([]sessions.Guest, error) {
	return list(ctx, s, s.scanGuest, guestsQuery)
}

// UpdateGuest replaces one record. One that has nothing but its ids is
// forgotten.
func (s *Store) UpdateGuest(ctx context.Context, platform, account, user string, change func(sessions.Guest) sessions.Guest) error {
	return s.write(ctx, "guest", func(c *conn) error {
		bare := sessions.Guest{Platform: platform, Account: account, User: user}
		old, err := one(c, s.scanGuest, guestQuery, platform, account, user)
		if errors.Is(err, sql.ErrNoRows) {
			old, err = bare, nil
		}
		if err != nil {
			return err
		}
		g := change(old)
		g.Platform, g.Account, g.User = platform, account, user
		if g == bare {
			_, err := c.exec("DELETE FROM guests WHERE platform = ? AND account = ? AND user = ?", platform, account, user)
			return err
		}
		doc, _, err := encode(s.sealGuest(g))
		if err != nil {
			return err
		}
		_, err = c.exec(`INSERT INTO guests (platform, account, user, guest) VALUES (?, ?, ?, ?)
			ON CONFLICT (platform, account, user) DO UPDATE SET guest = excluded.guest`, platform, account, user, doc)
		return err
	})
}

func (s *Store) scanGuest(sc scanner) (g sessions.Guest, err error) {
	var doc string
	var platform, account, user string
	if err := sc.Scan(&platform, &account, &user, &doc); err != nil {
		return g, err
	}
	err = decode(doc, &g)
	g.Platform, g.Account, g.User = platform, account, user
	g.Code = s.unsealed(codePlace(platform, account, user), g.Code)
	return g, err
}
