//go:build unix

package store

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// modes are those of everything in a folder.
func modes(t *testing.T, dir string) map[string]os.FileMode {
	t.Helper()
	all := map[string]os.FileMode{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		all[filepath.Base(p)] = st.Mode().Perm()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Whatever the umask allows, nobody but the owner may use what the store makes:
// the file, what SQLite lays beside it, the lock, the key, and all copies.
func TestModesUnderAnyMask(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077} {
		before := unix.Umask(mask)
		dir := filepath.Join(t.TempDir(), "data")
		path := filepath.Join(dir, "understudy.db")
		steps := embedded()
		old, err := open(t.Context(), Options{Path: path, Exclusive: true}, steps[:len(steps)-1])
		if err == nil {
			err = old.Close()
		}
		if err == nil {
			var s *Store
			if s, err = Open(t.Context(), Options{Path: path, Exclusive: true}); err == nil {
				err = count(t, s)
				_, failed := Backup(t.Context(), path, filepath.Join(dir, "copy.db"))
				if err == nil {
					err = failed
				}
				defer s.Close()
			}
		}
		unix.Umask(before)
		if err != nil {
			t.Fatal(err)
		}
		found := modes(t, dir)
		for name, m := range found {
			if want := os.FileMode(0o600); name != "data" && m != want || name == "data" && m != 0o700 {
				t.Errorf("umask %03o: %s has mode %o", mask, name, m)
			}
		}
		names := slices.Sorted(func(yield func(string) bool) {
			for name := range found {
				if !yield(name) {
					return
				}
			}
		})
		want := "copy.db data understudy.db understudy.db-shm understudy.db-wal understudy.db.lock understudy.db.v"
		if got := strings.Join(names, " "); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " understudy.key") {
			t.Errorf("umask %03o: the folder holds %s", mask, got)
		}
	}
}

// What was laid open is closed at the next start. The folder is left as it is,
// with a word about it.
func TestWideModesAreClosed(t *testing.T) {
	path := at(t)
	dir := filepath.Dir(path)
	first := mustOpen(t, Options{Path: path, Exclusive: true})
	if err := count(t, first); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "-wal", "-shm", ".lock"} {
		if err := os.Chmod(path+name, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	said := &strings.Builder{}
	mustOpen(t, Options{Path: path, Log: slog.New(slog.NewTextHandler(said, nil))}) // beside the first
	for name, m := range modes(t, dir) {
		if name != "data" && m != 0o600 {
			t.Errorf("%s has mode %o", name, m)
		}
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("the folder was changed: %v, %v", st.Mode(), err)
	}
	if !strings.Contains(said.String(), "chmod 700") || !strings.Contains(said.String(), "folder="+dir) {
		t.Errorf("the log says %q", said)
	}
}
