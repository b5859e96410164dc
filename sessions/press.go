package sessions

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
)

const (
	// pageLife is how long a page can be picked from.
	pageLife = 30 * time.Minute
	// maxPages are kept at most; the oldest go first.
	maxPages = 1000
)

// step is what an option or a button leads to. Models are kept as they are,
// never as text that somebody would have to take apart again.
type step struct {
	to       goal
	provider string
	ref      llm.Ref
	lock     string // a profile; "" is any
	from     int    // first option of a page
	// name and args are a command, for the session key in target.
	name, args string
	key        core.Key
	target     core.Target
	turn       *running
}

// goal says what a step does.
type goal int

// The goals. Those that show something come first.
const (
	showProviders goal = iota
	showModels
	showProfiles
	chooseModel
	chooseDefault
	giveCommand
	stopTurn
	forgetCaller
)

// page is what stands behind a list that was shown: where its options lead,
// whatever has changed since.
type page struct {
	command string // that the list belongs to
	shown   step   // that showed it
	steps   []step // by value
	key     core.Key
	place   core.Thread // of the session
	target  core.Target // where the command was given
	owner   string      // who may pick
	made    time.Time
}

// pages are the lists that can be picked from. After a restart there are none,
// and the lists of before say that they are out of date.
type pages struct {
	mu    sync.Mutex
	list  map[string]page
	order []string
}

func (p *pages) keep(k page) (token string) {
	token = rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list == nil {
		p.list = map[string]page{}
	}
	if len(p.order) >= maxPages {
		delete(p.list, p.order[0])
		p.order = p.order[1:]
	}
	p.list[token] = k
	p.order = append(p.order, token)
	return token
}

func (p *pages) find(token string, now time.Time) (page, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, ok := p.list[token]
	return k, ok && now.Sub(k.made) < pageLife
}

// at reports whether a press came from where the page was shown. Platforms do
// not always know the thread of a message that only one person sees.
func (k page) at(t core.Thread) bool {
	shown := k.target.Thread
	return shown.Platform == t.Platform && shown.Account == t.Account && shown.Workspace == t.Workspace && shown.Channel == t.Channel
}

// Press carries out a pick from a menu or a click on a button; see
// [core.Handler].
func (b *Bot) Press(ctx context.Context, p core.Press) (core.Reply, error) {
	if name, ok := strings.CutPrefix(p.Token, "/"); ok {
		return b.pressCommand(ctx, name, p)
	}
	k, ok := b.pages.find(p.Token, b.Now())
	if !ok || !k.at(p.Target.Thread) {
		return core.Reply{Text: oldMenuText}, nil
	}
	set := b.Settings()
	if k.owner != p.Author.ID && !set.admin(p.Target.Thread.Platform, p.Author) {
		return core.Reply{Text: notYoursText, Aside: true}, nil
	}
	target := k.target
	target.Recipient, target.RecipientTeam = p.Target.Recipient, p.Target.RecipientTeam
	c := b.call(ctx, set, k.key, k.place, core.Invocation{ID: p.ID, Author: p.Author, Target: target, Name: k.command, Native: true})
	c.owner = k.owner
	n, err := strconv.Atoi(p.Value)
	if err != nil || n < 0 || n >= len(k.steps) {
		return c.refreshed(k)
	}
	return c.take(k, k.steps[n])
}

// pressCommand runs the command of a button that needs no page, such as that
// under a notice for admins. Whoever presses it needs the right to the command.
// Only a command that did what the button is for takes the button away.
func (b *Bot) pressCommand(ctx context.Context, name string, p core.Press) (core.Reply, error) {
	name, args, _ := strings.Cut(name, " ")
	if args == "" {
		args = p.Value
	}
	r, err := b.Command(ctx, core.Invocation{ID: p.ID, Author: p.Author, Target: p.Target, Name: name, Args: args, Native: true})
	r.Aside = !r.Done
	return r, err
}

// take follows a step of a page.
func (c *call) take(k page, s step) (core.Reply, error) {
	switch s.to {
	case giveCommand:
		inv := c.inv
		inv.Name, inv.Args, inv.Target = s.name, s.args, s.target
		inv.Target.Recipient, inv.Target.RecipientTeam = c.inv.Target.Recipient, c.inv.Target.RecipientTeam
		return c.b.command(c.ctx, c.set, s.key, s.target.Thread, inv)
	case forgetCaller:
		if k.owner != c.inv.Author.ID { // an admin may press, but means somebody else
			return core.Reply{Text: notYoursText, Aside: true}, nil
		}
		return c.b.carryOut(c, func() (func(ChoiceTx) core.Reply, error) {
			return c.forget(Person{c.inv.Target.Thread.Platform, c.inv.Author.ID})
		}, nil, nil)
	case stopTurn:
		if !c.b.stopTurn(s.turn) {
			return core.Reply{Text: overText}, nil
		}
		return core.Reply{Text: stoppedNamedText(s.turn.in.Message.Text)}, nil
	case chooseModel, chooseDefault:
		return c.pick(k, s)
	}
	if err := c.load(); err != nil {
		return core.Reply{}, err
	}
	return c.page(s)
}

// pick makes a choice, if it can still be made.
func (c *call) pick(k page, s step) (core.Reply, error) {
	if c.set.ModelAdmins && !c.admin() {
		return core.Reply{Text: adminsOnlyText("model"), Aside: true}, nil
	}
	change := func(Choice) Choice { return Choice{} }
	if s.to == chooseModel {
		ok, err := c.offers(s.ref, s.lock)
		if err != nil {
			return core.Reply{}, err
		}
		if !ok {
			return c.refreshed(k)
		}
		now := c.b.Now()
		change = func(Choice) Choice {
			return Choice{Model: s.ref, Source: failover.FromUser, Since: now, Lock: s.lock}
		}
	}
	return c.b.carryOut(c, func() (func(ChoiceTx) core.Reply, error) { return c.choose(change), nil }, nil, nil)
}

// refreshed shows a page anew, since what it offered is gone.
func (c *call) refreshed(k page) (core.Reply, error) {
	if k.shown.to > showProfiles {
		return core.Reply{Text: oldMenuText}, nil
	}
	if err := c.load(); err != nil {
		return core.Reply{}, err
	}
	s := k.shown
	s.from = 0
	r, err := c.page(s)
	if err == nil && len(r.Menus) == 0 {
		r, err = c.page(step{to: showProviders}) // the provider is gone as well
	}
	r.Text = fmt.Sprintf("%s\n%s", listChangedText, r.Text)
	return r, err
}
