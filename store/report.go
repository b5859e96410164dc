package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"understudy/core"
	"understudy/core/failover"
	"understudy/sessions"
)

// Report is what [Examine] found in a database file. Sizes are in bytes.
type Report struct {
	Path     string    `json:"path"`
	Sound    bool      `json:"sound"` // nothing was found
	Findings []Finding `json:"findings"`

	Schema int   `json:"schema"`      // version of the file
	Newest int   `json:"knownSchema"` // version that this program brings it to
	Size   int64 `json:"size"`        // of the file
	Free   int64 `json:"free"`        // of that, what holds nothing
	Log    int64 `json:"journal"`     // of the journal beside it

	Sessions int64 `json:"sessions"`
	Entries  int64 `json:"entries"` // of all transcripts
	Turns    int64 `json:"turns"`
	Waiting  int64 `json:"waiting"` // messages without an answer
	Settled  int64 `json:"settled"` // messages of which only the key is kept
	Open     int64 `json:"open"`    // posts that are still to be sent
	Posts    int64 `json:"posts"`   // posts of all states
}

// Finding is one thing that is wrong with a file, and what to do about it.
type Finding struct {
	What string `json:"what"`
	Do   string `json:"do"`
}

const (
	maxDamages    = 10 // lines of one pragma
	maxUnreadable = 3  // documents of one column that are named
)

// Examine reads a whole database file and says what is in it and what is wrong
// with it. It changes nothing, upgrades nothing, and works beside the process
// that runs on the file. The error is for a file that cannot be examined at all:
// one that is not there (fs.ErrNotExist), that is of another program, or that
// cannot be opened.
func Examine(ctx context.Context, path string) (*Report, error) {
	return examine(ctx, path, len(embedded()))
}

func examine(ctx context.Context, path string, newest int) (*Report, error) {
	ownLocks()
	path, err := existing(path)
	if err != nil {
		return nil, err
	}
	r := &Report{Path: path, Newest: newest, Findings: []Finding{}}
	r.sizes()
	if _, err := inspect(path); r.found(err) != nil {
		return nil, err
	}
	if len(r.Findings) > 0 {
		return r, nil // cut short: SQLite must not see it
	}
	db, c, err := dial(ctx, path, "_query_only=1")
	if err != nil {
		return r, r.found(err)
	}
	defer db.Close()
	defer c.close()
	if err := r.read(ctx, c); err != nil {
		return nil, err
	}
	r.Sound = len(r.Findings) == 0
	return r, nil
}

// existing is the real path of a database that must be there.
func existing(path string) (string, error) {
	switch _, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		if st, err := os.Stat(path + "-wal"); err == nil && st.Size() > 0 {
			return "", &Error{Path: path, Problem: Orphaned}
		}
		return "", fmt.Errorf("store: there is no database: %w", err)
	case err != nil:
		return "", fmt.Errorf("store: %w", err)
	}
	return resolve(path)
}

func (r *Report) sizes() {
	if st, err := os.Stat(r.Path); err == nil {
		r.Size = st.Size()
	}
	if st, err := os.Stat(r.Path + "-wal"); err == nil {
		r.Log = st.Size()
	}
}

// found keeps damage as a finding and gives every other error back.
func (r *Report) found(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Problem != Corrupt {
		return err
	}
	r.damaged(e.Detail)
	return nil
}

func (r *Report) damaged(detail string) {
	w := words[Corrupt]
	r.Findings = append(r.Findings, Finding{What: w[0] + ": " + detail, Do: w[1]})
}

// read fills the report from one connection. Damage in one place does not end
// the look at the others.
func (r *Report) read(ctx context.Context, c *conn) error {
	var page, free int64
	for _, x := range []struct {
		query string
		dest  any
	}{
		{"PRAGMA user_version", &r.Schema}, {"PRAGMA page_size", &page}, {"PRAGMA freelist_count", &free},
	} {
		if _, err := c.get([]any{x.dest}, x.query); r.found(err) != nil {
			return err
		}
	}
	r.Free = page * free
	switch {
	case r.Schema > r.Newest:
		newer := &NewerError{Path: r.Path, Found: r.Schema, Know: r.Newest}
		r.Findings = append(r.Findings, Finding{
			What: fmt.Sprintf("its schema is version %d and this program knows versions up to %d", newer.Found, newer.Know),
			Do:   "run the newer program, or restore the copy made before the upgrade",
		})
	case r.Schema < 1:
		r.damaged(fmt.Sprintf("schema version %d", r.Schema))
	}
	if err := r.integrity(ctx, c); err != nil {
		return err
	}
	if r.Schema > r.Newest {
		return nil // what its tables mean is not known here
	}
	if err := r.counts(c); err != nil {
		return err
	}
	return r.documents(ctx, c)
}

// integrity lets SQLite check the file.
func (r *Report) integrity(ctx context.Context, c *conn) error {
	lines, err := texts(ctx, c, fmt.Sprintf("PRAGMA integrity_check(%d)", maxDamages))
	if r.found(err) != nil {
		return err
	}
	for _, line := range lines {
		if line != "ok" {
			r.damaged(line)
		}
	}
	broken, err := texts(ctx, c, fmt.Sprintf(`SELECT "table" || ' row ' || rowid || ' names a row of ' || parent || ' that is not there'
		FROM pragma_foreign_key_check LIMIT %d`, maxDamages))
	if r.found(err) != nil {
		return err
	}
	for _, line := range broken {
		r.damaged(line)
	}
	return nil
}

// texts is a query of one text column. It listens to the context, for it may
// read the whole file.
func texts(ctx context.Context, c *conn, query string) (list []string, err error) {
	rows, err := c.c.QueryContext(ctx, query)
	if err != nil {
		return nil, explain(c.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return list, explain(c.path, err)
		}
		list = append(list, s)
	}
	return list, explain(c.path, rows.Err())
}

func (r *Report) counts(c *conn) error {
	for _, x := range []struct {
		query string
		dest  *int64
	}{
		{"SELECT count(*) FROM sessions", &r.Sessions},
		{"SELECT count(*) FROM entries", &r.Entries},
		{"SELECT count(*) FROM turns", &r.Turns},
		{"SELECT count(*) FROM inbox WHERE settled = 0", &r.Waiting},
		{"SELECT count(*) FROM inbox WHERE settled = 1", &r.Settled},
		{"SELECT count(*) FROM delivery WHERE " + openStates, &r.Open},
		{"SELECT count(*) FROM delivery", &r.Posts},
	} {
		if _, err := c.get([]any{x.dest}, x.query); r.found(err) != nil {
			return err
		}
	}
	return nil
}

// stored are the columns that hold documents: of which version on, how a row is
// called, and what has to come out.
var stored = []struct {
	since               int
	table, column, name string
	into                func() any
}{
	{1, "sessions", "record", "thread", func() any { return new(sessions.Session) }},
	{1, "sessions", "choice", "thread", func() any { return new(sessions.Choice) }},
	{1, "inbox", "message", "key", func() any { return new(core.Message) }},
	{1, "entries", "entry", "seq", func() any { return new(sessions.Entry) }},
	{1, "turns", "turn", "id", func() any { return new(sessions.Turn) }},
	{1, "delivery", "post", "id", func() any { return new(core.Post) }},
	{1, "states", "state", "profile", func() any { return new(failover.State) }},
	{2, "heard", "place", "thread", func() any { return new(core.Thread) }},
	{2, "guests", "guest", "user", func() any { return new(sessions.Guest) }},
}

// documents decodes every document.
func (r *Report) documents(ctx context.Context, c *conn) error {
	for _, d := range stored {
		if d.since > r.Schema {
			continue
		}
		bad, err := unreadable(ctx, c, d.table, d.column, d.name, d.into)
		if r.found(err) != nil {
			return err
		}
		if bad.n == 0 {
			continue
		}
		r.Findings = append(r.Findings, Finding{
			What: fmt.Sprintf("%d of the rows of %s hold a %s that cannot be read, for example %s", bad.n, d.table, d.column, bad.first),
			Do:   "these rows were written by hand or by another program: put a whole document in their place, or restore the latest backup",
		})
	}
	return nil
}

type illegible struct {
	n     int
	first string
}

func unreadable(ctx context.Context, c *conn, table, column, name string, into func() any) (bad illegible, err error) {
	rows, err := c.c.QueryContext(ctx, fmt.Sprintf("SELECT CAST(%s AS TEXT), %s FROM %s", name, column, table))
	if err != nil {
		return bad, explain(c.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var doc sql.RawBytes
		if err := rows.Scan(&id, &doc); err != nil {
			return bad, explain(c.path, err)
		}
		if err := json.Unmarshal(doc, into()); err != nil {
			if bad.n++; bad.n <= maxUnreadable {
				if bad.first != "" {
					bad.first += ", "
				}
				bad.first += id
			}
		}
	}
	return bad, explain(c.path, rows.Err())
}
