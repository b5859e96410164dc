package slack

import (
	"context"
	"slices"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

func TestUnknownOutcomeIsFound(t *testing.T) {
	for name, fault := range map[string]slacktest.Fault{
		"no answer":    {Hold: make(chan struct{})},
		"cut":          {Drop: true, Perform: true},
		"server error": {Status: 502, Perform: true},
		"their words":  {Error: "internal_error", Perform: true},
	} {
		for place, target := range map[string]core.Target{
			"channel": {Thread: core.Thread{Channel: slacktest.Channel}},
			"thread":  {},
		} {
			t.Run(name+" in a "+place, func(t *testing.T) {
				r, asked := asked(t)
				if target.Thread.Channel == "" {
					target = asked
				}
				began := time.Now()
				p := post(target, "text")
				if _, ok, err := r.a.Find(t.Context(), p, began); ok || err != nil {
					t.Fatalf("found before it was posted: %v, %v", ok, err)
				}
				r.slack.Fail("chat.postMessage", fault)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if fault.Hold != nil {
					go func() { // give up once it is there
						_ = r.slack.Wait(ctx, "the post", func() bool { return hasOwn(r.slack.Messages(slacktest.Channel)) })
						cancel()
					}()
				}
				if _, err := r.a.Post(ctx, p); err == nil || !sendErr(t, err).Unknown {
					t.Fatalf("posted with %v", err)
				}
				found, ok, err := r.a.Find(t.Context(), p, began)
				if err != nil || !ok || found.ID == "" || found.Linked != (target.Thread.Root != "") {
					t.Errorf("found %+v, %v, %v", found, ok, err)
				}
				p.Nonce = "another"
				if _, ok, err := r.a.Find(t.Context(), p, began); ok || err != nil {
					t.Errorf("another nonce: %v, %v", ok, err)
				}
			})
		}
	}
}

func hasOwn(messages []slacktest.Message) bool {
	return slices.ContainsFunc(messages, func(m slacktest.Message) bool { return m.BotID == slacktest.BotID })
}

func TestFindInAThreadThatIsGone(t *testing.T) {
	r := plainly(t)
	if _, ok, err := r.a.Find(t.Context(), post(inThread(slacktest.Channel, "1700000001.000100"), "text"), time.Now()); ok || err != nil {
		t.Errorf("found %v, %v", ok, err)
	}
	if _, _, err := r.a.Find(t.Context(), post(inThread("C0NOWHERE", "1700000001.000100"), "text"), time.Now()); err == nil {
		t.Error("a channel that cannot be read proves nothing, and there is no error")
	}
}

func TestFindReadsAllPages(t *testing.T) {
	r, target := asked(t)
	began := time.Now()
	if _, err := r.a.Post(t.Context(), post(target, "the first")); err != nil {
		t.Fatal(err)
	}
	for range findPage + 10 {
		r.slack.Say(slacktest.Channel, slacktest.User, "noise", slacktest.In(target.Thread.Root), slacktest.Only("none"))
	}
	p := post(target, "the last")
	p.Nonce = "turn1-1"
	last, err := r.a.Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	found, ok, err := r.a.Find(t.Context(), p, began)
	if err != nil || !ok || found.ID != last.ID {
		t.Errorf("found %+v, %v, %v", found, ok, err)
	}
}
