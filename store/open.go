package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"modernc.org/sqlite"
)

// applicationID marks the header of our files: "unds".
const applicationID = 0x756e6473

// resolve makes the folder of a database and returns the file's real path, so
// that two ways to it meet at the same lock.
func resolve(path string) (string, error) {
	if path == "" {
		return "", errors.New("store: no path was given for the database")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("store: the folder of the database cannot be made: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	path = filepath.Join(dir, filepath.Base(path))
	switch real, err := filepath.EvalSymlinks(path); {
	case err == nil:
		return real, nil
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	default:
		return "", fmt.Errorf("store: %w", err)
	}
}

// ready sees to it that path is a database with the newest schema. Making one
// and upgrading one need the lock, so that no running process has its schema
// changed under it.
func ready(ctx context.Context, path string, held *fileLock, steps []step) error {
	ownLocks()
	version, err := look(ctx, path, len(steps))
	if err != nil || version == len(steps) {
		return err
	}
	if held == nil {
		l, err := lockFile(path)
		if err != nil {
			return err
		}
		defer l.unlock()
	}
	// Another process may have done it while the lock was not held.
	version, err = look(ctx, path, len(steps))
	switch {
	case err != nil || version == len(steps):
		return err
	case version == 0:
		return create(ctx, path, steps)
	}
	return upgrade(ctx, path, version, steps)
}

// look returns the schema version of the file, 0 when there is no file. It
// changes nothing.
func look(ctx context.Context, path string, newest int) (version int, err error) {
	there, err := inspect(path)
	if err != nil || !there {
		return 0, err
	}
	db, c, err := dial(ctx, path)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	defer c.close()
	if _, err := c.get([]any{&version}, "PRAGMA user_version"); err != nil {
		return 0, err
	}
	switch {
	case version > newest:
		return 0, &NewerError{Path: path, Found: version, Know: newest}
	case version < 1:
		return 0, &Error{Path: path, Problem: Corrupt, Detail: fmt.Sprintf("schema version %d", version)}
	}
	return version, nil
}

// ownLocks ties SQLite's locks to its own descriptors, once for the process.
// Otherwise closing any descriptor of the file, as inspect does, takes the
// locks of every connection in the process with it. Only Linux can do this;
// elsewhere it matters only to a process that opens the same file twice.
var ownLocks = sync.OnceFunc(func() { sqlite.OFDLocking(true) })

// inspect reports whether there is a file, and refuses one that is not ours or
// shorter than its header says, before SQLite gets to see it: SQLite takes an
// empty file for a new database.
func inspect(path string) (there bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if st, err := os.Stat(path + "-wal"); err == nil && st.Size() > 0 {
			return false, &Error{Path: path, Problem: Orphaned}
		}
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	if !st.Mode().IsRegular() {
		return false, &Error{Path: path, Problem: NotDatabase, Detail: "no regular file"}
	}
	if st.Size() == 0 {
		return false, &Error{Path: path, Problem: NotDatabase, Detail: "the file is empty"}
	}
	if err := header(path, f, st.Size()); err != nil {
		return false, err
	}
	if st.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, 0o600); err != nil {
			return false, fmt.Errorf("store: others may read the database, and that cannot be changed: %w", err)
		}
	}
	return true, nil
}

// header checks the first 100 bytes; https://www.sqlite.org/fileformat.html
// section 1.3 has the offsets.
func header(path string, f io.Reader, size int64) error {
	var h [100]byte
	if _, err := io.ReadFull(f, h[:]); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("store: %s: %w", path, err)
	}
	if !bytes.HasPrefix(h[:], []byte("SQLite format 3\x00")) {
		return &Error{Path: path, Problem: NotDatabase, Detail: "it does not begin as a database does"}
	}
	if size < int64(len(h)) {
		return &Error{Path: path, Problem: Corrupt, Detail: fmt.Sprintf("it has %d bytes", size)}
	}
	at := func(i int) int64 { return int64(binary.BigEndian.Uint32(h[i:])) }
	if at(68) != applicationID {
		return &Error{Path: path, Problem: NotDatabase, Detail: "it belongs to another program"}
	}
	page := int64(binary.BigEndian.Uint16(h[16:]))
	if page == 1 {
		page = 65536
	}
	// The page count holds only when it was written together with the change
	// counter, and not while newer pages wait in the journal.
	if counted := at(24) == at(92); counted && size < page*at(28) {
		if st, err := os.Stat(path + "-wal"); err != nil || st.Size() == 0 {
			return &Error{Path: path, Problem: Corrupt, Detail: fmt.Sprintf("%d bytes where there were %d", size, page*at(28))}
		}
	}
	return nil
}

// create makes a new database under another name and moves it into place, so
// that an empty file is never one of ours.
func create(ctx context.Context, path string, steps []step) (err error) {
	draft := path + ".new"
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("store: the database cannot be created: %w", err)
	}
	defer func() {
		f.Close()
		if err != nil {
			os.Remove(draft)
		}
	}()
	if err := fill(ctx, draft, steps); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("store: the database cannot be created: %w", err)
	}
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("store: the database cannot be created: %w", err)
	}
	// Without this a power cut may forget the new name. Not every system can
	// sync a folder, and then there is nothing to be done.
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		d.Sync()
		d.Close()
	}
	return nil
}

// fill writes the schema into an empty file, which its caller syncs once.
func fill(ctx context.Context, path string, steps []step) error {
	db, c, err := dial(ctx, path, "_synchronous=OFF")
	if err != nil {
		return err
	}
	defer db.Close()
	defer c.close()
	if _, err := c.exec(fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	return migrate(ctx, c, 0, steps)
}
