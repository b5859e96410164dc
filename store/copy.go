package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// BackupPath is where a backup goes that was given no name: beside the
// database, with the moment in UTC in its name.
func BackupPath(path string, now time.Time) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + now.UTC().Format("-20060102-150405") + ext
}

// Backup copies a database to a file that must not be there yet, and examines
// the copy before it gets its name. The copy is whole, in one file of mode 0600,
// and holds what was committed when it began; the process that runs on the
// database goes on meanwhile. What is found wrong with the copy is an error, and
// then there is none. An existing file is an fs.ErrExist.
func Backup(ctx context.Context, path, to string) (*Report, error) {
	ownLocks()
	path, err := existing(path)
	if err != nil {
		return nil, err
	}
	if to, err = filepath.Abs(to); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if _, err := os.Lstat(to); err == nil {
		return nil, fmt.Errorf("store: the backup: %w", &fs.PathError{Op: "create", Path: to, Err: fs.ErrExist})
	}
	if _, err := look(ctx, path, len(embedded())); err != nil {
		return nil, err
	}
	db, c, err := dial(ctx, path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	defer c.close()
	draft, err := copyOut(ctx, c, filepath.Dir(to))
	if err != nil {
		return nil, fmt.Errorf("store: the backup cannot be made: %w", err)
	}
	defer removeAll(draft)
	r, err := Examine(ctx, draft)
	if err != nil {
		return nil, fmt.Errorf("store: the backup cannot be read back: %w", err)
	}
	if !r.Sound {
		return nil, &Error{Path: path, Problem: Corrupt, Detail: "a copy of it shows: " + r.Findings[0].What}
	}
	if err := place(draft, to); err != nil {
		return nil, fmt.Errorf("store: the backup: %w", err)
	}
	r.Path = to
	return r, nil
}

// copyOut writes the whole database into a new file of the folder and returns
// its name once the disk has it.
func copyOut(ctx context.Context, c *conn, dir string) (_ string, err error) {
	f, err := os.CreateTemp(dir, "*.backup") // mode 0600, which SQLite keeps
	if err != nil {
		return "", err
	}
	defer func() {
		f.Close()
		if err != nil {
			removeAll(f.Name())
		}
	}()
	if _, err := c.c.ExecContext(ctx, "VACUUM INTO ?", f.Name()); err != nil {
		return "", explain(c.path, err)
	}
	return f.Name(), f.Sync()
}

// place gives a finished file its name without taking one that exists.
func place(draft, to string) error {
	err := os.Link(draft, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links: the name is taken first, so that only the
	// file of this call is ever replaced.
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	f.Close()
	return os.Rename(draft, to)
}

// removeAll takes a draft away with whatever SQLite laid beside it.
func removeAll(draft string) {
	for _, end := range []string{"", "-journal", "-wal", "-shm"} {
		os.Remove(draft + end)
	}
}

// Vacuum rewrites a database so that it takes no more space than it needs, and
// returns its size in bytes before and after. It takes the lock of the process
// that runs the bot, for nothing can be stored while the file is rewritten; when
// another has it, the error is a *LockedError. It needs as much free space
// again as the database has.
func Vacuum(ctx context.Context, path string) (before, after int64, err error) {
	if path, err = existing(path); err != nil {
		return 0, 0, err
	}
	ownLocks()
	if _, err := look(ctx, path, len(embedded())); err != nil {
		return 0, 0, err
	}
	l, err := lockFile(path)
	if err != nil {
		return 0, 0, err
	}
	defer l.unlock()
	db, c, err := dial(ctx, path, "_journal_mode=WAL", "_synchronous=FULL")
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	defer c.close()
	// The journal goes into the file first, so that what is compared is all
	// that there was.
	for _, step := range []struct {
		run  string
		size *int64
	}{{"PRAGMA wal_checkpoint(TRUNCATE)", &before}, {"VACUUM", nil}, {"PRAGMA wal_checkpoint(TRUNCATE)", &after}} {
		if _, err := c.c.ExecContext(ctx, step.run); err != nil {
			return 0, 0, explain(path, err)
		}
		if step.size == nil {
			continue
		}
		st, err := os.Stat(path)
		if err != nil {
			return 0, 0, fmt.Errorf("store: %w", err)
		}
		*step.size = st.Size()
	}
	return before, after, nil
}
