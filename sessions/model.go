package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
)

// cmdModel shows or changes the model of a session.
func cmdModel(c *call) (func(ChoiceTx) core.Reply, error) {
	if c.inv.Args == "" {
		return c.showModel()
	}
	if c.set.ModelAdmins && !c.admin() {
		return say(adminsOnlyText("model")), nil
	}
	change, text, err := c.parseChoice(c.inv.Args)
	if err != nil {
		return nil, err
	}
	if change == nil {
		return say(text), nil
	}
	return c.choose(change), nil
}

// parseChoice reads "default", "@profile", or a model with an optional
// "@profile". It returns the change to the stored choice, or a text that says
// why there is none.
func (c *call) parseChoice(args string) (func(Choice) Choice, string, error) {
	now := c.b.Now()
	if strings.EqualFold(args, "default") {
		return func(Choice) Choice { return Choice{} }, "", nil
	}
	name, profile, locked := c.cutProfile(args)
	if name == "" && !locked || locked && profile == "" {
		return nil, modelUsageText, nil
	}
	var ref llm.Ref
	if name != "" {
		r, ok := c.set.find(name)
		if !ok {
			return nil, unknownModelText(name, c.set.Nearest(name, 3)), nil
		}
		if why, ok := c.set.allowed(c.key.Agent, r); !ok {
			return nil, refusedModelText(r, why, c.set.Nearest(name, 3)), nil
		}
		ref = r
	}
	lock := ""
	if locked {
		provider := ref.Provider
		if name == "" {
			provider = c.set.resolve(c.key.Agent, c.sess.Choice).Model.Provider
		}
		id, text, err := c.findProfile(provider, profile)
		if err != nil || id == "" {
			return nil, text, err
		}
		lock = id
	}
	if name == "" {
		return func(old Choice) Choice { old.Lock = lock; return old }, "", nil
	}
	return func(Choice) Choice {
		return Choice{Model: ref, Source: failover.FromUser, Since: now, Lock: lock}
	}, "", nil
}

// cutProfile cuts "model@profile". Models and profiles may hold an "@" of their
// own: the first cut that leaves a profile counts, else the first possible one.
func (c *call) cutProfile(args string) (name, profile string, locked bool) {
	args = strings.TrimSpace(args)
	if r, ok := llm.ParseRef(args); ok && slices.Contains(c.set.Offered, r) {
		return args, "", false
	}
	first := -1
	for i := range len(args) {
		if args[i] != '@' || i > 0 && args[i-1] == '/' || strings.Contains(args[i+1:], "/") {
			continue // of a model, as in "openrouter/@cf/meta/llama"
		}
		if first < 0 {
			first = i
		}
		if r, ok := c.set.find(strings.TrimSpace(args[:i])); ok {
			if id, _, err := c.findProfile(r.Provider, strings.TrimSpace(args[i+1:])); err == nil && id != "" {
				first = i
				break
			}
		}
	}
	if first < 0 {
		return args, "", false
	}
	return strings.TrimSpace(args[:first]), strings.TrimSpace(args[first+1:]), true
}

// findProfile reads a profile as people write it: its id, or the part after the
// provider.
func (c *call) findProfile(provider, word string) (id, text string, err error) {
	if p, _, ok := strings.Cut(word, ":"); ok && p != "" {
		provider = p
	}
	ps, err := c.set.Profiles(c.key.Agent, provider)
	if err != nil {
		return "", "", fmt.Errorf("reading the profiles of %s: %w", provider, err)
	}
	var names []string
	for _, p := range ps.List {
		if p.ID == word || p.ID == provider+":"+word {
			return p.ID, "", nil
		}
		names = append(names, p.ID)
	}
	return "", unknownProfileText(provider, word, names), nil
}

// choose writes a choice, with the mark for a turn that runs meanwhile, in one
// update; the running turn is woken once the reply is on its way.
func (c *call) choose(change func(Choice) Choice) func(ChoiceTx) core.Reply {
	mark := c.b.NewID()
	c.after = func() { c.b.wake(c.key) }
	return func(tx ChoiceTx) core.Reply {
		s := tx.Session()
		before := c.set.resolve(c.key.Agent, s.Choice)
		next := change(s.Choice)
		after := c.set.resolve(c.key.Agent, next)
		tx.SetChoice(next)
		s.Fresh = next.Model != (llm.Ref{})
		if before.Model != after.Model {
			s.Notice = notices.State{}
		}
		if before != after {
			// Also where no turn runs: one may have begun beside this.
			s.Pending = &Pending{ID: mark, Model: after.Model, Lock: after.Lock}
		}
		tx.SetSession(s)
		return core.Reply{Text: chosenText(c, next, after)}
	}
}

// SelectModel is a choice of model that comes without a message: by the tool
// session_status, for the user who talks, and by whoever administers sessions.
// It is the same as the command and returns the text of its reply.
func (b *Bot) SelectModel(ctx context.Context, key core.Key, target core.Target, word string) (string, error) {
	r, err := b.execute(ctx, key, target.Thread, core.Invocation{Name: "model", Args: word, Target: target}, nil)
	return r.Text, err
}

// showModel tells what is selected and what can be: as pages to pick from for a
// native command, as a list for a text.
func (c *call) showModel() (func(ChoiceTx) core.Reply, error) {
	if c.inv.Native {
		r, err := c.page(step{to: showProviders})
		return func(ChoiceTx) core.Reply { return r }, err
	}
	head, err := c.statusLines()
	if err != nil {
		return nil, err
	}
	lines, err := c.modelLines()
	return say(strings.Join(slices.Concat(head, []string{chooseHintText}, lines), "\n")), err
}

func cmdModels(c *call) (func(ChoiceTx) core.Reply, error) {
	if c.inv.Native {
		r, err := c.page(step{to: showProviders})
		return func(ChoiceTx) core.Reply { return r }, err
	}
	lines, err := c.modelLines()
	if err != nil || len(lines) == 0 {
		return say(nothingOfferedText), err
	}
	return say(strings.Join(append([]string{modelsHeadText}, lines...), "\n")), nil
}

// Complete offers models, aliases and words for the argument of a command; see
// [core.Handler].
func (b *Bot) Complete(ctx context.Context, inv core.Invocation) ([]core.Choice, error) {
	set := b.Settings()
	var all []core.Choice
	if inv.Name == "model" {
		agent := set.agentOf(core.Message{Author: inv.Author, Target: inv.Target})
		for _, r := range set.pickable(agent) {
			all = append(all, core.Choice{Label: r.String(), Value: r.String()})
		}
		for _, a := range sortedKeys(set.Aliases) {
			if _, ok := set.allowed(agent, set.Aliases[a]); !ok {
				continue
			}
			all = append(all, core.Choice{Label: a + " (" + set.Aliases[a].String() + ")", Value: a})
		}
		all = append(all, core.Choice{Label: "default", Value: "default"})
	}
	cmd, _ := core.FindCommand(inv.Name)
	for _, word := range cmd.Words {
		all = append(all, core.Choice{Label: word, Value: word})
	}
	word := strings.ToLower(inv.Args)
	return slices.DeleteFunc(all, func(c core.Choice) bool { return !strings.Contains(strings.ToLower(c.Label), word) }), nil
}
