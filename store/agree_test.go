package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
	"understudy/sessions"
	"understudy/store/memory"
	"understudy/store/storetest"
)

// The two stores are told the same random story, must answer the same at every
// step and hold the same in the end. They share no code, so what one of them
// forgets shows.
func TestTheStoresAgree(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		open := func() *Store {
			s, err := Open(context.Background(), Options{Path: filepath.Join(dir, fmt.Sprint(n, ".db"))})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		file, mem := open(), memory.New()
		defer func() { file.Close() }()
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			if rapid.IntRange(0, 30).Draw(t, "restart") == 0 {
				if err := file.Close(); err != nil {
					t.Fatal(err)
				}
				file = open()
			}
			act := someStep(t)
			got, want := act(file), act(mem.Open(memory.Options{}))
			agree(t, "the step", got, want)
		}
		agree(t, "what is stored", view(file), view(mem.Open(memory.Options{})))
	})
}

func agree(t *rapid.T, what string, file, mem any) {
	if !reflect.DeepEqual(file, mem) {
		t.Fatalf("%s:\n  file %+v\nmemory %+v", what, file, mem)
	}
}

// failed stands for any error: the stores word theirs differently.
func failed(err error) any {
	if errors.Is(err, errOwn) {
		return errOwn
	}
	return err != nil
}

var (
	someTurn  = rapid.SampledFrom([]string{"t1", "t2", "t3"})
	someInbox = rapid.SampledFrom([]string{"m1", "m2", "m3", "unknown"})
	someKind  = rapid.SampledFrom([]core.PostKind{core.PostAnswer, core.PostNotice, core.PostStatus})
	someState = rapid.SampledFrom([]delivery.State{delivery.Queued, delivery.Sending, delivery.Preview, delivery.Sent, delivery.Failed, delivery.Withdrawn})
	someRef   = rapid.SampledFrom([]llm.Ref{{}, {Provider: "a", Model: "m1"}, {Provider: "b", Model: "x/y"}, {Provider: "half"}})
	someKey   = rapid.SampledFrom([]core.Key{{Agent: "main", Thread: "one"}, {Agent: "main", Thread: "two"}})
	someTime  = rapid.Map(rapid.Int64Range(-1<<40, 1<<60), func(n int64) time.Time { return time.Unix(0, n).UTC() })
	someText  = rapid.StringN(0, 5, -1)
)

func someRow(t *rapid.T) delivery.Row {
	return delivery.Row{
		Session: someKey.Draw(t, "session"), Turn: someTurn.Draw(t, "turn"), Part: rapid.IntRange(0, 1).Draw(t, "part"),
		State: someState.Draw(t, "state"), Created: someTime.Draw(t, "created"), Error: someText.Draw(t, "error"),
		Post: core.Post{Kind: someKind.Draw(t, "kind"), Text: someText.Draw(t, "text"),
			Target: core.Target{Recipient: someTurn.Draw(t, "recipient"), Thread: core.Thread{Platform: "slack"}}},
	}
}

func someSession(t *rapid.T) sessions.Session {
	s := sessions.Session{
		Compactions: rapid.IntRange(0, 9).Draw(t, "n"), Active: someRef.Draw(t, "active"), LastActive: someTime.Draw(t, "at"),
		Notice: notices.State{Turn: someTurn.Draw(t, "notice"), Since: someTime.Draw(t, "since")},
	}
	if rapid.Bool().Draw(t, "summarised") {
		s.Summary = &sessions.Summary{Text: someText.Draw(t, "summary"), Through: rapid.Int64Range(1, 9).Draw(t, "through"),
			From: rapid.Int64Range(0, 1).Draw(t, "from"), Since: someTime.Draw(t, "told since"), At: someTime.Draw(t, "made")}
	}
	if rapid.Bool().Draw(t, "before") {
		s.Notice.Before = &notices.State{Turn: someTurn.Draw(t, "before")}
	}
	return s
}

// txStep is one call of a Tx; what it returns is compared.
func txStep(t *rapid.T) func(sessions.Tx) any {
	turn, inbox, rows := someTurn.Draw(t, "turn"), someInbox.Draw(t, "inbox"), []delivery.Row{someRow(t), someRow(t)}
	session, kind, now := someSession(t), someKind.Draw(t, "kind"), someTime.Draw(t, "now")
	entry := sessions.Entry{Turn: turn, Model: someRef.Draw(t, "model"), At: now}
	if rapid.Bool().Draw(t, "a user's") {
		entry.Author, entry.Inbox = "slack:"+turn, inbox
	}
	return rapid.SampledFrom([]func(sessions.Tx) any{
		func(tx sessions.Tx) any { return tx.Session() },
		func(tx sessions.Tx) any { tx.SetSession(session); return nil },
		func(tx sessions.Tx) any { tx.Append(turn, entry, entry); return nil },
		func(tx sessions.Tx) any { tx.Queue(rows...); return nil },
		func(tx sessions.Tx) any { tx.Withdraw(turn, kind, now); return nil },
		func(tx sessions.Tx) any { tx.Begin(inbox, turn); return nil },
		func(tx sessions.Tx) any { tx.Settle(inbox); return nil },
		func(tx sessions.Tx) any {
			a, b := sessions.UserOf("slack", turn), sessions.Bill{entry.Model: {Messages: session.Compactions, Cost: 7}}
			if entry.Model.Model == "" && entry.Model.Provider != "" {
				return nil // a ref that is no ref is refused by the one that writes documents
			}
			tx.Spend("2026-01-01", a, b)
			return tx.Spent("2026-01-01", a)
		},
		func(tx sessions.Tx) any { tx.SaveTurn(sessions.Turn{ID: turn, Started: now}); return nil },
		func(tx sessions.Tx) any {
			if c, ok := tx.(sessions.ChoiceTx); ok {
				c.SetChoice(sessions.Choice{Model: entry.Model, Since: now})
			}
			return nil
		},
	}).Draw(t, "call")
}

// someCommit is a commit of some calls that may end with an error of its own.
func someCommit(t *rapid.T) func(storetest.Store) any {
	k, fails, choose := someKey.Draw(t, "key"), rapid.IntRange(0, 4).Draw(t, "fails") == 0, rapid.Bool().Draw(t, "choose")
	calls := rapid.SliceOfN(rapid.Custom(txStep), 1, 4).Draw(t, "calls")
	return func(s storetest.Store) any {
		var seen []any
		run := func(tx sessions.Tx) error {
			seen = nil
			for _, call := range calls {
				seen = append(seen, call(tx))
			}
			if fails {
				return errOwn
			}
			return nil
		}
		var err error
		if choose {
			err = s.CommitChoice(context.Background(), k, 0, func(tx sessions.ChoiceTx) error { return run(tx) })
		} else {
			err = s.Commit(context.Background(), k, 0, run)
		}
		if err != nil {
			seen = nil // what a failing change sees after its failure is not promised
		}
		return []any{seen, failed(err)}
	}
}

// someStep is one call of a store.
func someStep(t *rapid.T) func(storetest.Store) any {
	ctx := context.Background()
	r, inbox, k, text, now := someRow(t), someInbox.Draw(t, "inbox"), someKey.Draw(t, "key"), someText.Draw(t, "text"), someTime.Draw(t, "now")
	nth, deleted, zero := rapid.IntRange(0, 9).Draw(t, "nth"), rapid.Bool().Draw(t, "deleted"), rapid.Bool().Draw(t, "zero")
	commit := someCommit(t)
	return rapid.SampledFrom([]func(storetest.Store) any{
		commit, commit, commit,
		func(s storetest.Store) any {
			in := sessions.Inbound{Key: inbox, Session: k, At: now, Message: core.Message{ID: inbox, Text: text, At: now,
				Author: core.Author{ID: r.Turn}, Target: core.Target{Recipient: r.Turn, Thread: core.Thread{Platform: "slack", Channel: "C", Root: k.Thread}}}}
			if zero {
				in.Message.Target.Thread.Kind = core.KindDirect
			}
			in, fresh, err := s.Admit(ctx, in)
			in.Seq = 0
			return []any{in, fresh, failed(err)}
		},
		func(s storetest.Store) any {
			found, err := s.Change(ctx, core.Change{InboxKey: inbox, Text: text, Deleted: deleted})
			return []any{found, failed(err)}
		},
		func(s storetest.Store) any { return failed(s.MarkTool(ctx, inbox)) },
		func(s storetest.Store) any {
			n, err := s.Prune(ctx, sessions.Retention{Transcripts: now}, 99)
			return []any{n, failed(err)}
		},
		func(s storetest.Store) any {
			p := sessions.Person{Platform: "slack", User: r.Turn}
			if zero {
				traces, err := s.Traces(ctx, p)
				return []any{traces, failed(err)}
			}
			traces, err := s.Forget(ctx, sessions.Oblivion{Person: p, Spare: inbox, Mend: func(old sessions.Session, _ int64) sessions.Session { old.Compactions++; return old }})
			return []any{traces, failed(err)}
		},
		func(s storetest.Store) any {
			found, err := s.Unsay(ctx, inbox, func(old sessions.Session, _ int64) sessions.Session { old.Compactions++; return old })
			return []any{found, failed(err)}
		},
		func(s storetest.Store) any {
			return failed(s.UpdateGuest(ctx, k.Agent, inbox, r.Turn, func(g sessions.Guest) sessions.Guest {
				if zero {
					return sessions.Guest{}
				}
				g.Name, g.Asked = text, now
				return g
			}))
		},
		func(s storetest.Store) any {
			rows, err := s.Queue(ctx, r, r)
			return []any{unnumbered(rows), failed(err)}
		},
		func(s storetest.Store) any {
			return failed(s.Mark(ctx, openRow(s, nth), func(delivery.Row) delivery.Row { return r }))
		},
		func(s storetest.Store) any { return failed(s.GiveUp(ctx, openRow(s, nth), text, now)) },
		func(s storetest.Store) any {
			return failed(s.UpdateState(ctx, k.Agent, inbox, func(st failover.State) failover.State {
				if zero {
					return failover.State{}
				}
				st.Auth.Count++
				st.LastUsed = now
				return st
			}))
		},
	}).Draw(t, "op")
}

// openRow is the id of one of the open rows, or of none.
func openRow(s storetest.Store, nth int) int64 {
	rows, err := s.Outgoing(context.Background())
	if err != nil || len(rows) == 0 {
		return 1 << 40
	}
	return rows[nth%len(rows)].ID
}

// unnumbered drops the ids: they rise in both stores, but not in step.
func unnumbered(rows []delivery.Row) []delivery.Row {
	bare := []delivery.Row{}
	for _, r := range rows {
		r.ID = 0
		bare = append(bare, r)
	}
	return bare
}

// view is everything that can be read.
func view(s storetest.Store) any {
	ctx := context.Background()
	var all []any
	see := func(v any, err error) { all = append(all, v, failed(err)) }
	waiting, err := s.Waiting(ctx)
	for i := range waiting {
		waiting[i].Seq = 0
	}
	see(append([]sessions.Inbound{}, waiting...), err)
	out, err := s.Outgoing(ctx)
	see(unnumbered(out), err)
	states, err := s.States(ctx, "main")
	see(states, err)
	guests, err := s.Guests(ctx)
	see(append([]sessions.Guest{}, guests...), err)
	for _, w := range []sessions.Where{{}, {Author: "t1"}, {Holder: core.Thread{Platform: "slack", Channel: "C"}.Key(), Author: "t2"}} {
		heard, err := s.Heard(ctx, w, 9)
		see(append([]sessions.Heard{}, heard...), err)
	}
	for _, id := range []string{"t1", "t2", "t3"} {
		bill, err := s.Spent(ctx, "2026-01-01", sessions.UserOf("slack", id))
		see(bill, err)
	}
	for _, thread := range []string{"one", "two"} {
		k := core.Key{Agent: "main", Thread: thread}
		session, err := s.Session(ctx, k)
		see(session, err)
		for _, tr := range []string{"t1", "t2", "t3"} {
			entries, err := s.Transcript(ctx, k, tr, 5)
			for i := range entries {
				entries[i].Seq = 0
			}
			see(append([]sessions.Entry{}, entries...), err)
			turn, ok, err := s.Turn(ctx, tr)
			see([]any{turn, ok}, err)
		}
	}
	return all
}
