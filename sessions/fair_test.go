package sessions_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core/llm"
	"understudy/core/llm/script"
)

// by says something as somebody.
func (h *house) by(who, name, text string) {
	h.t.Helper()
	m := h.message(name, text)
	m.Author.ID, m.Author.Name = who, who
	if err := h.bot.Message(context.Background(), m); err != nil {
		h.t.Fatal(err)
	}
}

// request is which request of all a line led to first.
func (h *house) request(line string) int {
	h.t.Helper()
	at := slices.IndexFunc(h.asked(), func(r string) bool { return strings.HasSuffix(r, line) })
	if at < 0 {
		h.t.Fatalf("nobody was asked %q", line)
	}
	return at + 1
}

// A thread with two hundred messages does not delay another person's, though
// there is only one slot.
func TestAFloodInOneThread(t *testing.T) {
	inHouse(t, func(h *house) {
		h.slots = 1
		h.open()
		h.script.Default = slowly(h, time.Second)
		for i := range 200 {
			h.by("flood", "t1", fmt.Sprint("line ", i))
		}
		h.by("ann", "t2", "Ann's")
		time.Sleep(300 * time.Second)
		synctest.Wait()
		if n := h.request("Ann's"); n > 3 {
			t.Errorf("Ann's request is the %dth", n)
		}
		if got := len(h.asked()); got != 201 {
			t.Errorf("%d requests", got)
		}
	})
}

// One person who writes in a hundred threads at once does not delay another, nor
// does one who does it again and again.
func TestAFloodInManyThreads(t *testing.T) {
	for _, slots := range []int{1, 4} {
		inHouse(t, func(h *house) {
			h.slots = slots
			h.open()
			h.script.Default = slowly(h, time.Second)
			for i := range 100 {
				h.by("flood", fmt.Sprint("f", i), "me")
				h.by("flood", fmt.Sprint("f", i), "me again")
			}
			h.by("ann", "t1", "Ann's")
			h.by("bob", "t2", "Bob's")
			time.Sleep(500 * time.Second)
			synctest.Wait()
			// What had begun is finished first, then each of the three has one;
			// requests of one instant come in any order.
			for _, line := range []string{"Ann's", "Bob's"} {
				if n := h.request(line); n > max(2*slots, 4) {
					t.Errorf("with %d slots the request of %s is the %dth", slots, line, n)
				}
			}
			if got := len(h.asked()); got != 202 {
				t.Errorf("%d requests", got)
			}
		})
	}
}

// A turn that waits out an overload holds no slot; neither does one that waits
// for its turn to run a tool.
func TestAnOverloadHoldsNoSlot(t *testing.T) {
	inHouse(t, func(h *house) {
		h.slots = 1
		h.agent.Policy.Defaults.Fallbacks = nil
		h.open()
		h.model("a/m1", `529 "overloaded_error"`, `529 "overloaded_error"`, `529 "overloaded_error"`, `text "quick"`)
		h.by("ann", "t1", "first")
		synctest.Wait()
		h.command("t2", "model c/m3", "bob")
		h.model("c/m3", `text "at once"`)
		began := time.Now()
		h.by("bob", "t2", "second")
		synctest.Wait()
		if time.Since(began) > 0 || !slices.Equal(h.place.all(), []string{"t2 answer: at once"}) {
			t.Errorf("after %v the posts are %q", time.Since(began), h.place.all())
		}
		time.Sleep(time.Minute)
		h.expectPosts("t2 answer: at once", "t1 answer: quick")
	})
}

// No more turns are open than there are places; what waits for one is in line by
// person, and a reset does not wait at all.
func TestPlaces(t *testing.T) {
	inHouse(t, func(h *house) {
		h.turns = 2
		h.open()
		h.script.Default = slowly(h, 10*time.Second)
		for i := range 10 {
			h.by("flood", fmt.Sprint("f", i), "me")
			synctest.Wait()
		}
		h.by("ann", "t1", "and me?")
		synctest.Wait()
		if got := len(h.asked()); got != 2 {
			t.Fatalf("%d turns are open", got)
		}
		r := h.command("f9", "new", "flood") // its message has no place yet
		if !strings.Contains(r.Text, "One message that was still waiting is dropped") {
			t.Errorf("the reply is %q", r.Text)
		}
		h.by("flood", "f8", "/new")
		synctest.Wait()
		if got := h.place.all(); len(got) != 1 || !strings.HasPrefix(got[0], "f8 command: A new conversation begins here. One message") {
			t.Fatalf("posts: %q", got)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := h.asked(); len(got) != 4 || !slices.ContainsFunc(got[2:], func(s string) bool { return strings.HasSuffix(s, "and me?") }) {
			t.Errorf("asked %q", got)
		}
		time.Sleep(10 * time.Minute)
		if err := h.bot.Idle(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := len(h.asked()); got != 9 { // two of eleven were dropped
			t.Errorf("%d requests", got)
		}
	})
}

// A stop leaves what has no place in the inbox, and the next start answers it.
func TestStopBeforeThereIsAPlace(t *testing.T) {
	inHouse(t, func(h *house) {
		h.turns = 1
		h.open()
		h.script.Default = slowly(h, 10*time.Second)
		for i := range 20 {
			h.by("ann", fmt.Sprint("t", i), "me")
		}
		synctest.Wait()
		h.stop(time.Minute)
		h.open()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := len(h.place.all()); got != 20 {
			t.Errorf("%d answers", got)
		}
	})
}

// slowly answers everything after a while.
func slowly(h *house, d time.Duration) func(llm.Ref, llm.Request) script.Answer {
	a, err := script.ParseAnswer(fmt.Sprintf("slow %s text \"ok\"", d))
	if err != nil {
		h.t.Fatal(err)
	}
	return func(llm.Ref, llm.Request) script.Answer { return a }
}
