package notices

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
)

var c3 = llm.Ref{Provider: "c", Model: "m3"}

// answered is a turn that active answered, after selected failed with reason.
func answered(turn string, selected, active llm.Ref, reason llm.Reason) Outcome {
	o := Outcome{Turn: turn, Selected: selected, Active: active, At: t0}
	if reason != "" {
		o.Attempts = append(o.Attempts, failover.Attempt{Model: selected, Reason: reason})
	}
	o.Attempts = append(o.Attempts, failover.Attempt{Model: active, Won: true})
	return o
}

func TestNext(t *testing.T) {
	onB := State{Selected: a1, Active: b2, Reason: llm.RateLimit, Since: t0.Add(-time.Hour), Turn: "t0"}
	for _, c := range []struct {
		name  string
		state State
		o     Outcome
		want  string
		after State // without Before
	}{
		{"the selected model answers", State{}, answered("t1", a1, a1, ""), "", State{}},
		{"another one steps in", State{}, answered("t1", a1, b2, llm.Overloaded), Moved(b2, a1, llm.Overloaded),
			State{Selected: a1, Active: b2, Reason: llm.Overloaded, Since: t0, Turn: "t1"}},
		{"it steps in again, for another reason", onB, answered("t1", a1, b2, llm.Billing), "", onB},
		{"a third one steps in", onB, answered("t1", a1, c3, llm.Billing), Moved(c3, a1, llm.Billing),
			State{Selected: a1, Active: c3, Reason: llm.Billing, Since: t0, Turn: "t1"}},
		{"a third one, and the selected one was not tried", onB, answered("t1", a1, c3, ""), Moved(c3, a1, llm.RateLimit),
			State{Selected: a1, Active: c3, Reason: llm.RateLimit, Since: t0, Turn: "t1"}},
		{"the selected model is back", onB, answered("t1", a1, a1, ""), Cleared(a1, b2),
			State{Selected: a1, Active: a1, Since: t0, Turn: "t1"}},
		{"somebody chose what answers", onB, answered("t1", b2, b2, ""), "", State{}},
		{"somebody chose another one, and it answers", onB, answered("t1", c3, c3, ""), "", State{}},
		{"somebody chose another one, and it fails", onB, answered("t1", c3, b2, llm.Auth), Moved(b2, c3, llm.Auth),
			State{Selected: c3, Active: b2, Reason: llm.Auth, Since: t0, Turn: "t1"}},
	} {
		got, text := Next(c.state, c.o)
		got.Before = nil
		if text != c.want || !reflect.DeepEqual(got, c.after) {
			t.Errorf("%s: %q and %+v, want %q and %+v", c.name, text, got, c.want, c.after)
		}
	}
}

// The reason is that of the selected model's last attempt: for a skip, of the
// block behind it; what others did does not matter.
func TestReasonOfANotice(t *testing.T) {
	o := answered("t1", a1, c3, "")
	o.Attempts = []failover.Attempt{
		{Model: a1, Reason: llm.Overloaded},
		{Model: b2, Reason: llm.Billing},
		{Model: a1, Reason: llm.Cooldown, Behind: llm.RateLimit, Skipped: true},
		{Model: a1, Switched: true},
		{Model: b2, Reason: llm.Auth},
		{Model: c3, Won: true},
	}
	if _, text := Next(State{}, o); text != Moved(c3, a1, llm.RateLimit) {
		t.Fatal(text)
	}
}

// Whatever happens: people are told of a change exactly when the pair of
// selected and active model changed, of a pair never twice in a row, and that it
// is over only after they were told that it began. Taking a turn back brings
// back what was before it.
func TestNoticesProperty(t *testing.T) {
	models := []llm.Ref{a1, b2, c3}
	rapid.Check(t, func(t *rapid.T) {
		var s State
		selected, active := a1, a1 // what people know
		moved := false             // they were told that another model answers
		for i := range rapid.IntRange(1, 30).Draw(t, "turns") {
			turn := fmt.Sprint("t", i)
			sel := selected
			if rapid.IntRange(0, 4).Draw(t, "choose") == 0 {
				sel = rapid.SampledFrom(models).Draw(t, "selected")
			}
			act := rapid.SampledFrom(models).Draw(t, "active")
			if sel != selected {
				selected, active, moved = sel, sel, false // silently
			}
			o := answered(turn, sel, act, rapid.SampledFrom([]llm.Reason{"", llm.Billing, llm.Timeout}).Draw(t, "reason"))
			o.At = t0.Add(time.Duration(i) * time.Minute)
			next, text := Next(s, o)
			if (text != "") != (act != active) {
				t.Fatalf("turn %d: selected %s, active %s after %s: %q", i, sel, act, active, text)
			}
			if text == Cleared(sel, active) && !moved {
				t.Fatalf("turn %d: cleared without a move", i)
			}
			if next.Moved() != (act != sel) || next.Before != nil && next.Before.Before != nil {
				t.Fatalf("turn %d: %+v", i, next)
			}
			if rapid.IntRange(0, 3).Draw(t, "given up") == 0 {
				other := next.Undo("another turn")
				if !reflect.DeepEqual(other, next) {
					t.Fatalf("turn %d: another turn's answer took it back", i)
				}
				if text != "" {
					next = next.Undo(turn)
					if next.Moved() != moved || moved && next.Active != active {
						t.Fatalf("turn %d: taken back, it is %+v; people know %s", i, next, active)
					}
					s = next
					continue
				}
			}
			s, active, moved = next, act, act != sel
		}
	})
}

func TestPolicies(t *testing.T) {
	if got := (Policies{}).For(core.KindThread); got != Reply {
		t.Errorf("nothing set: %s", got)
	}
	p := Policies{Default: Log, ByKind: map[core.Kind]Policy{core.KindChannel: Off, core.KindDirect: Reply}}
	for kind, want := range map[core.Kind]Policy{core.KindDirect: Reply, core.KindChannel: Off, core.KindGroup: Off, core.KindThread: Log} {
		if got := p.For(kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
