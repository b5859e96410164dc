package slack

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

func TestReconnects(t *testing.T) {
	for name, end := range map[string]func(*slacktest.Server){
		"refresh":       func(s *slacktest.Server) { s.Disconnect("refresh_requested") },
		"unknown cause": func(s *slacktest.Server) { s.Disconnect("some_new_reason") },
		"cut":           (*slacktest.Server).Drop,
	} {
		t.Run(name, func(t *testing.T) {
			r := plainly(t)
			end(r.slack)
			r.wait("a second socket", func() bool { return r.slack.Opened() == 2 && r.slack.Connected() == 1 })
			r.slack.Say(slacktest.DM, slacktest.User, "still there?")
			r.bot.next(t, 0)
			if !r.a.Connected() {
				t.Error("the adapter does not know that it is connected")
			}
		})
	}
}

func TestNextSocketOpensBeforeTheOldOneGoes(t *testing.T) {
	r := plainly(t)
	r.slack.Disconnect("warning")
	r.wait("two sockets", func() bool { return r.slack.Connected() == 2 })
	for i := range 4 { // each socket gets its share
		r.slack.Say(slacktest.DM, slacktest.User, "hi")
		r.bot.next(t, i)
	}
	r.settled()
}

func silentSocketIsGivenUp(t *testing.T) {
	r := start(t, slacktest.Config{PingEvery: 20 * time.Millisecond}, func(_ *Config, a *Adapter) {
		if a != nil {
			a.pace.silence = 200 * time.Millisecond
		}
	})
	r.slack.Mute()
	r.wait("another socket", func() bool { return r.slack.Opened() > 1 })
}

// quietSocketIsKept: three hours in which nothing comes but pings are nothing;
// thirty seconds without one are the end.
func quietSocketIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, l, slacks, ended := reading(t, func([]byte, func(string)) {})
		send(t, slacks, `{"type":"hello"}`)
		last := time.Now()
		for range 3 * 60 * 60 / 10 {
			time.Sleep(10 * time.Second)
			last = time.Now()
			if err := slacks.WriteControl(websocket.PingMessage, nil, last.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-ended:
			t.Fatal("a quiet socket was given up")
		default:
		}
		if c := a.Connection(); c.State != core.Connected {
			t.Errorf("connection is %+v", c)
		}
		<-ended
		if silent := time.Since(last); silent != 30*time.Second || l.wait() == nil {
			t.Errorf("it was given up after %s: %v", silent, l.why)
		}
		if c := a.Connection(); c.State != core.Reconnecting {
			t.Errorf("connection is %+v", c)
		}
	})
}

// refusedSocketIsClosed: an app may have ten sockets. The one that Slack refuses
// is closed before another is asked for.
func refusedSocketIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l, slacks, ended := reading(t, func([]byte, func(string)) {})
		send(t, slacks, `{"type":"disconnect","reason":"too_many_websockets"}`)
		if err := l.wait(); err == nil || !strings.Contains(err.Error(), "ten sockets") {
			t.Errorf("it ended with %v", err)
		}
		if err := l.ws.WriteMessage(websocket.TextMessage, []byte("{}")); err == nil {
			t.Error("another socket is wanted while this one is open")
		}
		<-ended
	})
}

func TestPausesGrowWhileSlackHangsUp(t *testing.T) {
	r := plainly(t)
	r.slack.Refuse("too_many_websockets")
	r.slack.Drop()
	r.wait("six openings", func() bool { return len(r.slack.Calls("apps.connections.open")) >= 6 })
	calls := r.slack.Calls("apps.connections.open")
	for i, pause := range quick.pauses {
		if got := calls[i+1].Time.Sub(calls[i].Time); got < pause {
			t.Errorf("opening %d came after %s, want at least %s", i+1, got, pause)
		}
	}
	r.slack.Refuse("")
	r.wait("a socket", func() bool { return r.slack.Connected() == 1 })
}

func TestPauses(t *testing.T) {
	if p := defaultPace; p.pause(0) < time.Second || p.pause(1000) < 30*time.Second {
		t.Errorf("pauses of %s and %s are too short for Slack", p.pause(0), p.pause(1000))
	}
}

func TestTroubleAtTheStartIsTriedAgain(t *testing.T) {
	s := serve(t, slacktest.Config{})
	s.Fail("auth.test", slacktest.Fault{Status: 503}, slacktest.Fault{RetryAfter: 1}, slacktest.Fault{Drop: true}, slacktest.Fault{Error: "internal_error"})
	s.Fail("apps.connections.open", slacktest.Fault{Status: 500}, slacktest.Fault{Error: "some_new_error"})
	a, err := New(config(s))
	if err != nil {
		t.Fatal(err)
	}
	a.pace = quick
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, newBot()) }()
	r := &rig{T: t, slack: s}
	r.wait("a socket", func() bool { return s.Connected() == 1 })
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestFatalRefusals(t *testing.T) {
	for _, c := range []struct {
		name, method string
		fault        slacktest.Fault
		help         string
	}{
		{"bot token", "auth.test", slacktest.Fault{Error: "invalid_auth"}, "OAuth & Permissions"},
		{"revoked", "auth.test", slacktest.Fault{Error: "token_revoked"}, "install the app again"},
		{"inactive", "auth.test", slacktest.Fault{Error: "account_inactive"}, "install it again"},
		{"expired", "auth.test", slacktest.Fault{Error: "token_expired"}, "token rotation"},
		{"not Slack", "auth.test", slacktest.Fault{Status: 404}, "address"},
		{"app token", "apps.connections.open", slacktest.Fault{Error: "invalid_auth"}, "App-Level Tokens"},
		{"wrong token", "apps.connections.open", slacktest.Fault{Error: "not_allowed_token_type"}, "changed places"},
		{"scope", "apps.connections.open", slacktest.Fault{Error: "missing_scope", Fields: map[string]any{"needed": "connections:write"}}, "connections:write"},
		{"uninstalled", "apps.connections.open", slacktest.Fault{Error: "user_removed_from_team"}, "install it again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, slacktest.Config{})
			s.Fail(c.method, c.fault)
			wantFatal(t, s, config(s), c.help)
		})
	}
	t.Run("tokens of another app", func(t *testing.T) {
		s := serve(t, slacktest.Config{BotToken: "xoxb-another"})
		wantFatal(t, s, config(s), "copy")
	})
}

func wantFatal(t *testing.T, s *slacktest.Server, cfg Config, help string) {
	t.Helper()
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.pace = quick
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = a.Run(ctx, newBot())
	var fatal *FatalError
	if !errors.As(err, &fatal) || !strings.Contains(fatal.Error(), help) {
		t.Errorf("Run: %v, want a fatal error with %q", err, help)
	}
	if strings.Contains(err.Error(), "xoxb-fake") || strings.Contains(err.Error(), "xapp-fake") {
		t.Errorf("the error holds a token: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	good := Config{Account: "main", BotToken: core.NewSecret("xoxb-1"), AppToken: core.NewSecret("xapp-1")}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"xoxb-":                                 func(c *Config) { c.BotToken = core.NewSecret("xapp-secret") },
		"UNDERSTUDY_SLACK_BOT_TOKEN is missing": func(c *Config) { c.BotToken = core.Secret{} },
		"UNDERSTUDY_SLACK_APP_TOKEN must be the token that begins": func(c *Config) { c.AppToken = core.NewSecret("xoxp-secret") },
		"UNDERSTUDY_SLACK_SIGNING_SECRET":                          func(c *Config) { c.AppToken = core.Secret{} },
		"UNDERSTUDY_SLACK_APP_TOKEN is missing":                    func(c *Config) { c.AppToken = core.Secret{} },
		"have changed places": func(c *Config) {
			c.BotToken, c.AppToken = core.NewSecret("xapp-secret"), core.NewSecret("xoxb-secret")
		},
		"allow has": func(c *Config) { c.Allow = []string{"general"} },
		"slash":     func(c *Config) { c.APIURL = "http://localhost/api" },
		"dm policy": func(c *Config) { c.DM = "everyone" },
	} {
		cfg := good
		change(&cfg)
		_, err := New(cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if err != nil && strings.Contains(err.Error(), "-secret") {
			t.Errorf("the error holds a token: %v", err)
		}
	}
}

// An app that was made from the manifest has all scopes.
func TestTheManifestLacksNoScope(t *testing.T) {
	if log := plainly(t).log.String(); strings.Contains(log, "lacks scopes") {
		t.Errorf("log is %s", log)
	}
}

func TestMissingScopesAreNamedAtTheStart(t *testing.T) {
	r := start(t, slacktest.Config{Scopes: []string{"chat:write", "app_mentions:read"}}, nil)
	if log := r.log.String(); !strings.Contains(log, "im:history") || !strings.Contains(log, "install the app again") {
		t.Errorf("log is %s", log)
	}
}
