// Package store keeps everything that must outlive the process in one SQLite
// file: the inbox, sessions, transcripts, turns, delivery rows, guests and the
// states of profiles.
//
// # What is kept
//
// A call that changes something returns nil once the change is committed.
// Committed means that it survives a SIGKILL at any instant; a power cut may
// take the last commits unless [Options.Full] is set. An error means that
// nothing of the change was stored. Keys of settled messages are kept, their
// texts are not.
//
// # Order and concurrency
//
// One goroutine writes, on one connection. Changes that arrive while it is busy
// share its next transaction, each inside a savepoint of its own, so that one
// that fails takes no other with it. Should that transaction itself fail, each
// change is tried again alone: functions given to the store may therefore run
// more than once, on the writer's goroutine. They must not call the store, and
// a panic in one of them is rolled back and passed on to its caller. Reads go
// through a pool of their own and see every change that was committed before
// they began, by whichever process.
//
// The error of a context means that nothing was stored: it ends the wait for
// the writer, but once the writer has begun with a change its outcome is waited
// for and returned, whatever the context says.
//
// # More than one process
//
// One process at a time may open the file exclusively; it holds a lock beside
// it. Others may open it without, and write in turn with it.
//
// # Secrets
//
// Pairing codes and the addresses of attachments are sealed with a key that is
// not in the file (package seal); nothing else that is kept here is a secret.
// With another key than before they read as empty. All files are readable for
// their owner alone, also those that SQLite makes.
//
// # Time
//
// The store never asks what time it is. Instants are kept to the nanosecond and
// come back in UTC, or with their offset where they lie in a document. Nothing
// here waits on a timer, except that a writer waits up to five seconds for
// another process to finish a write.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/seal"
	"understudy/sessions"
)

// Options says which file to open, and how.
type Options struct {
	// Path is the database file. It is created, with its folder, when it is
	// not there.
	Path string
	// Exclusive takes the lock of the process that runs the bot. When another
	// holds it, Open fails with a *LockedError.
	Exclusive bool
	// Full waits at every commit until the disk has it, which also survives a
	// power cut and makes each commit slower.
	Full bool
	// Keys are those of the secrets that are kept, if they are not to be found in
	// the folder of the file, where one is made when there is none; see [seal.Load].
	Keys seal.Keys
	// Log hears of modes that were too wide and of secrets that cannot be read.
	// Nil logs nothing.
	Log *slog.Logger
	// Fault, if set, is called before each change with the name of the
	// operation (admit, change, tool, commit, choice, queue, mark, giveup, prune, guest,
	// forget, unsay or state), one call at a time; its error fails that change, and the time it
	// takes delays all that come after. It is for tests.
	Fault func(op string) error
	// Driver is the database/sql driver that reads and writes the open file;
	// "" is that of SQLite. It is for tests, which lead it through their own.
	Driver string
}

// ErrClosed is returned by every call after Close.
var ErrClosed = errors.New("the store is closed")

// Store is an open database file. Its methods are safe for concurrent use.
type Store struct {
	path  string
	fault func(string) error
	log   *slog.Logger
	box   *seal.Box
	lock  *fileLock // nil unless exclusive

	db    *sql.DB // the writer's, one connection
	conn  *conn
	reads *sql.DB

	queries sync.Map // of the readers: *sql.Stmt by text
	known   knownStates

	writes  chan *write
	quit    chan struct{} // closed by Close
	stopped chan struct{} // closed when the writer has ended
	close   func() error
}

var (
	_ sessions.Store  = (*Store)(nil)
	_ delivery.Store  = (*Store)(nil)
	_ failover.Store  = (*Store)(nil)
	_ sessions.Keeper = (*Store)(nil)
)

// Open opens the database, or creates it. A file that is empty, cut short, of
// another program or of a newer version is refused and left as it is; one of
// an older version is copied beside itself and brought up to date.
func Open(ctx context.Context, o Options) (*Store, error) {
	return open(ctx, o, embedded())
}

func open(ctx context.Context, o Options, steps []step) (_ *Store, err error) {
	path, err := resolve(o.Path)
	if err != nil {
		return nil, err
	}
	s := &Store{
		path:    path,
		fault:   o.Fault,
		log:     cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		writes:  make(chan *write),
		quit:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	if o.Exclusive {
		if s.lock, err = lockFile(path); err != nil {
			return nil, err
		}
	}
	if err := ready(ctx, path, s.lock, steps); err != nil {
		return nil, err
	}
	if err := s.connect(ctx, cmp.Or(o.Driver, driverName), o.Full); err != nil {
		return nil, err
	}
	s.closeModes()
	if s.box, err = seal.Load(filepath.Dir(path), o.Keys, s.log); err != nil {
		return nil, err
	}
	if o.Exclusive {
		if err := s.reseal(ctx); err != nil {
			return nil, err
		}
	}
	s.close = sync.OnceValue(s.stop)
	go s.loop()
	return s, nil
}

// connect opens the writer's connection and the pool of readers.
func (s *Store) connect(ctx context.Context, driver string, full bool) (err error) {
	sync := "_synchronous=NORMAL"
	if full {
		sync = "_synchronous=FULL"
	}
	if s.db, s.conn, err = dialWith(ctx, driver, s.path, "_journal_mode=WAL", sync); err != nil {
		return err
	}
	var mode string
	if _, err := s.conn.get([]any{&mode}, "PRAGMA journal_mode"); err != nil {
		return err
	}
	if mode != "wal" {
		return &Error{Path: s.path, Problem: Unsuitable, Detail: "its file system has no shared memory"}
	}
	// A write lock taken and given back: a file that cannot be written is found
	// now and not with the first message.
	if _, err := s.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if _, err := s.conn.exec("ROLLBACK"); err != nil {
		return err
	}
	var limit int
	if _, err := s.conn.get([]any{&limit}, fmt.Sprintf("PRAGMA journal_size_limit = %d", journalLimit)); err != nil {
		return err
	}
	s.reads, err = pool(driver, s.path)
	return err
}

// Close ends the writer after the transaction that it is in; changes that still
// wait get ErrClosed. A second call does nothing.
func (s *Store) Close() error { return s.close() }

func (s *Store) stop() error {
	close(s.quit)
	<-s.stopped
	return s.release()
}

// release gives back whatever was opened.
func (s *Store) release() error {
	var errs []error
	if s.reads != nil {
		errs = append(errs, s.reads.Close())
	}
	if s.db != nil {
		errs = append(errs, s.conn.close(), s.db.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.unlock())
	}
	return errors.Join(errs...)
}

// Check reads the whole file and reports the first damages that it finds.
func (s *Store) Check(ctx context.Context) error {
	found, err := list(ctx, s, func(sc scanner) (line string, err error) {
		err = sc.Scan(&line)
		return line, err
	}, "PRAGMA integrity_check(10)")
	if err != nil {
		return err
	}
	if len(found) == 1 && found[0] == "ok" {
		return nil
	}
	return &Error{Path: s.path, Problem: Corrupt, Detail: strings.Join(found, "; ")}
}

// closed reports ErrClosed once Close was called.
func (s *Store) closed() error {
	select {
	case <-s.quit:
		return ErrClosed
	default:
		return nil
	}
}

// missing says that a change was asked for something that is not there.
func missing(what string, id any) error {
	return fmt.Errorf("store: there is no %s %v", what, id)
}
