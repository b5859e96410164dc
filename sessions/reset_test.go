package sessions_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/sessions"
)

// A reset takes the place of what still waits before it, and says so.
func TestResetDropsWhatWaits(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", `slow 10s text "late"`, `text "fresh"`)
		h.say("t1", "one")
		h.say("t1", "two")
		h.say("t1", "three")
		h.say("t1", "/new")
		h.expectPosts("t1 command: A new conversation begins here. 2 messages that were still waiting are dropped.")
		time.Sleep(time.Minute)
		h.say("t1", "four")
		h.expectAsked("a/m1: one", "a/m1: four")
		waiting, err := h.store.Waiting(context.Background())
		if err != nil || len(waiting) != 0 {
			t.Fatalf("left in the inbox: %v, %v", waiting, err)
		}
	})
}

// No wait outlasts the program; the message is answered after the next start.
func TestStopEndsWaits(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", `529 "overloaded_error"`)
		h.model("b/m2", `529 "overloaded_error"`)
		h.say("t1", "hi")
		began := time.Now()
		h.stop(20 * time.Second)
		if d := time.Since(began); d != 0 {
			t.Fatalf("it took %v", d)
		}
		asked := len(h.asked())
		time.Sleep(time.Minute)
		if n := len(h.asked()); n != asked {
			t.Fatalf("%d requests after the stop", n-asked)
		}
		h.open()
		if len(h.asked()) == asked {
			t.Fatal("the message was not taken up again")
		}
	})
}

// A command is as good a first thing in a new thread as a message: the thread
// takes the choice of its channel over before it.
func TestCommandsInANewThreadKnowItsChannel(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		channel := thread("t1").Holder()
		if _, err := h.bot.SelectModel(context.Background(), core.Key{Agent: "main", Thread: channel.Key()}, core.Target{Thread: channel}, "b/m2"); err != nil {
			t.Fatal(err)
		}
		h.say("t1", "/status")
		h.say("t2", "/new")
		h.expectPosts("t1 command: Selected: b/m2 …", "t2 command: A new conversation begins here. The model stays b/m2, …")
	})
}

// Once somebody has addressed the bot in a thread, what follows there needs no
// mention, before the first answer just as after it.
func TestAThreadIsEngagedFromTheFirstMentionOn(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.Answer = sessions.UntilEngaged
		h.agent.Policy.Defaults.Fallbacks = nil
		h.open()
		h.model("a/m1", `529 "overloaded_error"`)
		h.unaddressed("t1", "not for you")
		h.unaddressed("t1", "/status")
		h.expectAsked()
		h.expectPosts()
		h.say("t1", "hi") // waits, and nothing is answered yet
		h.unaddressed("t1", "/stop")
		h.expectPosts("t1 command: Stopped.")
		h.model("a/m1", `text "fine"`)
		h.unaddressed("t1", "please?")
		h.expectPosts("t1 command: Stopped.", "t1 answer: fine")
		h.unaddressed("t2", "another thread")
		h.expectPosts("t1 command: Stopped.", "t1 answer: fine")
	})
}

// unaddressed says something that is not said to the bot.
func (h *house) unaddressed(name, text string) {
	h.t.Helper()
	m := h.message(name, text)
	m.Addressed = false
	if err := h.bot.Message(context.Background(), m); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
}
