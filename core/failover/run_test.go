package failover

import (
	"testing"
	"time"

	"understudy/core/llm"
)

func TestFallbackIsTriedInOrder(t *testing.T) {
	w := newWorld("a:p", "b:p", "c:p")
	w.answer = script(map[string]string{"a/m1": "timeout", "b/m2": "ok"})
	won, err := w.run(t, w.plan(FromDefault, "a/m1", "b/m2", "c/m3"))
	if err != nil || won.Model != ref("b/m2") {
		t.Fatalf("won %v, err %v", won, err)
	}
	w.expect(t, "a/m1@a:p+0s", "b/m2@b:p+0s")
}

func TestOverloadWaitsElevenPasses(t *testing.T) {
	w := newWorld("a:p")
	w.answer = script(map[string]string{"a/m1": "overloaded"})
	_, err := w.run(t, w.plan(FromUser, "a/m1"))
	if err == nil || err.Kind() != AllOverloaded || err.Requests() != 11 {
		t.Fatalf("err %v", err)
	}
	w.expect(t, "a/m1@a:p+0s", "a/m1@a:p+2.5s", "a/m1@a:p+7.5s", "a/m1@a:p+17.5s", "a/m1@a:p+37.5s",
		"a/m1@a:p+1m7.5s", "a/m1@a:p+1m37.5s", "a/m1@a:p+2m7.5s", "a/m1@a:p+2m37.5s", "a/m1@a:p+3m7.5s", "a/m1@a:p+3m37.5s")
}

func TestOverloadTakesProfilesInTurn(t *testing.T) {
	w := newWorld("a:p1", "a:p2", "a:p3")
	w.answer = script(map[string]string{"a/m1": "overloaded overloaded overloaded overloaded overloaded overloaded ok"})
	if _, err := w.run(t, w.plan(FromUser, "a/m1")); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "a/m1@a:p1+0s", "a/m1@a:p2+0s", "a/m1@a:p3+0s", // nobody else is left: all of them
		"a/m1@a:p1+2.5s", "a/m1@a:p2+7.5s", "a/m1@a:p3+17.5s", "a/m1@a:p1+37.5s")
}

func TestStatusIsDueAfterAnOverloadedPassOnly(t *testing.T) {
	w := newWorld("a:p")
	w.answer = script(map[string]string{"a/m1": "overloaded"})
	p := w.plan(FromUser, "a/m1")
	r := NewRun(p, w.rules, w.throttles, w.skips)
	s := r.Next(w.view())
	if _, ok := r.StatusAt(); ok {
		t.Fatal("due before a pass ended")
	}
	w.now = w.now.Add(40 * time.Second) // a slow first pass
	w.book(r, r.Failed(w.view(), fails(llm.Overloaded), false))
	if s = r.Next(w.view()); s.Kind != Wait {
		t.Fatalf("step %v", s)
	}
	if at, ok := r.StatusAt(); !ok || !at.Equal(w.now) {
		t.Fatalf("due %v %v, want now", at, ok)
	}
}

func TestRotationLimits(t *testing.T) {
	for _, c := range []struct {
		reason string
		want   []string
	}{
		{"rate_limit", []string{"a/m1@a:p1+0s", "a/m1@a:p2+0s", "b/m2@b:p+0s"}},
		{"overloaded", []string{"a/m1@a:p1+0s", "a/m1@a:p2+0s", "b/m2@b:p+0s"}},
		{"auth", []string{"a/m1@a:p1+0s", "a/m1@a:p2+0s", "a/m1@a:p3+0s", "b/m2@b:p+0s"}},
		{"billing", []string{"a/m1@a:p1+0s", "a/m1@a:p2+0s", "a/m1@a:p3+0s", "b/m2@b:p+0s"}},
		{"timeout", []string{"a/m1@a:p1+0s", "a/m1@a:p2+0s", "a/m1@a:p3+0s", "b/m2@b:p+0s"}},
		{"empty_response", []string{"a/m1@a:p1+0s", "b/m2@b:p+0s"}},
		{"unclassified", []string{"a/m1@a:p1+0s", "b/m2@b:p+0s"}},
		{"rate_limit overloaded rate_limit", []string{"a/m1@a:p1+0s", "a/m1@a:p2+0s", "a/m1@a:p3+0s", "b/m2@b:p+0s"}},
	} {
		w := newWorld("a:p1", "a:p2", "a:p3", "b:p")
		w.answer = script(map[string]string{"a/m1": c.reason})
		if _, err := w.run(t, w.plan(FromDefault, "a/m1", "b/m2")); err != nil {
			t.Fatal(err)
		}
		w.expect(t, c.want...)
	}
}

func TestTooLargeARequestMovesOnAtOnce(t *testing.T) {
	w := newWorld("a:p1", "a:p2", "b:p")
	w.answer = func(_ *world, r llm.Ref, _ string) *llm.Error {
		if r.Provider == "a" {
			return &llm.Error{Reason: llm.RateLimit, Never: true}
		}
		return nil
	}
	if _, err := w.run(t, w.plan(FromDefault, "a/m1", "b/m2")); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "a/m1@a:p1+0s", "b/m2@b:p+0s")
	if b := w.states["a:p1"].Blocked("m1", w.now); b.Live() {
		t.Fatalf("blocked: %+v", b)
	}
}

func TestTwoModelsOfAProfileCoolApart(t *testing.T) {
	w := newWorld("a:p1")
	w.answer = script(map[string]string{"a/m1": "model_not_found", "a/m2": "model_not_found", "a/m3": "ok"})
	won, err := w.run(t, w.plan(FromDefault, "a/m1", "a/m2", "a/m3"))
	if err != nil || won.Model != ref("a/m3") {
		t.Fatalf("%v %v", won, err)
	}
	s := w.states["a:p1"]
	if !s.Blocked("m1", w.now).Live() || !s.Blocked("m2", w.now).Live() || s.Blocked("m3", w.now).Live() {
		t.Fatalf("state %+v", s)
	}
}

func TestTransientErrorsGetOneMorePass(t *testing.T) {
	w := newWorld("a:p", "b:p")
	w.answer = script(map[string]string{"a/m1": "server_error", "b/m2": "timeout"})
	_, err := w.run(t, w.plan(FromDefault, "a/m1", "b/m2"))
	if err == nil || err.Kind() != AllTransient {
		t.Fatalf("err %v", err)
	}
	// b's own cooldown of the first pass does not block the second one.
	w.expect(t, "a/m1@a:p+0s", "b/m2@b:p+0s", "a/m1@a:p+2.5s", "b/m2@b:p+2.5s")
}

func TestOverloadAfterTheTransientPassHasItsOwnRetries(t *testing.T) {
	w := newWorld("a:p")
	w.answer = script(map[string]string{"a/m1": "timeout overloaded"})
	_, err := w.run(t, w.plan(FromDefault, "a/m1"))
	if err == nil || err.Requests() != 12 {
		t.Fatalf("%d requests, err %v", len(w.calls), err)
	}
}

func TestAnotherReasonEndsTheOverloadLoop(t *testing.T) {
	w := newWorld("a:p", "b:p")
	w.answer = script(map[string]string{"a/m1": "overloaded overloaded rate_limit", "b/m2": "overloaded"})
	_, err := w.run(t, w.plan(FromDefault, "a/m1", "b/m2"))
	if err == nil || err.Kind() != Mixed || len(w.calls) != 6 {
		t.Fatalf("%v %v", w.calls, err)
	}
}

func TestStatedWaitLengthensTheStepTo30SecondsAtMost(t *testing.T) {
	w := newWorld("a:p")
	n := 0
	w.answer = func(w *world, _ llm.Ref, _ string) *llm.Error {
		if n++; n == 3 {
			return nil
		}
		return &llm.Error{Reason: llm.Overloaded, ResetAt: w.now.Add(time.Duration(n*18) * time.Second)}
	}
	if _, err := w.run(t, w.plan(FromDefault, "a/m1")); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "a/m1@a:p+0s", "a/m1@a:p+18s", "a/m1@a:p+48s")
}

func TestNothingAdvancesPastABadRequest(t *testing.T) {
	for _, reason := range []llm.Reason{llm.Format, llm.ContextOverflow, llm.Refusal, llm.Abort} {
		w := newWorld("a:p1", "a:p2", "b:p")
		w.answer = script(map[string]string{"a/m1": string(reason)})
		_, err := w.run(t, w.plan(FromDefault, "a/m1", "b/m2"))
		if err == nil || err.Final == nil || err.Final.Reason != reason || len(w.calls) != 1 || len(w.states["a:p1"].Models) > 0 {
			t.Fatalf("%s: %v %v", reason, w.calls, err)
		}
	}
}

func TestShownOutputEndsTheTurn(t *testing.T) {
	w := newWorld("a:p1", "a:p2", "b:p")
	r := NewRun(w.plan(FromDefault, "a/m1", "b/m2"), w.rules, w.throttles, w.skips)
	r.Next(w.view())
	w.book(r, r.Failed(w.view(), fails(llm.Overloaded), true))
	if s := r.Next(w.view()); s.Kind != GaveUp || !s.Err.Shown {
		t.Fatalf("step %+v", s)
	}
	if !w.states["a:p1"].Blocked("m1", w.now).Live() {
		t.Fatal("the failure was not booked")
	}
}

func TestAfterAToolTheRestOfThePassIsTriedAndNoMore(t *testing.T) {
	w := newWorld("a:p1", "a:p2", "b:p")
	r := NewRun(w.plan(FromDefault, "a/m1", "b/m2"), w.rules, w.throttles, w.skips)
	if _, err := w.play(t, r); err != nil {
		t.Fatal(err)
	}
	r.ToolStarted()
	w.answer = script(map[string]string{"a/m1": "timeout", "b/m2": "overloaded"})
	_, err := w.play(t, r)
	if err == nil || !err.Tool {
		t.Fatalf("err %v", err)
	}
	w.expect(t, "a/m1@a:p1+0s", "a/m1@a:p1+0s", "a/m1@a:p2+0s", "b/m2@b:p+0s")
}

func TestStrictFirstTurnAsksInSpiteOfABlock(t *testing.T) {
	w := newWorld("a:p1", "a:p2", "b:p")
	w.states["a:p1"] = State{Billing: Window{Reason: llm.Billing, Since: t0, Until: t0.Add(5 * time.Hour), Count: 1}}
	w.states["a:p2"] = State{Permanent: Window{Reason: llm.AuthPermanent, Since: t0, Until: t0.Add(time.Hour), Count: 1}}
	p := w.plan(FromUser, "a/m1")
	p.Fresh = true
	if _, err := w.run(t, p); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "a/m1@a:p2+0s") // the one that recovers soonest
	if w.states["a:p2"].Permanent != (Window{}) {
		t.Fatal("success did not lift the block")
	}
}

func TestBillingProbeOfTheFirstCandidateOnly(t *testing.T) {
	w := newWorld("a:p", "b:p")
	w.answer = script(map[string]string{"a/m1": "billing"})
	p := w.plan(FromDefault, "a/m1", "b/m2")
	for range 4 { // at 0, 4, 8 and 12 minutes
		if _, err := w.run(t, p); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(4 * time.Minute)
	}
	w.expect(t, "a/m1@a:p+0s", "b/m2@b:p+0s", "b/m2@b:p+4m0s", "b/m2@b:p+8m0s", "a/m1@a:p+12m0s", "b/m2@b:p+12m0s")
	if got := w.states["a:p"].Billing; got.Until != t0.Add(5*time.Hour) || got.Count != 1 {
		t.Fatalf("the probe moved the window: %+v", got)
	}
}

func TestNearCooldownIsProbedOncePer30Seconds(t *testing.T) {
	w := newWorld("a:p", "b:p")
	w.states["a:p"] = State{Models: map[string]Window{"m1": {Reason: llm.RateLimit, Since: t0, Until: t0.Add(3 * time.Minute), Stated: true, Count: 1}}}
	w.answer = script(map[string]string{"a/m1": "rate_limit"})
	p := w.plan(FromDefault, "a/m1", "b/m2")
	for range 6 { // every 20 s from 0:00 to 1:40
		if _, err := w.run(t, p); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(20 * time.Second)
	}
	w.expect(t, "b/m2@b:p+0s", "b/m2@b:p+20s", "b/m2@b:p+40s",
		"a/m1@a:p+1m0s", "b/m2@b:p+1m0s", "b/m2@b:p+1m20s", "a/m1@a:p+1m40s", "b/m2@b:p+1m40s")
}

func TestLaterCandidatesBehindABlock(t *testing.T) {
	window := func(r llm.Reason) State {
		return State{Models: map[string]Window{"m2": {Reason: r, Since: t0, Until: t0.Add(time.Hour), Stated: true, Count: 1}}}
	}
	t.Run("a sibling of an earlier candidate is tried when it looks transient", func(t *testing.T) {
		w := newWorld("a:p", "b:p")
		w.states["a:p"] = window(llm.RateLimit)
		w.answer = script(map[string]string{"a/m1": "server_error"})
		if _, err := w.run(t, w.plan(FromDefault, "a/m1", "a/m2", "b/m3")); err != nil {
			t.Fatal(err)
		}
		w.expect(t, "a/m1@a:p+0s", "a/m2@a:p+0s")
	})
	t.Run("not when the model is missing", func(t *testing.T) {
		w := newWorld("a:p", "b:p")
		w.states["a:p"] = window(llm.ModelNotFound)
		w.answer = script(map[string]string{"a/m1": "server_error"})
		if _, err := w.run(t, w.plan(FromDefault, "a/m1", "a/m2", "b/m3")); err != nil {
			t.Fatal(err)
		}
		w.expect(t, "a/m1@a:p+0s", "b/m3@b:p+0s")
	})
	t.Run("another provider is skipped", func(t *testing.T) {
		w := newWorld("a:p", "b:p", "c:p")
		w.states["b:p"] = window(llm.RateLimit)
		w.answer = script(map[string]string{"a/m1": "server_error"})
		won, err := w.run(t, w.plan(FromDefault, "a/m1", "b/m2", "c/m3"))
		if err != nil || won.Model != ref("c/m3") {
			t.Fatal(won, err)
		}
		w.expect(t, "a/m1@a:p+0s", "c/m3@c:p+0s")
	})
	t.Run("held by auth alone it is tried once a turn", func(t *testing.T) {
		w := newWorld("a:p", "b:p")
		w.states["b:p"] = State{Auth: Window{Reason: llm.Auth, Since: t0, Until: t0.Add(time.Hour), Count: 3}}
		w.answer = script(map[string]string{"a/m1": "server_error"})
		if _, err := w.run(t, w.plan(FromDefault, "a/m1", "b/m2")); err != nil {
			t.Fatal(err)
		}
		w.expect(t, "a/m1@a:p+0s", "b/m2@b:p+0s")
	})
}

func TestSkipCache(t *testing.T) {
	w := newWorld("a:p", "b:p", "c:p")
	w.skips = NewSkipCache(time.Minute)
	w.answer = script(map[string]string{"a/m1": "server_error", "b/m2": "auth"})
	p := w.plan(FromDefault, "a/m1", "b/m2", "c/m3")
	for range 2 {
		if _, err := w.run(t, p); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(40 * time.Second) // the auth cooldown of 30 s is over
	}
	w.expect(t, "a/m1@a:p+0s", "b/m2@b:p+0s", "c/m3@c:p+0s", "a/m1@a:p+40s", "c/m3@c:p+40s")
}

func TestCandidatesThatCannotBeAsked(t *testing.T) {
	w := newWorld("a:p", "b:p")
	w.profiles["c"] = Profiles{Known: true}
	w.answer = script(map[string]string{"a/m1": "server_error"})
	r := NewRun(w.plan(FromDefault, "a/m1", "x/m", "c/m", "b/m2"), w.rules, w.throttles, w.skips)
	if _, err := w.play(t, r); err != nil {
		t.Fatal(err)
	}
	if a := r.Attempts(); a[1].Reason != llm.UnknownProvider || a[2].Reason != llm.MissingAuth || !a[1].Skipped || !a[2].Skipped {
		t.Fatalf("attempts %+v", a)
	}
}

func TestLockUsesOneProfileOnly(t *testing.T) {
	w := newWorld("a:p1", "a:p2", "b:p")
	w.answer = script(map[string]string{"a/m1": "auth"})
	p := w.plan(FromDefault, "a/m1", "b/m2")
	p.Lock = "a:p2"
	if _, err := w.run(t, p); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "a/m1@a:p2+0s", "b/m2@b:p+0s")
}

func TestSwitch(t *testing.T) {
	begin := func(w *world) *Run {
		w.answer = script(map[string]string{"a/m1": "overloaded"})
		r := NewRun(w.plan(FromDefault, "a/m1", "b/m2", "c/m3"), w.rules, w.throttles, w.skips)
		r.Next(w.view())
		w.book(r, r.Failed(w.view(), fails(llm.Overloaded), false))
		return r
	}
	t.Run("to a later candidate goes straight there", func(t *testing.T) {
		w := newWorld("a:p", "b:p", "c:p", "d:p")
		r := begin(w)
		r.Switch(w.view(), Switch{Model: ref("c/m3")})
		won, err := w.play(t, r)
		if err != nil || won.Model != ref("c/m3") || won.Pass != 1 {
			t.Fatal(won, err)
		}
		w.expect(t, "c/m3@c:p+0s")
	})
	t.Run("to another model starts a chain of it alone", func(t *testing.T) {
		w := newWorld("a:p", "b:p", "c:p", "d:p")
		r := begin(w)
		r.Switch(w.view(), Switch{Model: ref("d/m4")})
		w.answer = script(map[string]string{"d/m4": "billing"})
		_, err := w.play(t, r)
		if err == nil || !err.Plan.Strict() {
			t.Fatal(err)
		}
		w.expect(t, "d/m4@d:p+0s")
	})
	t.Run("of the profile alone keeps the chain", func(t *testing.T) {
		w := newWorld("a:p", "a:p2", "b:p", "c:p", "d:p")
		r := NewRun(w.plan(FromDefault, "a/m1", "b/m2"), w.rules, w.throttles, w.skips)
		r.Next(w.view())
		w.book(r, r.Failed(w.view(), fails(llm.Billing), false))
		w.answer = script(map[string]string{"a/m1": "billing"})
		r.Switch(w.view(), Switch{Model: ref("a/m1"), Lock: "a:p2", Source: FromDefault, Chain: refs("a/m1", "b/m2")})
		won, err := w.play(t, r)
		if err != nil || won.Model != ref("b/m2") {
			t.Fatal(won, err)
		}
		w.expect(t, "a/m1@a:p2+0s", "b/m2@b:p+0s")
	})
	t.Run("to the default takes its chain", func(t *testing.T) {
		w := newWorld("a:p", "b:p", "c:p", "d:p")
		w.answer = script(map[string]string{"d/m4": "overloaded", "a/m1": "billing"})
		r := NewRun(w.plan(FromUser, "d/m4"), w.rules, w.throttles, w.skips)
		r.Next(w.view())
		w.book(r, r.Failed(w.view(), fails(llm.Overloaded), false))
		r.Switch(w.view(), Switch{Model: ref("a/m1"), Source: FromDefault, Chain: refs("a/m1", "b/m2")})
		won, err := w.play(t, r)
		if err != nil || won.Model != ref("b/m2") || r.Plan().Strict() {
			t.Fatal(won, err)
		}
		w.expect(t, "a/m1@a:p+0s", "b/m2@b:p+0s")
	})
	t.Run("a sixth ends the turn", func(t *testing.T) {
		w := newWorld("a:p", "b:p", "c:p", "d:p")
		r := begin(w)
		for i := range 6 {
			r.Switch(w.view(), Switch{Model: ref([]string{"d/m4", "b/m2"}[i%2])})
		}
		if s := r.Next(w.view()); s.Kind != GaveUp || !s.Err.TooManySwitches {
			t.Fatalf("%+v", s)
		}
	})
}

func TestSummaryCountsThisChainOnly(t *testing.T) {
	w := newWorld("a:p", "b:p", "c:p")
	at := func(d time.Duration) time.Time { return t0.Add(d) }
	w.states["a:p"] = State{Models: map[string]Window{
		"m1": {Reason: llm.RateLimit, Since: t0, Until: at(240 * time.Second), Stated: true, Count: 1},
		"m9": {Reason: llm.RateLimit, Since: t0, Until: at(5 * time.Second), Stated: true, Count: 1}}}
	w.states["b:p"] = State{Billing: Window{Reason: llm.Billing, Since: t0, Until: at(4 * time.Hour), Count: 1}}
	w.states["c:p"] = State{Models: map[string]Window{"m3": {Reason: llm.RateLimit, Since: t0, Until: at(2 * time.Second), Count: 1}}}
	_, err := w.run(t, w.plan(FromDefault, "a/m1", "b/m2"))
	if err == nil || !err.Soonest.Equal(at(240*time.Second)) || len(w.calls) != 0 {
		t.Fatalf("soonest %v, calls %v", err, w.calls)
	}
}

func TestDecisionsOfALostChain(t *testing.T) {
	w := newWorld("a:p", "b:p")
	w.answer = script(map[string]string{"a/m1": "billing", "b/m2": "billing"})
	r := NewRun(w.plan(FromDefault, "a/m1", "b/m2"), w.rules, w.throttles, w.skips)
	w.play(t, r)
	d := r.Decisions(true)
	if len(d) != 2 || d[0].Outcome != NextFallback || d[0].To != ref("b/m2") || d[1].Outcome != ChainExhausted || d[1].To != (llm.Ref{}) {
		t.Fatalf("%+v", d)
	}
}

func TestDecisionsOfAWin(t *testing.T) {
	w := newWorld("a:p", "b:p")
	w.answer = script(map[string]string{"a/m1": "billing"})
	r := NewRun(w.plan(FromDefault, "a/m1", "b/m2"), w.rules, w.throttles, w.skips)
	w.play(t, r)
	d := r.Decisions(true)
	if len(d) != 2 || d[1].Outcome != Succeeded || d[1].From != ref("a/m1") || d[1].To != ref("b/m2") || d[1].Reason != llm.Billing {
		t.Fatalf("%+v", d)
	}
}

// Choosing the model that has just failed asks it once more, and nothing waits
// as if it had been overloaded.
func TestSwitchToTheModelThatFailed(t *testing.T) {
	for _, reason := range []llm.Reason{llm.RateLimit, llm.Auth, llm.Billing, llm.EmptyResponse} {
		w := newWorld("a:p", "b:p")
		w.answer = script(map[string]string{"a/m1": string(reason)})
		r := NewRun(w.plan(FromDefault, "a/m1", "b/m2"), w.rules, w.throttles, w.skips)
		r.Next(w.view())
		w.book(r, r.Failed(w.view(), fails(reason), false))
		r.Switch(w.view(), Switch{Model: ref("a/m1")})
		_, err := w.play(t, r)
		if err == nil || len(w.calls) != 1 || len(w.waits) != 0 || err.Last()[0].Reason != reason {
			t.Fatalf("%s: calls %v, waits %v, err %v", reason, w.calls, w.waits, err)
		}
	}
}

// A profile that another turn got blocked between two calls of this one is
// named as what stood in the way.
func TestBlockBetweenTwoCallsIsOnRecord(t *testing.T) {
	w := newWorld("a:p")
	r := NewRun(w.plan(FromUser, "a/m1"), w.rules, w.throttles, w.skips)
	if _, err := w.play(t, r); err != nil {
		t.Fatal(err)
	}
	r.ToolStarted()
	w.states["a:p"] = w.rules.Fail(w.states["a:p"], "a:p", "m1", &llm.Error{Reason: llm.RateLimit, ResetAt: w.now.Add(time.Hour)}, w.now)
	_, err := w.play(t, r)
	if err == nil || err.Kind() != AllRateLimited || len(w.calls) != 1 {
		t.Fatalf("calls %v, kind %v, err %v", w.calls, err.Kind(), err)
	}
	if a := r.Attempts()[1]; !a.Skipped || a.Behind != llm.RateLimit {
		t.Fatalf("the second attempt is %+v", a)
	}
}
