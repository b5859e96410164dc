package sessions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"understudy/core"
	"understudy/core/llm"
)

// maxOffered is how many threads or turns a list offers.
const maxOffered = 5

// opens reports whether a place only opens threads, so that what is meant to
// change a conversation is meant for one of them.
func (s *Settings) opens(place core.Thread) bool {
	return place.Shared() && place == place.Holder() && s.Threads != nil && s.Threads(place)
}

// cmdStop cuts off the turn that runs in the session. Given for a place that
// holds threads it also means the turns in them that the caller started; of
// several the caller is asked which. Admins stop all of a place at once.
func cmdStop(c *call) (func(ChoiceTx) core.Reply, error) {
	all := strings.EqualFold(c.inv.Args, "all")
	switch {
	case c.inv.Args != "" && !all:
		return say(stopUsageText), nil
	case all && !c.admin():
		return say(adminsOnlyText("stop all")), nil
	}
	runs := c.b.runs(func(r *running) bool {
		inside := c.place == c.place.Holder() && r.in.Message.Thread().Holder().Key() == c.place.Key()
		return r.in.Session == c.key || inside && (all || r.in.Message.Author.ID == c.inv.Author.ID)
	})
	if len(runs) == 0 {
		c.after = func() { c.b.clearWorking(c.inv.Target) }
		return say(nothingToStopText), nil
	}
	if all || len(runs) == 1 {
		stopped := 0
		for _, r := range runs {
			if c.b.stopTurn(r) {
				stopped++
			}
		}
		switch {
		case all:
			return say(stoppedAllText(stopped)), nil
		case runs[0].in.Session == c.key:
			return say(stoppedText), nil
		}
		return say(stoppedNamedText(runs[0].in.Message.Text)), nil
	}
	k := c.newPage(step{to: stopTurn})
	var r core.Reply
	for i, run := range runs[:min(len(runs), maxOffered)] {
		k.steps = append(k.steps, step{to: stopTurn, turn: run})
		r.Buttons = append(r.Buttons, core.Button{Label: "Stop " + excerpt(run.in.Message.Text), Value: strconv.Itoa(i), Danger: true})
	}
	return c.withButtons(k, r, stopWhichText(len(runs))), nil
}

// withButtons finishes a reply whose buttons lead through a page.
func (c *call) withButtons(k page, r core.Reply, text string) func(ChoiceTx) core.Reply {
	token := c.b.pages.keep(k)
	for i := range r.Buttons {
		r.Buttons[i].Token = token
	}
	r.Text = text
	return func(ChoiceTx) core.Reply { return r }
}

// inThread offers the caller's threads of a place that only opens threads: the
// command is meant for one of them.
func (c *call) inThread() (func(ChoiceTx) core.Reply, error) {
	heard, err := c.b.Store.Heard(c.ctx, Where{Platform: c.place.Platform, Account: c.place.Account, Holder: c.place.Key(), Author: c.inv.Author.ID}, maxOffered+1)
	if err != nil {
		return nil, fmt.Errorf("reading the recent threads: %w", err)
	}
	// The place itself may have been spoken in before it opened threads.
	heard = slices.DeleteFunc(heard, func(h Heard) bool { return h.Session == c.key || h.Session.Agent != c.key.Agent })
	if len(heard) == 0 {
		return say(noThreadText(c.inv.Name)), nil
	}
	k := c.newPage(step{to: giveCommand})
	var r core.Reply
	for i, h := range heard[:min(len(heard), maxOffered)] {
		s, err := c.b.Store.Session(c.ctx, h.Session)
		if err != nil {
			return nil, fmt.Errorf("reading a session: %w", err)
		}
		target := s.Target
		if target.Thread.Platform == "" {
			target = core.Target{Thread: h.Thread}
		}
		k.steps = append(k.steps, step{to: giveCommand, name: c.inv.Name, args: c.inv.Args, key: h.Session, target: target})
		r.Buttons = append(r.Buttons, core.Button{Label: c.b.titleOf(c.ctx, s, h), Value: strconv.Itoa(i)})
	}
	return c.withButtons(k, r, whichThreadText(c.inv.Name)), nil
}

// titleOf names a thread by what a person said there last.
func (b *Bot) titleOf(ctx context.Context, s Session, h Heard) string {
	entries, err := b.Store.Transcript(ctx, s.Key, s.Transcript, 20)
	if err == nil {
		for _, e := range slices.Backward(entries) {
			if text := e.Message.Text(); e.Message.Role == llm.User && text != "" {
				return excerpt(text)
			}
		}
	}
	return h.At.UTC().Format("Jan 2 15:04 MST")
}

// excerpt is the beginning of what somebody said, for naming it.
func excerpt(text string) string {
	const most = 40
	text = strings.Join(strings.Fields(strings.NewReplacer("`", "", "*", "", "_", "").Replace(text)), " ")
	if r := []rune(text); len(r) > most {
		text = strings.TrimSpace(string(r[:most-1])) + "…"
	}
	return "“" + cmp.Or(text, "…") + "”"
}

// runs are the running turns that a test picks, the oldest first.
func (b *Bot) runs(pick func(*running) bool) []*running {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []*running
	for _, l := range b.lanes {
		if l.running != nil && pick(l.running) {
			list = append(list, l.running)
		}
	}
	slices.SortFunc(list, func(x, y *running) int { return cmp.Compare(x.in.Seq, y.in.Seq) })
	return list
}

// stopTurn cuts a turn off, if it still runs.
func (b *Bot) stopTurn(r *running) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.lanes[r.in.Session]; l == nil || l.running != r {
		return false
	}
	r.cancel(errStopped)
	return true
}

// clearWorking ends an indicator that is on though nothing runs.
func (b *Bot) clearWorking(t core.Target) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.spawn(b.Sender.Working(t))
	}
}
