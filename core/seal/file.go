package seal

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"understudy/core"
)

const (
	// FileName is the file with the key, in the folder of the databases whose
	// secrets it seals.
	FileName = "understudy.key"
	// oldEnd is added to the name of a file whose key shall only open.
	oldEnd = ".old"
	// largestFile is the most that is read of such a file, in bytes.
	largestFile = 4096
)

// Keys are those that somebody gave. Current takes the place of the file's; what
// was sealed with Old, with the file's or with that of the file ending in ".old"
// opens as well.
type Keys struct{ Current, Old core.Secret }

// Load is the box for the databases in a folder. Where no key is given it is
// that in the file "understudy.key" of the folder, which is made with mode 0600
// if it is not there. A file that others can read is closed to them, and the log
// says so. The error is a *[FileError], or that of [New].
func Load(folder string, given Keys, log *slog.Logger) (*Box, error) {
	path := filepath.Join(folder, FileName)
	current, old := given.Current, []core.Secret{}
	if given.Old.Set() {
		old = append(old, given.Old)
	}
	stored, err := readFile(path, log)
	switch {
	case err == nil && current.Set():
		old = append(old, stored)
	case err == nil:
		current = stored
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case !current.Set():
		if current, err = makeFile(path, log); err != nil {
			return nil, err
		}
	}
	switch before, err := readFile(path+oldEnd, log); {
	case err == nil:
		old = append(old, before)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return New(current, old...)
}

// FileError is trouble with the file of a key.
type FileError struct {
	What string // what happened
	Do   string // what can be done
	Err  error  // may be nil
}

func (e *FileError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("the key of the store: %s; %s", e.What, e.Do)
	}
	return fmt.Sprintf("the key of the store: %s: %v; %s", e.What, e.Err, e.Do)
}

func (e *FileError) Unwrap() error { return e.Err }

// readFile reads the key in a file. One that is not there is an fs.ErrNotExist.
func readFile(path string, log *slog.Logger) (core.Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return core.Secret{}, &FileError{"it cannot be read", "let this user read it", err}
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return core.Secret{}, &FileError{"it cannot be read", "check the disk", err}
	}
	if !st.Mode().IsRegular() {
		return core.Secret{}, &FileError{path + " is no ordinary file", "move it away, and a new key is made", nil}
	}
	if st.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		if err := f.Chmod(0o600); err != nil {
			return core.Secret{}, &FileError{"others may read it, and that cannot be changed", "give the file to this user, with mode 0600", err}
		}
		log.Warn("others could read the key of the store; now they cannot. If somebody may have read it, change it: docs/operations.md says how", "file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	if err != nil {
		return core.Secret{}, &FileError{"it cannot be read", "check the disk", err}
	}
	key, ok := parseFile(string(b))
	if !ok {
		return core.Secret{}, &FileError{path + " holds no key", "put the right one back from a copy, or move the file away: then a new key is made, and what was sealed with the old one has to be given anew", nil}
	}
	return key, nil
}

// parseFile finds the key: the only line that is neither empty nor a remark.
func parseFile(text string) (core.Secret, bool) {
	if len(text) > largestFile {
		return core.Secret{}, false
	}
	var found []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			found = append(found, line)
		}
	}
	if len(found) != 1 || len(found[0]) < MinKey {
		return core.Secret{}, false
	}
	return core.NewSecret(found[0]), true
}

const remark = "# The key of the secrets in the databases of this folder. Keep a copy, apart from theirs.\n"

// makeFile makes a key and its file. The file gets its name only once it is
// whole and on the disk; where another process was faster, its key counts.
func makeFile(path string, log *slog.Logger) (core.Secret, error) {
	fail := func(err error) (core.Secret, error) {
		return core.Secret{}, &FileError{"it cannot be made", "let this user write there, or set UNDERSTUDY_SECRET_KEY", err}
	}
	random := make([]byte, 32)
	rand.Read(random)                                    // never fails
	f, err := os.CreateTemp(filepath.Dir(path), "*.key") // mode 0600
	if err != nil {
		return fail(err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(remark + base64.StdEncoding.EncodeToString(random) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fail(err)
	}
	err = os.Link(f.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without links.
		if _, there := os.Lstat(path); errors.Is(there, fs.ErrNotExist) {
			err = os.Rename(f.Name(), path)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(err)
	}
	if err == nil {
		log.Info("a key was made for the secrets in the store; keep a copy of it, apart from those of the store", "file", path)
	}
	return readFile(path, log)
}
