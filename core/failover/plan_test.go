package failover

import (
	"slices"
	"testing"
	"time"

	"understudy/core/llm"
)

// Who set the model decides which chain it has.
func TestChain(t *testing.T) {
	a := Models{Primary: ref("a/m1"), Fallbacks: refs("b/m2", "c/m3")}
	for _, c := range []struct {
		name      string
		policy    Policy
		requested string
		source    Source
		want      []llm.Ref
	}{
		{"the default", Policy{Defaults: a}, "a/m1", FromDefault, refs("a/m1", "b/m2", "c/m3")},
		{"duplicates are dropped", Policy{Defaults: Models{Primary: ref("a/m1"), Fallbacks: refs("b/m2", "a/m1", "b/m2")}}, "a/m1", FromDefault, refs("a/m1", "b/m2")},
		{"a user", Policy{Defaults: a}, "b/m2", FromUser, refs("b/m2")},
		{"imported without a source", Policy{Defaults: a}, "b/m2", FromLegacy, refs("b/m2")},
		{"the command line", Policy{Defaults: a}, "z/m9", FromCLI, refs("z/m9")},
		{"automatic: the chain settles on the primary", Policy{Defaults: a}, "d/m4", FromAuto, refs("d/m4", "b/m2", "c/m3", "a/m1")},
		{"automatic: a fallback keeps the whole chain", Policy{Defaults: a}, "b/m2", FromAuto, refs("b/m2", "c/m3", "a/m1")},
		{"automatic: an agent's own list", Policy{Defaults: a, Agent: Models{Primary: ref("x/m1"), Fallbacks: refs("y/m2")}}, "y/m2", FromAuto, refs("y/m2", "x/m1")},
		{"an agent with a model alone is strict", Policy{Defaults: a, Agent: Models{Primary: ref("x/m1")}}, "x/m1", FromAgent, refs("x/m1")},
		{"an agent that says strict", Policy{Defaults: a, Agent: Models{Primary: ref("x/m1"), Fallbacks: []llm.Ref{}}}, "x/m1", FromAgent, refs("x/m1")},
		{"an agent with fallbacks has them and no primary of others", Policy{Defaults: a, Agent: Models{Primary: ref("x/m1"), Fallbacks: refs("y/m2")}}, "x/m1", FromAgent, refs("x/m1", "y/m2")},
		{"a heartbeat is as the default", Policy{Defaults: a, Agent: Models{Primary: ref("x/m1")}}, "h/m", FromHeartbeat, refs("h/m", "b/m2", "c/m3", "a/m1")},
		{"a job takes the configured list", Policy{Defaults: a}, "j/m", FromCron, refs("j/m", "b/m2", "c/m3", "a/m1")},
		{"a job of a strict agent takes it too", Policy{Defaults: a, Agent: Models{Primary: ref("x/m1")}}, "j/m", FromCron, refs("j/m", "b/m2", "c/m3", "a/m1")},
		{"a job takes its agent's list", Policy{Defaults: a, Agent: Models{Primary: ref("x/m1"), Fallbacks: refs("y/m2")}}, "j/m", FromCron, refs("j/m", "y/m2")},
		{"a job's list counts before its agent's", Policy{Defaults: a, Agent: Models{Fallbacks: refs("y/m2")}, Job: Models{Fallbacks: refs("k/m")}}, "j/m", FromCron, refs("j/m", "k/m")},
		{"a job that says strict", Policy{Defaults: a, Job: Models{Fallbacks: []llm.Ref{}}}, "j/m", FromCron, refs("j/m")},
		{"a job without any list stands alone", Policy{Defaults: Models{Primary: ref("a/m1")}}, "j/m", FromCron, refs("j/m")},
	} {
		if got := c.policy.Chain(ref(c.requested), c.source); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestClampIsDoneOnce(t *testing.T) {
	r := DefaultRules()
	far := t0.Add(40 * 24 * time.Hour)
	s := State{
		Billing: Window{Reason: llm.Billing, Until: far}, Permanent: Window{Reason: llm.AuthPermanent, Until: far},
		Models: map[string]Window{"m": {Reason: llm.RateLimit, Until: far}, "n": {Reason: llm.RateLimit, Until: far, Stated: true}},
	}
	c := r.Clamp(s, t0)
	if c.Billing.Until.Sub(t0) != r.BillingMax || c.Permanent.Until.Sub(t0) != r.PermanentMax || c.Models["m"].Until.Sub(t0) != 5*time.Minute || c.Models["n"].Until.Sub(t0) != LongestStated {
		t.Errorf("%+v", c)
	}
	if !r.excessive(s, t0) || r.excessive(c, t0) {
		t.Error("what was clamped would be clamped again")
	}
}
