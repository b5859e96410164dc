package slack

import (
	"strings"
	"testing"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

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
		r.slack.Redeliver()
		r.settled()
		// Each is told once for the pick, the shortcut and the command, and sees
		// it alone; a modal has no place for it.
		r.response(5)
		told := map[string]int{}
		for _, got := range r.slack.Responses() {
			told[got.User]++
			if !got.Ephemeral || got.Replaces || got.Text != refusedText {
				t.Errorf("somebody who may not is shown %+v", got)
			}
		}
		if told[slacktest.OtherUser] != 3 || told["U0EXT"] != 3 || len(r.bot.pressed())+len(r.bot.called()) > 0 {
			t.Errorf("somebody who may not: %+v %+v %v", r.bot.pressed(), r.bot.called(), told)
		}
		r.slack.Pick(slacktest.Channel, stampOne, slacktest.User, "press:t0k 0", "m2")
		if got := r.response(6); got.Text != "chosen" || len(r.bot.pressed()) != 1 {
			t.Errorf("the owner's press: %+v, %+v", r.bot.pressed(), got)
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
			}
			r.settled()
			if got := r.response(0); !got.Ephemeral && want == 0 || (got.Text == refusedText) != (want == 0) {
				t.Errorf("external %v: %+v", external, got)
			}
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
			for i := range 4 {
				mentionFirst, apart := i%2 == 0, i < 2 // as far as can be, or at once
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
					if apart {
						r.settled()
					}
				}
				r.settled()
				if heard := r.bot.heard(); len(heard) != 1 || !heard[0].Addressed {
					t.Errorf("%q, mention first %v, apart %v: %+v", text, mentionFirst, apart, heard)
				}
			}
		}
	})
	t.Run("p075", func(t *testing.T) {
		r := plainly(t)
		r.slack.SendEvent(mention) // each event has an id of its own
		r.says("C0CHAN", "channel", stampOne, "", atBot+"hi")
		r.settled()
		r.slack.Redeliver() // and this one the same
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
		r.says("C0CHAN", "channel", "", "", atBot+"x") // nor do these meet each other
		r.says("C0CHAN", "channel", "", "", atBot+"y")
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
		if keys["C0CHAN"] != 3 || keys["C0TWO"] != 1 || keys["D0DM"] != 3 {
			t.Errorf("messages by channel: %v", keys)
		}
		if calls := r.slack.Calls("chat.postMessage", "chat.postEphemeral"); len(calls) > 0 {
			t.Errorf("somebody was told of the repeats: %+v", calls)
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
	t.Run("p194", threadsThatTheBotBegan)
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
		// Whoever may not talk to the bot gives it no commands either.
		r.slack.AddPerson(slacktest.Person{ID: "U0EXT", Name: "Eve", Team: "T0EXT"})
		r.slack.Share(slacktest.Channel)
		for _, text := range []string{"!model m2", atBot + "/model m2"} {
			r.slack.Say(slacktest.Channel, "U0EXT", text, slacktest.In(root))
		}
		// At the root of a channel it may be for any bot.
		r.slack.Say(slacktest.Channel, slacktest.User, "!model m2")
		r.settled()
		if n := len(r.bot.heard()); n != 5 {
			t.Errorf("%d messages", n)
		}
	})
	t.Run("p117", func(t *testing.T) {
		which := core.Reply{Text: "Which?", Buttons: []core.Button{{Label: "Stop “one”", Token: "t0k", Value: "0", Danger: true}, {Label: "Stop “two”", Token: "t0k", Value: "1", Danger: true}}}
		r := answering(t, which, nil)
		r.slack.Slash(slacktest.Channel, slacktest.User, "/stop", "")
		list := r.response(0)
		for _, want := range []string{"Stop “one”", "Stop “two”", `"press:t0k b0"`, `"press:t0k b1"`, `"danger"`} {
			if !list.Ephemeral || !strings.Contains(string(list.Blocks), want) {
				t.Errorf("the list lacks %s: %+v", want, list)
			}
		}
		r.replies(core.Reply{Text: "Stopped."})
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
	t.Run("p128, two accounts", twoAccountsInOneChannel)
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
