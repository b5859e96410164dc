package memory

import (
	"context"
	"maps"

	"understudy/sessions"
)

// Spent is what an account used on a day.
func (s *Store) Spent(ctx context.Context, day string, a sessions.Account) (b sessions.Bill, err error) {
	err = s.read(ctx, func(d *data) error {
		b = maps.Clone(d.spent[purse{a, day}])
		return nil
	})
	return b, err
}

// Spent is the same as this change sees it.
func (t *tx) Spent(day string, a sessions.Account) sessions.Bill {
	b, _ := t.c.spent.get(purse{a, day})
	return maps.Clone(b)
}

// Spend adds to what an account used on a day.
func (t *tx) Spend(day string, a sessions.Account, used sessions.Bill) {
	if len(used) == 0 {
		return
	}
	b, _ := t.c.spent.get(purse{a, day})
	t.c.spent.set(purse{a, day}, b.Plus(used))
}
