package slack

import (
	"context"
	"errors"
	"strings"
	"testing"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

func TestRules(t *testing.T) {
	person := core.Author{ID: "U1", Team: "T1"}
	ally := core.Author{ID: "W2", Team: "T9"}
	guest := core.Author{ID: "U2", Team: "T2"}
	robot := core.Author{ID: "B1", Bot: true}
	channel := core.Thread{Workspace: "T1", Channel: "C1", Kind: core.KindThread}
	direct := core.Thread{Workspace: "T1", Channel: "D1", Kind: core.KindDirect}
	group := core.Thread{Workspace: "T1", Channel: "G1", Kind: core.KindGroup}
	grid := core.Author{ID: "W012AB", Team: "T1"} // a person of an organisation
	for _, c := range []struct {
		name     string
		allow    string
		dm       DMPolicy
		external bool
		who      core.Author
		where    core.Thread
		want     verdict
	}{
		{"nothing is allowed", "", DMAllowlist, false, person, channel, refused},
		{"nothing is allowed, direct", "", DMAllowlist, false, person, direct, refused},
		{"everybody", "*", DMAllowlist, false, person, channel, admitted},
		{"everybody is no word for direct messages", "*", DMAllowlist, false, person, direct, refused},
		{"open", "", DMOpen, false, person, direct, admitted},
		{"open is no word for channels", "", DMOpen, false, person, channel, refused},
		{"off", "U1", DMOff, false, person, direct, refused},
		{"organisation", "E1", DMAllowlist, false, person, channel, admitted},
		{"organisation, direct", "E1", DMAllowlist, false, person, direct, admitted},
		{"workspace", "T1", DMAllowlist, false, person, channel, admitted},
		{"workspace, direct", "T1", DMAllowlist, false, person, direct, admitted},
		{"channel", "C1", DMAllowlist, false, person, channel, admitted},
		{"channel is no word for direct messages", "C1", DMAllowlist, false, person, direct, refused},
		{"other channel", "C2", DMAllowlist, false, person, channel, refused},
		{"user", "U1", DMAllowlist, false, person, direct, admitted},
		{"user in any place", "U1", DMAllowlist, false, person, channel, admitted},

		{"only this user, anywhere", "user:U1", DMAllowlist, false, person, channel, admitted},
		{"only this user, here", "C1 user:U1", DMAllowlist, false, person, channel, admitted},
		{"only this user, elsewhere", "C2 user:U1", DMAllowlist, false, person, channel, refused},
		{"only this user, direct", "C1 user:U1", DMAllowlist, false, person, direct, admitted},
		{"only somebody else", "C1 user:U3", DMAllowlist, false, person, channel, refused},
		{"only somebody else in the workspace, direct", "T1 user:U3", DMAllowlist, false, person, direct, refused},
		{"somebody else everywhere, and only a third", "C1 U1 user:U3", DMAllowlist, false, person, channel, admitted},

		{"guest", "*", DMOpen, false, guest, channel, refused},
		{"guest, direct", "*", DMOpen, false, guest, direct, refused},
		{"guest does not knock", "*", DMPairing, false, guest, direct, refused},
		{"guest by id", "U2", DMAllowlist, false, guest, channel, admitted},
		{"guest by id, here", "C1 user:U2", DMAllowlist, false, guest, channel, admitted},
		{"guest by workspace", "T2 C1", DMAllowlist, false, guest, channel, admitted},
		{"guest by workspace, elsewhere", "T2 C2", DMAllowlist, false, guest, channel, refused},
		{"guests are welcome", "C1", DMAllowlist, true, guest, channel, admitted},
		{"guests are welcome, direct", "", DMOpen, true, guest, direct, admitted},
		{"colleague of another workspace", "C1", DMAllowlist, false, ally, channel, admitted},

		{"a group is a shared place, whatever direct messages are", "", DMOpen, false, person, group, refused},
		{"nobody knocks in a group", "", DMPairing, false, person, group, refused},
		{"a group by its id", "G1", DMOff, false, person, group, admitted},
		{"a group by its workspace", "T1", DMOff, false, person, group, admitted},
		{"guest in a group", "G1", DMOpen, false, guest, group, refused},
		{"known to the admins, in a group", "", DMPairing, false, core.Author{ID: "U7", Team: "T1"}, group, refused},
		{"person of an organisation by id", "W012AB", DMAllowlist, false, grid, direct, admitted},
		{"only this person of an organisation", "C1 user:W012AB", DMAllowlist, false, grid, channel, admitted},

		{"bot", "*", DMOpen, false, robot, channel, refused},
		{"bot, direct", "T1", DMOpen, false, robot, direct, refused},
		{"bot does not knock", "", DMPairing, false, robot, direct, refused},
		{"bot by id", "B1", DMOpen, false, robot, channel, admitted},
		{"bot by id, here", "C1 user:B1", DMOpen, false, robot, channel, admitted},
		{"bot by id, elsewhere", "C2 user:B1", DMOpen, false, robot, channel, refused},

		{"stranger", "", DMPairing, false, person, direct, stranger},
		{"known to the admins", "", DMPairing, false, core.Author{ID: "U7", Team: "T1"}, direct, admitted},
		{"pairing is no word for channels", "", DMPairing, false, core.Author{ID: "U7", Team: "T1"}, channel, refused},
		{"named, with pairing", "U1", DMPairing, false, person, direct, admitted},
	} {
		a := fuzzed(t, &bot{known: map[string]bool{"U7": true}})
		a.me.organisation = "E1"
		a.allied.add("T9")
		a.cfg.DM, a.cfg.External = c.dm, c.external
		var err error
		if a.rules, err = parseRules(strings.Fields(c.allow)); err != nil {
			t.Fatal(err)
		}
		if got, err := a.admits(t.Context(), c.who, false, c.where); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		a.names.stop()
	}
}

// With bots let in they are people to the rules: those of other companies stay
// outside, and none of them writes directly.
func TestRulesForBots(t *testing.T) {
	robot := core.Author{ID: "B1", Team: "T1", Bot: true}
	abroad := core.Author{ID: "B2", Team: "T2", Bot: true}
	channel := core.Thread{Workspace: "T1", Channel: "C1", Kind: core.KindThread}
	direct := core.Thread{Workspace: "T1", Channel: "D1", Kind: core.KindDirect}
	for _, c := range []struct {
		name  string
		allow string
		who   core.Author
		where core.Thread
		want  verdict
	}{
		{"nothing is allowed", "", robot, channel, refused},
		{"channel", "C1", robot, channel, admitted},
		{"other channel", "C2", robot, channel, refused},
		{"only certain people", "C1 user:U1", robot, channel, refused},
		{"of another company", "*", abroad, channel, refused},
		{"of another company that is named", "T2 C1", abroad, channel, admitted},
		{"direct", "T1", robot, direct, refused},
		{"Slack itself", "*", core.Author{ID: slackbot, Bot: true}, channel, refused},
		{"Slack itself, named", slackbot, core.Author{ID: slackbot, Bot: true}, channel, admitted},
	} {
		a := fuzzed(t, &bot{})
		a.cfg.DM = DMOpen
		var err error
		if a.rules, err = parseRules(strings.Fields(c.allow)); err != nil {
			t.Fatal(err)
		}
		a.rules.bots = true
		if got, err := a.admits(t.Context(), c.who, false, c.where); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		a.names.stop()
	}
}

func TestRulesThatAreNone(t *testing.T) {
	for _, entry := range []string{"general", "#general", "u1", "U", "user:T1", "user:", "role:S1", "U1,U2", "team:T1", "X123", "U1 "} {
		_, err := parseRules([]string{entry})
		if want := entry != "U1 "; (err != nil) != want {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

// A store that cannot be asked keeps nobody out for good: the message comes
// again.
func TestUnknownWhetherKnown(t *testing.T) {
	a := fuzzed(t, doubtful{})
	a.cfg.DM = DMPairing
	p := payload{TeamID: "T1", Event: event{Type: "message", Channel: "D1", ChannelType: "im", User: "U1", Text: "hi", TS: "1.000001"}}
	if err := a.event(t.Context(), p); !errors.Is(err, errDoubt) {
		t.Errorf("taken with %v", err)
	}
	a.names.stop()
}

type doubtful struct{ quiet }

var errDoubt = errors.New("the disk is full")

func (doubtful) Known(context.Context, core.Thread, core.Author) (bool, error) {
	return false, errDoubt
}

// The rule for mentions is that of where a message was said, though its answer
// will open a thread with a rule of its own.
func TestTheRuleOfWhereItWasSaid(t *testing.T) {
	rules := map[core.Kind]RequireMention{core.KindChannel: MentionNever, core.KindGroup: MentionAlways, core.KindThread: MentionUntilEngaged}
	r := start(t, slacktest.Config{}, set(func(c *Config) { c.RequireMention = func(t core.Thread) RequireMention { return rules[t.Kind] } }))
	root := r.slack.Say(slacktest.Channel, slacktest.User, "at the root of a channel")
	r.slack.Say(slacktest.Group, slacktest.User, "at the root of a group")
	r.slack.Say(slacktest.Channel, slacktest.User, "in a thread", slacktest.In(root))
	r.settled()
	heard := r.bot.heard()
	if len(heard) != 2 || heard[0].Text != "at the root of a channel" || !heard[0].Addressed || heard[1].Text != "in a thread" || heard[1].Addressed {
		t.Errorf("heard %+v", heard)
	}
}
