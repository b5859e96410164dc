package storetest

import (
	"fmt"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
	"understudy/sessions"
)

var (
	opus  = llm.Ref{Provider: "anthropic", Model: "opus"}
	turbo = llm.Ref{Provider: "openrouter", Model: "openai/gpt-turbo"}
)

// full is a session with something in every field that a turn may write.
func full() sessions.Session {
	return sessions.Session{
		Key:     key,
		Pending: &sessions.Pending{ID: "p1", Model: turbo, Lock: "openrouter:env"},
		Fresh:   true,
		Pins:    map[string]string{"anthropic": "anthropic:env"},
		Notice: notices.State{Selected: opus, Active: turbo, Reason: llm.Overloaded, Since: noon, Turn: "t1",
			Before: &notices.State{Selected: opus, Active: opus, Turn: "t0"}},
		Summary:     &sessions.Summary{Text: "they said hello", From: 2, Through: 3, Since: noon, Said: noon, Model: turbo, At: noon},
		Compactions: 2, Uncompacted: noon, Unsaid: 1,
		Usage: llm.Usage{In: 10, Out: 20, CacheRead: 5},
		Spent: sessions.Spending{Since: sessions.Bill{opus: tally(1)}, All: sessions.Bill{opus: tally(2), turbo: tally(3)},
			Day: "2026-03-29", Today: sessions.Bill{messages: {Messages: 1}}},
		Transcript: "tr1",
		Engaged:    true,
		Active:     turbo,
		LastActive: noon,
		LastTurn:   "t1",
		Target:     core.Target{Thread: core.Thread{Platform: "discord", Channel: "3"}, ReplyTo: "m1"},
	}
}

func choice() sessions.Choice {
	return sessions.Choice{Model: opus, Source: failover.FromUser, Since: noon, Lock: "anthropic:env", Origin: turbo, Probed: noon}
}

func entry(turn, text string) sessions.Entry {
	return sessions.Entry{
		Turn: turn, Message: llm.TextMessage(llm.Assistant, text), Model: opus,
		Profile: "anthropic:env", Usage: llm.Usage{In: 1, Out: 2}, Cost: 33_000, Priced: true, At: noon,
	}
}

func turn(id string) sessions.Turn {
	return sessions.Turn{
		ID: id, Session: key, Inbox: "m1", Started: noon, Ended: noon.Add(1), Selected: opus, Source: failover.FromUser,
		Active: turbo, Chain: []llm.Ref{opus, turbo}, Outcome: "answered",
		Attempts: []failover.Attempt{{Model: opus, Profile: "anthropic:env", Pass: 1, Reason: llm.Overloaded, Status: 529, At: noon, Took: 17, Until: noon.Add(30)}},
	}
}

// entries drops the numbers that the store assigned, after a look at them.
func (s *suite) entries(k core.Key, transcript string, limit int) []sessions.Entry {
	s.Helper()
	got, err := s.Transcript(s.Context(), k, transcript, limit)
	s.ok(err)
	last := int64(0)
	for i := range got {
		if got[i].Seq <= last {
			s.Errorf("seq %d came after %d", got[i].Seq, last)
		}
		last, got[i].Seq = got[i].Seq, 0
	}
	return got
}

func (s *suite) turn(id string) sessions.Turn {
	s.Helper()
	t, ok, err := s.Turn(s.Context(), id)
	s.ok(err)
	if !ok {
		s.Errorf("turn %s is not there", id)
	}
	return t
}

func unknownSession(s *suite) {
	s.same("unknown", s.session(), sessions.Session{Key: key})
	s.commit(func(tx sessions.Tx) { s.same("in a commit", tx.Session(), sessions.Session{Key: key}) })
	s.same("after an empty commit", s.session(), sessions.Session{Key: key})
}

// everything is the commit of a turn.
func everything(tx sessions.Tx) {
	tx.Begin("m1", "t1")
	tx.Append("tr1", entry("t1", "one"), entry("t1", "two"))
	tx.SetSession(full())
	tx.Queue(row("t1", core.PostAnswer, 0))
	tx.SaveTurn(turn("t1"))
	tx.Settle("m1")
}

func commitWhole(s *suite) {
	s.admit("m1")
	s.commit(everything)
	s.same("session", s.session(), full())
	s.same("transcript", s.entries(key, "tr1", 9), []sessions.Entry{entry("t1", "one"), entry("t1", "two")})
	s.same("turn", s.turn("t1"), turn("t1"))
	out := s.outgoing()
	want := row("t1", core.PostAnswer, 0)
	want.ID = out[0].ID
	s.same("outgoing", out, []delivery.Row{want})
	if rows := s.waiting(); len(rows) != 0 {
		s.Errorf("still waiting: %+v", rows)
	}

	empty := sessions.Session{Key: key}
	s.commit(func(tx sessions.Tx) { tx.SetSession(empty) })
	s.same("emptied", s.session(), empty)
}

func commitFails(s *suite) {
	in := s.admit("m1")
	nothing := func(what string) {
		s.Helper()
		s.same(what+": session", s.session(), sessions.Session{Key: key})
		s.same(what+": transcript", s.entries(key, "tr1", 9), []sessions.Entry{})
		s.same(what+": outgoing", s.outgoing(), []delivery.Row{})
		s.same(what+": waiting", s.waiting(), []sessions.Inbound{in})
		if _, ok, err := s.Turn(s.Context(), "t1"); ok || err != nil {
			s.Errorf("%s: turn: %v, %v", what, ok, err)
		}
	}
	err := s.Commit(s.Context(), key, 0, func(tx sessions.Tx) error {
		everything(tx)
		return errOwn
	})
	if err != errOwn {
		s.Errorf("the error came back as %v", err)
	}
	nothing("own error")

	err = s.CommitChoice(s.Context(), key, 0, func(tx sessions.ChoiceTx) error {
		tx.SetChoice(choice())
		everything(tx)
		return errOwn
	})
	if err != errOwn {
		s.Errorf("the error came back as %v", err)
	}
	nothing("choice")

	// A failing method fails the commit, though the function returned nil.
	err = s.Commit(s.Context(), key, 0, func(tx sessions.Tx) error {
		tx.Settle("unknown")
		everything(tx)
		return nil
	})
	if err == nil {
		s.Error("a commit with a failed method succeeded")
	}
	nothing("failed method")

	s.commit(everything)
	s.same("afterwards", s.session(), full())
}

func commitSees(s *suite) {
	s.ok(s.CommitChoice(s.Context(), key, 0, func(tx sessions.ChoiceTx) error {
		tx.SetSession(full())
		s.same("after SetSession", tx.Session(), full())
		tx.SetChoice(choice())
		want := full()
		want.Choice = choice()
		s.same("after SetChoice", tx.Session(), want)

		first := tx.Queue(row("t1", core.PostNotice, 0))
		again := tx.Queue(row("t1", core.PostNotice, 0))
		s.same("queued twice", again, first)
		tx.Withdraw("t1", core.PostNotice, noon)
		s.same("withdrawn", tx.Queue(row("t1", core.PostNotice, 0))[0].State, delivery.Withdrawn)
		return nil
	}))
}

func commitPanics(s *suite) {
	func() {
		defer func() {
			if recover() == nil {
				s.Error("the panic was swallowed")
			}
		}()
		s.Commit(s.Context(), key, 0, func(tx sessions.Tx) error {
			tx.SetSession(full())
			panic("a fault of the change")
		})
	}()
	s.same("session", s.session(), sessions.Session{Key: key})
	s.commit(func(tx sessions.Tx) { tx.SetSession(full()) })
	s.same("the store goes on", s.session(), full())
}

func choiceApart(s *suite) {
	s.commit(func(tx sessions.Tx) {
		r := full()
		r.Choice = choice()
		tx.SetSession(r)
	})
	s.same("after a turn alone", s.session(), full())

	old := s.session() // what a turn loaded
	s.ok(s.CommitChoice(s.Context(), key, 0, func(tx sessions.ChoiceTx) error {
		tx.SetChoice(choice())
		return nil
	}))
	s.commit(func(tx sessions.Tx) {
		s.same("a turn sees the new choice", tx.Session().Choice, choice())
		tx.SetSession(old)
	})
	want := full()
	want.Choice = choice()
	s.same("after the turn wrote its old copy", s.session(), want)

	s.ok(s.CommitChoice(s.Context(), key, 0, func(tx sessions.ChoiceTx) error {
		tx.SetChoice(sessions.Choice{})
		return nil
	}))
	s.same("after the choice was cleared", s.session(), full())
}

func sessionRace(s *suite) {
	fifty(func(i int) {
		var err error
		if i%2 == 0 {
			err = s.Commit(s.Context(), key, 0, func(tx sessions.Tx) error {
				r := tx.Session()
				r.Compactions++
				tx.SetSession(r)
				tx.Append("tr1", entry("t1", "x"))
				return nil
			})
		} else {
			err = s.CommitChoice(s.Context(), key, 0, func(tx sessions.ChoiceTx) error {
				c := tx.Session().Choice
				c.Lock += "x"
				tx.SetChoice(c)
				return nil
			})
		}
		if err != nil {
			s.Error(err)
		}
	})
	r := s.session()
	if r.Compactions != 25 || len(r.Choice.Lock) != 25 {
		s.Errorf("%d turns and %d choices of 25 each were kept", r.Compactions, len(r.Choice.Lock))
	}
	if n := len(s.entries(key, "tr1", 100)); n != 25 {
		s.Errorf("%d entries of 25 were kept", n)
	}
}

func noSharing(s *suite) {
	mine := full()
	s.commit(func(tx sessions.Tx) {
		tx.SetSession(mine)
		mine.Pins["anthropic"] = "changed"
		mine.Notice.Before.Turn = "changed"
	})
	s.same("stored", s.session(), full())
	r := s.session()
	r.Pins["anthropic"], r.Pending.ID = "changed", "changed"
	s.same("after the copy was changed", s.session(), full())

	s.ok(s.UpdateState(s.Context(), "main", "p", func(failover.State) failover.State {
		return failover.State{Models: map[string]failover.Window{"m": {Count: 1}}}
	}))
	s.states("main")["p"].Models["m"] = failover.Window{Count: 9}
	if n := s.states("main")["p"].Models["m"].Count; n != 1 {
		s.Errorf("count is %d", n)
	}
}

// unreadable: half a model ref has a stored form that nothing can read.
func unreadable(s *suite) {
	half := llm.Ref{Provider: "anthropic"}
	for name, change := range map[string]func(sessions.ChoiceTx){
		"choice":  func(tx sessions.ChoiceTx) { tx.SetChoice(sessions.Choice{Model: half}) },
		"session": func(tx sessions.ChoiceTx) { tx.SetSession(sessions.Session{Active: half}) },
		"entry":   func(tx sessions.ChoiceTx) { tx.Append("tr1", sessions.Entry{Model: half}) },
		"turn":    func(tx sessions.ChoiceTx) { tx.SaveTurn(sessions.Turn{ID: "t1", Active: half}) },
	} {
		if err := s.CommitChoice(s.Context(), key, 0, func(tx sessions.ChoiceTx) error {
			change(tx)
			return nil
		}); err == nil {
			s.Errorf("%s: half a ref was stored", name)
		}
	}
	s.same("session", s.session(), sessions.Session{Key: key})
	s.same("transcript", s.entries(key, "tr1", 9), []sessions.Entry{})
}

func transcriptLimit(s *suite) {
	var want []sessions.Entry
	for i := range 30 {
		e := entry(fmt.Sprintf("t%d", i/4), fmt.Sprintf("line %d", i))
		want = append(want, e)
		s.commit(func(tx sessions.Tx) { tx.Append("tr1", e) })
	}
	for _, limit := range []int{0, 1, 7, 29, 30, 31, 1000} {
		s.same(fmt.Sprintf("limit %d", limit), s.entries(key, "tr1", limit), want[max(0, 30-limit):])
	}
	s.same("limit -1", s.entries(key, "tr1", -1), []sessions.Entry{})
	s.same("unknown", s.entries(key, "tr2", 9), []sessions.Entry{})
}

func transcriptsApart(s *suite) {
	s.commit(func(tx sessions.Tx) {
		tx.Append("a", entry("t1", "a"))
		tx.Append("b", entry("t1", "b"))
		tx.Append("a", entry("t1", "a2"))
	})
	s.ok(s.Commit(s.Context(), other, 0, func(tx sessions.Tx) error {
		tx.Append("a", entry("t1", "other"))
		return nil
	}))
	s.same("a", s.entries(key, "a", 9), []sessions.Entry{entry("t1", "a"), entry("t1", "a2")})
	s.same("b", s.entries(key, "b", 9), []sessions.Entry{entry("t1", "b")})
	s.same("other", s.entries(other, "a", 9), []sessions.Entry{entry("t1", "other")})
}

func turns(s *suite) {
	if _, ok, err := s.Turn(s.Context(), "t1"); ok || err != nil {
		s.Errorf("an unknown turn: %v, %v", ok, err)
	}
	begun := sessions.Turn{ID: "t1", Inbox: "m1", Started: noon, Selected: opus}
	s.commit(func(tx sessions.Tx) { tx.SaveTurn(begun) })
	begun.Session = key
	s.same("begun", s.turn("t1"), begun)
	s.commit(func(tx sessions.Tx) {
		tx.SaveTurn(turn("t1"))
		tx.SaveTurn(turn("t2"))
	})
	s.same("ended", s.turn("t1"), turn("t1"))
	s.same("next", s.turn("t2"), turn("t2"))
}
