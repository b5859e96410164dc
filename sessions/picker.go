package sessions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
)

// pageSize is how many options a page has. Discord shows 25 in one menu and
// five rows in a message, of which the buttons take one.
const pageSize = 75

// option is a line of a page and where it leads.
type option struct {
	core.Choice
	next step
}

// show makes a page of a list: the options from self.from on, and buttons to
// leaf through them and to go back.
func (c *call) show(text, placeholder string, self step, all []option, back *step) core.Reply {
	self.from = min(max(self.from, 0), max(len(all)-1, 0)/pageSize*pageSize)
	shown := all[self.from:min(self.from+pageSize, len(all))]
	k := c.newPage(self)
	m := core.Menu{Placeholder: placeholder}
	for i, o := range shown {
		o.Value = strconv.Itoa(i)
		m.Options = append(m.Options, o.Choice)
		k.steps = append(k.steps, o.next)
	}
	var buttons []core.Button
	button := func(label string, to step) {
		buttons = append(buttons, core.Button{Label: label, Value: strconv.Itoa(len(k.steps))})
		k.steps = append(k.steps, to)
	}
	turned := func(by int) step { s := self; s.from += by; return s }
	switch {
	case self.from > 0:
		button("Back", turned(-pageSize))
	case back != nil:
		button("Back", *back)
	}
	if self.from+pageSize < len(all) {
		button("More", turned(pageSize))
	}
	if c.sess.Choice != (Choice{}) {
		button(defaultLabel, step{to: chooseDefault})
	}
	if len(all) > len(shown) {
		text += "\n" + pageText(self.from+1, self.from+len(shown), len(all))
	}
	m.Token = c.b.pages.keep(k)
	for i := range buttons {
		buttons[i].Token = m.Token
	}
	r := core.Reply{Text: text, Buttons: buttons}
	if len(m.Options) > 0 {
		r.Menus = []core.Menu{m}
	}
	return r
}

// newPage is an empty page of this call.
func (c *call) newPage(shown step) page {
	return page{command: c.inv.Name, shown: shown, key: c.key, place: c.place, target: c.inv.Target, owner: c.owner, made: c.b.Now()}
}

// page shows what a step leads to. The head of the first page is the command's.
func (c *call) page(s step) (core.Reply, error) {
	refs := c.set.pickable(c.key.Agent)
	providers := providersOf(refs)
	if len(refs) == 0 {
		return core.Reply{Text: nothingOfferedText}, nil
	}
	v, err := c.view()
	if err != nil {
		return core.Reply{}, err
	}
	switch {
	case s.to == showProfiles:
		return c.profilePage(s, v, len(providers) > 1)
	case s.to == showModels || len(providers) == 1:
		if s.provider == "" {
			s = step{to: showModels, provider: providers[0], from: s.from}
		}
		return c.modelPage(s, v, len(providers) > 1)
	}
	text, err := c.head()
	return c.show(text, "Choose a provider", s, v.providers(refs, providers), nil), err
}

// head is the text above the first page of a command.
func (c *call) head() (string, error) {
	if c.inv.Name == "models" {
		return modelsPickText(len(c.set.pickable(c.key.Agent))), nil
	}
	lines, err := c.statusLines()
	return strings.Join(append(lines, choosePickText(len(c.set.pickable(c.key.Agent)))), "\n"), err
}

// modelPage lists the models of one provider.
func (c *call) modelPage(s step, v view, back bool) (core.Reply, error) {
	var all []option
	for _, r := range c.set.pickable(c.key.Agent) {
		if r.Provider == s.provider {
			all = append(all, v.model(r))
		}
	}
	if !back {
		text, err := c.head()
		return c.show(text, "Choose a model", s, all, nil), err
	}
	return c.show(modelsOfText(s.provider, len(all)), "Choose a model", s, all, &step{to: showProviders}), nil
}

// profilePage lists the profiles that a model can be asked with.
func (c *call) profilePage(s step, v view, back bool) (core.Reply, error) {
	all := []option{{
		Choice: core.Choice{Label: anyProfileText, Selected: v.now.Model == s.ref && v.now.Lock == ""},
		next:   step{to: chooseModel, ref: s.ref},
	}}
	ps := v.profiles[s.ref.Provider]
	for _, p := range ps.List {
		o := option{Choice: core.Choice{Label: p.ID, Selected: v.now.Model == s.ref && v.now.Lock == p.ID}, next: step{to: chooseModel, ref: s.ref, lock: p.ID}}
		if b := v.states[p.ID].Blocked(s.ref.Model, v.at); b.Live() {
			o.Note, o.Disabled = blockText(b, v.at), true
		}
		all = append(all, o)
	}
	return c.show(profilesOfText(s.ref), "Choose a credential", s, all, &step{to: showModels, provider: s.ref.Provider}), nil
}

// view is what a page needs to know about models at one moment.
type view struct {
	now      selected
	at       time.Time
	states   map[string]failover.State
	profiles map[string]failover.Profiles // by provider
}

func (c *call) view() (view, error) {
	v := view{now: c.set.resolve(c.key.Agent, c.sess.Choice), at: c.b.Now(), profiles: map[string]failover.Profiles{}}
	var err error
	if v.states, err = c.b.Engine.Store.States(c.ctx, c.key.Agent); err != nil {
		return v, fmt.Errorf("reading the profile states: %w", err)
	}
	for _, name := range providersOf(c.set.pickable(c.key.Agent)) {
		if v.profiles[name], err = c.set.Profiles(c.key.Agent, name); err != nil {
			return v, fmt.Errorf("reading the profiles of %s: %w", name, err)
		}
	}
	return v, nil
}

// note says why nothing can be asked of a model now, or "".
func (v view) note(r llm.Ref) string { return blockNote(v.profiles[r.Provider], v.states, r, v.at) }

// model is the line of a model. It leads to the profiles where there is a
// choice among them.
func (v view) model(r llm.Ref) option {
	o := option{Choice: core.Choice{Label: r.Model, Selected: v.now.Model == r}, next: step{to: chooseModel, ref: r}}
	if note := v.note(r); note != "" {
		o.Note, o.Disabled = note, true
	}
	if len(v.profiles[r.Provider].List) > 1 {
		o.next = step{to: showProfiles, ref: r}
	}
	return o
}

// providers are the lines of the providers. One is greyed when all of its
// models are.
func (v view) providers(refs []llm.Ref, names []string) []option {
	var all []option
	for _, name := range names {
		count, note, free := 0, "", false
		for _, r := range refs {
			if r.Provider != name {
				continue
			}
			count++
			if n := v.note(r); n == "" {
				free = true
			} else if note == "" {
				note = n
			}
		}
		o := option{Choice: core.Choice{Label: name, Note: countText(count), Selected: v.now.Model.Provider == name}, next: step{to: showModels, provider: name}}
		if !free {
			o.Note += "; " + note
		}
		all = append(all, o)
	}
	return all
}

// pickable are the offered models that people may pick where an agent talks.
func (s *Settings) pickable(agent string) []llm.Ref {
	return slices.DeleteFunc(slices.Clone(s.Offered), func(r llm.Ref) bool { _, ok := s.allowed(agent, r); return !ok })
}

// offers reports whether a model, and a profile if one is named, can still be
// picked.
func (c *call) offers(r llm.Ref, lock string) (bool, error) {
	if !slices.Contains(c.set.pickable(c.key.Agent), r) {
		return false, nil
	}
	if lock == "" {
		return true, nil
	}
	ps, err := c.set.Profiles(c.key.Agent, r.Provider)
	if err != nil {
		return false, fmt.Errorf("reading the profiles of %s: %w", r.Provider, err)
	}
	return slices.ContainsFunc(ps.List, func(p failover.Profile) bool { return p.ID == lock }), nil
}

func providersOf(refs []llm.Ref) []string {
	var names []string
	for _, r := range refs {
		if !slices.Contains(names, r.Provider) {
			names = append(names, r.Provider)
		}
	}
	return names
}

// modelLines are all models with their numbers, where there is nothing to pick
// from.
func (c *call) modelLines() ([]string, error) {
	v, err := c.view()
	if err != nil {
		return nil, err
	}
	var lines []string
	for i, r := range c.set.Offered {
		if _, ok := c.set.allowed(c.key.Agent, r); !ok {
			continue
		}
		line := fmt.Sprintf("%d. %s", i+1, r)
		if note := v.note(r); note != "" {
			line += " — " + note
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// blockNote says why nothing can be asked of a model now, or "".
func blockNote(ps failover.Profiles, states map[string]failover.State, r llm.Ref, now time.Time) string {
	if len(ps.List) == 0 {
		return "no credential"
	}
	var first failover.Block
	for _, p := range ps.List {
		b := states[p.ID].Blocked(r.Model, now)
		if !b.Live() {
			return ""
		}
		if !first.Live() || b.Until.Before(first.Until) {
			first = b
		}
	}
	return blockText(first, now)
}

func blockText(b failover.Block, now time.Time) string {
	return fmt.Sprintf("%s, for %s", b.Reason.Words(), notices.About(b.Until.Sub(now)))
}
