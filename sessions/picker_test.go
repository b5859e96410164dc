package sessions_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/sessions"
)

// From /model through provider, model and profile to a choice, and back.
func TestPicker(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.Offered = []llm.Ref{ref("a/m1"), ref("b/m2"), ref("a/m9"), ref("b/m3")}
		h.open()
		h.model("b/m2", `429 {"error":{"type":"rate_limit_error"}}`)
		r := h.command("t1", "model", "ann")
		expect(t, "providers", shows(r), []string{"a (2 models)*", "b (2 models)"})
		if !strings.HasPrefix(r.Text, "Selected: a/m1 (the default)\n") {
			t.Fatalf("the text is %q", r.Text)
		}
		r = h.pick(r, "b", "ann")
		expect(t, "models", append([]string{r.Text}, shows(r)...), []string{"b has 2 models to choose from:", "m2", "m3", "[Back]"})
		expect(t, "back", shows(h.click(r, "Back", "ann")), []string{"a (2 models)*", "b (2 models)"})
		r = h.pick(r, "m2", "ann")
		expect(t, "profiles", shows(r), []string{"any", "b:one", "b:two", "[Back]"})
		expect(t, "back", shows(h.click(r, "Back", "ann")), []string{"m2", "m3", "[Back]"})
		if s := h.session("t1"); s.Choice != (sessions.Choice{}) {
			t.Fatalf("nothing was chosen yet, but the choice is %+v", s.Choice)
		}
		r = h.pick(r, "b:two", "ann")
		if len(r.Menus)+len(r.Buttons) != 0 || r.Text != "This thread now uses b/m2 with the profile b:two only. This is strict: no other model steps in if it fails. /model default undoes it." {
			t.Fatalf("the reply is %+v", r)
		}
		if c := h.session("t1").Choice; c.Model != ref("b/m2") || c.Lock != "b:two" || c.Source != failover.FromUser {
			t.Fatalf("the choice is %+v", c)
		}
		r = h.command("t1", "models", "ann")
		expect(t, "providers", shows(r), []string{"a (2 models)", "b (2 models)*", "[Use the default]"})
		expect(t, "profiles", shows(h.pick(h.pick(r, "b", "ann"), "m2", "ann")), []string{"any", "b:one", "b:two*", "[Back]", "[Use the default]"})
		if r := h.click(r, "Use the default", "ann"); r.Text != "This thread uses the default model again: a/m1." || h.session("t1").Choice != (sessions.Choice{}) {
			t.Fatalf("the reply is %q", r.Text)
		}
	})
}

// What is blocked is greyed, with the time that is left.
func TestPickerShowsBlocks(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.Offered = []llm.Ref{ref("a/m1"), ref("b/m2")}
		h.open()
		h.model("a/m1", broke)
		h.say("t1", "hi")
		r := h.command("t1", "model", "ann")
		got := shows(r)
		if len(got) != 2 || !strings.HasPrefix(got[0], "a (1 model; billing, for about 5 hours)*") {
			t.Fatalf("providers: %q", got)
		}
		r = h.pick(r, "a", "ann")
		if o := r.Menus[0].Options[0]; !o.Disabled || o.Note != "billing, for about 5 hours" {
			t.Fatalf("the option is %+v", o)
		}
	})
}

// A list belongs to whoever asked for it, for half an hour, in its channel. A
// restart ends it.
func TestListsOfOthersAndOldLists(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		r := h.command("t1", "model", "ann")
		if other := h.pick(r, "b", "bob"); !other.Aside || other.Text != "This menu belongs to somebody else. Give the command yourself." {
			t.Fatalf("bob saw %+v", other)
		}
		if admin := h.pick(r, "b", "root"); admin.Aside || len(admin.Menus) != 1 {
			t.Fatalf("an admin saw %+v", admin)
		}
		h.pressed.Thread.Channel = "t2"
		if moved := h.pick(r, "b", "ann"); moved.Text != "This menu is out of date. Give the command again." {
			t.Fatalf("from another channel: %+v", moved)
		}
		h.pressed.Thread.Channel = "t1"
		time.Sleep(30*time.Minute - time.Nanosecond)
		if r := h.pick(r, "b", "ann"); len(r.Menus) != 1 {
			t.Fatalf("just in time: %+v", r)
		}
		time.Sleep(time.Nanosecond)
		if r := h.pick(r, "b", "ann"); len(r.Menus) != 0 || r.Text != "This menu is out of date. Give the command again." {
			t.Fatalf("too late: %+v", r)
		}
		r = h.command("t1", "model", "ann")
		h.stop(0)
		h.open()
		if r := h.pick(r, "b", "ann"); r.Text != "This menu is out of date. Give the command again." {
			t.Fatalf("after a restart: %+v", r)
		}
		if s := h.session("t1"); s.Choice != (sessions.Choice{}) {
			t.Fatalf("the choice is %+v", s.Choice)
		}
	})
}

// A list that everybody may look at is picked from by those who may choose.
func TestPickersOfAdmins(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.ModelAdmins = true
		h.open()
		r := h.pick(h.pick(h.command("t1", "model", "ann"), "b", "ann"), "m2", "ann")
		if r := h.pick(r, "any", "ann"); !r.Aside || r.Text != "Only admins of this bot can use /model here." {
			t.Fatalf("ann heard %+v", r)
		}
		if r := h.pick(r, "any", "root"); r.Aside || h.session("t1").Choice.Model != ref("b/m2") {
			t.Fatalf("root heard %+v", r)
		}
	})
}

// manyModels offers n models of a provider, numbered from 1.
func (h *house) manyModels(provider string, n int) {
	for i := range n {
		h.set.Offered = append(h.set.Offered, llm.Ref{Provider: provider, Model: fmt.Sprintf("model-%02d", i+1)})
	}
}

// Every model can be reached, however many there are.
func TestLongLists(t *testing.T) {
	inHouse(t, func(h *house) {
		h.manyModels("z", 160)
		h.open()
		r := h.pick(h.command("t1", "model", "ann"), "z", "ann")
		seen := map[string]bool{}
		var texts []string
		for {
			texts = append(texts, r.Text)
			for _, m := range r.Menus {
				if len(m.Options) > 75 || len(m.Token) > 60 {
					t.Fatalf("a menu of %d options, with a token of %d bytes", len(m.Options), len(m.Token))
				}
				for _, o := range m.Options {
					seen[o.Label] = true
					if len(o.Value) > 20 {
						t.Fatalf("the value %q", o.Value)
					}
				}
			}
			if !slices.ContainsFunc(r.Buttons, func(b core.Button) bool { return b.Label == "More" }) {
				break
			}
			r = h.click(r, "More", "ann")
		}
		if len(seen) != 160 {
			t.Fatalf("%d models of 160 can be reached", len(seen))
		}
		expect(t, "pages", texts, []string{
			"z has 160 models to choose from:\n1 to 75 of 160.", "z has 160 models to choose from:\n76 to 150 of 160.", "z has 160 models to choose from:\n151 to 160 of 160.",
		})
		r = h.click(r, "Back", "ann")
		if r.Text != texts[1] {
			t.Fatalf("back from the last page is %q", r.Text)
		}
		h.pick(h.pick(r, "model-80", "ann"), "any", "ann")
		if c := h.session("t1").Choice; c.Model != ref("z/model-80") {
			t.Fatalf("the choice is %+v", c)
		}
	})
}

// A button that stands under a post runs its command with the rights of whoever
// presses it, and stays until that has worked.
func TestButtonsOfPosts(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		if r := h.press("/approve", "ABCDEFGH", "ann"); !r.Aside || r.Text != "Only admins of this bot can use /approve here." {
			t.Fatalf("ann: %+v", r)
		}
		if r := h.press("/approve ABCDEFGH", "", "root"); !r.Aside || r.Text != "Nobody asks with this code. Codes hold for an hour." {
			t.Fatalf("root: %+v", r)
		}
		if _, err := h.bot.Knock(context.Background(), h.direct("zoe", "hello")); err != nil {
			t.Fatal(err)
		}
		h.heard.Lock()
		button := h.alert[len(h.alert)-1].Buttons[0]
		h.heard.Unlock()
		if strings.Contains(fmt.Sprint(button), h.guest("zoe").Code) {
			t.Fatalf("the button shows the code: %+v", button)
		}
		if r := h.press(button.Token, button.Value, "root"); r.Aside || !strings.HasPrefix(r.Text, "zoe (fake:zoe) may write to me directly") {
			t.Fatalf("root: %+v", r)
		}
		if r := h.press("/nonsense", "", "root"); !r.Aside {
			t.Fatalf("an unknown command: %+v", r)
		}
	})
}
