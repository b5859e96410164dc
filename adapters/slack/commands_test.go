package slack

import (
	"fmt"
	"strings"
	"testing"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// answering is a rig whose bot answers commands so.
func answering(t *testing.T, reply core.Reply, change func(*Config)) *rig {
	r := start(t, slacktest.Config{}, set(func(c *Config) {
		if change != nil {
			change(c)
		}
	}))
	r.bot.mu.Lock()
	r.bot.reply = reply
	r.bot.mu.Unlock()
	return r
}

func (r *rig) response(n int) slacktest.Response {
	r.Helper()
	r.wait("a response", func() bool { return len(r.slack.Responses()) > n })
	return r.slack.Responses()[n]
}

func TestSlashCommand(t *testing.T) {
	r := answering(t, core.Reply{Text: "This channel now uses **a/m1**, <!channel>."}, nil)
	trigger, id := r.slack.Slash(slacktest.Channel, slacktest.User, "/model", " a/m1 ")
	got := r.response(0)
	if !got.Ephemeral || got.Trigger != trigger || got.Text != "This channel now uses *a/m1*, &lt;!channel&gt;." || got.Replaces {
		t.Errorf("response is %+v", got)
	}
	inv := r.bot.called()[0]
	if inv.Name != "model" || inv.Args != "a/m1" || !inv.Native || inv.ID != callID(trigger) || strings.Contains(inv.ID, trigger) || len(inv.ID) != 24 || inv.Author.Name != "Ann" {
		t.Errorf("invocation is %+v", inv)
	}
	if th := inv.Target.Thread; th.Key() != "slack:main:T0TEAM:C0CHAN" || th.Kind != core.KindChannel {
		t.Errorf("thread is %+v", th)
	}
	r.settled()
	if times, _ := r.slack.Acks(id); len(times) != 1 {
		t.Errorf("%d acknowledgements", len(times))
	}
}

func TestSlashCommandKinds(t *testing.T) {
	for channel, kind := range map[string]core.Kind{slacktest.DM: core.KindDirect, slacktest.Group: core.KindGroup, slacktest.Channel: core.KindChannel} {
		r := answering(t, core.Reply{Text: "ok"}, nil)
		r.slack.Slash(channel, slacktest.User, "/botstatus", "")
		r.response(0)
		if inv := r.bot.called()[0]; inv.Target.Thread.Kind != kind || inv.Name != "status" {
			t.Errorf("%s: %+v", channel, inv)
		}
	}
}

func TestCommandRunsOnce(t *testing.T) {
	r := answering(t, core.Reply{Text: "done", Public: true}, nil)
	r.slack.Slash(slacktest.Channel, slacktest.User, "/new", "")
	if got := r.response(0); got.Ephemeral {
		t.Errorf("response is %+v", got)
	}
	r.settled()
	r.slack.Redeliver()
	r.settled()
	r.slack.Slash(slacktest.Channel, slacktest.User, "/help", "")
	r.response(1)
	if names := r.bot.called(); len(names) != 2 || names[1].Name != "help" {
		t.Errorf("commands: %+v", names)
	}
}

func TestCommandOfSomebodyWhoMayNot(t *testing.T) {
	r := answering(t, core.Reply{Text: "secret", Menus: []core.Menu{{Token: "t0k"}}}, func(c *Config) { c.Allow = []string{slacktest.User} })
	_, slash := r.slack.Slash(slacktest.Channel, slacktest.OtherUser, "/models", "")
	_, pick := r.slack.Pick(slacktest.Channel, "", slacktest.OtherUser, "press:t0k 0", "a/m1")
	r.settled()
	for _, id := range []string{slash, pick} {
		if times, payload := r.slack.Acks(id); len(times) != 1 || payload != nil {
			t.Errorf("acknowledged %d times with %s", len(times), payload)
		}
	}
	for i := range 2 {
		if got := r.response(i); !got.Ephemeral || got.Replaces || got.Text != refusedText || strings.Contains(string(got.Blocks), "select") {
			t.Errorf("shown is %+v", got)
		}
	}
	if len(r.bot.called())+len(r.bot.pressed()) > 0 {
		t.Errorf("it was carried out: %+v %+v", r.bot.called(), r.bot.pressed())
	}
}

func TestFailedCommandIsAnswered(t *testing.T) {
	r := answering(t, core.Reply{}, nil)
	r.slack.Slash(slacktest.Channel, slacktest.User, "/model", "")
	if got := r.response(0); !strings.Contains(got.Text, "could not be carried out") {
		t.Errorf("response is %+v", got)
	}
}

func TestMenu(t *testing.T) {
	menu := core.Menu{Token: "t0k", Placeholder: "Choose a model", Options: []core.Choice{
		{Label: "a/m1", Value: "i0"},
		{Label: strings.Repeat("long ", 40), Value: "i1", Note: "rate limited for 3 minutes", Disabled: true},
	}}
	for n := range 200 {
		menu.Options = append(menu.Options, core.Choice{Label: "more", Value: fmt.Sprint("m", n)})
	}
	r := answering(t, core.Reply{Text: "Selected: **a/m1**, asked by <@U0USER>", Menus: []core.Menu{menu}}, nil)
	r.slack.Slash(slacktest.Channel, slacktest.User, "/model", "")
	got := r.response(0)
	blocks := string(got.Blocks)
	for _, want := range []string{`"static_select"`, `"press:t0k 0"`, `"press:t0k 100"`, `"press:t0k 200"`, `"Choose a model"`, `"a/m1"`, "rate limited for 3 minutes", "Selected: *a/m1*", `"section"`} {
		if !strings.Contains(blocks, want) {
			t.Errorf("%s lacks %s", blocks, want)
		}
	}
	if n := strings.Count(blocks, `"value"`); n != 202 {
		t.Errorf("%d options", n)
	}
	trigger, _ := r.slack.Pick(slacktest.Channel, "", slacktest.User, "press:t0k 0", "i1")
	if got := r.response(1); !got.Replaces || !got.Ephemeral {
		t.Errorf("response is %+v", got)
	}
	inv := r.bot.pressed()[0]
	if inv.Token != "t0k" || inv.Value != "i1" || inv.ID != callID(trigger) || strings.Contains(inv.ID, trigger) || len(inv.ID) != 24 || inv.Target.Thread.Key() != "slack:main:T0TEAM:C0CHAN" {
		t.Errorf("invocation is %+v", inv)
	}
	r.slack.Pick(slacktest.Channel, "1700000001.000100", slacktest.User, "press:t0k 0", "i1")
	r.response(2)
	if inv := r.bot.pressed()[1]; inv.Target.Thread.Key() != "slack:main:T0TEAM:C0CHAN:t:1700000001.000100" {
		t.Errorf("invocation is %+v", inv)
	}
}

func TestMenuWithoutText(t *testing.T) {
	menu := core.Menu{Token: "t0k", Options: []core.Choice{{Label: "a/m1", Value: "i0"}}}
	r := answering(t, core.Reply{}, nil)
	if err := r.a.respond(t.Context(), r.slack.Hook(slacktest.Channel, slacktest.User), "", core.Reply{Menus: []core.Menu{menu}}, false); err != nil {
		t.Fatal(err)
	}
	if got := r.response(0); got.Text == "" || !strings.Contains(string(got.Blocks), "static_select") {
		t.Errorf("response is %+v", got)
	}
}

func TestLongReplyComesInParts(t *testing.T) {
	r := answering(t, core.Reply{Text: strings.Repeat("one line of many\n", 600)}, nil)
	r.slack.Slash(slacktest.Channel, slacktest.User, "/models", "")
	lines := 0
	for i := range 4 {
		lines += strings.Count(r.response(i).Text, "one line")
	}
	if lines != 600 {
		t.Errorf("%d lines came", lines)
	}
}

// Whoever waits for a command gets its answer, also when the account ends
// meanwhile.
func TestAnswerToACommandAmidTheEnd(t *testing.T) {
	r := answering(t, core.Reply{Text: "This thread now uses **a/m1**."}, nil)
	r.bot.meanwhile = func() {
		r.cancel()
		r.wait("the end of the socket", func() bool { return r.slack.Connected() == 0 })
	}
	r.slack.Slash(slacktest.Channel, slacktest.User, "/model", "a/m1")
	if err := <-r.run; err != nil {
		t.Fatal(err)
	}
	r.run <- nil // for the end of the test
	if n := len(r.slack.Responses()); n != 1 {
		t.Errorf("%d responses", n)
	}
}
