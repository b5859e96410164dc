package storetest

import (
	"slices"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/notices"
	"understudy/sessions"
)

// queue stores rows that must be new.
func (s *suite) queue(rows ...delivery.Row) []delivery.Row {
	s.Helper()
	got, err := s.Queue(s.Context(), rows...)
	s.ok(err)
	if len(got) != len(rows) {
		s.Fatalf("%d rows came back for %d", len(got), len(rows))
	}
	return got
}

func (s *suite) mark(id int64, state delivery.State, platformID string) {
	s.Helper()
	s.ok(s.Mark(s.Context(), id, func(r delivery.Row) delivery.Row {
		r.State, r.PlatformID = state, platformID
		return r
	}))
}

func queueIDs(s *suite) {
	var ids []int64
	for _, r := range s.queue(row("t1", core.PostAnswer, 0), row("t1", core.PostAnswer, 1)) {
		ids = append(ids, r.ID)
	}
	s.commit(func(tx sessions.Tx) {
		r := row("t1", core.PostNotice, 0)
		r.Session = other // a row queued in a commit belongs to its session
		for _, r := range tx.Queue(r, row("t2", core.PostAnswer, 0)) {
			ids = append(ids, r.ID)
			s.same("session", r.Session, key)
		}
	})
	ids = append(ids, s.queue(row("t3", core.PostAdmin, 0))[0].ID)
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != 5 || ids[0] < 1 {
		s.Errorf("ids are %v", ids)
	}
	var got []int64
	for _, r := range s.outgoing() {
		got = append(got, r.ID)
	}
	s.same("outgoing", got, ids)

	bare := row("t4", core.PostStatus, 0)
	bare.State = ""
	s.same("state of a row without one", s.queue(bare)[0].State, delivery.Queued)
}

func queueReplaces(s *suite) {
	next := row("t1", core.PostAnswer, 0)
	next.Post.Text, next.State, next.PlatformID, next.Created = "final text", delivery.Failed, "other", noon.Add(time.Hour)

	first := s.queue(row("t1", core.PostAnswer, 0))[0]
	for _, state := range []delivery.State{delivery.Queued, delivery.Sending, delivery.Preview} {
		s.mark(first.ID, state, "p1")
		want := first
		want.State, want.PlatformID, want.Post = state, "p1", next.Post
		var got []delivery.Row
		s.commit(func(tx sessions.Tx) { got = tx.Queue(next) })
		s.same("open", got, []delivery.Row{want})
		s.same("stored", s.outgoing(), []delivery.Row{want})
		next.Post.Text += "!"
	}
	for _, state := range []delivery.State{delivery.Sent, delivery.Failed, delivery.Withdrawn} {
		s.mark(first.ID, state, "p1")
		before := s.stored("t1", core.PostAnswer, 0)
		next.Post.Text = "too late"
		var got []delivery.Row
		s.commit(func(tx sessions.Tx) { got = tx.Queue(next) })
		s.same("settled", got, []delivery.Row{before})
		s.same("stored", s.stored("t1", core.PostAnswer, 0), before)
	}
}

func queueKeeps(s *suite) {
	first := s.queue(row("t1", core.PostAnswer, 0))[0]
	s.mark(first.ID, delivery.Preview, "p1")
	first.State, first.PlatformID = delivery.Preview, "p1"

	again := row("t1", core.PostAnswer, 0)
	again.Post.Text = "another text"
	got := s.queue(again, row("t1", core.PostAnswer, 1), row("t1", core.PostNotice, 0), row("t2", core.PostAnswer, 0))
	s.same("the one that was there", got[0], first)
	for _, r := range got[1:] {
		if r.ID <= first.ID {
			s.Errorf("%s %s %d has id %d", r.Turn, r.Post.Kind, r.Part, r.ID)
		}
	}
	s.same("outgoing", s.outgoing(), got)
}

func queueNeedsTurn(s *suite) {
	if _, err := s.Queue(s.Context(), row("t1", core.PostAnswer, 0), row("", core.PostAdmin, 0)); err == nil {
		s.Error("a row without a turn was stored")
	}
	s.same("outgoing", s.outgoing(), []delivery.Row{})
}

func outgoing(s *suite) {
	all := []delivery.State{delivery.Queued, delivery.Sent, delivery.Sending, delivery.Failed, delivery.Preview, delivery.Withdrawn}
	var want []delivery.Row
	for i, state := range all {
		r := row("t1", core.PostAnswer, i)
		r.State = state
		r = s.queue(r)[0]
		if state.Open() {
			want = append(want, r)
		}
	}
	s.same("outgoing", s.outgoing(), want)
}

func withdraw(s *suite) {
	open := s.queue(row("t1", core.PostStatus, 0), row("t1", core.PostStatus, 3))
	sent := s.queue(row("t1", core.PostStatus, 4))[0]
	s.mark(sent.ID, delivery.Sent, "p")
	kept := s.queue(row("t1", core.PostAnswer, 0), row("t2", core.PostStatus, 0))
	s.commit(func(tx sessions.Tx) {
		tx.Withdraw("t1", core.PostStatus, noon)
		tx.Withdraw("unknown", core.PostStatus, noon)
	})
	s.same("outgoing", s.outgoing(), kept)
	for _, r := range open {
		r.State, r.Settled = delivery.Withdrawn, noon
		s.same("withdrawn", s.stored(r.Turn, r.Post.Kind, r.Part), r)
	}
	s.same("sent before", s.stored("t1", core.PostStatus, 4).State, delivery.Sent)
}

func markRow(s *suite) {
	first := s.queue(row("t1", core.PostAnswer, 0), row("t1", core.PostAnswer, 1))[0]
	want := first
	want.State, want.PlatformID, want.Tries, want.Error = delivery.Sent, "p1", 3, "a late answer"
	want.Settled, want.Post.Text = noon.Add(time.Second), "as it was sent"
	s.ok(s.Mark(s.Context(), first.ID, func(r delivery.Row) delivery.Row {
		s.same("what is there", r, first)
		r = want
		r.ID, r.Session, r.Turn = 99, other, "t9"
		return r
	}))
	s.same("stored", s.stored("t1", core.PostAnswer, 0), want)

	unchanged := func(r delivery.Row) delivery.Row { return r }
	if err := s.Mark(s.Context(), 12345, unchanged); err == nil {
		s.Error("an unknown row was marked")
	}
	if err := s.Mark(s.Context(), first.ID, func(r delivery.Row) delivery.Row {
		r.Part = 1
		return r
	}); err == nil {
		s.Error("two rows are the same part of one turn")
	}
	s.same("after that", s.stored("t1", core.PostAnswer, 0), want)
}

func markRace(s *suite) {
	id := s.queue(row("t1", core.PostAnswer, 0))[0].ID
	fifty(func(int) {
		if err := s.Mark(s.Context(), id, func(r delivery.Row) delivery.Row {
			r.Tries++
			return r
		}); err != nil {
			s.Error(err)
		}
	})
	if n := s.outgoing()[0].Tries; n != 50 {
		s.Errorf("%d of fifty marks were kept", n)
	}
}

func giveUp(s *suite) {
	var answer, notice, second, status delivery.Row
	s.commit(func(tx sessions.Tx) {
		tx.SetSession(full()) // its notice state was set by t1
		q := tx.Queue(row("t1", core.PostAnswer, 0), row("t1", core.PostNotice, 0), row("t1", core.PostNotice, 1), row("t1", core.PostStatus, 0))
		answer, notice, second, status = q[0], q[1], q[2], q[3]
	})
	s.mark(second.ID, delivery.Sent, "p2")
	s.ok(s.GiveUp(s.Context(), answer.ID, "no access", noon))

	answer.State, answer.Error, answer.Settled = delivery.Failed, "no access", noon
	s.same("answer", s.stored("t1", core.PostAnswer, 0), answer)
	notice.State, notice.Settled = delivery.Withdrawn, noon
	s.same("notice", s.stored("t1", core.PostNotice, 0), notice)
	s.same("notice that was sent", s.stored("t1", core.PostNotice, 1).State, delivery.Sent)
	s.same("outgoing", s.outgoing(), []delivery.Row{status})
	want := full()
	want.Notice = *want.Notice.Before
	s.same("session", s.session(), want)

	s.ok(s.GiveUp(s.Context(), answer.ID, "no access", noon)) // a second time changes no more
	s.same("session after the second time", s.session(), want)
	if err := s.GiveUp(s.Context(), 12345, "x", noon); err == nil {
		s.Error("an unknown row was given up")
	}
}

func giveUpOthers(s *suite) {
	r := full()
	r.Notice.Turn = "t2"
	s.commit(func(tx sessions.Tx) { tx.SetSession(r) })
	rows := s.queue(row("t1", core.PostAnswer, 0), row("t2", core.PostNotice, 0), row("t2", core.PostStatus, 0))
	s.ok(s.GiveUp(s.Context(), rows[0].ID, "gone", noon))
	s.same("session", s.session(), r)
	s.same("outgoing", s.outgoing(), rows[1:])

	s.ok(s.GiveUp(s.Context(), rows[2].ID, "gone", noon)) // no answer
	s.same("session", s.session(), r)
	s.same("outgoing", s.outgoing(), rows[1:2])

	// The first change of a session has nothing before it.
	r.Notice.Before = nil
	s.commit(func(tx sessions.Tx) { tx.SetSession(r) })
	s.ok(s.GiveUp(s.Context(), s.queue(row("t2", core.PostAnswer, 0))[0].ID, "gone", noon))
	r.Notice = notices.State{}
	s.same("session", s.session(), r)

	// A session that nothing is known of.
	lone := row("t3", core.PostAnswer, 0)
	lone.Session = other
	s.ok(s.GiveUp(s.Context(), s.queue(lone)[0].ID, "gone", noon))
}

func giveUpSettled(s *suite) {
	s.commit(func(tx sessions.Tx) { tx.SetSession(full()) })
	rows := s.queue(row("t1", core.PostAnswer, 0), row("t1", core.PostAnswer, 1), row("t1", core.PostNotice, 0))
	s.mark(rows[0].ID, delivery.Sent, "p")
	s.mark(rows[1].ID, delivery.Withdrawn, "")
	for _, r := range rows[:2] {
		before := s.stored("t1", core.PostAnswer, r.Part)
		s.ok(s.GiveUp(s.Context(), r.ID, "too late", noon))
		s.same("row", s.stored("t1", core.PostAnswer, r.Part), before)
	}
	s.same("session", s.session(), full())
	s.same("outgoing", s.outgoing(), rows[2:])
}
