package sessions

import (
	"context"
	"fmt"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/delivery"
)

const (
	// maxMessage is the longest message that is answered, in bytes. Discord lets
	// people write 4,000 characters and Slack 40,000, of up to four bytes each.
	maxMessage = 200 << 10
	// maxArgs is the longest argument of a command, in bytes.
	maxArgs = 500
	// maxQueue is how many messages may wait in one lane, maxHeld how many bytes
	// may wait in all of them, and messageCost what a message weighs beside its
	// text.
	maxQueue    = 200
	maxHeld     = 64 << 20
	messageCost = 1 << 10
	// crowdEvery is how often a lane is told that no more is taken, and maxCrowds
	// how many are told within that time.
	crowdEvery = time.Minute
	maxCrowds  = 1000
)

// weight is what a waiting message takes of memory, about.
func (w waiting) weight() int {
	return messageCost*(1+len(w.Message.Attachments)) + len(w.Message.Text)
}

// weigh brings Bot.held up to date with a lane whose queue was changed. Bot.mu is
// held.
func (b *Bot) weigh(l *lane) {
	n := 0
	for _, w := range l.queue {
		n += w.weight()
	}
	b.held += n - l.weight
	l.weight = n
}

// take hands a new message to its lane. When too much waits already, the message
// is settled and its place told so, and the result is false.
func (b *Bot) take(ctx context.Context, in Inbound) bool {
	b.mu.Lock()
	everywhere, crowded := b.crowded(in)
	if !crowded {
		b.line(in)
	}
	b.mu.Unlock()
	if !crowded {
		return true
	}
	if err := b.turnAway(ctx, in, everywhere); err != nil {
		b.Log.WarnContext(ctx, "a message is taken although too many wait: it could not be settled", "session", in.Session.String(), "err", err)
		b.enqueue(in)
		return true
	}
	return false
}

// crowded reports whether a message finds too much that waits before it, in its
// lane or everywhere. Once half of what may wait is there, one person may have no
// more than a quarter of it: the rest is for others. Commands that need not wait
// and those that empty a lane are always taken. Bot.mu is held.
func (b *Bot) crowded(in Inbound) (everywhere, crowded bool) {
	if c, _, ok := core.ParseCommand(in.Message.Text); ok && (c.Urgent || isReset(c.Name)) {
		return false, false
	}
	if l := b.lanes[in.Session]; l != nil && len(l.queue) >= maxQueue {
		return false, true
	}
	all := b.held + waiting{Inbound: in}.weight()
	return true, all > maxHeld || all > maxHeld/2 && b.heldOf(addressOf(in.Message)) > maxHeld/4
}

// heldOf is the weight of what waits of one person.
func (b *Bot) heldOf(person string) int {
	n := 0
	for _, l := range b.lanes {
		for _, w := range l.queue {
			if addressOf(w.Message) == person {
				n += w.weight()
			}
		}
	}
	return n
}

// turnAway settles a message that is not taken, and tells its place, unless that
// was told just now. Other bots are told nothing.
func (b *Bot) turnAway(ctx context.Context, in Inbound, everywhere bool) error {
	now := b.Now()
	tell := !in.Message.Author.Bot && b.crowds.tell(in.Session, now)
	var rows []delivery.Row
	err := b.Store.Commit(ctx, in.Session, 0, func(tx Tx) error {
		rows = nil
		tx.Settle(in.Key)
		if tell {
			turn := b.NewID()
			rows = tx.Queue(delivery.Row{Session: in.Session, Turn: turn, State: delivery.Queued, Created: now, Post: core.Post{
				Target: atHolder(in.Message).Target, Kind: core.PostError, Text: crowdedText(everywhere),
				Nonce: delivery.Nonce(turn, core.PostError, 0),
			}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("settling a message that is not taken: %w", err)
	}
	b.Log.WarnContext(ctx, "a message is not taken: too many wait already", "session", in.Session.String(), "message", in.Message.ID, "everywhere", everywhere, "told", tell)
	b.Sender.Send(rows...)
	return nil
}

// crowds remember which lanes were told lately that no more is taken. After a
// restart they are told once more.
type crowds struct {
	mu   sync.Mutex
	told map[core.Key]time.Time
}

// tell reports whether a lane is to be told now, and notes it.
func (c *crowds) tell(k core.Key, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil {
		c.told = map[core.Key]time.Time{}
	}
	for key, at := range c.told {
		if now.Sub(at) >= crowdEvery {
			delete(c.told, key)
		}
	}
	if _, known := c.told[k]; known || len(c.told) >= maxCrowds {
		return false
	}
	c.told[k] = now
	return true
}

func crowdedText(everywhere bool) string {
	if everywhere {
		return "So many messages wait for an answer that I cannot take more right now. Please send yours again in a while."
	}
	return fmt.Sprintf("%d messages wait for an answer here already, so I take no more until some are done. Please send yours again then; `/new` drops those that wait.", maxQueue)
}

func tooLargeText(n int) string {
	return fmt.Sprintf("This message is too long for me: it has %d KiB, and I read at most %d. Send it in parts, or as a text file.", (n+1023)>>10, maxMessage>>10)
}

func longArgsText(command string) string {
	return fmt.Sprintf("What stands behind /%s is too long; it can have %d characters at most.", command, maxArgs)
}
