package main

import (
	"testing"

	"understudy/core/llm/llmtest"
)

// TestSaidWhileAway: what people said while no bot ran is answered at the next
// start, once and in order, in threads that it knew and in new ones.
func TestSaidWhileAway(t *testing.T) {
	for name, newTown := range towns {
		t.Run(name, func(t *testing.T) {
			town := newTown(t)
			s := newStand(t, town)
			stop, _ := s.runHere()
			s.lead.Queue("actor", llmtest.Text("Good evening."))
			k := s.open(town, "good evening")
			k.next("Good evening.")
			stop()
			s.connected(0)

			s.lead.Queue("actor", llmtest.Text("Yes."))
			k.say("are you there?")
			k.say("and now?")
			o := s.open(town, "is anybody there?")
			k.nothingElse()

			stop, _ = s.runHere()
			for _, want := range []*talk{k, k, o} {
				want.next("Yes.")
			}
			s.lead.Queue("actor", llmtest.Text("At your service."))
			k.say("welcome back")
			k.next("At your service.")
			o.say("welcome back")
			o.next("At your service.")
			stop()
			k.nothingElse()
			o.nothingElse()
			if n := asked(s.lead); n != 6 {
				t.Errorf("the lead was asked %d times, want 6", n)
			}
		})
	}
}
