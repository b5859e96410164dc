package slack

import (
	"strings"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

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
	case <-time.After(patience):
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
