package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"understudy/admin"
	"understudy/core"
	"understudy/core/auth"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/rescue"
	"understudy/core/tool"
	"understudy/sessions"
)

// parts are what differs between the bot, a chat in the terminal, and a
// scenario.
type parts struct {
	config *config
	store  stores
	// platform finds the platform of a conversation; those without one are left
	// to others.
	platform func(core.Thread) (core.Platform, bool)
	// client makes the client of a profile.
	client func(auth.Declared, core.Secret) (llm.Client, error)
	keys   map[string][]core.Secret
	// known reports whether a provider exists, keyless whether it needs no
	// credential, bare whether declared profiles need no secret.
	known, keyless, bare func(string) bool
	// unknown says why there cannot be such a model, or "".
	unknown  func(llm.Ref) string
	override llm.Ref // a model given on the command line
	// transcribe writes voice messages down; nil where nobody does.
	transcribe func(context.Context, core.Attachment) (string, error)
	tools      []tool.Tool // beside the built-in ones
	attempted  func(core.Key, failover.Attempt)
	// feed hears what operators should know; nil makes one. channel finds the
	// place that an address names; nil finds none.
	feed    *admin.Feed
	channel func(address) (core.Thread, bool)
	// hide takes credentials out of a text that is kept; nil takes none.
	hide     func(string) string
	maxTurns int
	skipTTL  time.Duration
	now      func() time.Time
	after    func(time.Duration) <-chan time.Time
	newID    func() string
	log      *slog.Logger
}

// house is the wired program without its adapters.
type house struct {
	bot      *sessions.Bot
	sender   *delivery.Sender
	engine   *failover.Engine
	store    stores
	settings atomic.Pointer[sessions.Settings]
	book     atomic.Pointer[auth.Book]
	feed     *admin.Feed
	admin    atomic.Pointer[core.Thread] // where operators read; nil is nowhere

	parts  parts
	cancel context.CancelFunc
	done   chan error
}

// build wires a house. Nothing runs before open.
func build(p parts) (*house, error) {
	if p.now == nil {
		p.now, p.after = time.Now, time.After
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	feed := feedOf(p)
	p.store = ownStore{p.store, p.platform}
	h := &house{store: p.store, parts: p, feed: feed}
	var slots *sessions.Slots
	var acquire func(context.Context, string) (func(), error)
	if p.maxTurns > 0 {
		slots = sessions.NewSlots(p.maxTurns)
		acquire = slots.Take
	}
	h.engine = failover.New(failover.Config{
		Rules: p.config.Auth.Cooldowns.rules(), Store: p.store, Acquire: acquire,
		Profiles: func(ctx context.Context, agent, provider string) (failover.Profiles, error) {
			return h.book.Load().Profiles(ctx, agent, provider)
		},
		Skips: failover.NewSkipCache(p.skipTTL), Called: feed.Called, Passes: core.StoreTrouble,
		Now: p.now, After: p.after, Log: p.log,
	})
	h.sender = delivery.New(delivery.Config{
		Store: p.store, Platform: p.platform, GaveUp: feed.GaveUp, Hide: p.hide, Held: func(r delivery.Row) { h.bot.Held(r) },
		Wanted: func(post core.Post) bool { return h.settings.Load().Wants(post) }, Now: p.now, After: p.after, Log: p.log,
	})
	h.bot = sessions.New(sessions.Config{
		Store: p.store, Engine: h.engine, Sender: h.sender,
		Settings: h.settings.Load, Slots: slots, Open: max(openTurns, 32*p.maxTurns), Alert: feed.Hear, Attempted: h.attempted,
		Now: p.now, After: p.after, NewID: p.newID, Log: p.log,
	})
	if err := h.configure(p.config); err != nil {
		return nil, err
	}
	return h, nil
}

// configure puts a configuration into force; turns that run keep theirs.
func (h *house) configure(c *config) error {
	if c.primary() == (llm.Ref{}) && h.parts.override == (llm.Ref{}) {
		return errors.New("no model is configured: set agents.defaults.model.primary in the configuration, or UNDERSTUDY_MODEL")
	}
	book := auth.New(auth.Config{
		Keys: h.parts.keys, Declared: c.declared(), Order: c.Auth.Order,
		Known: h.parts.known, Keyless: h.parts.keyless, Bare: h.parts.bare, Client: h.parts.client,
	})
	h.book.Store(book)
	h.admin.Store(h.adminPlace(c))
	h.settings.Store(c.settings(h.parts, book, h.bot))
	for _, id := range book.Missing() {
		h.parts.log.Warn("a profile has no credential and cannot be used", "profile", id)
	}
	h.warn(c, book)
	return nil
}

// warn names candidates that can never be asked, or that a limit of money does
// not hold for.
func (h *house) warn(c *config, book *auth.Book) {
	for _, m := range c.unpriced() {
		h.parts.log.Warn("a model has no known price, so what it costs does not count towards quotas in usd; set its cost in models.providers", "model", m.String())
	}
	for _, m := range c.candidates() {
		ps, err := book.Profiles(context.Background(), "main", m.Provider)
		switch {
		case err != nil:
			h.parts.log.Warn("the profiles of a provider cannot be read", "provider", m.Provider, "err", err)
		case !ps.Known:
			h.parts.log.Warn("a configured model belongs to a provider that is not configured", "model", m.String())
			h.doubt(m, fmt.Sprintf("the provider %s is not configured", m.Provider))
		case len(ps.List) == 0:
			h.parts.log.Warn("a configured model has no usable credential", "model", m.String())
			h.doubt(m, "there is no usable credential for it")
		}
	}
}

// open takes up what an earlier process left and starts to send. After an error
// nothing runs, and the store is closed.
func (h *house) open(ctx context.Context) error {
	rows, err := h.takeUp(ctx)
	if err != nil {
		return errors.Join(err, h.store.Close())
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.cancel, h.done = cancel, make(chan error, 1)
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		defer rescue.Panic(h.parts.log, "telling operators")
		h.runFeed(run)
	}()
	go func() {
		err := h.send(run)
		<-fed
		h.done <- err
	}()
	if err := h.bot.Start(ctx, rows); err != nil {
		h.bot.Stop(0)
		return errors.Join(err, h.end())
	}
	return nil
}

// send runs the sender.
func (h *house) send(ctx context.Context) (err error) {
	defer rescue.Error(&err, h.parts.log, "sending posts")
	return h.sender.Run(ctx)
}

// takeUp reads what is to be sent, and mends what is known about profiles.
func (h *house) takeUp(ctx context.Context) ([]delivery.Row, error) {
	for _, agent := range h.parts.config.agentIDs() {
		if err := h.engine.Repair(ctx, agent); err != nil {
			return nil, err
		}
	}
	return h.store.Outgoing(ctx)
}

// shut lets running turns finish within the grace, sends what is ready, and
// closes the store.
func (h *house) shut(grace time.Duration) error {
	h.bot.Stop(grace)
	flush, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := h.sender.Flush(flush); err != nil {
		h.parts.log.Warn("some posts are left for the next start", "err", err)
	}
	return h.end()
}

// end stops sending and closes the store.
func (h *house) end() error {
	h.cancel()
	sent := <-h.done
	if errors.Is(sent, context.Canceled) {
		sent = nil // stopped before it had read what there is; the next start will
	}
	return errors.Join(sent, h.store.Close())
}

// idle returns when nothing is being answered or sent.
func (h *house) idle(ctx context.Context) error {
	if err := h.bot.Idle(ctx); err != nil {
		return err
	}
	return h.sender.Flush(ctx)
}

// openTurns is how many turns may be open at least: nearly all of them wait, for
// their turn to ask or for an overload to pass.
const openTurns = 2048
