package sessions

import (
	"testing"

	"understudy/core"
	"understudy/core/llm"
)

// No provider takes a message of nothing, so one without a word says that.
func TestAMessageWithoutAWord(t *testing.T) {
	for kind, want := range map[string]string{"": wordless, "hello": "hello"} {
		m := core.Message{ID: "1", Text: kind, Target: core.Target{Thread: core.Thread{Platform: "slack", Channel: "D1", Kind: core.KindDirect}}}
		e := (&turn{in: Inbound{Message: m}}).userEntry(&brought{})
		if e.Message.Role != llm.User || e.Message.Text() != want {
			t.Errorf("%q is kept as %+v", kind, e.Message)
		}
	}
}
