package store

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"understudy/core"
	"understudy/sessions"
)

// TestMain is also the program that crash tests start and kill.
func TestMain(m *testing.M) {
	if path := os.Getenv(victimPath); path != "" {
		victim(path)
		return
	}
	flag.Set("rapid.checks", "25") // each opens a database; the command line may ask for more
	goleak.VerifyTestMain(m)
}

var key = core.Key{Agent: "main", Thread: "discord:1:g:2:c:3"}

// at is a path for a database that is not there yet.
func at(t testing.TB) string { return filepath.Join(t.TempDir(), "data", "understudy.db") }

// mustOpen opens a store and closes it with the test.
func mustOpen(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// raw opens a file as any other program would.
func raw(t testing.TB, path string) *conn {
	t.Helper()
	db, c, err := dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.close()
		db.Close()
	})
	return c
}

func mustExec(t testing.TB, c *conn, query string, args ...any) {
	t.Helper()
	if _, err := c.exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// count is a change that can be seen: one more compaction.
func count(t testing.TB, s *Store) error {
	return s.Commit(context.Background(), key, 0, func(tx sessions.Tx) error {
		r := tx.Session()
		r.Compactions++
		tx.SetSession(r)
		return nil
	})
}

func counted(t testing.TB, s *Store) int {
	t.Helper()
	r, err := s.Session(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return r.Compactions
}
