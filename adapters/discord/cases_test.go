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

// The tests of this file and of those beside it are named after reports about
// other bots: what went wrong there must not go wrong here.

func replyOff(c *discord.Config)   { c.ReplyTo = func(core.Thread) string { return discord.ReplyOff } }
func noThreads(c *discord.Config)  { c.NoAutoThread = true }
func autoThread(c *discord.Config) { c.NoAutoThread = false }

func (h *house) thread(id, parent string, kind int) string {
	h.fake.AddChannel(discordtest.Channel{ID: id, Parent: parent, Type: kind})
	return id
}

func (h *house) answer(m core.Message, text string, link bool) core.Posted {
	h.t.Helper()
	return h.post(m.Target, core.PostAnswer, text, "n"+m.ID, link)
}

// sent are the bodies of what was posted to a channel.
func (h *house) sent(channel string) []discordtest.Request {
	return h.fake.Requests("POST", "/channels/"+channel+"/messages")
}

func TestCasesOfReplies(t *testing.T) {
	t.Parallel()
	t.Run("p001", func(t *testing.T) {
		t.Parallel()
		h := open(t, replyOff)
		h.fake.AddChannel(discordtest.Channel{ID: "140", Type: discordtest.Forum})
		h.thread("500", "100", discordtest.PublicThread)
		h.thread("510", "100", discordtest.PrivateThread)
		h.fake.Say("500", "700", "<@800> hi")
		h.fake.Say("510", "700", "<@800> hi")
		post := h.fake.PostInForum("140", "700", "a post", "<@800> hi")
		for i, channel := range []string{"500", "510", post} {
			h.answer(h.heard(i+1), "ok", true)
			if sent := h.sent(channel); len(sent) != 1 || sent[0].Field("message_reference") != nil {
				t.Errorf("posts to %s: %+v", channel, sent)
			}
		}
	})
	t.Run("p003", func(t *testing.T) {
		t.Parallel()
		h := open(t, noThreads)
		id := h.fake.Say("100", "700", "<@800> draw")
		target := h.heard(1).Target
		parts := core.Split(strings.Repeat("a long caption. ", 320), h.Limits(target.Thread))
		if len(parts) < 3 {
			t.Fatalf("%d parts", len(parts))
		}
		for i, part := range append(parts, "and another message") {
			p := core.Post{Target: target, Kind: core.PostAnswer, Text: part, Nonce: fmt.Sprint("p", i), Link: i == 0}
			if i == 0 {
				p.Files = []core.File{{Name: "cat.png", MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}}
			}
			if posted, err := h.Post(t.Context(), p); err != nil || posted.Linked != (i == 0) {
				t.Fatalf("part %d: %+v, %v", i, posted, err)
			}
		}
		for i, m := range h.fake.Posts("100") {
			if (len(m.Files) == 1) != (i == 0) || (m.Reference == id) != (i == 0) {
				t.Errorf("post %d has %d files and refers to %q", i, len(m.Files), m.Reference)
			}
		}
		if f := h.fake.Posts("100")[0].Files[0]; f.Name != "cat.png" || f.MIME != "image/png" || string(f.Data) != "\x89PNG\r\n\x1a\n" {
			t.Errorf("file %+v", f)
		}
	})
	t.Run("p016", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		h.thread("500", "100", discordtest.PublicThread)
		h.fake.Say("500", "700", "<@800> hi")
		h.answer(h.heard(1), "ok", true)
		if len(h.sent("500")) != 1 || len(h.fake.Requests("", "/channels/100/messages")) != 0 {
			t.Errorf("requests %+v", h.fake.Requests("POST", ""))
		}
	})
}

func TestCasesOfThreads(t *testing.T) {
	t.Parallel()
	t.Run("p027", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		for i := range 40 {
			h.fake.Say("100", "701", fmt.Sprint("about X ", i))
		}
		h.thread("500", "100", discordtest.PublicThread)
		h.fake.Say("500", "701", "about Y")
		h.fake.Say("500", "700", "<@800> Y?")
		m := h.heard(1)
		if m.Text != "about Y" { // unaddressed: the sessions pass it over
			t.Fatalf("heard %+v", m)
		}
		m = h.heard(2)
		said, err := h.Earlier(t.Context(), m.Target, m.ID, 50)
		if err != nil || len(said) != 1 || said[0].Text != "about Y" {
			t.Errorf("earlier %+v, %v", said, err)
		}
		if m.Thread().Holder().Channel != "100" {
			t.Errorf("the settings of the channel cannot be found from %+v", m.Thread())
		}
	})
	t.Run("p031", func(t *testing.T) {
		t.Parallel()
		var told ears
		h := open(t, autoThread, told.settings)
		id := h.fake.Say("100", "700", "<@800> <@805> go")
		m := h.heard(1)
		h.fake.AddQuietly(discordtest.Channel{ID: id, Guild: "900", Parent: "100", Type: discordtest.PublicThread})
		h.answer(m, "ok", true)
		if posts := h.fake.Posts(id); len(posts) != 1 || m.Thread().Channel != id || len(h.fake.Posts("100")) != 0 {
			t.Errorf("posts in the thread: %+v, in the channel: %+v", posts, h.fake.Posts("100"))
		}
		if r := h.fake.Requests("POST", "/channels/100/messages/*/threads"); len(r) != 1 || r[0].Status != 400 {
			t.Errorf("requests for a thread: %+v", r)
		}
		if key := m.Thread().Key(); key != "discord:main:g:900:c:"+id || len(told.of("thread")) != 0 || h.lines("level=WARN") != 0 {
			t.Errorf("the key is %s, the operator is told %q", key, told.of("thread"))
		}
	})
	t.Run("p041", func(t *testing.T) {
		t.Parallel()
		h := open(t, allow("100", "520", "user:700"))
		h.thread("500", "100", discordtest.PublicThread)
		h.thread("510", "110", discordtest.PublicThread)
		h.thread("520", "110", discordtest.PublicThread) // named itself
		h.fake.AddQuietly(discordtest.Channel{ID: "530", Guild: "900", Parent: "130", Type: discordtest.PublicThread})
		for _, thread := range []string{"500", "510", "520", "530"} {
			h.fake.Say(thread, "700", "/model x in "+thread)
			h.fake.Say(thread, "701", "/model x by somebody else")
		}
		h.fake.Say("110", "700", "<@800> in the channel of 520")
		// A verdict is one about a thread in its channel.
		h.fake.Change("500", func(c *discordtest.Channel) { c.Parent = "110" })
		h.fake.Say("500", "700", "/model x in 500 below 110")
		if got, want := h.texts(), []string{"/model x in 500", "/model x in 520"}; !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
	})
	t.Run("p042", func(t *testing.T) {
		t.Parallel()
		h := open(t, allow("100"))
		h.thread("500", "100", discordtest.PublicThread)
		h.fake.Say("500", "700", "<@800> hi")
		h.fake.Say("100", "700", "renamed thing", discordtest.OfType(18))
		if key := h.heard(1).Thread().Key(); key != "discord:main:g:900:c:500" {
			t.Errorf("key %s", key)
		}
		a := h.answered(h.fake.Interact(discordtest.Interaction{ID: "301", Channel: "110", User: "700", Command: "status"}))
		if a.Callback != 4 || !a.Ephemeral {
			t.Errorf("answer %+v", a)
		}
		h.fake.RemoveThread("500")
		if got := h.texts(); !slices.Equal(got, []string{"hi"}) {
			t.Errorf("heard %q", got)
		}
		// What was known of the thread is gone: it is asked for again.
		before := len(h.fake.Requests("GET", "/channels/500"))
		a = h.answered(h.fake.Interact(discordtest.Interaction{Channel: "110", User: "700", Command: "status",
			Raw: map[string]any{"channel_id": "500", "channel": nil}}))
		if a.Callback != 4 || len(h.fake.Requests("GET", "/channels/500")) != before+1 {
			t.Errorf("answer %+v, requests %+v", a, h.fake.Requests("GET", "/channels/*"))
		}
	})
	t.Run("p044", func(t *testing.T) {
		t.Parallel()
		h := open(t, autoThread)
		id := h.fake.Say("100", "700", "<@800> hi")
		h.fake.Inject(discordtest.Fault{Method: "POST", Path: "/channels/100/messages/*/threads", Status: 400,
			Field: "auto_archive_duration", Message: "not in this guild"})
		h.answer(h.heard(1), "ok", true)
		tries := h.fake.Requests("POST", "/channels/100/messages/*/threads")
		if len(tries) != 2 || tries[0].Field("auto_archive_duration") == nil || tries[1].Field("auto_archive_duration") != nil {
			t.Errorf("requests for a thread: %+v", tries)
		}
		if len(h.fake.Posts(id)) != 1 || len(h.fake.Posts("100")) != 0 || strings.Count(h.log.String(), "level=WARN") != 1 {
			t.Errorf("posts %+v", h.fake.Posts(id))
		}
	})
}

func TestCasesOfMentions(t *testing.T) {
	t.Parallel()
	t.Run("p069", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		h.fake.Say("110", "700", "nobody asked")
		h.fake.Say("110", "700", "nor here", discordtest.With("attachments", []any{map[string]any{"id": "1", "filename": "a.png"}}))
		if got := h.texts(); len(got) != 0 {
			t.Errorf("heard %q", got)
		}
	})
	t.Run("p072", func(t *testing.T) {
		t.Parallel()
		for wakes, want := range map[bool][]string{false: nil, true: {"@everyone standup"}} {
			h := open(t, allow("*", "805"), func(c *discord.Config) { c.EveryoneWakes = wakes })
			h.fake.Say("100", "700", "@everyone standup")
			h.fake.Say("100", "805", "@here")
			h.fake.Say("100", "700", "<@&77> hi")
			if got := h.texts(); !slices.Equal(got, want) {
				t.Errorf("everybody wakes %v: heard %q, want %q", wakes, got, want)
			}
		}
		// A role counts if it is the bot's own, or one that stands for it.
		h := open(t, allow("*", "805"), func(c *discord.Config) { c.MentionRoles = []string{"77"} })
		for _, text := range []string{"<@&77> to one", "<@&78> to another", "`<@&77>`", "<@&802> to its own"} {
			h.fake.Say("100", "700", text)
			h.fake.Say("100", "805", text)
		}
		if got, want := h.texts(), []string{"to one", "to its own"}; !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
	})
	t.Run("p073", func(t *testing.T) {
		t.Parallel()
		// The most specific place that says something decides.
		rules := map[string]string{"900": discord.MentionAlways, "90": discord.MentionNever, "100": discord.MentionNever,
			"500": discord.MentionAlways, "520": discord.MentionUntilEngaged}
		h := open(t, func(c *discord.Config) {
			c.RequireMention = func(t core.Thread) string {
				for _, id := range []string{t.Channel, t.Parent, t.Category, t.Workspace} {
					if rule := rules[id]; rule != "" {
						return rule
					}
				}
				return ""
			}
		})
		h.fake.AddChannel(discordtest.Channel{ID: "90", Type: discordtest.Category})
		h.fake.AddChannel(discordtest.Channel{ID: "120", Parent: "90"})
		h.fake.AddChannel(discordtest.Channel{ID: "140", Parent: "90", Type: discordtest.Forum})
		h.thread("500", "100", discordtest.PublicThread)
		h.thread("510", "100", discordtest.PublicThread)
		h.thread("520", "110", discordtest.PublicThread)
		h.thread("530", "110", discordtest.PublicThread)
		h.thread("540", "120", discordtest.PublicThread)
		h.thread("550", "140", discordtest.PublicThread)
		for _, channel := range []string{"100", "110", "120", "500", "510", "520", "530", "540", "550"} {
			h.fake.Say(channel, "700", channel)
		}
		if got, want := h.texts(), []string{"100", "120", "510", "520", "540", "550"}; !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
		if !strings.Contains(h.log.String(), "reason=no-mention") {
			t.Error("the log does not say why a message was passed over")
		}
		if h.heard(1).Addressed != true || h.heard(4).Addressed {
			t.Errorf("messages %+v and %+v", h.heard(1), h.heard(4))
		}
	})
	t.Run("p193", func(t *testing.T) {
		t.Parallel()
		h := open(t, allow("100", "user:700", "user:60", "user:62"))
		hook := func(id, text string, how ...discordtest.Saying) {
			h.fake.Say("100", id, text, append(how, discordtest.FromWebhook(id))...)
		}
		hook("60", "<@800> build failed")
		hook("61", "<@800> not allowed")
		hook("60", "in code `<@800>`")
		hook("60", "no mention")
		hook("62", "<@800> a webhook of this bot", discordtest.With("application_id", discordtest.ApplicationID))
		h.fake.Say("100", discordtest.BotID, "<@800> as the bot itself", discordtest.FromWebhook("60"))
		if got, want := h.texts(), []string{"build failed"}; !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
	})
}

func TestP081(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.Say("100", "700", "<@800> slow one")
	wrong := h.fake.Say("100", "700", "<@800> oops wrong text")
	more := []string{h.fake.Say("100", "700", "<@800> and this"), h.fake.Say("100", "700", "<@800> and that")}
	h.heard(4)
	h.fake.Remove("100", wrong)
	h.fake.Remove("100", more...)
	var want []core.Change
	for n := 2; n <= 4; n++ {
		want = append(want, core.Change{InboxKey: h.heard(n).InboxKey(), Deleted: true})
	}
	h.await("deletions", func() bool {
		h.guests.mu.Lock()
		defer h.guests.mu.Unlock()
		return slices.Equal(h.guests.changes, want)
	})
	// What is answered when it is deleted keeps its answer, which replies to
	// nothing then.
	h.thread("500", "100", discordtest.PublicThread)
	h.fake.Say("500", "700", "<@800> a long job")
	m := h.heard(5)
	h.fake.Remove("500", m.ID)
	p := h.answer(m, "it is done", true)
	if sent := h.sent("500"); len(sent) != 1 || p.Linked || h.fake.Posts("500")[0].Reference != "" {
		t.Errorf("posted %+v: %+v", p, sent)
	}
}

func TestP154(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	held := h.fake.Hold("POST", "/channels/100/typing")
	typing := make(chan error, 1)
	go func() { typing <- h.Working(t.Context(), in("100"), true) }()
	<-held.Reached
	posted := make(chan error, 1)
	go func() {
		_, err := h.Post(t.Context(), answer("here it is", "n1"))
		posted <- err
	}()
	h.Waiting("100", 1)
	if err := h.Working(t.Context(), in("100"), true); err != nil { // the refresh that is due just now
		t.Error(err)
	}
	held.Release()
	if err := <-typing; err != nil {
		t.Error(err)
	}
	if err := <-posted; err != nil {
		t.Error(err)
	}
	var order []string
	for _, r := range h.fake.Requests("POST", "") {
		order = append(order, r.Path)
	}
	if want := []string{"/channels/100/typing", "/channels/100/messages"}; !slices.Equal(order, want) {
		t.Errorf("requests %q, want %q", order, want)
	}
}
