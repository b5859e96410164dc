package sessions_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"understudy/core"
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
