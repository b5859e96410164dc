package main

import (
	"testing"

	"understudy/core"
	"understudy/notices"
	"understudy/sessions"
)

// The most specific place that says something counts: thread, channel,
// category, guild, account, file.
func TestRulesOfPlaces(t *testing.T) {
	levels := []struct{ name, key string }{
		{"thread", "500"}, {"channel", "100"}, {"category", "50"}, {"guild", "900"},
	}
	at := core.Thread{Platform: "discord", Workspace: "900", Category: "50", Parent: "100", Channel: "500", Kind: core.KindThread}
	file := `"requireMention": "always", "replyTo": "off", "streaming": "off", "notices": {"fallback": "off"}`
	account := `"requireMention": "until-engaged", "replyTo": "first"`
	for i, from := range levels {
		places := ""
		for _, l := range levels[i:] { // this one and all that are less specific
			rule := `"requireMention": "always", "replyTo": "off", "notices": "off", "streaming": "off"`
			if l == from {
				rule = `"requireMention": "never", "replyTo": "all", "notices": "log", "streaming": "on"`
			}
			places += `"` + l.key + `": {` + rule + `}, `
		}
		c := mustParse(t, `{`+file+`, "channels": {"discord": {`+account+`, "places": {`+places+`}}}}`)
		m := c.manner(at)
		if m.Answer != sessions.NeverMention || m.ReplyTo != "all" || m.Notices != notices.Log || !*m.Streaming || c.requireMention(at) != "never" || c.replyTo(at) != "all" {
			t.Errorf("the %s does not count: %+v", from.name, m)
		}
	}
	c := mustParse(t, `{`+file+`, "channels": {"discord": {`+account+`, "places": {"1": {"requireMention": "never"}}}}}`)
	if m := c.manner(at); m.Answer != sessions.UntilEngaged || m.ReplyTo != "first" || m.Notices != notices.Off || *m.Streaming {
		t.Errorf("the account: %+v", m)
	}
	if m := c.manner(core.Thread{Platform: "slack", Channel: "C1", Kind: core.KindChannel}); m.Answer != sessions.AlwaysMention || m.ReplyTo != "off" {
		t.Errorf("the file: %+v", m)
	}
	// A value for another kind of place says nothing.
	c = mustParse(t, `{"channels": {"discord": {"places": {
		"500": {"replyTo": {"channel": "off"}}, "100": {"replyTo": {"thread": "all"}}, "900": {"replyTo": "off"},
	}}}}`)
	if got := c.replyTo(at); got != "all" {
		t.Errorf("the rule for threads of the channel is %s", got)
	}
	if got := c.replyTo(at.Holder()); got != "off" {
		t.Errorf("the rule for the channel is %s", got)
	}
}

// Rules that people asked other bots for in vain.
func TestCasesOfPlaces(t *testing.T) {
	t.Run("p073", func(t *testing.T) {
		c := mustParse(t, `{"requireMention": "always", "channels": {"discord": {"places": {"100": {"requireMention": "never"}}}}}`)
		for id, want := range map[string]string{"100": "never", "110": "always"} {
			if got := c.requireMention(core.Thread{Platform: "discord", Workspace: "900", Channel: id, Kind: core.KindChannel}); got != want {
				t.Errorf("channel %s: %s, want %s", id, got, want)
			}
		}
	})
	t.Run("p011", func(t *testing.T) {
		c := mustParse(t, `{"replyTo": "off", "channels": {"slack": {"replyTo": {"direct": "first"}, "places": {"C0SUP": {"replyTo": "all"}}}}}`)
		for _, w := range []struct {
			place core.Thread
			want  string
		}{
			{core.Thread{Channel: "C0SUP", Kind: core.KindChannel}, "all"},
			{core.Thread{Channel: "C0SUP", Root: "1.2", Kind: core.KindThread}, "all"},
			{core.Thread{Channel: "C0CHAN", Kind: core.KindChannel}, "off"},
			{core.Thread{Channel: "D0DM", Kind: core.KindDirect}, "first"},
		} {
			w.place.Platform = "slack"
			if got := c.replyTo(w.place); got != w.want {
				t.Errorf("%+v: %s, want %s", w.place, got, w.want)
			}
		}
		// The place goes before the kind of place, and that before the account.
		c = mustParse(t, `{"replyTo": "first", "channels": {"slack": {
			"replyTo": {"default": "all", "direct": "off", "group": "off", "channel": "off"},
			"places": {"C0SUP": {"replyTo": "first"}, "G0SUP": {"replyTo": {"group": "first"}}, "D0SUP": {"replyTo": {"direct": "first"}}},
		}}}`)
		for _, letter := range []struct {
			id   string
			kind core.Kind
		}{{"C", core.KindChannel}, {"G", core.KindGroup}, {"D", core.KindDirect}} {
			for name, want := range map[string]string{"0SUP": "first", "0CHAN": "off"} {
				at := core.Thread{Platform: "slack", Channel: letter.id + name, Kind: letter.kind}
				if got := c.replyTo(at); got != want {
					t.Errorf("%+v: %s, want %s", at, got, want)
				}
			}
		}
		if got := c.replyTo(core.Thread{Platform: "slack", Channel: "C0CHAN", Root: "1.2", Kind: core.KindThread}); got != "all" {
			t.Errorf("a kind that is not named: %s", got)
		}
	})
}

// Messages are answered in threads where the rules say so.
func TestWhereThreadsAreOpened(t *testing.T) {
	c := mustParse(t, `{"thread": {"auto": false}, "channels": {"slack": {"places": {"C1": {"replyTo": "off"}}}}}`)
	for _, w := range []struct {
		platform, channel string
		want              bool
	}{{"discord", "1", false}, {"slack", "C1", false}, {"slack", "C2", true}, {"terminal", "x", false}} {
		if got := c.opensThreads(core.Thread{Platform: w.platform, Channel: w.channel, Kind: core.KindChannel}); got != w.want {
			t.Errorf("%s %s: %v", w.platform, w.channel, got)
		}
	}
	if !defaultConfig().opensThreads(core.Thread{Platform: "discord", Kind: core.KindChannel}) {
		t.Error("Discord opens threads unless it is told otherwise")
	}
}
