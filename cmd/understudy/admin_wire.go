package main

import (
	"context"

	"understudy/admin"
	"understudy/core"
	"understudy/core/failover"
)

// feedOf is the feed for operators of a house.
func feedOf(p parts) *admin.Feed {
	f := p.feed
	if f == nil {
		f = admin.New(p.now)
	}
	if w, ok := p.store.(*watchedStore); ok {
		w.turned = f.StoreTrouble
	}
	return f
}

// runFeed runs the feed until the context ends.
func (h *house) runFeed(ctx context.Context) {
	h.feed.Run(ctx, admin.Config{
		Store: h.store, Platform: h.parts.platform, Every: h.parts.config.Admin.Every, Burst: h.parts.config.Admin.Burst,
		Channel: func() (t core.Thread, ok bool) {
			if at := h.admin.Load(); at != nil {
				return *at, true
			}
			return t, false
		},
		After: h.parts.after, Log: h.parts.log,
	})
}

// attempted tells whoever should know of an attempt.
func (h *house) attempted(k core.Key, a failover.Attempt) {
	h.feed.Attempted(a)
	if h.parts.attempted != nil {
		h.parts.attempted(k, a)
	}
}

// adminPlace is where operators read under a configuration, nil for nowhere.
func (h *house) adminPlace(c *config) *core.Thread {
	if c.Admin.Channel == (address{}) || h.parts.channel == nil {
		return nil
	}
	t, ok := h.parts.channel(c.Admin.Channel)
	if !ok {
		h.parts.log.Warn("nobody runs on the platform of admin.channel; operators are told in the log only", "channel", c.Admin.Channel.String())
		return nil
	}
	return &t
}

// channelOn finds the channel that an address names; "channel" stands for the
// only platform that there is.
func channelOn(platforms map[string]core.Platform) func(address) (core.Thread, bool) {
	return func(a address) (core.Thread, bool) {
		name := a.Platform
		if name == "channel" && len(platforms) == 1 {
			name = sortedNames(platforms)[0]
		}
		_, ok := platforms[name]
		return core.Thread{Platform: name, Account: accountName, Channel: a.ID, Kind: core.KindChannel}, ok
	}
}
