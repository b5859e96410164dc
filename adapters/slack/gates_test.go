package slack

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

func TestRateLimitOfSlackIsObeyed(t *testing.T) {
	r, target := asked(t)
	r.slack.Fail("chat.postMessage", slacktest.Fault{RetryAfter: 60})
	if _, err := r.a.Post(t.Context(), post(target, "text")); sendErr(t, err).RetryAfter != time.Minute {
		t.Errorf("error is %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	_, err := r.a.Post(ctx, post(target, "text"))
	if e := sendErr(t, err); e.RetryAfter < 50*time.Second || !e.Unsent || e.Unknown || time.Since(began) > 900*time.Millisecond {
		t.Errorf("error after %s is %+v", time.Since(began), e)
	}
	if n := len(r.slack.Calls("chat.postMessage")); n != 1 {
		t.Errorf("%d requests", n)
	}
	// Another channel is not held back.
	if _, err := r.a.Post(ctx, post(core.Target{Thread: core.Thread{Channel: slacktest.Channel2}}, "text")); err != nil {
		t.Error(err)
	}
}

func TestGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates()
		k := gateKey{"chat.postMessage", "C1"}
		began := time.Now()
		for range 10 {
			if err := g.pass(t.Context(), k, quota{time.Second, 3}, rankAnswer, patient); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began).Round(time.Second); d != 7*time.Second {
			t.Errorf("ten requests with a burst of three took %s", d)
		}
		if err := g.pass(t.Context(), k, quota{time.Second, 3}, rankAnswer, 100*time.Millisecond); err == nil || !err.Unsent || err.RetryAfter <= 100*time.Millisecond {
			t.Errorf("impatience: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if err := g.pass(ctx, k, quota{time.Second, 3}, rankAnswer, patient); err == nil || !err.Unsent {
			t.Error("the end of the context was not heeded")
		}
		g.shut(k, time.Minute)
		began = time.Now()
		if err := g.pass(t.Context(), k, quota{time.Second, 3}, rankAnswer, patient); err != nil || time.Since(began) < time.Minute {
			t.Errorf("passed a shut gate after %s: %v", time.Since(began), err)
		}
	})
}

// TestAnswersGoFirst: of those that wait for the same limit, the one that people
// wait for most goes first, and those of the same rank in order.
func TestAnswersGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, q := newGates(), gateKey{method: "chat.update"}, quota{time.Second, 1}
		if err := g.pass(t.Context(), k, q, rankLive, patient); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		ask := func(name string, who rank) {
			go func() {
				if err := g.pass(t.Context(), k, q, who, patient); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			}()
			synctest.Wait()
		}
		ask("status", rankStatus)
		ask("live 1", rankLive)
		ask("live 2", rankLive)
		ask("notice", rankNotice)
		ask("answer", rankAnswer)
		// One that gives up wakes the next.
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		go func() { _ = g.pass(ctx, k, q, rankAnswer, patient) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if want := []string{"answer", "live 1", "live 2", "notice", "status"}; !slices.Equal(order, want) {
			t.Errorf("they went in the order %v", order)
		}
	})
}

func TestGatesAreFewEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates()
		for i := range 3 * maxGates {
			if err := g.pass(t.Context(), gateKey{"m", string(rune(i))}, quota{time.Second, 3}, rankAnswer, patient); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if n := len(g.gates); n > 2*maxGates {
			t.Errorf("%d gates are kept", n)
		}
	})
}
