package sessions_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/tool"
	"understudy/sessions"
	"understudy/store/memory"
)

// brittle panics in its first call.
type brittle struct {
	llm.Client
	broken *bool
}

func (b brittle) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	if *b.broken {
		*b.broken = false
		panic("a client with a bug")
	}
	return b.Client.Stream(ctx, r)
}

const localFault = "t1 error: Something went wrong inside the bot…"

// A panic ends its turn with a clear text, blames no model, and the lane goes
// on.
func TestPanicEndsOneTurn(t *testing.T) {
	for name, breaks := range map[string]func(h *house, broken *bool){
		"in a client": func(h *house, broken *bool) {
			h.client = func(c llm.Client) llm.Client { return brittle{c, broken} }
		},
		"while the request is made": func(h *house, broken *bool) {
			h.set.Window = func(llm.Ref) int {
				if *broken {
					*broken = false
					panic("no such window")
				}
				return 1000
			}
		},
		"while the turn begins": func(h *house, broken *bool) {
			h.around = func(s *memory.Store) sessions.Store { return panicking{s, broken} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				broken := false
				breaks(h, &broken)
				h.open()
				broken = true
				h.say("t1", "hi")
				h.say("t1", "still there?")
				h.expectPosts(localFault, "t1 answer: ok")
				if states, err := h.store.States(context.Background(), "main"); err != nil || states["a:one"].Blocked("m1", time.Now()).Live() {
					t.Fatalf("states %+v, err %v", states, err)
				}
			})
		})
	}
}

// panicking is a store that panics when a transcript is read.
type panicking struct {
	sessions.Store
	broken *bool
}

func (p panicking) Transcript(ctx context.Context, k core.Key, transcript string, limit int) ([]sessions.Entry, error) {
	if *p.broken {
		*p.broken = false
		panic("a store with a bug")
	}
	return p.Store.Transcript(ctx, k, transcript, limit)
}

func TestTurnTimeout(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.TurnTimeout = 90 * time.Second
		h.open()
		h.model("a/m1", "hang", `text "better"`)
		h.say("t1", "hi")
		time.Sleep(90*time.Second - time.Nanosecond)
		h.expectPosts()
		time.Sleep(time.Nanosecond)
		h.expectPosts("t1 error: I gave up on this message: it took longer than 90 seconds. Send /retry to try again.")
		h.say("t1", "again")
		h.expectAsked("a/m1: hi", "a/m1: again")
		if states, err := h.store.States(context.Background(), "main"); err != nil || states["a:one"].Blocked("m1", time.Now()).Live() {
			t.Fatalf("our own deadline was booked on the provider: %+v, %v", states, err)
		}
	})
}

// What a tool does wrong is told to the model.
func TestToolTrouble(t *testing.T) {
	for _, c := range []struct {
		name string
		call string
		run  func(context.Context, tool.Call) (string, error)
		took time.Duration
		want string
	}{
		{"hangs", "tool thing", func(ctx context.Context, _ tool.Call) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, 20 * time.Second, "Error: the tool took too long"},
		{"does not listen", "tool thing", func(context.Context, tool.Call) (string, error) {
			time.Sleep(time.Minute)
			return "too late", nil
		}, 20 * time.Second, "Error: the tool took too long"},
		{"panics", "tool thing", func(context.Context, tool.Call) (string, error) { panic("a bug") }, 0, "Error: the tool crashed"},
		{"fails", "tool thing", func(context.Context, tool.Call) (string, error) { return "", errors.New("no such city") }, 0, "Error: no such city"},
		{"is unknown", "tool other", nil, 0, `Error: there is no tool "other"`},
		{"talks too much", "tool thing", func(context.Context, tool.Call) (string, error) {
			return "x" + strings.Repeat("ä", 64<<10), nil
		}, 0, "x" + strings.Repeat("ä", 32<<10-1) + "\n[cut: the result is longer]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				h.set.ToolTimeout = 20 * time.Second
				h.agent.Tools = []tool.Tool{gadget{"thing", c.run}}
				h.open()
				h.model("a/m1", c.call, `text "so be it"`)
				h.say("t1", "do it")
				time.Sleep(c.took)
				h.expectAsked("a/m1: do it", "a/m1: "+c.want)
				h.expectPosts("t1 answer: so be it")
				time.Sleep(time.Minute) // until the tool that does not listen is done
			})
		})
	}
}

func TestTooManyRounds(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.MaxToolRounds = 3
		runs := 0
		h.agent.Tools = []tool.Tool{gadget{"thing", func(context.Context, tool.Call) (string, error) { runs++; return "more", nil }}}
		h.open()
		h.model("a/m1", "tool thing")
		h.say("t1", "go")
		h.expectPosts("t1 error: I stopped: the model asked for tools more than 3 times in one turn. Send /retry to try again.")
		if runs != 3 || len(h.asked()) != 4 {
			t.Fatalf("%d runs and %d requests, want 3 and 4", runs, len(h.asked()))
		}
	})
}

// The transcript holds every step once, with the tokens of its own call.
func TestTranscriptOfATurn(t *testing.T) {
	inHouse(t, func(h *house) {
		h.agent.Tools = []tool.Tool{gadget{"thing", func(context.Context, tool.Call) (string, error) { return "42", nil }}}
		h.open()
		h.model("a/m1", `stream "let me see" then tool thing {"x":1}`, `text "it is 42"`)
		h.say("t1", "ask")
		h.expectPosts("t1 answer: let me see\n\nit is 42")
		s := h.session("t1")
		entries, err := h.store.Transcript(context.Background(), key("t1"), s.Transcript, 100)
		if err != nil || len(entries) != 4 {
			t.Fatalf("%d entries, err %v", len(entries), err)
		}
		var sum llm.Usage
		for i, role := range []llm.Role{llm.User, llm.Assistant, llm.ToolRole, llm.Assistant} {
			e := entries[i]
			if e.Message.Role != role || e.Turn != s.LastTurn {
				t.Errorf("entry %d: %+v", i, e)
			}
			if role == llm.Assistant && (e.Model != ref("a/m1") || e.Profile != "a:one" || e.Usage == (llm.Usage{})) {
				t.Errorf("entry %d lacks who said it: %+v", i, e)
			}
			sum = sum.Add(e.Usage)
		}
		if sum != s.Usage {
			t.Errorf("the entries cost %+v, the session counts %+v", sum, s.Usage)
		}
	})
}

// The first turn after a choice makes one request in spite of every block; the
// next one does not.
func TestOneHonestTry(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		for _, id := range []string{"c:one", "c:two"} {
			if err := h.store.UpdateState(context.Background(), "main", id, func(failover.State) failover.State {
				return failover.State{Permanent: failover.Window{Reason: llm.AuthPermanent, Since: time.Now(), Until: time.Now().Add(time.Hour), Count: 4}}
			}); err != nil {
				t.Fatal(err)
			}
		}
		h.model("c/m3", `401 {"error":{"message":"The account associated with this API key has been deactivated.","code":"account_deactivated"}}`)
		h.say("t1", "/model c/m3")
		h.say("t1", "one")
		h.say("t1", "two")
		h.expectAsked("c/m3: one")
		h.expectPosts("t1 command: This thread now uses c/m3.…", "t1 error: c/m3 did not accept…", "t1 error: c/m3 did not accept…")
	})
}
