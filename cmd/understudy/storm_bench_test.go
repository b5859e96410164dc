package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/auth"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/llm/script"
	"understudy/store"
)

// BenchmarkFallbackFirstByte measures a whole turn whose first model is
// overloaded: from the message at the handler to the answer at the platform. The
// providers take no time of their own.
func BenchmarkFallbackFirstByte(b *testing.B) {
	w := newWorkshop(b)
	w.leadFails = true
	var all []time.Duration
	for i := range b.N + 1 {
		if err := w.house.store.UpdateState(b.Context(), mainAgent, leadProfile, failover.Cleared); err != nil {
			b.Fatal(err)
		}
		w.say(b, i, i)
		took := w.await(b, i)
		if err := w.house.idle(b.Context()); err != nil {
			b.Fatal(err)
		}
		if i > 0 { // the first one opens the connections
			all = append(all, took)
		}
	}
	b.ReportMetric(0, "ns/op")
	report(b, "first-byte", all)
}

// stormTurns is how many turns fail together.
const stormTurns = 1000

// BenchmarkStorm lets 1,000 turns fail for an overload at one moment, over a
// wire in memory and on a durable store, and measures how late after its 2.5 s
// each is asked again.
func BenchmarkStorm(b *testing.B) {
	for range b.N {
		s := newStorm(b)
		for i := range stormTurns {
			if err := s.house.bot.Message(b.Context(), s.message(i)); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.house.idle(b.Context()); err != nil {
			b.Fatal(err)
		}
		if s.answers != stormTurns {
			b.Fatalf("%d of %d turns were answered", s.answers, stormTurns)
		}
		if len(s.late) != stormTurns {
			b.Fatalf("%d of %d turns were asked again", len(s.late), stormTurns)
		}
		report(b, "late", s.late)
		if err := s.house.shut(time.Second); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// storm is a house in which the first request of every session fails. It is its
// own platform.
type storm struct {
	house *house

	mu      sync.Mutex
	first   map[string]time.Time // when the first request of a session was refused
	late    []time.Duration
	answers int
}

func newStorm(b *testing.B) *storm {
	b.Helper()
	s := &storm{first: map[string]time.Time{}}
	actors := &script.Script{Default: s.answer}
	c, err := parseConfig("understudy.jsonc", []byte(`{
		"agents": {"defaults": {"model": "a/m1"}}, "models": {"providers": {"a": {"baseUrl": "http://127.0.0.1:1/v1"}}},
		"auth": {"cooldowns": {"overloadedProfileRotations": 0}},
	}`))
	if err != nil {
		b.Fatal(err)
	}
	st, err := store.Open(b.Context(), store.Options{Path: filepath.Join(b.TempDir(), "understudy.db"), Exclusive: true})
	if err != nil {
		b.Fatal(err)
	}
	s.house, err = build(parts{
		config: c, store: st, platform: func(core.Thread) (core.Platform, bool) { return s, true },
		client: func(d auth.Declared, _ core.Secret) (llm.Client, error) {
			return script.New(actors, d.Provider, d.ID), nil
		},
		known: c.providerKnown, keyless: c.providerKeyless, unknown: c.unknown, maxTurns: stormTurns,
		log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.house.open(b.Context()); err != nil {
		b.Fatal(err)
	}
	return s
}

// stormGathers is how long the first answers take, so that all turns are in
// flight when they fail; a turn that came later would find the block.
const stormGathers = 3 * time.Second

var (
	stormRefusal, _ = script.ParseAnswer(fmt.Sprintf(`slow %v 529 "overloaded_error"`, stormGathers))
	stormAnswer     = script.Text("calm")
)

func (s *storm) answer(_ llm.Ref, r llm.Request) script.Answer {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if begun, ok := s.first[r.Session]; ok {
		s.late = append(s.late, now.Sub(begun)-2500*time.Millisecond)
		return stormAnswer
	}
	s.first[r.Session] = now.Add(stormGathers)
	return stormRefusal
}

func (s *storm) message(i int) core.Message {
	return core.Message{
		ID: fmt.Sprint(i), Text: "hello", Author: core.Author{ID: fmt.Sprint("person ", i), Name: "Ann"}, At: time.Now(), Addressed: true,
		Target: core.Target{Thread: core.Thread{Platform: "bench", Account: "default", Channel: fmt.Sprint(i), Kind: core.KindThread}},
	}
}

// The rest makes the storm a platform without previews.

func (s *storm) Limits(core.Thread) core.Limits {
	return core.Limits{MaxText: 2000, Count: func(s string) int { return len(s) }, MaxParts: 10}
}

func (s *storm) Post(_ context.Context, p core.Post) (core.Posted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Kind == core.PostAnswer {
		s.answers++
	}
	return core.Posted{ID: p.Nonce}, nil
}

func (s *storm) Edit(context.Context, string, core.Post) error     { return nil }
func (s *storm) Delete(context.Context, core.Target, string) error { return nil }
func (s *storm) Working(context.Context, core.Target, bool) error  { return nil }
