package slack

import (
	"fmt"
	"strings"
	"testing"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// The roots and replies of the cases.
const (
	stampOne   = "1700000001.000100"
	stampTwo   = "1700000002.000200"
	stampThree = "1700000003.000300"
)

// says sends a message event with a timestamp of its own, without a mention
// event beside it.
func (r *rig) says(channel, kind, ts, root, text string, fields ...string) {
	ev := map[string]any{"type": "message", "channel": channel, "channel_type": kind, "user": slacktest.User, "team": slacktest.Team, "text": text, "ts": ts, "event_ts": ts}
	if root != "" {
		ev["thread_ts"] = root
	}
	for i := 0; i+1 < len(fields); i += 2 {
		ev[fields[i]] = fields[i+1]
	}
	r.slack.SendEvent(ev)
}

// answers posts the n-th answer of a turn and returns in which thread Slack put
// it.
func (r *rig) answers(to core.Target, n int) string {
	r.Helper()
	p := post(to, "answer")
	p.Nonce = fmt.Sprint("turn-", n)
	posted, err := r.a.Post(r.Context(), p)
	if err != nil {
		r.Fatal(err)
	}
	for _, m := range r.slack.Messages(to.Thread.Channel) {
		if m.TS == posted.ID {
			return m.ThreadTS
		}
	}
	r.Fatal("the answer is nowhere")
	return ""
}

// threads are the values of thread_ts that were ever posted with.
func (r *rig) threads() map[string]bool {
	seen := map[string]bool{}
	for _, c := range r.slack.Calls("chat.postMessage", "chat.postEphemeral", "chat.startStream", "assistant.threads.setStatus") {
		seen[c.Args["thread_ts"]] = true
	}
	return seen
}

func TestCasesThreads(t *testing.T) {
	t.Run("p011", func(t *testing.T) {
		r := start(t, slacktest.Config{}, set(func(c *Config) {
			c.ReplyTo = func(t core.Thread) ReplyTo {
				if t.Channel == "C0SUP" {
					return ReplyAll
				}
				return ReplyOff
			}
		}))
		r.slack.AddPlace("C0SUP", "channel", "support")
		support := r.bot.next(t, r.hear("C0SUP", atBot+"a"))
		chat := r.bot.next(t, r.hear(slacktest.Channel, atBot+"b"))
		for n := range 2 {
			if got := r.answers(support.Target, n); got != support.ID {
				t.Errorf("answer %d for support is in %q", n, got)
			}
			if got := r.answers(chat.Target, n); got != "" {
				t.Errorf("answer %d for the chat is in %q", n, got)
			}
		}
		if support.Target.ReplyTo != support.ID || chat.Target.ReplyTo != "" {
			t.Errorf("replies to %q and %q", support.Target.ReplyTo, chat.Target.ReplyTo)
		}
	})
	t.Run("p012", func(t *testing.T) {
		r := start(t, slacktest.Config{}, set(func(c *Config) { c.ReplyTo = everywhere(ReplyAll) }))
		root := r.slack.Say(slacktest.Channel, slacktest.OtherUser, "root")
		reply := r.slack.Say(slacktest.Channel, slacktest.User, atBot+"more", slacktest.In(root))
		m := r.bot.next(t, 0)
		for _, kind := range []core.PostKind{core.PostNotice, core.PostStatus, core.PostError, core.PostCommand} {
			p := core.Post{Target: m.Target, Kind: kind, Text: "Another model answers.", Nonce: string(kind)}
			if posted, err := r.a.Post(t.Context(), p); err != nil || !posted.Linked {
				t.Fatalf("%s: %+v, %v", kind, posted, err)
			}
		}
		if err := r.a.whisper(t.Context(), m.Target, core.Reply{Text: "for you alone"}); err != nil {
			t.Fatal(err)
		}
		if err := r.a.Working(t.Context(), m.Target, true); err != nil {
			t.Fatal(err)
		}
		if got := r.answers(m.Target, 1); got != root {
			t.Errorf("the answer is in %q", got)
		}
		if seen := r.threads(); seen[reply] || !seen[root] {
			t.Errorf("threads of posts are %v", seen)
		}
	})
	t.Run("p013", func(t *testing.T) {
		r := start(t, slacktest.Config{}, set(func(c *Config) { c.ReplyTo = everywhere(ReplyAll) }))
		root := r.slack.Say(slacktest.Channel, slacktest.User, atBot+"start")
		one := r.bot.next(t, 0)
		r.slack.Say(slacktest.Channel, slacktest.User, "follow-up", slacktest.In(root))
		two := r.bot.next(t, 1)
		if one.Thread().Key() != two.Thread().Key() || one.Thread().Root != root {
			t.Errorf("threads are %+v and %+v", one.Thread(), two.Thread())
		}
		for n, m := range []core.Message{one, two} {
			if got := r.answers(m.Target, n); got != root {
				t.Errorf("answer %d is in %q", n, got)
			}
		}
	})
	t.Run("p017", func(t *testing.T) {
		r := plainly(t)
		for n := range 2 {
			m := r.bot.next(t, r.hear(slacktest.DM, fmt.Sprint("topic ", n)))
			if got := r.answers(m.Target, n); got != "" || m.Thread().Root != "" {
				t.Errorf("answer %d is in %q", n, got)
			}
		}
		inside := r.slack.Say(slacktest.DM, slacktest.User, "topic 2")
		r.bot.next(t, 2)
		r.slack.Say(slacktest.DM, slacktest.User, "more of it", slacktest.In(inside))
		if m := r.bot.next(t, 3); m.Thread().Root != inside {
			t.Errorf("a thread in a direct message is %+v", m.Thread())
		}
	})
	t.Run("p019", func(t *testing.T) {
		r := start(t, slacktest.Config{}, set(func(c *Config) { c.ReplyTo = everywhere(ReplyAll) }))
		root := r.slack.Say(slacktest.Channel, slacktest.User, atBot+"long job")
		one := r.bot.next(t, 0)
		r.slack.Say(slacktest.Channel, slacktest.User, "any news", slacktest.In(root))
		two := r.bot.next(t, 1)
		other := r.bot.next(t, r.hear(slacktest.Channel, atBot+"another job"))
		if one.Thread().Key() != two.Thread().Key() || one.Thread().Key() == other.Thread().Key() {
			t.Errorf("keys are %s, %s and %s", one.Thread().Key(), two.Thread().Key(), other.Thread().Key())
		}
		if got := r.answers(one.Target, 0); got != root {
			t.Errorf("the late result is in %q", got)
		}
	})
	t.Run("p021", func(t *testing.T) {
		r := start(t, slacktest.Config{}, set(func(c *Config) { c.ReplyTo = everywhere(ReplyAll) }))
		for range 5 {
			r.slack.Say(slacktest.Channel, slacktest.OtherUser, "old", slacktest.Only("none"))
		}
		m := r.bot.next(t, r.hear(slacktest.Channel, atBot+"new topic"))
		if key := m.Thread().Key(); !strings.HasSuffix(key, ":t:"+m.ID) {
			t.Errorf("the key is %s", key)
		}
		if before, err := r.a.Earlier(t.Context(), m.Target, m.ID, 20); err != nil || len(before) > 0 {
			t.Errorf("before it came %+v, %v", before, err)
		}
	})
	t.Run("p032", func(t *testing.T) {
		r := plainly(t)
		first := r.bot.next(t, r.hear(slacktest.Channel, atBot+"A"))
		r.bot.next(t, r.hear(slacktest.Channel, atBot+"B"))
		if got := r.answers(first.Target, 0); got != first.ID {
			t.Errorf("the late answer is in %q", got)
		}
	})
	t.Run("p039", func(t *testing.T) {
		r := plainly(t)
		m := r.bot.next(t, r.hear(slacktest.Channel, atBot+"hi"))
		for n := range 5 {
			r.answers(m.Target, n)
		}
		r.settled()
		if heard := r.bot.heard(); len(heard) != 1 {
			t.Errorf("the bot's own posts became messages: %+v", heard)
		}
	})
}
