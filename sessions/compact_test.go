package sessions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"understudy/core"
	"understudy/core/llm"
)

// someTalk draws a conversation of turns with and without tools, in the letters
// of steps, whose texts have different lengths.
func someTalk(t *rapid.T, turns int) []Entry {
	var words []string
	for n := range rapid.IntRange(1, turns).Draw(t, "turns") {
		words = append(words, fmt.Sprintf("%d:u", n))
		for range rapid.IntRange(0, 2).Draw(t, "tools") {
			words = append(words, fmt.Sprintf("%d:call", n), fmt.Sprintf("%d:result", n))
		}
		if rapid.IntRange(0, 4).Draw(t, "answered") > 0 {
			words = append(words, fmt.Sprintf("%d:a", n))
		}
	}
	list := steps(strings.Join(words, " "))
	for i := range list {
		pad := strings.Repeat("x", rapid.IntRange(0, 3000).Draw(t, "length"))
		for j := range list[i].Message.Parts {
			p := &list[i].Message.Parts[j]
			mark := fmt.Sprintf("<%d>", list[i].Seq)
			switch {
			case p.Result != nil:
				p.Result.Text = mark + pad
			case p.Call != nil:
				p.Call.Args = []byte(fmt.Sprintf(`{"mark":%q}`, mark+pad))
			default:
				p.Text = mark + pad
			}
		}
	}
	return list
}

func aTurn(window int, history []Entry) *turn {
	return &turn{set: &Settings{Window: func(llm.Ref) int { return window }}, history: history}
}

// What is kept when the older part is summarised begins with a user message, so
// that every tool call stands beside its result, and holds what was asked last.
func TestBoundaryPartsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := append(someTalk(t, 8), Entry{Seq: 1000, Message: llm.TextMessage(llm.User, "now")})
		x := aTurn(1000, history)
		x.said = history[len(history)-rapid.IntRange(0, 1).Draw(t, "said"):]
		room, entries := rapid.IntRange(0, 4000).Draw(t, "room"), rapid.IntRange(0, 20).Draw(t, "entries")
		cut := x.boundary(room, entries)
		kept := history[cut:]
		switch {
		case kept[0].Message.Role != llm.User:
			t.Fatalf("what is kept begins with %+v", kept[0])
		case kept[len(kept)-1].Seq != 1000:
			t.Fatal("the question itself was left out")
		case len(kept) > 1 && (sizes(kept) > room || len(kept) > entries):
			t.Fatalf("%d entries with %d tokens are kept, with room for %d and %d", len(kept), sizes(kept), entries, room)
		}
	})
}

// However a history is cut into requests for summaries, each entry is told of
// in exactly one, in order; a call and its result are in the same one; and what
// is shown of it fits where a single exchange does.
func TestEverythingIsToldOfOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := someTalk(t, 10)
		window := rapid.IntRange(1000, 20_000).Draw(t, "window")
		m := &summarising{t: aTurn(window, history), part: 1 << rapid.IntRange(0, 2).Draw(t, "part"), queue: history}
		var told []int64
		for len(m.queue) > 0 {
			req := m.request(ref("a/m1"))
			text := req.Messages[0].Text()
			if m.took < 1 {
				t.Fatal("a request that tells of nothing")
			}
			if m.took < len(m.queue) && m.queue[m.took].Message.Role != llm.User {
				t.Fatalf("an exchange is cut before %+v", m.queue[m.took])
			}
			for _, e := range m.queue[:m.took] {
				if !strings.Contains(text, fmt.Sprintf("<%d>", e.Seq)) {
					t.Fatalf("entry %d is not in its request", e.Seq)
				}
				told = append(told, e.Seq)
			}
			for _, e := range m.queue[m.took:] {
				if strings.Contains(text, fmt.Sprintf("<%d>", e.Seq)) {
					t.Fatalf("entry %d is in a request before its own", e.Seq)
				}
			}
			if n := tokens(len(text)); n > window && m.part == 1 && window >= 2000 {
				t.Fatalf("a request of %d tokens for a window of %d", n, window)
			}
			m.sum = Summary{Text: "so far"}
			m.queue = m.queue[m.took:]
		}
		for i, e := range history {
			if told[i] != e.Seq || len(told) != len(history) {
				t.Fatalf("told of %v", told)
			}
		}
	})
}

func TestCutText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		most := rapid.IntRange(0, 60).Draw(t, "most")
		cut := cutText(text, most)
		if len(text) <= most && cut != text {
			t.Fatalf("%q became %q", text, cut)
		}
		if len(cut) > max(most, len("\n[…]\n")) && len(text) > most {
			t.Fatalf("%q has %d bytes, at most %d are allowed", cut, len(cut), most)
		}
	})
}

func ref(name string) llm.Ref {
	r, ok := llm.ParseRef(name)
	if !ok {
		panic(name)
	}
	return r
}

// The window is full by the provider's own count, if that is newer than the
// last summary and of the model that is asked next.
func TestReported(t *testing.T) {
	history := steps("1:u 1:a 2:u 2:a 3:u")
	history[1].Model, history[1].Usage = ref("a/m1"), llm.Usage{In: 700, Out: 50}
	history[3].Model, history[3].Usage = ref("b/m2"), llm.Usage{In: 9000, Out: 50}
	x := aTurn(1000, history)
	if n := x.reported(ref("a/m1")); n != 750+sizes(history[2:]) {
		t.Errorf("%d tokens are reported for a/m1", n)
	}
	if n := x.reported(ref("c/m3")); n != 0 {
		t.Errorf("%d tokens are reported for a model that never answered", n)
	}
	x.sess.Summary = &Summary{At: history[3].At}
	if n := x.reported(ref("b/m2")); n != 0 {
		t.Errorf("%d tokens are reported from before the summary", n)
	}
	if !slices.ContainsFunc(history, func(e Entry) bool { return e.Usage.In > 0 }) {
		t.Fatal("nothing was reported at all")
	}
}

// With a summary the two sides take turns, too, and the summary stands by itself.
func TestSidesTakeTurnsAfterASummary(t *testing.T) {
	x := aTurn(1000, steps("1:u 1:call 1:result 1:a 2:u 2:a 3:u"))
	x.sess.Summary = &Summary{Text: "THE SUMMARY"}
	x.in.Message.Target.Thread.Kind = core.KindDirect
	x.set.Sees = func(llm.Ref) bool { return true }
	list := x.messages(ref("a/m1"))
	for i, m := range list[1:] {
		if m.Role == list[i].Role || i == 0 && list[i].Role != llm.User {
			t.Fatalf("message %d is of %s, as the one before it", i+1, m.Role)
		}
	}
	if text := list[0].Text(); text != summaryHead+"THE SUMMARY" {
		t.Errorf("the first message is %q", text)
	}
}
