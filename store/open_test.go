package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"understudy/sessions"
)

func TestFilesArePrivate(t *testing.T) {
	path := at(t)
	s := mustOpen(t, Options{Path: path, Exclusive: true})
	if err := count(t, s); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if m := dir.Mode().Perm(); m != 0o700 {
		t.Errorf("the folder has mode %o", m)
	}
	var names []string
	filepath.WalkDir(filepath.Dir(path), func(p string, d fs.DirEntry, err error) error {
		if d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err != nil {
			t.Fatal(err)
		}
		if m := st.Mode().Perm(); m != 0o600 {
			t.Errorf("%s has mode %o", d.Name(), m)
		}
		names = append(names, d.Name())
		return nil
	})
	if got := strings.Join(names, " "); got != "understudy.db understudy.db-shm understudy.db-wal understudy.db.lock understudy.key" {
		t.Errorf("the folder holds %s", got)
	}
}

func TestOpenClosesAWideMode(t *testing.T) {
	path := at(t)
	if err := mustOpen(t, Options{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, Options{Path: path})
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", st.Mode(), err)
	}
}

func TestOpenUnderAnyName(t *testing.T) {
	for _, name := range []string{"a b.db", "100%25?mode=memory#x&y.db", ":memory:", "ä'\".db", "file:x"} {
		path := filepath.Join(t.TempDir(), name)
		s := mustOpen(t, Options{Path: path})
		if err := count(t, s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		if n := counted(t, mustOpen(t, Options{Path: path})); n != 1 {
			t.Errorf("%s: the second time it holds %d", name, n)
		}
	}
	if _, err := Open(t.Context(), Options{}); err == nil {
		t.Error("no path at all was taken")
	}
}

func TestOpenThroughALink(t *testing.T) {
	path := at(t)
	s := mustOpen(t, Options{Path: path, Exclusive: true})
	if err := count(t, s); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	var locked *LockedError
	if _, err := Open(t.Context(), Options{Path: link, Exclusive: true}); !errors.As(err, &locked) {
		t.Errorf("the link led around the lock: %v", err)
	}
	if n := counted(t, mustOpen(t, Options{Path: link})); n != 1 {
		t.Errorf("through the link it holds %d", n)
	}
}

// filled is the content of a database with some rows and an empty journal.
func filled(t *testing.T) []byte {
	t.Helper()
	path := at(t)
	s := mustOpen(t, Options{Path: path})
	for range 50 {
		if err := s.Commit(t.Context(), key, 0, func(tx sessions.Tx) error {
			tx.Append("tr", sessions.Entry{Turn: strings.Repeat("x", 2000)})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOpenRefusesWhatIsNoStore(t *testing.T) {
	good := filled(t)
	foreign := at(t)
	if err := os.MkdirAll(filepath.Dir(foreign), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := raw(t, foreign)
	mustExec(t, c, "CREATE TABLE notes (text)")
	stranger, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	scrambled := bytes.Clone(good)
	for i := 100; i < 4096; i++ { // the schema
		scrambled[i] = 0xa5
	}

	for name, tc := range map[string]struct {
		content []byte
		want    Problem
	}{
		"empty":       {nil, NotDatabase},
		"text":        {[]byte("tokens = 3\n"), NotDatabase},
		"magic only":  {[]byte("SQLite format 3\x00"), Corrupt},
		"stranger":    {stranger, NotDatabase},
		"half":        {good[:len(good)/2], Corrupt},
		"first page":  {good[:4096], Corrupt},
		"last byte":   {good[:len(good)-1], Corrupt},
		"no schema":   {scrambled, Corrupt},
		"only zeroes": {make([]byte, len(good)), NotDatabase},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "understudy.db")
			if err := os.WriteFile(path, tc.content, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), Options{Path: path, Exclusive: true})
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			var e *Error
			if !errors.As(err, &e) || e.Problem != tc.want || !strings.Contains(err.Error(), path) {
				t.Errorf("the error is %v", err)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, tc.content) {
				t.Errorf("the file was changed (%v)", err)
			}
			if left, err := filepath.Glob(path + "-*"); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

func TestOpenRefusesAFolder(t *testing.T) {
	var e *Error
	if _, err := Open(t.Context(), Options{Path: t.TempDir()}); !errors.As(err, &e) || e.Problem != NotDatabase {
		t.Errorf("the error is %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Path: filepath.Join(file, "understudy.db")}); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestOpenRefusesAnOrphanedJournal(t *testing.T) {
	path := at(t)
	s := mustOpen(t, Options{Path: path})
	if err := count(t, s); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "understudy.db")
	journal, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied+"-wal", journal, 0o600); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := Open(t.Context(), Options{Path: copied}); !errors.As(err, &e) || e.Problem != Orphaned {
		t.Errorf("the error is %v", err)
	}
	if now, err := os.ReadFile(copied + "-wal"); err != nil || !bytes.Equal(now, journal) {
		t.Errorf("the journal was changed (%v)", err)
	}
	if _, err := os.Stat(copied); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a database was made: %v", err)
	}
}

// A database cut short is told from one whose newest pages are still in its
// journal, also where a crash came while they were copied over, first page
// first.
func TestOpenTakesAJournalAfterACrash(t *testing.T) {
	path := at(t)
	s := mustOpen(t, Options{Path: path})
	for range 30 {
		if err := s.Commit(t.Context(), key, 0, func(tx sessions.Tx) error {
			r := tx.Session()
			r.Compactions++
			tx.SetSession(r)
			tx.Append("tr", sessions.Entry{Turn: strings.Repeat("x", 5000)})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	before, journal := read(t, path), read(t, path+"-wal")
	if _, err := s.conn.exec("PRAGMA wal_checkpoint"); err != nil {
		t.Fatal(err)
	}
	after := read(t, path)
	if len(after) < len(before)+30*4096 {
		t.Fatalf("the database grew from %d to %d bytes only", len(before), len(after))
	}
	for name, content := range map[string][]byte{
		"before the checkpoint": before,
		"at its first page":     slices.Concat(after[:4096], before[4096:]),
		"in its midst":          after[:len(after)/2],
		"at its last page":      after[:len(after)-1],
		"after it":              after,
	} {
		copied := filepath.Join(t.TempDir(), "understudy.db")
		if err := errors.Join(os.WriteFile(copied, content, 0o600), os.WriteFile(copied+"-wal", journal, 0o600)); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, Options{Path: copied})
		if n := counted(t, s); n != 30 {
			t.Errorf("%s: %d of 30 commits are there", name, n)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestADraftIsNoStore(t *testing.T) {
	path := at(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte("a start that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := count(t, mustOpen(t, Options{Path: path})); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the draft is still there: %v", err)
	}
}

func TestCheck(t *testing.T) {
	content := filled(t)
	path := filepath.Join(t.TempDir(), "understudy.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, Options{Path: path})
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("a good file: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}

	for i := len(content) / 2; i < len(content)-4096; i++ { // leaves the schema alone
		content[i] = 0xa5
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, Options{Path: path})
	var e *Error
	if err := s.Check(t.Context()); !errors.As(err, &e) || e.Problem != Corrupt || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: %v", err)
	}
}
