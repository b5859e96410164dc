package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	codes "modernc.org/sqlite/lib"
)

// sabotaged is the name of the SQLite driver that lets a saboteur strike.
const sabotaged = "sqlite under sabotage"

// registerSabotaged makes that driver known. It must be called outside of
// bubbles: the driver outlives them.
var registerSabotaged = sync.OnceFunc(func() {
	db, err := sql.Open("sqlite", "")
	if err != nil {
		panic(err) // the driver is part of the binary
	}
	defer db.Close()
	sql.Register(sabotaged, frailDriver{db.Driver()})
})

// atWork is the saboteur of the test that runs; nil lets everybody work.
var atWork atomic.Pointer[saboteur]

// strike is what goes wrong at a statement.
type strike string

const (
	diskError   strike = "error"         // the disk fails, and SQLite rolls the transaction back
	lateError   strike = "late error"    // the same, of a query only once its rows are read
	lockError   strike = "busy"          // somebody else has the lock, and the transaction stands
	fullError   strike = "full"          // no space is left, and SQLite rolls the transaction back
	crashBefore strike = "crash"         // the process is gone before the statement is carried out
	crashAfter  strike = "crash after"   // it is gone before it hears that it was
	crashTwice  strike = "crash twice"   // it is gone before the statement, and the next one soon after
	longFull    strike = "full for long" // from here on nothing can be written or read for a while
)

// crash reports whether the process is gone after the strike.
func (s strike) crash() bool { return s == crashBefore || s == crashAfter || s == crashTwice }

// saboteur counts the statements of a process and strikes one of them.
type saboteur struct {
	how  strike
	at   int           // the statement, from 1; 0 only counts
	long time.Duration // how long longFull lasts
	next int           // how many statements later crashTwice strikes again
	died func()        // called when the process is gone

	mu    sync.Mutex
	seen  int
	hit   string    // the statement that was struck
	since time.Time // when
	dead  bool
}

var errDead = errors.New("this process is gone")

// sqliteError is an error as SQLite reports it.
type sqliteError int

func (e sqliteError) Code() int     { return int(e) }
func (e sqliteError) Error() string { return fmt.Sprintf("sabotage (%d)", int(e)) }

// strikes decides about a statement. rollback asks for the end of its
// transaction, and after lets it be carried out first.
func (s *saboteur) strikes(query string) (rollback, after bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return false, false, errDead
	}
	if s.how == longFull && !s.since.IsZero() && time.Since(s.since) < s.long {
		return false, false, sqliteError(codes.SQLITE_FULL)
	}
	if s.seen++; s.seen != s.at {
		return false, false, nil
	}
	s.hit, s.since = query, time.Now()
	switch s.how {
	case diskError, lateError:
		return true, false, sqliteError(codes.SQLITE_IOERR_WRITE)
	case fullError:
		return true, false, sqliteError(codes.SQLITE_FULL)
	case lockError:
		return false, false, sqliteError(codes.SQLITE_BUSY)
	case longFull:
		return false, false, sqliteError(codes.SQLITE_FULL)
	}
	if s.how == crashTwice && s.next > 0 {
		s.at, s.next = s.at+s.next, 0
	}
	s.dead = true
	s.died()
	return false, s.how == crashAfter, errDead
}

func (s *saboteur) isDead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// frailDriver is SQLite with a saboteur at every statement.
type frailDriver struct{ driver.Driver }

func (d frailDriver) Open(name string) (driver.Conn, error) {
	c, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return &frailConn{c}, nil
}

type frailConn struct{ driver.Conn }

// meet lets the saboteur decide; do carries the statement out.
func (c *frailConn) meet(query string, do func() error) error {
	if err := ration(c.Conn, query); err != nil {
		return err
	}
	s := atWork.Load()
	if s == nil {
		return do()
	}
	rollback, after, err := s.strikes(query)
	if err == nil {
		return do()
	}
	if after {
		_ = do() // nobody hears of it
	}
	if rollback {
		_, _ = c.Conn.(driver.ExecerContext).ExecContext(context.Background(), "ROLLBACK", nil) // outside of a transaction there is none
	}
	return err
}

func (c *frailConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	st, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &frailStmt{st, c, query}, nil
}

func (c *frailConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (res driver.Result, err error) {
	err = c.meet(query, func() (err error) {
		res, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return res, err
}

func (c *frailConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = c.meet(query, func() (err error) {
		rows, err = c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
		return err
	})
	return given(rows, err)
}

type frailStmt struct {
	driver.Stmt
	conn  *frailConn
	query string
}

func (s *frailStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (res driver.Result, err error) {
	err = s.conn.meet(s.query, func() (err error) {
		res, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
		return err
	})
	return res, err
}

func (s *frailStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = s.conn.meet(s.query, func() (err error) {
		rows, err = s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
		return err
	})
	if x := atWork.Load(); err != nil && x != nil && x.how == lateError && !x.isDead() {
		return &frailRows{err}, nil
	}
	return given(rows, err)
}

// given are the rows of a query, unless it failed afterwards.
func given(rows driver.Rows, err error) (driver.Rows, error) {
	if err != nil && rows != nil {
		_ = rows.Close() // nobody reads them
		return nil, err
	}
	return rows, err
}

// frailRows are rows of which not even the first can be read.
type frailRows struct{ err error }

func (r *frailRows) Columns() []string { return []string{"a"} }
func (r *frailRows) Close() error      { return nil }
func (r *frailRows) Next([]driver.Value) error {
	if r.err == nil {
		return io.EOF
	}
	return r.err
}
