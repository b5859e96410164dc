package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/core/llm"
	"understudy/sessions"
	"understudy/store/memory"
)

// A conversation with more entries than a turn reads is summarised, however
// large the window is: nothing falls out of it in silence.
func TestManyShortMessagesAreSummarised(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", `text "ok"`)
		h.say("t1", "the first of all")
		err := h.store.Commit(context.Background(), key("t1"), 0, func(tx sessions.Tx) error {
			for i := range 2500 {
				role := []llm.Role{llm.User, llm.Assistant}[i%2]
				tx.Append(tx.Session().Transcript, sessions.Entry{Turn: fmt.Sprint("old", i/2), Message: llm.TextMessage(role, fmt.Sprint("number ", i)), At: time.Now()})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		h.model("a/m1", `text "SUMMARY"`, `text "fine"`)
		h.say("t1", "and now?")
		requests := h.log.Requests()
		if len(requests) != 3 {
			t.Fatalf("%d requests, want the first, a summary and the answer", len(requests))
		}
		summary := requests[1].Request.Messages[0].Text()
		for _, want := range []string{"the first of all", `"number 0"`, `"number 1499"`} {
			if !strings.Contains(summary, want) {
				t.Errorf("the request for a summary lacks %q", want)
			}
		}
		var answer strings.Builder
		for _, m := range requests[2].Request.Messages {
			answer.WriteString(m.Text() + "\n")
		}
		for n := range 2500 {
			line := fmt.Sprintf("number %d\n", n)
			if told, kept := strings.Contains(summary, fmt.Sprintf("%q", strings.TrimSpace(line))), strings.Contains(answer.String(), line); told == kept {
				t.Fatalf("number %d: in the summary %v, word for word %v", n, told, kept)
			}
		}
		s := h.session("t1")
		if s.Summary == nil || s.Summary.Text != "SUMMARY" || s.Compactions != 1 {
			t.Errorf("the record has %+v, %d compactions", s.Summary, s.Compactions)
		}
		h.around = func(st *memory.Store) sessions.Store { return &sparing{st, t} }
		h.stop(time.Minute)
		h.open()
		h.say("t1", "and then?")
		if posts := h.place.all(); posts[len(posts)-1] != "t1 answer: fine" {
			t.Errorf("the posts are %q", posts)
		}
	})
}

// sparing is a store that does not give what a summary tells of.
type sparing struct {
	*memory.Store
	t *testing.T
}

func (s *sparing) Transcript(ctx context.Context, k core.Key, transcript string, limit int) ([]sessions.Entry, error) {
	s.t.Error("the whole transcript is read, though most of it is summarised")
	return s.Store.Transcript(ctx, k, transcript, limit)
}

// With one slot for requests a summary in the middle of a turn needs no second
// one, and what it used is on the bill of its message.
func TestSummaryWithOneSlot(t *testing.T) {
	inHouse(t, func(h *house) {
		h.slots = 1
		h.set.Window = func(llm.Ref) int { return 1000 }
		h.open()
		h.model("a/m1", `text "ok"`)
		h.say("t1", "the first")
		h.model("a/m1", `400 "prompt is too long: 1402 tokens > 1000 maximum"`, `text "SUMMARY"`, `text "fine"`)
		h.say("t1", "the second")
		h.expectPosts("t1 answer: ok", "t1 answer: fine")
		turn, ok, err := h.store.Turn(context.Background(), h.session("t1").LastTurn)
		if err != nil || !ok || len(turn.Summary) != 1 || !turn.Summary[0].Won || len(turn.Attempts) != 2 {
			t.Errorf("the turn's record is %+v (%v)", turn, err)
		}
		h.say("t1", "/status why")
		if posts := h.place.all(); !strings.Contains(posts[len(posts)-1], "for a summary of what was said before: a/m1 with a:one answered") {
			t.Errorf("/status why tells %q", posts[len(posts)-1])
		}
	})
}

// Two people who compact at once, and a choice meanwhile: the summary is made
// once, and the choice stays.
func TestCompactTwice(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", `text "one"`)
		h.say("t1", "first")
		h.say("t1", "second")
		h.model("a/m1", `slow 10s text "SUMMARY"`)
		if r := h.command("t1", "compact", "ann"); !strings.HasPrefix(r.Text, "I’ll summarise") {
			t.Errorf("the reply is %+v", r)
		}
		h.command("t1", "compact", "bob")
		h.command("t1", "model c/m3", "bob")
		time.Sleep(time.Minute)
		synctest.Wait()
		s := h.session("t1")
		if s.Compactions != 1 || s.Choice.Model.String() != "c/m3" || s.Summary == nil {
			t.Errorf("%d compactions, set to %v, summary %+v", s.Compactions, s.Choice.Model, s.Summary)
		}
		if n := len(h.log.Requests()); n != 3 {
			t.Errorf("%d requests", n)
		}
	})
}

// A conversation whose pictures are more than a turn reads at once is summarised,
// however large the window is, and not again while what is left is less.
func TestManyPicturesAreSummarised(t *testing.T) {
	inHouse(t, func(h *house) {
		h.place.fetch = func(a core.Attachment, _ int64) (core.Attachment, error) {
			a.Data, a.MIME = make([]byte, 3<<20), "image/png"
			return a, nil
		}
		h.open()
		pictures := func() (n int) {
			requests := h.log.Requests()
			for _, m := range requests[len(requests)-1].Request.Messages {
				for _, p := range m.Parts {
					if p.Image != nil {
						n++
					}
				}
			}
			return n
		}
		for i := range 6 { // 18 MiB
			h.bring("t1", fmt.Sprint("picture ", i), core.Attachment{Name: "p.png", MIME: "image/png"})
		}
		if n := pictures(); n != 6 || h.session("t1").Summary != nil {
			t.Fatalf("the model got %d pictures, and the summary is %+v", n, h.session("t1").Summary)
		}
		h.model("a/m1", `text "SUMMARY"`, `text "fine"`)
		h.say("t1", "and now?")
		if s := h.session("t1"); s.Summary == nil || s.Summary.Text != "SUMMARY" || pictures() > 2 {
			t.Errorf("the summary is %+v, and the model got %d pictures", s.Summary, pictures())
		}
		before := len(h.log.Requests())
		h.say("t1", "and then?")
		if n := len(h.log.Requests()) - before; n != 1 {
			t.Errorf("the next message took %d requests", n)
		}
	})
}

// A turn whose summary the store refuses waits a little; /stop ends that wait.
func TestStopWhileASummaryIsRefused(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.Window = func(llm.Ref) int { return 1000 }
		h.open()
		h.model("a/m1", `text "ok"`)
		h.say("t1", "the first")
		refused := 0
		h.fault = func(op string) error {
			if op != "commit" || len(h.log.Requests()) < 3 || refused > 0 {
				return nil
			}
			refused++
			return errors.New("disk full")
		}
		h.model("a/m1", `400 "prompt is too long: 1402 tokens > 1000 maximum"`, `text "SUMMARY"`, `text "fine"`)
		h.say("t1", "the second")
		if refused == 0 || len(h.log.Requests()) != 3 {
			t.Fatalf("refused %d times after %d requests", refused, len(h.log.Requests()))
		}
		h.command("t1", "stop", "ann")
		h.say("t1", "the third")
		if posts := h.place.all(); !slices.Contains(posts, "t1 answer: fine") {
			t.Errorf("the posts are %q", posts)
		}
	})
}
