package storetest

import (
	"understudy/core/llm"
	"understudy/sessions"
)

var (
	ann      = sessions.UserOf("discord", "u1")
	total    = sessions.Account{Kind: sessions.TotalAccount}
	messages = llm.Ref{}
)

// full tallies have something in every field.
func tally(n int) sessions.Tally {
	return sessions.Tally{Messages: n, Usage: llm.Usage{In: 10 * n, Out: 2 * n, CacheRead: 3 * n, CacheWrite: 4 * n, Reasoning: n},
		Cost: llm.Money(1e12 * n), Unpriced: 5 * n}
}

func (s *suite) spent(day string, a sessions.Account) sessions.Bill {
	s.Helper()
	b, err := s.Spent(s.Context(), day, a)
	s.ok(err)
	return b
}

func spent(s *suite) {
	const day, next = "2026-03-29", "2026-03-30"
	s.same("nothing yet", s.spent(day, ann), sessions.Bill(nil))
	s.commit(func(tx sessions.Tx) {
		s.same("nothing yet, in a commit", tx.Spent(day, ann), sessions.Bill(nil))
		tx.Spend(day, ann, sessions.Bill{messages: tally(1), opus: tally(2)})
		tx.Spend(day, ann, sessions.Bill{opus: tally(1), turbo: tally(1)})
		tx.Spend(day, total, nil)
		s.same("in the commit", tx.Spent(day, ann), sessions.Bill{messages: tally(1), opus: tally(3), turbo: tally(1)})
		s.same("others in the commit", tx.Spent(day, total), sessions.Bill(nil))
	})
	s.commit(func(tx sessions.Tx) {
		tx.Spend(day, ann, sessions.Bill{turbo: tally(2)})
		tx.Spend(next, ann, sessions.Bill{turbo: tally(7)})
		tx.Spend(day, sessions.Account{Kind: sessions.PlaceAccount, ID: ann.ID}, sessions.Bill{turbo: tally(9)})
	})
	err := s.Commit(s.Context(), key, 0, func(tx sessions.Tx) error {
		tx.Spend(day, ann, sessions.Bill{turbo: tally(100)})
		return errOwn
	})
	s.same("the error", err, errOwn)
	s.same("a day", s.spent(day, ann), sessions.Bill{messages: tally(1), opus: tally(3), turbo: tally(3)})
	s.same("the next", s.spent(next, ann), sessions.Bill{turbo: tally(7)})
	s.same("somebody else", s.spent(day, sessions.UserOf("slack", "u1")), sessions.Bill(nil))
	s.same("a new handle", must(s, s.open(), day), sessions.Bill{messages: tally(1), opus: tally(3), turbo: tally(3)})

	got := s.spent(next, ann)
	got[turbo] = tally(1)
	s.same("after somebody changed a bill", s.spent(next, ann), sessions.Bill{turbo: tally(7)})
}

func must(s *suite, st Store, day string) sessions.Bill {
	s.Helper()
	b, err := st.Spent(s.Context(), day, ann)
	s.ok(err)
	return b
}

// What many spend at once adds up, and a limit that is checked in the same
// change lets exactly so many through.
func spentRace(s *suite) {
	const day, limit = "2026-03-29", 20
	fifty(func(i int) {
		s.commit(func(tx sessions.Tx) {
			tx.Spend(day, total, sessions.Bill{opus: tally(1), turbo: tally(i)})
			if tx.Spent(day, ann).Sum().Messages < limit {
				tx.Spend(day, ann, sessions.Bill{messages: {Messages: 1}})
			}
		})
	})
	s.same("all", s.spent(day, total), sessions.Bill{opus: tally(50), turbo: tally(49 * 50 / 2)})
	s.same("those within the limit", s.spent(day, ann), sessions.Bill{messages: {Messages: limit}})
}
