package store

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// fileLock is the lock beside a database file. The system gives it back when
// its process ends, however it ends; the file stays.
type fileLock struct{ f *os.File }

// lockFile takes the lock of a database and writes this process's id into it.
func lockFile(path string) (*fileLock, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: the lock file cannot be opened: %w", err)
	}
	ok, err := tryLock(f)
	if err == nil && !ok {
		err = &LockedError{Path: path, PID: holder(f)}
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &fileLock{f}, nil
}

// holder reads who has the lock.
func holder(f *os.File) int {
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}

// unlock gives the lock back. Closing the file does it.
func (l *fileLock) unlock() error { return l.f.Close() }
