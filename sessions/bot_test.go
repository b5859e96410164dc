package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/sessions"
	"understudy/store/memory"
)

// What a stop cuts off, what still waited, and what came too late are answered
// by the next process, in order; what was finished within the grace is not
// answered again.
func TestStopAndStart(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", "hang", `slow 2s text "in time"`)
		h.say("t1", "first")
		h.say("t2", "quick")
		h.say("t1", "second")
		h.say("t1", "third")
		began := time.Now()
		done := make(chan struct{})
		go func() {
			h.bot.Stop(5 * time.Second)
			close(done)
		}()
		synctest.Wait()
		h.say("t1", "late")
		<-done
		if took := time.Since(began); took != 5*time.Second {
			t.Fatalf("the stop took %v, want its grace", took)
		}
		h.end()
		h.expectPosts("t2 answer: in time")

		h.model("a/m1", `text "1"`, `text "2"`, `text "3"`, `text "4"`)
		h.open()
		h.expectAsked("a/m1: first", "a/m1: quick", "a/m1: first", "a/m1: second", "a/m1: third", "a/m1: late")
		h.expectPosts("t2 answer: in time", "t1 answer: 1", "t1 answer: 2", "t1 answer: 3", "t1 answer: 4")
	})
}

// A start clears the preview of a turn that is over away, but not an answer
// that only its last edit is missing from.
func TestStartKeepsWhatWasAnswered(t *testing.T) {
	inHouse(t, func(h *house) {
		ctx := context.Background()
		row := func(name, turn, shows, text string) delivery.Row {
			p := core.Post{Target: core.Target{Thread: thread(name)}, Kind: core.PostAnswer, Text: shows}
			posted, err := h.place.Post(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			p.Text = text
			return delivery.Row{Session: key(name), Turn: turn, State: delivery.Preview, PlatformID: posted.ID, Post: p, Created: time.Now()}
		}
		store := h.data.Open(memory.Options{})
		if _, err := store.Queue(ctx, row("t1", "x1", "the ans", "the answer"), row("t2", "x2", "half of someth", "")); err != nil {
			t.Fatal(err)
		}
		h.open()
		h.expectPosts("t1 answer: the answer")
	})
}

// A status notice outlives the process, whatever ended it: the turn goes on and
// takes it away at its end.
func TestStatusIsTakenAwayAfterARestart(t *testing.T) {
	inHouse(t, func(h *house) {
		h.agent.Policy.Defaults.Fallbacks = nil
		h.open()
		h.model("a/m1", `529 "overloaded_error"`)
		h.say("t1", "hi")
		time.Sleep(35 * time.Second)
		h.expectPosts("t1 status: …")
		h.stop(0)
		h.expectPosts("t1 status: …")
		h.model("a/m1", `slow 10s text "done"`)
		h.open()
		time.Sleep(9 * time.Second)
		h.expectPosts("t1 status: …")
		time.Sleep(time.Second)
		h.expectPosts("t1 answer: done")
	})
}

// A process may end after a turn and before it has taken its status away.
func TestStatusOfATurnThatIsOverIsTakenAway(t *testing.T) {
	inHouse(t, func(h *house) {
		ctx := context.Background()
		store := h.data.Open(memory.Options{})
		p := core.Post{Target: core.Target{Thread: thread("t1")}, Kind: core.PostStatus, Text: "still trying"}
		posted, err := h.place.Post(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Queue(ctx, delivery.Row{Session: key("t1"), Turn: "x1", State: delivery.Preview,
			PlatformID: posted.ID, Post: p, Created: time.Now()}); err != nil {
			t.Fatal(err)
		}
		h.open()
		h.expectPosts()
	})
}

// Which unaddressed messages are answered.
func TestEngagement(t *testing.T) {
	for _, c := range []struct {
		answer                                     sessions.Engagement
		direct, channel, fresh, engaged, addressed bool
	}{
		{sessions.AlwaysMention, true, false, false, false, true},
		{sessions.UntilEngaged, true, false, false, true, true},
		{sessions.NeverMention, true, true, true, true, true},
	} {
		t.Run(string(c.answer), func(t *testing.T) {
			inHouse(t, func(h *house) {
				h.set.Answer = c.answer
				h.open()
				h.say("engaged", "hello bot")
				try := func(what string, m core.Message, want bool) {
					t.Helper()
					before := len(h.log.Requests())
					if err := h.bot.Message(context.Background(), m); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if got := len(h.log.Requests()) > before; got != want {
						t.Errorf("%s: answered %v, want %v", what, got, want)
					}
				}
				overheard := func(name string, kind core.Kind) core.Message {
					m := h.message(name, "just talking")
					m.Addressed, m.Target.Thread.Kind = false, kind
					return m
				}
				try("a direct message", overheard("ann", core.KindDirect), c.direct)
				try("a channel", overheard("lobby", core.KindChannel), c.channel)
				try("a thread without the bot", overheard("fresh", core.KindThread), c.fresh)
				m := overheard("engaged", core.KindThread)
				try("a thread with the bot", m, c.engaged)
				m.Addressed = true // the platform tells of the same message again
				try("a mention", m, c.addressed && !c.engaged)
			})
		})
	}
}

func TestChangesOfWaitingMessages(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", `slow 10s text "ok"`)
		running := h.say("t1", "running")
		edited := h.say("t1", "to be edited")
		deleted := h.say("t1", "to be deleted")
		h.say("t1", "left alone")
		for _, c := range []core.Change{
			{InboxKey: edited.InboxKey(), Text: "edited"},
			{InboxKey: deleted.InboxKey(), Deleted: true},
			{InboxKey: running.InboxKey(), Text: "too late"},
			{InboxKey: "nobody:knows", Deleted: true},
		} {
			if err := h.bot.Change(context.Background(), c); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		h.expectAsked("a/m1: running", "a/m1: edited", "a/m1: left alone")
	})
}

// However edits and deletions race with the lanes, every message is answered at
// most once, with a text that it had, and those that are gone stay gone after a
// restart.
func TestChangesInARace(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		var all sync.WaitGroup
		for i := range 40 {
			name := fmt.Sprintf("t%d", i%4)
			m := h.message(name, fmt.Sprintf("old %d", i))
			all.Go(func() {
				if err := h.bot.Message(context.Background(), m); err != nil {
					t.Error(err)
				}
				if err := h.bot.Change(context.Background(), core.Change{InboxKey: m.InboxKey(), Text: fmt.Sprintf("new %d", i), Deleted: i%3 == 0}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		synctest.Wait()
		seen := map[int]int{}
		for _, line := range h.asked() {
			var i int
			if _, err := fmt.Sscanf(line[len("a/m1: old "):], "%d", &i); err != nil {
				t.Fatalf("an odd request %q", line)
			}
			if seen[i]++; seen[i] > 1 {
				t.Fatalf("message %d was answered twice", i)
			}
		}
		for i := range 40 {
			if i%3 != 0 && seen[i] == 0 {
				t.Fatalf("message %d was lost", i)
			}
		}
		before := len(h.asked())
		h.stop(time.Second)
		h.open()
		if after := len(h.asked()); after != before {
			t.Fatalf("%d more requests after a restart", after-before)
		}
	})
}

// A command that came as a message is as patient as a turn, and is carried out
// once: what it stops is what ran when it was given.
func TestRefusedCommand(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", "hang", `slow 10s text "not stopped"`)
		h.say("t1", "hi")
		h.fault = func(op string) error {
			if op == "choice" {
				h.fault = nil // once
				return errors.New("disk full")
			}
			return nil
		}
		h.say("t1", "/stop")
		h.expectPosts()
		h.say("t1", "next")
		time.Sleep(20 * time.Second)
		h.expectPosts("t1 command: Stopped.", "t1 answer: not stopped")
		h.fault = func(string) error { return errors.New("disk full") }
		began := time.Now()
		_, err := h.bot.Command(context.Background(), core.Invocation{ID: "i", Target: core.Target{Thread: thread("t1")}, Name: "model", Args: "b/m2", Native: true})
		if err == nil || time.Since(began) > 0 || h.session("t1").Choice != (sessions.Choice{}) {
			t.Fatalf("a native command that was not stored: err %v after %v", err, time.Since(began))
		}
		h.fault = nil
	})
}

// A store that refuses the end of a turn is asked again; if it never agrees the
// message stays in the inbox, and nobody is told anything that is not stored.
func TestRefusedCommit(t *testing.T) {
	refuse := func(n int) func(string) error {
		return func(op string) error {
			if op == "commit" && n > 0 {
				n--
				return errors.New("disk full")
			}
			return nil
		}
	}
	inHouse(t, func(h *house) {
		h.open()
		h.fault = refuse(3)
		h.model("a/m1", `text "kept"`)
		h.say("t1", "hi")
		time.Sleep(7*time.Second - time.Nanosecond) // 1 + 2 + 4
		h.expectPosts()
		time.Sleep(time.Nanosecond)
		h.expectPosts("t1 answer: kept")

		h.fault = refuse(6)
		h.say("t1", "again")
		h.say("t1", "next")
		time.Sleep(time.Minute)
		h.expectAsked("a/m1: hi", "a/m1: again", "a/m1: next")
		h.expectPosts("t1 answer: kept", "t1 answer: kept")
		h.stop(time.Second)
		h.open()
		h.expectAsked("a/m1: hi", "a/m1: again", "a/m1: next", "a/m1: again")
	})
}
