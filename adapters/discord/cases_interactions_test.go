package discord_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/adapters/discord"
	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

// ears hear what operators are told.
type ears struct {
	mu  sync.Mutex
	all []core.Alert
}

func (e *ears) settings(c *discord.Config) {
	c.Alert = func(a core.Alert) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.all = append(e.all, a)
	}
}

// of are the texts of the alerts of one kind.
func (e *ears) of(kind string) (texts []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.all {
		if a.Kind == kind {
			texts = append(texts, a.Text)
		}
	}
	return texts
}

func (h *house) pressed() []core.Press {
	h.guests.mu.Lock()
	defer h.guests.mu.Unlock()
	return slices.Clone(h.guests.presses)
}

// lines are how often the log has a text.
func (h *house) lines(text string) int { return strings.Count(h.log.String(), text) }

func TestCasesOfLostAnswers(t *testing.T) {
	t.Parallel()
	t.Run("p028", func(t *testing.T) {
		t.Parallel()
		for _, refusal := range []discordtest.Fault{
			{Status: 400, Code: 50083, Message: "Thread is archived"},
			{Status: 403, Code: 50001, Message: "Missing Access"},
			{Status: 400, Code: 160005, Message: "Thread is locked"},
		} {
			var told ears
			h := open(t, told.settings)
			h.thread("500", "100", discordtest.PublicThread)
			refusal.Method, refusal.Path = "PATCH", "/webhooks/801/itok-301/messages/@original"
			h.fake.Inject(refusal)
			h.fake.Interact(discordtest.Interaction{ID: "301", Channel: "500", User: "700", Command: "status"})
			h.await("pointer in the channel", func() bool { return len(h.fake.Posts("100")) == 1 })
			if text := h.fake.Posts("100")[0].Content; !strings.Contains(text, "<#500>") || strings.Contains(text, "did status") {
				t.Errorf("the channel is told %q", text)
			}
			h.answered(h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "help"}))
			if n := len(h.fake.Requests("", "/webhooks/801/itok-301/*")) + len(h.fake.Requests("", "/webhooks/801/itok-301/messages/*")); n != 1 {
				t.Errorf("%d attempts to answer", n)
			}
			if h.lines("an interaction could not be answered") != 1 || h.lines("interaction=301 command=status") != 1 || len(told.of("thread")) != 1 {
				t.Errorf("alerts %q", told.of("thread"))
			}
		}
	})
	t.Run("p029", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		h.thread("500", "100", discordtest.PublicThread)
		h.fake.Inject(discordtest.Fault{Method: "PATCH", Path: "/webhooks/801/itok-301/messages/@original", Status: 500})
		h.fake.Interact(discordtest.Interaction{ID: "301", Channel: "500", User: "700", Command: "status"})
		h.await("log line", func() bool { return h.lines("an interaction could not be answered") == 1 })
		held := h.fake.Hold("PATCH", "/webhooks/801/itok-302/messages/@original")
		h.fake.Interact(discordtest.Interaction{ID: "302", Channel: "500", User: "700", Command: "status"})
		<-held.Reached
		// Nobody else waits for it.
		h.answered(h.fake.Interact(discordtest.Interaction{Channel: "500", User: "700", Command: "help"}))
		h.post(in("500"), core.PostAnswer, "an answer", "n1", false)
		held.Drop()
		h.await("second log line", func() bool { return h.lines("an interaction could not be answered") == 2 })
		if posts := append(h.fake.Posts("100"), h.fake.Posts("500")...); len(posts) != 1 {
			t.Errorf("what may have been said was said again: %+v", posts)
		}
		if n := len(h.fake.Requests("PATCH", "/webhooks/801/itok-30?/messages/@original")); n != 2 {
			t.Errorf("%d attempts", n)
		}
	})
	t.Run("p035", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		h.fake.AddChannel(discordtest.Channel{ID: "500", Parent: "100", Type: discordtest.PublicThread, Archived: true, Locked: true})
		h.fake.Interact(discordtest.Interaction{ID: "301", Channel: "500", User: "700", Command: "status"})
		h.await("log line", func() bool { return h.lines("an interaction could not be answered") == 1 })
		h.answered(h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "help"}))
		if n := len(h.fake.Requests("", "/interactions/301/*/callback")); n != 1 || len(h.called()) != 1 {
			t.Errorf("%d responses, commands %+v", n, h.called())
		}
		if h.lines(`level=INFO msg="an interaction could not be answered"`) != 1 || h.lines("an interaction could not be answered") != 1 || h.lines("level=WARN") != 0 {
			t.Error("it is not one line of the level info")
		}
	})
	t.Run("p105", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		h.guests.command = func(i core.Invocation) (core.Reply, error) {
			h.fake.Spend(i.ID) // it took too long
			return core.Reply{Text: "the answer to " + i.Name, Public: i.Name == "reset"}, nil
		}
		h.fake.Interact(discordtest.Interaction{ID: "301", Channel: "100", User: "700", Command: "reset"})
		h.await("answer in the channel", func() bool { return len(h.fake.Posts("100")) == 1 })
		h.fake.Interact(discordtest.Interaction{ID: "302", Channel: "100", User: "700", Command: "status"})
		h.await("log lines", func() bool { return h.lines("an interaction could not be answered") == 2 })
		h.fake.Spend(h.fake.Interact(discordtest.Interaction{ID: "303", Channel: "100", User: "700", Command: "help"}))
		h.texts()
		if posts := h.fake.Posts("100"); len(posts) != 1 || posts[0].Content != "the answer to reset" {
			t.Errorf("others can see %+v", posts)
		}
	})
}

func TestCasesOfSlots(t *testing.T) {
	t.Parallel()
	t.Run("p055", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		working, done := make(chan core.Target), make(chan struct{})
		h.guests.command = func(i core.Invocation) (core.Reply, error) {
			working <- i.Target
			<-done
			return core.Reply{Text: strings.Repeat("the answer\n", 250)}, nil
		}
		h.fake.Interact(discordtest.Interaction{ID: "301", Channel: "100", User: "700", Command: "status"})
		target := <-working
		h.post(target, core.PostNotice, "another model steps in", "n1", false)
		close(done)
		a := h.answered("301")
		h.await("rest of the answer", func() bool { return len(h.fake.Answer("301").FollowUps) == 1 })
		if !strings.HasPrefix(a.Content, "the answer") || h.fake.Posts("100")[0].Content != "-# another model steps in" {
			t.Errorf("answer %+v, posts %+v", a, h.fake.Posts("100"))
		}
		var order []string
		for _, r := range h.fake.Requests("", "/webhooks/*/*/messages/*") {
			order = append(order, r.Method)
		}
		for _, r := range h.fake.Requests("", "/webhooks/*/*") {
			order = append(order, r.Method)
		}
		if !slices.Equal(order, []string{"PATCH", "POST"}) {
			t.Errorf("order %q", order)
		}
		first, then := h.fake.Requests("PATCH", "")[0], h.fake.Requests("POST", "/webhooks/*/*")[0]
		if first.At.After(then.At) {
			t.Error("a follow-up went before the answer")
		}
	})
	t.Run("p118", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		loaded := make(chan struct{})
		h.guests.press = func(p core.Press) (core.Reply, error) {
			if p.Token == "provider" {
				<-loaded
				return core.Reply{Text: "models of " + p.Value, Menus: []core.Menu{{Token: "model",
					Options: []core.Choice{{Label: "B/m2", Value: "i1"}}}}}, nil
			}
			return core.Reply{Text: "picked " + p.Value}, nil
		}
		h.guests.command = func(core.Invocation) (core.Reply, error) {
			return core.Reply{Text: "which provider?", Menus: []core.Menu{{Token: "provider",
				Options: []core.Choice{{Label: "A", Value: "A"}, {Label: "B", Value: "B"}}}}}, nil
		}
		menu := func(id string) discordtest.Component { return h.fake.Answer(id).Components[0].Components[0] }
		h.fake.Interact(discordtest.Interaction{ID: "301", Channel: "100", User: "700", Command: "models"})
		h.answered("301")
		h.fake.Interact(discordtest.Interaction{ID: "302", Type: discordtest.ComponentInteraction, Channel: "100", User: "700",
			CustomID: menu("301").CustomID, Values: []string{"B"}, Message: "510"})
		// It is acknowledged while the models are still being loaded.
		h.await("acknowledgement", func() bool { return h.fake.Answer("302").Callback == 6 })
		close(loaded)
		if a := h.answered("302"); a.Content != "models of B" || len(a.Components) != 1 {
			t.Errorf("answer %+v", a)
		}
		a := h.answered(h.fake.Interact(discordtest.Interaction{Type: discordtest.ComponentInteraction, Channel: "100", User: "700",
			CustomID: menu("302").CustomID, Values: []string{"i1"}, Message: "510"}))
		if a.Content != "picked i1" || len(a.Components) != 0 {
			t.Errorf("answer %+v", a)
		}
	})
	t.Run("p118 in time", func(t *testing.T) { t.Parallel(); inBubble(t, picksAreTakenInTime) })
	t.Run("p120", func(t *testing.T) {
		t.Parallel()
		for _, n := range []int{0, 1, 25, 26, 61, 100, 200} {
			h := open(t)
			h.guests.command = func(core.Invocation) (core.Reply, error) {
				m := core.Menu{Token: strings.Repeat("t", 60), Placeholder: "Choose a model"}
				for i := range n {
					m.Options = append(m.Options, core.Choice{Label: strings.Repeat("long ", 40), Note: strings.Repeat("note ", 40), Value: fmt.Sprint("value-of-20-bytes", i)})
				}
				return core.Reply{Text: fmt.Sprintf("%d models", n), Menus: []core.Menu{m},
					Buttons: []core.Button{{Label: "Back", Token: m.Token, Value: "back"}, {Label: "More", Token: m.Token, Value: "more"}}}, nil
			}
			a := h.answered(h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "model"}))
			var options, buttons int
			for _, row := range a.Components {
				for _, c := range row.Components {
					options += len(c.Options)
					if c.Type == 2 {
						buttons++
					}
				}
			}
			if a.Content != fmt.Sprintf("%d models", n) || options != min(n, 100) || buttons != 2 {
				t.Errorf("%d models: %d options, %d buttons, %q", n, options, buttons, a.Content)
			}
		}
	})
	t.Run("p122", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		for _, c := range []struct{ token, value string }{
			{"tok1", "i3"}, {strings.Repeat("t", 60), strings.Repeat("v", 20)}, {"router/vendorx:model-9", "a/b:c"}, {"/approve CODE", "yes"}, {"none", ""},
		} {
			h.guests.command = func(core.Invocation) (core.Reply, error) {
				return core.Reply{Text: "?", Buttons: []core.Button{{Label: "Pick", Token: c.token, Value: c.value}}}, nil
			}
			a := h.answered(h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "model"}))
			h.answered(h.fake.Interact(discordtest.Interaction{Type: discordtest.ComponentInteraction, Channel: "100", User: "700",
				CustomID: a.Components[0].Components[0].CustomID, Message: "510"}))
			got := h.pressed()
			if p := got[len(got)-1]; p.Token != c.token || p.Value != c.value {
				t.Errorf("%q of %q became %q of %q", c.value, c.token, p.Value, p.Token)
			}
		}
	})
}

func TestCasesOfAccess(t *testing.T) {
	t.Parallel()
	t.Run("p043", func(t *testing.T) {
		t.Parallel()
		h := open(t, allow("100"))
		h.fake.AddChannel(discordtest.Channel{ID: "90", Type: discordtest.Category})
		h.fake.Change("100", func(c *discordtest.Channel) { c.Parent = "90" })
		h.fake.AddQuietly(discordtest.Channel{ID: "500", Guild: "900", Parent: "100", Type: discordtest.PublicThread})
		h.answered(h.fake.Interact(discordtest.Interaction{ID: "301", Channel: "500", User: "700", Command: "status",
			Raw: map[string]any{"channel": nil}}))
		h.fake.Say("500", "700", "<@800> the same place")
		want := h.heard(1).Thread()
		if got := h.called()[0].Target.Thread; got != want || got.Parent != "100" || got.Category != "90" {
			t.Errorf("the command is for %+v, messages for %+v", got, want)
		}
	})
	t.Run("p060", func(t *testing.T) {
		t.Parallel()
		var told ears
		h := open(t, allow("100", "user:700"), told.settings)
		h.guests.complete = func(core.Invocation) ([]core.Choice, error) {
			return []core.Choice{{Label: "secret", Value: "secret"}}, nil
		}
		option := map[string]string{"name": "m2"}
		for _, i := range []discordtest.Interaction{
			{ID: "301", Channel: "100", User: "701", Command: "model", Options: option},
			{ID: "302", Type: discordtest.CompleteInteraction, Channel: "100", User: "701", Command: "model", Options: option},
			{ID: "303", Type: discordtest.ComponentInteraction, Channel: "100", User: "701", CustomID: "pick:tok1 x 00", Values: []string{"m2"}, Message: "1"},
			{ID: "304", Type: discordtest.ModalInteraction, Channel: "100", User: "701", CustomID: "pick:tok1 x 00"},
			{ID: "305", Channel: "110", User: "700", Command: "status"},
			{ID: "306", Channel: "100", User: "701", Command: "model"},
		} {
			a := h.answered(h.fake.Interact(i))
			want := 4
			if i.Type == discordtest.CompleteInteraction {
				want = 8
			}
			if a.Callback != want || a.Ephemeral != (want == 4) || len(a.Choices) != 0 || a.Edits != 0 || len(a.FollowUps) != 0 {
				t.Errorf("%s is answered with %+v", i.ID, a)
			}
			if want == 4 && a.Content != "You are not allowed to use this bot here." {
				t.Errorf("%s is told %q", i.ID, a.Content)
			}
			if n := len(h.fake.Requests("", "/interactions/"+i.ID+"/*/callback")); n != 1 {
				t.Errorf("%s has %d first responses", i.ID, n)
			}
		}
		if len(h.called()) != 0 || len(h.pressed()) != 0 {
			t.Errorf("something was done: %+v %+v", h.called(), h.pressed())
		}
		if got := told.of("refused"); len(got) != 3 || !strings.Contains(got[0], "discord:701") || !strings.Contains(got[0], "/model") {
			t.Errorf("alerts %q", got)
		}
		if h.lines("user=701") < 4 {
			t.Error("the log does not name the user")
		}
	})
	t.Run("p062", func(t *testing.T) { t.Parallel(); truthTable(t) })
	t.Run("p063", func(t *testing.T) { t.Parallel(); inBubble(t, responsesComeInTime) })
	t.Run("p066", func(t *testing.T) {
		t.Parallel()
		h := open(t, allow("*", "user:700", "user:801"))
		const shout = "@everyone hello <@&77> <@701>"
		h.guests.command = func(core.Invocation) (core.Reply, error) {
			return core.Reply{Text: strings.Repeat(shout+"\n", 100), Public: true}, nil
		}
		for i, kind := range []core.PostKind{core.PostAnswer, core.PostNotice, core.PostStatus, core.PostError, core.PostCommand, core.PostAdmin} {
			p := h.post(in("100"), kind, shout, fmt.Sprint("n", i), false)
			if err := h.Edit(t.Context(), p.ID, core.Post{Target: in("100"), Kind: kind, Text: shout + "!"}); err != nil {
				t.Error(err)
			}
		}
		if _, err := h.Post(t.Context(), core.Post{Target: in("100"), Kind: core.PostAnswer, Text: shout, Nonce: "f",
			Files: []core.File{{Name: "a.txt", Data: []byte("a")}}}); err != nil {
			t.Error(err)
		}
		id := h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "reset"})
		h.await("follow-ups", func() bool { return len(h.fake.Answer(id).FollowUps) > 1 })
		h.answered(h.fake.Interact(discordtest.Interaction{Channel: "100", User: "701", Command: "reset"}))
		bodies := 0
		for _, r := range h.fake.Requests("", "") {
			if r.Method != http.MethodGet && len(r.Body) > 0 && strings.Contains(string(r.Body), "content") {
				bodies++
				if r.Status >= 300 || !strings.Contains(string(r.Body), `"allowed_mentions":{"parse":[],"replied_user":false}`) {
					t.Errorf("%s %s is answered with %d", r.Method, r.Path, r.Status)
				}
			}
		}
		if bodies < 16 {
			t.Errorf("only %d texts were sent", bodies)
		}
	})
	t.Run("p100", func(t *testing.T) {
		t.Parallel()
		h := open(t, noThreads)
		h.fake.Say("100", "700", "<@800> remember 42")
		key := h.heard(1).Thread().Key()
		done := false
		h.guests.command = func(core.Invocation) (core.Reply, error) {
			if a := h.fake.Answer("301"); a.Content != "" {
				t.Errorf("before the command was carried out the answer was %+v", a)
			}
			done = true
			return core.Reply{Text: "a new conversation"}, nil
		}
		h.fake.Interact(discordtest.Interaction{ID: "301", Channel: "100", User: "700", Command: "new"})
		if a := h.answered("301"); !done || a.Content != "a new conversation" {
			t.Errorf("answer %+v", a)
		}
		if got := h.called()[0].Target.Thread.Key(); got != key || strings.Contains(got, "slash") {
			t.Errorf("the command has the key %s, messages %s", got, key)
		}
	})
}

// truthTable has one expected verdict for every combination of a rule for
// places, a rule for people, and who asks where; for messages and for commands.
func truthTable(t *testing.T) {
	for _, c := range []struct {
		place, people string // what is named in allow
		in, out       []string
	}{
		// Who is heard in the channel 100 and who in 110: ann (700), bob (701),
		// and eve (702), who has the role 77.
		{"", "", nil, nil},
		{"100", "", []string{"700", "701", "702"}, nil},
		{"", "user:700", []string{"700"}, []string{"700"}},
		{"", "role:77", []string{"702"}, []string{"702"}},
		{"100", "user:700", []string{"700"}, nil},
		{"100", "role:77", []string{"702"}, nil},
		{"*", "user:700", []string{"700"}, []string{"700"}},
		{"*", "", []string{"700", "701", "702"}, []string{"700", "701", "702"}},
		{"100", "701", []string{"700", "701", "702"}, []string{"701"}}, // named alone: everywhere
		{"900", "role:77", []string{"702"}, []string{"702"}},
	} {
		t.Run(c.place+"+"+c.people, func(t *testing.T) {
			t.Parallel()
			var names []string
			for _, n := range []string{c.place, c.people} {
				if n != "" {
					names = append(names, n)
				}
			}
			h := open(t, allow(names...), noThreads)
			h.fake.AddUser(discordtest.User{ID: "702", Name: "eve", Roles: []string{"77"}})
			for channel, want := range map[string][]string{"100": c.in, "110": c.out} {
				for _, user := range []string{"700", "701", "702"} {
					h.fake.Say(channel, user, "<@800> "+channel+user)
					a := h.answered(h.fake.Interact(discordtest.Interaction{Channel: channel, User: user, Command: "new"}))
					if ok := a.Callback == 5; ok != slices.Contains(want, user) {
						t.Errorf("the command of %s in %s is answered with %+v", user, channel, a)
					}
				}
			}
			heard := h.texts()
			for channel, want := range map[string][]string{"100": c.in, "110": c.out} {
				for _, user := range []string{"700", "701", "702"} {
					if slices.Contains(heard, channel+user) != slices.Contains(want, user) {
						t.Errorf("heard %q, want %q in %s", heard, want, channel)
					}
				}
			}
		})
	}
}

func responsesComeInTime(t *testing.T) {
	h := bubbleOpen(t, allow("user:700"))
	began := time.Now()
	a := h.answered(h.fake.Interact(discordtest.Interaction{ID: "301", Channel: "100", User: "701", Command: "status"}))
	if a.Callback != 4 || !a.Ephemeral || !strings.Contains(a.Content, "not allowed") || time.Since(began) > 3*time.Second {
		t.Errorf("answer %+v", a)
	}
	if n := len(h.fake.Requests("", "/interactions/301/*/callback")); n != 1 {
		t.Errorf("%d first responses", n)
	}
	// A place that cannot be looked up is no reason for silence.
	h.fake.AddQuietly(discordtest.Channel{ID: "130", Guild: "900"})
	held := h.fake.Hold("GET", "/channels/130")
	began = time.Now()
	h.fake.Interact(discordtest.Interaction{ID: "302", Channel: "130", User: "700", Command: "status"})
	<-held.Reached
	if a := h.answered("302"); a.Callback != 4 || time.Since(began) > 3*time.Second {
		t.Errorf("answer %+v after %v", a, time.Since(began))
	}
	held.Release()
	h.fake.Interact(discordtest.Interaction{ID: "303", Channel: "100", Raw: map[string]any{"member": nil, "user": nil}})
	h.answered("303")
	if left := h.fake.Unanswered(); len(left) != 0 {
		t.Errorf("without a response: %+v", left)
	}
}

// picksAreTakenInTime: however long it takes to find out what a pick leads to,
// Discord hears of it at once.
func picksAreTakenInTime(t *testing.T) {
	h := bubbleOpen(t)
	h.guests.press = func(core.Press) (core.Reply, error) {
		time.Sleep(8 * time.Second)
		return core.Reply{Text: "models of B"}, nil
	}
	began := time.Now()
	h.fake.Interact(discordtest.Interaction{ID: "302", Type: discordtest.ComponentInteraction, Channel: "100", User: "700",
		CustomID: "pick:provider  00", Values: []string{"B"}, Message: "510"})
	h.await("acknowledgement", func() bool { return h.fake.Answer("302").Callback == 6 })
	if took := time.Since(began); took > 500*time.Millisecond {
		t.Errorf("it was acknowledged after %v", took)
	}
	if a := h.answered("302"); a.Content != "models of B" || time.Since(began) < 8*time.Second {
		t.Errorf("after %v the answer is %+v", time.Since(began), a)
	}
}
