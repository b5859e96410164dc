package storetest

import (
	"context"
	"errors"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/sessions"
)

// used is a profile state with something in every field.
func used() failover.State {
	return failover.State{
		LastUsed: noon,
		Models: map[string]failover.Window{
			"opus":             {Reason: llm.RateLimit, Since: noon, Until: noon.Add(30 * time.Second), Stated: true, Count: 2},
			failover.AllModels: {Reason: llm.Timeout, Until: noon.Add(time.Minute), Count: 1},
		},
		Auth:      failover.Window{Reason: llm.Auth, Until: noon.Add(1)},
		Billing:   failover.Window{Reason: llm.Billing, Until: noon.Add(5 * time.Hour), Count: 1},
		Permanent: failover.Window{Reason: llm.AuthPermanent, Until: noon.Add(24 * time.Hour)},
	}
}

func (s *suite) update(agent, profile string, change func(failover.State) failover.State) {
	s.Helper()
	s.ok(s.UpdateState(s.Context(), agent, profile, change))
}

func states(s *suite) {
	s.same("at first", s.states("main"), map[string]failover.State{})
	s.update("main", "a:1", func(st failover.State) failover.State {
		s.same("never used", st, failover.State{})
		return used()
	})
	s.update("main", "a:2", func(failover.State) failover.State { return failover.State{LastUsed: noon} })
	s.update("second", "a:1", func(st failover.State) failover.State {
		s.same("another agent", st, failover.State{})
		return failover.State{LastUsed: noon}
	})
	s.same("main", s.states("main"), map[string]failover.State{"a:1": used(), "a:2": {LastUsed: noon}})
	s.same("second", s.states("second"), map[string]failover.State{"a:1": {LastUsed: noon}})

	s.update("main", "a:1", func(st failover.State) failover.State {
		s.same("what is there", st, used())
		return failover.State{}
	})
	s.same("one that is zero again", s.states("main"), map[string]failover.State{"a:2": {LastUsed: noon}})
	s.same("the other agent", s.states("second"), map[string]failover.State{"a:1": {LastUsed: noon}})
}

func stateRace(s *suite) {
	second := s.open()
	fifty(func(i int) {
		st := s.Store
		if i%2 == 1 {
			st = second
		}
		err := st.UpdateState(s.Context(), "main", "a:1", func(st failover.State) failover.State {
			st.Billing.Count++
			return st
		})
		if err != nil {
			s.Error(err)
		}
	})
	if n := s.states("main")["a:1"].Billing.Count; n != 50 {
		s.Errorf("%d of fifty updates were kept", n)
	}
}

func handles(s *suite) {
	second := s.open()
	s.update("main", "a:1", func(failover.State) failover.State { return used() })
	seen, err := second.States(s.Context(), "main")
	s.ok(err)
	s.same("the second handle", seen, map[string]failover.State{"a:1": used()})

	s.ok(second.UpdateState(s.Context(), "main", "a:1", func(failover.State) failover.State { return failover.State{} }))
	s.same("the first handle", s.states("main"), map[string]failover.State{})

	s.admit("m1")
	if _, fresh, err := second.Admit(s.Context(), inbound("m1")); err != nil || fresh {
		s.Errorf("the second handle: fresh %v, error %v", fresh, err)
	}
}

func instants(s *suite) {
	now := time.Now()
	berlin := time.FixedZone("", 2*60*60)
	for _, want := range []time.Time{
		noon, now, time.Unix(0, 0), time.Unix(-1, 1), noon.In(berlin), {}, noon.Add(-123 * time.Nanosecond),
		time.Date(1900, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(2200, 1, 1, 0, 0, 0, 1, time.UTC),
	} {
		check := func(what string, got time.Time) {
			s.Helper()
			if !got.Equal(want) {
				s.Errorf("%s: %v came back as %v", what, want, got)
			}
		}
		id := want.String()
		in := inbound(id)
		in.At, in.Message.At = want, want
		in, _, err := s.Admit(s.Context(), in)
		s.ok(err)
		check("admitted", in.At)
		check("said", in.Message.At)

		r := row(id, core.PostAnswer, 0)
		r.Created, r.Settled = want, want
		s.queue(r)
		r = s.stored(id, core.PostAnswer, 0)
		check("created", r.Created)
		check("settled", r.Settled)

		rec, e := full(), entry("t", "x")
		rec.LastActive, rec.Notice.Since, e.At = want, want, want
		s.ok(s.CommitChoice(s.Context(), key, 0, func(tx sessions.ChoiceTx) error {
			tx.SetSession(rec)
			tx.SetChoice(sessions.Choice{Since: want})
			tx.Append(id, e)
			return nil
		}))
		rec = s.session()
		check("last active", rec.LastActive)
		check("notice", rec.Notice.Since)
		check("choice", rec.Choice.Since)
		check("entry", s.entries(key, id, 1)[0].At)

		s.update("main", "p", func(failover.State) failover.State {
			return failover.State{LastUsed: want, Auth: failover.Window{Until: want, Count: 1}}
		})
		st := s.states("main")["p"]
		check("last used", st.LastUsed)
		check("until", st.Auth.Until)
	}
}

func texts(s *suite) {
	for _, text := range []string{"", "it's", `"quoted"`, "a\x00b", "äß€𝄞", "';--", "%s?1:x@y$z", "\u2028\t\r\n"} {
		k := core.Key{Agent: "a" + text, Thread: "t" + text}
		in := inbound("key" + text)
		in.Session, in.Message.Text = k, text
		got, _, err := s.Admit(s.Context(), in)
		s.ok(err)
		in.Seq = got.Seq
		s.same("inbox", got, in)

		r := row("turn"+text, core.PostKind("kind"+text), 0)
		r.Session, r.PlatformID, r.Error, r.Post.Text = k, text, text, text
		r.ID = s.queue(r)[0].ID
		s.same("row", s.stored(r.Turn, r.Post.Kind, 0), r)

		rec := sessions.Session{Key: k, Pins: map[string]string{text: text}, LastTurn: text}
		e := entry(text, text)
		s.ok(s.Commit(s.Context(), k, 0, func(tx sessions.Tx) error {
			tx.SetSession(rec)
			tx.Append("tr"+text, e)
			tx.SaveTurn(sessions.Turn{ID: "turn" + text, Error: text})
			return nil
		}))
		stored, err := s.Session(s.Context(), k)
		s.ok(err)
		s.same("session", stored, rec)
		s.same("transcript", s.entries(k, "tr"+text, 9), []sessions.Entry{e})
		s.same("turn", s.turn("turn"+text), sessions.Turn{ID: "turn" + text, Session: k, Error: text})

		s.update(k.Agent, "p"+text, func(failover.State) failover.State { return used() })
		s.same("states", s.states(k.Agent), map[string]failover.State{"p" + text: used()})
	}
}

func reopen(s *suite) {
	s.admit("m1")
	s.commit(everything)
	s.ok(s.CommitChoice(s.Context(), key, 0, func(tx sessions.ChoiceTx) error {
		tx.SetChoice(choice())
		return nil
	}))
	s.admit("m2")
	s.update("main", "a:1", func(failover.State) failover.State { return used() })
	waiting, open := s.waiting(), s.outgoing()
	s.ok(s.Close())

	s.Store = s.open()
	want := full()
	want.Choice = choice()
	s.same("session", s.session(), want)
	s.same("waiting", s.waiting(), waiting)
	s.same("outgoing", s.outgoing(), open)
	s.same("transcript", s.entries(key, "tr1", 9), []sessions.Entry{entry("t1", "one"), entry("t1", "two")})
	s.same("turn", s.turn("t1"), turn("t1"))
	s.same("states", s.states("main"), map[string]failover.State{"a:1": used()})
	if _, fresh, err := s.Admit(s.Context(), inbound("m1")); err != nil || fresh {
		s.Errorf("a settled key: fresh %v, error %v", fresh, err)
	}
	if in := s.admit("m3"); in.Seq <= waiting[0].Seq {
		s.Errorf("seq %d came after %d", in.Seq, waiting[0].Seq)
	}
	if r := s.queue(row("t2", core.PostAnswer, 0))[0]; r.ID <= open[0].ID {
		s.Errorf("id %d came after %d", r.ID, open[0].ID)
	}
}

// calls are all methods, each with arguments that would succeed.
func (s *suite) calls(ctx context.Context, st Store) map[string]error {
	errs := map[string]error{}
	_, _, errs["Admit"] = st.Admit(ctx, inbound("x"))
	_, errs["Change"] = st.Change(ctx, core.Change{InboxKey: "m1", Text: "x"})
	_, errs["Waiting"] = st.Waiting(ctx)
	errs["MarkTool"] = st.MarkTool(ctx, "m1")
	_, errs["Session"] = st.Session(ctx, key)
	errs["Commit"] = st.Commit(ctx, key, 0, func(tx sessions.Tx) error {
		tx.SetSession(full())
		return nil
	})
	errs["CommitChoice"] = st.CommitChoice(ctx, key, 0, func(tx sessions.ChoiceTx) error {
		tx.SetChoice(choice())
		return nil
	})
	_, errs["Transcript"] = st.Transcript(ctx, key, "tr1", 9)
	_, _, errs["Turn"] = st.Turn(ctx, "t1")
	_, errs["Outgoing"] = st.Outgoing(ctx)
	_, errs["Queue"] = st.Queue(ctx, row("x", core.PostAnswer, 0))
	errs["Mark"] = st.Mark(ctx, 1, func(r delivery.Row) delivery.Row {
		r.Tries++
		return r
	})
	errs["GiveUp"] = st.GiveUp(ctx, 1, "x", noon)
	_, errs["Heard"] = st.Heard(ctx, sessions.Where{}, 9)
	_, errs["Guest"] = st.Guest(ctx, "discord", "main", "u1")
	_, errs["Guests"] = st.Guests(ctx)
	errs["UpdateGuest"] = st.UpdateGuest(ctx, "discord", "main", "u1", func(g sessions.Guest) sessions.Guest {
		g.Name = "x"
		return g
	})
	_, errs["Prune"] = st.Prune(ctx, sessions.Retention{Transcripts: noon, Notices: noon, Inbox: noon}, 9)
	_, errs["States"] = st.States(ctx, "main")
	errs["UpdateState"] = st.UpdateState(ctx, "main", "x", func(failover.State) failover.State { return used() })
	return errs
}

// untouched checks that none of the calls left a trace.
func (s *suite) untouched(in sessions.Inbound, r delivery.Row) {
	s.Helper()
	s.same("waiting", s.waiting(), []sessions.Inbound{in})
	s.same("outgoing", s.outgoing(), []delivery.Row{r})
	s.same("session", s.session(), sessions.Session{Key: key})
	s.same("states", s.states("main"), map[string]failover.State{})
	s.same("guest", s.guest("u1"), sessions.Guest{Platform: "discord", Account: "main", User: "u1"})
}

func closed(s *suite) {
	in, r := s.admit("m1"), s.queue(row("t1", core.PostAnswer, 0))[0]
	st := s.open()
	s.ok(st.Close())
	s.ok(st.Close())
	for name, err := range s.calls(s.Context(), st) {
		if err == nil {
			s.Errorf("%s worked on a closed store", name)
		}
	}
	s.untouched(in, r)
}

func endedContext(s *suite) {
	in, r := s.admit("m1"), s.queue(row("t1", core.PostAnswer, 0))[0]
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	for name, err := range s.calls(ctx, s.Store) {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s returned %v", name, err)
		}
	}
	s.untouched(in, r)
}
