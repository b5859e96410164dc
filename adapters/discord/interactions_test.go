package discord_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

const ephemeral = true

// answered waits for the final answer to an interaction: its first response,
// and an edit if that said "later".
func (h *house) answered(id string) discordtest.Answer {
	h.t.Helper()
	var a discordtest.Answer
	h.await("answer to the interaction", func() bool {
		a = h.fake.Answer(id)
		return a.Callback != 0 && (a.Edits > 0 || a.Deleted || a.Callback != 5 && a.Callback != 6)
	})
	return a
}

func (h *house) called() []core.Invocation {
	h.guests.mu.Lock()
	defer h.guests.mu.Unlock()
	return append([]core.Invocation(nil), h.guests.calls...)
}

func TestSlashCommand(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.AddChannel(discordtest.Channel{ID: "500", Parent: "100", Type: discordtest.PublicThread})
	h.fake.Say("500", "700", "in the thread")
	key := h.heard(1).Thread().Key()
	id := h.fake.Interact(discordtest.Interaction{Channel: "500", User: "700", Command: "model", Options: map[string]string{"model": " a/m2 "}})
	a := h.answered(id)
	if a.Callback != 5 || !a.Ephemeral || a.Content != "did model" || len(a.FollowUps) != 0 {
		t.Errorf("answer %+v", a)
	}
	call := h.called()[0]
	if call.ID != id || call.Name != "model" || call.Args != "a/m2" || !call.Native || call.Author.Name != "ann" {
		t.Errorf("invocation %+v", call)
	}
	if got := call.Target.Thread.Key(); got != key {
		t.Errorf("the command has the key %s, messages %s", got, key)
	}
	if len(h.fake.Posts("500")) != 0 {
		t.Error("others can see the answer")
	}
	in := h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "status"})
	h.answered(in)
	if th := h.called()[1].Target.Thread; th.Channel != "100" || th.Kind != core.KindChannel {
		t.Errorf("in a channel the command is for %+v", th)
	}
	dm := h.fake.Interact(discordtest.Interaction{Channel: h.fake.Direct("700"), User: "700", Command: "status"})
	h.answered(dm)
	if th := h.called()[2].Target.Thread; th.Kind != core.KindDirect {
		t.Errorf("in direct messages the command is for %+v", th)
	}
}

func TestEveryEntranceIsGuarded(t *testing.T) {
	t.Parallel()
	h := open(t, allow("100", "user:700"))
	refused := []discordtest.Interaction{
		{Channel: "100", User: "701", Command: "model"},
		{Channel: "110", User: "700", Command: "status"},
		{Channel: "100", User: "701", Type: discordtest.ComponentInteraction, CustomID: "pick:model:0", Values: []string{"a/m2"}, Message: "1"},
		{Channel: "100", User: "701", Type: discordtest.ModalInteraction, CustomID: "pick:model:0"},
		{Channel: "999", User: "700", Command: "status"},
	}
	h.fake.AddQuietly(discordtest.Channel{ID: "999", Guild: "901", NoAccess: true})
	for _, i := range refused {
		a := h.answered(h.fake.Interact(i))
		if a.Callback != 4 || !a.Ephemeral || !strings.Contains(a.Content, "not allowed") {
			t.Errorf("%+v is answered with %+v", i, a)
		}
	}
	h.guests.complete = func(core.Invocation) ([]core.Choice, error) {
		return []core.Choice{{Label: "secret", Value: "secret"}}, nil
	}
	a := h.answered(h.fake.Interact(discordtest.Interaction{Type: discordtest.CompleteInteraction, Channel: "100", User: "701",
		Command: "model", Options: map[string]string{"model": "s"}}))
	if a.Callback != 8 || len(a.Choices) != 0 {
		t.Errorf("completions %+v", a)
	}
	if calls := h.called(); len(calls) != 0 {
		t.Errorf("commands were run: %+v", calls)
	}
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.guests.complete = func(i core.Invocation) ([]core.Choice, error) {
		all := []core.Choice{{Label: "the " + i.Args, Value: i.Args, Note: "rate limited for 3 minutes"}, {Value: ""}, {Value: strings.Repeat("x", 101)}}
		for n := range 40 {
			all = append(all, core.Choice{Label: strings.Repeat("long ", 30), Value: fmt.Sprint(n)})
		}
		return all, nil
	}
	a := h.answered(h.fake.Interact(discordtest.Interaction{Type: discordtest.CompleteInteraction, Channel: "100", User: "700",
		Command: "model", Options: map[string]string{"model": "fast"}}))
	if len(a.Choices) != 25 || a.Choices[0] != (discordtest.Choice{Name: "the fast (rate limited for 3 minutes)", Value: "fast"}) {
		t.Errorf("choices %+v", a.Choices)
	}
}

func TestMenu(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.guests.command = func(i core.Invocation) (core.Reply, error) {
		m := core.Menu{Token: "t0k", Placeholder: "Choose"}
		for n := range 61 {
			m.Options = append(m.Options, core.Choice{Label: fmt.Sprint("model ", n), Value: fmt.Sprint("i", n), Note: "note", Selected: n == 3})
		}
		return core.Reply{Text: "which one?", Menus: []core.Menu{m}}, nil
	}
	id := h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "model"})
	a := h.answered(id)
	if len(a.Components) != 3 || a.Content != "which one?" {
		t.Fatalf("answer %+v", a)
	}
	third := a.Components[2].Components[0]
	picked := third.Options[len(third.Options)-1]
	if third.Placeholder != "Choose (51–61 of 61)" || picked.Label != "model 60" || picked.Description != "note" {
		t.Errorf("last option %+v", picked)
	}
	a = h.answered(h.fake.Interact(discordtest.Interaction{Type: discordtest.ComponentInteraction, Channel: "100", User: "700",
		CustomID: third.CustomID, Values: []string{picked.Value}, Message: "510"}))
	if a.Callback != 6 || a.Content != "pressed i60" || h.guests.presses[0].Token != "t0k" || len(a.Components) != 0 {
		t.Errorf("answer to the pick %+v", a)
	}
	a = h.answered(h.fake.Interact(discordtest.Interaction{Type: discordtest.ComponentInteraction, Channel: "100", User: "700",
		CustomID: "of an older version", Values: []string{"x"}, Message: "510"}))
	if a.Callback != 4 || !a.Ephemeral || !strings.Contains(a.Content, "out of date") {
		t.Errorf("answer to an old menu %+v", a)
	}
}

func TestRepliesToCommands(t *testing.T) {
	t.Parallel()
	h := open(t)
	long := strings.Repeat("a line of the long answer\n", 200)
	h.guests.command = func(i core.Invocation) (core.Reply, error) {
		switch i.Args {
		case "long":
			return core.Reply{Text: long}, nil
		case "public":
			return core.Reply{Text: "for all", Public: true}, nil
		case "error":
			return core.Reply{}, errors.New("secret detail")
		}
		return core.Reply{}, nil
	}
	ask := func(args string) discordtest.Answer {
		id := h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "status", Options: map[string]string{"detail": args}})
		return h.answered(id)
	}
	if a := ask("error"); strings.Contains(a.Content, "secret") || !strings.Contains(a.Content, "did not work") {
		t.Errorf("after an error %+v", a)
	}
	if a := ask("nothing"); !a.Deleted {
		t.Errorf("without an answer %+v", a)
	}
	if a := ask("public"); !a.Ephemeral {
		t.Errorf("the first response is %+v", a)
	}
	h.await("public answer", func() bool { return len(h.fake.Posts("100")) == 1 })
	if m := h.fake.Posts("100")[0]; m.Content != "for all" {
		t.Errorf("everybody sees %q", m.Content)
	}
	id := h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "status", Options: map[string]string{"detail": "long"}})
	whole := func() string {
		a := h.fake.Answer(id)
		parts := []string{a.Content}
		for _, f := range a.FollowUps {
			if f.Ephemeral != ephemeral {
				t.Error("others can see a part of the answer")
			}
			parts = append(parts, f.Content)
		}
		return strings.Join(strings.Fields(strings.Join(parts, "\n")), " ")
	}
	want := strings.Join(strings.Fields(long), " ")
	h.await("whole answer", func() bool { return whole() == want })
}

func TestInteractionsThatCannotBeAnswered(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.AddChannel(discordtest.Channel{ID: "500", Parent: "100", Type: discordtest.PublicThread, Locked: true})
	refused := func() (n int) {
		for _, r := range h.fake.Requests("POST", "/interactions/*/*/callback") {
			if r.Status >= 400 {
				n++
			}
		}
		return n
	}
	locked := h.fake.Interact(discordtest.Interaction{Channel: "500", User: "700", Command: "status"})
	h.await("refused response", func() bool { return refused() == 1 })
	h.fake.Inject(discordtest.Fault{Path: "/interactions/*/*/callback", Status: 404, Code: 10062, Message: "Unknown interaction"})
	late := h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "status"})
	h.await("second refused response", func() bool { return refused() == 2 })
	h.answered(h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "help"}))
	if calls := h.called(); len(calls) != 1 || calls[0].Name != "help" {
		t.Errorf("commands that were run: %+v", calls)
	}
	for _, id := range []string{locked, late} {
		if strings.Contains(h.log.String(), "itok-"+id) {
			t.Error("the token of an interaction is in the log")
		}
	}
}

// A resumed connection may tell of the same interaction again.
func TestInteractionsAreCarriedOutOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "new"})
	h.answered(id)
	h.fake.Dispatch("INTERACTION_CREATE", map[string]any{"id": id, "type": 2, "token": "itok-" + id, "application_id": discordtest.ApplicationID,
		"channel_id": "100", "guild_id": "900", "member": map[string]any{"user": map[string]any{"id": "700"}},
		"data": map[string]any{"name": "new"}})
	h.await("second response", func() bool { return len(h.fake.Requests("POST", "/interactions/*/*/callback")) == 2 })
	h.answered(h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "help"}))
	if calls := h.called(); len(calls) != 2 || calls[1].Name != "help" {
		t.Errorf("commands %+v", calls)
	}
}

func TestLostAnswersAreLoggedWithoutTokens(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.Inject(discordtest.Fault{Method: "PATCH", Path: "/webhooks/*/*/messages/*", Status: 429, Body: "<html>", Times: 1})
	h.answered(h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "help"}))
	held := h.fake.Hold("PATCH", "/webhooks/*/*/messages/*")
	id := h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "help"})
	<-held.Reached
	held.Drop()
	h.await("log line", func() bool { return strings.Contains(h.log.String(), "interaction could not be answered") })
	if strings.Contains(h.log.String(), "itok-"+id) {
		t.Error("the token of an interaction is in the log")
	}
}

func TestCommandsAreRegisteredOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.await("registration", func() bool { return len(h.fake.Commands()) == len(core.Commands) })
	var model struct {
		Name, Description string
		Options           []struct {
			Name         string
			Type         int
			Autocomplete bool
		}
	}
	if err := json.Unmarshal(h.fake.Commands()[0], &model); err != nil {
		t.Fatal(err)
	}
	if model.Name != "model" || len(model.Options) != 1 || !model.Options[0].Autocomplete || model.Options[0].Type != 3 {
		t.Errorf("command %+v", model)
	}
	h.stop()
	if err := <-h.ended; err != nil {
		t.Fatal(err)
	}
	h.start()
	h.await("second look", func() bool { return len(h.fake.Requests("GET", "/applications/*/commands")) == 2 })
	h.answered(h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "help"}))
	if n := len(h.fake.Requests("PUT", "/applications/*/commands")); n != 1 {
		t.Errorf("the commands were registered %d times", n)
	}
}

func TestRegistrationThatIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.fake.Inject(discordtest.Fault{Method: "PUT", Status: 400, Code: 30034, Message: "Max number of daily application command creates"})
	h.start()
	h.await("warning", func() bool { return strings.Contains(h.log.String(), "did not take the commands") })
	h.answered(h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "help"}))
}

// Whoever waits for a command gets its answer, also when the account ends
// meanwhile.
func TestAnswerToACommandAmidTheEnd(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.guests.command = func(core.Invocation) (core.Reply, error) {
		h.stop()
		h.await("end of the connection", func() bool { return h.fake.Connected() == 0 })
		return core.Reply{Text: "This thread now uses **a/m1**."}, nil
	}
	id := h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "model"})
	if err := <-h.ended; err != nil {
		t.Fatal(err)
	}
	h.ended <- nil // for the end of the test
	if a := h.fake.Answer(id); a.Content != "This thread now uses **a/m1**." {
		t.Errorf("answered with %+v", a)
	}
}
