package main

import (
	"slices"

	"understudy/core/failover"
	"understudy/core/llm"
)

// check finds what is wrong between keys. Parts that could not be read are left
// alone; their errors are told already.
func (d *configDecoder) check(c *config) {
	d.checkAgents(c)
	d.checkBindings(c)
	d.checkModels(c)
	d.checkOrder(c)
	d.checkIDs(c)
}

// checkIDs finds ids that their platform does not have: nothing would ever match
// them.
func (d *configDecoder) checkIDs(c *config) {
	for i, u := range c.Admin.Users {
		if u == (address{}) {
			continue
		}
		if _, err := parsePerson(u.String()); err != nil {
			d.fail(itemPath("admin.users", i), "found %s; %v", quoted(u.String()), err)
		}
	}
	if at := c.Admin.Channel; at != (address{}) {
		if err := at.placeError(); err != nil {
			d.fail("admin.channel", "found %s; %v", quoted(at.String()), err)
		}
	}
	want := func(path, id, form string) {
		if f := forms[form]; id != "" && !f.fits(id) {
			d.fail(path, "found %s; want %s", quoted(id), f.want)
		}
	}
	for _, id := range sortedNames(c.Channels.Discord.Places) {
		if f := forms["discordID"]; !f.fits(id) {
			d.fail(subPath("channels.discord.places", id), "there is no such place; want %s", f.want)
		}
	}
	for _, id := range sortedNames(c.Channels.Slack.Places) {
		if f := forms["slackPlace"]; !f.fits(id) {
			d.fail(subPath("channels.slack.places", id), "there is no such place; want %s", f.want)
		}
	}
	for i, b := range c.Bindings {
		path := itemPath("bindings", i)
		want(path+".guild", b.Guild, "discordID")
		want(path+".category", b.Category, "discordID")
		want(path+".role", b.Role, "discordID")
		want(path+".workspace", b.Workspace, "slackWorkspace")
		if _, ok := forms[b.Platform+"User"]; ok {
			want(path+".user", b.User, b.Platform+"User")
			want(path+".channel", b.Channel, b.Platform+"Channel")
		}
	}
}

// checkAgents moves the agents of the older list to the entries and looks at
// all of them.
func (d *configDecoder) checkAgents(c *config) {
	a := &c.Agents
	if m := a.Defaults.Model; m.Primary == (llm.Ref{}) {
		d.missing("agents.defaults.model", "primary")
	}
	d.checkAgent(&a.Defaults, "agents.defaults")
	for _, id := range sortedNames(a.Entries) {
		e := a.Entries[id]
		d.checkAgent(&e, subPath("agents.entries", id))
	}
	for i, l := range a.List {
		path := itemPath("agents.list", i)
		d.checkAgent(&l.agentConfig, path)
		if l.ID == "" {
			d.missing(path, "id")
			continue
		}
		if _, dup := a.Entries[l.ID]; dup {
			other := d.placeOf(c, l.ID)
			line, column := lineColumn(d.data, d.at[other])
			d.fail(path, "the agent %s is at %s (line %d, column %d) already; keep one of the two", quoted(l.ID), other, line, column)
			continue
		}
		if a.Entries == nil {
			a.Entries = map[string]agentConfig{}
		}
		a.Entries[l.ID] = l.agentConfig
	}
}

func (d *configDecoder) checkAgent(a *agentConfig, path string) {
	if a.ImageModel.Primary == (llm.Ref{}) {
		d.missing(path+".imageModel", "primary")
	}
	for i, name := range a.Tools {
		if name != "" && !slices.Contains(d.tools, name) {
			d.fail(itemPath(path+".tools", i), "there is no tool %s%s; there are: %s", quoted(name), didYouMean(name, d.tools), someNames(d.tools))
		}
	}
}

// missing notes that a key is not in an object that is written.
func (d *configDecoder) missing(path, key string) {
	if _, written := d.at[path]; !written {
		return
	}
	if _, there := d.at[subPath(path, key)]; there {
		return
	}
	if slices.ContainsFunc(d.errs, func(e *configError) bool { return e.Key == path }) {
		return // it is no object at all, or another text than it should be
	}
	d.fail(path, "%s is missing", key)
}

// placeOf is the key path of an agent that was read.
func (d *configDecoder) placeOf(c *config, id string) string {
	path := subPath("agents.entries", id)
	if _, ok := d.at[path]; ok {
		return path
	}
	i := slices.IndexFunc(c.Agents.List, func(l listedAgent) bool { return l.ID == id })
	return itemPath("agents.list", i)
}

func (d *configDecoder) checkBindings(c *config) {
	ids := c.agentIDs()
	for i, b := range c.Bindings {
		path := itemPath("bindings", i)
		switch {
		case b.Agent == "":
			d.missing(path, "agent")
		case !slices.Contains(ids, b.Agent):
			d.fail(path+".agent", "there is no agent %s%s; there are: %s", quoted(b.Agent), didYouMean(b.Agent, ids), someNames(ids))
		}
		for _, only := range []struct{ key, value, platform string }{
			{"guild", b.Guild, "discord"}, {"category", b.Category, "discord"}, {"role", b.Role, "discord"}, {"workspace", b.Workspace, "slack"},
		} {
			if only.value != "" && b.Platform != "" && b.Platform != only.platform {
				d.fail(subPath(path, only.key), "only %s has this, but the binding is for %s; it would never match", only.platform, b.Platform)
			}
		}
	}
}

func (d *configDecoder) checkModels(c *config) {
	for _, id := range sortedNames(c.Models.Providers) {
		path := subPath("models.providers", id)
		seen := map[string]bool{}
		for i, m := range c.Models.Providers[id].Models {
			at := itemPath(path+".models", i)
			if m.ID == "" {
				d.missing(at, "id")
			} else if seen[m.ID] {
				d.fail(at, "the model %s is in the list already", quoted(m.ID))
			}
			seen[m.ID] = true
			d.missing(at+".cost", "input")
			d.missing(at+".cost", "output")
		}
	}
}

// checkOrder finds orders that point to nothing: of a provider that nothing
// names, of no profile at all, or of another provider's.
func (d *configDecoder) checkOrder(c *config) {
	known := c.namedProviders()
	for _, provider := range sortedNames(c.Auth.Order) {
		path := subPath("auth.order", provider)
		if !slices.Contains(known, provider) {
			d.fail(path, "nothing else names a provider %s%s", quoted(provider), didYouMean(provider, known))
		}
		order := c.Auth.Order[provider]
		if order != nil && len(order) == 0 {
			d.fail(path, "the list is empty, so that no profile could ever be used; leave the key out to use all")
		}
		seen := map[string]bool{}
		for i, id := range order {
			at := itemPath(path, i)
			switch {
			case id == "":
			case failover.ProviderOf(id) != provider:
				d.fail(at, "found %s; want a profile of this provider, %s", quoted(id), quoted(provider+":name"))
			case seen[id]:
				d.fail(at, "found %s for the second time", quoted(id))
			}
			seen[id] = true
		}
	}
}

// namedProviders are the built-in providers and all that the file names outside
// of auth.order, sorted.
func (c *config) namedProviders() []string {
	list := builtinProviders()
	models := func(m failover.Models) {
		list = append(list, m.Primary.Provider)
		for _, r := range m.Fallbacks {
			list = append(list, r.Provider)
		}
	}
	agent := func(a agentConfig) {
		models(a.Model)
		models(a.ImageModel)
	}
	agent(c.Agents.Defaults)
	for _, a := range c.Agents.Entries {
		agent(a)
	}
	list = append(list, c.Compaction.Model.Provider)
	for _, r := range c.Models.Aliases {
		list = append(list, r.Provider)
	}
	for id := range c.Models.Providers {
		list = append(list, id)
	}
	for _, p := range c.Auth.Profiles {
		list = append(list, p.Provider)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(id string) bool { return id == "" })
}
