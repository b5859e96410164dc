package failover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core/llm"
)

// shelf is a store in memory that can be told to fail.
type shelf struct {
	mu     sync.Mutex
	states map[string]State
	writes int
	fail   func(op string) error
}

func (s *shelf) States(ctx context.Context, _ string) (map[string]State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.broken(ctx, "states"); err != nil {
		return nil, err
	}
	return maps.Clone(s.states), nil
}

func (s *shelf) UpdateState(ctx context.Context, _, profile string, change func(State) State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.broken(ctx, "update"); err != nil {
		return err
	}
	s.writes++
	s.states[profile] = change(s.states[profile])
	return nil
}

func (s *shelf) broken(ctx context.Context, op string) error {
	if s.fail != nil {
		if err := s.fail(op); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// theatre is an engine in the time of the bubble, with what was asked of it.
type theatre struct {
	*Engine
	shelf *shelf
	start time.Time
	// client, if set, is what a profile gives in place of a client.
	client func(context.Context) error

	mu    sync.Mutex
	calls []string // "a/m1+2.5s"
	log   []string // decisions
}

func newTheatre(c Config, profiles ...string) *theatre {
	x := &theatre{shelf: &shelf{states: map[string]State{}}, start: time.Now()}
	lists := map[string]Profiles{}
	for _, id := range profiles {
		ps := lists[ProviderOf(id)]
		ps.Known = true
		ps.List = append(ps.List, Profile{ID: id, Provider: ProviderOf(id), Type: APIKey, Client: func(ctx context.Context) (llm.Client, error) {
			if x.client != nil {
				return nil, x.client(ctx)
			}
			return nil, nil
		}})
		lists[ProviderOf(id)] = ps
	}
	c.Rules, c.Store, c.Log = DefaultRules(), x.shelf, slog.New(decisionLog{x})
	c.Profiles = func(_ context.Context, _, provider string) (Profiles, error) { return lists[provider], nil }
	x.Engine = New(c)
	return x
}

func (x *theatre) plan(chain ...string) Plan {
	return Plan{Agent: "main", Session: "s", Turn: "t", Source: FromDefault, Chain: refs(chain...), Started: time.Now()}
}

func (x *theatre) since() time.Duration { return time.Since(x.start) }

// act is what a model does with a request.
type act func(ctx context.Context) error

func after(d time.Duration, a act) act {
	return func(ctx context.Context) error {
		time.Sleep(d)
		return a(ctx)
	}
}

func ok(context.Context) error { return nil }

func gives(reason llm.Reason) act {
	return func(context.Context) error { return fails(reason) }
}

// cast gives each model its acts in order; the last one repeats.
func (x *theatre) cast(acts map[string][]act) func(context.Context, llm.Client, llm.Ref) error {
	return func(ctx context.Context, _ llm.Client, r llm.Ref) error {
		x.mu.Lock()
		x.calls = append(x.calls, fmt.Sprintf("%s+%s", r, x.since()))
		list := acts[r.String()]
		if len(list) > 1 {
			acts[r.String()] = list[1:]
		}
		x.mu.Unlock()
		return list[0](ctx)
	}
}

func (x *theatre) expect(t *testing.T, calls ...string) {
	t.Helper()
	if !slices.Equal(x.calls, calls) {
		t.Fatalf("requests %v, want %v", x.calls, calls)
	}
}

// decisionLog keeps decisions as "a/m1 rate_limit -> b/m2 next_fallback".
type decisionLog struct{ x *theatre }

func (decisionLog) Enabled(context.Context, slog.Level) bool { return true }
func (l decisionLog) WithGroup(string) slog.Handler          { return l }
func (l decisionLog) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l decisionLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "model_fallback_decision" {
		return nil
	}
	f := map[string]string{}
	r.Attrs(func(a slog.Attr) bool { f[a.Key] = a.Value.String(); return true })
	l.x.mu.Lock()
	defer l.x.mu.Unlock()
	l.x.log = append(l.x.log, strings.Join(strings.Fields(f["fallbackStepFromModel"]+" "+f["fallbackStepFromFailureReason"]+" -> "+
		f["fallbackStepToModel"]+" "+f["fallbackStepFinalOutcome"]), " "))
	return nil
}

func lostWith(t *testing.T, err error) *SummaryError {
	t.Helper()
	var lost *SummaryError
	if !errors.As(err, &lost) {
		t.Fatalf("the call ended with %v, want a *SummaryError", err)
	}
	return lost
}

func aborted(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Reason == llm.Abort
}

// The notice goes out at its moment, in the middle of a wait; sending it takes
// no time from the retries and is given up.
func TestStatusNoticeAtItsMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTheatre(Config{}, "a:p")
		var sent, gaveUp time.Duration
		turn := x.Begin(t.Context(), x.plan("a/m1"), Hooks{Status: func(ctx context.Context) {
			sent = x.since()
			<-ctx.Done()
			gaveUp = x.since()
		}})
		_, err := turn.Call(t.Context(), x.cast(map[string][]act{"a/m1": {
			gives(llm.Overloaded), gives(llm.Overloaded), gives(llm.Overloaded), gives(llm.Overloaded), ok,
		}}))
		turn.End()
		if err != nil || sent != 30*time.Second || gaveUp != 35*time.Second {
			t.Fatalf("sent at %v, given up at %v, err %v; want 30s and 35s", sent, gaveUp, err)
		}
		x.expect(t, "a/m1+0s", "a/m1+2.5s", "a/m1+7.5s", "a/m1+17.5s", "a/m1+37.5s")
	})
}

// A notice that has become needless is not sent: output has begun. It is sent
// after all when that output was taken back and the turn goes on.
func TestStatusNoticeYieldsToOutput(t *testing.T) {
	for _, c := range []struct {
		name string
		end  []act // of the request that had begun to speak, and after it
		want []time.Duration
	}{
		{"the answer comes", []act{ok}, nil},
		{"the output is taken back and the turn waits on", []act{gives(llm.Overloaded), ok}, []time.Duration{42500 * time.Millisecond}},
		{"the output is taken back and the turn is over", []act{gives(llm.Refusal)}, nil},
		{"the output is taken back and nobody is left", []act{gives(llm.Billing)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newTheatre(Config{}, "a:p")
				var sent []time.Duration
				turn := x.Begin(t.Context(), x.plan("a/m1"), Hooks{
					Discard: func() bool { return true },
					Status:  func(context.Context) { sent = append(sent, x.since()) },
				})
				speaks := func(ctx context.Context) error {
					turn.Output()
					time.Sleep(40 * time.Second)
					return c.end[0](ctx)
				}
				turn.Call(t.Context(), x.cast(map[string][]act{"a/m1": append([]act{gives(llm.Overloaded), speaks}, c.end[1:]...)}))
				synctest.Wait() // whoever calls is in no hurry to end the turn
				turn.End()
				if !slices.Equal(sent, c.want) {
					t.Fatalf("status notices at %v, want %v", sent, c.want)
				}
			})
		})
	}
}

func TestCancelEndsAWaitAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTheatre(Config{}, "a:p")
		ctx, cancel := context.WithCancel(t.Context())
		status := false
		turn := x.Begin(ctx, x.plan("a/m1"), Hooks{Status: func(context.Context) { status = true }})
		time.AfterFunc(4*time.Second, cancel)
		_, err := turn.Call(ctx, x.cast(map[string][]act{"a/m1": {gives(llm.Overloaded)}}))
		if !aborted(lostWith(t, err)) || x.since() != 4*time.Second {
			t.Fatalf("ended at %v with %v, want at 4s, aborted", x.since(), err)
		}
		turn.End()
		time.Sleep(time.Minute)
		if status {
			t.Fatal("a cancelled turn sent its status notice")
		}
	})
}

// A fault of the program stops the chain; it is no provider's failure.
func TestLocalFaultsBlameNobody(t *testing.T) {
	fault := errors.New("disk full")
	on := func(op string, from int) func(string) error {
		return func(o string) error {
			if o != op {
				return nil
			}
			if from--; from > 0 {
				return nil
			}
			return fault
		}
	}
	for _, c := range []struct {
		name     string
		fail     func(string) error
		act      act
		requests int
		booked   int // failures that were the provider's
	}{
		{"reading before the first request", on("states", 1), ok, 0, 0},
		{"reading before the second one", on("states", 2), gives(llm.RateLimit), 1, 1},
		{"booking", on("update", 1), gives(llm.RateLimit), 1, 0},
		{"making the request", nil, func(context.Context) error { return fault }, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newTheatre(Config{}, "a:p", "b:p")
			x.shelf.fail = c.fail
			turn := x.Begin(t.Context(), x.plan("a/m1", "b/m2"), Hooks{})
			defer turn.End()
			_, err := turn.Call(t.Context(), x.cast(map[string][]act{"a/m1": {c.act}, "b/m2": {ok}}))
			if lost := lostWith(t, err); !errors.Is(lost.Local, fault) || !errors.Is(err, fault) {
				t.Fatalf("err %v", err)
			}
			if len(x.calls) != c.requests || len(x.shelf.states) != c.booked {
				t.Fatalf("requests %v, states %+v", x.calls, x.shelf.states)
			}
		})
	}
}

// What happened is booked, also when nobody waits for it any more.
func TestFailureIsBookedAfterACancel(t *testing.T) {
	for _, c := range []struct {
		reason llm.Reason
		booked bool
	}{{llm.RateLimit, true}, {llm.Abort, false}} {
		x := newTheatre(Config{}, "a:p", "b:p")
		ctx, cancel := context.WithCancel(t.Context())
		turn := x.Begin(ctx, x.plan("a/m1", "b/m2"), Hooks{})
		_, err := turn.Call(ctx, x.cast(map[string][]act{"a/m1": {func(context.Context) error {
			cancel()
			return fails(c.reason)
		}}, "b/m2": {ok}}))
		turn.End()
		if !aborted(lostWith(t, err)) || len(x.calls) != 1 {
			t.Fatalf("%s: err %v after %v, want the turn aborted", c.reason, err, x.calls)
		}
		if got := x.shelf.writes == 1; got != c.booked {
			t.Fatalf("%s: booked %v, want %v", c.reason, got, c.booked)
		}
	}
}

// A probe that was granted but never made gives its place back, so that the
// next turn may probe; one that was made does not.
func TestProbeThatWasNeverMadeIsGivenBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken func(cancel func()) (slot func(), client func(context.Context) error)
		second string // who is asked a second later
	}{
		{"cancelled while a slot was free", func(cancel func()) (func(), func(context.Context) error) {
			return cancel, nil
		}, "a/m1+1s"},
		{"cancelled while the credential was refreshed", func(cancel func()) (func(), func(context.Context) error) {
			return nil, func(ctx context.Context) error { cancel(); return ctx.Err() }
		}, "a/m1+1s"},
		{"a client that cannot be made", func(func()) (func(), func(context.Context) error) {
			return nil, func(context.Context) error { return errors.New("no such file") }
		}, "a/m1+1s"},
		{"a request that failed", func(func()) (func(), func(context.Context) error) { return nil, nil }, "b/m2+1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slot := func() {}
				x := newTheatre(Config{Acquire: func(context.Context, string) (func(), error) { slot(); return func() {}, nil }}, "a:p", "b:p")
				x.shelf.states["a:p"] = State{Models: map[string]Window{"m1": {Reason: llm.RateLimit, Since: x.start, Until: x.start.Add(time.Minute), Count: 1}}}
				acts := map[string][]act{"a/m1": {gives(llm.RateLimit), ok}, "b/m2": {ok}}
				ctx, cancel := context.WithCancel(t.Context())
				if s, client := c.broken(cancel); s != nil {
					slot = s
				} else {
					x.client = client
				}
				first := x.Begin(ctx, x.plan("a/m1", "b/m2"), Hooks{})
				first.Call(ctx, x.cast(acts))
				first.End()
				cancel()

				slot, x.client = func() {}, nil
				time.Sleep(time.Second)
				acts["a/m1"] = []act{ok}
				second := x.Begin(t.Context(), x.plan("a/m1", "b/m2"), Hooks{})
				if _, err := second.Call(t.Context(), x.cast(acts)); err != nil {
					t.Fatal(err)
				}
				second.End()
				if got := x.calls[len(x.calls)-1]; got != c.second {
					t.Fatalf("requests %v, want %s last", x.calls, c.second)
				}
			})
		})
	}
}

func TestReservationIsGivenBackByItsOwnerOnly(t *testing.T) {
	th := NewThrottles()
	k := throttleKey{"main", "a", "cooldown"}
	first, ok := th.take(k, time.Time{}, probeEvery, t0)
	if !ok {
		t.Fatal("the first probe was refused")
	}
	if _, ok := th.take(k, time.Time{}, probeEvery, t0.Add(probeEvery)); !ok {
		t.Fatal("the second probe was refused")
	}
	first() // comes late
	if _, ok := th.take(k, time.Time{}, probeEvery, t0.Add(probeEvery+time.Second)); ok {
		t.Fatal("an old reservation took a newer one back")
	}
}

func TestTurnsThatFailTogetherBookOneFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTheatre(Config{}, "a:p")
		ask := x.cast(map[string][]act{"a/m1": {after(time.Second, gives(llm.RateLimit))}})
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				turn := x.Begin(t.Context(), x.plan("a/m1"), Hooks{})
				defer turn.End()
				turn.Call(t.Context(), ask)
			})
		}
		all.Wait()
		if w := x.shelf.states["a:p"].Models["m1"]; x.shelf.writes != 5 || w.Count != 1 || w.Until.Sub(x.start) != 31*time.Second {
			t.Fatalf("%d bookings led to %+v", x.shelf.writes, w)
		}
	})
}

func TestDecisionsAndAttemptsAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTheatre(Config{}, "a:p", "b:p")
		var told []string
		turn := x.Begin(t.Context(), x.plan("a/m1", "b/m2"), Hooks{Attempted: func(a Attempt) {
			told = append(told, fmt.Sprintf("%s %s", a.Model, a.Reason))
		}})
		defer turn.End()
		ask := x.cast(map[string][]act{"a/m1": {gives(llm.Overloaded)}, "b/m2": {gives(llm.Overloaded), ok, ok, gives(llm.Billing)}})
		for range 2 { // an answer that asks for a tool, and the one after it
			if _, err := turn.Call(t.Context(), ask); err != nil {
				t.Fatal(err)
			}
			turn.Tool()
		}
		want := []string{
			"a/m1 overloaded -> b/m2 next_fallback",
			"b/m2 overloaded -> a/m1 next_fallback",
			"a/m1 overloaded -> b/m2 next_fallback",
			"a/m1 overloaded -> b/m2 succeeded",
		}
		if !slices.Equal(x.log, want) {
			t.Fatalf("decisions:\n%s\nwant:\n%s", strings.Join(x.log, "\n"), strings.Join(want, "\n"))
		}
		_, err := turn.Call(t.Context(), ask)
		lostWith(t, err)
		if want = append(want, "b/m2 billing -> chain_exhausted"); !slices.Equal(x.log, want) {
			t.Fatalf("decisions:\n%s\nwant:\n%s", strings.Join(x.log, "\n"), strings.Join(want, "\n"))
		}
		wantTold := []string{"a/m1 overloaded", "b/m2 overloaded", "a/m1 overloaded", "b/m2 ", "b/m2 ", "b/m2 billing"}
		if !slices.Equal(told, wantTold) {
			t.Fatalf("told %q, want %q", told, wantTold)
		}
	})
}

// A slot is held during a request and never longer: not in a wait, not after a
// panic.
func TestSlotsAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := make(chan struct{}, 1)
		x := newTheatre(Config{Acquire: func(ctx context.Context, _ string) (func(), error) {
			select {
			case slots <- struct{}{}:
				return func() { <-slots }, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}, "a:p")
		ask := x.cast(map[string][]act{"a/m1": {gives(llm.Overloaded), func(context.Context) error {
			if len(slots) != 1 {
				t.Error("a request without a slot")
			}
			panic("a broken client")
		}}})
		turn := x.Begin(t.Context(), x.plan("a/m1"), Hooks{})
		defer turn.End()
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			time.AfterFunc(time.Second, func() {
				if len(slots) != 0 {
					t.Error("a turn that waits holds a slot")
				}
			})
			turn.Call(t.Context(), ask)
		}()
		if len(slots) != 0 {
			t.Fatal("a panic kept its slot")
		}
	})
}

// The end of every call is told once, whatever it was.
func TestEndsOfCallsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		x := newTheatre(Config{Called: func(p Plan, err *SummaryError) {
			told = append(told, fmt.Sprintf("%v: %v", p.Chain, err))
		}}, "a:p", "b:p")
		turn := x.Begin(t.Context(), x.plan("a/m1", "b/m2"), Hooks{})
		ask := x.cast(map[string][]act{
			"a/m1": {gives(llm.Billing)},
			"b/m2": {ok, gives(llm.Billing)},
		})
		for range 2 {
			_, _ = turn.Call(t.Context(), ask)
		}
		turn.End()
		want := []string{"[a/m1 b/m2]: <nil>", "[a/m1 b/m2]: no model answered: a/m1: billing, b/m2: billing"}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}
