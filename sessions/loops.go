package sessions

import (
	"context"
	"fmt"
	"slices"

	"understudy/core"
)

// maxBots is how many messages of bots are taken up in a row in one session.
// Two bots that answer each other would never stop.
const maxBots = 3

// heeds reports whether a message is taken up as far as its author goes: after
// some messages of bots in a row no more of them are, until a person speaks.
func (b *Bot) heeds(ctx context.Context, key core.Key, m core.Message) (ok bool, err error) {
	s, err := b.Store.Session(ctx, key)
	if err != nil {
		return false, fmt.Errorf("reading the session: %w", err)
	}
	if !m.Author.Bot && len(s.Bots) == 0 {
		return true, nil
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
	if err != nil {
		return false, fmt.Errorf("counting what bots said: %w", err)
	}
	if !ok {
		b.Log.InfoContext(ctx, "a bot is passed over until a person speaks", "session", key.String(), "message", m.ID)
	}
	return ok, nil
}
