package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"understudy/core"
	"understudy/core/delivery"
)

// call is one command being carried out.
type call struct {
	ctx  context.Context
	b    *Bot
	set  *Settings
	key  core.Key
	inv  core.Invocation
	sess Session  // as read before the change
	run  *running // the turn in progress, if any
	// after runs once the change is durable and the reply is on its way.
	after func()
}

// commands are the functions behind core.Commands. Each prepares what it needs
// and returns the change that is committed together with its reply.
var commands = map[string]func(*call) (func(ChoiceTx) core.Reply, error){
	"model":  cmdModel,
	"models": cmdModels,
	"status": cmdStatus,
	"new":    cmdNew,
	"reset":  cmdNew,
	"stop":   cmdStop,
	"help":   cmdHelp,
}

// say is the change of a command that only answers.
func say(text string) func(ChoiceTx) core.Reply {
	return func(ChoiceTx) core.Reply { return core.Reply{Text: text} }
}

// runCommand carries out a command that came as text. Its reply is a post in
// the same thread; change, reply and settled message are one commit.
func (b *Bot) runCommand(in Inbound, c core.Command, args string, dropped ...string) {
	inv := core.Invocation{ID: in.Message.ID, Author: in.Message.Author, Target: in.Message.Target, Name: c.Name, Args: args}
	id := in.Turn
	if id == "" {
		id = b.NewID()
	}
	reply := func(tx Tx, r core.Reply) []delivery.Row {
		var rows []delivery.Row
		text := r.Text
		for _, m := range r.Menus {
			text += "\n" + menuText(m)
		}
		if len(dropped) > 0 {
			text += " " + droppedText(len(dropped))
		}
		for i, part := range b.Sender.Split(in.Message.Target.Thread, text) {
			rows = append(rows, delivery.Row{
				Session: in.Session, Turn: id, Part: i, State: delivery.Queued, Created: b.Now(),
				Post: core.Post{Target: in.Message.Target, Kind: core.PostCommand, Text: part, Nonce: delivery.Nonce(id, core.PostCommand, i)},
			})
		}
		for _, key := range dropped {
			tx.Settle(key)
		}
		tx.Settle(in.Key)
		return tx.Queue(rows...)
	}
	var rows []delivery.Row
	_, err := b.execute(b.base, in.Session, inv, func(tx Tx, r core.Reply) { rows = reply(tx, r) }, func() { b.Sender.Send(rows...) })
	if err != nil && b.base.Err() == nil {
		b.Log.Error("a command failed; its message stays in the inbox", "command", c.Name, "session", in.Session.String(), "err", err)
	}
}

// Command carries out a native command; see [core.Handler].
func (b *Bot) Command(ctx context.Context, inv core.Invocation) (core.Reply, error) {
	set := b.Settings()
	m := core.Message{Author: inv.Author, Target: inv.Target}
	key := core.Key{Agent: set.agentOf(m), Thread: inv.Target.Thread.Key()}
	if _, ok := core.FindCommand(inv.Name); !ok {
		return core.Reply{Text: unknownCommandText(inv.Name)}, nil
	}
	switch {
	case inv.Name == "retry":
		return b.nativeRetry(ctx, key, inv)
	case isReset(inv.Name):
		return b.reset(ctx, key, inv)
	}
	return b.execute(ctx, key, inv, func(Tx, core.Reply) {}, func() {})
}

// reset is a reset that is no message of the lane.
func (b *Bot) reset(ctx context.Context, key core.Key, inv core.Invocation) (core.Reply, error) {
	dropped := b.resetLane(ctx, key)
	r, err := b.execute(ctx, key, inv, func(tx Tx, _ core.Reply) {
		for _, k := range dropped {
			tx.Settle(k)
		}
	}, func() {})
	if err == nil && len(dropped) > 0 {
		r.Text += " " + droppedText(len(dropped))
	}
	return r, err
}

// nativeRetry puts the command in the inbox, since its answer is a turn of the
// thread.
func (b *Bot) nativeRetry(ctx context.Context, key core.Key, inv core.Invocation) (core.Reply, error) {
	m := core.Message{ID: "cmd-" + inv.ID, Author: inv.Author, Target: inv.Target, Text: "/retry", At: b.Now(), Addressed: true}
	in, fresh, err := b.Store.Admit(ctx, Inbound{Key: m.InboxKey(), Session: key, Message: m, At: m.At})
	if err != nil {
		return core.Reply{}, fmt.Errorf("storing /retry: %w", err)
	}
	if fresh {
		b.enqueue(in)
	}
	return core.Reply{Text: retryingText}, nil
}

// execute checks the right to a command, runs it, commits it, and then lets
// what waits for it go on.
func (b *Bot) execute(ctx context.Context, key core.Key, inv core.Invocation, with func(Tx, core.Reply), sent func()) (core.Reply, error) {
	c := &call{ctx: ctx, b: b, set: b.Settings(), key: key, inv: inv, run: b.runningTurn(key)}
	var change func(ChoiceTx) core.Reply
	err := b.guard("a command panicked", inv.Name, func() (err error) {
		change, err = c.prepare()
		return err
	})
	if err != nil {
		return core.Reply{}, err
	}
	var reply core.Reply
	commit := func() error {
		return b.Store.CommitChoice(ctx, key, 0, func(tx ChoiceTx) error {
			reply = change(tx)
			with(tx, reply)
			return nil
		})
	}
	if inv.Native {
		err = commit() // somebody waits for the reply, and may ask again
	} else {
		err = b.insist(commit)
	}
	if err != nil {
		return core.Reply{}, fmt.Errorf("storing what /%s changed: %w", inv.Name, err)
	}
	b.Log.InfoContext(ctx, "command done", "command", inv.Name, "session", key.String())
	sent()
	if c.after != nil {
		c.after()
	}
	return reply, nil
}

func (c *call) prepare() (func(ChoiceTx) core.Reply, error) {
	cmd, ok := core.FindCommand(c.inv.Name)
	if !ok {
		return nil, errors.New("no such command: " + c.inv.Name)
	}
	if cmd.Who == core.Admins && !c.admin() {
		return say(adminsOnlyText(cmd.Name)), nil
	}
	var err error
	if c.sess, err = c.b.open(c.ctx, c.key, c.inv.Target.Thread); err != nil {
		return nil, err
	}
	return commands[cmd.Name](c)
}

func (c *call) admin() bool {
	return c.set.Admin != nil && c.set.Admin(c.inv.Target.Thread.Platform, c.inv.Author)
}

// cmdNew starts an empty transcript under the same key. What a user chose
// stays, unless it is asked for; locks and pins go.
func cmdNew(c *call) (func(ChoiceTx) core.Reply, error) {
	toDefault := strings.EqualFold(c.inv.Args, "default") && c.inv.Name == "new"
	if c.inv.Args != "" && !toDefault {
		return say(newUsageText(c.inv.Name)), nil
	}
	id := c.b.NewID()
	return func(tx ChoiceTx) core.Reply {
		reset := resetSession(tx, id, toDefault)
		sel := c.set.resolve(c.key.Agent, reset.choice)
		return core.Reply{Text: resetText(sel, reset), Public: true}
	}, nil
}

// Reset starts a conversation over, as /reset does, for whoever administers
// sessions.
func (b *Bot) Reset(ctx context.Context, key core.Key) error {
	_, err := b.reset(ctx, key, core.Invocation{Name: "reset", Native: true})
	return err
}

// resetOutcome is what a reset changed, for its confirmation.
type resetOutcome struct {
	choice  Choice
	dropped string // the lock that went
}

// resetSession is what /new, /reset and the API do.
func resetSession(tx ChoiceTx, transcript string, toDefault bool) resetOutcome {
	s := tx.Session()
	c := s.Choice
	out := resetOutcome{dropped: c.Lock}
	c.Lock = ""
	if toDefault || c.Source != "user" && c.Source != "legacy" {
		c = Choice{}
	}
	out.choice = c
	tx.SetChoice(c)
	tx.SetSession(Session{
		Key: s.Key, Transcript: transcript, Fresh: s.Fresh && c.Model == s.Choice.Model,
		Engaged: s.Engaged, LastActive: s.LastActive, LastTurn: s.LastTurn, Target: s.Target,
	})
	return out
}

// cmdStop cuts the running turn off.
func cmdStop(c *call) (func(ChoiceTx) core.Reply, error) {
	if !c.b.stopRunning(c.key) {
		return say(nothingToStopText), nil
	}
	return say(stoppedText), nil
}

func cmdHelp(c *call) (func(ChoiceTx) core.Reply, error) {
	var b strings.Builder
	b.WriteString(helpHeadText)
	for _, cmd := range core.Commands {
		if cmd.Who == core.Admins && !c.admin() {
			continue
		}
		fmt.Fprintf(&b, "\n`/%s", cmd.Name)
		if cmd.Arg != "" {
			fmt.Fprintf(&b, " [%s]", cmd.Arg)
		}
		fmt.Fprintf(&b, "` %s", cmd.Help)
	}
	return say(b.String()), nil
}

// menuText is a menu where there is nothing to click on.
func menuText(m core.Menu) string {
	var b strings.Builder
	for i, o := range m.Options {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(o.Label)
		if o.Note != "" {
			b.WriteString(" — " + o.Note)
		}
	}
	return b.String()
}
