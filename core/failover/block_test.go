package failover

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"understudy/core/llm"
)

func TestLadder(t *testing.T) {
	r := DefaultRules()
	var s State
	now := t0
	for i, want := range []time.Duration{30 * time.Second, time.Minute, 5 * time.Minute, 5 * time.Minute} {
		s = r.Fail(s, "a:p", "m", fails(llm.RateLimit), now)
		w := s.Models["m"]
		if got := w.Until.Sub(now); got != want {
			t.Fatalf("failure %d blocks for %v, want %v", i+1, got, want)
		}
		if w.Live(w.Until) {
			t.Fatal("a window holds at its end")
		}
		now = w.Until
	}
	s = Succeed(s, "m", now)
	s = r.Fail(s, "a:p", "m", fails(llm.Timeout), now)
	if got := s.Models["m"].Until.Sub(now); got != 30*time.Second {
		t.Fatalf("after a success: %v", got)
	}
	quiet := s.Models["m"].Until.Add(r.FailureWindow)
	s = r.Fail(s, "a:p", "m", fails(llm.Timeout), quiet)
	if got := s.Models["m"]; got.Count != 1 {
		t.Fatalf("after a quiet day: %+v", got)
	}
}

func TestDisables(t *testing.T) {
	r := DefaultRules()
	var s State
	now := t0
	for _, want := range []time.Duration{5 * time.Hour, 10 * time.Hour, 20 * time.Hour, 24 * time.Hour, 24 * time.Hour} {
		s = r.Fail(s, "a:p", "m", fails(llm.Billing), now)
		if got := s.Billing.Until.Sub(now); got != want {
			t.Fatalf("billing %v, want %v", got, want)
		}
		now = s.Billing.Until
	}
	now = t0
	for _, want := range []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour} {
		s = r.Fail(s, "a:p", "m", fails(llm.AuthPermanent), now)
		if got := s.Permanent.Until.Sub(now); got != want {
			t.Fatalf("permanent %v, want %v", got, want)
		}
		now = s.Permanent.Until
	}
}

func TestStatedEndsAreTakenExactly(t *testing.T) {
	r := DefaultRules()
	for _, d := range []time.Duration{time.Second, 90 * time.Second, 72 * time.Hour} {
		s := r.Fail(State{}, "a:p", "m", &llm.Error{Reason: llm.RateLimit, ResetAt: t0.Add(d)}, t0)
		if w := s.Models["m"]; w.Until != t0.Add(d) || !w.Stated || w.Count != 1 {
			t.Fatalf("%v: %+v", d, w)
		}
	}
	s := r.Fail(State{}, "a:p", "m", &llm.Error{Reason: llm.RateLimit, ResetAt: t0.Add(-time.Hour)}, t0)
	if w := s.Models["m"]; w.Until != t0.Add(30*time.Second) || w.Stated {
		t.Fatalf("a time in the past was believed: %+v", w)
	}
	s = r.Fail(State{}, "a:p", "m", &llm.Error{Reason: llm.RateLimit, Scope: llm.ScopeProfile, ResetAt: t0.Add(time.Hour)}, t0)
	if !s.Blocked("any", t0).Live() {
		t.Fatal("a limit of the whole profile blocks one model only")
	}
}

func TestParallelFailuresAreOne(t *testing.T) {
	r := DefaultRules()
	var s State
	for i := range 5 {
		s = r.Fail(s, "a:p", "m", fails(llm.RateLimit), t0.Add(time.Duration(i)*time.Second))
	}
	if w := s.Models["m"]; w.Count != 1 || w.Until != t0.Add(30*time.Second) {
		t.Fatalf("%+v", w)
	}
	s = r.Fail(s, "a:p", "m", &llm.Error{Reason: llm.RateLimit, ResetAt: t0.Add(time.Minute)}, t0.Add(6*time.Second))
	if w := s.Models["m"]; w.Count != 1 || w.Until != t0.Add(time.Minute) || !w.Stated {
		t.Fatalf("a later stated end did not count: %+v", w)
	}
}

// Whatever fails in whatever order: an end is never in the past of the failure
// that made it, never moves nearer, never further than a rule allows, and is
// over by itself.
func TestBlocksProperty(t *testing.T) {
	rules := DefaultRules()
	reasons := []llm.Reason{llm.Auth, llm.AuthPermanent, llm.Billing, llm.RateLimit, llm.Overloaded, llm.Timeout, llm.ServerError, llm.ModelNotFound, llm.Format, llm.EmptyResponse, llm.Unclassified}
	rapid.Check(t, func(t *rapid.T) {
		now, s := t0, State{}
		for range rapid.IntRange(1, 30).Draw(t, "failures") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(26*time.Hour)).Draw(t, "later")))
			e := &llm.Error{Reason: rapid.SampledFrom(reasons).Draw(t, "reason")}
			if rapid.Bool().Draw(t, "stated") {
				e.ResetAt = now.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(60*24*time.Hour)).Draw(t, "in")))
			}
			model := rapid.SampledFrom([]string{"m1", "m2"}).Draw(t, "model")
			before := s.Blocked(model, now)
			other := s.Blocked("m3", now)
			s = rules.Fail(s, "a:p", model, e, now)
			after := s.Blocked(model, now)
			if before.Live() && after.Until.Before(before.Until) {
				t.Fatalf("an end moved nearer: %v to %v", before.Until, after.Until)
			}
			if before.Live() && e.ResetAt.IsZero() && after.class == before.class && e.Reason == before.Reason && !after.Until.Equal(before.Until) {
				t.Fatalf("a failure inside the window moved its end from %v to %v", before.Until, after.Until)
			}
			if after.Until.After(now.Add(LongestStated)) {
				t.Fatalf("blocked for %v", after.Until.Sub(now))
			}
			switch e.Reason {
			case llm.Overloaded, llm.Timeout, llm.ModelNotFound, llm.ServerError, llm.Format, llm.EmptyResponse, llm.Unclassified:
				if got := s.Blocked("m3", now); got != other {
					t.Fatalf("%s of %s blocked a sibling: %+v", e.Reason, model, got)
				}
			}
			if s.Blocked(model, now.Add(LongestStated)).Live() {
				t.Fatal("a block does not end by itself")
			}
		}
	})
}

// Names of models that do not exist do not pile up in the state of a profile; what
// was learned last, and about all models, stays.
func TestBlockedModelsAreBounded(t *testing.T) {
	r, now := DefaultRules(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := r.Fail(State{}, "a:p", "m", &llm.Error{Reason: llm.RateLimit, Scope: llm.ScopeProfile}, now)
	for i := range 1000 {
		now = now.Add(time.Second)
		s = r.Fail(s, "a:p", fmt.Sprint("m", i), &llm.Error{Reason: llm.ModelNotFound}, now)
	}
	if len(s.Models) != maxModels {
		t.Errorf("%d models are remembered", len(s.Models))
	}
	for _, key := range []string{AllModels, "m999", "m901"} {
		if _, ok := s.Models[key]; !ok {
			t.Errorf("%s is forgotten", key)
		}
	}
}
