package slack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// picker is a reply to choose from.
func picker(text string) core.Reply {
	return core.Reply{
		Text:    text,
		Menus:   []core.Menu{{Token: "t0k", Options: []core.Choice{{Label: "a/m1", Value: "i0", Selected: true}, {Label: "b/m2", Value: "i1"}}}},
		Buttons: []core.Button{{Label: "Default", Token: "t1k", Value: "clear"}},
	}
}

// modal opens the picker in a modal, from the menu of a message in a thread,
// and returns it once it shows the text.
func (r *rig) modal(root, text string) slacktest.View {
	r.Helper()
	r.replies(picker(text))
	ts := r.slack.Say(slacktest.Channel, slacktest.User, "in the thread", slacktest.In(root), slacktest.Only("none"))
	r.slack.Shortcut(slacktest.Channel, slacktest.User, "model", ts)
	return r.view(text)
}

// view is the only modal, once it shows a text.
func (r *rig) view(text string) slacktest.View {
	r.Helper()
	r.wait("a modal with "+text, func() bool {
		v := r.slack.Views()
		return len(v) == 1 && strings.Contains(string(v[0].Blocks), text)
	})
	return r.slack.Views()[0]
}

func TestModal(t *testing.T) {
	r := plainly(t)
	root := r.slack.Say(slacktest.Channel, slacktest.User, "a root", slacktest.Only("none"))
	v := r.modal(root, "Selected: a/m1")
	for _, want := range []string{"static_select", "press:t0k 0", "initial_option", "press:t1k b0"} {
		if !strings.Contains(string(v.Blocks), want) {
			t.Errorf("%s lacks %s", v.Blocks, want)
		}
	}
	key := "slack:main:T0TEAM:C0CHAN:t:" + root
	if inv := r.bot.called()[0]; inv.Name != "model" || inv.Target.Thread.Key() != key {
		t.Errorf("invocation is %+v", inv)
	}
	// A pick changes the modal, and is about the thread that it came from.
	r.replies(picker("Selected: b/m2"))
	r.slack.PickInView(v.ID, "press:t0k 0", "i1")
	r.view("Selected: b/m2")
	if p := r.bot.pressed()[0]; p.Token != "t0k" || p.Value != "i1" || p.Target.Thread.Key() != key || p.Author.ID != slacktest.User {
		t.Errorf("press is %+v", p)
	}
	// So is what leaves it as it is.
	r.replies(core.Reply{Text: "not now", Aside: true})
	r.slack.PickInView(v.ID, "press:t1k b0", "clear")
	r.wait("a word aside", func() bool { return slices.ContainsFunc(r.slack.Responses(), says("not now")) })
	if got := r.slack.Responses()[0]; !got.Ephemeral || got.Root != root || got.Channel != slacktest.Channel || got.User != slacktest.User {
		t.Errorf("response is %+v", got)
	}
	r.slack.Submit(v.ID, "press:t0k 0", "i0")
	r.bot.await(t, "what was sent", func() bool { return len(r.bot.presses) == 3 })
	if p := r.bot.pressed()[2]; p.Value != "i0" || p.Target.Thread.Key() != key {
		t.Errorf("press is %+v", p)
	}
}

func TestModalOfSomebodyWhoMayNot(t *testing.T) {
	r := start(t, slacktest.Config{}, set(func(c *Config) { c.Allow = []string{slacktest.OtherUser} }))
	ts := r.slack.Say(slacktest.Channel, slacktest.User, "x", slacktest.Only("none"))
	r.slack.Shortcut(slacktest.Channel, slacktest.User, "model", ts)
	r.settled()
	if len(r.slack.Views())+len(r.bot.called()) > 0 {
		t.Errorf("it was carried out: %+v", r.bot.called())
	}
}

// TestModalThatIsNotOurs: modals of another callback, or about another account,
// are nobody's.
func TestModalThatIsNotOurs(t *testing.T) {
	for _, v := range []view{{ID: "V1", Callback: "else", Private: `{"account":"main","channel":"C1"}`}, {ID: "V1", Callback: viewCallback, Private: `{"account":"other","channel":"C1"}`}, {ID: "V1", Callback: viewCallback, Private: "x"}} {
		c := call{Type: "block_actions", View: v, Actions: []act{{ID: "press:t0k 0", Value: "i0"}}}
		c.User.ID = slacktest.User
		a := fuzzed(t, quiet{})
		if inv, _, ok := a.invocation("interactive", c); ok {
			t.Errorf("%+v was taken for %+v", v, inv)
		}
		a.names.stop()
	}
}

// TestModalThatFails: the reply comes in the thread, to the caller alone.
func TestModalThatFails(t *testing.T) {
	for method, fault := range map[string]slacktest.Fault{
		"views.open":   {Error: "expired_trigger_id"},
		"views.update": {Error: "not_found"}, // it was closed
	} {
		for _, late := range []bool{false, true} { // the response URL is of no use either
			r := plainly(t)
			root := r.slack.Say(slacktest.Channel, slacktest.User, "a root", slacktest.Only("none"))
			ts := r.slack.Say(slacktest.Channel, slacktest.User, "in the thread", slacktest.In(root), slacktest.Only("none"))
			r.replies(picker("Selected: **a/m1**"))
			r.slack.Fail(method, fault)
			if late {
				r.slack.Fail("response", slacktest.Fault{Status: 503})
			}
			r.slack.Shortcut(slacktest.Channel, slacktest.User, "model", ts)
			if got := r.response(0); !got.Ephemeral || got.Root != root || got.Text != "Selected: *a/m1*" || !strings.Contains(string(got.Blocks), "press:t0k 0") {
				t.Errorf("%s: response is %+v", method, got)
			}
		}
	}
}

// TestModalHoldsItsReply: however long a reply is, Slack takes the modal.
func TestModalHoldsItsReply(t *testing.T) {
	r := plainly(t)
	long := core.Reply{Text: strings.Repeat("**word** & ", 60000)}
	for i := range 1000 {
		long.Menus = append(long.Menus, core.Menu{Token: fmt.Sprint("t", i), Placeholder: strings.Repeat("long ", 100), Options: []core.Choice{{Label: "a", Value: "i0"}}})
	}
	ts := r.slack.Say(slacktest.Channel, slacktest.User, "x", slacktest.Only("none"))
	r.replies(long)
	r.slack.Shortcut(slacktest.Channel, slacktest.User, "model", ts)
	v := r.view("word")
	var blocks []json.RawMessage
	if err := json.Unmarshal(v.Blocks, &blocks); err != nil || len(blocks) < maxMenus || len(blocks) > maxViewBlocks {
		t.Errorf("%d blocks, %v", len(blocks), err)
	}
	if !strings.Contains(string(v.Blocks), tooManyParts) {
		t.Error("no mark of the cut")
	}
	for _, c := range r.slack.Calls("views.update") {
		if c.Error != "" {
			t.Error(c.Error)
		}
	}
}

// TestResponseURLThatFails: the Web API brings what it would not take.
func TestResponseURLThatFails(t *testing.T) {
	for _, fault := range []slacktest.Fault{{Status: 404}, {Status: 410}, {Status: 503}, {RetryAfter: 60}, {Drop: true}, {Error: "expired_url"}} {
		r := answering(t, core.Reply{Text: "ok"}, nil)
		r.slack.Fail("response", fault, fault) // what is refused is tried without blocks
		r.slack.Slash(slacktest.Channel, slacktest.User, "/model", "")
		if got := r.response(0); !got.Ephemeral || got.Text != "ok" || got.User != slacktest.User || got.Channel != slacktest.Channel || got.Trigger != "" {
			t.Errorf("%+v: response is %+v", fault, got)
		}
	}
}

// TestResponseURLRunsOut: it is good for half an hour, and five times.
func TestResponseURLRunsOut(t *testing.T) {
	r := answering(t, picker("one"), nil)
	target := inThread(slacktest.Channel, r.slack.Say(slacktest.Channel, slacktest.User, "root", slacktest.Only("none")))
	c := call{ResponseURL: r.slack.Hook(slacktest.Channel, slacktest.User)}
	target.Recipient = slacktest.User
	for range 6 {
		if err := r.a.answer(t.Context(), c, target, core.Reply{Text: "again"}); err != nil {
			t.Fatal(err)
		}
	}
	c.ResponseURL = r.slack.Hook(slacktest.Channel, slacktest.User)
	r.slack.Advance(31 * time.Minute)
	if err := r.a.answer(t.Context(), c, target, core.Reply{Text: "again"}); err != nil {
		t.Fatal(err)
	}
	if got := r.slack.Responses(); len(got) != 7 || got[5].Trigger != "" || got[6].Trigger != "" || got[4].Trigger == "" || got[5].Root != target.Thread.Root {
		t.Errorf("responses: %+v", got)
	}
}
