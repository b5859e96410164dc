package sessions

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"understudy/core"
)

// Two bots that answer each other would never stop. Within one session they are
// cut off after maxBots messages in a row, until a person speaks. Where each
// message begins a session of its own, as in a channel that opens threads, that
// never comes; there one bot is taken up maxOfBot times within ofBotWithin in
// one channel and its threads.
const (
	maxBots     = 3
	maxOfBot    = 20
	ofBotWithin = time.Hour
)

// heeds reports whether a message is taken up as far as its author goes.
func (b *Bot) heeds(ctx context.Context, key core.Key, m core.Message) (ok bool, err error) {
	s, err := b.Store.Session(ctx, key)
	if err != nil {
		return false, fmt.Errorf("reading the session: %w", err)
	}
	if !m.Author.Bot && len(s.Bots) == 0 {
		return true, nil
	}
	if m.Author.Bot && b.robots.full(m, b.Now()) {
		b.Log.InfoContext(ctx, "a bot is passed over for a while: it has been answered too often in this channel", "session", key.String(), "message", m.ID, "bot", m.Author.ID)
		return false, nil
	}
	err = b.Store.Commit(ctx, key, 0, func(tx Tx) error {
		s := tx.Session()
		switch id := m.InboxKey(); {
		case !m.Author.Bot:
			ok, s.Bots = true, nil
		case slices.Contains(s.Bots, id): // delivered again
			ok = true
		case len(s.Bots) < maxBots:
			ok, s.Bots = true, append(s.Bots, id)
		default:
			ok = false
		}
		tx.SetSession(s)
		return nil
	})
	switch {
	case err != nil:
		return false, fmt.Errorf("counting what bots said: %w", err)
	case !ok:
		b.Log.InfoContext(ctx, "a bot is passed over until a person speaks", "session", key.String(), "message", m.ID)
	case m.Author.Bot:
		b.robots.note(m, b.Now())
	}
	return ok, nil
}

// robots knows which messages of bots were taken up lately, by bot and channel.
// A restart forgets them.
type robots struct {
	mu   sync.Mutex
	seen map[string][]robotMessage // oldest first
}

type robotMessage struct {
	key string // core.Message.InboxKey
	at  time.Time
}

// full reports whether no more of a bot is taken up now. What was taken up once
// is so again.
func (r *robots) full(m core.Message, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prune(now)
	list := r.seen[robotPlace(m)]
	return len(list) >= maxOfBot && !slices.ContainsFunc(list, func(x robotMessage) bool { return x.key == m.InboxKey() })
}

// note counts a message of a bot, once.
func (r *robots) note(m core.Message, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prune(now)
	place, key := robotPlace(m), m.InboxKey()
	if slices.ContainsFunc(r.seen[place], func(x robotMessage) bool { return x.key == key }) {
		return
	}
	if r.seen == nil {
		r.seen = map[string][]robotMessage{}
	}
	r.seen[place] = append(r.seen[place], robotMessage{key, now})
}

// prune forgets what is too long ago. The lock is held.
func (r *robots) prune(now time.Time) {
	for place, list := range r.seen {
		for len(list) > 0 && now.Sub(list[0].at) >= ofBotWithin {
			list = list[1:]
		}
		if r.seen[place] = list; len(list) == 0 {
			delete(r.seen, place)
		}
	}
}

// robotPlace is a bot in a channel with its threads.
func robotPlace(m core.Message) string { return m.Author.ID + " " + m.Thread().Holder().Key() }
