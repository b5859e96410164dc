package sessions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"understudy/core/llm"
)

// steps writes entries as "t1:u t1:call t1:result t1:a".
func steps(text string) []Entry {
	var list []Entry
	for i, word := range strings.Fields(text) {
		turn, what, _ := strings.Cut(word, ":")
		e := Entry{Seq: int64(i + 1), Turn: turn, Again: !strings.Contains(" "+text, " "+turn+":u")}
		id := fmt.Sprint("c", i)
		switch what {
		case "u":
			e.Message = llm.TextMessage(llm.User, "said "+word)
		case "a":
			e.Message = llm.TextMessage(llm.Assistant, "answered "+word)
		case "call":
			e.Message = llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.Call{ID: id, Name: "x", Args: []byte("{}")}}}}
		case "result":
			e.Message = llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.Result{ID: fmt.Sprint("c", i-1), Text: "ok"}}}}
		}
		list = append(list, e)
	}
	return list
}

// written is the opposite of steps.
func written(entries []Entry) string {
	var words []string
	for _, e := range entries {
		what := map[llm.Role]string{llm.User: "u", llm.Assistant: "a", llm.ToolRole: "result"}[e.Message.Role]
		if len(callsOf(e.Message)) > 0 {
			what = "call"
		}
		words = append(words, e.Turn+":"+what)
	}
	return strings.Join(words, " ")
}

func TestSuperseded(t *testing.T) {
	for _, c := range []struct{ name, have, want string }{
		{"nothing", "", ""},
		{"a talk", "1:u 1:a 2:u 2:a", "1:u 1:a 2:u 2:a"},
		{"a retry", "1:u 1:a 2:a", "1:u 2:a"},
		{"two retries", "1:u 1:a 2:a 3:a 4:u", "1:u 3:a 4:u"},
		{"a retry of an answer with a tool", "1:u 1:call 1:result 1:a 2:a", "1:u 2:a"},
		{"a retry with a tool", "1:u 1:a 2:call 2:result 2:a", "1:u 2:call 2:result 2:a"},
		{"a turn with tools", "1:u 1:call 1:result 1:call 1:result 1:a", "1:u 1:call 1:result 1:call 1:result 1:a"},
		{"a turn without an answer", "1:u 2:u 2:a", "1:u 2:u 2:a"},
	} {
		if got := written(superseded(steps(c.have))); got != c.want {
			t.Errorf("%s: %s became %s, want %s", c.name, c.have, got, c.want)
		}
	}
}

// Of two answers between which a message was deleted both stay.
func TestNothingIsSupersededByADeletion(t *testing.T) {
	talk := steps("1:u 1:a 2:u 2:call 2:result 2:a 3:u 3:a")
	talk = slices.Delete(talk, 2, 3)
	if got, want := written(superseded(talk)), "1:u 1:a 2:call 2:result 2:a 3:u 3:a"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFit(t *testing.T) {
	talk := steps("1:u 1:call 1:result 1:a 2:u 2:a 3:u 3:call 3:result")
	cost := func(from int) int {
		n := 0
		for _, e := range talk[from:] {
			n += size(e.Message)
		}
		return n
	}
	for _, c := range []struct {
		name   string
		budget int
		want   string
	}{
		{"everything", cost(0), "1:u 1:call 1:result 1:a 2:u 2:a 3:u 3:call 3:result"},
		{"one too few", cost(0) - 1, "2:u 2:a 3:u 3:call 3:result"},
		{"up to a result, which stays behind with its call", cost(2), "2:u 2:a 3:u 3:call 3:result"},
		{"the second turn exactly", cost(4), "2:u 2:a 3:u 3:call 3:result"},
		{"not the second turn", cost(4) - 1, "3:u 3:call 3:result"},
		{"never less than the message and its tools", 0, "3:u 3:call 3:result"},
		{"not even with a debt", -1000, "3:u 3:call 3:result"},
	} {
		if got := written(fit(talk, c.budget)); got != c.want {
			t.Errorf("%s (budget %d): %s, want %s", c.name, c.budget, got, c.want)
		}
	}
}

// drawTalk draws a transcript: turns that begin with a message unless they are
// retries, with any number of tools, of which the last one is being answered.
func drawTalk(t *rapid.T) []Entry {
	var words []string
	turns := rapid.IntRange(1, 8).Draw(t, "turns")
	for turn := range turns {
		add := func(what string) { words = append(words, fmt.Sprintf("%d:%s", turn, what)) }
		if turn == 0 || rapid.IntRange(0, 3).Draw(t, "retry") > 0 {
			add("u")
		}
		for range rapid.IntRange(0, 3).Draw(t, "tools") {
			add("call")
			add("result")
		}
		if turn < turns-1 && rapid.Bool().Draw(t, "answered") {
			add("a")
		}
	}
	list := steps(strings.Join(words, " "))
	for i := range list {
		for j, p := range list[i].Message.Parts {
			if p.Text != "" {
				list[i].Message.Parts[j].Text = strings.Repeat("x", rapid.IntRange(1, 400).Draw(t, "length"))
			}
		}
	}
	return list
}

// Whatever is left out: what is sent begins with a user message, is the newest
// part of the talk without a gap, and holds calls and results together.
func TestContextProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := superseded(drawTalk(t))
		budget := rapid.IntRange(-10, 1500).Draw(t, "budget")
		kept := fit(all, budget)
		if len(kept) == 0 || kept[0].Message.Role != llm.User {
			t.Fatalf("%s begins with no user message", written(kept))
		}
		tail := all[len(all)-len(kept):]
		if !slices.EqualFunc(kept, tail, func(a, b Entry) bool { return a.Seq == b.Seq }) {
			t.Fatalf("%s is not the end of %s", written(kept), written(all))
		}
		open := map[string]bool{}
		used, last := 0, 0
		for i, e := range kept {
			used += size(e.Message)
			if e.Message.Role == llm.User {
				last = i
			}
			for _, p := range e.Message.Parts {
				switch {
				case p.Call != nil:
					open[p.Call.ID] = true
				case p.Result != nil && !open[p.Result.ID]:
					t.Fatalf("a result without its call in %s", written(kept))
				case p.Result != nil:
					delete(open, p.Result.ID)
				}
			}
		}
		if len(open) > 0 {
			t.Fatalf("a call without its result in %s", written(kept))
		}
		if used > budget && last > 0 {
			t.Fatalf("%s takes %d of %d, though older messages could go", written(kept), used, budget)
		}
		if more := len(all) - len(kept); more > 0 {
			next := 0 // the turn before what was kept would fit, too
			for i := more - 1; i >= 0; i-- {
				next += size(all[i].Message)
				if all[i].Message.Role == llm.User {
					break
				}
			}
			if used+next <= budget {
				t.Fatalf("%s leaves %d tokens unused", written(kept), budget-used)
			}
		}
	})
}
