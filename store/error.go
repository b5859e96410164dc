package store

import (
	"errors"
	"fmt"

	_ "modernc.org/sqlite" // the driver
	codes "modernc.org/sqlite/lib"
)

// Problem is what is wrong with a database file.
type Problem string

// The problems that an operator can do something about, and Other.
const (
	Full        Problem = "full"         // no space left
	ReadOnly    Problem = "read-only"    // the file or its file system cannot be written
	Corrupt     Problem = "corrupt"      // the file is damaged or cut short
	NotDatabase Problem = "not-database" // the file is something else
	Orphaned    Problem = "orphaned"     // the file is gone, its journal is not
	Busy        Problem = "busy"         // another process kept writing
	Denied      Problem = "denied"       // the file cannot be opened
	Unreadable  Problem = "unreadable"   // the disk answers with errors
	Unsuitable  Problem = "unsuitable"   // the file system cannot hold a database
	Other       Problem = "other"
)

// words are what happened and what to do; of Other only the detail is known.
var words = map[Problem][2]string{
	Full:        {"the disk is full", "free some space; nothing was stored"},
	ReadOnly:    {"it cannot be written", "check the owner and mode of the file, its folder and its mount"},
	Corrupt:     {"it is damaged", "stop the bot, keep a copy, and restore the latest backup"},
	NotDatabase: {"it is no database of this program", "name another path, or move that file away"},
	Orphaned:    {"it is gone, but its journal is still there", "put the file back beside its -wal file, or move the -wal file away to begin anew"},
	Busy:        {"another process keeps it busy", "try again, or stop the other process"},
	Denied:      {"it cannot be opened", "check that the path is right and that this user may read and write it"},
	Unreadable:  {"the disk failed", "check the disk and its mount"},
	Unsuitable:  {"its file system is not fit for it", "keep it on a local disk"},
}

// Error is trouble with the database file. Nothing of the change that met it
// was stored.
type Error struct {
	Path    string
	Problem Problem
	Detail  string // the database's own words
}

func (e *Error) Error() string {
	w := words[e.Problem]
	if e.Problem == Other {
		return fmt.Sprintf("store %s: %s", e.Path, e.Detail)
	}
	if e.Detail == "" {
		return fmt.Sprintf("store %s: %s; %s", e.Path, w[0], w[1])
	}
	return fmt.Sprintf("store %s: %s (%s); %s", e.Path, w[0], e.Detail, w[1])
}

// StoreTrouble reports that the file is at fault, as far as that is known; see
// [core.StoreTrouble].
func (e *Error) StoreTrouble() bool { return e.Problem != Other }

// NewerError says that the file was written by a later version of the program.
type NewerError struct {
	Path        string
	Found, Know int // schema versions
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("store %s: its schema is version %d and this program knows versions up to %d; run the newer program, or restore the copy made before the upgrade",
		e.Path, e.Found, e.Know)
}

// LockedError says that another process has the file for itself.
type LockedError struct {
	Path string
	PID  int // of the holder; 0 when it is not known
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("store %s: another process is running on it; stop that one first", e.Path)
	}
	return fmt.Sprintf("store %s: process %d is running on it; stop that one first", e.Path, e.PID)
}

// problems translates SQLite's primary result codes.
var problems = map[int]Problem{
	codes.SQLITE_FULL:     Full,
	codes.SQLITE_READONLY: ReadOnly,
	codes.SQLITE_CORRUPT:  Corrupt,
	codes.SQLITE_NOTADB:   NotDatabase,
	codes.SQLITE_BUSY:     Busy,
	codes.SQLITE_PROTOCOL: Busy,
	codes.SQLITE_CANTOPEN: Denied,
	codes.SQLITE_PERM:     Denied,
	codes.SQLITE_AUTH:     Denied,
	codes.SQLITE_IOERR:    Unreadable,
}

// explain turns an error of the driver into an *Error and leaves all others as
// they are.
func explain(path string, err error) error {
	var se interface {
		error
		Code() int
	}
	if !errors.As(err, &se) {
		return err
	}
	p, ok := problems[se.Code()&0xff]
	if !ok {
		p = Other
	}
	return &Error{Path: path, Problem: p, Detail: se.Error()}
}
