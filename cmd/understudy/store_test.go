package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/core"
	"understudy/sessions"
	"understudy/store"
)

// keptStore is a store with one message that waits, where the commands look.
func keptStore(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(setEnv(t), "bot.db")
	t.Setenv("UNDERSTUDY_STORE", path)
	st, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := st.Admit(t.Context(), sessions.Inbound{Key: "m1", Session: core.Key{Agent: mainAgent, Thread: "x"}}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// ends runs a command and wants an exit code and a text in what it says.
func ends(t *testing.T, code int, says string, args ...string) string {
	t.Helper()
	out, errs, got := command(t, "", args...)
	if got != code || !strings.Contains(out+errs, says) {
		t.Fatalf("understudy %s ended with %d, want %d and %q; it said\n%s%s", strings.Join(args, " "), got, code, says, out, errs)
	}
	return out
}

func TestStoreCheck(t *testing.T) {
	path := keptStore(t)
	out := ends(t, 0, "is sound", "store", "check")
	if !strings.Contains(out, "1 waiting for an answer") {
		t.Error(out)
	}
	var r store.Report
	if err := json.Unmarshal([]byte(ends(t, 0, "", "store", "check", "--json")), &r); err != nil || !r.Sound || r.Waiting != 1 {
		t.Errorf("%+v, %v", r, err)
	}

	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(good)
	for i := 4096; i < len(bad); i++ { // all but the schema
		bad[i] = 0xa5
	}
	write := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(bad)
	ends(t, 1, "restore the latest backup", "store", "check")
	if err := json.Unmarshal([]byte(ends(t, 1, "", "store", "check", "--json")), &r); err != nil || r.Sound || len(r.Findings) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	ends(t, 1, "damaged", "store", "backup", "copy.db")
	if there("copy.db") {
		t.Error("a copy of a damaged file was left")
	}
	write(good[:len(good)-100])
	ends(t, 1, "bytes where there were", "store", "check")
	write([]byte("PNG, or something else"))
	for _, verb := range []string{"check", "backup", "vacuum"} {
		ends(t, 2, "no database of this program", "store", verb)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"check", "backup", "vacuum"} {
		ends(t, 2, "there is no store at "+path, "store", verb)
	}
	if there(path) {
		t.Error("looking made one")
	}
}

func TestStoreCheckOfANewerSchema(t *testing.T) {
	path := keptStore(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[63] = 99 // the last byte of user_version
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	ends(t, 1, "run the newer program", "store", "check")
	ends(t, 1, "run the newer program", "store", "backup")
	ends(t, 1, "run the newer program", "store", "vacuum")
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, content) {
		t.Errorf("the file was changed (%v)", err)
	}
}

func TestStoreBackup(t *testing.T) {
	path := keptStore(t)
	ends(t, 0, "was read back", "store", "backup")
	found, err := filepath.Glob(strings.TrimSuffix(path, ".db") + "-*.db")
	if err != nil || len(found) != 1 {
		t.Fatalf("backups: %v, %v", found, err)
	}
	if st, err := os.Stat(found[0]); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", st.Mode(), err)
	}
	t.Setenv("UNDERSTUDY_STORE", found[0])
	ends(t, 0, "1 waiting for an answer", "store", "check")
	t.Setenv("UNDERSTUDY_STORE", path)

	if err := os.WriteFile("mine", []byte("a precious file"), 0o600); err != nil {
		t.Fatal(err)
	}
	ends(t, 2, "stays as it is", "store", "backup", "mine")
	if b, err := os.ReadFile("mine"); err != nil || string(b) != "a precious file" {
		t.Errorf("it is %q, %v", b, err)
	}
	ends(t, 2, "make it first", "store", "backup", "nowhere/copy.db")
	ends(t, 2, "one word too many", "store", "backup", "a", "b")
	ends(t, 2, "store vacuum", "store")
	ends(t, 0, "store vacuum", "store", "-h")
	if drafts, _ := filepath.Glob("*.backup*"); len(drafts) > 0 {
		t.Errorf("left behind: %v", drafts)
	}
}

// Beside the process that runs on the store it can be examined and copied, and
// not be rewritten.
func TestStoreBesideARunningBot(t *testing.T) {
	path := keptStore(t)
	st, err := store.Open(t.Context(), store.Options{Path: path, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, _, err := st.Admit(t.Context(), sessions.Inbound{Key: "m2", Session: core.Key{Agent: mainAgent, Thread: "x"}}); err != nil {
		t.Fatal(err)
	}
	ends(t, 0, "2 waiting for an answer", "store", "check")
	ends(t, 0, "was read back", "store", "backup", "copy.db")
	t.Setenv("UNDERSTUDY_STORE", "copy.db")
	ends(t, 0, "2 waiting for an answer", "store", "check")
	t.Setenv("UNDERSTUDY_STORE", path)
	ends(t, 2, fmt.Sprintf("process %d is running on it", os.Getpid()), "store", "vacuum")
	if _, _, err := st.Admit(t.Context(), sessions.Inbound{Key: "m3", Session: core.Key{Agent: mainAgent, Thread: "x"}}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestBytesOf(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 999: "999 bytes", 4096: "4.1 kB", 999_960: "1.0 MB", 45_000_000: "45.0 MB", 7_260_000_000: "7.3 GB"} {
		if got := bytesOf(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
