package store

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/sessions"
)

// The queries of every turn look at what they need and no more, however much
// is stored.
func TestQueriesUseTheirIndex(t *testing.T) {
	s := mustOpen(t, Options{Path: at(t)})
	for _, query := range []string{
		sessionQuery,
		transcriptQuery,
		turnQuery,
		waitingQuery,
		inboundQuery,
		outgoingQuery,
		rowByID,
		statesQuery,
		spentQuery,
		followingQuery,
		theirHeardQuery,
		theirSpentQuery,
		theirWaitingQuery,
		othersQuery,
		unsaidQuery,
		summedQuery,
		oldEntries,
		oldSummaries,
		dropSummaries,
		blurredQuery,
		oldTurns,
		oldRows,
		oldKeys,
		oldDays,
		talkPartQuery,
		theirPartQuery,
		withdrawQuery,
	} {
		for _, step := range planOf(t, s, query) {
			if strings.Contains(step, "TEMP B-TREE") || strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "USING INDEX inbox_waiting") && !strings.Contains(step, "USING INDEX delivery_open") {
				t.Errorf("%s:\n%s", query, step)
			}
		}
	}
}

// Whatever a store is asked during a long life, each statement looks at what it
// needs and no more: they are taken from the store itself once all has been
// asked.
func TestStatementsUseTheirIndex(t *testing.T) {
	s := mustOpen(t, Options{Path: at(t)})
	live(t, s)
	may := map[string]bool{keptQuery: true, guestsQuery: true} // of lists for people, and of a small table
	for _, x := range leftovers {
		may[x.find] = true // looked for without the writer
	}
	var all []string
	for query := range s.conn.stmts {
		all = append(all, query)
	}
	s.queries.Range(func(query, _ any) bool {
		all = append(all, query.(string))
		return true
	})
	if len(all) < 50 {
		t.Fatalf("only %d statements were asked", len(all))
	}
	for _, query := range all {
		if word, _, _ := strings.Cut(strings.TrimSpace(query), " "); may[query] || !slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE"}, word) {
			continue
		}
		for _, step := range planOf(t, s, query) {
			small := strings.Contains(step, "inbox_waiting") || strings.Contains(step, "delivery_open") || strings.Contains(step, "json_each") ||
				strings.HasPrefix(step, "SCAN (subquery") || strings.HasPrefix(step, "SCAN CONSTANT ROW")
			if strings.HasPrefix(step, "SCAN") && !small {
				t.Errorf("%s:\n%s", query, step)
			}
		}
	}
}

// planOf says how SQLite goes about a statement.
func planOf(t *testing.T, s *Store, query string) []string {
	t.Helper()
	n := strings.Count(query, "?")
	if numbered := regexp.MustCompile(`\?(\d+)`).FindAllStringSubmatch(query, -1); numbered != nil {
		n = 0
		for _, m := range numbered {
			i, _ := strconv.Atoi(m[1]) // it is digits
			n = max(n, i)
		}
	}
	steps, err := list(t.Context(), s, func(sc scanner) (detail string, err error) {
		var id, parent, unused int
		err = sc.Scan(&id, &parent, &unused, &detail)
		return detail, err
	}, "EXPLAIN QUERY PLAN "+query, make([]any, n)...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return steps
}

// live asks a store for everything that is asked of it in its life.
func live(t *testing.T, s *Store) {
	t.Helper()
	ctx, now := t.Context(), time.Unix(1_800_000_000, 0)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	person := sessions.Person{Platform: "slack", User: "ann"}
	place := core.Thread{Platform: "slack", Account: "main", Channel: "D1", Kind: core.KindDirect}
	k := core.Key{Agent: "main", Thread: place.Key()}
	for _, id := range []string{"m1", "m2"} {
		_, _, err := s.Admit(ctx, sessions.Inbound{Key: id, Session: k, At: now, Message: core.Message{ID: id, Author: core.Author{ID: "ann"}, Target: core.Target{Thread: place}}})
		ok(err)
		_, err = s.Change(ctx, core.Change{InboxKey: id, Text: "x"})
		ok(err)
	}
	_, err := s.Change(ctx, core.Change{InboxKey: "m3", Deleted: true})
	ok(err)
	account := sessions.UserOf("slack", "ann")
	var rows []delivery.Row
	ok(s.CommitChoice(ctx, k, 0, func(tx sessions.ChoiceTx) error {
		tx.SetChoice(sessions.Choice{Lock: "a:one"})
		tx.Begin("m1", "t1")
		tx.Append("tr", sessions.Entry{Turn: "t1", Author: person.Address(), Inbox: "m1", At: now})
		tx.Spent("2026-01-01", account)
		tx.Spend("2026-01-01", account, sessions.Bill{llm.Ref{}: {Messages: 1}})
		tx.Withdraw("t1", core.PostNotice, now)
		rows = tx.Queue(delivery.Row{Turn: "t1", Post: core.Post{Kind: core.PostAnswer, Text: "x"}})
		return turnCommit(tx, "t1", now)
	}))
	ok(s.MarkTool(ctx, "m1"))
	ok(s.Mark(ctx, rows[0].ID, func(r delivery.Row) delivery.Row { r.State = delivery.Sending; return r }))
	ok(s.GiveUp(ctx, rows[0].ID, "gone", now))
	ok(s.UpdateState(ctx, "main", "a:one", func(failover.State) failover.State { return failover.State{LastUsed: now} }))
	ok(s.UpdateState(ctx, "main", "a:one", func(failover.State) failover.State { return failover.State{} }))
	ok(s.UpdateGuest(ctx, "slack", "main", "ann", func(g sessions.Guest) sessions.Guest { g.Name = "Ann"; return g }))
	ok(s.UpdateGuest(ctx, "slack", "main", "ann", func(sessions.Guest) sessions.Guest { return sessions.Guest{} }))
	_, err = s.Unsay(ctx, "m1", sessions.Unsaid)
	ok(err)
	for _, read := range []func() error{
		func() error { _, err := s.Session(ctx, k); return err },
		func() error { _, err := s.Transcript(ctx, k, "tr", 9); return err },
		func() error { _, _, err := s.Turn(ctx, "t1"); return err },
		func() error { _, err := s.States(ctx, "main"); return err },
		func() error { _, err := s.Spent(ctx, "2026-01-01", account); return err },
		func() error { _, err := s.Waiting(ctx); return err },
		func() error { _, err := s.Outgoing(ctx); return err },
		func() error { _, err := s.Guest(ctx, "slack", "main", "ann"); return err },
		func() error { _, err := s.Guests(ctx); return err },
		func() error { _, err := s.Sessions(ctx); return err },
		func() error { _, err := s.Following(ctx, k, "tr", 0, 9); return err },
		func() error {
			_, err := s.Prune(ctx, sessions.Retention{Transcripts: now, Notices: now, Inbox: now, Spent: "2027-01-01"}, 9)
			return err
		},
		func() error {
			_, err := s.Forget(ctx, sessions.Oblivion{Person: person, Mend: sessions.Unsaid})
			return err
		},
	} {
		ok(read())
	}
}
