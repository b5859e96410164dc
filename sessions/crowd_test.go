package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/sessions"
	"understudy/store/memory"
)

const (
	full = "t1 error: 200 messages wait for an answer here already, so I take no more until some are done. Please send yours again then; `/new` drops those that wait."
	busy = "t error: So many messages wait for an answer that I cannot take more right now. Please send yours again in a while."
)

// lines are many messages of one person in one thread. The turn of the first is
// open before the others come.
func (h *house) lines(n int) {
	for i := range n {
		h.by("ann", "t1", fmt.Sprint("line ", i))
		if i == 0 {
			synctest.Wait()
		}
	}
	synctest.Wait()
}

// Of one thread two hundred messages wait. More are turned away, and the thread
// is told so, once a minute; what was taken is answered, and what was turned away
// is not answered later, also not by the next process.
func TestTooManyMessagesInOneThread(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", `slow 110s text "the first"`, `text "ok"`)
		h.lines(203)
		h.expectPosts(full)
		h.by("bob", "t2", "another thread")
		h.expectPosts(full, "t2 answer: ok")
		time.Sleep(61 * time.Second)
		h.by("ann", "t1", "still?")
		h.expectPosts(full, "t2 answer: ok", full)
		if r := h.command("t1", "retry", "ann"); !strings.HasPrefix(r.Text, "200 messages wait") {
			t.Errorf("the reply to /retry is %q", r.Text)
		}
		bot := h.message("t1", "beep")
		bot.Author.ID, bot.Author.Bot = "beeper", true
		if err := h.bot.Message(context.Background(), bot); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if got := len(h.place.all()); got != 201+3 {
			t.Errorf("%d posts", got)
		}
		if got := len(h.asked()); got != 202 {
			t.Errorf("%d requests", got)
		}
		h.by("ann", "t1", "one more")
		h.stop(time.Minute)
		h.open()
		if got := len(h.asked()); got != 203 {
			t.Errorf("%d requests after a restart", got)
		}
	})
}

// What empties a full thread is always taken, and so is what need not wait.
func TestAFullThreadTakesCommands(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", `slow 110s text "the first"`, `text "ok"`)
		h.lines(201)
		h.by("ann", "t1", "/help")
		synctest.Wait()
		h.by("ann", "t1", "/new")
		synctest.Wait()
		posts := h.place.all()
		if len(posts) != 2 || !strings.Contains(posts[0], "You can talk to me") || !strings.HasSuffix(posts[1], "200 messages that were still waiting are dropped.") {
			t.Fatalf("posts: %q", posts)
		}
		h.by("ann", "t1", "free again")
		h.expectPosts(posts[0], posts[1], "t1 answer: ok")
	})
}

// All threads together hold 64 MiB of what waits, and one person no more than a
// quarter of it once half is there.
func TestTooMuchWaitsEverywhere(t *testing.T) {
	inHouse(t, func(h *house) {
		h.turns = 1
		h.open()
		h.model("a/m1", `slow 110s text "the first"`, `text "ok"`)
		h.by("ann", "t0", "the open turn")
		synctest.Wait()
		say := func(who string, from, messages int) {
			for i := range messages {
				m := h.message(fmt.Sprint("t", from+i/100), "look")
				m.Author.ID, m.Author.Name = who, who
				m.Attachments = make([]core.Attachment, 199)
				m.Text = strings.Repeat("x", 1<<10) // 201 KiB in all, as it counts
				if err := h.bot.Message(context.Background(), m); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		told := func() int { return len(h.place.all()) }
		say("flood", 1, 163) // half of it
		if told() != 0 {
			t.Fatal("something was turned away too early")
		}
		say("flood", 10, 1)
		if told() != 1 || strings.Replace(h.place.all()[0], "t10", "t", 1) != busy {
			t.Fatalf("posts: %q", h.place.all())
		}
		say("ann", 20, 82) // hers is a quarter, and there is room
		if told() != 1 {
			t.Fatal("Ann was turned away too early")
		}
		say("ann", 30, 1)
		say("bob", 40, 81)
		if told() != 2 {
			t.Fatalf("%d were told, want Ann and not yet Bob", told())
		}
		say("bob", 50, 1) // 326 of them are nearly 64 MiB
		say("eve", 60, 1)
		if told() != 4 {
			t.Errorf("%d were told, want everybody", told())
		}
		for i := range 10 {
			h.by("flood", fmt.Sprint("t", 1+i/5), "/new")
		}
		h.by("eve", "t70", "now?")
		synctest.Wait()
		for _, p := range h.place.all()[4:] {
			if !strings.Contains(p, " command: ") {
				t.Errorf("a post %q", p)
			}
		}
	})
}

// If a message that is too many cannot be settled, it is taken all the same:
// nothing is lost silently.
func TestTurnedAwayOnABrokenStore(t *testing.T) {
	inHouse(t, func(h *house) {
		var full atomic.Bool
		h.fault = func(op string) error {
			if op == "commit" && full.Load() {
				return errors.New("disk full")
			}
			return nil
		}
		h.open()
		h.model("a/m1", `slow 1m text "the first"`, `text "ok"`)
		h.lines(201)
		full.Store(true)
		h.by("ann", "t1", "one too many")
		full.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := len(h.asked()); got != 202 {
			t.Errorf("%d requests", got)
		}
		if !strings.Contains(h.logged.String(), "a message is taken although too many wait") {
			t.Error("the log does not say so")
		}
	})
}

// A message of more than 200 KiB is answered with a text that says so, and one of
// just that is answered by the model.
func TestAMessageThatIsTooLong(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.say("t1", strings.Repeat("x", 200<<10))
		h.say("t2", strings.Repeat("x", 200<<10+1))
		h.expectPosts("t1 answer: ok", "t2 error: This message is too long for me: it has 201 KiB, and I read at most 200. Send it in parts, or as a text file.")
		if got := len(h.asked()); got != 1 {
			t.Errorf("%d requests", got)
		}
	})
}

// What stands behind a command is not said back at any length.
func TestALongArgument(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		const told = "What stands behind /model is too long; it can have 500 characters at most."
		if r := h.command("t1", "model "+strings.Repeat("x", 501), "ann"); r.Text != told {
			t.Errorf("the reply is %q", r.Text)
		}
		if r := h.command("t1", "model "+strings.Repeat("x", 500), "ann"); !strings.HasPrefix(r.Text, "I don’t know the model") {
			t.Errorf("the reply is %q", r.Text)
		}
		h.say("t1", "/model "+strings.Repeat("x", 300<<10))
		h.expectPosts("t1 command: " + told)
	})
}

// A process that finds ten thousand messages without an answer has no goroutine
// for most of them, and answers all in order of arrival.
func TestManyMessagesOfAnEarlierProcess(t *testing.T) {
	const many = 10_000
	inHouse(t, func(h *house) {
		h.turns, h.slots = 64, 4
		h.store = h.data.Open(memory.Options{})
		for i := range many {
			m := h.message(fmt.Sprint("t", i), fmt.Sprint("line ", i))
			m.Author.ID = fmt.Sprint("person ", i%500)
			if _, _, err := h.store.Admit(context.Background(), sessions.Inbound{Key: m.InboxKey(), Session: key(fmt.Sprint("t", i)), Message: m, At: m.At}); err != nil {
				t.Fatal(err)
			}
		}
		h.store.Close()
		h.script.Default = slowly(h, time.Second)
		before := runtime.NumGoroutine()
		h.open()
		if n := runtime.NumGoroutine() - before; n > 64*8+50 {
			t.Errorf("%d goroutines for 64 open turns", n)
		}
		if n := len(h.asked()); n != 4 {
			t.Errorf("%d requests at once", n)
		}
		h.stop(0) // they stay where they were
		if left, err := h.data.Open(memory.Options{}).Waiting(context.Background()); err != nil || len(left) != many {
			t.Errorf("%d are left, %v", len(left), err)
		}
	})
}
