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

// lane is the queue of one session. Its goroutine lives while it has work.
// Fields are guarded by Bot.mu.
type lane struct {
	queue   []waiting
	running *running
}

// waiting is a message in a lane. A reset takes the place of what was said
// before it and not answered yet.
type waiting struct {
	Inbound
	dropped []string // inbox keys that are settled with it
}

// running is a turn in progress.
type running struct {
	in      Inbound
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when it has ended
	changed chan struct{} // signalled when the user chose a model; holds one
	deleted atomic.Bool   // the message was deleted on its platform, and is not kept
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
	if l == nil {
		l = &lane{}
		b.lanes[in.Session] = l
		b.spawn(func() { b.work(in.Session, l) })
	}
	w := waiting{Inbound: in}
	if isCommand && isReset(c.Name) {
		w.dropped = l.reset()
	}
	l.queue = append(l.queue, w)
}

func isReset(command string) bool { return command == "new" || command == "reset" }

// reset cuts the running turn off and takes what waits out of the lane; it
// returns the inbox keys of what nobody will answer.
func (l *lane) reset() []string {
	var dropped []string
	if l.running != nil {
		l.running.cancel(errReset)
	}
	for _, w := range l.queue {
		dropped = append(append(dropped, w.dropped...), w.Key)
	}
	l.queue = nil
	return dropped
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
	dropped, run := l.reset(), l.running
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
		c, args, ok := core.ParseCommand(in.Message.Text)
		if ok && (c.Name != "retry" || b.Settings().opens(placeOf(in.Message))) {
			b.mu.Unlock()
			b.runCommand(in.Inbound, c, args, in.dropped...)
			continue
		}
		ctx, cancel := context.WithCancelCause(b.base)
		run := &running{in: in.Inbound, cancel: cancel, done: make(chan struct{}), changed: make(chan struct{}, 1)}
		run.deleted.Store(in.Message.Deleted)
		l.running = run
		b.mu.Unlock()

		b.turn(ctx, in.Inbound, run)

		b.mu.Lock()
		l.running = nil
		b.mu.Unlock()
		close(run.done)
		cancel(nil)
	}
}

// change edits or drops a waiting message.
func (l *lane) change(c core.Change) {
	i := slices.IndexFunc(l.queue, func(w waiting) bool { return w.Key == c.InboxKey })
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
