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
	ctx   context.Context
	b     *Bot
	set   *Settings
	key   core.Key
	place core.Thread // of the session; the command may be given somewhere else
	inv   core.Invocation
	from  Inbound  // the message that the command came as; zero for a native one
	owner string   // who may pick from the lists that it shows
	sess  Session  // as read before the change
	run   *running // the turn in progress, if any
	// after runs once the change is durable and the reply is on its way.
	after func()
}

// commands are the functions behind core.Commands. Each prepares what it needs
// and returns the change that is committed together with its reply.
var commands = map[string]func(*call) (func(ChoiceTx) core.Reply, error){
	"model":   cmdModel,
	"models":  cmdModels,
	"status":  cmdStatus,
	"usage":   cmdUsage,
	"forget":  cmdForget,
	"new":     cmdNew,
	"reset":   cmdNew,
	"stop":    cmdStop,
	"approve": cmdApprove,
	"help":    cmdHelp,
}

// ofThread are the commands that act on a conversation.
var ofThread = map[string]bool{"new": true, "reset": true, "retry": true, "compact": true}

// isTurn are the commands that are carried out as a turn of the conversation:
// they ask a model, wait for their place in the lane, and can be stopped.
var isTurn = map[string]bool{"retry": true, "compact": true}

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
		if len(dropped) > 0 {
			text += " " + droppedText(len(dropped))
		}
		parts := b.Sender.Split(in.Message.Target.Thread, text)
		for i, part := range parts {
			row := delivery.Row{
				Session: in.Session, Turn: id, Part: i, State: delivery.Queued, Created: b.Now(),
				Post: core.Post{Target: in.Message.Target, Kind: core.PostCommand, Text: part, Nonce: delivery.Nonce(id, core.PostCommand, i)},
			}
			if i == len(parts)-1 {
				row.Post.Buttons = r.Buttons
			}
			rows = append(rows, row)
		}
		for _, key := range dropped {
			tx.Settle(key)
		}
		tx.Settle(in.Key)
		return tx.Queue(rows...)
	}
	var rows []delivery.Row
	err := b.guard("a command panicked", id, func() error {
		return b.outlast(b.base, in, func() error {
			c := b.call(b.base, b.Settings(), in.Session, placeOf(in.Message), inv)
			c.from = in
			_, err := b.carryOut(c, c.prepare, func(tx Tx, r core.Reply) { rows = reply(tx, r) }, func() { b.Sender.Send(rows...) })
			return err
		})
	})
	if err != nil && b.base.Err() == nil {
		b.Log.Error("a command failed; its message stays in the inbox", "command", c.Name, "session", in.Session.String(), "err", err)
	}
}

// atHolder moves a command that came as the opener of a thread to the place that
// holds the thread: nobody opens a conversation only to set it up. On Discord the
// thread is not opened; on Slack it is where the reply stands.
func atHolder(m core.Message) core.Message {
	if m.Target.Opens != "" {
		m.Target.Thread, m.Target.Opens, m.Target.Title = m.Thread().Holder(), "", ""
	}
	return m
}

// opener reports whether a thread is to be opened from the message.
func opener(m core.Message) bool {
	return m.Target.Opens != "" || m.Thread().Root != "" && m.Thread().Root == m.ID
}

// placeOf is the place of a command's session.
func placeOf(m core.Message) core.Thread {
	if opener(m) {
		return m.Thread().Holder()
	}
	return m.Thread()
}

// Command carries out a native command; see [core.Handler].
func (b *Bot) Command(ctx context.Context, inv core.Invocation) (core.Reply, error) {
	set := b.Settings()
	place := inv.Target.Thread
	return b.command(ctx, set, set.key(core.Message{Author: inv.Author, Target: inv.Target}, place), place, inv)
}

// command carries out a native command in the session of a place.
func (b *Bot) command(ctx context.Context, set *Settings, key core.Key, place core.Thread, inv core.Invocation) (core.Reply, error) {
	cmd, ok := core.FindCommand(inv.Name)
	if !ok {
		return core.Reply{Text: unknownCommandText(inv.Name)}, nil
	}
	c := b.call(ctx, set, key, place, inv)
	switch {
	case ofThread[inv.Name] && set.opens(place):
		return b.carryOut(c, c.inThread, nil, nil)
	case isTurn[inv.Name] && cmd.Takes(inv.Args):
		return b.asTurn(ctx, key, inv)
	case isReset(inv.Name) && cmd.Takes(inv.Args): // else nothing is reset
		return b.reset(ctx, key, place, inv)
	}
	return b.execute(ctx, key, place, inv, nil)
}

// reset is a reset that is no message of the lane.
func (b *Bot) reset(ctx context.Context, key core.Key, place core.Thread, inv core.Invocation) (core.Reply, error) {
	dropped := b.resetLane(ctx, key)
	r, err := b.execute(ctx, key, place, inv, func(tx Tx, _ core.Reply) {
		for _, k := range dropped {
			tx.Settle(k)
		}
	})
	if err == nil && len(dropped) > 0 {
		r.Text += " " + droppedText(len(dropped))
	}
	return r, err
}

// asTurn puts a native command in the inbox, since it is a turn of the thread.
func (b *Bot) asTurn(ctx context.Context, key core.Key, inv core.Invocation) (core.Reply, error) {
	text := strings.TrimSpace("/" + inv.Name + " " + inv.Args)
	m := core.Message{ID: "cmd-" + inv.ID, Author: inv.Author, Target: inv.Target, Text: text, At: b.Now(), Addressed: true}
	in, fresh, err := b.Store.Admit(ctx, Inbound{Key: m.InboxKey(), Session: key, Message: m, At: m.At})
	if err != nil {
		return core.Reply{}, fmt.Errorf("storing /%s: %w", inv.Name, err)
	}
	if fresh && !b.take(ctx, in) {
		return core.Reply{Text: crowdedText(false)}, nil
	}
	if inv.Name == "compact" {
		return core.Reply{Text: compactingText}, nil
	}
	return core.Reply{Text: retryingText}, nil
}

// call is a command in the session of a place.
func (b *Bot) call(ctx context.Context, set *Settings, key core.Key, place core.Thread, inv core.Invocation) *call {
	return &call{ctx: ctx, b: b, set: set, key: key, place: place, inv: inv, owner: inv.Author.ID, run: b.runningTurn(key)}
}

// execute checks the right to a command of the table and carries it out.
func (b *Bot) execute(ctx context.Context, key core.Key, place core.Thread, inv core.Invocation, with func(Tx, core.Reply)) (core.Reply, error) {
	c := b.call(ctx, b.Settings(), key, place, inv)
	return b.carryOut(c, c.prepare, with, nil)
}

// carryOut prepares a change, commits it together with what goes with it, and
// then lets what waits for it go on. with and sent may be nil.
func (b *Bot) carryOut(c *call, prepare func() (func(ChoiceTx) core.Reply, error), with func(Tx, core.Reply), sent func()) (core.Reply, error) {
	var change func(ChoiceTx) core.Reply
	err := b.guard("a command panicked", c.inv.Name, func() (err error) {
		if err := c.load(); err != nil {
			return err
		}
		change, err = prepare()
		return err
	})
	if err != nil {
		return core.Reply{}, err
	}
	var reply core.Reply
	commit := func() error {
		return b.Store.CommitChoice(c.ctx, c.key, 0, func(tx ChoiceTx) error {
			reply = change(tx)
			if with != nil {
				with(tx, reply)
			}
			return nil
		})
	}
	if c.inv.Native {
		err = commit() // somebody waits for the reply, and may ask again
	} else {
		err = b.insist(b.base, c.from, commit)
	}
	if err != nil {
		return core.Reply{}, fmt.Errorf("storing what /%s changed: %w", c.inv.Name, err)
	}
	b.Log.InfoContext(c.ctx, "command done", "command", c.inv.Name, "session", c.key.String())
	if sent != nil {
		sent()
	}
	if c.after != nil {
		c.after()
	}
	return reply, nil
}

// load opens the session, once.
func (c *call) load() (err error) {
	if c.sess.Transcript == "" {
		c.sess, err = c.b.open(c.ctx, c.key, c.place)
	}
	return err
}

func (c *call) prepare() (func(ChoiceTx) core.Reply, error) {
	cmd, ok := core.FindCommand(c.inv.Name)
	switch {
	case !ok:
		return nil, errors.New("no such command: " + c.inv.Name)
	case cmd.Who == core.Admins && !c.admin():
		return say(adminsOnlyText(cmd.Name)), nil
	case len(c.inv.Args) > maxArgs:
		return say(longArgsText(cmd.Name)), nil
	case ofThread[cmd.Name] && c.set.opens(c.place):
		return c.inThread()
	}
	return commands[cmd.Name](c)
}

func (c *call) admin() bool { return c.set.admin(c.inv.Target.Thread.Platform, c.inv.Author) }

func (s *Settings) admin(platform string, a core.Author) bool {
	return s.Admin != nil && s.Admin(platform, a)
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
	_, err := b.reset(ctx, key, core.Thread{}, core.Invocation{Name: "reset", Native: true})
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
		Spent: Spending{All: s.Spent.All, Day: s.Spent.Day, Today: s.Spent.Today}, Seeded: true, Engaged: s.Engaged, Bots: s.Bots, LastActive: s.LastActive, LastTurn: s.LastTurn, Target: s.Target,
	})
	return out
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
