package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"understudy/admin"
	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
)

// verifyLimit bounds how long one provider is asked for the list of its models.
const verifyLimit = 20 * time.Second

// verify asks each provider of a chain, once, which models it has, and tells
// operators of those that are configured and not among them: a name that is
// written wrong would never answer, and the models behind it would hide that.
// Where a provider gives no list, nothing is known to be wrong.
func (h *house) verify(ctx context.Context) {
	lists := map[string][]string{}
	for _, r := range h.parts.config.named() {
		list, asked := lists[r.Provider]
		if !asked {
			list = h.listed(ctx, r.Provider)
			lists[r.Provider] = list
		}
		switch {
		case len(list) == 0 || ctx.Err() != nil:
		case llm.Lists(list, r.Model):
			h.feed.Hear(core.Alert{Kind: admin.Model, Key: r.String(), Over: true, Text: fmt.Sprintf("%s has the model %s.", r.Provider, r)})
		default:
			why := fmt.Sprintf("%s has no such model%s", r.Provider, didYouMean(r.Model, list))
			h.parts.log.Warn("a configured model cannot answer", "model", r.String(), "why", why)
			h.doubt(r, why)
		}
	}
}

// doubt tells operators that a configured model cannot answer.
func (h *house) doubt(r llm.Ref, why string) {
	h.feed.Hear(core.Alert{Kind: admin.Model, Key: r.String(), Text: fmt.Sprintf("The configured model %s cannot answer: %s.", r, why)})
}

// listed are the models of a provider, asked for with the first of its profiles
// that gets a list; empty where none does.
func (h *house) listed(ctx context.Context, provider string) []string {
	ps, err := h.book.Load().Profiles(ctx, mainAgent, provider)
	if err != nil {
		return nil // told by warn
	}
	for _, p := range ps.List {
		list, err := models(ctx, p)
		if err == nil {
			return list
		}
		h.parts.log.Debug("a provider gives no list of its models", "provider", provider, "profile", p.ID, "err", err)
	}
	return nil
}

func models(ctx context.Context, p failover.Profile) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, verifyLimit)
	defer cancel()
	c, err := p.Client(ctx)
	if err != nil {
		return nil, err
	}
	l, ok := c.(llm.Lister)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return l.Models(ctx)
}

// named are the models that some chain holds, those for images included.
func (c *config) named() []llm.Ref {
	images := []failover.Models{c.Agents.Defaults.ImageModel}
	for _, id := range c.agentIDs() {
		images = append(images, c.Agents.Entries[id].ImageModel)
	}
	return withModels(c.candidates(), images)
}
