package storetest

import (
	"errors"
	"math"
	"strings"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/llm"
	"understudy/sessions"
)

// talk puts a conversation into the store: somebody's message, its answer, and
// what else a turn leaves. The message is admitted as id.
func (s *suite) talk(id, user string, t core.Thread) core.Key {
	s.Helper()
	k := core.Key{Agent: "main", Thread: t.Key()}
	to := core.Target{Thread: t, Recipient: user, RecipientTeam: "T1"}
	in := sessions.Inbound{Key: id, Session: k, At: noon, Message: core.Message{ID: id, Text: "hi", Author: core.Author{ID: user}, Target: to}}
	_, _, err := s.Admit(s.Context(), in)
	s.ok(err)
	s.ok(s.CommitChoice(s.Context(), k, 0, func(tx sessions.ChoiceTx) error {
		tx.Begin(id, "t-"+id)
		asked := sessions.Entry{Turn: "t-" + id, Message: llm.TextMessage(llm.User, "secret of "+user), Author: t.Platform + ":" + user, Inbox: id, Speaker: user, At: noon}
		tx.Append("tr", asked, entry("t-"+id, "answer to "+user))
		tx.SetSession(sessions.Session{Transcript: "tr", Compactions: 1, Target: to, LastTurn: "t-" + id})
		tx.SetChoice(choice())
		turn := turn("t-" + id)
		turn.Error = "about " + user
		tx.SaveTurn(turn)
		r := row("t-"+id, core.PostAnswer, 0)
		r.Post.Target = to
		tx.Queue(r)
		tx.Settle(id)
		tx.Spend("2026-01-01", sessions.UserOf(t.Platform, user), sessions.Bill{opus: tally(1)})
		tx.Spend("2026-01-02", sessions.UserOf(t.Platform, user), sessions.Bill{opus: tally(2)})
		return nil
	}))
	for _, r := range s.outgoing() {
		s.ok(s.Mark(s.Context(), r.ID, func(r delivery.Row) delivery.Row {
			r.State, r.Settled = delivery.Sent, noon
			return r
		}))
	}
	return k
}

func forgotten(s *suite) {
	direct := core.Thread{Platform: "slack", Account: "main", Workspace: "T1", Channel: "D1", Kind: core.KindDirect}
	shared := core.Thread{Platform: "slack", Account: "main", Workspace: "T1", Channel: "C1", Root: "1.1", Kind: core.KindThread}
	elsewhere := core.Thread{Platform: "discord", Account: "main", Workspace: "9", Channel: "8", Kind: core.KindDirect}
	alone := s.talk("m1", "ann", direct)
	both := s.talk("m2", "ann", shared)
	s.talk("m3", "bob", shared)
	other := s.talk("m4", "ann", elsewhere) // somebody else, who has the same id on another platform
	last := sessions.Inbound{Key: "m5", Session: both, At: noon, Message: core.Message{ID: "m5", Text: "waits", Author: core.Author{ID: "ann"}, Target: core.Target{Thread: shared}}}
	_, _, err := s.Admit(s.Context(), last)
	s.ok(err)
	s.ok(s.UpdateGuest(s.Context(), "slack", "main", "ann", func(g sessions.Guest) sessions.Guest { g.Name = "Ann"; return g }))

	// What was said in these two is not there any more; one is summarised.
	gone1, gone2 := s.heardOnly("m6", "ann", "C2"), s.heardOnly("m7", "ann", "C3")
	s.ok(s.Commit(s.Context(), gone1, 0, func(tx sessions.Tx) error {
		tx.SetSession(sessions.Session{Transcript: "tr", Summary: &sessions.Summary{Text: "ann's pin", Through: 1}})
		return nil
	}))
	s.ok(s.Commit(s.Context(), gone2, 0, func(tx sessions.Tx) error { tx.SetSession(sessions.Session{Transcript: "tr"}); return nil }))

	ann := sessions.Person{Platform: "slack", User: "ann"}
	want := sessions.Traces{Messages: 2, Shared: 1, Summaries: 1, Private: 1, Replies: 1, Waiting: 1, Guest: true, Counted: true}
	traces, err := s.Traces(s.Context(), ann)
	s.ok(err)
	s.same("the traces", traces, want)

	first := s.seqs(both, "tr")[0]
	mended := map[core.Key]int64{}
	gone, err := s.Forget(s.Context(), sessions.Oblivion{Person: ann, Keep: "2026-01-02", Mend: func(old sessions.Session, from int64) sessions.Session {
		mended[old.Key] = from
		old.Compactions = 7
		return old
	}})
	s.ok(err)
	s.same("what went", gone, want)
	s.same("the sessions that lost something", mended, map[core.Key]int64{both: first, gone1: 0})

	s.same("the private record", s.record(alone), sessions.Blank(alone))
	s.same("the private transcript", s.entries(alone, "tr", 9), []sessions.Entry{})
	if _, ok, err := s.Turn(s.Context(), "t-m1"); ok || err != nil {
		s.Errorf("a turn of the private conversation is still there (%v)", err)
	}
	shown := s.entries(both, "tr", 9)
	if len(shown) != 3 || shown[0].Message.Text() != "answer to ann" || shown[1].Author != "slack:bob" {
		s.Errorf("the shared transcript is %+v", shown)
	}
	r := s.record(both)
	if r.Compactions != 7 || r.Choice != choice() || r.Target.Recipient != "bob" {
		s.Errorf("the shared record is %+v", r)
	}
	if r := s.stored("t-m2", core.PostAnswer, 0); r.Post.Target.Recipient != "" || r.Post.Target.RecipientTeam != "" || r.Post.Text == "" {
		s.Errorf("the stored reply is %+v", r.Post)
	}
	if rows := s.waiting(); len(rows) != 0 {
		s.Errorf("still waiting: %+v", rows)
	}
	g, err := s.Guest(s.Context(), "slack", "main", "ann")
	s.ok(err)
	s.same("the guest", g, sessions.Guest{Platform: "slack", Account: "main", User: "ann"})
	s.same("a day", s.spent("2026-01-01", sessions.UserOf("slack", "ann")), sessions.Bill(nil))
	s.same("the day that is kept", s.spent("2026-01-02", sessions.UserOf("slack", "ann")), sessions.Bill{opus: tally(4)})
	heard, err := s.Heard(s.Context(), sessions.Where{Author: "ann"}, 9)
	s.ok(err)
	if len(heard) != 1 || heard[0].Session != other {
		s.Errorf("heard: %+v", heard)
	}
	s.same("the namesake", len(s.entries(other, "tr", 9)), 2)
	s.same("the namesake's record", s.record(other).Transcript, "tr")

	traces, err = s.Traces(s.Context(), ann)
	s.ok(err)
	s.same("what is left", traces, sessions.Traces{Counted: true})
	_, fresh, err := s.Admit(s.Context(), last)
	s.ok(err)
	if fresh {
		s.Error("a message that was forgotten is taken for a new one")
	}
}

// seqs are those of the entries of a transcript.
func (s *suite) seqs(k core.Key, transcript string) (list []int64) {
	s.Helper()
	entries, err := s.Transcript(s.Context(), k, transcript, 99)
	s.ok(err)
	for _, e := range entries {
		list = append(list, e.Seq)
	}
	return list
}

// heardOnly is a thread in which somebody was heard, and nothing else.
func (s *suite) heardOnly(id, user, channel string) core.Key {
	s.Helper()
	t := core.Thread{Platform: "slack", Account: "main", Workspace: "T1", Channel: channel, Root: "1.1", Kind: core.KindThread}
	k := core.Key{Agent: "main", Thread: t.Key()}
	_, _, err := s.Admit(s.Context(), sessions.Inbound{Key: id, Session: k, At: noon,
		Message: core.Message{ID: id, Text: "hi", Author: core.Author{ID: user}, Target: core.Target{Thread: t}}})
	s.ok(err)
	s.ok(s.Commit(s.Context(), k, 0, func(tx sessions.Tx) error { tx.Settle(id); return nil }))
	return k
}

// forgottenInParts: what is much goes in parts, each whole, so that others get
// in between; whatever fails, the next call deletes the rest.
func forgottenInParts(s *suite) {
	const many = 450 // entries of ann in a place of others, and as many with her alone
	direct := core.Thread{Platform: "slack", Account: "main", Workspace: "T1", Channel: "D1", Kind: core.KindDirect}
	shared := core.Thread{Platform: "slack", Account: "main", Workspace: "T1", Channel: "C1", Root: "1.1", Kind: core.KindThread}
	alone, both := s.talk("m1", "ann", direct), s.talk("m2", "ann", shared)
	s.talk("m3", "bob", shared)
	command := sessions.Inbound{Key: "m4", Session: both, At: noon, Message: core.Message{ID: "m4", Text: "/forget yes", Author: core.Author{ID: "ann"}, Target: core.Target{Thread: shared}}}
	_, _, err := s.Admit(s.Context(), command)
	s.ok(err)
	for _, k := range []core.Key{alone, both} {
		s.ok(s.Commit(s.Context(), k, 0, func(tx sessions.Tx) error {
			for i := range many {
				e := entry("old", "answer")
				if e.Inbox = "old"; i%2 == 0 || k == both {
					e.Author = "slack:ann"
				}
				tx.Append("tr", e)
			}
			return nil
		}))
	}
	ann := sessions.Person{Platform: "slack", User: "ann"}
	want := sessions.Traces{Messages: 2 + many + many/2, Shared: 1, Private: 1, Replies: 1 + many/2, Waiting: 1, Counted: true}
	traces, err := s.Traces(s.Context(), ann)
	s.ok(err)
	s.same("the traces", traces, want)
	o := sessions.Oblivion{Person: ann, Spare: "m4", Mend: func(r sessions.Session, _ int64) sessions.Session { r.Compactions = 7; return r }}
	sum := 0
	for failing := 1; ; failing++ {
		n := 0
		faulty := s.openFaulty(func(op string) error {
			if n++; op == "forget" && n == failing {
				return errOwn
			}
			return nil
		})
		gone, err := faulty.Forget(s.Context(), o)
		sum += gone.Messages + gone.Replies
		left := len(s.entries(both, "tr", 2*many))
		if err == nil {
			break
		}
		if !errors.Is(err, errOwn) {
			s.Fatal(err)
		}
		if r := s.record(both); left < many+4 && r.Compactions != 7 {
			s.Fatalf("%d entries are left and the record was not mended", left)
		}
	}
	s.same("what went in all", sum, want.Messages+want.Replies)
	traces, err = s.Traces(s.Context(), ann)
	s.ok(err)
	s.same("what is left", traces, sessions.Traces{Waiting: 1})
	if rows := s.waiting(); len(rows) != 1 || rows[0].Key != "m4" || rows[0].Message.Text == "" {
		s.Errorf("waiting: %+v", rows)
	}
	s.same("what is left with bob", len(s.entries(both, "tr", 2*many)), 3)
	s.same("what is left with her alone", len(s.entries(alone, "tr", 2*many)), 0)
	if _, ok, err := s.Turn(s.Context(), "t-m1"); ok || err != nil {
		s.Errorf("a turn with her alone is still there (%v)", err)
	}
}

func (s *suite) record(k core.Key) sessions.Session {
	s.Helper()
	r, err := s.Session(s.Context(), k)
	s.ok(err)
	return r
}

func unsaid(s *suite) {
	shared := core.Thread{Platform: "slack", Account: "main", Workspace: "T1", Channel: "C1", Root: "1.1", Kind: core.KindThread}
	k := s.talk("m1", "ann", shared)
	s.talk("m2", "ann", shared)
	from := int64(-1)
	bump := func(old sessions.Session, at int64) sessions.Session {
		from = at
		old.Compactions++
		return old
	}
	second := s.seqs(k, "tr")[2]
	for _, c := range []struct {
		inbox string
		want  bool
	}{{"unknown", false}, {"m1", true}, {"m1", false}, {"", false}} {
		found, err := s.Unsay(s.Context(), c.inbox, bump)
		s.ok(err)
		s.same("found "+c.inbox, found, c.want)
	}
	left := s.entries(k, "tr", 9)
	if len(left) != 3 || left[1].Inbox != "m2" {
		s.Errorf("the transcript is %+v", left)
	}
	s.same("the record", s.record(k).Compactions, 2)

	// Where it was lost is told, unless it was not in the running transcript.
	_, err := s.Unsay(s.Context(), "m2", bump)
	s.ok(err)
	s.same("from", from, second)
	s.talk("m3", "ann", shared)
	s.ok(s.Commit(s.Context(), k, 0, func(tx sessions.Tx) error {
		r := tx.Session()
		r.Transcript = "next"
		tx.SetSession(r)
		return nil
	}))
	_, err = s.Unsay(s.Context(), "m3", bump)
	s.ok(err)
	s.same("from", from, int64(math.MaxInt64))

	// One that is being answered is marked, and not dropped.
	s.admit("m9")
	s.commit(func(tx sessions.Tx) { tx.Begin("m9", "t9") })
	found, err := s.Unsay(s.Context(), "m9", bump)
	s.ok(err)
	rows := s.waiting()
	if !found || len(rows) != 1 || !rows[0].Message.Deleted || !strings.HasPrefix(rows[0].Message.Text, "hello") {
		s.Errorf("found %v, waiting %+v", found, rows)
	}
}

// A deleted message that no transcript holds any more may still be told of by a
// summary of which the beginning is not known, and by no other.
func unsaidBlurred(s *suite) {
	shared := core.Thread{Platform: "slack", Account: "main", Workspace: "T1", Channel: "C1", Root: "1.1", Kind: core.KindThread}
	k := s.talk("m1", "ann", shared)
	s.talk("m2", "bob", shared)
	apart := shared
	apart.Channel = "C2"
	s.talk("m3", "ann", apart)
	mended := map[core.Key]int64{}
	mend := func(r sessions.Session, from int64) sessions.Session {
		mended[r.Key] = from
		r.Summary = nil
		return r
	}
	set := func(sum *sessions.Summary) {
		s.ok(s.Commit(s.Context(), k, 0, func(tx sessions.Tx) error {
			r := tx.Session()
			r.Summary = sum
			tx.SetSession(r)
			return nil
		}))
	}
	unsay := func(inbox string) bool {
		found, err := s.Unsay(s.Context(), inbox, mend)
		s.ok(err)
		return found
	}
	s.same("found while it is there", unsay("m1"), true)
	s.same("found elsewhere", unsay("m3"), true)
	clear(mended)
	s.same("found without a summary", unsay("m1"), false)
	set(&sessions.Summary{Text: "so far", From: 1, Through: 9})
	s.same("found where the beginning is known", unsay("m1"), false)
	set(&sessions.Summary{Text: "so far", Through: 9})
	s.same("found one of elsewhere", unsay("m3"), false)
	s.same("found what nobody knows", unsay("unknown"), false)
	s.same("mended so far", len(mended), 0)
	s.same("found", unsay("m1"), true)
	s.same("mended", mended, map[core.Key]int64{k: math.MaxInt64})
	s.same("the others stay", len(s.entries(k, "tr", 9)), 3)
	if s.record(k).Summary != nil {
		s.Error("the summary is still there")
	}
}
