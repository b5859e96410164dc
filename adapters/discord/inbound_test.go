package discord_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"understudy/adapters/discord"
	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

func allow(ids ...string) func(*discord.Config) {
	return func(c *discord.Config) { c.Allow = append([]string{}, ids...) }
}

func TestWhoIsHeard(t *testing.T) {
	t.Parallel()
	everything := func(h *house) {
		h.fake.AddUser(discordtest.User{ID: "702", Name: "eve", Roles: []string{"77"}})
		h.fake.AddChannel(discordtest.Channel{ID: "90", Type: discordtest.Category})
		h.fake.AddChannel(discordtest.Channel{ID: "120", Parent: "90"})
		h.fake.AddChannel(discordtest.Channel{ID: "500", Parent: "100", Type: discordtest.PublicThread})
		h.fake.AddChannel(discordtest.Channel{ID: "510", Parent: "110", Type: discordtest.PublicThread})
		h.fake.AddChannel(discordtest.Channel{ID: "520", Parent: "120", Type: discordtest.PrivateThread})
		for _, channel := range []string{"100", "110", "500", "510", "520"} {
			for _, user := range []string{"700", "701", "702"} {
				h.fake.Say(channel, user, "<@800> "+channel+" "+user)
			}
		}
		h.fake.Say("100", "805", "<@800> 100 805")
		h.fake.Say("100", "60", "<@800> 100 60", discordtest.FromWebhook("60"))
	}
	of := func(channels []string, users ...string) (all []string) {
		for _, c := range channels {
			for _, u := range users {
				all = append(all, c+" "+u)
			}
		}
		return all
	}
	shared := []string{"100", "110", "500", "510", "520"}
	for name, c := range map[string]struct {
		allow []string
		want  []string
	}{
		"nobody":                  {nil, nil},
		"everybody but bots":      {[]string{"*"}, of(shared, "700", "701", "702")},
		"a guild":                 {[]string{"900"}, of(shared, "700", "701", "702")},
		"a channel and threads":   {[]string{"100"}, of([]string{"100", "500"}, "700", "701", "702")},
		"a thread alone":          {[]string{"500"}, of([]string{"500"}, "700", "701", "702")},
		"a category":              {[]string{"90"}, of([]string{"520"}, "700", "701", "702")},
		"a person anywhere":       {[]string{"701"}, of(shared, "701")},
		"a role anywhere":         {[]string{"77"}, of(shared, "702")},
		"a person in a channel":   {[]string{"100", "user:700"}, of([]string{"100", "500"}, "700")},
		"a role in a channel":     {[]string{"110", "role:77"}, of([]string{"110", "510"}, "702")},
		"only certain people":     {[]string{"user:700", "role:77"}, of(shared, "700", "702")},
		"a bot that is named":     {[]string{"805"}, []string{"100 805"}},
		"a webhook that is named": {[]string{"100", "user:700", "user:60"}, append(of([]string{"100"}, "700"), "100 60", "500 700")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, allow(c.allow...))
			everything(h)
			got := h.texts()
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("heard %q, want %q", got, c.want)
			}
		})
	}
}

func TestDirectMessagePolicy(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string][]string{
		discord.DMOpen: {"700", "701"}, discord.DMAllowlist: {"701"}, discord.DMOff: nil,
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			h := open(t, allow("*", "701"), func(c *discord.Config) { c.DM = policy })
			for _, user := range []string{"700", "701"} {
				h.fake.Say(h.fake.Direct(user), user, user)
			}
			h.fake.Say(h.fake.Direct("805"), "805", "805")
			h.fake.Say("100", "700", "<@800> last")
			h.await("last message", func() bool { return slices.Contains(h.heardTexts(), "last") })
			if got := h.heardTexts(); !slices.Equal(got[:len(got)-1], want) {
				t.Errorf("heard %q, want %q", got, want)
			}
		})
	}
}

func TestWhatAddressesTheBot(t *testing.T) {
	t.Parallel()
	h := open(t)
	ours := h.fake.Say("100", "700", "<@800> start")
	target := h.heard(1).Target
	target.Thread.Channel, target.Opens = "100", ""
	answer := h.post(target, core.PostAnswer, "answer", "n1", false)

	for _, quiet := range []struct {
		text string
		user string
		how  []discordtest.Saying
	}{
		{text: "nobody asked", user: "700"},
		{text: "@everyone standup", user: "700"},
		{text: "<@&77> a role", user: "700"},
		{text: "in code `<@800>` only", user: "700"},
		{text: "a reply to a person", user: "701", how: []discordtest.Saying{discordtest.Replying(ours)}},
		{text: "a reply by a bot", user: "805", how: []discordtest.Saying{discordtest.Replying(answer.ID)}},
		{text: "<@800> thread created", user: "700", how: []discordtest.Saying{discordtest.OfType(18)}},
		{text: "<@800> pinned", user: "700", how: []discordtest.Saying{discordtest.OfType(6)}},
		{text: "<@800>", user: "805"},
		{text: "\u200b", user: "700"},
	} {
		h.fake.Say("100", quiet.user, quiet.text, quiet.how...)
	}
	h.fake.Say("100", "701", "a reply to the bot", discordtest.Replying(answer.ID))
	h.fake.Say("100", "700", "<@&802> by its role")
	h.fake.Say("100", "805", "<@&802> by its role, from a bot")
	h.fake.Say("100", "700", "<@800>")
	h.fake.Say("100", "700", "hey <@!800>, ask <@701> in <#110>, not `<@701>`")
	got := h.texts()
	want := []string{"start", "a reply to the bot\n\nIn reply to understudy:\n> answer", "by its role", "", "hey , ask @bob in #random, not `<@701>`"}
	if !slices.Equal(got, want) {
		t.Errorf("heard %q, want %q", got, want)
	}
}

func TestMentionRules(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string][]string{
		discord.MentionAlways:       {"channel", "thread"},
		discord.MentionUntilEngaged: {"channel", "thread", "unasked thread"},
		discord.MentionNever:        {"channel", "thread", "unasked thread", "unasked channel"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			h := open(t, func(c *discord.Config) { c.RequireMention = func(core.Thread) string { return rule } })
			h.fake.AddChannel(discordtest.Channel{ID: "500", Parent: "100", Type: discordtest.PublicThread})
			h.fake.Say("100", "700", "<@800> channel")
			h.fake.Say("500", "700", "<@800> thread")
			h.fake.Say("500", "700", "unasked thread")
			h.fake.Say("100", "700", "unasked channel")
			if got := h.texts(); !slices.Equal(got, want) {
				t.Errorf("heard %q, want %q", got, want)
			}
			for i, text := range want {
				m := h.heard(i + 1)
				addressed := text[0] != 'u' || rule == discord.MentionNever
				if m.Addressed != addressed || (m.Target.Opens != "") != (text == "channel") {
					t.Errorf("%q: addressed %v, opens %q", text, m.Addressed, m.Target.Opens)
				}
			}
		})
	}
}

func TestAutoThreadOff(t *testing.T) {
	t.Parallel()
	h := open(t, func(c *discord.Config) { c.NoAutoThread = true })
	id := h.fake.Say("100", "700", "<@800> hi")
	m := h.heard(1)
	if m.Target.Opens != "" || m.Thread().Channel != "100" || m.Thread().Kind != core.KindChannel {
		t.Errorf("target %+v", m.Target)
	}
	p := h.post(m.Target, core.PostAnswer, "ok", "n1", true)
	if posts := h.fake.Posts("100"); !p.Linked || len(posts) != 1 || posts[0].Reference != id {
		t.Errorf("posts %+v", posts)
	}
}

func TestChannelsThatTheGatewayDoesNotList(t *testing.T) {
	t.Parallel()
	h := open(t, allow("100"))
	h.fake.AddQuietly(discordtest.Channel{ID: "500", Guild: "900", Parent: "100", Type: discordtest.PublicThread})
	h.fake.AddQuietly(discordtest.Channel{ID: "510", Guild: "900", Parent: "130", Type: discordtest.PublicThread})
	h.fake.Say("500", "700", "<@800> known by asking")
	h.fake.Say("510", "700", "<@800> the parent is unknown")
	if got := h.texts(); !slices.Equal(got, []string{"known by asking"}) {
		t.Errorf("heard %q", got)
	}
	if m := h.heard(1); m.Thread().Parent != "100" || m.Thread().Kind != core.KindThread {
		t.Errorf("thread %+v", m.Thread())
	}
}

// A channel that Discord does not show is not asked for with every message; one
// that could not be looked up for a moment is heard right after it.
func TestChannelsThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		h := bubbleOpen(t, allow("900"))
		h.fake.AddQuietly(discordtest.Channel{ID: "500", Guild: "900", Parent: "100", Type: discordtest.PublicThread})
		h.fake.AddQuietly(discordtest.Channel{ID: "510", Guild: "900", Parent: "130", Type: discordtest.PublicThread})
		h.fake.Inject(discordtest.Fault{Method: "GET", Path: "/channels/500", Status: 503})
		for i := range 10 {
			h.fake.Say("500", "700", fmt.Sprintf("<@800> %d", i))
			h.fake.Say("510", "700", "<@800> its parent is unknown")
			time.Sleep(time.Second)
		}
		if got := h.texts(); !slices.Equal(got, []string{"2", "3", "4", "5", "6", "7", "8", "9"}) {
			t.Errorf("heard %q", got)
		}
		if n, failed := len(h.fake.Requests("GET", "/channels/130")), len(h.fake.Requests("GET", "/channels/500")); n != 1 || failed != 2 {
			t.Errorf("it was asked %d times for a channel that is not there, and %d times for one that is", n, failed)
		}
	})
}

func TestEditsAndDeletions(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.fake.Say("100", "700", "<@800> tpyo")
	other := h.fake.Say("100", "700", "<@800> oops")
	key := h.heard(1).InboxKey()
	otherKey := h.heard(2).InboxKey()
	h.fake.Touch("100", id) // a preview of a link, say
	h.fake.Edit("100", id, "<@800> typo")
	h.fake.Touch("100", id)
	h.fake.Remove("100", id)
	h.fake.Remove("100", other, "12345")
	want := []core.Change{
		{InboxKey: key, Text: "typo"},
		{InboxKey: key, Deleted: true},
		{InboxKey: otherKey, Deleted: true},
	}
	h.await("changes", func() bool {
		h.guests.mu.Lock()
		defer h.guests.mu.Unlock()
		return len(h.guests.changes) >= 4
	})
	h.guests.mu.Lock()
	defer h.guests.mu.Unlock()
	if got := h.guests.changes[:3]; !slices.Equal(got, want) {
		t.Errorf("changes %+v, want %+v", got, want)
	}
}

func TestUnknownPartsLoseNothing(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.Say("100", "700", "<@800> with components", discordtest.With("components", []any{
		map[string]any{"type": 99, "parts": []any{map[string]any{"type": 18}}}}))
	h.fake.Say("100", "700", "<@800> with an odd field", discordtest.With("member", "odd"))
	h.fake.Say("100", "700", "<@800> with numbers for ids", discordtest.With("id", 1576804573618634999),
		discordtest.With("author", map[string]any{"id": 700, "username": "ann"}), discordtest.With("channel_id", 100))
	for _, data := range []any{nil, 7, "text", []any{}, map[string]any{}, map[string]any{"id": 7, "channel_id": []any{}},
		map[string]any{"id": "1", "channel_id": "100", "author": nil, "guild_id": "900"}} {
		for _, event := range []string{"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK",
			"INTERACTION_CREATE", "CHANNEL_CREATE", "CHANNEL_DELETE", "THREAD_CREATE", "THREAD_UPDATE", "THREAD_DELETE",
			"THREAD_LIST_SYNC", "RESUMED", "SOMETHING_NEW"} {
			h.fake.Dispatch(event, data)
		}
	}
	if got := h.texts(); !slices.Equal(got, []string{"with components", "with an odd field", "with numbers for ids"}) {
		t.Errorf("heard %q", got)
	}
}

func TestForwardsAndFiles(t *testing.T) {
	t.Parallel()
	h := open(t)
	dm := h.fake.Direct("700")
	h.fake.Say(dm, "700", "", discordtest.With("message_snapshots", []any{
		map[string]any{"message": map[string]any{"content": "what they said"}}}))
	h.fake.Say(dm, "700", "", discordtest.With("attachments", []any{
		map[string]any{"id": "4711", "filename": "a.png", "content_type": "image/png", "size": 12, "url": "https://cdn.discordapp.com/a.png"}}))
	h.fake.Say(dm, "700", "")
	got := h.texts()
	if !slices.Equal(got, []string{"Forwarded message:\n> what they said", ""}) {
		t.Errorf("heard %q", got)
	}
	if f := h.heard(2).Attachments; len(f) != 1 || f[0].Name != "a.png" || f[0].Size != 12 || f[0].ID != "4711" || f[0].MIME != "image/png" || f[0].URL == "" {
		t.Errorf("files %+v", f)
	}
}

func TestStoreTrouble(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.guests.mu.Lock()
	h.guests.failures = 3
	h.guests.mu.Unlock()
	dm := h.fake.Direct("700")
	for _, text := range []string{"one", "two", "three"} {
		h.fake.Say(dm, "700", text)
	}
	if got := h.texts(); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("heard %q", got)
	}
}

func (h *house) heardTexts() []string {
	h.guests.mu.Lock()
	defer h.guests.mu.Unlock()
	var all []string
	for _, m := range h.guests.messages {
		all = append(all, m.Text)
	}
	return all
}
