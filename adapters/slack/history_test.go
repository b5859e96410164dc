package slack

import (
	"fmt"
	"strings"
	"testing"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// told is a short form of what was said earlier.
func told(list []core.Message) string {
	var lines []string
	for _, m := range list {
		who := m.Author.Name
		if m.Author.Self {
			who = "self"
		}
		lines = append(lines, who+": "+m.Text)
	}
	return strings.Join(lines, "; ")
}

func TestCasesEarlier(t *testing.T) {
	t.Run("p022", func(t *testing.T) {
		r := plainly(t)
		parent, err := r.a.Post(t.Context(), post(core.Target{Thread: place(slacktest.Channel, "", core.KindChannel)}, "weekly summary: row 3"))
		if err != nil {
			t.Fatal(err)
		}
		r.slack.Say(slacktest.Channel, slacktest.User, atBot+"why row 3?", slacktest.In(parent.ID))
		m := r.bot.next(t, 0)
		list, err := r.a.Earlier(t.Context(), m.Target, m.ID, 20)
		if err != nil || told(list) != "self: weekly summary: row 3" || list[0].ID != parent.ID || list[0].At.IsZero() {
			t.Errorf("earlier: %s, %v", told(list), err)
		}
		calls := r.slack.Calls("conversations.replies")
		if len(calls) != 1 || calls[0].Args["channel"] != slacktest.Channel || calls[0].Args["ts"] != parent.ID || calls[0].Args["limit"] != "20" {
			t.Errorf("asked %+v", calls)
		}
	})
	t.Run("p023", func(t *testing.T) {
		r := plainly(t)
		parent := r.slack.Say(slacktest.Channel, slacktest.OtherBot, "CPU alert &gt; 97%", slacktest.Subtype("bot_message"))
		own, err := r.a.Post(t.Context(), post(inThread(slacktest.Channel, parent), "old answer of this bot"))
		if err != nil {
			t.Fatal(err)
		}
		r.slack.Say(slacktest.Channel, slacktest.User, "joined", slacktest.In(parent), slacktest.Subtype("channel_join"))
		r.slack.Say(slacktest.Channel, slacktest.OtherUser, "it is me, <@U0USER>", slacktest.In(parent), slacktest.Only("none"))
		r.slack.Say(slacktest.Channel, slacktest.User, atBot+"explain", slacktest.In(parent), slacktest.Only("message"))
		r.bot.await(t, "the question", func() bool { return len(r.bot.messages) > 0 && r.bot.messages[len(r.bot.messages)-1].Text == "explain" })
		heard := r.bot.heard()
		m := heard[len(heard)-1]
		r.slack.Say(slacktest.Channel, slacktest.User, "later", slacktest.In(parent))
		list, err := r.a.Earlier(t.Context(), m.Target, m.ID, 20)
		if got := told(list); err != nil || got != "alerts: CPU alert > 97%; self: old answer of this bot; Ben: it is me, @Ann" {
			t.Errorf("earlier: %s, %v", got, err)
		}
		if !list[0].Author.Bot || list[0].Author.Self || list[1].ID != own.ID {
			t.Errorf("earlier: %+v", list)
		}
	})
}

func TestEarlierKeepsTheFirstAndTheNewest(t *testing.T) {
	r := plainly(t)
	root := r.slack.Say(slacktest.Channel, slacktest.User, "root", slacktest.Only("none"))
	last := ""
	for n := range 2*recallMessages + 50 {
		last = r.slack.Say(slacktest.Channel, slacktest.User, fmt.Sprint(n), slacktest.In(root), slacktest.Only("none"))
	}
	to := inThread(slacktest.Channel, root)
	list, err := r.a.Earlier(t.Context(), to, last, 4)
	if got := told(list); err != nil || got != "Ann: root; Ann: 446; Ann: 447; Ann: 448" {
		t.Errorf("earlier: %s, %v", got, err)
	}
	if n := len(r.slack.Calls("conversations.replies")); n > earlierPages {
		t.Errorf("%d pages were read", n)
	}
	if list, err := r.a.Earlier(t.Context(), to, root, 4); err != nil || len(list) > 0 {
		t.Errorf("before the first message: %s, %v", told(list), err)
	}
	if list, err := r.a.Earlier(t.Context(), inThread(slacktest.Channel, "1.000001"), "2.000001", 4); err != nil || len(list) > 0 {
		t.Errorf("in a thread that is gone: %s, %v", told(list), err)
	}
	if _, err := r.a.Earlier(t.Context(), inThread("C0NOWHERE", root), last, 4); err == nil || strings.Contains(err.Error(), slacktest.BotToken) {
		t.Errorf("in a channel that is gone: %v", err)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, fault := range map[string]slacktest.Fault{
		"limited": {RetryAfter: 7}, "page": {Status: 200}, "error": {Status: 502}, "refused": {Error: "missing_scope"}, "cut": {Drop: true},
	} {
		r := plainly(t)
		r.slack.Fail("conversations.replies", fault)
		if _, err := r.a.Earlier(t.Context(), inThread(slacktest.Channel, stampOne), stampTwo, 4); err == nil || strings.Contains(err.Error(), "http://") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// twoAccountsInOneChannel: two companies share a channel, and the bot is in both.
// Each account asks for what was said with its own token, and takes nothing for
// its own but what it said itself.
func twoAccountsInOneChannel(t *testing.T) {
	bots := []slacktest.Config{{BotToken: "xoxb-of-a", BotUser: "U0BOTA", BotID: "B0BOTA"}, {BotToken: "xoxb-of-b", BotUser: "U0BOTB", BotID: "B0BOTB"}}
	teams := []string{"T0A", "T0B"}
	keys := map[string]bool{}
	for i, own := range bots {
		other := bots[1-i]
		r := start(t, own, set(func(c *Config) { c.BotToken, c.External = core.NewSecret(own.BotToken), true }))
		r.slack.AddPlace("C0SHARED", "channel", "shared")
		r.slack.Move("C0SHARED", teams[i])
		r.slack.Share("C0SHARED")
		r.slack.AddPerson(slacktest.Person{ID: slacktest.User, Name: "Ann of " + teams[i], Team: teams[i]})
		r.slack.AddPerson(slacktest.Person{ID: other.BotUser, Name: "their understudy", Team: teams[1-i], Bot: true, BotID: other.BotID})
		root := r.slack.Say("C0SHARED", slacktest.User, "root", slacktest.Only("none"))
		if _, err := r.a.Post(t.Context(), post(inThread("C0SHARED", root), "ours")); err != nil {
			t.Fatal(err)
		}
		r.slack.Say("C0SHARED", other.BotUser, "theirs", slacktest.In(root), slacktest.Only("none"))
		r.slack.Say("C0SHARED", slacktest.User, "<@"+own.BotUser+"> hi", slacktest.In(root), slacktest.Only("message"))
		m := r.bot.next(t, 0)
		list, err := r.a.Earlier(t.Context(), m.Target, m.ID, 20)
		if want := "Ann of " + teams[i] + ": root; self: ours; their understudy: theirs"; err != nil || told(list) != want {
			t.Errorf("%s: earlier: %s, %v", teams[i], told(list), err)
		}
		if calls := r.slack.Calls("conversations.replies"); len(calls) != 1 || calls[0].Error != "" {
			t.Errorf("%s: asked %+v", teams[i], calls)
		}
		keys[m.Thread().Key()] = true
		if !strings.Contains(m.Thread().Key(), ":"+teams[i]+":C0SHARED:t:") {
			t.Errorf("the key is %s", m.Thread().Key())
		}
	}
	if len(keys) != 2 {
		t.Errorf("keys are %v", keys)
	}
}
