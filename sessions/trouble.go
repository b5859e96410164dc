package sessions

import (
	"sync"
	"time"

	"understudy/core"
	"understudy/core/delivery"
)

const (
	// troubleAfter is how long nothing must have been stored before people are
	// told: a write that fails once is made good by the next delivery.
	troubleAfter = 5 * time.Second
	// troubleEvery is how often a place is told that its messages cannot be
	// stored, and maxTroubled in how many places within that time: a platform
	// delivers such messages again and again.
	troubleEvery = 10 * time.Minute
	maxTroubled  = 200
)

// troubled knows since when messages cannot be stored, and which places were
// told of it lately, by key. After a restart they are told once more.
type troubled struct {
	mu    sync.Mutex
	since time.Time // zero when the last message was stored
	told  map[string]time.Time
}

// over notes that a message was stored.
func (t *troubled) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since = time.Time{}
}

// begin notes that a message was not stored, and reports whether that has gone
// on for long enough to tell people.
func (t *troubled) begin(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		t.since = now
	}
	return now.Sub(t.since) >= troubleAfter
}

// tell reports whether a place is to be told now, and notes it.
func (t *troubled) tell(place string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, at := range t.told {
		if now.Sub(at) >= troubleEvery {
			delete(t.told, key)
		}
	}
	if _, known := t.told[place]; known || len(t.told) >= maxTroubled {
		return false
	}
	if t.told == nil {
		t.told = map[string]time.Time{}
	}
	t.told[place] = now
	return true
}

// tellTrouble says where somebody wrote to the bot that nothing can be stored
// now. The message is not acknowledged, so that its platform may bring it again;
// no store is needed for this text.
func (b *Bot) tellTrouble(m core.Message) {
	target := atHolder(m).Target
	if !b.troubled.begin(b.Now()) || !m.Addressed || m.Author.Bot || !b.troubled.tell(target.Thread.Holder().Key(), b.Now()) {
		return
	}
	b.aside(target, troubleText)
}

// Held says where a post waits because nothing can be stored that it will come.
func (b *Bot) Held(r delivery.Row) {
	if r.Post.Kind != core.PostAdmin {
		b.tellHeld(core.Message{Target: r.Post.Target})
	}
}

// tellHeld says where a message was taken, and cannot be answered while nothing
// can be stored, that it is not forgotten.
func (b *Bot) tellHeld(m core.Message) {
	if !m.Author.Bot && b.troubled.tell(m.Thread().Key(), b.Now()) {
		b.aside(m.Target, heldText)
	}
}

// aside posts a text for which no store is needed.
func (b *Bot) aside(target core.Target, text string) {
	post := core.Post{Target: target, Kind: core.PostError, Text: text, Nonce: delivery.Nonce(b.NewID(), core.PostError, 0)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.spawn(func() {
		if err := b.Sender.Aside(b.base, post); err != nil {
			b.Log.Warn("a place was not told that nothing can be stored", "session", target.Thread.Key(), "err", err)
		}
	})
}
