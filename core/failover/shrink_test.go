package failover

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core/llm"
)

// A candidate that could not hold the request is asked once more with the same
// profile when it was made shorter, without a slot meanwhile; nobody else is
// asked, and nothing cools down.
func TestShrink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := make(chan struct{}, 1)
		x := newTheatre(Config{Acquire: func(context.Context, string) (func(), error) {
			slots <- struct{}{}
			return func() { <-slots }, nil
		}}, "a:p1", "a:p2", "b:p")
		shrunk := 0
		turn := x.Begin(t.Context(), x.plan("a/m1", "b/m2"), Hooks{Shrink: func(context.Context, *llm.Error) (bool, error) {
			if shrunk++; len(slots) != 0 {
				t.Error("a turn holds its slot while it makes the request shorter")
			}
			return true, nil
		}})
		defer turn.End()
		ask := x.cast(map[string][]act{"a/m1": {gives(llm.ContextOverflow), ok, gives(llm.ContextOverflow), gives(llm.ContextOverflow)}, "b/m2": {ok}})
		answer, err := turn.Call(t.Context(), ask)
		if err != nil || answer.Model != refs("a/m1")[0] {
			t.Fatalf("answered by %v, %v", answer, err)
		}
		if turn.Attempts()[0].Profile != answer.Profile {
			t.Errorf("another profile was asked: %+v", turn.Attempts())
		}
		_, err = turn.Call(t.Context(), ask) // the next call of the turn may be made shorter again, once
		var lost *SummaryError
		if !errors.As(err, &lost) || lost.Final == nil || lost.Final.Reason != llm.ContextOverflow {
			t.Fatalf("the second call ended with %v", err)
		}
		x.expect(t, "a/m1+0s", "a/m1+0s", "a/m1+0s", "a/m1+0s")
		if shrunk != 2 || len(x.shelf.states) > 1 || x.shelf.states["a:p1"].Blocked("m1", time.Now()).Live() {
			t.Errorf("made shorter %d times; states %+v", shrunk, x.shelf.states)
		}
	})
}

func TestShrinkThatIsNone(t *testing.T) {
	fault := errors.New("the store is gone")
	for _, c := range []struct {
		name    string
		hooks   Hooks
		calls   int // of Shrink
		output  bool
		local   bool
		aborted bool
	}{
		{"it cannot be shorter", Hooks{Shrink: func(context.Context, *llm.Error) (bool, error) { return false, nil }}, 1, false, false, false},
		{"a fault", Hooks{Shrink: func(context.Context, *llm.Error) (bool, error) { return false, fault }}, 1, false, true, false},
		{"cut off", Hooks{Shrink: func(context.Context, *llm.Error) (bool, error) { return false, context.Canceled }}, 1, false, false, true},
		{"people have read a part", Hooks{Discard: func() bool { return false }, Shrink: func(context.Context, *llm.Error) (bool, error) { return true, nil }}, 0, true, false, false},
		{"nobody can", Hooks{}, 0, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newTheatre(Config{}, "a:p", "b:p")
				n := 0
				if f := c.hooks.Shrink; f != nil {
					c.hooks.Shrink = func(ctx context.Context, e *llm.Error) (bool, error) { n++; return f(ctx, e) }
				}
				turn := x.Begin(t.Context(), x.plan("a/m1", "b/m2"), c.hooks)
				defer turn.End()
				cast := x.cast(map[string][]act{"a/m1": {gives(llm.ContextOverflow)}})
				_, err := turn.Call(t.Context(), func(ctx context.Context, client llm.Client, r llm.Ref) error {
					if c.output {
						turn.Output()
					}
					return cast(ctx, client, r)
				})
				var lost *SummaryError
				if !errors.As(err, &lost) {
					t.Fatalf("the call ended with %v", err)
				}
				reason := llm.ContextOverflow
				if c.aborted {
					reason = llm.Abort
				}
				switch {
				case c.local != (lost.Local != nil):
					t.Errorf("a fault of the program: %v", lost.Local)
				case !c.local && (lost.Final == nil || lost.Final.Reason != reason):
					t.Errorf("it ended with %+v", lost.Final)
				case n != c.calls:
					t.Errorf("Shrink was called %d times, want %d", n, c.calls)
				}
				x.expect(t, "a/m1+0s")
			})
		})
	}
}

// A plan that is walked once waits for nothing, and how one aside ends is told
// to nobody.
func TestOnceAndAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		x := newTheatre(Config{Called: func(Plan, *SummaryError) { told++ }}, "a:p", "b:p")
		plan := x.plan("a/m1", "b/m2")
		plan.Once, plan.Aside = true, true
		turn := x.Begin(t.Context(), plan, Hooks{})
		defer turn.End()
		_, err := turn.Call(t.Context(), x.cast(map[string][]act{"a/m1": {gives(llm.Overloaded)}, "b/m2": {gives(llm.Overloaded)}}))
		var lost *SummaryError
		if !errors.As(err, &lost) || lost.Kind() != AllOverloaded {
			t.Fatalf("it ended with %v", err)
		}
		if x.since() != 0 || told != 0 {
			t.Errorf("it took %v, and %d were told", x.since(), told)
		}
	})
}

// What was shown before a tool ran is no reason not to go on: the candidate that
// said it is asked again.
func TestShrinkAfterAnEarlierCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTheatre(Config{}, "a:p", "b:p")
		turn := x.Begin(t.Context(), x.plan("a/m1", "b/m2"), Hooks{
			Discard: func() bool { return false },
			Shrink:  func(context.Context, *llm.Error) (bool, error) { return true, nil },
		})
		defer turn.End()
		cast := x.cast(map[string][]act{"a/m1": {ok, gives(llm.ContextOverflow), ok}})
		first := true
		for range 2 {
			answer, err := turn.Call(t.Context(), func(ctx context.Context, client llm.Client, r llm.Ref) error {
				if first {
					turn.Output()
					first = false
				}
				return cast(ctx, client, r)
			})
			if err != nil || answer.Model != refs("a/m1")[0] {
				t.Fatalf("answered by %v, %v", answer, err)
			}
			turn.Tool()
		}
		x.expect(t, "a/m1+0s", "a/m1+0s", "a/m1+0s")
	})
}
