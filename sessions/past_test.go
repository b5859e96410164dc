package sessions

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"understudy/core/llm"
)

// hoursAgo gives entries in steps' letters their ages, in hours; -1 is no time.
func hoursAgo(now time.Time, words string, ages ...int) []Entry {
	list := steps(words)
	for i := range list {
		list[i].At = time.Time{}
		if ages[i] >= 0 {
			list[i].At = now.Add(-time.Duration(ages[i]) * time.Hour)
		}
	}
	return list
}

func seqs(entries []Entry) (list []int64) {
	for _, e := range entries {
		list = append(list, e.Seq)
	}
	return list
}

// An exchange goes as a whole once the question or anything else of it is too
// old, so that no answer stands without its question, and no call without its
// result.
func TestRecent(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		words string
		ages  []int
		want  string // places of what is left
	}{
		{"1:u 1:a 2:u 2:a", []int{3, 2, 1, 0}, "0 1 2 3"},
		{"1:u 1:a 2:u 2:a", []int{5, 5, 4, 0}, "2 3"},
		{"1:u 1:a 2:u 2:a", []int{5, 1, 1, 0}, "2 3"},
		{"1:u 1:call 1:result 1:a 2:u", []int{2, 2, 5, 1, 0}, "4"}, // the clock was set back
		{"1:u 1:a 2:u 2:a", []int{3, 3, 5, 2}, "0 1"},
		{"1:a 2:u 2:a", []int{5, 3, 2}, "1 2"},
		{"1:a 2:u 2:a", []int{3, 3, 2}, "0 1 2"},
		{"1:u 1:a 2:u", []int{-1, -1, 5}, "0 1"},
		{"1:u 1:a", []int{9, 8}, ""},
	} {
		entries := hoursAgo(now, c.words, c.ages...)
		before := slices.Clone(entries)
		var want []int64
		for _, place := range strings.Fields(c.want) {
			want = append(want, entries[atoi(place)].Seq)
		}
		past := now.Add(-4 * time.Hour)
		if got := seqs(recent(entries, past)); !slices.Equal(got, want) {
			t.Errorf("%s %v: left is %v, want %v", c.words, c.ages, got, want)
		}
		if !slices.Equal(seqs(entries), seqs(before)) {
			t.Errorf("%s %v: what was given is changed", c.words, c.ages)
		}
		if got := recent(entries, time.Time{}); len(got) != len(entries) {
			t.Errorf("%s %v: %d are left where all is kept", c.words, c.ages, len(got))
		}
	}
}

// agedTurn is a turn that began an hour ago, when nothing was older than the four
// hours that things are told; now the summary, the first exchange and what is
// asked are.
func agedTurn() *turn {
	now := time.Unix(1_800_000_000, 0)
	history := hoursAgo(now, "1:u 1:a 2:u 2:a 3:u", 5, 5, 1, 1, 5)
	for i := range history {
		history[i].Message.Parts = []llm.Part{{Text: fmt.Sprintf("<%d>", i)}}
	}
	x := aTurn(20_000, history)
	x.set.Retention = 4 * time.Hour
	x.set.Sees = func(llm.Ref) bool { return true }
	x.b = &Bot{Config: Config{Now: func() time.Time { return now }}}
	x.sess.Summary = &Summary{Text: "THE SUMMARY", From: 1, Through: 2, Since: now.Add(-5 * time.Hour)}
	return x
}

// What becomes too old while a turn runs is in none of its later requests; what
// the turn was asked is.
func TestWhatAgesWhileATurnRuns(t *testing.T) {
	x := agedTurn()
	var told strings.Builder
	for _, m := range x.messages(ref("a/m1")) {
		told.WriteString(m.Text())
	}
	if got := told.String(); got != "<2><3><4>" {
		t.Errorf("a model is told %q", got)
	}

	m := &summarising{t: x, part: 1, sum: *x.sess.Summary, queue: x.history[:4]}
	if text := m.request(ref("a/m1")).Messages[0].Text(); strings.Contains(text, "THE SUMMARY") || strings.Contains(text, "<0>") || strings.Contains(text, "<1>") || !strings.Contains(text, "<3>") {
		t.Errorf("for a summary a model is told %q", text)
	}
	if m.took != 4 {
		t.Errorf("it tells of %d entries", m.took)
	}
	m.start()
	if m.sum != (Summary{}) || m.base != 0 || m.read != 0 || len(m.queue) != 0 {
		t.Errorf("it goes on from %+v, after %d", m.sum, m.read)
	}
	x.sess.Summary.Since = x.sess.Summary.Since.Add(time.Hour)
	if m.start(); m.sum != *x.sess.Summary || m.base != 2 || m.read != 2 {
		t.Errorf("it goes on from %+v, after %d", m.sum, m.read)
	}
}

// A summary that is made anew begins where it may be told for a quarter of the
// time yet, or else with everything; whatever it tells of, it is not older.
func TestWhereASummaryBegins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := agedTurn()
		now := x.b.Now()
		last := rapid.IntRange(0, 240).Draw(t, "minutes")
		from := x.lasting(now.Add(-time.Duration(last) * time.Minute))
		want := 3 * time.Hour
		if last > 180 {
			want = 4 * time.Hour
		}
		if got := now.Sub(from); got != want {
			t.Fatalf("after something of %d minutes ago it begins %v ago", last, got)
		}
		x.set.Retention = 0
		if got := x.lasting(now); !got.IsZero() {
			t.Fatalf("where all is kept it begins at %v", got)
		}
	})
}

// Who skips what is old begins with a question; where nothing was skipped, all is
// told.
func TestBegins(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		words string
		ages  []int
		want  int // the first that is told
	}{
		{"1:u 1:a 2:u 2:a", []int{3, 3, 1, 1}, 0},
		{"1:u 1:a 2:u 2:a", []int{5, 5, 1, 1}, 2},
		{"1:u 1:a 2:u 2:a", []int{5, 3, 1, 1}, 2},
		{"1:a 2:u 2:a", []int{3, 3, 1}, 0},
		{"1:a 2:u 2:a", []int{5, 3, 1}, 1},
		{"1:u 2:u", []int{5, 5}, 2},
	} {
		m := &summarising{from: now.Add(-4 * time.Hour)}
		n := 0
		for _, e := range hoursAgo(now, c.words, c.ages...) {
			if m.begins(e) {
				break
			}
			n++
		}
		if n != c.want {
			t.Errorf("%s %v: it begins with %d, want %d", c.words, c.ages, n, c.want)
		}
	}
}

// A deletion takes a summary away that tells of it, and one of which nobody knows
// where it begins.
func TestUnsaid(t *testing.T) {
	const elsewhere = 1<<63 - 1
	for _, c := range []struct {
		summary *Summary
		from    int64
		kept    bool
	}{
		{nil, 1, false},
		{&Summary{From: 3, Through: 9}, 9, false},
		{&Summary{From: 3, Through: 9}, 10, true},
		{&Summary{From: 3, Through: 9}, 0, false},
		{&Summary{From: 3, Through: 9}, elsewhere, true},
		{&Summary{Through: 9}, 9, false},
		{&Summary{Through: 9}, 10, false},
		{&Summary{Through: 9}, elsewhere, false},
	} {
		if s := Unsaid(Session{Summary: c.summary}, c.from); (s.Summary != nil) != c.kept || s.Unsaid != 1 {
			t.Errorf("%+v, from %d: the record is %+v", c.summary, c.from, s)
		}
	}
}
