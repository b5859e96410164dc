package discord_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

// An interaction can be answered for fifteen minutes. What everybody was to see
// is posted without it then: what is left of it, and once.
func TestTokenThatRunsOutAmidTheAnswer(t *testing.T) {
	t.Parallel()
	h := open(t, noThreads)
	text := strings.Repeat("a line of the long answer\n", 200)
	parts := core.Split(text, h.Limits(in("100").Thread))
	h.guests.command = func(core.Invocation) (core.Reply, error) { return core.Reply{Text: text, Public: true}, nil }
	held := h.fake.Hold("POST", "/webhooks/801/itok-301")
	h.fake.Interact(discordtest.Interaction{ID: "301", Channel: "100", User: "700", Command: "new"})
	<-held.Reached // the first part is there
	h.fake.Spend("301")
	held.Release()
	var got []string
	h.await("whole answer", func() bool {
		got = got[:0]
		for _, m := range h.fake.Posts("100") {
			got = append(got, m.Content)
		}
		return len(got) >= len(parts)
	})
	for i, part := range parts {
		if got[i] != strings.TrimSpace(part) {
			t.Errorf("post %d is %.40q, want %.40q", i, got[i], part)
		}
	}
	if n := h.lines("an interaction could not be answered"); n != 1 || len(got) != len(parts) {
		t.Errorf("%d lines in the log, %d posts", n, len(got))
	}
}

// A menu outlives the interaction that showed it: a pick is another one.
func TestMenuThatOutlivesItsCommand(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.guests.command = func(core.Invocation) (core.Reply, error) {
		return core.Reply{Text: "which one?", Menus: []core.Menu{{Token: "t0k", Options: []core.Choice{{Label: "m2", Value: "2"}}}}}, nil
	}
	h.fake.Interact(discordtest.Interaction{ID: "301", Channel: "100", User: "700", Command: "model"})
	menu := h.answered("301").Components[0].Components[0]
	h.fake.Spend("301")
	a := h.answered(h.fake.Interact(discordtest.Interaction{Type: discordtest.ComponentInteraction, Channel: "100", User: "700",
		CustomID: menu.CustomID, Values: []string{"2"}, Message: "510"}))
	if a.Content != "pressed 2" || h.lines("could not be answered") != 0 {
		t.Errorf("answer %+v", a)
	}
}

// An answer for one person alone is nothing to post when its time is over, and
// the token is not told by the log.
func TestTokenThatRunsOutBeforeAPrivateAnswer(t *testing.T) {
	t.Parallel()
	h := open(t, noThreads)
	for _, text := range []string{"short", strings.Repeat("a line of a long answer\n", 300)} {
		h.guests.command = func(i core.Invocation) (core.Reply, error) {
			h.fake.Spend(i.ID)
			return core.Reply{Text: text}, nil
		}
		before := h.lines("an interaction could not be answered")
		id := h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "status"})
		h.await("log line", func() bool { return h.lines("an interaction could not be answered") == before+1 })
		if strings.Contains(h.log.String(), "itok-"+id) {
			t.Error("the token of an interaction is in the log")
		}
		if n := len(h.fake.Requests("PATCH", "/webhooks/801/itok-"+id+"/messages/*")); n != 1 {
			t.Errorf("%d attempts", n)
		}
	}
	h.texts()
	if posts := h.fake.Posts("100"); len(posts) != 0 {
		t.Errorf("others can see %+v", posts)
	}
}

// A post of a forum goes on without the message it began with.
func TestForumPostWithoutItsFirstMessage(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.AddChannel(discordtest.Channel{ID: "140", Type: discordtest.Forum})
	post := h.fake.PostInForum("140", "700", "Bread", "<@800> how is it baked?")
	first := h.heard(1)
	h.fake.Remove(post, post)
	h.await("deletion", func() bool {
		h.guests.mu.Lock()
		defer h.guests.mu.Unlock()
		return slices.Equal(h.guests.changes, []core.Change{{InboxKey: first.InboxKey(), Deleted: true}})
	})
	if p := h.answer(first, "with flour", true); p.Linked || h.fake.Posts(post)[0].Reference != "" {
		t.Errorf("posted %+v", p)
	}
	h.fake.Say(post, "701", "<@800> and yeast?")
	second := h.heard(2)
	if second.Thread() != first.Thread() || first.Thread().Channel != post || first.Target.Opens != "" {
		t.Errorf("threads %+v and %+v", first.Thread(), second.Thread())
	}
	if got := h.earlier(second, 20); !slices.Equal(got, []string{"self: with flour"}) {
		t.Errorf("earlier %q", got)
	}
	if p := h.answer(second, "a little", true); !p.Linked {
		t.Errorf("posted %+v", p)
	}
	if h.lines("level=WARN") != 0 {
		t.Error("something went wrong")
	}
}

// A post of a forum that is locked: its forum holds no messages, so that only
// the operator can be told, once, and of its end.
func TestLockedForumPost(t *testing.T) {
	t.Parallel()
	var told ears
	h := open(t, told.settings)
	h.fake.AddChannel(discordtest.Channel{ID: "140", Type: discordtest.Forum})
	post := h.fake.PostInForum("140", "700", "Bread", "<@800> how is it baked?")
	m := h.heard(1)
	h.fake.Change(post, func(c *discordtest.Channel) { c.Archived, c.Locked = true, true })
	for _, nonce := range []string{"n1", "n2"} {
		_, err := h.Post(t.Context(), core.Post{Target: m.Target, Kind: core.PostAnswer, Text: "with flour", Nonce: nonce})
		if failed := sendError(t, err); !failed.Permanent || !strings.Contains(failed.Help, "locked") {
			t.Errorf("error %+v", failed)
		}
	}
	if n := len(h.fake.Requests("POST", "/channels/140/messages")); n != 0 || len(told.of("thread")) != 1 {
		t.Errorf("%d requests to the forum, alerts %q", n, told.of("thread"))
	}
	h.fake.Change(post, func(c *discordtest.Channel) { c.Archived, c.Locked = false, false })
	h.answer(m, "with flour", true)
	if got := told.of("thread"); len(got) != 2 || !strings.Contains(got[1], "again") {
		t.Errorf("alerts %q", got)
	}
}

// What is over and comes again is told again.
func TestThreadThatIsLockedTwice(t *testing.T) {
	t.Parallel()
	var told ears
	h := open(t, told.settings)
	h.thread("500", "100", discordtest.PublicThread)
	h.fake.Say("500", "700", "<@800> hi")
	m := h.heard(1)
	for i := range 2 {
		lock := func(on bool) { h.fake.Change("500", func(c *discordtest.Channel) { c.Locked = on }) }
		lock(true)
		for _, try := range []string{"a", "b"} {
			_, err := h.Post(t.Context(), core.Post{Target: m.Target, Kind: core.PostAnswer, Text: "ok", Nonce: fmt.Sprint(try, i)})
			if failed := sendError(t, err); !failed.Permanent {
				t.Errorf("error %+v", failed)
			}
		}
		if posts := h.fake.Posts("100"); len(posts) != i+1 || len(told.of("thread")) != 2*i+1 {
			t.Errorf("locked %d times, the channel shows %+v, alerts %q", i+1, posts, told.of("thread"))
		}
		lock(false)
		h.post(m.Target, core.PostAnswer, "ok", fmt.Sprint("c", i), false)
		if got := told.of("thread"); len(got) != 2*i+2 {
			t.Errorf("unlocked %d times, alerts %q", i+1, got)
		}
	}
}

// A thread that was deleted while it was answered is no trouble that somebody
// could remove: its channel is not told.
func TestThreadThatIsDeletedBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	var told ears
	h := open(t, told.settings)
	h.thread("500", "100", discordtest.PublicThread)
	h.fake.Say("500", "700", "<@800> hi")
	m := h.heard(1)
	h.fake.RemoveThread("500")
	_, err := h.Post(t.Context(), core.Post{Target: m.Target, Kind: core.PostAnswer, Text: "ok", Nonce: "n1", Link: true})
	if failed := sendError(t, err); !failed.Permanent || !strings.Contains(failed.Help, "deleted") {
		t.Errorf("error %+v", failed)
	}
	if posts := h.fake.Posts("100"); len(posts) != 0 || len(told.of("thread")) != 0 {
		t.Errorf("the channel shows %+v, alerts %q", posts, told.of("thread"))
	}
}
