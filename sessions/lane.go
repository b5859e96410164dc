package sessions

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"understudy/core"
)

// Why a running turn is cut off.
var (
	errStopped  = errors.New("stopped by a user")
	errReset    = errors.New("the conversation was reset")
	errShutdown = errors.New("the program is stopping")
	errTooLong  = errors.New("the turn took too long")
)

// lane is the queue of one session. It has a goroutine while it is at work; while
// it waits for a place among the open turns it is only this. Fields are guarded by
// Bot.mu.
type lane struct {
	queue   []waiting
	running *running
	weight  int // of the queue, as counted in Bot.held

	working bool   // it has a goroutine
	asking  bool   // it waits for a place
	over    bool   // it is not in Bot.lanes any more
	place   func() // gives back the place that it has for the next turn; nil is none
}

// waiting is a message in a lane. A reset takes the place of what was said
// before it and not answered yet.
type waiting struct {
	Inbound
	dropped []string // inbox keys that are settled with it
	idle    func()   // ends the indicator that is on for it; nil if none is
}

// command reads a command of the lane. /retry is a turn, except where it can
// only be given to one of several threads.
func (w waiting) command(set *Settings) (c core.Command, args string, ok bool) {
	c, args, ok = core.ParseCommand(w.Message.Text)
	return c, args, ok && (!isTurn[c.Name] || set.opens(placeOf(w.Message)))
}

// running is a turn in progress.
type running struct {
	in      Inbound
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when it has ended
	changed chan struct{} // signalled when the user chose a model; holds one
	deleted atomic.Bool   // the message was deleted on its platform, and is not kept
	idle    func()        // ends the indicator that was on while it waited; nil if none was
}

// enqueue hands a stored message to its lane. Commands that may not wait are
// run beside it.
func (b *Bot) enqueue(in Inbound) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.line(in)
}

// line is enqueue with Bot.mu held.
func (b *Bot) line(in Inbound) {
	if b.closed {
		return // it stays in the inbox
	}
	c, args, isCommand := core.ParseCommand(in.Message.Text)
	if isCommand && c.Urgent {
		b.spawn(func() { b.runCommand(in, c, args) })
		return
	}
	l := b.lanes[in.Session]
	if l == nil {
		l = &lane{}
		b.lanes[in.Session] = l
	}
	w := waiting{Inbound: in}
	switch {
	case isCommand && isReset(c.Name):
		w.dropped = b.empty(l)
	case !isCommand && l.running != nil:
		// That of the running turn is on, and stays on when that ends.
		w.idle = b.Sender.Working(in.Message.Target)
	}
	l.queue = append(l.queue, w)
	b.weigh(l)
	if !l.working && (!l.asking || len(l.queue) == 1) { // a reset needs no place
		b.wakeUp(in.Session, l)
	}
}

// wakeUp gives a lane a goroutine. Bot.mu is held.
func (b *Bot) wakeUp(key core.Key, l *lane) {
	l.working = true
	b.spawn(func() { b.work(key, l) })
}

func isReset(command string) bool { return command == "new" || command == "reset" }

// empty cuts the running turn off and takes what waits out of the lane; it
// returns the inbox keys of what nobody will answer. Bot.mu is held.
func (b *Bot) empty(l *lane) []string {
	var dropped []string
	if l.running != nil {
		l.running.cancel(errReset)
	}
	for _, w := range l.queue {
		dropped = append(append(dropped, w.dropped...), w.Key)
		b.rest(w)
	}
	l.queue = nil
	return dropped
}

// rest ends the indicator of a message that will not be answered. Bot.mu is
// held.
func (b *Bot) rest(w waiting) {
	if w.idle != nil {
		b.spawn(w.idle)
	}
}

// resetLane is a reset that comes beside the lane: it waits until the running
// turn has ended, so that nothing of it follows the confirmation.
func (b *Bot) resetLane(ctx context.Context, key core.Key) []string {
	b.mu.Lock()
	l := b.lanes[key]
	if l == nil {
		b.mu.Unlock()
		return nil
	}
	dropped, run := b.empty(l), l.running
	b.weigh(l)
	b.mu.Unlock()
	if run != nil {
		select {
		case <-run.done:
		case <-b.After(resetPatience):
		case <-ctx.Done():
		}
	}
	return dropped
}

// resetPatience is how long a reset waits for a turn that was cut off.
const resetPatience = 2 * time.Second

// wake tells a running turn that its user chose.
func (b *Bot) wake(key core.Key) {
	if run := b.runningTurn(key); run != nil {
		select {
		case run.changed <- struct{}{}:
		default:
		}
	}
}

// work answers what is in the lane, one after the other. It ends when the lane is
// empty, when the bot stops, or when there is no place for another turn; the lane
// is woken up when there is one.
func (b *Bot) work(key core.Key, l *lane) {
	for {
		b.mu.Lock()
		if len(l.queue) == 0 || b.closed {
			b.close(key, l)
			return
		}
		in := l.queue[0]
		c, args, isCommand := in.command(b.Settings())
		if !isCommand && l.place == nil {
			b.askPlace(key, l)
			return
		}
		l.queue[0] = waiting{}
		l.queue = l.queue[1:]
		b.weigh(l)
		if isCommand {
			b.mu.Unlock()
			b.runCommand(in.Inbound, c, args, in.dropped...)
			continue
		}
		ctx, cancel := context.WithCancelCause(b.base)
		run := &running{in: in.Inbound, cancel: cancel, done: make(chan struct{}), changed: make(chan struct{}, 1), idle: in.idle}
		run.deleted.Store(in.Message.Deleted)
		leave := l.place
		l.running, l.place = run, nil
		b.mu.Unlock()

		_ = b.guard("a turn panicked", in.Key, func() error { b.turn(ctx, in.Inbound, run); return nil })

		b.mu.Lock()
		l.running = nil
		b.mu.Unlock()
		close(run.done)
		cancel(nil)
		leave()
	}
}

// close ends the work of a lane, and lets go of Bot.mu.
func (b *Bot) close(key core.Key, l *lane) {
	leave := l.place
	l.place, l.working, l.over = nil, false, true
	delete(b.lanes, key)
	b.mu.Unlock()
	if leave != nil {
		leave()
	}
}

// askPlace lets a lane sleep until there is a place for its next turn, and lets
// go of Bot.mu. Other people's lanes are not kept from theirs by one person's.
func (b *Bot) askPlace(key core.Key, l *lane) {
	l.working = false
	asked := l.asking
	who := addressOf(l.queue[0].Message)
	if !asked {
		l.asking = true
		b.more()
	}
	b.mu.Unlock()
	if !asked {
		b.places.Ask(who, func(leave func()) { b.placed(key, l, leave) })
	}
}

// placed gives a lane the place that it asked for.
func (b *Bot) placed(key core.Key, l *lane, leave func()) {
	b.mu.Lock()
	if b.closed || l.over {
		if l.asking {
			l.asking = false
			b.less()
		}
		b.mu.Unlock()
		leave()
		return
	}
	defer b.mu.Unlock()
	l.asking, l.place = false, leave
	if !l.working {
		b.wakeUp(key, l)
	}
	b.less()
}

// change edits or drops a waiting message. Bot.mu is held.
func (b *Bot) change(l *lane, c core.Change) {
	i := slices.IndexFunc(l.queue, func(w waiting) bool { return w.Key == c.InboxKey })
	switch {
	case i < 0:
	case c.Deleted:
		b.rest(l.queue[i])
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
