package store

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/llm"
	"understudy/sessions"
)

func benchStore(b *testing.B) *Store {
	s, err := Open(b.Context(), Options{Path: filepath.Join(b.TempDir(), "understudy.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// turnCommit is what a turn without tools stores at its end.
func turnCommit(tx sessions.Tx, id string, now time.Time) error {
	r := tx.Session()
	r.Engaged, r.LastActive, r.LastTurn, r.Transcript = true, now, id, "tr"
	r.Usage = r.Usage.Add(llm.Usage{In: 1000, Out: 200})
	ref := llm.Ref{Provider: "anthropic", Model: "claude-sonnet-4-5"}
	tx.Append("tr", sessions.Entry{Turn: id, Message: llm.TextMessage(llm.Assistant, answer), Model: ref, Profile: "anthropic:env", At: now})
	tx.SetSession(r)
	tx.Queue(delivery.Row{Turn: id, State: delivery.Queued, Created: now, Post: core.Post{Kind: core.PostAnswer, Text: answer, Nonce: id}})
	tx.SaveTurn(sessions.Turn{ID: id, Inbox: id, Started: now, Ended: now, Selected: ref, Active: ref, Outcome: "answered"})
	return nil
}

const answer = "The quick brown fox jumps over the lazy dog, and the lazy dog does not mind at all. It has seen many foxes, and it will see many more."

// BenchmarkCommit is the final commit of a turn, by 64 goroutines over 64
// sessions. ns/op is the inverse of the throughput.
func BenchmarkCommit(b *testing.B) {
	s := benchStore(b)
	var n atomic.Int64
	b.SetParallelism(32) // times GOMAXPROCS
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		k := core.Key{Agent: "main", Thread: fmt.Sprintf("discord:1:g:2:c:%d", n.Add(1))}
		now := time.Now()
		for pb.Next() {
			id := fmt.Sprintf("turn-%d", n.Add(1))
			if err := s.Commit(b.Context(), k, 0, func(tx sessions.Tx) error { return turnCommit(tx, id, now) }); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// BenchmarkTurn is all that a turn asks of the store, one turn at a time: admit,
// begin, read, commit, mark.
func BenchmarkTurn(b *testing.B) {
	s := benchStore(b)
	k := core.Key{Agent: "main", Thread: "discord:1:g:2:c:3"}
	b.ReportAllocs()
	for i := range b.N {
		benchTurn(b, s, k, fmt.Sprintf("turn-%d", i))
	}
}

func benchTurn(b *testing.B, s *Store, k core.Key, id string) {
	ctx, now := b.Context(), time.Now()
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	_, _, err := s.Admit(ctx, sessions.Inbound{Key: id, Session: k, Message: core.Message{ID: id, Text: "hello"}, At: now})
	check(err)
	_, err = s.Session(ctx, k)
	check(err)
	_, err = s.Transcript(ctx, k, "tr", 20)
	check(err)
	check(s.Commit(ctx, k, 0, func(tx sessions.Tx) error {
		tx.Begin(id, id)
		tx.Append("tr", sessions.Entry{Turn: id, Message: llm.TextMessage(llm.User, "hello"), At: now})
		return nil
	}))
	_, err = s.States(ctx, "main")
	check(err)
	var rows []delivery.Row
	check(s.Commit(ctx, k, 0, func(tx sessions.Tx) error {
		tx.Settle(id)
		rows = tx.Queue(delivery.Row{Turn: id, Post: core.Post{Kind: core.PostAnswer, Text: answer}})
		return turnCommit(tx, id, now)
	}))
	for _, state := range []delivery.State{delivery.Sending, delivery.Sent} {
		check(s.Mark(ctx, rows[0].ID, func(r delivery.Row) delivery.Row {
			r.State = state
			return r
		}))
	}
}

// BenchmarkGrowth is the same turn in a store that holds little and in one that
// holds much: sessions, and messages in the thread of the turn.
func BenchmarkGrowth(b *testing.B) {
	for _, size := range []int{10, 100_000} {
		one := func(int) core.Key { return key }
		many := func(i int) core.Key {
			return core.Key{Agent: "main", Thread: fmt.Sprintf("discord:1:g:2:c:%d", i%size)}
		}
		b.Run(fmt.Sprintf("sessions=%d", size), func(b *testing.B) { benchGrown(b, size, many) })
		b.Run(fmt.Sprintf("messages=%d", size), func(b *testing.B) { benchGrown(b, size, one) })
	}
}

func benchGrown(b *testing.B, size int, keyOf func(int) core.Key) {
	s := benchStore(b)
	if err := s.write(b.Context(), "fill", func(c *conn) error {
		for i := range size {
			t, err := begin(c, keyOf(i))
			if err != nil {
				return err
			}
			turnCommit(t, fmt.Sprintf("old-%d", i), time.Unix(int64(i), 0))
			t.exec("UPDATE delivery SET state = 'sent' WHERE turn = ?", fmt.Sprintf("old-%d", i))
			if t.err != nil {
				return t.err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for i := range b.N {
		benchTurn(b, s, keyOf(i), fmt.Sprintf("turn-%d", i))
	}
}
