package slack

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
		notice := core.Post{Target: m.Target, Kind: core.PostNotice, Text: "Another model answers.", Nonce: "notice"}
		if _, err := r.a.Post(t.Context(), notice); err != nil {
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

// hear says something in a channel and returns which message it will be.
func (r *rig) hear(channel, text string) int {
	n := len(r.bot.heard())
	r.slack.Say(channel, slacktest.User, text)
	return n
}

func TestCasesWhoMayTalk(t *testing.T) {
	t.Run("p067", func(t *testing.T) {
		for dm, warning := range map[DMPolicy]string{DMAllowlist: "nobody may talk to the bot:", DMPairing: "nobody may talk to the bot in channels"} {
			r := start(t, slacktest.Config{}, set(func(c *Config) { c.Allow, c.DM = nil, dm }))
			r.slack.Say(slacktest.DM, slacktest.User, "hi")
			r.slack.Say(slacktest.Channel, slacktest.User, atBot+"hi")
			r.settled()
			if len(r.bot.heard()) > 0 || !strings.Contains(r.log.String(), warning) {
				t.Errorf("%s: heard %+v, log is %s", dm, r.bot.heard(), r.log)
			}
		}
		r := start(t, slacktest.Config{}, set(func(c *Config) { c.Allow, c.DM = nil, DMOpen }))
		r.bot.next(t, r.hear(slacktest.DM, "hi"))
	})
	t.Run("p068", func(t *testing.T) {
		r := answering(t, core.Reply{Text: "chosen"}, func(c *Config) { c.Allow = []string{"user:" + slacktest.User} })
		r.slack.AddPerson(slacktest.Person{ID: "U0EXT", Name: "Eve", Team: "T0EXT"})
		for _, who := range []string{slacktest.OtherUser, "U0EXT"} {
			r.slack.Pick(slacktest.Channel, stampOne, who, "press:t0k 0", "m2")
			r.slack.SendFrame("V"+who, []byte(`{"envelope_id":"V`+who+`","type":"interactive","payload":{"type":"view_submission","trigger_id":"`+who+`","team":{"id":"T0TEAM"},"user":{"id":"`+who+`","team_id":"T0TEAM"},"view":{"id":"V1","callback_id":"model_modal","private_metadata":"tok1","state":{"values":{}}}}}`))
			ts := r.slack.Say(slacktest.Channel, slacktest.User, "hi", slacktest.Only("none"))
			r.slack.Shortcut(slacktest.Channel, who, "stop", ts)
			r.slack.Slash(slacktest.Channel, who, "/stop", "")
		}
		r.settled()
		if len(r.bot.pressed())+len(r.bot.called()) > 0 || len(r.slack.Responses()) > 0 {
			t.Errorf("somebody who may not: %+v %+v %+v", r.bot.pressed(), r.bot.called(), r.slack.Responses())
		}
		r.slack.Pick(slacktest.Channel, stampOne, slacktest.User, "press:t0k 0", "m2")
		r.response(0)
		if len(r.bot.pressed()) != 1 {
			t.Errorf("the owner's press: %+v", r.bot.pressed())
		}
	})
	t.Run("p068, people of other companies", func(t *testing.T) {
		for external, want := range map[bool]int{false: 0, true: 1} {
			r := answering(t, core.Reply{Text: "chosen"}, func(c *Config) { c.External = external })
			r.slack.AddPerson(slacktest.Person{ID: "U0EXT", Name: "Eve", Team: "T0EXT"})
			r.slack.Share(slacktest.Channel)
			r.slack.Say(slacktest.Channel, "U0EXT", atBot+"hi")
			r.slack.Pick(slacktest.Channel, stampOne, "U0EXT", "press:t0k 0", "m2")
			if want > 0 {
				r.bot.next(t, 0)
				r.response(0)
			}
			r.settled()
			if len(r.bot.heard()) != want || len(r.bot.pressed()) != want {
				t.Errorf("external %v: %+v %+v", external, r.bot.heard(), r.bot.pressed())
			}
		}
	})
}

func TestCasesOneMessage(t *testing.T) {
	mention := map[string]any{"type": "app_mention", "channel": "C0CHAN", "user": slacktest.User, "text": atBot + "hi", "ts": stampOne, "event_ts": stampOne}
	t.Run("p074", func(t *testing.T) {
		// The message event may look unaddressed, as when somebody else writes
		// mentions in another way: the mention event must still be taken.
		for _, text := range []string{atBot + "hi", "@understudy hi"} {
			for _, mentionFirst := range []bool{true, false} {
				r := plainly(t)
				sends := []func(){
					func() { r.slack.SendEvent(mention) },
					func() { r.says("C0CHAN", "channel", stampOne, "", text) },
				}
				if !mentionFirst {
					sends[0], sends[1] = sends[1], sends[0]
				}
				for _, send := range sends {
					send()
					r.settled() // as far apart as can be
				}
				if heard := r.bot.heard(); len(heard) != 1 || !heard[0].Addressed {
					t.Errorf("%q, mention first %v: %+v", text, mentionFirst, heard)
				}
			}
		}
	})
	t.Run("p075", func(t *testing.T) {
		r := plainly(t)
		r.slack.SendEvent(mention) // each event has an id of its own
		r.says("C0CHAN", "channel", stampOne, "", atBot+"hi")
		r.settled()
		if heard := r.bot.heard(); len(heard) != 1 {
			t.Errorf("heard %+v", heard)
		}
	})
	t.Run("p076", func(t *testing.T) {
		r := plainly(t)
		r.slack.SendEvent(mention)
		r.says("C0CHAN", "channel", stampOne, "", atBot+"hi")
		r.says("C0TWO", "channel", stampOne, "", atBot+"hi")
		r.says("D0DM", "im", "", "", "x") // without any timestamp
		r.says("D0DM", "im", "", "", "y")
		r.says("D0DM", "im", "", "", "z", "event_ts", stampThree)
		r.settled()
		keys := map[string]int{}
		for _, m := range r.bot.heard() {
			keys[m.Thread().Channel]++
			if m.ID == "" || m.At.IsZero() {
				t.Errorf("message is %+v", m)
			}
			if m.Text == "z" && m.ID != stampThree {
				t.Errorf("the id is %s", m.ID)
			}
		}
		if keys["C0CHAN"] != 1 || keys["C0TWO"] != 1 || keys["D0DM"] != 3 {
			t.Errorf("messages by channel: %v", keys)
		}
	})
	t.Run("p195", func(t *testing.T) {
		r := plainly(t)
		r.says("D0DM", "im", stampOne, "", atBot+"hi")
		direct := map[string]any{"type": "app_mention", "channel": "D0DM", "user": slacktest.User, "text": atBot + "hi", "ts": stampOne, "event_ts": stampOne}
		r.slack.SendEvent(direct)
		r.settled()
		if heard := r.bot.heard(); len(heard) != 1 || heard[0].Thread().Kind != core.KindDirect {
			t.Errorf("heard %+v", heard)
		}
	})
	t.Run("p079", func(t *testing.T) {
		r := plainly(t)
		ts := r.slack.Say(slacktest.DM, slacktest.User, "hi")
		m := r.bot.next(t, 0)
		r.slack.Edit(slacktest.DM, ts, "hi!")
		r.bot.await(t, "the change", func() bool { return len(r.bot.changes) == 1 })
		r.settled()
		if c := r.bot.told()[0]; c.InboxKey != m.InboxKey() || c.Text != "hi!" || len(r.bot.heard()) != 1 {
			t.Errorf("change is %+v; heard %+v", c, r.bot.heard())
		}
		// An edit that adds a mention is an edit as well.
		r.slack.SendEvent(map[string]any{"type": "app_mention", "channel": "C0CHAN", "user": slacktest.User, "text": atBot + "hi", "ts": stampTwo, "edited": map[string]any{"user": slacktest.User, "ts": stampThree}})
		r.settled()
		if len(r.bot.heard()) != 1 {
			t.Errorf("an edit became a message: %+v", r.bot.heard())
		}
	})
}

func TestCasesWhatIsMeant(t *testing.T) {
	t.Run("p194", func(t *testing.T) {
		for rule, want := range map[RequireMention]string{MentionUntilEngaged: "what about Y?|and now <?>", MentionAlways: ""} {
			r := start(t, slacktest.Config{}, set(func(c *Config) { c.RequireMention = everywhere(rule) }))
			root := r.slack.Say(slacktest.Channel, slacktest.OtherUser, "root", slacktest.Only("none"))
			for _, text := range []string{"what about Y?", "<@U0OTHER> your view?", " <@U0OTHER|ben>, you?", "<!subteam^S1|@ops> look", "and now &lt;?&gt;"} {
				r.slack.Say(slacktest.Channel, slacktest.User, text, slacktest.In(root))
			}
			r.settled()
			var got []string
			for _, m := range r.bot.heard() {
				got = append(got, m.Text)
				if m.Addressed {
					t.Errorf("%q was addressed to the bot", m.Text)
				}
			}
			if strings.Join(got, "|") != want {
				t.Errorf("%s: heard %q", rule, got)
			}
			// Whoever names both means both.
			r.slack.Say(slacktest.Channel, slacktest.User, "<@U0OTHER> and "+atBot+"?", slacktest.In(root), slacktest.Only("message"))
			if m := r.bot.next(t, len(got)); !m.Addressed {
				t.Errorf("message is %+v", m)
			}
		}
	})
	t.Run("p112", func(t *testing.T) {
		r := plainly(t)
		m := r.bot.next(t, r.hear(slacktest.Channel, atBot+"long"))
		r.slack.Say(slacktest.Channel, slacktest.User, " /stop", slacktest.In(m.ID))
		r.slack.Say(slacktest.Channel, slacktest.User, "please stop saying that", slacktest.In(m.ID))
		stop, text := r.bot.next(t, 1), r.bot.next(t, 2)
		if c, _, ok := core.ParseCommand(stop.Text); !ok || c.Name != "stop" || !stop.Addressed || stop.Thread().Key() != m.Thread().Key() {
			t.Errorf("the command is %+v", stop)
		}
		if _, _, ok := core.ParseCommand(text.Text); ok || text.Addressed {
			t.Errorf("the sentence is %+v", text)
		}
	})
	t.Run("p116", func(t *testing.T) {
		r := plainly(t)
		root := r.slack.Say(slacktest.Channel, slacktest.OtherUser, "root", slacktest.Only("none"))
		for n, c := range []struct {
			text, name, args string
			addressed        bool
		}{
			{"!model m2", "model", "m2", true},
			{"!great job", "", "", false},
			{atBot + "/model m2", "model", "m2", true},
			{"`!model m2`", "", "", false},
			{atBot + "!status", "status", "", true},
		} {
			r.slack.Say(slacktest.Channel, slacktest.User, c.text, slacktest.In(root), slacktest.Only("message"))
			m := r.bot.next(t, n)
			got, args, ok := core.ParseCommand(m.Text)
			if got.Name != c.name || args != c.args || ok != (c.name != "") || m.Addressed != c.addressed || m.Thread().Root != root {
				t.Errorf("%q is %q %q in %+v", c.text, got.Name, args, m)
			}
		}
		// At the root of a channel it may be for any bot.
		r.slack.Say(slacktest.Channel, slacktest.User, "!model m2")
		r.settled()
		if n := len(r.bot.heard()); n != 5 {
			t.Errorf("%d messages", n)
		}
	})
	t.Run("p117", func(t *testing.T) {
		r := answering(t, core.Reply{Text: "Stopped."}, nil)
		r.slack.Slash(slacktest.Channel, slacktest.User, "/stop", "")
		r.response(0)
		ts := r.slack.Say(slacktest.Channel, slacktest.OtherUser, "in the thread", slacktest.In(stampOne), slacktest.Only("none"))
		r.slack.Shortcut(slacktest.Channel, slacktest.User, "stop", ts)
		if got := r.response(1); !got.Ephemeral || got.Text != "Stopped." {
			t.Errorf("response is %+v", got)
		}
		called := r.bot.called()
		if inv := called[0]; inv.Name != "stop" || !inv.Native || inv.Author.ID != slacktest.User || inv.Target.Thread.Key() != "slack:main:T0TEAM:C0CHAN" {
			t.Errorf("the native command is %+v", inv)
		}
		if inv := called[1]; inv.Name != "stop" || !inv.Native || inv.Target.Thread.Root != stampOne {
			t.Errorf("the shortcut is %+v", inv)
		}
	})
	t.Run("p128", func(t *testing.T) {
		r := start(t, slacktest.Config{Organisation: "E0ORG", OrgWide: true}, nil)
		r.slack.AddPlace("C0SHARED", "channel", "shared")
		root := r.slack.Say("C0SHARED", slacktest.User, "root", slacktest.Only("none"))
		r.slack.Say("C0SHARED", slacktest.User, atBot+"hi", slacktest.In(root))
		one := r.bot.next(t, 0)
		r.slack.Move("C0SHARED", "T0TWO")
		r.slack.AddPerson(slacktest.Person{ID: slacktest.User, Name: "Anna of Two", Team: "T0TWO"})
		r.slack.Say("C0SHARED", slacktest.User, atBot+"hi", slacktest.In(root))
		two := r.bot.next(t, 1)
		if one.Thread().Key() == two.Thread().Key() || one.InboxKey() == two.InboxKey() || strings.Contains(one.Thread().Key(), "E0ORG") {
			t.Errorf("keys are %s and %s", one.Thread().Key(), two.Thread().Key())
		}
		if one.Author.Name != "Ann" || two.Author.Name != "Anna of Two" {
			t.Errorf("names are %q and %q", one.Author.Name, two.Author.Name)
		}
	})
}

func TestOddSubtypes(t *testing.T) {
	r := plainly(t)
	for _, kind := range []string{"channel_join", "channel_topic", "pinned_item", "bot_add", "message_replied", "huddle_thread", "reminder_add", "brand_new"} {
		r.slack.Say(slacktest.DM, slacktest.User, "no speech", slacktest.Subtype(kind))
	}
	r.slack.Say(slacktest.DM, slacktest.User, "waves", slacktest.Subtype("me_message"))
	r.settled()
	if heard := r.bot.heard(); len(heard) != 1 || heard[0].Text != "waves" {
		t.Errorf("heard %+v", heard)
	}
}

func TestKnock(t *testing.T) {
	r := start(t, slacktest.Config{}, func(c *Config, _ *Adapter) { c.DM = DMPairing })
	r.bot.mu.Lock()
	r.bot.known = map[string]bool{slacktest.OtherUser: true}
	r.bot.mu.Unlock()
	r.slack.Say(slacktest.DM, slacktest.User, "hi")
	r.wait("the answer to a stranger", func() bool { return len(r.slack.Posts(slacktest.DM, "")) == 1 })
	if p := r.slack.Posts(slacktest.DM, ""); p[0].Text != "who are you?" {
		t.Errorf("told %+v", p)
	}
	r.slack.Say(slacktest.DM, slacktest.OtherUser, "hi")
	m := r.bot.next(t, 0)
	if m.Author.ID != slacktest.OtherUser || len(r.bot.heard()) != 1 {
		t.Errorf("heard %+v", r.bot.heard())
	}
	r.slack.Slash(slacktest.DM, slacktest.User, "/models", "")
	if got := r.response(0); !got.Ephemeral || !strings.Contains(got.Text, "admin can approve") {
		t.Errorf("a stranger's command is answered with %+v", got)
	}
	if len(r.bot.called()) > 0 {
		t.Errorf("it was carried out: %+v", r.bot.called())
	}
}

func TestSlacksOwnStopButton(t *testing.T) {
	r := answering(t, core.Reply{Text: "Stopped."}, func(c *Config) { c.DM, c.Allow = DMAllowlist, []string{slacktest.User} })
	root := r.slack.OpenAssistant(slacktest.DM, slacktest.User)
	r.slack.StopSession(slacktest.DM, root, slacktest.User)
	r.slack.StopSession(slacktest.DM, root, slacktest.OtherUser) // may not
	r.settled()
	r.slack.Redeliver()
	r.settled()
	called := r.bot.called()
	if len(called) != 1 || called[0].Name != "stop" || called[0].Target.Thread.Key() != "slack:main:T0TEAM:D0DM:t:"+root || called[0].Author.ID != slacktest.User {
		t.Errorf("commands: %+v", called)
	}
}

func TestAppIsTakenOut(t *testing.T) {
	var alerts alerts
	s := serve(t, slacktest.Config{})
	cfg := config(s)
	cfg.Alert = alerts.add
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.pace = quick
	done := make(chan error, 1)
	go func() { done <- a.Run(t.Context(), newBot()) }()
	r := &rig{T: t, slack: s}
	r.wait("a socket", func() bool { return s.Connected() > 0 })
	s.Uninstall()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "install it again") {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("Run goes on")
	}
	if c := a.Connection(); c.State != core.Refused || !strings.Contains(c.String(), "install it again") {
		t.Errorf("connection is %+v", c)
	}
	if list := alerts.all(); len(list) != 1 || list[0].Kind != "connection" || list[0].Over {
		t.Errorf("alerts are %+v", list)
	}
}

func TestAppIsTakenOutOfOneOfManyWorkspaces(t *testing.T) {
	r := start(t, slacktest.Config{Organisation: "E0ORG", OrgWide: true}, nil)
	r.slack.SendEvent(map[string]any{"type": "app_uninstalled"}) // of T0TEAM
	r.slack.SendEvent(map[string]any{"type": "tokens_revoked", "tokens": map[string]any{"oauth": []string{slacktest.User}}})
	r.settled()
	if c := r.a.Connection(); c.State != core.Connected {
		t.Errorf("connection is %+v", c)
	}
	r.bot.next(t, r.hear(slacktest.DM, "hi"))
}

func TestEventsAreHeldBack(t *testing.T) {
	var alerts alerts
	r := start(t, slacktest.Config{}, set(func(c *Config) { c.Alert = alerts.add }))
	r.slack.RateLimit()
	r.settled()
	if list := alerts.all(); len(list) != 1 || !strings.Contains(list[0].Text, "holds events") {
		t.Errorf("alerts are %+v", list)
	}
}
