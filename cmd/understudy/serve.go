package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"understudy/adapters/web"
	"understudy/admin"
	"understudy/core"
	"understudy/core/llm"
	"understudy/core/llm/script"
	"understudy/core/rescue"
)

// runBot is "understudy run".
func runBot(ctx context.Context, c console, args []string) error {
	f := flags(c, "run")
	configPath := f.String("config", "", "the configuration file")
	if err := parseAlone(f, args); err != nil {
		return err
	}
	s, err := loadFor(c, *configPath)
	if err != nil {
		return err
	}
	if err := s.missing(); err != nil {
		return err
	}
	ctx, stop := signals(ctx)
	defer stop()
	return s.serve(ctx, c)
}

// serve runs the bot until the context ends.
func (s *setup) serve(ctx context.Context, c console) error {
	log := logger(c.err, s.env.Log, s.env.LogFormat)
	s.log = log
	transport := llm.NewTransport(nil, s.config.Timeouts.request())
	transport.Veil = c.veil()
	defer transport.CloseIdle()
	transcribe, err := s.transcriber(transport)
	if err != nil {
		return err
	}
	var kept atomic.Pointer[watchedStore]
	feed := admin.New(nil)
	feed.Hide = c.hide
	accounts, platforms, err := s.accounts(outside{log: log, alert: feed.Hear, seen: func(ctx context.Context, platform string) (core.Seen, error) {
		return seen(ctx, kept.Load(), platform)
	}})
	if err != nil {
		return misuse("%v", err)
	}
	addr, hangUp, err := s.listen(log, func(ctx context.Context) []string {
		list := unready(ctx, kept.Load(), accounts)
		for i, text := range list {
			list[i] = c.hide(text)
		}
		return list
	})
	if err != nil {
		return s.whyNot(ctx, err)
	}
	defer hangUp()
	st, err := s.openStore(ctx, s.config.Store.Path, true)
	if err != nil {
		return err
	}
	kept.Store(&watchedStore{stores: st})
	h, err := build(parts{
		config: s.config, store: kept.Load(),
		platform: func(t core.Thread) (core.Platform, bool) { p, ok := platforms[t.Platform]; return p, ok },
		client:   s.config.clients(transport, &script.Script{Timeouts: s.config.Timeouts.request()}), keys: s.keys,
		known: s.config.providerKnown, keyless: s.config.providerKeyless, unknown: s.config.unknown,
		hide: c.hide, tools: moreTools(), feed: feed, channel: channelOn(platforms), transcribe: transcribe,
		maxTurns: s.env.MaxTurns, skipTTL: time.Duration(s.env.SkipTTL), log: log,
	})
	if err != nil {
		st.Close()
		return misuse("%v", err)
	}
	if err := h.open(ctx); err != nil {
		return err
	}
	log.Info("running", "version", version, "model", s.config.primary().String(), "store", s.config.Store.Path, "http", addr)
	if len(s.config.Admin.Users) == 0 {
		log.Info("nobody is an admin: set UNDERSTUDY_ADMINS to discord:<user id> or slack:<user id>, for /approve and /stop all; until then, understudy pairing approve lets people write directly")
	}
	tidying, stopTidying := context.WithCancel(ctx)
	var tidied sync.WaitGroup
	tidied.Go(func() {
		defer rescue.Panic(log, "asking for lists of models")
		h.verify(tidying)
	})
	tidied.Go(func() {
		defer rescue.Panic(log, "removing what is too old")
		s.config.Retention.tidy(tidying, kept.Load(), log)
	})
	err = live(ctx, h, accounts, log)
	stopTidying()
	tidied.Wait()
	log.Info("stopping", "grace", s.env.ShutdownGrace.String())
	return errors.Join(err, h.shut(s.env.ShutdownGrace))
}

// whyNot is the reason that matters of a start that found its health address in
// use: most likely the same bot runs already, which the store knows better.
func (s *setup) whyNot(ctx context.Context, err error) error {
	if _, none := os.Stat(s.config.Store.Path); none == nil {
		st, locked := s.openStore(ctx, s.config.Store.Path, true)
		if locked != nil {
			return locked
		}
		st.Close()
	}
	return misuse("%v", err)
}

// listen answers at the health address, if there is one, until hangUp.
func (s *setup) listen(log *slog.Logger, ready func(context.Context) []string) (addr string, hangUp func(), err error) {
	if s.env.HTTP == "" {
		return "", func() {}, nil
	}
	srv, err := web.Listen(web.Config{Addr: string(s.env.HTTP), Ready: ready, Log: log})
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer rescue.Panic(log, "the health address")
		if err := srv.Run(ctx); err != nil {
			log.Error("the health address is gone", "err", err)
		}
	})
	return srv.Addr(), func() { cancel(); wg.Wait() }, nil
}

// live runs the accounts. It returns when the context ends, or when no account
// is left; then its error says of each what was wrong.
func live(ctx context.Context, h *house, accounts []*account, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	ended := make(chan *account, len(accounts))
	for _, a := range accounts {
		wg.Go(func() {
			err := a.answer(ctx, h.bot, log)
			if err == nil && ctx.Err() == nil {
				err = errors.New("it ended by itself")
			}
			if ctx.Err() == nil {
				a.fail(err)
				log.Error("an account stopped", "account", a.name, "err", err)
			}
			ended <- a
		})
	}
	for left := len(accounts); left > 0; {
		select {
		case <-ctx.Done():
			return nil
		case <-ended:
			if left--; left == 0 && ctx.Err() == nil {
				return errors.New(strings.Join(troubles(accounts), "; "))
			}
		}
	}
	return nil
}

// troubles is what is wrong with each account that has something.
func troubles(accounts []*account) (list []string) {
	for _, a := range accounts {
		if s := a.state(); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// unready is what keeps the bot from its job. There is no store before it is
// open.
func unready(ctx context.Context, st *watchedStore, accounts []*account) []string {
	list := troubles(accounts)
	if st == nil {
		return append(list, "store: not open yet")
	}
	_, err := st.States(ctx, mainAgent)
	if err == nil {
		err = st.trouble(ctx)
	}
	if err != nil {
		list = append(list, "store: "+strings.TrimPrefix(err.Error(), "store "))
	}
	return list
}

// signals ends the context at the first SIGTERM or Ctrl-C, and the process at
// the second: nothing is lost by that either.
func signals(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-c:
			case <-ctx.Done():
				if n == 0 {
					signal.Stop(c)
					return
				}
				<-c
				os.Exit(1)
			}
			if n > 0 {
				os.Exit(1)
			}
			cancel()
		}
	}()
	return ctx, cancel
}
