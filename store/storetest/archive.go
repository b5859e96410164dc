package storetest

import (
	"fmt"

	"understudy/sessions"
)

func archive(s *suite) {
	s.ok(s.Commit(s.Context(), other, 0, func(tx sessions.Tx) error {
		tx.SetSession(sessions.Session{Transcript: "x"})
		return nil
	}))
	s.ok(s.CommitChoice(s.Context(), key, 0, func(tx sessions.ChoiceTx) error {
		tx.SetSession(full())
		tx.SetChoice(choice())
		tx.Append("zz", entry("t1", "older"))
		for i := range 5 {
			tx.Append("tr1", entry("t1", fmt.Sprint(i)))
		}
		return nil
	}))
	want := full()
	want.Choice = choice()
	kept, err := s.Sessions(s.Context())
	s.ok(err)
	s.same("sessions", kept, []sessions.Kept{{Session: want, Entries: 6}, {Session: sessions.Session{Key: other, Transcript: "x"}}})
	ids, err := s.Transcripts(s.Context(), key)
	s.ok(err)
	s.same("transcripts", ids, []string{"zz", "tr1"})
	ids, err = s.Transcripts(s.Context(), other)
	s.ok(err)
	s.same("no transcripts", ids, []string{})

	var texts []string
	after := int64(0)
	for {
		page, err := s.Following(s.Context(), key, "tr1", after, 2)
		s.ok(err)
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			texts = append(texts, e.Message.Text())
			after = e.Seq
		}
	}
	s.same("page by page", texts, []string{"0", "1", "2", "3", "4"})
	none, err := s.Following(s.Context(), key, "tr1", 0, 0)
	s.ok(err)
	s.same("none", none, []sessions.Entry{})
}
