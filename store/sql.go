package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// busyTimeout is how long a writer waits for another process, in milliseconds.
const busyTimeout = "5000"

// journalLimit is what a journal shrinks back to after it was longer, in bytes.
const journalLimit = 16 << 20

// readers bounds the pool that reads, and readerCache what each of them keeps of
// the file in memory, in KiB. SQLite lies outside of Go's heap and fills its
// caches over hours: with the 2 MiB that it takes by itself they would grow by 8
// MiB and save little, since the system keeps the file in memory as well. The
// writer has its 2 MiB.
const (
	readers     = 4
	readerCache = 512
)

// dsn names the file for the driver. The mode never creates a file: that is
// done by create alone.
func dsn(path string, params ...string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	params = append(params, "mode=rw", "_busy_timeout="+busyTimeout, "_foreign_keys=1", "_defensive=1", "_error_rc=1")
	u := url.URL{Scheme: "file", Path: p, RawQuery: strings.Join(params, "&")}
	return u.String()
}

// dial opens a single connection for writing.
func dial(ctx context.Context, path string, params ...string) (*sql.DB, *conn, error) {
	return dialWith(ctx, driverName, path, params...)
}

// driverName is what the driver of SQLite calls itself.
const driverName = "sqlite"

// dialWith is dial with another driver.
func dialWith(ctx context.Context, driver, path string, params ...string) (*sql.DB, *conn, error) {
	db, err := sql.Open(driver, dsn(path, params...))
	if err != nil {
		return nil, nil, explain(path, err)
	}
	c, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, nil, explain(path, err)
	}
	return db, &conn{path: path, c: c, stmts: map[string]*sql.Stmt{}}, nil
}

// pool opens the connections that only read.
func pool(driver, path string) (*sql.DB, error) {
	db, err := sql.Open(driver, dsn(path, "_query_only=1", fmt.Sprintf("_pragma=cache_size(-%d)", readerCache)))
	if err != nil {
		return nil, explain(path, err)
	}
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	return db, nil
}

// conn is one connection with its prepared statements. It is used by one
// goroutine at a time and listens to no context: its statements are short, and
// one that is interrupted would take the whole transaction with it.
type conn struct {
	path  string
	c     *sql.Conn
	stmts map[string]*sql.Stmt
}

func (c *conn) close() error {
	for _, st := range c.stmts {
		st.Close()
	}
	return c.c.Close()
}

func (c *conn) prepare(query string) (*sql.Stmt, error) {
	if st, ok := c.stmts[query]; ok {
		return st, nil
	}
	st, err := c.c.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, explain(c.path, err)
	}
	c.stmts[query] = st
	return st, nil
}

// exec runs a statement and returns the number of rows it changed.
func (c *conn) exec(query string, args ...any) (int64, error) {
	st, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, explain(c.path, err)
	}
	return res.RowsAffected()
}

// must runs an update of a row that has to be there.
func (c *conn) must(what string, id any, query string, args ...any) error {
	n, err := c.exec(query, args...)
	if err == nil && n == 0 {
		err = missing(what, id)
	}
	return err
}

// get reads one row into dest and reports whether there was one.
func (c *conn) get(dest []any, query string, args ...any) (bool, error) {
	st, err := c.prepare(query)
	if err != nil {
		return false, err
	}
	switch err := st.QueryRowContext(context.Background(), args...).Scan(dest...); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, explain(c.path, err)
	}
	return true, nil
}

// one reads a row that must be there; sql.ErrNoRows says that it is not.
func one[T any](c *conn, scan func(scanner) (T, error), query string, args ...any) (v T, err error) {
	st, err := c.prepare(query)
	if err != nil {
		return v, err
	}
	v, err = scan(st.QueryRowContext(context.Background(), args...))
	return v, explain(c.path, err)
}

// all reads every row of a query inside the writer's transaction.
func all[T any](c *conn, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	st, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(context.Background(), args...)
	if err != nil {
		return nil, explain(c.path, err)
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, explain(c.path, err)
		}
		list = append(list, v)
	}
	return list, explain(c.path, rows.Err())
}

// scanner is a row that can be read.
type scanner interface{ Scan(...any) error }

// list reads all rows of a query.
func list[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	if err := s.closed(); err != nil {
		return nil, err
	}
	st, err := s.reader(query)
	if err != nil {
		return nil, s.readError(ctx, err)
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return nil, s.readError(ctx, err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if errors.Is(err, errEnough) {
			return all, nil
		}
		if err != nil {
			return nil, s.readError(ctx, err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		return nil, s.readError(ctx, err)
	}
	return all, nil
}

// brief is list for a query that finds what it wants by an index and is over in
// a moment. Nobody watches its context meanwhile: the goroutines that do so are
// started and stopped for every query, and take longer than it.
func brief[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return list(context.WithoutCancel(ctx), s, scan, query, args...)
}

// errEnough is what a scan of [list] returns in place of another row.
var errEnough = errors.New("store: no more rows are wanted")

// reader is the prepared form of a query, for any connection of the pool.
func (s *Store) reader(query string) (*sql.Stmt, error) {
	if st, ok := s.queries.Load(query); ok {
		return st.(*sql.Stmt), nil
	}
	// Not with the caller's context: the statement outlives the call.
	st, err := s.reads.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	if first, known := s.queries.LoadOrStore(query, st); known {
		st.Close()
		return first.(*sql.Stmt), nil
	}
	return st, nil
}

// readError is the error of a read: that of the context if it has ended, since
// the driver then reports an interruption.
func (s *Store) readError(ctx context.Context, err error) error {
	if e := ctx.Err(); e != nil {
		return e
	}
	if e := s.closed(); e != nil {
		return e
	}
	return explain(s.path, err)
}

// encode makes the stored form of a value, and the value as it will be read
// back. One that could not be read back is refused here, where it harms nobody
// but its writer.
func encode[T any](v T) (doc string, back T, err error) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	if err != nil {
		return "", back, fmt.Errorf("store: a %T cannot be stored: %w", v, err)
	}
	return string(b), back, nil
}

// decode reads what encode wrote.
func decode(doc string, v any) error {
	if err := json.Unmarshal([]byte(doc), v); err != nil {
		return fmt.Errorf("store: a stored %T cannot be read: %w", v, err)
	}
	return nil
}

// instant is a time as it is stored: nanoseconds since 1970, or NULL for the
// zero time, which has no such number.
type instant struct{ time.Time }

var earliest, latest = time.Unix(0, -1<<63), time.Unix(0, 1<<63-1)

// column is the instant as an argument of a statement.
func (t instant) column() (any, error) {
	switch {
	case t.IsZero():
		return nil, nil
	case t.Before(earliest) || t.After(latest):
		return nil, fmt.Errorf("store: the time %v cannot be stored; it must lie between the years 1678 and 2261", t.Time)
	}
	return t.UnixNano(), nil
}

// Scan reads a stored instant.
func (t *instant) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		t.Time = time.Time{}
	case int64:
		t.Time = time.Unix(0, v).UTC()
	default:
		return fmt.Errorf("store: a time is stored as %T", v)
	}
	return nil
}
