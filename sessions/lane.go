package sessions

import (
	"context"
	"errors"
	"slices"

	"understudy/core"
)

// Why a running turn is cut off.
var (
	errStopped  = errors.New("stopped by a user")
	errReset    = errors.New("the conversation was reset")
	errShutdown = errors.New("the program is stopping")
	errTooLong  = errors.New("the turn took too long")
)

// lane is the queue of one session. Its goroutine lives while it has work.
// Fields are guarded by Bot.mu.
type lane struct {
	queue   []Inbound
	running *running
}

// running is a turn in progress.
type running struct {
	cancel  context.CancelCauseFunc
	changed chan struct{} // signalled when the user chose a model; holds one
}

// enqueue hands a stored message to its lane. Commands that may not wait are
// run beside it.
func (b *Bot) enqueue(in Inbound) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return // it stays in the inbox
	}
	c, args, isCommand := core.ParseCommand(in.Message.Text)
	l := b.lanes[in.Session]
	if isCommand && c.Urgent {
		b.spawn(func() { b.runCommand(in, c, args) })
		return
	}
	if isCommand && (c.Name == "new" || c.Name == "reset") && l != nil && l.running != nil {
		l.running.cancel(errReset)
	}
	if l == nil {
		l = &lane{}
		b.lanes[in.Session] = l
		b.spawn(func() { b.work(in.Session, l) })
	}
	l.queue = append(l.queue, in)
}

// work answers what is in the lane, one after the other, and ends when it is
// empty or the bot stops.
func (b *Bot) work(key core.Key, l *lane) {
	for {
		b.mu.Lock()
		if len(l.queue) == 0 || b.closed {
			delete(b.lanes, key)
			b.mu.Unlock()
			return
		}
		in := l.queue[0]
		l.queue = l.queue[1:]
		if c, args, ok := core.ParseCommand(in.Message.Text); ok && c.Name != "retry" {
			b.mu.Unlock()
			b.runCommand(in, c, args)
			continue
		}
		ctx, cancel := context.WithCancelCause(b.base)
		run := &running{cancel: cancel, changed: make(chan struct{}, 1)}
		l.running = run
		b.mu.Unlock()

		b.turn(ctx, in, run)

		b.mu.Lock()
		l.running = nil
		b.mu.Unlock()
		cancel(nil)
	}
}

// change edits or drops a waiting message.
func (l *lane) change(c core.Change) {
	i := slices.IndexFunc(l.queue, func(in Inbound) bool { return in.Key == c.InboxKey })
	switch {
	case i < 0:
	case c.Deleted:
		l.queue = slices.Delete(l.queue, i, i+1)
	default:
		l.queue[i].Message.Text = c.Text
	}
}

// runningTurn is the turn in progress of a session, if any.
func (b *Bot) runningTurn(key core.Key) *running {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.lanes[key]; l != nil {
		return l.running
	}
	return nil
}
