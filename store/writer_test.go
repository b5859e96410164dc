package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"understudy/sessions"
)

// stall holds the writer inside a change until the returned function is
// called, so that what comes after shares one batch.
func stall(t *testing.T, s *Store) (release func()) {
	t.Helper()
	entered, gate, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- s.write(context.Background(), "stall", func(*conn) error {
			close(entered)
			<-gate
			return nil
		})
	}()
	<-entered
	return func() {
		close(gate)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// together starts changes that share one batch and returns their errors.
func together(t *testing.T, s *Store, changes ...func(*conn) error) []error {
	t.Helper()
	release := stall(t, s)
	errs := make([]error, len(changes))
	var wg sync.WaitGroup
	for i, ch := range changes {
		wg.Go(func() { errs[i] = s.write(context.Background(), "test", ch) })
	}
	synctest.Wait()
	release()
	wg.Wait()
	return errs
}

func insert(id string) func(*conn) error {
	return func(c *conn) error {
		_, err := c.exec("INSERT INTO turns (id, agent, thread, turn) VALUES (?, '', '', '{}')", id)
		return err
	}
}

func ids(t *testing.T, s *Store) string {
	t.Helper()
	found, err := list(t.Context(), s, func(sc scanner) (id string, err error) {
		err = sc.Scan(&id)
		return id, err
	}, "SELECT id FROM turns ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}

var errOwn = errors.New("an error of the change")

func TestABatchIsOneTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, Options{Path: at(t)})
		var frames [3]int
		see := func(i int) func(*conn) error {
			return func(c *conn) error {
				if err := insert(fmt.Sprint(i))(c); err != nil {
					return err
				}
				_, err := c.get([]any{&frames[i]}, "SELECT count(*) FROM turns")
				return err
			}
		}
		together(t, s, see(0), see(1), see(2))
		if sum := frames[0] + frames[1] + frames[2]; sum != 1+2+3 {
			t.Errorf("they saw %v", frames)
		}
		if got := ids(t, s); got != "0 1 2" {
			t.Errorf("stored are %s", got)
		}
	})
}

func TestAnErrorRollsBackOneChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, Options{Path: at(t)})
		errs := together(t, s, insert("a"), func(c *conn) error {
			if err := insert("b")(c); err != nil {
				return err
			}
			return errOwn
		}, insert("c"), insert("a"))
		if errs[1] != errOwn || errs[2] != nil || (errs[0] == nil) == (errs[3] == nil) {
			t.Errorf("errors are %v", errs)
		}
		if got := ids(t, s); got != "a c" {
			t.Errorf("stored are %s", got)
		}
	})
}

// A change that breaks the whole transaction, as a full disk does, fails alone.
func TestABrokenTransactionIsTriedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, Options{Path: at(t)})
		runs := 0
		errs := together(t, s, insert("a"), func(c *conn) error {
			runs++
			if _, err := c.exec("ROLLBACK"); err != nil {
				return err
			}
			return errOwn
		}, insert("c"))
		if errs[0] != nil || errs[1] != errOwn || errs[2] != nil {
			t.Errorf("errors are %v", errs)
		}
		if runs != 2 {
			t.Errorf("the breaking change ran %d times", runs)
		}
		if got := ids(t, s); got != "a c" {
			t.Errorf("stored are %s", got)
		}
	})
}

func TestAFailedCommitStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, Options{Path: at(t)})
		// A constraint that is looked at when the transaction ends.
		mustExec(t, s.conn, "CREATE TABLE parent (id INTEGER PRIMARY KEY)")
		mustExec(t, s.conn, "CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
		errs := together(t, s, insert("a"), func(c *conn) error {
			if err := insert("b")(c); err != nil {
				return err
			}
			_, err := c.exec("INSERT INTO child VALUES (1)")
			return err
		}, insert("c"))
		if errs[0] != nil || errs[1] == nil || errs[2] != nil {
			t.Errorf("errors are %v", errs)
		}
		if got := ids(t, s); got != "a c" {
			t.Errorf("stored are %s", got)
		}
	})
}

// A transaction that could not even be rolled back, as while the disk is full,
// does not stand in the way of what comes after.
func TestATransactionThatStandsGivesWay(t *testing.T) {
	s := mustOpen(t, Options{Path: at(t)})
	mustExec(t, s.conn, "BEGIN IMMEDIATE")
	if err := insert("a")(s.conn); err != nil {
		t.Fatal(err)
	}
	if err := s.write(t.Context(), "test", insert("b")); err != nil {
		t.Error(err)
	}
	if got := ids(t, s); got != "b" {
		t.Errorf("stored are %s", got)
	}
}

func TestAPanicLeavesTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, Options{Path: at(t)})
		var caught any
		release := stall(t, s)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() { caught = recover() }()
			s.write(context.Background(), "test", func(c *conn) error {
				insert("a")(c)
				panic("a fault of the change")
			})
		})
		wg.Go(func() {
			if err := s.write(context.Background(), "test", insert("b")); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		release()
		wg.Wait()
		if err, ok := caught.(error); !ok || !strings.Contains(err.Error(), "a fault of the change") || !strings.Contains(err.Error(), "writer_test.go") {
			t.Errorf("caught %v", caught)
		}
		if got := ids(t, s); got != "b" {
			t.Errorf("stored are %s", got)
		}
	})
}

func TestAContextThatEndsWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, Options{Path: at(t)})
		release := stall(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { left <- s.write(ctx, "test", insert("a")) }()
		synctest.Wait()
		cancel()
		if err := <-left; err != context.Canceled {
			t.Errorf("the error is %v", err)
		}
		release()
		if err := s.write(t.Context(), "test", insert("b")); err != nil {
			t.Error(err)
		}
		if got := ids(t, s); got != "b" {
			t.Errorf("stored are %s", got)
		}
	})
}

func TestAContextThatEndsWhileWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, Options{Path: at(t)})
		ctx, cancel := context.WithCancel(t.Context())
		err := s.write(ctx, "test", func(c *conn) error {
			cancel()
			return insert("a")(c)
		})
		if err != nil {
			t.Errorf("the error is %v", err)
		}
		if got := ids(t, s); got != "a" {
			t.Errorf("stored are %s", got)
		}
	})
}

func TestCloseRefusesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, Options{Path: at(t)})
		release := stall(t, s)
		waits := make(chan error)
		go func() { waits <- s.write(context.Background(), "test", insert("a")) }()
		closing := make(chan error)
		synctest.Wait()
		go func() { closing <- s.Close() }()
		if err := <-waits; err != ErrClosed {
			t.Errorf("the one that waits got %v", err)
		}
		release() // itself is stored
		if err := <-closing; err != nil {
			t.Error(err)
		}
		if err := s.write(context.Background(), "test", insert("b")); err != ErrClosed {
			t.Errorf("a late one got %v", err)
		}
	})
}

// A change that ends its goroutine, as t.Fatal does, hangs nobody.
func TestAChangeThatEndsTheWriter(t *testing.T) {
	s := mustOpen(t, Options{Path: at(t)})
	for range 2 {
		err := s.Commit(context.Background(), key, 0, func(sessions.Tx) error {
			runtime.Goexit()
			return nil
		})
		if err != errAbandoned {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestDiskFull(t *testing.T) {
	s := mustOpen(t, Options{Path: at(t)})
	var pages int
	if _, err := s.conn.get([]any{&pages}, "PRAGMA page_count"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.conn.get([]any{&pages}, fmt.Sprintf("PRAGMA max_page_count = %d", pages+2)); err != nil {
		t.Fatal(err)
	}
	big := func(tx sessions.Tx) error {
		tx.SetSession(sessions.Session{Compactions: 7})
		tx.Append("tr", sessions.Entry{Turn: strings.Repeat("x", 100_000)})
		return nil
	}
	var e *Error
	if err := s.Commit(t.Context(), key, 0, big); !errors.As(err, &e) || e.Problem != Full {
		t.Fatalf("the error is %v", err)
	}
	if n := counted(t, s); n != 0 {
		t.Error("half of the commit was stored")
	}
	if err := count(t, s); err != nil {
		t.Errorf("a small change: %v", err)
	}
	if _, err := s.conn.get([]any{&pages}, "PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), key, 0, big); err != nil {
		t.Errorf("after space was freed: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	s := mustOpen(t, Options{Path: at(t)})
	mustExec(t, s.conn, "PRAGMA query_only = 1")
	var e *Error
	if err := count(t, s); !errors.As(err, &e) || e.Problem != ReadOnly {
		t.Errorf("the error is %v", err)
	}
	if n := counted(t, s); n != 0 {
		t.Errorf("it holds %d", n)
	}
}

// Readers cannot write, whatever query they are given.
func TestReadersOnlyRead(t *testing.T) {
	s := mustOpen(t, Options{Path: at(t)})
	_, err := list(t.Context(), s, func(sc scanner) (x int, err error) { return x, sc.Scan(&x) }, "DELETE FROM turns RETURNING 1")
	var e *Error
	if !errors.As(err, &e) || e.Problem != ReadOnly {
		t.Errorf("the error is %v", err)
	}
}

func TestPragmas(t *testing.T) {
	for full, want := range map[bool]int{false: 1, true: 2} {
		s := mustOpen(t, Options{Path: at(t), Full: full})
		var got, keys, limit int
		if _, err := s.conn.get([]any{&got}, "PRAGMA synchronous"); err != nil || got != want {
			t.Errorf("full %v: synchronous is %d, %v", full, got, err)
		}
		if _, err := s.conn.get([]any{&keys}, "PRAGMA foreign_keys"); err != nil || keys != 1 {
			t.Errorf("foreign keys are %d, %v", keys, err)
		}
		if _, err := s.conn.get([]any{&limit}, "PRAGMA journal_size_limit"); err != nil || limit != journalLimit {
			t.Errorf("the journal may keep %d bytes, %v", limit, err)
		}
	}
}

// What the connections keep of the file in memory is bounded, whatever it holds.
func TestCaches(t *testing.T) {
	s := mustOpen(t, Options{Path: at(t)})
	var kib int
	if _, err := s.conn.get([]any{&kib}, "PRAGMA cache_size"); err != nil || kib != -2000 {
		t.Errorf("the writer keeps %d, %v", kib, err)
	}
	found, err := list(t.Context(), s, func(sc scanner) (n int, err error) { err = sc.Scan(&n); return n, err }, "PRAGMA cache_size")
	if err != nil || len(found) != 1 || found[0] != -readerCache {
		t.Errorf("a reader keeps %v, %v", found, err)
	}
}
