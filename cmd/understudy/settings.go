package main

import (
	"cmp"
	"slices"
	"time"

	"understudy/core"
	"understudy/core/auth"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/tool"
	"understudy/sessions"
)

// settings turns the configuration into what the sessions work with.
func (c *config) settings(p parts, book *auth.Book, bot *sessions.Bot) *sessions.Settings {
	agents := map[string]sessions.Agent{}
	for _, id := range c.agentIDs() {
		agents[id] = c.sessionAgent(id, p.tools, bot)
	}
	return &sessions.Settings{
		Agents:        agents,
		PerUser:       c.Session.Scope == "user",
		Bind:          c.bind,
		Override:      p.override,
		Aliases:       c.Models.Aliases,
		Offered:       c.offered(),
		Allow:         c.ModelPolicy.Allow,
		ModelAdmins:   c.ModelPolicy.AdminsOnly,
		Unknown:       p.unknown,
		Sees:          c.sees,
		Window:        c.window,
		Profiles:      book.List,
		Admin:         c.isAdmin,
		Place:         c.manner,
		Threads:       c.opensThreads,
		Repost:        c.StreamingRepost,
		SeedMessages:  c.Thread.SeedMessages,
		MaxAttachment: int64(c.Attachments.MaxBytes),
		PDFs:          c.pdfs,
		Price:         c.price,
		KeepDeleted:   c.Transcript.Deleted == "keep",
		Retention:     c.Retention.said(),
		Quotas:        c.Quotas.limits(),
		Transcribe:    p.transcribe,
		MaxToolRounds: c.MaxToolRounds,

		CompactionModel:   c.Compaction.Model,
		CompactionTimeout: c.Timeouts.Compact,
		TurnTimeout:       c.Timeouts.Turn,
		ToolTimeout:       c.Timeouts.Tool,
	}
}

func (c *config) sessionAgent(id string, more []tool.Tool, bot *sessions.Bot) sessions.Agent {
	a := c.agent(id)
	out := sessions.Agent{
		Policy: c.policy(id), Image: a.ImageModel, System: a.SystemPrompt.Text,
		Temperature: a.Temperature, MaxTokens: a.MaxTokens,
	}
	switch {
	case c.Agents.Entries[id].ModelPolicy.Allow != nil:
		out.Picks = sessions.Picks{Key: "agents.entries." + id + ".modelPolicy.allow", Models: c.Agents.Entries[id].ModelPolicy.Allow}
	case c.Agents.Defaults.ModelPolicy.Allow != nil:
		out.Picks = sessions.Picks{Key: "agents.defaults.modelPolicy.allow", Models: c.Agents.Defaults.ModelPolicy.Allow}
	}
	for _, t := range append([]tool.Tool{bot.StatusTool()}, more...) {
		if slices.Contains(a.Tools, t.Spec().Name) {
			out.Tools = append(out.Tools, t)
		}
	}
	return out
}

// bind is the agent of the first binding that fits.
func (c *config) bind(m core.Message) string {
	t := m.Thread()
	fits := func(want, have string) bool { return want == "" || want == have }
	for _, b := range c.Bindings {
		guild := cmp.Or(b.Guild, b.Workspace)
		if fits(b.Platform, t.Platform) && fits(b.Account, t.Account) && fits(guild, t.Workspace) &&
			(b.Channel == "" || b.Channel == t.Channel || b.Channel == t.Parent) &&
			fits(b.Category, t.Category) &&
			(b.Role == "" || slices.Contains(m.Author.Roles, b.Role)) && fits(b.User, m.Author.ID) {
			return b.Agent
		}
	}
	return mainAgent
}

func (c *config) isAdmin(platform string, a core.Author) bool {
	return slices.ContainsFunc(c.Admin.Users, func(u address) bool { return u.is(platform, a.ID) })
}

// offered are the models that /models lists: those that are configured
// somewhere, in the order in which a reader of the file meets them.
func (c *config) offered() []llm.Ref {
	var list []llm.Ref
	add := func(refs ...llm.Ref) {
		for _, r := range refs {
			if r != (llm.Ref{}) && !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	add(c.candidates()...)
	for _, name := range sortedNames(c.Models.Aliases) {
		add(c.Models.Aliases[name])
	}
	for _, id := range sortedNames(c.Models.Providers) {
		for _, m := range c.Models.Providers[id].Models {
			add(llm.Ref{Provider: id, Model: m.ID})
		}
	}
	for _, a := range c.ModelPolicy.Allow {
		if r, ok := llm.ParseRef(a); ok && a[len(a)-1] != '*' {
			add(r)
		}
	}
	return list
}

// candidates are the models that some chain holds.
func (c *config) candidates() []llm.Ref {
	models := []failover.Models{c.Agents.Defaults.Model}
	for _, id := range c.agentIDs() {
		models = append(models, c.Agents.Entries[id].Model)
	}
	return withModels(nil, models)
}

// withModels is a list with the models of some chains that it does not have.
func withModels(list []llm.Ref, chains []failover.Models) []llm.Ref {
	for _, m := range chains {
		for _, r := range append([]llm.Ref{m.Primary}, m.Fallbacks...) {
			if r != (llm.Ref{}) && !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list
}

// primary is the model of the main agent.
func (c *config) primary() llm.Ref {
	m, _ := c.policy(mainAgent).Resolve()
	return m
}

// declared are the profiles that the file describes.
func (c *config) declared() []auth.Declared {
	var list []auth.Declared
	for _, p := range c.Auth.Profiles {
		list = append(list, auth.Declared{ID: p.ID, Provider: p.Provider, Type: p.Mode})
	}
	return list
}

// sees reports whether a model reads images, and pdfs whether it reads
// documents.
func (c *config) sees(r llm.Ref) bool { return c.reads(r, "image") }
func (c *config) pdfs(r llm.Ref) bool { return c.reads(r, "pdf") }

// reads: what the file says about a model counts before the catalogue.
func (c *config) reads(r llm.Ref, input string) bool {
	if m, ok := c.model(r); ok && m.Input != nil {
		return slices.Contains(m.Input, input)
	}
	info, ok := llm.Lookup(r)
	return ok && slices.Contains(info.Input, input)
}

func (c *config) window(r llm.Ref) int {
	if m, ok := c.model(r); ok && m.ContextWindow > 0 {
		return m.ContextWindow
	}
	if info, ok := llm.Lookup(r); ok {
		return info.Context
	}
	return llm.SafeDefault.Context
}

// price is what a model costs: what the file says counts before the catalogue.
func (c *config) price(r llm.Ref) *llm.Price {
	if m, ok := c.model(r); ok && m.Cost != nil {
		return &llm.Price{Input: m.Cost.Input, Output: m.Cost.Output, CacheRead: m.Cost.CacheRead, CacheWrite: m.Cost.CacheWrite}
	}
	info, _ := llm.Lookup(r)
	return info.Price
}

// limits are the quotas as the sessions want them.
func (q quotasConfig) limits() sessions.Quotas {
	limit := func(c quotaConfig) sessions.Quota {
		return sessions.Quota{Messages: c.Messages, Tokens: c.Tokens, Cost: llm.Dollars(c.USD)}
	}
	zone, err := time.LoadLocation(q.TimeZone)
	if err != nil {
		zone = time.UTC // the file was checked
	}
	return sessions.Quotas{User: limit(q.User), Place: limit(q.Place), Total: limit(q.Total), ExemptAdmins: q.ExemptAdmins, Zone: zone}
}

// unpriced are the candidates whose price nobody knows while there is a limit of
// money: what they cost does not count towards it.
func (c *config) unpriced() []llm.Ref {
	if q := c.Quotas; q.User.USD == 0 && q.Place.USD == 0 && q.Total.USD == 0 {
		return nil
	}
	return slices.DeleteFunc(c.candidates(), func(r llm.Ref) bool { return c.price(r) != nil })
}

// nearest are the three offered models or aliases closest to a word.
func (c *config) nearest(word string) []string {
	set := sessions.Settings{Offered: c.offered(), Aliases: c.Models.Aliases}
	return set.Nearest(word, 3)
}
