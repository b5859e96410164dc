package discord_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"understudy/adapters/discord"
	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

// earlier is what was said before a message, one line for each.
func (h *house) earlier(m core.Message, limit int) (lines []string) {
	h.t.Helper()
	said, err := h.Earlier(h.t.Context(), m.Target, m.ID, limit)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, s := range said {
		who := s.Author.Name
		if s.Author.Self {
			who = "self"
		}
		lines = append(lines, who+": "+s.Text)
		if s.ID == "" || s.At.IsZero() || s.Target.Thread != m.Target.Thread {
			h.t.Errorf("message %+v", s)
		}
	}
	return lines
}

func TestEarlierInAThread(t *testing.T) {
	t.Parallel()
	h := open(t)
	opener := h.fake.Say("100", "701", "<@800> how do I bake bread?", discordtest.WithFile("oven.png", "image/png", []byte("png")))
	first := h.heard(1)
	h.answer(first, "With flour.", true)
	h.post(first.Target, core.PostNotice, "another model steps in", "n2", false)
	h.guests.command = func(core.Invocation) (core.Reply, error) { return core.Reply{Text: "all is well", Public: true}, nil }
	h.answered(h.fake.Interact(discordtest.Interaction{Channel: opener, User: "700", Command: "status"}))
	h.await("public answer", func() bool { return len(h.fake.Posts(opener)) == 3 })
	h.fake.Say(opener, "700", "and <#110>?")
	h.fake.Say(opener, "700", "pinned", discordtest.OfType(6))
	h.fake.Say(opener, "805", "beep")
	h.fake.Say(opener, "700", "<@800> and yeast?")
	last := h.heard(3)
	want := []string{"bob: how do I bake bread?", "self: With flour.", "ann: and #random?", "otherbot: beep"}
	if got := h.earlier(last, 20); !slices.Equal(got, want) {
		t.Errorf("earlier %q, want %q", got, want)
	}
	// Of a longer thread, the beginning and the end.
	if got := h.earlier(last, 3); !slices.Equal(got, []string{want[0], want[2], want[3]}) {
		t.Errorf("the last three are %q", got)
	}
	said, _ := h.Earlier(t.Context(), last.Target, last.ID, 20)
	if f := said[0].Attachments; len(f) != 1 || f[0].Name != "oven.png" || f[0].URL == "" {
		t.Errorf("files %+v", f)
	}
	// What is to be opened is empty, and so is what begins with the message.
	if got := h.earlier(first, 20); got != nil {
		t.Errorf("before the opener %q", got)
	}
}

func TestEarlierInAForum(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.AddChannel(discordtest.Channel{ID: "140", Type: discordtest.Forum})
	post := h.fake.PostInForum("140", "701", "Bread", "the first message")
	h.fake.Say(post, "700", "<@800> help")
	m := h.heard(2)
	if got := h.earlier(m, 20); !slices.Equal(got, []string{"bob: the first message"}) {
		t.Errorf("earlier %q", got)
	}
	for i := range 120 { // more than a page
		h.fake.Say(post, "700", fmt.Sprint(i))
	}
	h.fake.Say(post, "700", "<@800> still there?")
	last := h.heard(123)
	got := h.earlier(last, 110)
	if len(got) != 110 || got[0] != "bob: the first message" || got[1] != "ann: 11" || got[109] != "ann: 119" {
		t.Errorf("%d earlier, from %q on", len(got), got[:min(2, len(got))])
	}
	if got := h.earlier(core.Message{ID: post, Target: m.Target}, 20); got != nil {
		t.Errorf("before the first message %q", got)
	}
	if n := len(h.fake.Requests("GET", "/channels/140/messages/*")); n != 0 {
		t.Error("a forum was asked for a message")
	}
}

func TestEarlierWithoutAStarter(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.thread("500", "100", discordtest.PublicThread)
	h.fake.Say("500", "700", "one")
	h.fake.Say("500", "700", "<@800> two")
	if got := h.earlier(h.heard(2), 20); !slices.Equal(got, []string{"ann: one"}) {
		t.Errorf("earlier %q", got)
	}
	h.fake.Change("500", func(c *discordtest.Channel) { c.NoAccess = true })
	if _, err := h.Earlier(t.Context(), h.heard(2).Target, h.heard(2).ID, 20); err == nil || !strings.Contains(err.Error(), "50001") {
		t.Errorf("error %v", err)
	}
}

func TestQuotations(t *testing.T) {
	t.Parallel()
	h := open(t, noThreads)
	asked := h.fake.Say("100", "701", "is <#110> open\nto <@700>?")
	h.fake.Say("100", "700", "<@800> is that so?", discordtest.Replying(asked))
	h.fake.Say("100", "700", "<@800>", discordtest.Replying(asked))
	h.fake.Say("100", "700", "<@800> /model a/b", discordtest.Replying(asked))
	long := h.fake.Say("100", "701", strings.Repeat("語", 2000))
	h.fake.Say("100", "700", "<@800> too long?", discordtest.Replying(long))
	gone := h.fake.Say("100", "701", "never mind")
	h.fake.Remove("100", gone)
	h.fake.Say("100", "700", "<@800> what was that?", discordtest.Replying(gone))
	quoted := "In reply to bob:\n> is #random open\n> to @ann?"
	want := []string{
		"is that so?\n\n" + quoted,
		quoted,
		"/model a/b",
		"too long?\n\nIn reply to bob:\n> " + strings.Repeat("語", 999) + "…",
		"what was that?",
	}
	if got := h.texts(); !slices.Equal(got, want) {
		t.Errorf("heard %q, want %q", got, want)
	}
	if title := h.heard(1).Target.Title; title != "" {
		t.Errorf("title %q", title)
	}
}

func TestTitlesHoldNoMentionsAndNoQuotations(t *testing.T) {
	t.Parallel()
	h := open(t)
	asked := h.fake.Say("100", "701", "a question")
	h.fake.Say("100", "700", "<@800> @everyone tell <@701> about **bread** in <#110> <:wave:12>", discordtest.Replying(asked))
	if title := h.heard(1).Target.Title; title != "tell about bread in" {
		t.Errorf("title %q", title)
	}
}

func TestStrangersKnock(t *testing.T) {
	t.Parallel()
	h := open(t, allow("701"), func(c *discord.Config) { c.DM = discord.DMPairing })
	dm, other := h.fake.Direct("700"), h.fake.Direct("701")
	h.fake.Say(other, "701", "named")
	h.fake.Say(h.fake.Direct("805"), "805", "a bot")
	h.fake.Say(dm, "700", "let me in")
	h.await("answer to the knock", func() bool { return len(h.fake.Posts(dm)) == 1 })
	if p := h.fake.Posts(dm)[0]; p.Content != "who are you?" {
		t.Errorf("the stranger is told %q", p.Content)
	}
	a := h.answered(h.fake.Interact(discordtest.Interaction{Channel: dm, User: "700", Command: "status"}))
	if a.Callback != 4 || !a.Ephemeral || !strings.Contains(a.Content, "not allowed to use this bot yet") {
		t.Errorf("the command is answered with %+v", a)
	}
	if c := h.answered(h.fake.Interact(discordtest.Interaction{Channel: dm, User: "700", Type: discordtest.CompleteInteraction,
		Command: "model", Options: map[string]string{"model": "x"}})); c.Callback != 8 || len(c.Choices) != 0 {
		t.Errorf("completions %+v", c)
	}
	h.guests.mu.Lock()
	knocks := slices.Clone(h.guests.knocks)
	h.guests.known = map[string]bool{"700": true}
	h.guests.mu.Unlock()
	if len(knocks) != 1 || knocks[0].Text != "let me in" || knocks[0].Author.ID != "700" || len(h.called()) != 0 {
		t.Errorf("knocks %+v, commands %+v", knocks, h.called())
	}
	h.fake.Say(dm, "700", "thank you")
	if m := h.heard(2); m.Text != "thank you" || !m.Addressed || h.heard(1).Text != "named" {
		t.Errorf("heard %+v", m)
	}
	h.answered(h.fake.Interact(discordtest.Interaction{Channel: dm, User: "700", Command: "status"}))
	if len(h.called()) != 1 {
		t.Error("somebody who was let in cannot give commands")
	}
	// In shared places nobody is asked.
	h.fake.Say("100", "700", "<@800> hello")
	h.fake.Say("100", "701", "<@800> hello")
	if m := h.heard(3); m.Author.ID != "701" {
		t.Errorf("heard %+v", m)
	}
}

// A message that does not say its guild is no direct one.
func TestGuildMessagesWithoutTheirGuild(t *testing.T) {
	t.Parallel()
	h := open(t, allow())
	h.fake.Dispatch("MESSAGE_CREATE", map[string]any{"id": "1", "channel_id": "100", "content": "<@800> hi",
		"author": map[string]any{"id": "700", "username": "ann"}})
	a := h.answered(h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "status",
		Raw: map[string]any{"guild_id": nil, "channel": nil, "user": map[string]any{"id": "700"}}}))
	if a.Callback != 4 {
		t.Errorf("answer %+v", a)
	}
	if got := h.texts(); len(got) != 0 {
		t.Errorf("heard %q", got)
	}
}

func TestGroupsAreShared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		allow []string
		want  []string
	}{
		"everybody": {[]string{"*"}, []string{"hi", "hey"}}, "nobody": {nil, nil}, "one of them": {[]string{"701"}, []string{"hey"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, allow(c.allow...))
			h.fake.AddQuietly(discordtest.Channel{ID: "610", Type: discordtest.GroupMessage})
			h.fake.Say("610", "700", "<@800> hi")
			h.fake.Say("610", "701", "<@800> hey")
			a := h.answered(h.fake.Interact(discordtest.Interaction{Channel: "610", User: "700", Command: "status"}))
			if ok := a.Callback == 5; ok != slices.Contains(c.want, "hi") {
				t.Errorf("answer %+v", a)
			}
			if got := h.texts(); !slices.Equal(got, c.want) {
				t.Errorf("heard %q", got)
			}
			if c.want == nil {
				return
			}
			if th := h.heard(1).Thread(); th.Kind != core.KindGroup || !th.Shared() || th.Key() != "discord:main:gdm:610" {
				t.Errorf("thread %+v", th)
			}
		})
	}
}
