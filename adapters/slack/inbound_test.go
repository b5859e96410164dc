package slack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

const atBot = "<@" + slacktest.BotUser + "> "

func TestMentionIsAnsweredInItsThread(t *testing.T) {
	r := plainly(t)
	ts := r.slack.Say(slacktest.Channel, slacktest.User, atBot+"what is 6 &lt; 7 &amp;amp; why?")
	m := r.bot.next(t, 0)
	if m.Text != "what is 6 < 7 &amp; why?" || m.Author.Name != "Ann" || !m.Addressed || m.ID != ts {
		t.Errorf("message is %+v", m)
	}
	if m.Target.Thread.Root != ts || m.Target.ReplyTo != ts || m.Target.Thread.Kind != core.KindThread {
		t.Errorf("target is %+v", m.Target)
	}
	posted, err := r.a.Post(t.Context(), post(m.Target, "It *is*."))
	if err != nil || !posted.Linked {
		t.Fatalf("posted %+v, %v", posted, err)
	}
	own := r.slack.Posts(slacktest.Channel, ts)
	if len(own) != 1 || own[0].TS != posted.ID || own[0].Text != "It _is_." {
		t.Fatalf("in the thread: %+v", own)
	}
	r.settled()
	if n := len(r.bot.heard()); n != 1 {
		t.Errorf("the bot heard %d messages; its own answer came back to it", n)
	}
}

func TestMentionIsOneMessageInAnyOrder(t *testing.T) {
	for name, opts := range map[string][]slacktest.Option{
		"message first": nil,
		"mention first": {slacktest.MentionFirst()},
		"mention alone": {slacktest.Only("app_mention")},
		"message alone": {slacktest.Only("message")},
	} {
		t.Run(name, func(t *testing.T) {
			r := plainly(t)
			r.slack.Say(slacktest.Channel, slacktest.User, atBot+"hi", opts...)
			m := r.bot.next(t, 0)
			r.settled()
			if len(r.bot.heard()) != 1 || !m.Addressed {
				t.Errorf("messages: %+v", r.bot.heard())
			}
		})
	}
}

func TestMentionInQuotedCodeIsLeftToTheMentionEvent(t *testing.T) {
	r := plainly(t)
	// The message event alone would not count as a mention; the mention event
	// that comes with it must not be lost by that.
	r.slack.Say(slacktest.Channel, slacktest.User, "see `<@U0BOT>`")
	if m := r.bot.next(t, 0); !m.Addressed {
		t.Errorf("message is %+v", m)
	}
}

func TestSameTimestampInTwoChannels(t *testing.T) {
	r := plainly(t)
	for _, ch := range []string{slacktest.Channel, slacktest.Channel2} {
		r.slack.SendEvent(map[string]any{"type": "message", "channel": ch, "channel_type": "channel", "user": slacktest.User, "team": slacktest.Team, "text": atBot + "hi", "ts": "1700000001.000100"})
	}
	r.bot.next(t, 1)
}

func TestKeys(t *testing.T) {
	const root, reply = "1700000001.000100", "1700000002.000200"
	thread := "slack:main:T0TEAM:C0CHAN:t:" + root
	for _, c := range []struct {
		name    string
		mode    ReplyTo
		ev      map[string]any
		key     string
		kind    core.Kind
		replyTo string
	}{
		{name: "opener", mode: ReplyFirst, ev: event1("C0CHAN", "channel", root, ""), key: thread, kind: core.KindThread, replyTo: root},
		{name: "opener, all", mode: ReplyAll, ev: event1("C0CHAN", "channel", root, ""), key: thread, kind: core.KindThread, replyTo: root},
		{name: "opener that has replies", mode: ReplyFirst, ev: event1("C0CHAN", "channel", root, root), key: thread, kind: core.KindThread, replyTo: root},
		{name: "reply", mode: ReplyFirst, ev: event1("C0CHAN", "channel", reply, root), key: thread, kind: core.KindThread, replyTo: root},
		{name: "reply, off", mode: ReplyOff, ev: event1("C0CHAN", "channel", reply, root), key: thread, kind: core.KindThread},
		{name: "unthreaded", mode: ReplyOff, ev: event1("C0CHAN", "channel", root, ""), key: "slack:main:T0TEAM:C0CHAN", kind: core.KindChannel},
		{name: "unthreaded with replies", mode: ReplyOff, ev: event1("C0CHAN", "channel", root, root), key: "slack:main:T0TEAM:C0CHAN", kind: core.KindChannel},
		{name: "private channel", mode: ReplyOff, ev: event1("C0PRIV", "group", root, ""), key: "slack:main:T0TEAM:C0PRIV", kind: core.KindChannel},
		{name: "direct", mode: ReplyFirst, ev: event1("D0DM", "im", root, ""), key: "slack:main:T0TEAM:D0DM", kind: core.KindDirect},
		{name: "direct, in a thread", mode: ReplyFirst, ev: event1("D0DM", "im", reply, root), key: "slack:main:T0TEAM:D0DM:t:" + root, kind: core.KindDirect, replyTo: root},
		{name: "group", mode: ReplyFirst, ev: event1("G0GROUP", "mpim", root, ""), key: "slack:main:T0TEAM:G0GROUP:t:" + root, kind: core.KindThread, replyTo: root},
		{name: "group, unthreaded", mode: ReplyOff, ev: event1("G0GROUP", "mpim", root, ""), key: "slack:main:T0TEAM:G0GROUP", kind: core.KindGroup},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, slacktest.Config{}, set(func(cfg *Config) { cfg.ReplyTo = everywhere(c.mode) }))
			r.slack.SendEvent(c.ev)
			m := r.bot.next(t, 0)
			if th := m.Thread(); th.Key() != c.key || th.Kind != c.kind || m.Target.ReplyTo != c.replyTo {
				t.Errorf("key %s, kind %s, reply to %q; want %s, %s, %q", th.Key(), th.Kind, m.Target.ReplyTo, c.key, c.kind, c.replyTo)
			}
		})
	}
}

// everywhere is the same rule for all places.
func everywhere[T any](v T) func(core.Thread) T { return func(core.Thread) T { return v } }

// event1 is a message event that mentions the bot.
func event1(channel, kind, ts, thread string) map[string]any {
	ev := map[string]any{"type": "message", "channel": channel, "channel_type": kind, "user": slacktest.User, "team": slacktest.Team, "text": atBot + "hi", "ts": ts, "event_ts": ts}
	if thread != "" {
		ev["thread_ts"] = thread
	}
	return ev
}

func TestWorkspaceOfASharedChannel(t *testing.T) {
	p := payload{TeamID: "T1"}
	p.Authorizations = append(p.Authorizations, struct {
		TeamID string `json:"team_id"`
	}{"T2"})
	if got := p.workspace(); got != "T2" {
		t.Errorf("the authorised team is not taken: %s", got)
	}
	p.ContextTeamID = "T3"
	if got := p.workspace(); got != "T3" {
		t.Errorf("the conversation's team is not taken: %s", got)
	}
}

func TestMessageIsAcknowledgedOnceStored(t *testing.T) {
	r := start(t, slacktest.Config{AckWithin: 30 * time.Millisecond}, nil)
	r.bot.mu.Lock()
	r.bot.fail = []error{errors.New("the disk is full")}
	r.bot.mu.Unlock()
	r.slack.Say(slacktest.DM, slacktest.User, "hi")
	m := r.bot.next(t, 0) // from the second delivery
	if m.Text != "hi" {
		t.Errorf("message is %+v", m)
	}
	r.settled()
}

func TestRepeatedEnvelope(t *testing.T) {
	r := plainly(t)
	r.slack.Say(slacktest.DM, slacktest.User, "hi")
	r.bot.next(t, 0)
	r.settled()
	id := r.slack.Redeliver()
	r.wait("a second acknowledgement", func() bool { times, _ := r.slack.Acks(id); return len(times) == 2 })
	if len(r.bot.heard()) != 1 {
		t.Errorf("messages: %+v", r.bot.heard())
	}
}

func TestOddFramesAreAcknowledged(t *testing.T) {
	r := plainly(t)
	for id, frame := range map[string]string{
		"Eunknown": `{"envelope_id":"Eunknown","type":"events_api","payload":{"type":"event_callback","event":{"type":"brand_new_event","x":1}}}`,
		"Ekind":    `{"envelope_id":"Ekind","type":"brand_new_envelope","payload":{}}`,
		"Earray":   `{"envelope_id":"Earray","type":"events_api","payload":[1,2]}`,
		"Enull":    `{"envelope_id":"Enull","type":"events_api","payload":null}`,
		"Ecut":     `{"envelope_id" : "Ecut","type":"events_api","payload":{"event":`,
		"Eodd":     `{"envelope_id":"Eodd","type":"events_api","retry_attempt":"one","payload":{"team_id":7,"event":{"type":"message","channel":"C0CHAN","ts":{},"text":["hi"]}}}`,
		"Eslash":   `{"envelope_id":"Eslash","type":"slash_commands","payload":"what"}`,
		"Eaction":  `{"envelope_id":"Eaction","type":"interactive","payload":{"type":"view_submission"}}`,
	} {
		r.slack.SendFrame(id, []byte(frame))
		r.wait("the acknowledgement of "+id, func() bool { times, _ := r.slack.Acks(id); return len(times) > 0 })
	}
	// A timestamp that comes as a number has lost its zeros, not its message.
	r.slack.SendFrame("Enumber", []byte(`{"envelope_id":"Enumber","type":"events_api","payload":{"team_id":"T0TEAM","event":{"type":"message","channel":"D0DM","user":"U0USER","ts":1700000001.0001,"text":"hi"}}}`))
	if m := r.bot.next(t, 0); m.ID != "1700000001.000100" || !m.At.Equal(time.Unix(1700000001, 100_000)) {
		t.Errorf("message is %+v", m)
	}
	if len(r.bot.heard()) != 1 {
		t.Errorf("messages: %+v", r.bot.heard())
	}
}

func TestChanges(t *testing.T) {
	r := plainly(t)
	ts := r.slack.Say(slacktest.Channel, slacktest.User, atBot+"one")
	m := r.bot.next(t, 0)
	r.slack.Unfurl(slacktest.Channel, ts) // says nothing new
	posted, err := r.a.Post(t.Context(), post(m.Target, "answer"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.a.Edit(t.Context(), posted.ID, post(m.Target, "better answer")); err != nil {
		t.Fatal(err)
	}
	r.slack.Edit(slacktest.Channel, ts, atBot+"two &gt; one")
	r.slack.Remove(slacktest.Channel, ts) // it has a reply: a tombstone stays
	r.bot.await(t, "both changes", func() bool { return len(r.bot.changes) >= 2 })
	r.settled()
	want := []core.Change{{InboxKey: m.InboxKey(), Text: "two > one"}, {InboxKey: m.InboxKey(), Deleted: true}}
	if len(r.bot.told()) != 2 || r.bot.told()[0] != want[0] || r.bot.told()[1] != want[1] {
		t.Errorf("changes are %+v, want %+v", r.bot.told(), want)
	}
	dm := r.slack.Say(slacktest.DM, slacktest.User, "three")
	third := r.bot.next(t, 1)
	r.slack.Remove(slacktest.DM, dm) // it has none: it is gone
	r.bot.await(t, "the deletion", func() bool { return len(r.bot.changes) == 3 })
	if c := r.bot.told()[2]; !c.Deleted || c.InboxKey != third.InboxKey() {
		t.Errorf("change is %+v", c)
	}
	if len(r.bot.heard()) != 2 {
		t.Errorf("a change became a message: %+v", r.bot.heard())
	}
}

func TestWhatIsHeard(t *testing.T) {
	inRoot := slacktest.In("1700000001.000100")
	all := []struct {
		name, channel, user, text string
		opts                      []slacktest.Option
		heard                     map[RequireMention]string // "", "addressed", "overheard"
	}{
		{"root", slacktest.Channel, slacktest.User, "hi all", nil, map[RequireMention]string{MentionNever: "addressed"}},
		{"in a thread", slacktest.Channel, slacktest.User, "hi", []slacktest.Option{inRoot}, map[RequireMention]string{MentionUntilEngaged: "overheard", MentionNever: "addressed"}},
		{"to somebody else", slacktest.Channel, slacktest.User, "<@U0OTHER> your view?", []slacktest.Option{inRoot}, map[RequireMention]string{MentionNever: "addressed"}},
		{"broadcast", slacktest.Channel, slacktest.User, "hi", []slacktest.Option{inRoot, slacktest.Broadcast()}, map[RequireMention]string{MentionUntilEngaged: "overheard", MentionNever: "addressed"}},
		{"mention", slacktest.Channel, slacktest.User, "hi <@U0BOT>", nil, map[RequireMention]string{MentionAlways: "addressed", MentionUntilEngaged: "addressed", MentionNever: "addressed"}},
		{"group", slacktest.Group, slacktest.User, "hi", nil, map[RequireMention]string{MentionNever: "addressed"}},
		{"direct", slacktest.DM, slacktest.User, "hi", nil, map[RequireMention]string{MentionAlways: "addressed", MentionUntilEngaged: "addressed", MentionNever: "addressed"}},
		{"another bot", slacktest.Channel, slacktest.OtherBot, atBot + "alarm", nil, nil},
		{"join", slacktest.Channel, slacktest.User, atBot + "joined", []slacktest.Option{func(o *slacktest.Said) { o.Subtype = "channel_join" }, slacktest.Only("message")}, nil},
	}
	for _, rule := range []RequireMention{MentionAlways, MentionUntilEngaged, MentionNever} {
		t.Run(string(rule), func(t *testing.T) {
			r := start(t, slacktest.Config{}, set(func(c *Config) { c.RequireMention = everywhere(rule) }))
			for _, c := range all {
				before := len(r.bot.heard())
				r.slack.Say(c.channel, c.user, c.text, c.opts...)
				r.settled()
				got := ""
				if len(r.bot.heard()) > before {
					got = "overheard"
					if r.bot.heard()[before].Addressed {
						got = "addressed"
					}
				}
				if got != c.heard[rule] {
					t.Errorf("%s: %q, want %q", c.name, got, c.heard[rule])
				}
			}
		})
	}
}

func TestAllowedBotIsHeard(t *testing.T) {
	r := start(t, slacktest.Config{}, set(func(c *Config) { c.Allow = []string{slacktest.Channel, slacktest.OtherBot} }))
	r.slack.Say(slacktest.Channel, slacktest.OtherBot, atBot+"alarm")
	if m := r.bot.next(t, 0); !m.Author.Bot || m.Author.ID != slacktest.OtherBot {
		t.Errorf("author is %+v", m.Author)
	}
}

func TestNames(t *testing.T) {
	t.Run("unknown", func(t *testing.T) {
		r := plainly(t)
		r.slack.Fail("users.info", slacktest.Fault{Error: "missing_scope"})
		r.slack.Say(slacktest.DM, slacktest.User, "hi")
		if m := r.bot.next(t, 0); m.Author.Name != slacktest.User {
			t.Errorf("name is %q", m.Author.Name)
		}
	})
	t.Run("slow", func(t *testing.T) {
		r := plainly(t)
		hold := make(chan struct{})
		defer close(hold)
		r.slack.Fail("users.info", slacktest.Fault{Hold: hold})
		r.slack.Say(slacktest.DM, slacktest.User, "hi <@U0OTHER>")
		if m := r.bot.next(t, 0); m.Author.Name != slacktest.User {
			t.Errorf("name is %q", m.Author.Name)
		}
	})
	t.Run("asked once", func(t *testing.T) {
		r := plainly(t)
		for i := range 3 {
			r.slack.Say(slacktest.DM, slacktest.User, "hi <@U0OTHER>, hi <@U0OTHER>")
			if m := r.bot.next(t, i); m.Text != "hi @Ben, hi @Ben" {
				t.Errorf("text is %q", m.Text)
			}
		}
		if n := len(r.slack.Calls("users.info")); n != 2 {
			t.Errorf("%d look-ups for two people", n)
		}
	})
}

func TestShutdownLeavesWhatIsNotStored(t *testing.T) {
	r := plainly(t)
	r.bot.mu.Lock()
	r.bot.stuck = true
	r.bot.mu.Unlock()
	r.slack.Say(slacktest.DM, slacktest.User, "hi")
	r.bot.await(t, "the message", func() bool { return r.bot.waiting == 1 })
	r.cancel()
	select {
	case err := <-r.run:
		r.run <- err // for the cleanup
	case <-time.After(2 * time.Second):
		t.Fatal("Run does not end")
	}
	if n := len(r.slack.Unacked()); n != 1 {
		t.Errorf("%d envelopes are left to be sent again", n)
	}
	if strings.Contains(r.log.String(), "was not taken") {
		t.Error("an end is no error")
	}
}

func TestOrderWithinAConversation(t *testing.T) {
	r := plainly(t)
	for i := range 50 {
		r.slack.Say(slacktest.DM, slacktest.User, fmt.Sprint(i))
	}
	for i := range 50 {
		if m := r.bot.next(t, i); m.Text != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, m.Text)
		}
	}
}

// threadsThatTheBotBegan: who replies under a message of the bot replies to the
// bot, unless he speaks to somebody else, or the rule wants a mention each time.
func threadsThatTheBotBegan(t *testing.T) {
	for rule, want := range map[RequireMention]string{MentionUntilEngaged: "why row 3?", MentionAlways: ""} {
		r := start(t, slacktest.Config{}, set(func(c *Config) {
			c.RequireMention, c.Bots = everywhere(rule), BotsAll
		}))
		began, err := r.a.Post(t.Context(), post(core.Target{Thread: place(slacktest.Channel, "", core.KindChannel)}, "weekly summary"))
		if err != nil {
			t.Fatal(err)
		}
		r.slack.Say(slacktest.Channel, slacktest.User, "<@U0OTHER> look at this", slacktest.In(began.ID))
		r.slack.Say(slacktest.Channel, slacktest.User, "why row 3?", slacktest.In(began.ID))
		r.slack.Say(slacktest.Channel, slacktest.OtherBot, "alarm", slacktest.In(began.ID))
		r.settled()
		var addressed []string
		for _, m := range r.bot.heard() {
			if m.Addressed {
				addressed = append(addressed, m.Text)
			}
			if m.Thread().Root != began.ID || m.Author.Bot && m.Target.Recipient != "" {
				t.Errorf("message is %+v", m)
			}
		}
		if strings.Join(addressed, "|") != want {
			t.Errorf("%s: addressed were %q", rule, addressed)
		}
	}
}

func TestForwardsAndMentionsWithoutAWord(t *testing.T) {
	r := plainly(t)
	r.slack.Say(slacktest.DM, slacktest.User, "", slacktest.Forwarding("Bob", "is <#C1|general> open\nto all?"))
	r.slack.Say(slacktest.DM, slacktest.User, "what of this", slacktest.Forwarding("Bob", "no"))
	r.slack.Say(slacktest.DM, slacktest.User, "/status", slacktest.Forwarding("Bob", "no"))
	r.slack.Say(slacktest.DM, slacktest.User, "https://e.invalid", slacktest.Attached("a preview", "of a page"))
	r.slack.Say(slacktest.DM, slacktest.User, "\u200b")
	for i, want := range []string{
		"Forwarded message of Bob:\n> is #general open\n> to all?", "what of this\n\nForwarded message of Bob:\n> no", "/status", "https://e.invalid", "",
	} {
		if want == "" {
			r.slack.Say(slacktest.Channel, slacktest.User, strings.TrimSpace(atBot))
		}
		if m := r.bot.next(t, i); m.Text != want || !m.Addressed {
			t.Errorf("%d: heard %q, addressed %v; want %q", i, m.Text, m.Addressed, want)
		}
	}
}
