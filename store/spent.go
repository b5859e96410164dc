package store

import (
	"context"

	"understudy/core/llm"
	"understudy/sessions"
)

const (
	spentColumns = "model, messages, tokens_in, tokens_out, cache_read, cache_write, reasoning, cost, unpriced"
	spentQuery   = "SELECT " + spentColumns + " FROM spent WHERE kind = ? AND id = ? AND day = ?"
)

// line is one model of a bill.
type line struct {
	model llm.Ref
	tally sessions.Tally
}

func scanLine(sc scanner) (l line, err error) {
	var model string
	t := &l.tally
	if err := sc.Scan(&model, &t.Messages, &t.In, &t.Out, &t.CacheRead, &t.CacheWrite, &t.Reasoning, &t.Cost, &t.Unpriced); err != nil {
		return l, err
	}
	return l, l.model.UnmarshalText([]byte(model))
}

func billOf(lines []line) sessions.Bill {
	if len(lines) == 0 {
		return nil
	}
	b := sessions.Bill{}
	for _, l := range lines {
		b[l.model] = l.tally
	}
	return b
}

// Spent is what an account used on a day.
func (s *Store) Spent(ctx context.Context, day string, a sessions.Account) (sessions.Bill, error) {
	lines, err := brief(ctx, s, scanLine, spentQuery, a.Kind, a.ID, day)
	return billOf(lines), err
}

// Spent is the same as this change sees it.
func (t *tx) Spent(day string, a sessions.Account) sessions.Bill {
	if t.err != nil {
		return nil
	}
	lines, err := all(t.c, scanLine, spentQuery, a.Kind, a.ID, day)
	t.keep(err)
	return billOf(lines)
}

// Spend adds to what an account used on a day.
func (t *tx) Spend(day string, a sessions.Account, used sessions.Bill) {
	for r, u := range used {
		t.exec(`INSERT INTO spent (kind, id, day, `+spentColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (kind, id, day, model) DO UPDATE SET messages = messages + excluded.messages,
			tokens_in = tokens_in + excluded.tokens_in, tokens_out = tokens_out + excluded.tokens_out,
			cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
			reasoning = reasoning + excluded.reasoning, cost = cost + excluded.cost, unpriced = unpriced + excluded.unpriced`,
			a.Kind, a.ID, day, r.String(), u.Messages, u.In, u.Out, u.CacheRead, u.CacheWrite, u.Reasoning, int64(u.Cost), u.Unpriced)
	}
}
