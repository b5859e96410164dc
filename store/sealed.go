package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"understudy/core"
	"understudy/core/seal"
	"understudy/sessions"
)

// What is kept sealed: the codes of people who ask to be let in, and the
// addresses of attachments, which platforms sign.

func codePlace(platform, account, user string) seal.Place {
	return seal.Place{Table: "guests", Row: seal.Row(platform, account, user), Field: "code"}
}

func filePlace(inbox string, i int) seal.Place {
	return seal.Place{Table: "inbox", Row: seal.Row(inbox), Field: fmt.Sprintf("attachments.%d.url", i)}
}

// sealed is a text as it is kept.
func (s *Store) sealed(at seal.Place, text string) string {
	return s.box.Seal(at, core.NewSecret(text))
}

// unsealed is a text as it was before. What cannot be opened is empty: there is
// nothing that anybody could do with it. What was never sealed is of a version
// that knew no seals.
func (s *Store) unsealed(at seal.Place, text string) string {
	secret, err := s.box.Open(at, text)
	if errors.Is(err, seal.ErrPlain) {
		return text
	}
	return secret.Reveal()
}

// sealMessage is a message as it is kept.
func (s *Store) sealMessage(inbox string, m core.Message) core.Message {
	return s.eachFile(m, func(i int, url string) string { return s.sealed(filePlace(inbox, i), url) })
}

func (s *Store) unsealMessage(inbox string, m core.Message) core.Message {
	return s.eachFile(m, func(i int, url string) string { return s.unsealed(filePlace(inbox, i), url) })
}

func (s *Store) eachFile(m core.Message, change func(i int, url string) string) core.Message {
	m.Attachments = slices.Clone(m.Attachments)
	for i := range m.Attachments {
		m.Attachments[i].URL = change(i, m.Attachments[i].URL)
	}
	return m
}

const (
	codesQuery = `SELECT platform, account, user, code FROM (
		SELECT platform, account, user, CASE WHEN json_valid(guest) THEN json_extract(guest, '$.code') END AS code FROM guests
	) WHERE code <> ''`
	filesQuery = `SELECT inbox.key, file.key, json_extract(file.value, '$.url') FROM inbox,
		json_each(CASE WHEN json_valid(message) THEN message ELSE '{}' END, '$.attachments') AS file
		WHERE settled = 0 AND json_extract(file.value, '$.url') <> ''`
)

// secret is one that is kept, and the statement that keeps it otherwise.
type secret struct {
	at    seal.Place
	text  string
	write func(c *conn, text string) error
}

// reseal seals with the present key what was kept with an older one, or as plain
// text by an older version. It runs before anything else is written. What cannot
// be opened stays, for its key may come back, and the log says what that means.
func (s *Store) reseal(ctx context.Context) error {
	if _, err := s.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	codes, files, err := s.secrets()
	var lostCodes, lostFiles, renewed int
	if err == nil {
		lostCodes, renewed, err = s.renew(codes)
	}
	if err == nil {
		var n int
		lostFiles, n, err = s.renew(files)
		renewed += n
	}
	if err != nil {
		s.conn.exec("ROLLBACK")
		return err
	}
	if _, err := s.conn.exec("COMMIT"); err != nil {
		return err
	}
	if renewed > 0 {
		s.log.InfoContext(ctx, "secrets in the store were sealed with the present key; the old key is not needed for them any more", "count", renewed)
	}
	if lostCodes+lostFiles > 0 {
		s.log.ErrorContext(ctx, "the key of the store is not the one of before, and what was sealed with that cannot be read: whoever asked to write to the bot asks again and is told a new code, and files that came with waiting messages may not be readable. "+
			"If the old key is known, give it as UNDERSTUDY_SECRET_KEY_OLD, or put its file back as "+seal.FileName+".old, and start again; if it is lost, there is nothing to do",
			"store", s.path, "codes", lostCodes, "files", lostFiles)
	}
	return nil
}

// secrets are all that are kept.
func (s *Store) secrets() (codes, files []secret, err error) {
	codes, err = all(s.conn, func(sc scanner) (secret, error) {
		var platform, account, user, text string
		err := sc.Scan(&platform, &account, &user, &text)
		return secret{codePlace(platform, account, user), text, func(c *conn, text string) error {
			_, err := c.exec("UPDATE guests SET guest = json_set(guest, '$.code', ?4) WHERE platform = ?1 AND account = ?2 AND user = ?3", platform, account, user, text)
			return err
		}}, err
	}, codesQuery)
	if err != nil {
		return nil, nil, err
	}
	files, err = all(s.conn, func(sc scanner) (secret, error) {
		var inbox, text string
		var i int
		err := sc.Scan(&inbox, &i, &text)
		return secret{filePlace(inbox, i), text, func(c *conn, text string) error {
			_, err := c.exec("UPDATE inbox SET message = json_set(message, ?2, ?3) WHERE key = ?1", inbox, fmt.Sprintf("$.attachments[%d].url", i), text)
			return err
		}}, err
	}, filesQuery)
	return codes, files, err
}

// renew seals again what is not sealed with the present key.
func (s *Store) renew(list []secret) (lost, renewed int, err error) {
	for _, x := range list {
		plain, err := s.box.Open(x.at, x.text)
		switch {
		case errors.Is(err, seal.ErrPlain):
			plain = core.NewSecret(x.text)
		case err != nil:
			lost++
			continue
		case s.box.Current(x.text):
			continue
		}
		if err := x.write(s.conn, s.box.Seal(x.at, plain)); err != nil {
			return lost, renewed, err
		}
		renewed++
	}
	return lost, renewed, nil
}

// sealGuest is a record as it is kept.
func (s *Store) sealGuest(g sessions.Guest) sessions.Guest {
	g.Code = s.sealed(codePlace(g.Platform, g.Account, g.User), g.Code)
	return g
}
