package failover

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"understudy/core/llm"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func ref(s string) llm.Ref {
	r, ok := llm.ParseRef(s)
	if !ok {
		panic("no ref: " + s)
	}
	return r
}

func refs(list ...string) []llm.Ref {
	var out []llm.Ref
	for _, s := range list {
		out = append(out, ref(s))
	}
	return out
}

// fataler is what a plain test and a property test have in common.
type fataler interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// world plays a run on a clock of its own: the third driver beside Turn and
// whatever a command line uses.
type world struct {
	rules     Rules
	now       time.Time
	states    map[string]State
	profiles  map[string]Profiles
	throttles *Throttles
	skips     *SkipCache
	// answer says what a request gets: nil for an answer.
	answer func(w *world, r llm.Ref, profile string) *llm.Error
	calls  []string // "a/m1@a:p1+2.5s"
	start  time.Time
	waits  []time.Duration
}

func newWorld(profiles ...string) *world {
	w := &world{rules: DefaultRules(), now: t0, start: t0, states: map[string]State{}, profiles: map[string]Profiles{},
		throttles: NewThrottles(), skips: NewSkipCache(0),
		answer: func(*world, llm.Ref, string) *llm.Error { return nil }}
	for _, id := range profiles {
		w.add(Profile{ID: id, Provider: ProviderOf(id), Type: APIKey})
	}
	return w
}

func (w *world) add(p Profile) {
	ps := w.profiles[p.Provider]
	ps.Known = true
	ps.List = append(ps.List, p)
	w.profiles[p.Provider] = ps
}

func (w *world) view() View {
	return View{Now: w.now, States: w.states, Profiles: func(p string) Profiles { return w.profiles[p] }}
}

func (w *world) plan(source Source, chain ...string) Plan {
	return Plan{Agent: "main", Session: "s", Turn: "t", Source: source, Chain: refs(chain...), Started: w.now}
}

func (w *world) book(r *Run, b Booking) {
	s := w.states[b.Profile]
	if b.Error == nil {
		s = Succeed(s, b.Model, b.At)
	} else {
		s = w.rules.Fail(s, b.Profile, b.Model, b.Error, b.At)
	}
	w.states[b.Profile] = s
	r.Booked(b, s)
}

// play makes one call of a run to its end.
func (w *world) play(t fataler, r *Run) (Attempt, *SummaryError) {
	for range 10_000 {
		switch s := r.Next(w.view()); s.Kind {
		case GaveUp:
			return Attempt{}, s.Err
		case Wait:
			if !s.Until.After(w.now) {
				t.Fatalf("a wait until %v at %v", s.Until, w.now)
			}
			w.waits = append(w.waits, s.Until.Sub(w.now))
			w.now = s.Until
		case Ask:
			w.calls = append(w.calls, fmt.Sprintf("%s@%s+%s", s.Attempt.Model, s.Profile.ID, w.now.Sub(w.start)))
			if e := w.answer(w, s.Attempt.Model, s.Profile.ID); e != nil {
				e.Provider, e.Model = s.Attempt.Model.Provider, s.Attempt.Model.Model
				w.book(r, r.Failed(w.view(), e, false))
				continue
			}
			b, _ := r.Won(w.view())
			w.book(r, b)
			return r.attempts[len(r.attempts)-1], nil
		}
	}
	t.Fatal("the run does not end")
	return Attempt{}, nil
}

func (w *world) run(t fataler, p Plan) (Attempt, *SummaryError) {
	p.Started = w.now
	return w.play(t, NewRun(p, w.rules, w.throttles, w.skips))
}

func fails(reason llm.Reason) *llm.Error { return &llm.Error{Reason: reason} }

// script answers each request with the next reason of its model or profile;
// "" is an answer, and the last one repeats.
func script(lines map[string]string) func(*world, llm.Ref, string) *llm.Error {
	queues := map[string][]string{}
	for k, v := range lines {
		queues[k] = strings.Fields(v)
	}
	return func(_ *world, r llm.Ref, profile string) *llm.Error {
		for _, k := range []string{r.String() + "@" + profile, r.String()} {
			q := queues[k]
			if len(q) == 0 {
				continue
			}
			if len(q) > 1 {
				queues[k] = q[1:]
			}
			if q[0] == "ok" {
				return nil
			}
			return fails(llm.Reason(q[0]))
		}
		return nil
	}
}

func (w *world) expect(t testing.TB, want ...string) {
	t.Helper()
	if got, want := strings.Join(w.calls, "\n"), strings.Join(want, "\n"); got != want {
		t.Fatalf("calls:\n%s\nwant:\n%s", got, want)
	}
}
