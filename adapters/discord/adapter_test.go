package discord_test

import (
	"errors"
	"strings"
	"testing"

	"understudy/adapters/discord"
	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

func TestMentionIsAnsweredInAThread(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.fake.Say("100", "700", "<@800> what is the *weather*?")
	m := h.heard(1)
	want := core.Target{
		Thread: core.Thread{Platform: "discord", Account: "main", Workspace: "900", Channel: id, Parent: "100", Kind: core.KindThread},
		Opens:  id, ReplyTo: id, Title: "what is the weather?", Recipient: "700",
	}
	if m.Target != want {
		t.Errorf("target %+v, want %+v", m.Target, want)
	}
	if m.Text != "what is the *weather*?" || m.Author.Name != "ann" || !m.Addressed || m.ID != id {
		t.Errorf("message %+v", m)
	}
	if len(h.fake.Threads("100")) != 0 {
		t.Error("the thread was opened before there was anything to say")
	}
	posted := h.post(m.Target, core.PostAnswer, "sunny", "n1", true)
	if !posted.Linked {
		t.Error("an answer in the thread of its question counts as linked")
	}
	h.post(m.Target, core.PostNotice, "another model answered", "n2", false)
	threads := h.fake.Threads("100")
	if len(threads) != 1 || threads[0].ID != id || threads[0].Name != "what is the weather?" {
		t.Fatalf("threads %+v", threads)
	}
	posts := h.fake.Posts(id)
	if len(posts) != 2 || posts[0].Content != "sunny" || posts[0].ID != posted.ID || posts[0].Reference != "" {
		t.Fatalf("posts %+v", posts)
	}
	if posts[1].Content != "-# another model answered" || posts[1].Flags != 4096|4 {
		t.Errorf("notice %+v", posts[1])
	}
	if len(h.fake.Posts("100")) != 0 {
		t.Error("something was said in the channel")
	}
	reply := h.fake.Say(id, "701", "thanks")
	second := h.heard(2)
	if second.Thread().Key() != m.Thread().Key() {
		t.Errorf("the opener has the key %s, a reply %s", m.Thread().Key(), second.Thread().Key())
	}
	if second.Addressed || second.Target.Opens != "" || second.Target.ReplyTo != reply || second.Target.Thread.Parent != "100" {
		t.Errorf("second message %+v", second)
	}
	linked := h.post(second.Target, core.PostAnswer, "you are welcome", "n3", true)
	if last := h.fake.Posts(id)[2]; last.Reference != reply || !linked.Linked {
		t.Errorf("answer to a message in the thread %+v, linked %v", last, linked.Linked)
	}
}

func TestThreadThatExistsIsUsed(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.fake.Say("100", "700", "<@800> go")
	m := h.heard(1)
	h.fake.AddChannel(discordtest.Channel{ID: id, Parent: "100", Type: discordtest.PublicThread, Archived: true})
	h.post(m.Target, core.PostAnswer, "ok", "n1", true)
	if posts := h.fake.Posts(id); len(posts) != 1 {
		t.Errorf("posts %+v", posts)
	}
}

func TestThreadNamesAndArchiveTimes(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.Inject(discordtest.Fault{Method: "POST", Path: "/channels/100/messages/*/threads", Status: 400, Code: 50035,
		Field: "auto_archive_duration", Message: "Value must be one of (60,)."})
	h.fake.Say("100", "700", "<@800> "+strings.Repeat("long ", 100))
	h.post(h.heard(1).Target, core.PostAnswer, "ok", "n1", false)
	threads := h.fake.Threads("100")
	if len(threads) != 1 || len([]rune(threads[0].Name)) > 100 {
		t.Errorf("threads %+v", threads)
	}
}

func TestRefusedThreadIsSaidInTheChannel(t *testing.T) {
	t.Parallel()
	var told ears
	h := open(t, told.settings)
	h.fake.Change("100", func(c *discordtest.Channel) { c.NoThreads = true })
	id := h.fake.Say("100", "700", "<@800> go")
	m := h.heard(1)
	for _, nonce := range []string{"n1", "n2"} {
		_, err := h.Post(t.Context(), core.Post{Target: m.Target, Kind: core.PostAnswer, Text: "ok", Nonce: nonce})
		var failed *core.SendError
		if !errors.As(err, &failed) || !failed.Permanent || !strings.Contains(failed.Help, "Create Public Threads") {
			t.Errorf("error %v", err)
		}
	}
	tries := len(h.fake.Requests("POST", "/channels/100/messages/*/threads"))
	if err := h.Working(t.Context(), m.Target, true); err != nil || len(h.fake.Requests("POST", "/channels/100/messages/*/threads")) != tries {
		t.Errorf("typing tried to open a thread again: %v", err)
	}
	posts := h.fake.Posts("100")
	if len(posts) != 1 || posts[0].Reference != id || !strings.Contains(posts[0].Content, "Create Public Threads") {
		t.Errorf("the channel shows %+v", posts)
	}
	h.fake.Change("100", func(c *discordtest.Channel) { c.NoThreads = false })
	h.fake.Say("100", "700", "<@800> and now?")
	h.post(h.heard(2).Target, core.PostAnswer, "ok", "n3", true)
	if got := told.of("thread"); len(got) != 2 || !strings.Contains(got[0], "channel 100: give the bot") || !strings.Contains(got[1], "100 again") {
		t.Errorf("alerts %q", got)
	}
}

func TestLockedAndArchivedThreads(t *testing.T) {
	t.Parallel()
	var told ears
	h := open(t, told.settings)
	h.fake.AddChannel(discordtest.Channel{ID: "500", Parent: "100", Type: discordtest.PublicThread})
	h.fake.Say("500", "700", "<@800> hi")
	m := h.heard(1)
	posted := h.post(m.Target, core.PostAnswer, "one", "n1", false)

	h.fake.Change("500", func(c *discordtest.Channel) { c.Archived = true })
	if err := h.Edit(t.Context(), posted.ID, core.Post{Target: m.Target, Text: "two"}); err != nil {
		t.Errorf("edit in an archived thread: %v", err)
	}
	if got := h.fake.Posts("500")[0].Content; got != "two" {
		t.Errorf("the message says %q", got)
	}

	h.fake.Change("500", func(c *discordtest.Channel) { c.Locked = true })
	_, err := h.Post(t.Context(), core.Post{Target: m.Target, Kind: core.PostAnswer, Text: "three", Nonce: "n3"})
	var failed *core.SendError
	if !errors.As(err, &failed) || !failed.Permanent || !strings.Contains(failed.Help, "locked") {
		t.Errorf("error %v", err)
	}
	if posts := h.fake.Posts("100"); len(posts) != 1 || !strings.Contains(posts[0].Content, "locked") {
		t.Errorf("the channel shows %+v", posts)
	}
	h.fake.Change("500", func(c *discordtest.Channel) { c.Archived, c.Locked = false, false })
	h.post(m.Target, core.PostAnswer, "three", "n3", false)
	if got := told.of("thread"); len(got) != 2 || !strings.Contains(got[0], "locked") || !strings.Contains(got[1], "again") {
		t.Errorf("alerts %q", got)
	}
}

func TestDeletedQuestion(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.fake.Say("100", "700", "<@800> go")
	m := h.heard(1)
	h.fake.Remove("100", id)
	posted := h.post(m.Target, core.PostAnswer, "one", "n1", true)
	if posts := h.fake.Posts("100"); posted.Linked || len(posts) != 1 || posts[0].Content != "one" {
		t.Errorf("linked %v, the channel shows %+v", posted.Linked, posts)
	}
	if err := h.Edit(t.Context(), posted.ID, core.Post{Target: m.Target, Text: "two"}); err != nil {
		t.Errorf("edit: %v", err)
	}

	dm := h.fake.Direct("700")
	id = h.fake.Say(dm, "700", "hello")
	m = h.heard(2)
	h.fake.Remove(dm, id)
	if posted := h.post(m.Target, core.PostAnswer, "one", "n2", true); posted.Linked {
		t.Error("an answer to a message that is gone says that it is linked")
	}
}

func TestDirectMessages(t *testing.T) {
	t.Parallel()
	h := open(t)
	dm := h.fake.Direct("700")
	id := h.fake.Say(dm, "700", "hello <:wave:123>")
	m := h.heard(1)
	if !m.Addressed || m.Text != "hello :wave:" || m.Thread().Kind != core.KindDirect || m.Thread().Channel != dm || m.Target.Opens != "" {
		t.Errorf("message %+v", m)
	}
	posted := h.post(m.Target, core.PostAnswer, "hi", "n1", true)
	if posts := h.fake.Posts(dm); !posted.Linked || len(posts) != 1 || posts[0].Reference != id {
		t.Errorf("posts %+v", posts)
	}
	if err := h.Working(t.Context(), m.Target, true); err != nil {
		t.Error(err)
	}
	if err := h.Working(t.Context(), m.Target, false); err != nil {
		t.Error(err)
	}
	if n := len(h.fake.Requests("POST", "/channels/*/typing")); n != 1 {
		t.Errorf("%d typing requests", n)
	}
	for range 2 {
		if err := h.Delete(t.Context(), m.Target, posted.ID); err != nil {
			t.Error(err)
		}
	}
	if posts := h.fake.Posts(dm); len(posts) != 0 {
		t.Errorf("after the deletion there is %+v", posts)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	_, err := discord.New(discord.Config{Allow: []string{"general"}, DM: "maybe"})
	for _, part := range []string{"general", "maybe", "token"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not speak of %s: %v", part, err)
		}
	}
}
