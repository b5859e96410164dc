package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"understudy/core/auth"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
)

// checkReport is what "understudy check" finds.
type checkReport struct {
	Agents   []checkedAgent `json:"agents"`
	Warnings []string       `json:"warnings"`
}

type checkedAgent struct {
	Agent  string         `json:"agent"`
	Chains []checkedChain `json:"chains"`
}

// checkedChain is what a turn of one source would try now.
type checkedChain struct {
	Source     failover.Source    `json:"source"`
	Strict     bool               `json:"strict"`
	Candidates []checkedCandidate `json:"candidates"`
}

type checkedCandidate struct {
	Model    llm.Ref          `json:"model"`
	Profiles []checkedProfile `json:"profiles"`
	Problem  string           `json:"problem,omitempty"`
}

// checkedProfile is a profile in the order in which it would be asked. A blocked
// one is asked last, if at all.
type checkedProfile struct {
	ID      string     `json:"id"`
	Blocked llm.Reason `json:"blocked,omitempty"`
	Until   *time.Time `json:"until,omitempty"`
}

// check is "understudy check": which chain and profiles a turn would try now, by
// agent and source, and what is legal but surely not wanted.
func check(ctx context.Context, c console, args []string) error {
	f := flags(c, "check")
	configPath := f.String("config", "", "the configuration file")
	asJSON := f.Bool("json", false, "print JSON")
	if err := parseAlone(f, args); err != nil {
		return err
	}
	s, err := loadFor(c, *configPath)
	if err != nil {
		return err
	}
	if s.config.Agents.Defaults.Model.Zero() {
		useCast(s.config)
	}
	states, err := s.states(ctx)
	if err != nil {
		return err
	}
	r := s.check(states, time.Now())
	if *asJSON {
		enc := json.NewEncoder(c.out)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	r.print(c.out, time.Now())
	return nil
}

// states are the profile states in the bot's store, by agent; empty without a
// store.
func (s *setup) states(ctx context.Context) (map[string]map[string]failover.State, error) {
	if _, err := os.Stat(s.config.Store.Path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	st, err := s.openStore(ctx, s.config.Store.Path, false)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	all := map[string]map[string]failover.State{}
	for _, agent := range s.config.agentIDs() {
		if all[agent], err = st.States(ctx, agent); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// book is the list of profiles, without clients.
func (s *setup) book() *auth.Book {
	return auth.New(auth.Config{
		Keys: s.keys, Declared: s.config.declared(), Order: s.config.Auth.Order,
		Known: s.config.providerKnown, Keyless: s.config.providerKeyless,
	})
}

// check looks at every agent and source.
func (s *setup) check(states map[string]map[string]failover.State, now time.Time) checkReport {
	book := s.book()
	var r checkReport
	for _, id := range s.config.agentIDs() {
		p := s.config.policy(id)
		model, source := p.Resolve()
		if model == (llm.Ref{}) {
			r.Warnings = append(r.Warnings, "agent "+id+" has no model")
			continue
		}
		a := checkedAgent{Agent: id}
		for _, src := range []failover.Source{source, failover.FromUser, failover.FromHeartbeat, failover.FromCron} {
			chain := checkedChain{Source: src}
			refs := p.Chain(model, src)
			chain.Strict = len(refs) == 1
			for _, ref := range refs {
				chain.Candidates = append(chain.Candidates, candidate(book, states[id], id, ref, now))
			}
			a.Chains = append(a.Chains, chain)
		}
		r.Agents = append(r.Agents, a)
		r.Warnings = append(r.Warnings, s.config.warnings(id, a.Chains[0])...)
	}
	if m := s.config.Compaction.Model; m != (llm.Ref{}) {
		if x := candidate(book, states[mainAgent], mainAgent, m, now); x.Problem != "" {
			r.Warnings = append(r.Warnings, fmt.Sprintf("compaction.model: %s is never asked: %s", m, x.Problem))
		}
	}
	for _, id := range book.Missing() {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the profile %s has no credential, so it is never used", id))
	}
	r.Warnings = append(r.Warnings, s.unheard()...)
	slices.Sort(r.Warnings)
	r.Warnings = slices.Compact(r.Warnings)
	return r
}

func candidate(book *auth.Book, states map[string]failover.State, agent string, ref llm.Ref, now time.Time) checkedCandidate {
	c := checkedCandidate{Model: ref}
	ps, err := book.List(agent, ref.Provider)
	switch {
	case err != nil:
		c.Problem = err.Error()
	case !ps.Known:
		c.Problem = "its provider is not configured"
	case len(ps.List) == 0:
		c.Problem = "there is no credential; set " + keyName(ref.Provider)
	}
	for _, p := range ps.Ranked(states, ref.Model, now) {
		out := checkedProfile{ID: p.Profile.ID}
		if p.Block.Live() {
			out.Blocked, out.Until = p.Block.Reason, &p.Block.Until
		}
		c.Profiles = append(c.Profiles, out)
	}
	return c
}

// warnings are about what can surely never help.
func (c *config) warnings(agent string, chain checkedChain) []string {
	var list []string
	warn := func(format string, args ...any) {
		list = append(list, "agent "+agent+": "+fmt.Sprintf(format, args...))
	}
	providers := map[string]bool{}
	for i, x := range chain.Candidates {
		providers[x.Model.Provider] = true
		if x.Problem != "" {
			warn("%s is never asked: %s", x.Model, x.Problem)
		}
		last := i == len(chain.Candidates)-1
		most := 1 + min(c.Auth.Cooldowns.RateLimitedProfileRotations, c.Auth.Cooldowns.OverloadedProfileRotations)
		if n := len(x.Profiles); !last && n > most {
			warn("of the %d profiles of %s only %d are asked when it is rate-limited or overloaded; %s then waits for the next turn (auth.cooldowns.rateLimitedProfileRotations, overloadedProfileRotations)",
				n, x.Model.Provider, most, x.Profiles[n-1].ID)
		}
	}
	first := chain.Candidates[0]
	if len(chain.Candidates) > 1 && len(providers) == 1 {
		warn("every fallback of %s is of the same provider, so an outage of %s leaves nobody", first.Model, first.Model.Provider)
	}
	if chain.Strict && chain.Source == failover.FromAgent && len(first.Profiles) < 2 {
		warn("%s is strict and has one credential, so nothing can step in for it", first.Model)
	}
	return list
}

// unheard are the accounts that answer nobody, or nobody in channels. That is a
// choice, and no fault of theirs: they are ready all the same.
func (s *setup) unheard() (list []string) {
	for _, a := range []struct {
		platform, policy string
		on               bool
		allow            []string
	}{
		{"discord", s.config.Channels.Discord.DMPolicy, s.env.DiscordToken.Set(), s.config.Channels.Discord.Allow},
		{"slack", s.config.Channels.Slack.DMPolicy, s.env.SlackBotToken.Set(), s.config.Channels.Slack.Allow},
	} {
		if !a.on || len(a.allow) > 0 {
			continue
		}
		where := ""
		if a.policy == "open" || a.policy == "pairing" {
			where = " in channels"
		}
		list = append(list, fmt.Sprintf("%s: nobody may talk to the bot%s: the list of allowed ids is empty; set UNDERSTUDY_%s_ALLOW or channels.%s.allow",
			a.platform, where, strings.ToUpper(a.platform), a.platform))
	}
	return list
}

// print writes the report for people.
func (r checkReport) print(out io.Writer, now time.Time) {
	for _, a := range r.Agents {
		fmt.Fprintf(out, "agent %s\n", a.Agent)
		for _, chain := range a.Chains {
			names := make([]string, len(chain.Candidates))
			for i, x := range chain.Candidates {
				names[i] = x.Model.String()
			}
			strict := ""
			if chain.Strict {
				strict = " (strict)"
			}
			fmt.Fprintf(out, "  %-10s %s%s\n", chain.Source, strings.Join(names, " → "), strict)
		}
		for _, x := range a.Chains[0].Candidates {
			fmt.Fprintf(out, "    %s: %s\n", x.Model, x.words(now))
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(out, "warning: %s\n", w)
	}
}

func (x checkedCandidate) words(now time.Time) string {
	if x.Problem != "" {
		return x.Problem
	}
	list := make([]string, len(x.Profiles))
	for i, p := range x.Profiles {
		list[i] = p.ID
		if p.Until != nil {
			list[i] += fmt.Sprintf(" (%s, for %s)", p.Blocked.Words(), notices.About(p.Until.Sub(now)))
		}
	}
	return strings.Join(list, ", ")
}
