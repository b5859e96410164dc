package slack

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// asked is a rig with a question in a thread of its own.
func asked(t *testing.T) (*rig, core.Target) {
	r := plainly(t)
	r.slack.Say(slacktest.Channel, slacktest.User, atBot+"a question")
	return r, r.bot.next(t, 0).Target
}

func TestPostSaysWhereAndHow(t *testing.T) {
	r := plainly(t)
	root := r.slack.Say(slacktest.Channel, slacktest.User, "a root")
	r.slack.Say(slacktest.Channel, slacktest.User, atBot+"in the thread", slacktest.In(root))
	m := r.bot.next(t, 0)
	for _, kind := range []core.PostKind{core.PostAnswer, core.PostNotice, core.PostStatus, core.PostError} {
		p := post(m.Target, "text")
		p.Kind, p.Nonce = kind, "n-"+string(kind)
		if _, err := r.a.Post(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	calls := r.slack.Calls("chat.postMessage")
	for _, c := range calls {
		if c.Args["thread_ts"] != root || c.Args["unfurl_links"] != "false" || c.Args["unfurl_media"] != "false" || c.Args["parse"] != "none" || c.Args["reply_broadcast"] != "" {
			t.Errorf("posted with %v", c.Args)
		}
	}
	if b := calls[0].Args["blocks"]; !strings.Contains(b, `"markdown"`) {
		t.Errorf("the answer is in %s", b)
	}
	for _, c := range calls[1:3] {
		if b := c.Args["blocks"]; !strings.Contains(b, `"context"`) {
			t.Errorf("small print is in %s", b)
		}
	}
}

func TestLongTextCanBePostedAndEdited(t *testing.T) {
	r, target := asked(t)
	limits := r.a.Limits()
	table := "|a|" + strings.Repeat("b|", 20) + "\n|-|" + strings.Repeat("-|", 20) + "\n|" + strings.Repeat("x", 200) + "|" + strings.Repeat("y|", 20) + "\n"
	for name, unit := range map[string]string{
		"letters": "a", "brackets": "<", "entities": "&", "emoji": "👍", "mentions": "<@U0USER> ", "channel": "<!channel> ",
		"bold": "**a**b ", "addresses": "https://e.invalid/x ", "table": table, "code": "```\n<x>\n```\n",
	} {
		t.Run(name, func(t *testing.T) {
			text := unit
			for limits.Count(text+unit) <= limits.MaxText {
				text += unit
			}
			p := post(target, text)
			posted, err := r.a.Post(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.a.Edit(t.Context(), posted.ID, p); err != nil {
				t.Error(err)
			}
			p.Text += strings.Repeat(unit, 1+100/len(unit))
			if _, err := r.a.Post(t.Context(), p); err == nil || !sendErr(t, err).TooLong {
				t.Errorf("one more: %v", err)
			}
			if err := r.a.Edit(t.Context(), posted.ID, p); err == nil || !sendErr(t, err).TooLong {
				t.Errorf("one more: %v", err)
			}
		})
	}
}

func TestNothingIsNotPosted(t *testing.T) {
	r, target := asked(t)
	for _, text := range []string{"", "   \n", "\u200b\u2060"} {
		if _, err := r.a.Post(t.Context(), post(target, text)); err == nil || !sendErr(t, err).Permanent {
			t.Errorf("%q: %v", text, err)
		}
	}
	if n := len(r.slack.Calls("chat.postMessage")); n > 0 {
		t.Errorf("%d requests", n)
	}
}

func TestMentionsAreInert(t *testing.T) {
	r, target := asked(t)
	text := "<!channel> <!here|x> <@U0USER> <#C0CHAN> `<!everyone>` **<!channel>** [x](<!channel>) [<!channel>](https://e.invalid)\n```\n<!channel>\n```\n| a |\n|-|\n| <@U0USER> |"
	for _, kind := range []core.PostKind{core.PostAnswer, core.PostNotice, core.PostError, core.PostCommand, core.PostAdmin} {
		p := post(target, text)
		p.Kind = kind
		posted, err := r.a.Post(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.a.Edit(t.Context(), posted.ID, p); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range r.slack.Calls("chat.postMessage", "chat.update") {
		if rings(c.Args["text"]) || rings(c.Args["blocks"]) || strings.Contains(c.Args["blocks"], `\u003c!`) || strings.Contains(c.Args["blocks"], `\u003c@`) {
			t.Errorf("%s can ring: %v", c.Name, c.Args)
		}
	}
}

func TestEditReplacesBlocks(t *testing.T) {
	r, target := asked(t)
	posted, err := r.a.Post(t.Context(), post(target, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.a.Edit(t.Context(), posted.ID, post(target, "see <@U0USER>")); err != nil {
		t.Fatal(err)
	}
	m := r.slack.Posts(slacktest.Channel, target.Thread.Root)[0]
	if string(m.Blocks) != "[]" || m.Text != "see &lt;@U0USER&gt;" {
		t.Errorf("after the edit: %s %s", m.Text, m.Blocks)
	}
	// It is still the same post.
	found, ok, err := r.a.Find(t.Context(), post(target, ""), time.Now())
	if err != nil || !ok || found.ID != posted.ID {
		t.Errorf("found %+v, %v, %v", found, ok, err)
	}
}

func TestRefusedBlocksFallBackToText(t *testing.T) {
	for _, code := range []string{"invalid_blocks", "msg_blocks_too_long"} {
		r, target := asked(t)
		r.slack.Fail("chat.postMessage", slacktest.Fault{Error: code})
		if _, err := r.a.Post(t.Context(), post(target, "text")); err != nil {
			t.Fatal(err)
		}
		if own := r.slack.Posts(slacktest.Channel, target.Thread.Root); len(own) != 1 || string(own[0].Blocks) != "[]" {
			t.Errorf("%s: %+v", code, own)
		}
	}
}

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

func TestRefusedPosts(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault slacktest.Fault
		want  core.SendError
	}{
		{"rate", slacktest.Fault{RetryAfter: 7}, core.SendError{RetryAfter: 7 * time.Second}},
		{"scope", slacktest.Fault{Error: "missing_scope", Fields: map[string]any{"needed": "chat:write"}}, core.SendError{Permanent: true, Help: "chat:write"}},
		{"length", slacktest.Fault{Error: "msg_too_long"}, core.SendError{TooLong: true}},
		{"token", slacktest.Fault{Error: "token_revoked"}, core.SendError{Permanent: true, Help: "install the app again"}},
		{"something new", slacktest.Fault{Error: "something_new"}, core.SendError{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, target := asked(t)
			r.slack.Fail("chat.postMessage", c.fault)
			_, err := r.a.Post(t.Context(), post(target, "text"))
			e := sendErr(t, err)
			if e.Permanent != c.want.Permanent || e.Unknown || e.TooLong != c.want.TooLong || e.RetryAfter != c.want.RetryAfter || !strings.Contains(e.Help, c.want.Help) {
				t.Errorf("error is %+v", e)
			}
			if n := len(r.slack.Posts(slacktest.Channel, target.Thread.Root)); n > 0 {
				t.Errorf("%d posts", n)
			}
		})
	}
}

func TestPlacesThatCannotBePostedTo(t *testing.T) {
	r := plainly(t)
	r.slack.Archive(slacktest.Channel)
	r.slack.Expel(slacktest.Channel2)
	for channel, help := range map[string]string{slacktest.Channel: "archived", slacktest.Channel2: "/invite", "C0NOWHERE": "gone"} {
		_, err := r.a.Post(t.Context(), post(core.Target{Thread: core.Thread{Channel: channel}}, "text"))
		if e := sendErr(t, err); !e.Permanent || !strings.Contains(e.Help, help) {
			t.Errorf("%s: %+v", channel, e)
		}
	}
}

func TestNoServerIsNoUnknownOutcome(t *testing.T) {
	s := serve(t, slacktest.Config{})
	cfg := config(s)
	s.Close()
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Post(t.Context(), post(inThread(slacktest.Channel, "1.0"), "text"))
	if e := sendErr(t, err); e.Unknown || e.Permanent {
		t.Errorf("nobody was reached, and the error is %+v", e)
	}
}

func TestAnswerToADeletedMessageIsTakenAway(t *testing.T) {
	r, target := asked(t)
	r.slack.Remove(slacktest.Channel, target.Thread.Root)
	for range 2 {
		_, err := r.a.Post(t.Context(), post(target, "for your eyes"))
		if e := sendErr(t, err); !e.Permanent {
			t.Errorf("error is %+v", e)
		}
	}
	if own := r.slack.Posts(slacktest.Channel, ""); len(own) > 0 {
		t.Errorf("it stands in the channel: %+v", own)
	}
	if n := len(r.slack.Calls("chat.postMessage")); n != 1 {
		t.Errorf("%d posts to a thread that is gone", n)
	}
}

func TestAnswerToADeletedMessageThatStays(t *testing.T) {
	r, target := asked(t)
	r.slack.Remove(slacktest.Channel, target.Thread.Root)
	r.slack.Fail("chat.delete", slacktest.Fault{Error: "compliance_exports_prevent_deletion"})
	posted, err := r.a.Post(t.Context(), post(target, "for your eyes"))
	if err != nil || posted.Linked || posted.ID == "" {
		t.Errorf("posted %+v, %v", posted, err)
	}
}

func TestDelete(t *testing.T) {
	r, target := asked(t)
	posted, err := r.a.Post(t.Context(), post(target, "text"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is gone
		if err := r.a.Delete(t.Context(), target, posted.ID); err != nil {
			t.Error(err)
		}
	}
	if err := r.a.Edit(t.Context(), posted.ID, post(target, "more")); err == nil || !sendErr(t, err).Permanent {
		t.Errorf("edit of what is gone: %v", err)
	}
}

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
	if e := sendErr(t, err); e.RetryAfter < 50*time.Second || e.Unknown || time.Since(began) > 900*time.Millisecond {
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
			if err := g.pass(t.Context(), k, time.Second, 3, patient); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began).Round(time.Second); d != 7*time.Second {
			t.Errorf("ten requests with a burst of three took %s", d)
		}
		if err := g.pass(t.Context(), k, time.Second, 3, 100*time.Millisecond); err == nil || err.RetryAfter <= 100*time.Millisecond {
			t.Errorf("impatience: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if err := g.pass(ctx, k, time.Second, 3, patient); err == nil {
			t.Error("the end of the context was not heeded")
		}
		g.shut(k, time.Minute)
		began = time.Now()
		if err := g.pass(t.Context(), k, time.Second, 3, patient); err != nil || time.Since(began) < time.Minute {
			t.Errorf("passed a shut gate after %s: %v", time.Since(began), err)
		}
	})
}

func TestGatesAreFewEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates()
		for i := range 3 * maxGates {
			if err := g.pass(t.Context(), gateKey{"m", string(rune(i))}, time.Second, 3, patient); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if n := len(g.gates); n > 2*maxGates {
			t.Errorf("%d gates are kept", n)
		}
	})
}

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
	if len(calls) == 2 && calls[1].Args["status"] != "" {
		t.Error("the status was set after it was taken away")
	}
	if r.slack.Status(slacktest.Channel, target.Thread.Root) != "" && len(calls) == 2 {
		t.Error("the status stays")
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

func TestManifest(t *testing.T) {
	b, err := Manifest(core.Commands)
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Features.Commands) != len(core.Commands) || !m.Settings.SocketMode || !m.Features.AppHome.Messages {
		t.Errorf("manifest is %s", b)
	}
	for i, c := range m.Features.Commands {
		if c.Command == "/status" || commandName(c.Command) != core.Commands[i].Name || len(c.Command) > 32 {
			t.Errorf("%s is %s", core.Commands[i].Name, c.Command)
		}
	}
	if !strings.Contains(string(b), `"messages_tab_read_only_enabled": false`) {
		t.Error("the messages tab may be read-only")
	}
}
