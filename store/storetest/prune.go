package storetest

import (
	"fmt"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/sessions"
)

// pruned forgets what is from before noon and returns how much that was.
func (s *suite) pruned(limit int) int {
	s.Helper()
	n, err := s.Prune(s.Context(), sessions.Retention{Transcripts: noon, Notices: noon, Inbox: noon}, limit)
	s.ok(err)
	return n
}

// lived is a session in which something of every kind is from a moment.
func (s *suite) lived(k core.Key, id string, at time.Time) {
	s.Helper()
	in := inbound(id)
	in.Session, in.At = k, at
	_, _, err := s.Admit(s.Context(), in)
	s.ok(err)
	s.ok(s.Commit(s.Context(), k, 0, func(tx sessions.Tx) error {
		e, t, r := entry(id, id), turn(id), row(id, core.PostAnswer, 0)
		e.At, t.Started = at, at
		tx.Append("tr1", e)
		tx.SaveTurn(t)
		r.State, r.Settled = delivery.Sent, at
		tx.Queue(r)
		tx.Settle(in.Key)
		return nil
	}))
}

// kept says what is left of what lived made.
func (s *suite) kept(k core.Key, id string) string {
	s.Helper()
	var left string
	for _, e := range s.entries(k, "tr1", 99) {
		if e.Turn == id {
			left += "entry "
		}
	}
	if _, ok, err := s.Turn(s.Context(), id); ok {
		left += "turn "
	} else {
		s.ok(err)
	}
	// A row whose place is free is stored anew, and a key that is forgotten
	// admitted; both are taken back at once.
	errBack := fmt.Errorf("only looking")
	if err := s.Commit(s.Context(), k, 0, func(tx sessions.Tx) error {
		if r := row(id, core.PostAnswer, 0); tx.Queue(r)[0].State == delivery.Sent {
			left += "row "
		}
		return errBack
	}); err != errBack {
		s.ok(err)
	}
	if err := s.Commit(s.Context(), k, 0, func(tx sessions.Tx) error {
		tx.Settle(inbound(id).Key) // an error when it is not known
		return nil
	}); err == nil {
		left += "key "
	}
	return left
}

const all = "entry turn row key "

func prunes(s *suite) {
	s.lived(key, "old", noon.Add(-time.Nanosecond))
	s.lived(key, "new", noon)
	s.lived(key, "timeless", time.Time{})
	s.lived(other, "older", noon.Add(-time.Hour))

	n, err := s.Prune(s.Context(), sessions.Retention{}, 99)
	s.ok(err)
	s.same("without a moment", n, 0)
	s.same("old before", s.kept(key, "old"), all)

	s.same("pruned", s.pruned(99), 8)
	s.same("old", s.kept(key, "old"), "")
	s.same("older", s.kept(other, "older"), "")
	s.same("new", s.kept(key, "new"), all)
	s.same("timeless", s.kept(key, "timeless"), all)
	s.same("pruned again", s.pruned(99), 0)

	if _, fresh, err := s.Admit(s.Context(), inbound("old")); !fresh || err != nil {
		s.Errorf("a forgotten key is not new (%v)", err)
	}
	if _, fresh, err := s.Admit(s.Context(), inbound("new")); fresh || err != nil {
		s.Errorf("a key that is kept is new (%v)", err)
	}
	s.lived(key, "old again", noon.Add(-time.Hour)) // the places of what went are free
	s.same("old again", s.kept(key, "old again"), all)
}

// What was used on a day is forgotten as a whole, some accounts at a time.
func prunesDays(s *suite) {
	days := []string{"2025-12-31", "2026-01-01", "2026-01-02"}
	users := []sessions.Account{sessions.UserOf("slack", "ann"), sessions.UserOf("slack", "bob"), {Kind: sessions.TotalAccount}}
	s.commit(func(tx sessions.Tx) {
		for _, day := range days {
			for _, a := range users {
				tx.Spend(day, a, sessions.Bill{opus: tally(1)})
			}
		}
	})
	prune := func(first string, limit int) (n int) {
		n, err := s.Prune(s.Context(), sessions.Retention{Spent: first}, limit)
		s.ok(err)
		return n
	}
	s.same("without a day", prune("", 99), 0)
	s.same("before all", prune(days[0], 99), 0)
	s.same("at most", prune(days[2], 4), 4)
	s.same("the rest", prune(days[2], 4), 2)
	s.same("again", prune(days[2], 4), 0)
	for _, a := range users {
		s.same("an old day", s.spent(days[1], a), sessions.Bill(nil))
		s.same("the day that is kept", s.spent(days[2], a), sessions.Bill{opus: tally(1)})
	}
}

// summed gives a session a summary of what was said since a moment.
func (s *suite) summed(k core.Key, since time.Time) {
	s.Helper()
	s.ok(s.Commit(s.Context(), k, 0, func(tx sessions.Tx) error {
		r := tx.Session()
		r.Summary, r.Compactions = &sessions.Summary{Text: "they said hello", From: 1, Through: 1 << 30, Since: since}, 4
		tx.SetSession(r)
		return nil
	}))
}

// A summary goes with the oldest of what it tells of, to the nanosecond, and
// takes nothing else along.
func prunesSummaries(s *suite) {
	for _, c := range []struct {
		since time.Time
		kept  bool
	}{
		{noon.Add(-time.Nanosecond), false},
		{noon.Add(-500 * time.Millisecond), false},
		{noon.Add(-time.Hour), false},
		{noon, true},
		{noon.Add(time.Nanosecond), true},
		{noon.Add(500 * time.Millisecond), true},
		{time.Time{}, true}, // of what has no time
	} {
		s.summed(key, c.since)
		s.summed(other, noon)
		_, err := s.Prune(s.Context(), sessions.Retention{Notices: noon, Inbox: noon}, 9)
		s.ok(err)
		if s.record(key).Summary == nil {
			s.Error("a summary is gone though what was said is kept for ever")
		}
		n := s.pruned(9)
		r := s.record(key)
		if kept := r.Summary != nil; kept != c.kept || kept == (n == 1) || r.Compactions != 4 {
			s.Errorf("of %v: pruned %d, the record is %+v", c.since, n, r)
		}
		if s.record(other).Summary == nil {
			s.Error("the summary of another session is gone")
		}
	}
}

// As long as a summary is left, nothing goes that it may tell of.
func prunesSummariesFirst(s *suite) {
	const many = 5
	for i := range many {
		k := core.Key{Agent: "main", Thread: fmt.Sprint("t", i)}
		s.lived(k, fmt.Sprint("old", i), noon.Add(-time.Hour))
		s.summed(k, noon.Add(time.Duration(i-99)*time.Hour))
	}
	prune := func(limit int) int {
		n, err := s.Prune(s.Context(), sessions.Retention{Transcripts: noon}, limit)
		s.ok(err)
		return n
	}
	s.same("none", prune(0), 0)
	for pruned := 0; pruned < 2*many; {
		n := prune(2)
		if pruned += n; n == 0 {
			s.Fatalf("only %d are pruned", pruned)
		}
		for i := range many {
			k := core.Key{Agent: "main", Thread: fmt.Sprint("t", i)}
			if s.record(k).Summary != nil && len(s.entries(k, "tr1", 9)) == 0 {
				s.Fatalf("%s is summarised still, and what it tells of is gone", k.Thread)
			}
		}
	}
	s.same("in the end", prune(2), 0)
}

func prunesNothingAtWork(s *suite) {
	past := noon.Add(-time.Hour)
	s.lived(key, "waits", past)
	s.lived(other, "sends", past)
	s.summed(key, past)
	s.summed(other, past)
	in := inbound("m9")
	in.Session, in.At = key, past
	in, _, err := s.Admit(s.Context(), in)
	s.ok(err)
	r := row("t9", core.PostNotice, 0)
	r.Session, r.Created, r.Settled = other, past, past
	r = s.queue(r)[0]

	s.same("pruned", s.pruned(99), 2) // the settled keys
	s.same("of the one that waits", s.kept(key, "waits"), "entry turn row ")
	s.same("of the one that sends", s.kept(other, "sends"), "entry turn row ")
	if s.record(key).Summary == nil || s.record(other).Summary == nil {
		s.Error("a summary of a session at work is gone")
	}
	s.same("waiting", s.waiting(), []sessions.Inbound{in})
	s.same("outgoing", s.outgoing(), []delivery.Row{r})

	s.commit(func(tx sessions.Tx) { tx.Settle(in.Key) })
	s.mark(r.ID, delivery.Sent, "p1")
	s.same("pruned once that is done", s.pruned(99), 3+3+1+1+2)
	s.same("then", s.kept(key, "waits")+s.kept(other, "sends"), "")
}

func prunesByPortions(s *suite) {
	for i := range 5 {
		s.lived(key, fmt.Sprint("old", i), noon.Add(time.Duration(i-9)*time.Minute))
	}
	s.same("none", s.pruned(0), 0)
	s.same("at first", s.pruned(2), 8)
	s.same("the oldest", s.kept(key, "old0")+s.kept(key, "old1"), "")
	s.same("the next", s.kept(key, "old2"), all)
	s.same("then", s.pruned(2), 8)
	s.same("the last", s.pruned(2), 4)
	s.same("in the end", s.pruned(2), 0)
}
