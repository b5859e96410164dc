package slack

import (
	"strings"
	"testing"
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
	limits := r.a.Limits(core.Thread{})
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
	for _, code := range []string{"invalid_blocks", "invalid_blocks_format"} {
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
		{"outage", slacktest.Fault{Status: 503}, core.SendError{Unknown: true}},
		{"something new", slacktest.Fault{Error: "something_new"}, core.SendError{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, target := asked(t)
			r.slack.Fail("chat.postMessage", c.fault)
			_, err := r.a.Post(t.Context(), post(target, "text"))
			e := sendErr(t, err)
			if e.Permanent != c.want.Permanent || e.Unknown != c.want.Unknown || e.Unsent || e.Unreached || e.TooLong != c.want.TooLong || e.RetryAfter != c.want.RetryAfter || !strings.Contains(e.Help, c.want.Help) {
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
	if e := sendErr(t, err); e.Unknown || e.Permanent || !e.Unreached {
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
