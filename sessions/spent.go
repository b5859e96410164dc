package sessions

import (
	"context"
	"maps"
	"slices"
	"time"

	"understudy/core"
	"understudy/core/llm"
)

// Tally counts what was used.
type Tally struct {
	Messages int `json:"messages,omitempty"` // that were taken up to be answered
	llm.Usage
	Cost llm.Money `json:"cost,omitempty"`
	// Unpriced are those of the tokens that Cost leaves out, since nobody knows
	// the price of their model.
	Unpriced int `json:"unpriced,omitempty"`
}

// Tokens are those of prompts and answers together.
func (t Tally) Tokens() int { return t.In + t.Out }

// Plus is the sum of two tallies.
func (t Tally) Plus(u Tally) Tally {
	return Tally{t.Messages + u.Messages, t.Usage.Add(u.Usage), t.Cost + u.Cost, t.Unpriced + u.Unpriced}
}

// Bill is what was used, by model; messages stand under the zero model.
type Bill map[llm.Ref]Tally

// Plus is the sum of two bills, with memory of its own.
func (b Bill) Plus(more Bill) Bill {
	sum := maps.Clone(b)
	if sum == nil {
		sum = Bill{}
	}
	for r, t := range more {
		sum[r] = sum[r].Plus(t)
	}
	return sum
}

// Sum is the tally of all models.
func (b Bill) Sum() (t Tally) {
	for _, x := range b {
		t = t.Plus(x)
	}
	return t
}

// models are those that something was used of, the dearest first.
func (b Bill) models() []llm.Ref {
	refs := slices.Collect(maps.Keys(b))
	refs = slices.DeleteFunc(refs, func(r llm.Ref) bool { return r == llm.Ref{} })
	slices.SortFunc(refs, func(x, y llm.Ref) int {
		s, t := b[x], b[y]
		switch {
		case s.Cost != t.Cost:
			return int(max(-1, min(1, t.Cost-s.Cost)))
		case s.Tokens() != t.Tokens():
			return t.Tokens() - s.Tokens()
		case x.String() < y.String():
			return -1
		}
		return 1
	})
	return refs
}

// Spending is what a session used.
type Spending struct {
	Since Bill   `json:"since,omitempty"` // since the last reset
	All   Bill   `json:"all,omitempty"`
	Day   string `json:"day,omitempty"`
	Today Bill   `json:"today,omitempty"` // on Day
}

// add is the spending with more that was used on a day.
func (s Spending) add(day string, used Bill) Spending {
	if s.Day != day {
		s.Day, s.Today = day, nil
	}
	s.Since, s.All, s.Today = s.Since.Plus(used), s.All.Plus(used), s.Today.Plus(used)
	return s
}

// today is what was used on a day.
func (s Spending) today(day string) Bill {
	if s.Day != day {
		return nil
	}
	return s.Today
}

// AccountKind says whose use an [Account] counts.
type AccountKind string

// The kinds of accounts.
const (
	UserAccount  AccountKind = "user"
	PlaceAccount AccountKind = "place" // one that several people share, with the threads in it
	TotalAccount AccountKind = "total" // everything
)

// Account is whose use is counted.
type Account struct {
	Kind AccountKind
	ID   string // within the kind; "" of the total
}

// UserOf is the account of a person: one for all places of a platform.
func UserOf(platform, user string) Account { return Account{UserAccount, platform + ":" + user} }

// PlaceOf is the account of the channel that a thread belongs to; ok is false
// for direct messages, which are their user's alone.
func PlaceOf(t core.Thread) (a Account, ok bool) {
	return Account{PlaceAccount, t.Holder().Key()}, t.Shared()
}

// Ledger tells what was used. A [Tx] writes it.
type Ledger interface {
	// Spent is what an account used on a day, as in "2026-01-31".
	Spent(ctx context.Context, day string, a Account) (Bill, error)
}

// accountsOf are whom a message of somebody in a place is counted for.
func accountsOf(t core.Thread, a core.Author) []Account {
	list := []Account{{Kind: TotalAccount}}
	if place, shared := PlaceOf(t); shared {
		list = append(list, place)
	}
	if a.ID != "" {
		list = append(list, UserOf(t.Platform, a.ID))
	}
	return list
}

// day names the day of a moment.
func (q Quotas) day(now time.Time) string { return now.In(q.zone()).Format(time.DateOnly) }

// ends is when the day of a moment is over.
func (q Quotas) ends(now time.Time) time.Time {
	y, m, d := now.In(q.zone()).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, q.zone())
}

func (q Quotas) zone() *time.Location {
	if q.Zone == nil {
		return time.UTC
	}
	return q.Zone
}

// tally is what one call of a model comes to.
func (s *Settings) tally(r llm.Ref, u llm.Usage) Tally {
	t := Tally{Usage: u}
	if s.Price != nil {
		if p := s.Price(r); p != nil {
			t.Cost = p.Cost(u)
			return t
		}
	}
	t.Unpriced = t.Tokens()
	return t
}

// spend notes what a call used, whether or not it was answered.
func (t *turn) spend(r llm.Ref, u llm.Usage) {
	if u != (llm.Usage{}) {
		t.bill = t.bill.Plus(Bill{r: t.set.tally(r, u)})
	}
}

// settleBill writes what the turn used into the session and into the accounts.
// It is part of the commit that ends the turn, so that a turn which is run again
// counts once.
func (t *turn) settleBill(tx Tx) {
	if len(t.bill) == 0 {
		return
	}
	day := t.set.Quotas.day(t.b.Now())
	s := tx.Session()
	s.Spent = s.Spent.add(day, t.bill)
	if s.Transcript != t.sess.Transcript { // it was reset while this turn ran
		s.Spent.Since = tx.Session().Spent.Since
	}
	tx.SetSession(s)
	for _, a := range accountsOf(t.in.Message.Thread(), t.in.Message.Author) {
		tx.Spend(day, a, t.bill)
	}
}
