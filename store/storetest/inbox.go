package storetest

import (
	"fmt"
	"slices"
	"sync/atomic"

	"understudy/core"
	"understudy/sessions"
)

func admitOnce(s *suite) {
	in := s.admit("m1")
	want := inbound("m1")
	want.Seq = in.Seq
	s.same("admitted", in, want)
	s.same("waiting", s.waiting(), []sessions.Inbound{want})

	again := inbound("m1")
	again.Message.Text, again.Session = "another text", other
	got, fresh, err := s.Admit(s.Context(), again)
	s.ok(err)
	if fresh {
		s.Error("the second delivery was fresh")
	}
	s.same("second delivery", got, want)
	s.same("waiting after it", s.waiting(), []sessions.Inbound{want})

	s.commit(func(tx sessions.Tx) { tx.Settle("m1") })
	if rows := s.waiting(); len(rows) != 0 {
		s.Errorf("a settled row waits: %+v", rows)
	}
	if _, fresh, err = s.Admit(s.Context(), again); err != nil || fresh {
		s.Errorf("a delivery after settling: fresh %v, error %v", fresh, err)
	}
	if rows := s.waiting(); len(rows) != 0 {
		s.Errorf("it waits again: %+v", rows)
	}
	s.commit(func(tx sessions.Tx) { tx.Settle("m1") }) // twice is no error
}

func admitRace(s *suite) {
	var fresh atomic.Int32
	fifty(func(int) {
		_, f, err := s.Admit(s.Context(), inbound("m1"))
		if err != nil {
			s.Error(err)
		}
		if f {
			fresh.Add(1)
		}
	})
	if n := fresh.Load(); n != 1 {
		s.Errorf("%d of fifty were fresh", n)
	}
	if n := len(s.waiting()); n != 1 {
		s.Errorf("%d rows wait", n)
	}
}

func waitingOrder(s *suite) {
	var want []string
	var last int64
	for i := range 20 {
		id := fmt.Sprintf("m%d", (i*7)%20)
		in := s.admit(id)
		if in.Seq <= last {
			s.Errorf("seq %d came after %d", in.Seq, last)
		}
		last = in.Seq
		want = append(want, id)
	}
	s.commit(func(tx sessions.Tx) {
		tx.Begin(want[3], "t1")
		tx.Settle(want[5])
	})
	want = slices.Delete(want, 5, 6)
	var got []string
	for _, in := range s.waiting() {
		got = append(got, in.Key)
		if begun := in.Key == want[3]; begun != (in.Turn == "t1") {
			s.Errorf("%s has turn %q", in.Key, in.Turn)
		}
	}
	s.same("order", got, want)
	if in := s.admit("later"); in.Seq <= last {
		s.Errorf("seq %d came after %d", in.Seq, last)
	}
}

func changeWaiting(s *suite) {
	edit := func(id, text string, deleted, want bool) {
		s.Helper()
		found, err := s.Change(s.Context(), core.Change{InboxKey: id, Text: text, Deleted: deleted})
		s.ok(err)
		if found != want {
			s.Errorf("change of %s: found %v, want %v", id, found, want)
		}
	}
	edit("unknown", "x", false, false)
	edit("unknown", "", true, false)

	kept, dropped, begun := s.admit("m1"), s.admit("m2"), s.admit("m3")
	edit("m1", "say \"this\" <instead>\n", false, true)
	edit("m2", "", true, true)
	s.commit(func(tx sessions.Tx) { tx.Begin("m3", "t1") })
	edit("m3", "too late", false, false)
	edit("m3", "", true, false)
	edit("m2", "gone already", false, false)
	edit("m2", "", true, false)

	kept.Message.Text = "say \"this\" <instead>\n"
	begun.Turn = "t1"
	s.same("waiting", s.waiting(), []sessions.Inbound{kept, begun})
	if _, fresh, err := s.Admit(s.Context(), dropped); err != nil || fresh {
		s.Errorf("a dropped message again: fresh %v, error %v", fresh, err)
	}
}

func toolMark(s *suite) {
	s.admit("m1")
	tool := func() bool { return s.waiting()[0].Tool }
	s.commit(func(tx sessions.Tx) { tx.Begin("m1", "t1") })
	if tool() {
		s.Error("marked before any tool")
	}
	s.ok(s.MarkTool(s.Context(), "m1"))
	if !tool() {
		s.Error("not marked")
	}
	s.commit(func(tx sessions.Tx) { tx.Begin("m1", "t1") })
	if !tool() {
		s.Error("the same turn lost its mark")
	}
	s.commit(func(tx sessions.Tx) { tx.Begin("m1", "t2") })
	if tool() {
		s.Error("another turn has the mark of the first")
	}
	if err := s.MarkTool(s.Context(), "unknown"); err == nil {
		s.Error("an unknown row was marked")
	}
	for name, change := range map[string]func(sessions.Tx){
		"begin":  func(tx sessions.Tx) { tx.Begin("unknown", "t1") },
		"settle": func(tx sessions.Tx) { tx.Settle("unknown") },
	} {
		err := s.Commit(s.Context(), key, 0, func(tx sessions.Tx) error {
			change(tx)
			return nil
		})
		if err == nil {
			s.Errorf("%s of an unknown row was no error", name)
		}
	}
}
