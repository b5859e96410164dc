package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/sessions"
)

func TestExamineCounts(t *testing.T) {
	s := mustOpen(t, Options{Path: at(t)})
	if _, _, err := s.Admit(t.Context(), sessions.Inbound{Key: "m1", Session: key}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Admit(t.Context(), sessions.Inbound{Key: "m2", Session: key}); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), key, 0, func(tx sessions.Tx) error {
		tx.Settle("m2")
		tx.Queue(delivery.Row{Turn: "t1", State: delivery.Sent, Post: core.Post{Kind: core.PostStatus}})
		return turnCommit(tx, "t1", time.Unix(1, 0))
	}); err != nil {
		t.Fatal(err)
	}
	r, err := Examine(t.Context(), s.path)
	if err != nil {
		t.Fatal(err)
	}
	got := *r
	got.Size, got.Log, got.Free, got.Findings = 0, 0, 0, nil
	want := Report{Path: s.path, Sound: true, Schema: len(embedded()), Newest: len(embedded()),
		Sessions: 1, Entries: 1, Turns: 1, Waiting: 1, Settled: 1, Open: 1, Posts: 2}
	if fmt.Sprint(got) != fmt.Sprint(want) || r.Size == 0 || r.Log == 0 || len(r.Findings) > 0 {
		t.Errorf("it found %+v", r)
	}
}

// Every document that cannot be read is told, whatever is wrong elsewhere.
func TestExamineReadsEveryDocument(t *testing.T) {
	s := mustOpen(t, Options{Path: at(t)})
	for _, fill := range []string{
		"INSERT INTO sessions (agent, thread, choice, record) VALUES ('a', 'th', 'x', 'x')",
		"INSERT INTO inbox (key, agent, thread, message) VALUES ('k', 'a', 'th', 'x')",
		"INSERT INTO entries (agent, thread, transcript, entry) VALUES ('a', 'th', 'tr', '[]'), ('a', 'th', 'tr', '{}'), ('a', 'th', 'tr', '[1]')",
		"INSERT INTO turns (id, agent, thread, turn) VALUES ('t1', 'a', 'th', 'x')",
		"INSERT INTO delivery (agent, thread, turn, kind, part, state, platform_id, tries, error, post) VALUES ('a', 'th', 't1', 'answer', 0, 'sent', '', 0, '', 'x')",
		"INSERT INTO states (agent, profile, state) VALUES ('a', 'p', 'x')",
		"INSERT INTO heard (agent, thread, author, platform, account, holder, place) VALUES ('a', 'th', 'u', 'p', 'c', 'h', 'x')",
		"INSERT INTO guests (platform, account, user, guest) VALUES ('p', 'c', 'u', 'x')",
	} {
		mustExec(t, s.conn, fill)
	}
	r, err := Examine(t.Context(), s.path)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, x := range r.Findings {
		found = append(found, x.What)
	}
	all := strings.Join(found, "\n")
	for _, d := range stored {
		n := 1
		if d.table == "entries" {
			n = 2
		}
		if want := fmt.Sprintf("%d of the rows of %s hold a %s that", n, d.table, d.column); !strings.Contains(all, want) {
			t.Errorf("missing %q in\n%s", want, all)
		}
	}
	if r.Sound || !strings.Contains(all, "for example 1, 3") {
		t.Errorf("%+v", r)
	}
	// Whoever adds a column of documents adds it to the list above.
	found, err = texts(t.Context(), s.conn, `SELECT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND c.type = 'TEXT' AND c.name IN ('record', 'choice', 'message', 'entry', 'turn', 'post', 'state', 'place', 'guest', 'doc', 'document')
		AND m.name || '.' || c.name NOT IN ('inbox.turn', 'delivery.turn', 'delivery.state')`)
	if err != nil || len(found) != len(stored) {
		t.Errorf("columns %v, %v", found, err)
	}
}

func TestExamineAnOlderSchema(t *testing.T) {
	path := at(t)
	s, err := open(t.Context(), Options{Path: path}, embedded()[:1])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Examine(t.Context(), path)
	if err != nil || !r.Sound || r.Schema != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if v := version(t, path); v != 1 {
		t.Errorf("looking made it version %d", v)
	}
	to := filepath.Join(t.TempDir(), "copy.db")
	if _, err := Backup(t.Context(), path, to); err != nil || version(t, to) != 1 {
		t.Errorf("the copy: %v", err)
	}
}

// A copy that is made while others write is of one moment.
func TestBackupWhileOthersWrite(t *testing.T) {
	s := mustOpen(t, Options{Path: at(t), Exclusive: true})
	begun, quit := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			if err := s.Commit(t.Context(), key, 0, func(tx sessions.Tx) error {
				r := tx.Session()
				r.Compactions++
				tx.SetSession(r)
				tx.Append("tr", sessions.Entry{Turn: strings.Repeat("x", 3000)})
				return nil
			}); err != nil {
				t.Error(err)
				return
			}
			if i == 20 {
				close(begun)
			}
			select {
			case <-quit:
				return
			default:
			}
		}
	})
	<-begun
	dir := t.TempDir()
	for i := range 5 {
		to := filepath.Join(dir, fmt.Sprint(i, ".db"))
		r, err := Backup(t.Context(), s.path, to)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(to); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", st.Mode(), err)
		}
		copied := mustOpen(t, Options{Path: to})
		if n := counted(t, copied); n < 20 || int64(n) != r.Entries {
			t.Errorf("the copy counts %d commits and has %d entries", n, r.Entries)
		}
	}
	close(quit)
	wg.Wait()
	if _, err := Backup(t.Context(), s.path, filepath.Join(dir, "0.db")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another copy: %v", err)
	}
	if drafts, _ := filepath.Glob(filepath.Join(dir, "*.backup*")); len(drafts) > 0 {
		t.Errorf("left behind: %v", drafts)
	}
}

func TestVacuum(t *testing.T) {
	path := at(t)
	s := mustOpen(t, Options{Path: path})
	for range 50 {
		if err := s.Commit(t.Context(), key, 0, func(tx sessions.Tx) error {
			tx.Append("tr", sessions.Entry{Turn: strings.Repeat("x", 8000)})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := count(t, s); err != nil {
		t.Fatal(err)
	}
	mustExec(t, s.conn, "DELETE FROM entries")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, after, err := Vacuum(t.Context(), path)
	if err != nil || after > before/2 {
		t.Fatalf("from %d to %d bytes, %v", before, after, err)
	}
	s = mustOpen(t, Options{Path: path, Exclusive: true})
	if n := counted(t, s); n != 1 {
		t.Errorf("it holds %d", n)
	}
	var locked *LockedError
	if _, _, err := Vacuum(t.Context(), path); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("beside another: %v", err)
	}
}

func TestBackupPath(t *testing.T) {
	now := time.Date(2026, 11, 30, 4, 5, 6, 0, time.FixedZone("", 3600))
	for path, want := range map[string]string{"/d/bot.db": "/d/bot-20261130-030506.db", "/d.x/bot": "/d.x/bot-20261130-030506"} {
		if got := BackupPath(path, now); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}
