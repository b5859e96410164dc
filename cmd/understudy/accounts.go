package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"understudy/adapters/discord"
	"understudy/adapters/slack"
	"understudy/core"
	"understudy/core/rescue"
	"understudy/sessions"
)

// accountName is the name of the one account that there is on a platform.
const accountName = "default"

// account is one bot account on a platform.
type account struct {
	name       string
	run        func(context.Context, core.Handler) error
	connection func() core.Connection

	mu    sync.Mutex
	fatal error
}

func (a *account) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fatal = err
}

// answer runs the account.
func (a *account) answer(ctx context.Context, h core.Handler, log *slog.Logger) (err error) {
	defer rescue.Error(&err, log, "the account of "+a.name)
	return a.run(ctx, h)
}

// state says what is wrong, or "".
func (a *account) state() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fatal != nil {
		return a.name + ": " + a.fatal.Error()
	}
	if trouble := a.connection().String(); trouble != "" {
		return a.name + ": " + trouble
	}
	return ""
}

// outside is what accounts need of the rest of the house.
type outside struct {
	log *slog.Logger
	// seen is what earlier processes knew of a platform; alert may be nil.
	seen  func(ctx context.Context, platform string) (core.Seen, error)
	alert func(core.Alert)
}

// seenThreads is in how many conversations an account looks for what it missed.
const seenThreads = 50

// seen reads what earlier processes knew of the account of a platform.
func seen(ctx context.Context, st sessions.Ears, platform string) (core.Seen, error) {
	heard, err := st.Heard(ctx, sessions.Where{Platform: platform, Account: accountName}, seenThreads)
	if err != nil || len(heard) == 0 {
		return core.Seen{}, err
	}
	s := core.Seen{At: heard[0].At}
	for _, h := range heard {
		s.Threads = append(s.Threads, h.Thread)
	}
	return s, nil
}

// accounts makes the adapters whose tokens are set.
func (s *setup) accounts(o outside) ([]*account, map[string]core.Platform, error) {
	var list []*account
	platforms := map[string]core.Platform{}
	if s.env.DiscordToken.Set() {
		a, err := discord.New(s.discord(o))
		if err != nil {
			return nil, nil, err
		}
		platforms["discord"] = a
		list = append(list, &account{name: "discord", run: a.Run, connection: a.Connection})
	}
	if s.env.SlackBotToken.Set() || s.env.SlackAppToken.Set() || s.env.SlackSecret.Set() {
		a, err := slack.New(s.slack(o))
		if err != nil {
			return nil, nil, err
		}
		run := a.Run
		if s.env.SlackHTTP != "" {
			if run, err = overHTTP(string(s.env.SlackHTTP), a.Handler(), a.Run, o.log); err != nil {
				return nil, nil, err
			}
		}
		platforms["slack"] = a
		list = append(list, &account{name: "slack", run: run, connection: a.Connection})
	}
	return list, platforms, nil
}

func (s *setup) discord(o outside) discord.Config {
	d := s.config.Channels.Discord
	return discord.Config{
		Account: accountName, Token: s.env.DiscordToken, APIURL: d.APIURL, GatewayURL: d.GatewayURL,
		Allow: d.Allow, Bots: string(d.AllowBots), DM: d.DMPolicy, EveryoneWakes: d.EveryoneWakes, MentionRoles: d.MentionRoles, NoAutoThread: !s.config.Thread.Auto,
		RequireMention: s.config.requireMention, ReplyTo: s.config.replyTo,
		Seen:  func(ctx context.Context) (core.Seen, error) { return o.seen(ctx, "discord") },
		Alert: o.alert, Log: o.log,
	}
}

func (s *setup) slack(o outside) slack.Config {
	d := s.config.Channels.Slack
	return slack.Config{
		Account: accountName, BotToken: s.env.SlackBotToken, AppToken: s.env.SlackAppToken, SigningSecret: s.env.SlackSecret, APIURL: d.APIURL,
		Allow: d.Allow, Bots: slack.Bots(d.AllowBots), DM: slack.DMPolicy(d.DMPolicy), External: d.External, NativeStreaming: slack.NativeStreaming(d.NativeStreaming),
		RequireMention: func(t core.Thread) slack.RequireMention { return slack.RequireMention(s.config.requireMention(t)) },
		ReplyTo:        func(t core.Thread) slack.ReplyTo { return slack.ReplyTo(s.config.replyTo(t)) },
		Seen:           func(ctx context.Context) (core.Seen, error) { return o.seen(ctx, "slack") },
		Alert:          o.alert, Log: o.log,
	}
}

// overHTTP opens the address at which a platform's requests arrive, and gives
// run a server there that lives as long as it does.
func overHTTP(addr string, h http.Handler, run func(context.Context, core.Handler) error, log *slog.Logger) (func(context.Context, core.Handler) error, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("the address %s for Slack cannot be used: %w; set UNDERSTUDY_SLACK_HTTP to another one", addr, err)
	}
	log.Info("waiting for requests of Slack", "addr", ln.Addr().String())
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	return func(ctx context.Context, handler core.Handler) error {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		served := make(chan error, 1)
		wg.Go(func() {
			defer cancel()
			defer rescue.Panic(log, "the address for Slack's requests")
			served <- srv.Serve(ln)
		})
		wg.Go(func() {
			defer rescue.Panic(log, "closing the address for Slack's requests")
			<-ctx.Done()
			late, done := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
			defer done()
			srv.Shutdown(late)
		})
		err := run(ctx, handler)
		select {
		case gone := <-served:
			if !errors.Is(gone, http.ErrServerClosed) {
				return fmt.Errorf("the address for Slack's requests is gone: %w", gone)
			}
		default:
		}
		return err
	}, nil
}
