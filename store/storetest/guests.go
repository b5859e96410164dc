package storetest

import (
	"fmt"
	"time"

	"understudy/core"
	"understudy/sessions"
)

// said admits a message of an author in a Slack thread, or in its channel
// where root is empty.
func (s *suite) said(author, channel, root string, at time.Time) core.Thread {
	s.Helper()
	t := core.Thread{Platform: "slack", Account: "main", Workspace: "T1", Channel: channel, Root: root, Kind: core.KindThread}
	in := sessions.Inbound{
		Key: fmt.Sprint(author, channel, root, at.UnixNano()), Session: core.Key{Agent: "main", Thread: t.Key()}, At: at,
		Message: core.Message{ID: "x", Author: core.Author{ID: author}, Target: core.Target{Thread: t}},
	}
	_, _, err := s.Admit(s.Context(), in)
	s.ok(err)
	return t
}

func heard(s *suite) {
	a := s.said("ann", "C1", "1.1", noon)
	b := s.said("bob", "C1", "2.2", noon.Add(time.Second))
	s.said("bob", "C1", "1.1", noon.Add(2*time.Second))
	c := s.said("ann", "C2", "", noon.Add(3*time.Second))
	s.said("ann", "C1", "1.1", noon.Add(-time.Second)) // later, by a clock that went back
	s.admit("elsewhere")

	one := func(t core.Thread, author string, after time.Duration) sessions.Heard {
		return sessions.Heard{Session: core.Key{Agent: "main", Thread: t.Key()}, Author: author, Thread: t, At: noon.Add(after)}
	}
	for _, tc := range []struct {
		name  string
		where sessions.Where
		limit int
		want  []sessions.Heard
	}{
		{"an account", sessions.Where{Platform: "slack", Account: "main"}, 9,
			[]sessions.Heard{one(c, "ann", 3*time.Second), one(a, "bob", 2*time.Second), one(b, "bob", time.Second)}},
		{"the newest two", sessions.Where{Platform: "slack", Account: "main"}, 2,
			[]sessions.Heard{one(c, "ann", 3*time.Second), one(a, "bob", 2*time.Second)}},
		{"somebody in a channel", sessions.Where{Holder: a.Holder().Key(), Author: "ann"}, 9,
			[]sessions.Heard{one(a, "ann", -time.Second)}},
		{"everybody in a channel", sessions.Where{Holder: a.Holder().Key()}, 9,
			[]sessions.Heard{one(a, "bob", 2*time.Second), one(b, "bob", time.Second)}},
		{"another account", sessions.Where{Platform: "slack", Account: "two"}, 9, nil},
		{"none", sessions.Where{}, 0, nil},
	} {
		got, err := s.Heard(s.Context(), tc.where, tc.limit)
		s.ok(err)
		s.same(tc.name, got, append([]sessions.Heard{}, tc.want...))
	}
}

// A second delivery is not heard.
func heardOnce(s *suite) {
	in := inbound("m1")
	_, _, err := s.Admit(s.Context(), in)
	s.ok(err)
	in.At = noon.Add(time.Hour)
	_, _, err = s.Admit(s.Context(), in)
	s.ok(err)
	got, err := s.Heard(s.Context(), sessions.Where{}, 9)
	s.ok(err)
	s.same("heard", got, []sessions.Heard{{Session: key, Author: "u1", Thread: in.Message.Thread(), At: noon}})
}

func (s *suite) guest(user string) sessions.Guest {
	s.Helper()
	g, err := s.Guest(s.Context(), "discord", "main", user)
	s.ok(err)
	return g
}

func guests(s *suite) {
	bare := sessions.Guest{Platform: "discord", Account: "main", User: "u1"}
	s.same("nobody knows", s.guest("u1"), bare)
	change := func(user string, f func(sessions.Guest) sessions.Guest) {
		s.Helper()
		s.ok(s.UpdateGuest(s.Context(), "discord", "main", user, f))
	}
	full := sessions.Guest{
		Platform: "discord", Account: "main", User: "u1", Name: "Ann", Code: "ABCDEFGH", Asked: noon, Approved: noon, By: "root", Told: true,
		Target: core.Target{Thread: core.Thread{Platform: "discord", Account: "main", Channel: "7", Kind: core.KindDirect}},
	}
	change("u1", func(g sessions.Guest) sessions.Guest {
		s.same("before", g, bare)
		g = full
		g.User = "somebody else"
		return g
	})
	s.same("stored", s.guest("u1"), full)
	s.same("the ids stay", s.guest("somebody else"), sessions.Guest{Platform: "discord", Account: "main", User: "somebody else"})
	change("u0", func(g sessions.Guest) sessions.Guest { g.Name = "Bob"; return g })
	change("u2", func(g sessions.Guest) sessions.Guest { return g })
	all, err := s.Guests(s.Context())
	s.ok(err)
	s.same("all", all, []sessions.Guest{s.guest("u0"), full})

	change("u1", func(g sessions.Guest) sessions.Guest {
		s.same("changed again", g, full)
		return sessions.Guest{}
	})
	s.same("forgotten", s.guest("u1"), bare)
	all, err = s.Guests(s.Context())
	s.ok(err)
	s.same("those left", all, []sessions.Guest{s.guest("u0")})
}

func guestRace(s *suite) {
	fifty(func(int) {
		if err := s.UpdateGuest(s.Context(), "discord", "main", "u1", func(g sessions.Guest) sessions.Guest {
			g.Code += "x"
			return g
		}); err != nil {
			s.Error(err)
		}
	})
	if n := len(s.guest("u1").Code); n != 50 {
		s.Errorf("%d changes of 50 were kept", n)
	}
}
