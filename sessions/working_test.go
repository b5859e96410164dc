package sessions_test

import (
	"context"
	"iter"
	"strings"
	"time"

	"understudy/core"
	"understudy/core/llm"
	"understudy/core/tool"
)

// theIndicatorAlwaysEnds: after a fault, a stop, a reset, a deletion and an end of
// the process nothing shows that somebody is at work.
func theIndicatorAlwaysEnds(h *house) {
	h.agent.Tools = []tool.Tool{gadget{"thing", func(context.Context, tool.Call) (string, error) { return "done", nil }}}
	faulty := true
	h.client = func(c llm.Client) llm.Client {
		if faulty {
			return booming{c}
		}
		return c
	}
	h.open()
	ended := func(after string) {
		h.t.Helper()
		time.Sleep(time.Second)
		if got := h.place.indications(); len(got) == 0 || got[len(got)-1] != "off t1" {
			h.t.Errorf("after %s the indications are %q", after, got)
		}
	}
	h.say("t1", "hi")
	ended("a fault")
	faulty = false
	h.model("a/m1", "hang", "hang", "hang", `text "ok"`)
	h.say("t1", "one")
	h.say("t1", "two, which waits")
	h.say("t1", "/new")
	ended("a reset")
	h.say("t1", "three")
	gone := h.say("t1", "four, which waits")
	if err := h.bot.Change(context.Background(), core.Change{InboxKey: gone.InboxKey(), Deleted: true}); err != nil {
		h.t.Fatal(err)
	}
	h.say("t1", "/stop")
	ended("a stop, with a deletion")
	before := h.place.ended()
	h.say("t1", "/stop") // an earlier process may have left one
	ended("a stop of nothing")
	if h.place.ended() == before {
		h.t.Error("a stop of nothing ends nothing")
	}
	h.say("t1", "five")
	h.say("t1", "six, which waits")
	h.stop(time.Second)
	ended("the end of the process")
	h.open()
	time.Sleep(time.Minute)
	ended("the answers of the next")
}

// booming is a model that is a fault of the program.
type booming struct{ llm.Client }

func (booming) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] { panic("boom") }

// whatWaitsIsAtWork: the indicator stays on from one message to the next.
func whatWaitsIsAtWork(h *house) {
	h.open()
	h.model("a/m1", `slow 10s text "one"`, `slow 20s text "two"`)
	h.say("t1", "a")
	time.Sleep(5 * time.Second)
	h.say("t1", "and b")
	time.Sleep(24 * time.Second) // the first has ended since 19 s
	h.expectPosts("t1 answer: one")
	if got := h.place.indications(); strings.Join(got, ", ") != "on t1" {
		h.t.Errorf("after the first answer: %q", got)
	}
	time.Sleep(10 * time.Second)
	h.expectPosts("t1 answer: one", "t1 answer: two")
	if got := h.place.indications(); strings.Join(got, ", ") != "on t1, off t1" {
		h.t.Errorf("after the second: %q", got)
	}
}
