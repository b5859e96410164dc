package store

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// closeModes takes from others what they may do with the files beside the
// database. The folder may belong to other programs too, so that about it there
// is only a word in the log.
func (s *Store) closeModes() {
	if runtime.GOOS == "windows" {
		return // which has no such modes
	}
	for _, end := range []string{"-wal", "-shm", ".lock"} {
		st, err := os.Lstat(s.path + end)
		if err != nil || !st.Mode().IsRegular() || st.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err := os.Chmod(s.path+end, 0o600); err != nil {
			s.log.Warn("others may use a file of the store, and that cannot be changed", "err", err)
		}
	}
	dir := filepath.Dir(s.path)
	if st, err := os.Stat(dir); err == nil && st.Mode().Perm()&0o077 != 0 {
		s.log.Warn("others may look into the folder of the store; its files are closed to them. Run chmod 700 on the folder if nothing else is in it", "folder", dir, "mode", fmt.Sprintf("%04o", st.Mode().Perm()))
	}
}
