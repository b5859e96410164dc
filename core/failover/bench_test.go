package failover

import (
	"fmt"
	"testing"
	"time"

	"understudy/core/llm"
)

// crowd is a world of 20 candidates with 20 profiles each.
func crowd(blocked bool) (*world, Plan, Policy) {
	w := newWorld()
	var chain []string
	for c := range 20 {
		provider := fmt.Sprintf("p%02d", c)
		chain = append(chain, provider+"/m")
		for i := range 20 {
			id := fmt.Sprintf("%s:k%02d", provider, i)
			w.add(Profile{ID: id, Provider: provider, Type: APIKey})
			s := State{LastUsed: t0.Add(time.Duration(20-i) * time.Second)}
			if blocked {
				s = w.rules.Fail(s, id, "m", fails(llm.RateLimit), t0.Add(-time.Duration(i)*time.Millisecond))
			}
			w.states[id] = s
		}
	}
	all := refs(chain...)
	return w, w.plan(FromDefault, chain...), Policy{Defaults: Models{Primary: all[0], Fallbacks: all[1:]}}
}

// BenchmarkRank makes the chain of 20 candidates and ranks the 20 profiles of
// each, as a turn that walks the whole chain does.
func BenchmarkRank(b *testing.B) {
	for _, blocked := range []bool{false, true} {
		w, plan, policy := crowd(blocked)
		sets := make([]Profiles, len(plan.Chain))
		for i, r := range plan.Chain {
			sets[i] = w.profiles[r.Provider]
		}
		b.Run(fmt.Sprintf("blocked=%v", blocked), func(b *testing.B) {
			b.ReportAllocs()
			var room ranking
			for b.Loop() {
				chain := policy.Chain(plan.Chain[0], FromDefault)
				for i, r := range chain {
					room.rank(sets[i], w.states, r.Model, "", w.now, nil)
				}
			}
		})
	}
}

// BenchmarkDecide is the first decision of a turn with one candidate: what every
// turn pays.
func BenchmarkDecide(b *testing.B) {
	w := newWorld("a:p1", "a:p2")
	plan := w.plan(FromDefault, "a/m1", "b/m2")
	b.ReportAllocs()
	for b.Loop() {
		r := NewRun(plan, w.rules, w.throttles, w.skips)
		if s := r.Next(w.view()); s.Kind != Ask {
			b.Fatal(s)
		}
	}
}
