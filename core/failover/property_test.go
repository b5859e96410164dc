package failover

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"understudy/core/llm"
)

var allReasons = []llm.Reason{
	"", llm.Auth, llm.AuthPermanent, llm.Billing, llm.RateLimit, llm.Overloaded, llm.Overloaded, llm.Overloaded, llm.Timeout,
	llm.ServerError, llm.ModelNotFound, llm.Format, llm.ContextOverflow, llm.Refusal, llm.EmptyResponse, llm.NoErrorDetails, llm.Unclassified,
}

// drawWorld draws profiles, blocks, a chain and what the models answer.
func drawWorld(t *rapid.T) (*world, Plan) {
	w := newWorld()
	for _, provider := range []string{"a", "b", "c"} {
		w.profiles[provider] = Profiles{Known: rapid.Bool().Draw(t, provider+" known") || provider == "a"}
		for i := range rapid.IntRange(0, 3).Draw(t, provider+" profiles") {
			id := provider + ":p" + string(rune('1'+i))
			w.add(Profile{ID: id, Provider: provider, Type: APIKey})
			if rapid.IntRange(0, 3).Draw(t, id+" blocked") == 0 {
				e := &llm.Error{Reason: rapid.SampledFrom(allReasons[1:]).Draw(t, "why")}
				w.states[id] = w.rules.Fail(State{}, id, rapid.SampledFrom([]string{"m1", "m2"}).Draw(t, "model"), e, t0.Add(-time.Second))
			}
		}
	}
	all := refs("a/m1", "a/m2", "b/m1", "b/m2", "c/m1", "x/none")
	chain := rapid.Permutation(all).Draw(t, "chain")[:rapid.IntRange(1, 5).Draw(t, "length")]
	source := rapid.SampledFrom([]Source{FromDefault, FromUser, FromAgent, FromCLI}).Draw(t, "source")
	if source == FromUser || source == FromCLI {
		chain = chain[:1]
	}
	p := Plan{Agent: "main", Session: "s", Turn: "t", Source: source, Chain: chain, Started: t0, Fresh: rapid.Bool().Draw(t, "fresh")}
	w.answer = func(w *world, r llm.Ref, _ string) *llm.Error {
		w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "took")))
		reason := rapid.SampledFrom(allReasons).Draw(t, "answer")
		if reason == "" {
			return nil
		}
		return fails(reason)
	}
	return w, p
}

func (w *world) bound(p Plan) int {
	return p.Bound(func(r llm.Ref) int { return len(w.profiles[r.Provider].List) })
}

// Every turn ends, within its bound of requests, on a model of its chain; every
// request and every skip is on record.
func TestEveryTurnEndsWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, p := drawWorld(t)
		r := NewRun(p, w.rules, w.throttles, w.skips)
		won, err := w.play(t, r)
		if n, most := len(w.calls), w.bound(p); n > most {
			t.Fatalf("%d requests, at most %d allowed", n, most)
		}
		requests := 0
		for _, a := range r.Attempts() {
			if !slices.Contains(p.Chain, a.Model) {
				t.Fatalf("%s is not in the chain %v", a.Model, p.Chain)
			}
			if !a.Skipped {
				requests++
			}
		}
		if requests != len(w.calls) {
			t.Fatalf("%d requests on record, %d made", requests, len(w.calls))
		}
		if err == nil && !won.Won || err != nil && len(err.Attempts) == 0 {
			t.Fatalf("won %+v, err %v", won, err)
		}
		if err != nil && err.Kind() == "" {
			t.Fatal("a lost turn without a kind")
		}
	})
}

// However a turn goes, once a tool has started no wait and no further pass
// follows, and once output was shown nothing is asked at all.
func TestObservableWorkIsTheLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, p := drawWorld(t)
		r := NewRun(p, w.rules, w.throttles, w.skips)
		if _, err := w.play(t, r); err != nil {
			return
		}
		pass, waits := r.pass, len(w.waits)
		r.ToolStarted()
		for range rapid.IntRange(1, 3).Draw(t, "calls") {
			if _, err := w.play(t, r); err != nil {
				break
			}
		}
		if r.pass != pass || len(w.waits) != waits {
			t.Fatalf("pass %d after pass %d, %d waits", r.pass, pass, len(w.waits)-waits)
		}
	})
}

// All waiting of a turn stays within the two overload loops and the one
// transient pass.
func TestWaitsAreBounded(t *testing.T) {
	const loop = 217500 * time.Millisecond
	rapid.Check(t, func(t *rapid.T) {
		w, p := drawWorld(t)
		w.play(t, NewRun(p, w.rules, w.throttles, w.skips))
		var sum time.Duration
		for _, d := range w.waits {
			if d > longestStatedWait {
				t.Fatalf("one wait of %v", d)
			}
			sum += d
		}
		if sum > 2*loop+transientWait {
			t.Fatalf("waited %v in one turn", sum)
		}
	})
}
