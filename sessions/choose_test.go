package sessions_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/tool"
	"understudy/sessions"
	"understudy/store/memory"
)

const broke = `402 {"error":{"message":"Insufficient credits. Add more credits to continue."}}`

// A choice that is made while an answer is on its way and the notice state that
// the answer leads to are both kept.
func TestChoiceAndNoticeAreBothKept(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", broke)
		h.model("b/m2", `text "one"`, `slow 10s text "two"`)
		h.say("t1", "hi")
		first := h.session("t1").LastTurn
		h.say("t1", "again")
		time.Sleep(5 * time.Second)
		h.command("t1", "model @b:two", "ann")
		time.Sleep(5 * time.Second)
		h.expectPosts("t1 answer: one", "t1 notice: ↪️ Model Fallback: b/m2 (selected a/m1; billing)", "t1 answer: two")
		s := h.session("t1")
		if s.Choice.Lock != "b:two" || !s.Notice.Moved() || s.Notice.Turn != first {
			t.Fatalf("the record holds %+v", s)
		}
	})
}

// However many choose at once, while turns commit: nothing is lost.
func TestChoicesInARace(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", broke)
		const turns, choices = 20, 50
		var all sync.WaitGroup
		for range turns {
			m := h.message("t1", "hi")
			all.Go(func() {
				if err := h.bot.Message(context.Background(), m); err != nil {
					t.Error(err)
				}
			})
		}
		for i := range choices {
			all.Go(func() {
				word := []string{"@b:one", "@b:two"}[i%2]
				if text, err := h.bot.SelectModel(context.Background(), key("t1"), core.Target{Thread: thread("t1")}, word); err != nil || !strings.HasPrefix(text, "This thread uses only") {
					t.Errorf("%q, %v", text, err)
				}
			})
		}
		all.Wait()
		time.Sleep(time.Hour) // also for turns that wait
		synctest.Wait()
		s := h.session("t1")
		entries, err := h.store.Transcript(context.Background(), key("t1"), s.Transcript, 1000)
		if err != nil {
			t.Fatal(err)
		}
		answers := 0
		for _, e := range entries {
			if e.Model == ref("b/m2") {
				answers++
			}
		}
		if !strings.HasPrefix(s.Choice.Lock, "b:") || !s.Notice.Moved() || answers != turns || s.LastTurn == "" {
			t.Fatalf("%d of %d answers, and the record holds %+v", answers, turns, s)
		}
	})
}

// between is a store on which something happens between the moment in which a
// running turn reads its mark and the moment in which it clears it.
type between struct {
	*memory.Store
	happen *func()
}

func (b between) Commit(ctx context.Context, k core.Key, lease int64, change func(sessions.Tx) error) error {
	if f := *b.happen; f != nil {
		*b.happen = nil
		f()
	}
	return b.Store.Commit(ctx, k, lease, change)
}

// A running turn clears the mark that it acted on. A newer one stays, and wins.
func TestNewerChoiceSurvivesTheClearingOfAnOlder(t *testing.T) {
	inHouse(t, func(h *house) {
		var happen func()
		h.around = func(s *memory.Store) sessions.Store { return between{s, &happen} }
		h.open()
		h.model("a/m1", `529 "overloaded_error"`)
		h.model("b/m2", `529 "overloaded_error"`)
		h.model("c/m3", `529 "overloaded_error"`)
		h.say("t1", "hi") // waits after its first pass
		happen = func() { h.choose("t1", "d/m4") }
		h.choose("t1", "c/m3")
		synctest.Wait()
		if happen != nil {
			t.Fatal("the turn did not take the choice up")
		}
		asked := []string{"a/m1: hi", "a/m1: hi", "b/m2: hi", "b/m2: hi", "c/m3: hi", "d/m4: hi"}
		h.expectAsked(asked...)
		h.say("t1", "next")
		h.expectAsked(append(asked, "d/m4: next")...)
		if c := h.session("t1").Choice; c.Model != ref("d/m4") || c.Source != failover.FromUser {
			t.Fatalf("the choice is %+v", c)
		}
		if s := h.session("t1"); s.Pending != nil {
			t.Fatalf("a mark was left: %+v", s.Pending)
		}
	})
}

// choose is a choice that does not wait for anything.
func (h *house) choose(name, word string) {
	h.t.Helper()
	if _, err := h.bot.SelectModel(context.Background(), key(name), core.Target{Thread: thread(name)}, word); err != nil {
		h.t.Error(err)
	}
}

// The mark of a choice shows while a turn runs that has not taken it up, and is
// gone when it has.
func TestPendingMark(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", `slow 10s 529 "overloaded_error"`)
		h.command("t1", "model a/m1", "ann")
		h.say("t1", "hi")
		if s := h.session("t1"); s.Pending != nil {
			t.Fatalf("a turn began with the choice, and left its mark: %+v", s.Pending)
		}
		h.command("t1", "model c/m3", "ann")
		if p := h.session("t1").Pending; p == nil || p.Model != ref("c/m3") {
			t.Fatalf("the mark is %+v", p)
		}
		if text := h.command("t1", "status", "ann").Text; !strings.Contains(text, "A turn is running; c/m3 is taken up at its next safe point.") {
			t.Fatalf("the status is\n%s", text)
		}
		time.Sleep(10 * time.Second)
		h.expectAsked("a/m1: hi", "c/m3: hi")
		h.expectPosts("t1 answer: ok")
		if s := h.session("t1"); s.Pending != nil || s.Notice.Moved() {
			t.Fatalf("the record is %+v", s)
		}
	})
}

// The built-in tool reports what /status does, and its choice is the user's.
func TestStatusTool(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.agent.Tools = []tool.Tool{h.bot.StatusTool()}
		h.model("a/m1", "tool session_status", `tool session_status {"model":"nonsense"}`, `tool session_status {"model":"c/m3"}`)
		h.say("t1", "use c, please")
		asked := h.asked()
		if len(asked) != 4 || asked[1] != "a/m1: "+h.statusBefore() {
			t.Fatalf("requests:\n%s", strings.Join(asked, "\n"))
		}
		expect(t, "requests", asked[2:], []string{
			`a/m1: I don’t know the model "nonsense". Did you mean …`,
			"c/m3: This thread now uses c/m3. This is strict: …",
		})
		if c := h.session("t1").Choice; c.Model != ref("c/m3") || c.Source != failover.FromUser || c.Since.IsZero() {
			t.Fatalf("the choice is %+v", c)
		}
		h.expectPosts("t1 answer: ok")
	})
}

// statusBefore is what /status says of a thread where nothing was chosen.
func (h *house) statusBefore() string { return h.command("untouched", "status", "ann").Text }

func TestAdminsChoose(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.ModelAdmins = true
		h.open()
		const refusal = "Only admins of this bot can use /model here."
		if r := h.command("t1", "model b/m2", "ann"); r.Text != refusal {
			t.Fatalf("ann heard %q", r.Text)
		}
		h.say("t1", "/model b/m2")
		h.expectPosts("t1 command: " + refusal)
		if s := h.session("t1"); s.Choice != (sessions.Choice{}) {
			t.Fatalf("ann chose %+v", s.Choice)
		}
		if r := h.command("t1", "model", "ann"); len(r.Menus) == 0 || !strings.HasPrefix(r.Text, "Selected: a/m1") {
			t.Fatalf("ann may look, but saw %+v", r)
		}
		h.command("t1", "model b/m2", "root")
		if s := h.session("t1"); s.Choice.Model != ref("b/m2") {
			t.Fatalf("root chose %+v", s.Choice)
		}
	})
}

// What people may pick can differ by agent; the key that refuses is named.
func TestPicksOfAnAgent(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.Allow = []string{"a/*"}
		h.set.Bind = func(m core.Message) string {
			return map[string]string{"t1": "main", "t2": "coder", "t3": "free"}[m.Thread().Channel]
		}
		coder, free := h.agent, h.agent
		coder.Picks = sessions.Picks{Key: "agents.entries.coder.modelPolicy.allow", Models: []string{"c/m3"}}
		free.Picks = sessions.Picks{Key: "agents.entries.free.modelPolicy.allow"}
		h.more = map[string]sessions.Agent{"coder": coder, "free": free}
		h.open()
		for _, c := range []struct{ thread, model, says string }{
			{"t1", "a/m1", "This thread now uses a/m1."},
			{"t1", "c/m3", "c/m3 cannot be chosen here: modelPolicy.allow does not list it."},
			{"t2", "c/m3", "This thread now uses c/m3."},
			{"t2", "cheap", "This thread now uses c/m3."},
			{"t2", "a/m1", "a/m1 cannot be chosen here: agents.entries.coder.modelPolicy.allow does not list it."},
			{"t3", "b/m2", "This thread now uses b/m2."},
		} {
			if r := h.command(c.thread, "model "+c.model, "ann"); !strings.HasPrefix(r.Text, c.says) {
				t.Errorf("%s in %s: %s", c.model, c.thread, r.Text)
			}
		}
		list, err := h.bot.Complete(context.Background(), core.Invocation{Name: "model", Target: core.Target{Thread: thread("t2")}})
		if err != nil || len(list) != 3 || list[0].Value != "c/m3" {
			t.Errorf("/model in t2 completes to %+v (%v)", list, err)
		}
	})
}

func TestComplete(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.Aliases["forbidden"] = ref("b/m2")
		h.set.Allow = []string{"a/*", "c/m3"}
		h.open()
		for _, c := range []struct{ name, word, want string }{
			{"model", "", "a/m1, c/m3, cheap, default"},
			{"model", "M", "a/m1, c/m3, cheap"}, // the alias stands for c/m3
			{"model", "forbidden", ""},          // it stands for b/m2
			{"model", "che", "cheap"},
			{"model", "b/", ""},
			{"status", "w", "why"},
			{"new", "", "default"},
			{"stop", "", "all"},
			{"help", "", ""},
			{"nonsense", "", ""},
		} {
			list, err := h.bot.Complete(context.Background(), core.Invocation{Name: c.name, Args: c.word, Target: core.Target{Thread: thread("t1")}})
			if err != nil {
				t.Fatal(err)
			}
			var values []string
			for _, x := range list {
				values = append(values, x.Value)
			}
			if got := strings.Join(values, ", "); got != c.want {
				t.Errorf("/%s %q completes to %q, want %q", c.name, c.word, got, c.want)
			}
		}
	})
}

// A native /retry is stored like a message, so that it is answered once however
// often it is delivered.
func TestNativeRetry(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", `text "first try"`, `text "second try"`)
		h.say("t1", "hi")
		retry := func(id, name string) {
			t.Helper()
			r, err := h.bot.Command(context.Background(), core.Invocation{ID: id, Author: core.Author{ID: "ann"}, Target: core.Target{Thread: thread(name)}, Name: "retry", Native: true})
			if err != nil || r.Text != "I’ll answer the last message again." {
				t.Fatalf("%+v, %v", r, err)
			}
			synctest.Wait()
		}
		retry("i1", "t1")
		retry("i1", "t1")
		h.expectAsked("a/m1: hi", "a/m1: hi")
		h.expectPosts("t1 answer: first try", "t1 answer: second try")
		retry("i2", "empty")
		h.expectPosts("t1 answer: first try", "t1 answer: second try", "empty command: There is no message to answer again.")
	})
}

func TestNativeCommands(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.model("a/m1", "hang", `text "a new day"`)
		h.say("t1", "hi")
		before := h.session("t1").Transcript
		if r := h.command("t1", "reset", "ann"); r.Text != "A new conversation begins here." || !r.Public {
			t.Fatalf("%+v", r)
		}
		h.say("t1", "hello")
		h.expectPosts("t1 answer: a new day")
		s := h.session("t1")
		if entries, err := h.store.Transcript(context.Background(), key("t1"), s.Transcript, 10); err != nil || len(entries) != 2 || s.Transcript == before {
			t.Fatalf("the new conversation holds %d entries, err %v", len(entries), err)
		}
		channel := core.Target{Thread: core.Thread{Platform: "fake", Account: "main", Channel: "lobby", Kind: core.KindChannel}}
		for _, c := range []struct{ name, args, want string }{
			{"model", "b/m2", "This channel, and every new thread in it, now uses b/m2. …"},
			{"status", "nonsense", "Write `/status`, or …"},
			{"new", "nonsense", "Write `/new` …"},
			{"stop", "", "Nothing is running here."},
			{"help", "", "You can talk to me…"},
			{"nonsense", "", "I don’t know the command /nonsense. …"},
		} {
			r, err := h.bot.Command(context.Background(), core.Invocation{ID: "x", Author: core.Author{ID: "ann"}, Target: channel, Name: c.name, Args: c.args, Native: true})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, fmt.Sprintf("/%s %s", c.name, c.args), []string{r.Text}, []string{c.want})
		}
	})
}
