package slack

import (
	"encoding/json"
	"testing"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// In a channel that is shared with another company, its people press buttons
// and send files like everybody. Slack then names their workspace as that of
// the interaction, and none at all with a file: neither makes them one of ours.
func TestOutsidersAtEveryEntrance(t *testing.T) {
	for _, org := range []slacktest.Config{{}, {Organisation: "E0ORG"}, {Organisation: "E0ORG", OrgWide: true}} {
		r := start(t, org, set(func(c *Config) { c.Allow = []string{Everybody} }))
		r.bot.mu.Lock()
		r.bot.reply = core.Reply{Text: "done"}
		r.bot.mu.Unlock()
		r.slack.AddPerson(slacktest.Person{ID: "U0EXT", Name: "Eve", Team: "T0EXT"})
		r.slack.Share(slacktest.Channel)
		root := r.slack.Say(slacktest.Channel, slacktest.User, "root", slacktest.Only("none"))
		everywhere := func(who string) {
			r.slack.Say(slacktest.Channel, who, atBot+"hi")
			r.slack.Say(slacktest.Channel, who, atBot+"a file", slacktest.File("a.txt", "text/plain", 3))
			r.slack.Pick(slacktest.Channel, root, who, "press:t0k 0", "m2")
			r.slack.Click(slacktest.Channel, root, who, "press:t0k b0", "m2")
			r.slack.Shortcut(slacktest.Channel, who, "stop", root)
			r.settled()
		}
		everywhere("U0EXT")
		for i := range 3 { // nothing but that he may not
			if got := r.response(i); !got.Ephemeral || got.Text != refusedText {
				t.Errorf("%+v: an outsider is shown %+v", org, got)
			}
		}
		if len(r.bot.heard())+len(r.bot.pressed())+len(r.bot.called()) > 0 {
			t.Errorf("%+v: an outsider: %+v %+v %+v", org, r.bot.heard(), r.bot.pressed(), r.bot.called())
		}
		everywhere(slacktest.User)
		r.response(5)
		if heard, pressed, called := r.bot.heard(), r.bot.pressed(), r.bot.called(); len(heard) != 2 || len(pressed) != 2 || len(called) != 1 {
			t.Errorf("%+v: one of ours: %+v %+v %+v", org, heard, pressed, called)
		}
	}
}

// Whoever is welcome from outside acts in the conversation that everybody sees,
// not in one of his own workspace.
func TestAWelcomeOutsiderActsInTheSameConversation(t *testing.T) {
	r := start(t, slacktest.Config{}, set(func(c *Config) { c.External = true }))
	r.bot.mu.Lock()
	r.bot.reply = core.Reply{Text: "done"}
	r.bot.mu.Unlock()
	r.slack.AddPerson(slacktest.Person{ID: "U0EXT", Name: "Eve", Team: "T0EXT"})
	r.slack.Share(slacktest.Channel)
	root := r.slack.Say(slacktest.Channel, slacktest.User, atBot+"hi")
	m := r.bot.next(t, 0)
	r.slack.Pick(slacktest.Channel, root, "U0EXT", "press:t0k 0", "m2")
	r.slack.Shortcut(slacktest.Channel, "U0EXT", "stop", root)
	r.response(1)
	if p := r.bot.pressed()[0]; p.Target.Thread.Key() != m.Thread().Key() || p.Author.Team != "T0EXT" {
		t.Errorf("pressed in %s, said in %s", p.Target.Thread.Key(), m.Thread().Key())
	}
	if c := r.bot.called()[0]; c.Target.Thread.Key() != m.Thread().Key() {
		t.Errorf("called in %s, said in %s", c.Target.Thread.Key(), m.Thread().Key())
	}
}

// People choose what a channel is called. One that is called as Slack calls a
// direct message is none: the policy for direct messages does not open it.
func TestAChannelThatIsCalledDirectMessage(t *testing.T) {
	r := start(t, slacktest.Config{}, set(func(c *Config) { c.Allow, c.DM = []string{slacktest.Channel}, DMOpen }))
	r.bot.mu.Lock()
	r.bot.reply = core.Reply{Text: "done"}
	r.bot.mu.Unlock()
	r.slack.AddPlace("C0EVIL", "channel", "directmessage")
	r.slack.Slash("C0EVIL", slacktest.User, "/status", "")
	r.slack.Pick("C0EVIL", "", slacktest.User, "press:t0k 0", "m2")
	event, err := json.Marshal(map[string]any{"type": "message", "channel": "C0EVIL", "channel_type": "channel", "user": slacktest.User, "text": atBot + "hi", "ts": stampOne})
	if err != nil {
		t.Fatal(err)
	}
	r.slack.SendEvent(json.RawMessage(event))
	r.settled()
	r.response(1)
	if len(r.bot.heard())+len(r.bot.pressed())+len(r.bot.called()) > 0 {
		t.Errorf("let in: %+v %+v %+v", r.bot.heard(), r.bot.pressed(), r.bot.called())
	}
	r.slack.Slash(slacktest.DM, slacktest.User, "/botstatus", "")
	r.response(2)
	if c := r.bot.called()[0]; c.Target.Thread.Kind != core.KindDirect {
		t.Errorf("a direct message is %+v", c.Target.Thread)
	}
}

// With an app of a whole organisation Slack names no workspace for a modal. Who
// opened it from a workspace of the organisation may use it, an outsider not.
func TestAModalOfAnOrganisation(t *testing.T) {
	r := start(t, slacktest.Config{Organisation: "E0ORG", OrgWide: true}, nil)
	r.bot.mu.Lock()
	r.bot.reply = core.Reply{Text: "done"}
	r.bot.mu.Unlock()
	root := r.slack.Say(slacktest.Channel, slacktest.User, "root", slacktest.Only("none"))
	r.slack.Shortcut(slacktest.Channel, slacktest.User, "help", root)
	r.response(0)
	about, err := json.Marshal(inThread(slacktest.Channel, root).Thread)
	if err != nil {
		t.Fatal(err)
	}
	press := func(user, team string) {
		frame, err := json.Marshal(map[string]any{"envelope_id": "M" + user, "type": "interactive", "payload": map[string]any{
			"type": "block_actions", "trigger_id": "t" + user, "team": nil, "enterprise": map[string]any{"id": "E0ORG"}, "is_enterprise_install": true,
			"user":    map[string]any{"id": user, "team_id": team},
			"view":    map[string]any{"id": "V1", "callback_id": viewCallback, "private_metadata": string(about)},
			"actions": []any{map[string]any{"action_id": "press:t0k 0", "value": "m2"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		r.slack.SendFrame("M"+user, frame)
		r.settled()
	}
	press("U0EXT", "T0EXT")
	press(slacktest.User, slacktest.Team)
	r.bot.await(t, "a press", func() bool { return len(r.bot.presses) > 0 })
	if p := r.bot.pressed(); len(p) != 1 || p[0].Author.ID != slacktest.User {
		t.Errorf("pressed: %+v", p)
	}
}
