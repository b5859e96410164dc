package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/llm"
	"understudy/core/llm/script"
	"understudy/store/memory"
)

// lines are those of a log that hold a text.
func lines(log, text string) []string {
	var found []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// A bot that listens to nobody says so once for each platform, and which setting
// to turn.
func TestAnEmptyAllowListIsTold(t *testing.T) {
	setEnv(t, "UNDERSTUDY_DISCORD_TOKEN=token", "UNDERSTUDY_SLACK_BOT_TOKEN=xoxb-1", "UNDERSTUDY_SLACK_APP_TOKEN=xapp-1")
	s, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	s.config.Channels.Discord.DMPolicy = "allowlist" // the default lets people ask
	out := &output{}
	if _, _, err := s.accounts(outside{log: logger(out, "warn", "")}); err != nil {
		t.Fatal(err)
	}
	for _, platform := range []string{"discord", "slack"} {
		told := lines(out.String(), "platform="+platform)
		if len(told) != 1 || !strings.Contains(told[0], "channels."+platform+".allow") {
			t.Errorf("%s: the log says %q", platform, told)
			continue
		}
		if n := strings.Count(told[0], "account="); n != 1 {
			t.Errorf("%s: the account is named %d times: %s", platform, n, told[0])
		}
	}
}

// closedPlace is a platform that takes no posts.
type closedPlace struct{ core.Platform }

func (closedPlace) Limits(core.Thread) core.Limits {
	return core.Limits{MaxText: 100, Count: func(s string) int { return len(s) }, MaxParts: 1}
}

func (closedPlace) Post(context.Context, core.Post) (core.Posted, error) {
	return core.Posted{}, &core.SendError{Permanent: true, Err: errors.New("closed")}
}

// somewhere is a place on Discord.
var somewhere = core.Target{Thread: core.Thread{Platform: "discord", Account: "default", Channel: "55", Kind: core.KindDirect}}

func TestAPostThatIsGivenUpIsLoggedOnce(t *testing.T) {
	setEnv(t, "UNDERSTUDY_MODEL=script/lead")
	s, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	c, out := s.config, &output{}
	h, err := build(parts{
		config: c, store: memory.New().Open(memory.Options{}), log: logger(out, "warn", ""),
		platform: func(core.Thread) (core.Platform, bool) { return closedPlace{}, true },
		client:   c.clients(llm.NewTransport(nil, c.Timeouts.request()), &script.Script{}),
		known:    c.providerKnown, keyless: c.providerKeyless, unknown: c.unknown,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := h.store.Queue(t.Context(), delivery.Row{
		Session: core.Key{Agent: mainAgent, Thread: somewhere.Thread.Key()}, Turn: "t1", State: delivery.Queued, Created: time.Now(),
		Post: core.Post{Target: somewhere, Kind: core.PostAnswer, Text: "hello", Nonce: "n1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.sender.Send(rows...)
	if err := h.idle(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.shut(0); err != nil {
		t.Error(err)
	}
	if told := lines(out.String(), "a post was given up"); len(told) != 1 || !strings.Contains(told[0], "closed") {
		t.Errorf("the log says %q", told)
	}
}
