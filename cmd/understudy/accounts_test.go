package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/adapters/discord"
	"understudy/adapters/slack"
	"understudy/core"
	"understudy/sessions"
	"understudy/store/memory"
)

// The address for a platform's requests answers while the account runs, and no
// longer.
func TestOverHTTP(t *testing.T) {
	out := &output{}
	log := slog.New(slog.NewTextHandler(out, nil))
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "heard") })
	began := make(chan struct{})
	run, err := overHTTP("127.0.0.1:0", answer, func(ctx context.Context, _ core.Handler) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	addr := regexp.MustCompile(`addr=(\S+)`).FindStringSubmatch(out.String())[1]
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, nil) }()
	<-began
	resp, err := http.Get("http://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(body) != "heard" {
		t.Errorf("it answers %q", body)
	}
	if _, err := overHTTP(addr, answer, nil, log); err == nil || !strings.Contains(err.Error(), "UNDERSTUDY_SLACK_HTTP") {
		t.Errorf("an address in use: %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if _, err := http.Get("http://" + addr); err == nil {
		t.Error("it still answers")
	}
}

// The secret and the address belong together.
func TestSlackOverHTTPNeedsBoth(t *testing.T) {
	for _, v := range []string{"UNDERSTUDY_SLACK_SIGNING_SECRET=shh", "UNDERSTUDY_SLACK_HTTP=127.0.0.1:1"} {
		setEnv(t, v)
		if _, err := readEnv(); err == nil || !strings.Contains(err.Error(), "belong together") {
			t.Errorf("%s alone: %v", v, err)
		}
	}
	setEnv(t, "UNDERSTUDY_SLACK_SIGNING_SECRET=shh", "UNDERSTUDY_SLACK_HTTP=127.0.0.1:1")
	if _, err := readEnv(); err != nil {
		t.Error(err)
	}
}

// An account is told when something was heard last, and where.
func TestSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New().Open(memory.Options{})
		if s, err := seen(t.Context(), st, "slack"); err != nil || !s.At.IsZero() || s.Threads != nil {
			t.Errorf("at first it has seen %+v, %v", s, err)
		}
		var last core.Thread
		for _, root := range []string{"1.1", "2.2"} {
			last = core.Thread{Platform: "slack", Account: accountName, Workspace: "T", Channel: "C", Root: root, Kind: core.KindThread}
			m := core.Message{ID: root, Target: core.Target{Thread: last}}
			if _, _, err := st.Admit(t.Context(), sessions.Inbound{Key: root, Session: core.Key{Agent: mainAgent, Thread: last.Key()}, Message: m, At: time.Now()}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		s, err := seen(t.Context(), st, "slack")
		if err != nil || !s.At.Equal(time.Now().Add(-time.Second)) || len(s.Threads) != 2 || s.Threads[0] != last {
			t.Errorf("it has seen %+v, %v", s, err)
		}
		if s, err := seen(t.Context(), st, "discord"); err != nil || len(s.Threads) != 0 {
			t.Errorf("on the other platform it has seen %+v, %v", s, err)
		}
	})
}

// Readiness tells how an account stands.
func TestStateOfAnAccount(t *testing.T) {
	c := core.Connection{State: core.Connecting}
	a := &account{name: "slack", connection: func() core.Connection { return c }}
	for _, w := range []struct {
		is   core.Connection
		want string
	}{
		{core.Connection{State: core.Connecting}, "slack: connecting"},
		{core.Connection{State: core.Connected}, ""},
		{core.Connection{State: core.Reconnecting, Attempt: 3, Error: "link_disabled"}, "slack: reconnecting, attempt 3: link_disabled"},
	} {
		c = w.is
		if got := a.state(); got != w.want {
			t.Errorf("%+v: %q, want %q", w.is, got, w.want)
		}
	}
	a.fail(errors.New("the token was revoked"))
	if got := a.state(); got != "slack: the token was revoked" {
		t.Errorf("refused: %q", got)
	}
}

// What the file says about bots reaches the adapters in their words.
func TestRuleAboutBotsReachesTheAccounts(t *testing.T) {
	for written, want := range map[string]string{`{}`: "named", `{"allowBots": false}`: "named", `{"allowBots": true}`: "all", `{"allowBots": "mentions"}`: "mentions"} {
		s := &setup{env: &environment{}, config: mustParse(t, `{"channels": {"discord": `+written+`, "slack": `+written+`}}`)}
		d, sl := s.discord(outside{}), s.slack(outside{})
		if got := cmp.Or(d.Bots, discord.BotsNamed); got != want {
			t.Errorf("discord with %s: %q, want %q", written, got, want)
		}
		if got := cmp.Or(sl.Bots, slack.BotsNamed); string(got) != want {
			t.Errorf("slack with %s: %q, want %q", written, got, want)
		}
	}
}

// Where no account is left, the end says of each what to do.
func TestEndOfAllAccounts(t *testing.T) {
	var accounts []*account
	for _, name := range []string{"discord", "slack"} {
		accounts = append(accounts, &account{
			name:       name,
			run:        func(context.Context, core.Handler) error { return errors.New("the token of " + name + " is wrong") },
			connection: func() core.Connection { return core.Connection{} },
		})
	}
	err := live(t.Context(), &house{}, accounts, slog.New(slog.DiscardHandler))
	if err == nil || err.Error() != "discord: the token of discord is wrong; slack: the token of slack is wrong" {
		t.Errorf("the end says %v", err)
	}
}
