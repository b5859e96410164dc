package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/tool"
)

// A message that cannot be stored is not taken. Its place is told so, once in a
// while however often the message comes, and only people who spoke to the bot
// make it speak.
func TestTrouble(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", `text "at last"`)
		h.fault = func(string) error { return errors.New("disk full") }
		refused := func(m core.Message) {
			t.Helper()
			if err := h.bot.Message(context.Background(), m); err == nil {
				t.Fatal("a message that was not stored was taken")
			}
			time.Sleep(time.Second)
		}
		m := h.message("t1", "hello")
		overheard := h.message("t2", "chatter")
		overheard.Addressed = false
		bot := h.message("t3", "beep")
		bot.Author.Bot = true
		refused(m) // once is no trouble yet
		time.Sleep(5 * time.Second)
		refused(overheard)
		refused(bot)
		h.expectPosts()

		const told = "t1 error: I cannot take your message right now: what I am told cannot be stored. Whoever runs this bot sees why. Please write again in a while if no answer comes."
		refused(m)
		h.expectPosts(told)
		refused(m)
		refused(h.message("t1", "anybody?"))
		h.expectPosts(told)
		time.Sleep(10 * time.Minute)
		refused(m)
		h.expectPosts(told, told)

		h.fault = nil
		if err := h.bot.Message(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		h.expectPosts(told, told, "t1 answer: at last")

		// Another failure is no trouble yet, either.
		h.fault = func(string) error { return errors.New("disk full") }
		refused(h.message("t4", "hello"))
		h.expectPosts(told, told, "t1 answer: at last")
		h.fault = nil
	})
}

// noSpace is the error of a store that is at fault itself.
type noSpace struct{}

func (noSpace) Error() string      { return "disk full" }
func (noSpace) StoreTrouble() bool { return true }

// A message that was taken is answered once, however long the store then takes
// nothing, and at whichever step of its turn that begins; its place is told to
// wait.
func TestTurnsOutlastTrouble(t *testing.T) {
	for step := 1; step <= 6; step++ {
		inHouse(t, func(h *house) {
			h.agent.Tools = []tool.Tool{gadget{"bell", func(context.Context, tool.Call) (string, error) { return "rang", nil }}}
			h.open()
			h.model("a/m1", `tool bell {}`, `text "done"`)
			var mu sync.Mutex
			var over time.Time
			n := 0
			h.fault = func(op string) error {
				mu.Lock()
				defer mu.Unlock()
				if op == "admit" {
					return nil
				}
				if n++; n == step {
					over = time.Now().Add(2 * time.Hour)
				}
				if time.Now().Before(over) {
					return noSpace{}
				}
				return nil
			}
			h.set.TurnTimeout = 0
			h.say("t1", "ring it")
			time.Sleep(time.Hour)
			const held = "t1 error: Nothing can be stored right now, so my answer has to wait. Your message is safe with me; whoever runs this bot sees why."
			if got := h.place.all(); len(got) == 0 || got[0] != held {
				t.Errorf("step %d: people see %q", step, got)
			}
			time.Sleep(90 * time.Minute)
			var answers []string
			for _, s := range h.place.all() {
				if s != held {
					answers = append(answers, s)
				}
			}
			expect(t, fmt.Sprint("answers at step ", step), answers, []string{"t1 answer: done"})
		})
	}
}

// A turn that waits for the store when the program stops is left to the next
// start.
func TestTroubleWhenStopping(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", `text "after all"`)
		var over atomic.Bool
		h.fault = func(op string) error {
			if op == "admit" || over.Load() {
				return nil
			}
			return noSpace{}
		}
		h.say("t1", "hello")
		time.Sleep(3 * time.Second)
		h.bot.Stop(time.Second)
		over.Store(true)
		h.end()
		h.open()
		h.expectPosts("t1 answer: after all")
	})
}
