package storetest

import (
	"fmt"

	"understudy/core/llm"
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
	large(s)
	none, err := s.Following(s.Context(), key, "tr1", 0, 0)
	s.ok(err)
	s.same("none", none, []sessions.Entry{})
}

// large: of a transcript with large pictures no more is read at once than has room
// in memory, and all of it page by page.
func large(s *suite) {
	picture := sessions.Entry{Turn: "t1", Message: llm.Message{Role: llm.User, Parts: []llm.Part{{Image: &llm.Image{MIME: "image/png", Data: make([]byte, 4<<20)}}}}}
	answer := sessions.Entry{Turn: "t1", Message: llm.TextMessage(llm.Assistant, "I see.")}
	const rounds = 10 // of 5.6 MB, as they are stored
	for range rounds {
		s.ok(s.Commit(s.Context(), key, 0, func(tx sessions.Tx) error {
			tx.Append("large", picture, answer)
			return nil
		}))
	}
	newest, err := s.Transcript(s.Context(), key, "large", 1000)
	s.ok(err)
	if n := len(newest); n != 12 || newest[0].Message.Role != llm.User || newest[n-1].Message.Role != llm.Assistant {
		s.Errorf("%d entries are read at once", n)
	}
	few, err := s.Transcript(s.Context(), key, "large", 3)
	s.ok(err)
	if len(few) != 3 {
		s.Errorf("%d entries, want 3", len(few))
	}
	read, after := 0, int64(0)
	for {
		page, err := s.Following(s.Context(), key, "large", after, 1000)
		s.ok(err)
		if len(page) == 0 {
			break
		}
		if len(page) > 13 {
			s.Errorf("a page has %d entries", len(page))
		}
		for _, e := range page {
			read++
			after = e.Seq
		}
	}
	if read != 2*rounds {
		s.Errorf("%d entries are read in all", read)
	}
}
