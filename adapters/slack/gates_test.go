package slack

import (
	"context"
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
