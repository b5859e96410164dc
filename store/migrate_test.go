package store

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"understudy/core"
	"understudy/sessions"
)

func TestStepsAreNumbered(t *testing.T) {
	for i, st := range embedded() {
		if want := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(st.name, want) {
			t.Errorf("step %d is called %s", i+1, st.name)
		}
	}
}

// later are the steps of some later version of the program.
func later(sql ...string) []step {
	steps := embedded()
	for i, s := range sql {
		steps = append(steps, step{fmt.Sprintf("later_%d", i+1), s})
	}
	return steps
}

func version(t *testing.T, path string) (v int) {
	t.Helper()
	if _, err := raw(t, path).get([]any{&v}, "PRAGMA user_version"); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestUpgrade(t *testing.T) {
	path := at(t)
	s := mustOpen(t, Options{Path: path})
	if err := count(t, s); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	now := len(embedded())

	steps := later("CREATE TABLE extra (a) STRICT;", "CREATE TABLE extra (a TEXT) STRICT; INSERT INTO extra VALUES ('x');", "UPDATE extra SET a = 'y'")
	steps[now].sql = "CREATE TABLE first (a TEXT) STRICT; INSERT INTO first VALUES ('1');"
	s, err := open(t.Context(), Options{Path: path}, steps)
	if err != nil {
		t.Fatal(err)
	}
	if n := counted(t, s); n != 1 {
		t.Errorf("after the upgrade it holds %d", n)
	}
	var extra string
	if _, err := s.conn.get([]any{&extra}, "SELECT a FROM extra"); err != nil || extra != "y" {
		t.Errorf("the steps left %q, %v", extra, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	copied := fmt.Sprintf("%s.v%d", path, now)
	if st, err := os.Stat(copied); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("the copy: %v", err)
	}
	if n := counted(t, mustOpen(t, Options{Path: copied})); n != 1 {
		t.Errorf("the copy holds %d", n)
	}

	// The program of before refuses the new file and leaves it alone.
	var newer *NewerError
	if _, err := Open(t.Context(), Options{Path: path}); !errors.As(err, &newer) || newer.Found != now+3 || newer.Know != now {
		t.Errorf("the older program got %v", err)
	}
	if v := version(t, path); v != now+3 {
		t.Errorf("the version is %d", v)
	}
}

func TestAFailedStepLeavesTheOneBefore(t *testing.T) {
	path := at(t)
	s := mustOpen(t, Options{Path: path})
	if err := count(t, s); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	steps := later("CREATE TABLE good (a TEXT) STRICT", "CREATE TABLE half (a TEXT) STRICT; INSERT INTO nowhere VALUES (1);")
	if _, err := open(t.Context(), Options{Path: path}, steps); err == nil || !strings.Contains(err.Error(), "later_2") {
		t.Fatalf("the error is %v", err)
	}
	c := raw(t, path)
	var tables string
	if _, err := c.get([]any{&tables}, "SELECT group_concat(name) FROM sqlite_schema WHERE name IN ('good', 'half')"); err != nil || tables != "good" {
		t.Errorf("it has %q, %v", tables, err)
	}
	if v := version(t, path); v != len(embedded())+1 {
		t.Errorf("the version is %d", v)
	}

	steps[len(steps)-1].sql = "CREATE TABLE half (a TEXT) STRICT"
	s, err := open(t.Context(), Options{Path: path}, steps)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := counted(t, s); n != 1 {
		t.Errorf("in the end it holds %d", n)
	}
}

func TestNoUpgradeUnderARunningProcess(t *testing.T) {
	path := at(t)
	mustOpen(t, Options{Path: path, Exclusive: true})
	var locked *LockedError
	if _, err := open(t.Context(), Options{Path: path}, later("CREATE TABLE extra (a TEXT) STRICT")); !errors.As(err, &locked) {
		t.Errorf("the error is %v", err)
	}
	if v := version(t, path); v != len(embedded()) {
		t.Errorf("the version is %d", v)
	}
}

// A store of before there was a table of where something was heard knows that
// of its sessions.
func TestTheSecondStepFillsWhatWasHeard(t *testing.T) {
	path := at(t)
	s, err := open(t.Context(), Options{Path: path}, embedded()[:1])
	if err != nil {
		t.Fatal(err)
	}
	place := core.Thread{Platform: "slack", Account: "main", Workspace: "T", Channel: "C", Root: "1.2", Kind: core.KindThread}
	if err := s.Commit(t.Context(), key, 0, func(tx sessions.Tx) error {
		tx.SetSession(sessions.Session{Target: core.Target{Thread: place}})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := count(t, s); err != nil {
		t.Fatal(err)
	}
	noon := time.Unix(1_800_000_000, 7).UTC()
	for i, at := range []time.Time{noon.Add(-time.Hour), noon} {
		mustExec(t, s.conn, "INSERT INTO inbox (key, agent, thread, at, message) VALUES (?, ?, ?, ?, '{}')", fmt.Sprint("m", i), key.Agent, key.Thread, at.UnixNano())
	}
	if err := s.Commit(t.Context(), core.Key{Agent: "main", Thread: "untouched"}, 0, func(tx sessions.Tx) error {
		tx.SetSession(sessions.Session{Transcript: "no turn yet"})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := mustOpen(t, Options{Path: path}).Heard(t.Context(), sessions.Where{Platform: "slack", Account: "main"}, 9)
	if want := []sessions.Heard{{Session: key, Thread: place, At: noon}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it heard %+v, %v; want %+v", got, err, want)
	}
}

// A store of before summaries said how old the oldest is that they tell of: that
// is taken from what is still stored, and the last entry where nothing is.
func TestTheSeventhStepDatesSummaries(t *testing.T) {
	path := at(t)
	s, err := open(t.Context(), Options{Path: path}, embedded()[:6])
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 700, time.UTC)
	summary := &sessions.Summary{Text: "they said hello", Through: 3, Said: noon, At: noon.Add(time.Hour)}
	keys := map[string]core.Key{}
	for name, sum := range map[string]*sessions.Summary{"entries": summary, "none left": summary, "no summary": nil} {
		keys[name] = core.Key{Agent: "main", Thread: name}
		if err := s.Commit(t.Context(), keys[name], 0, func(tx sessions.Tx) error {
			tx.SetSession(sessions.Session{Transcript: "tr", Summary: sum})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []struct {
		seq        int
		transcript string
		at         time.Time
	}{
		{1, "before", noon.Add(-5 * time.Hour)},
		{2, "tr", noon.Add(-time.Hour)},
		{3, "tr", noon},
		{4, "tr", noon.Add(-9 * time.Hour)}, // it is not told of
	} {
		mustExec(t, s.conn, "INSERT INTO entries (seq, agent, thread, transcript, at, entry) VALUES (?, 'main', 'entries', ?, ?, '{}')", e.seq, e.transcript, e.at.UnixNano())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = mustOpen(t, Options{Path: path})
	since := func(name string) (since time.Time) {
		t.Helper()
		r, err := s.Session(t.Context(), keys[name])
		if err != nil {
			t.Fatal(err)
		}
		if r.Summary == nil {
			return time.Time{}
		}
		since = r.Summary.Since
		r.Summary.Since = time.Time{}
		if !reflect.DeepEqual(r.Summary, summary) {
			t.Errorf("%s: the summary is %+v", name, r.Summary)
		}
		return since
	}
	for name, want := range map[string]time.Time{"entries": noon.Add(-time.Hour).Truncate(time.Second), "none left": noon.Truncate(time.Second), "no summary": {}} {
		if got := since(name); !got.Equal(want) {
			t.Errorf("%s: it tells since %v, want %v", name, got, want)
		}
	}
	if _, err := s.Prune(t.Context(), sessions.Retention{Transcripts: noon.Add(-time.Minute)}, 9); err != nil {
		t.Fatal(err)
	}
	if since("entries") != (time.Time{}) || since("none left") == (time.Time{}) {
		t.Error("not the summary of what is too old was dropped")
	}
}
