package slack

import (
	"context"
	"errors"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

func TestWorking(t *testing.T) {
	r, target := asked(t)
	root := target.Thread.Root
	working := func(on bool) {
		t.Helper()
		if err := r.a.Working(t.Context(), target, on); err != nil {
			t.Fatal(err)
		}
	}
	shown := func() bool { return r.slack.Status(slacktest.Channel, root) != "" }
	for range 3 {
		working(true)
	}
	if n := len(r.slack.Calls("assistant.threads.setStatus")); n != 1 || !shown() {
		t.Errorf("%d requests for one status", n)
	}
	// Each post of ours takes the status away; the next beat brings it back.
	if _, err := r.a.Post(t.Context(), post(target, "step one")); err != nil {
		t.Fatal(err)
	}
	working(true)
	if !shown() {
		t.Error("no status after an interim post")
	}
	working(false)
	if shown() {
		t.Error("the status stays")
	}
	// Also when nothing is known of it, as after a restart.
	working(false)
	calls := r.slack.Calls("assistant.threads.setStatus")
	if last := calls[len(calls)-1]; last.Args["status"] != "" || len(calls) != 4 {
		t.Errorf("%d requests, the last with %v", len(calls), last.Args)
	}
	if n := len(r.a.works.threads); n > 0 {
		t.Errorf("%d threads are remembered", n)
	}
}

func TestLateStatusIsTakenAway(t *testing.T) {
	r, target := asked(t)
	hold := make(chan struct{})
	r.slack.Fail("assistant.threads.setStatus", slacktest.Fault{Hold: hold})
	on := make(chan error, 1)
	go func() { on <- r.a.Working(t.Context(), target, true) }()
	r.wait("the request", func() bool { return len(r.slack.Calls("assistant.threads.setStatus")) == 1 })
	off := make(chan error, 1)
	go func() { off <- r.a.Working(t.Context(), target, false) }()
	close(hold)
	if err := <-on; err != nil {
		t.Error(err)
	}
	if err := <-off; err != nil {
		t.Error(err)
	}
	calls := r.slack.Calls("assistant.threads.setStatus")
	if len(calls) != 2 || calls[1].Args["status"] != "" || r.slack.Status(slacktest.Channel, target.Thread.Root) != "" {
		t.Errorf("the status was set after it was taken away: %+v", calls)
	}
}

// Whoever asked for the status may not wait for it any more. Slack may set it
// all the same, so that it cannot be taken away before Slack has answered.
func TestStatusIsNotCutOff(t *testing.T) {
	r, target := asked(t)
	hold := make(chan struct{})
	r.slack.Fail("assistant.threads.setStatus", slacktest.Fault{Hold: hold})
	ctx, cancel := context.WithCancel(t.Context())
	on := make(chan error, 1)
	go func() { on <- r.a.Working(ctx, target, true) }()
	r.wait("the request", func() bool { return len(r.slack.Calls("assistant.threads.setStatus")) == 1 })
	cancel()
	brief, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	if err := r.a.Working(brief, target, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("off, before on was answered: %v", err)
	}
	close(hold)
	if err := <-on; err != nil {
		t.Errorf("on: %v", err)
	}
	if n := len(r.slack.Calls("assistant.threads.setStatus")); n != 1 {
		t.Errorf("%d requests", n)
	}
	if err := r.a.Working(t.Context(), target, false); err != nil || r.slack.Status(slacktest.Channel, target.Thread.Root) != "" {
		t.Errorf("off: %v; the status stays", err)
	}
}

func TestWorkingWithoutScopeOrThread(t *testing.T) {
	r, target := asked(t)
	if err := r.a.Working(t.Context(), core.Target{Thread: core.Thread{Channel: slacktest.DM, Kind: core.KindDirect}}, true); err != nil {
		t.Error(err)
	}
	r.slack.Fail("assistant.threads.setStatus", slacktest.Fault{Error: "missing_scope", Fields: map[string]any{"needed": "assistant:write"}})
	for range 3 {
		if err := r.a.Working(t.Context(), target, true); err != nil {
			t.Error(err)
		}
	}
	if n := len(r.slack.Calls("assistant.threads.setStatus")); n != 1 {
		t.Errorf("%d requests", n)
	}
}
