package store

import (
	"fmt"
	"path/filepath"
	"slices"
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
// holds much, sessions or messages in the thread of the turn, one after the other
// so that both see the same machine. It reports the medians and how they compare:
//
//	go test -run '^$' -bench Growth -benchtime 1000x ./store
func BenchmarkGrowth(b *testing.B) {
	const little, much = 10, 100_000
	one := func(int) core.Key { return key }
	sessionOf := func(size int) func(int) core.Key {
		return func(i int) core.Key {
			return core.Key{Agent: "main", Thread: fmt.Sprintf("discord:1:g:2:c:%d", i*7919%size)}
		}
	}
	b.Run("sessions", func(b *testing.B) {
		compareTurns(b, grown(b, little, sessionOf(little)), grown(b, much, sessionOf(much)))
	})
	b.Run("messages", func(b *testing.B) { compareTurns(b, grown(b, little, one), grown(b, much, one)) })
}

// BenchmarkAges shows what the indexes cost by which retention finds what is too
// old: the same turns without them and with them.
func BenchmarkAges(b *testing.B) {
	one := func(int) core.Key { return key }
	without := grown(b, 10_000, one)
	for _, index := range []string{"entries_by_age", "turns_by_age", "inbox_by_age", "delivery_by_age"} {
		if _, err := without.conn.exec("DROP INDEX " + index); err != nil {
			b.Fatal(err)
		}
	}
	compareTurns(b, without, grown(b, 10_000, one))
}

// BenchmarkForget forgets somebody who wrote 100,000 messages, and measures how
// long others' commits wait meanwhile.
func BenchmarkForget(b *testing.B) {
	var waits []time.Duration
	for range b.N {
		b.StopTimer()
		s := benchStore(b)
		k := core.Key{Agent: "main", Thread: "slack:1:c"}
		for range 20 {
			err := s.Commit(b.Context(), k, 0, func(tx sessions.Tx) error {
				for range 5000 {
					tx.Append("tr", sessions.Entry{Author: "slack:ann", Inbox: "m", Message: llm.TextMessage(llm.User, answer), At: time.Unix(1, 0)})
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		done := make(chan error, 1)
		b.StartTimer()
		go func() {
			_, err := s.Forget(b.Context(), sessions.Oblivion{Person: sessions.Person{Platform: "slack", User: "ann"}, Mend: sessions.Unsaid})
			done <- err
		}()
		for over := false; !over; {
			began := time.Now()
			if err := count(b, s); err != nil {
				b.Fatal(err)
			}
			waits = append(waits, time.Since(began))
			select {
			case err := <-done:
				if err != nil {
					b.Fatal(err)
				}
				over = true
			default:
			}
		}
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1e3, "others-p99-ms")
	b.ReportMetric(float64(waits[len(waits)-1].Microseconds())/1e3, "others-max-ms")
}

// grownStore is a store that holds something, and whose turns come next.
type grownStore struct {
	*Store
	keyOf func(int) core.Key
	turns int
}

// grown fills a store. What was written is brought into the file, which the next
// commit would have to do otherwise.
func grown(b *testing.B, size int, keyOf func(int) core.Key) *grownStore {
	s := benchStore(b)
	for from := 0; from < size; from += 5000 {
		if err := s.write(b.Context(), "fill", func(c *conn) error { return fillTurns(c, from, min(size, from+5000), keyOf) }); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.conn.get([]any{new(int), new(int), new(int)}, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		b.Fatal(err)
	}
	return &grownStore{Store: s, keyOf: keyOf}
}

// fillTurns stores what turns leave.
func fillTurns(c *conn, from, to int, keyOf func(int) core.Key) error {
	for i := from; i < to; i++ {
		t, err := begin(c, keyOf(i))
		if err != nil {
			return err
		}
		id, at := fmt.Sprintf("old-%d", i), time.Unix(int64(i), 0)
		in := sessions.Inbound{Key: id, Session: keyOf(i), At: at, Message: core.Message{ID: id, Author: core.Author{ID: "u1"}}}
		t.exec(`INSERT INTO inbox (key, agent, thread, at, settled, message) VALUES (?, ?, ?, ?, 1, '{}')`, id, in.Session.Agent, in.Session.Thread, t.age(at))
		if err := hear(c, in, t.age(at)); err != nil {
			return err
		}
		if err := turnCommit(t, id, at); err != nil {
			return err
		}
		t.exec("UPDATE delivery SET state = 'sent', settled = created WHERE turn = ?", id)
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

func (s *grownStore) turn(b *testing.B) time.Duration {
	s.turns++
	began := time.Now()
	benchTurn(b, s.Store, s.keyOf(s.turns), fmt.Sprintf("turn-%d", s.turns))
	return time.Since(began)
}

func compareTurns(b *testing.B, little, much *grownStore) {
	var small, large []time.Duration
	for range 100 { // statements, pages that every turn needs
		little.turn(b)
		much.turn(b)
	}
	b.ResetTimer()
	for range b.N {
		small, large = append(small, little.turn(b)), append(large, much.turn(b))
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Nanoseconds()) / 1e3
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(small), "little-p50-us")
	b.ReportMetric(median(large), "much-p50-us")
	b.ReportMetric(median(large)/median(small), "x")
}
