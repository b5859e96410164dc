package discord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"understudy/adapters/discord"
	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

func TestCasesOfReconnects(t *testing.T) {
	t.Parallel()
	t.Run("p083", func(t *testing.T) {
		t.Parallel()
		h := open(t)
		id := h.fake.Say("100", "700", "<@800> hi")
		m := h.heard(1)
		h.fake.ReplayMore(1)
		h.fake.DropAll()
		h.await("replay", func() bool { h.guests.mu.Lock(); defer h.guests.mu.Unlock(); return h.guests.repeats == 1 })
		// Reading what was missed lists it once more.
		h.fake.ForgetSessions()
		h.fake.DropAll()
		h.await("backfill", func() bool { h.guests.mu.Lock(); defer h.guests.mu.Unlock(); return h.guests.repeats == 2 })
		if got := h.texts(); !slices.Equal(got, []string{"hi"}) || m.ID != id {
			t.Errorf("heard %q", got)
		}
	})
	t.Run("p084", func(t *testing.T) {
		t.Parallel()
		// The window that is read at the start covers what was answered and what
		// was not; both have the keys they had, by which the store knows them.
		known := core.Seen{At: time.Now().Add(-time.Second)}
		h := newHouse(t, func(c *discord.Config) { c.Seen = seen(known) })
		for i := range 60 {
			h.fake.Say("110", "701", fmt.Sprintf("<@800> busy %d", i))
		}
		a := h.fake.Say("100", "700", "<@800> a")
		b := h.fake.Say("100", "700", "<@800> b")
		h.guests.keys[fmt.Sprintf("discord:main:900:100:%s", a)] = true // it was answered
		h.start()
		h.heard(61)
		got := h.heardTexts()
		if i := slices.Index(got, "b"); i < 0 || i > 52 || slices.Contains(got, "a") {
			t.Errorf("message %s was heard as number %d of %q", b, i, got)
		}
		h.guests.mu.Lock()
		defer h.guests.mu.Unlock()
		if h.guests.repeats != 1 {
			t.Errorf("%d messages were known", h.guests.repeats)
		}
	})
	t.Run("p085", func(t *testing.T) {
		t.Parallel()
		other := open(t)
		for code, part := range map[int]string{4004: "Reset Token", 4010: "shard", 4011: "shards", 4012: "version", 4013: "intent", 4014: "Message Content Intent"} {
			var bell bell
			h := newHouse(t, bell.listen)
			ended := make(chan error, 1)
			go func() { ended <- h.Run(t.Context(), h.guests) }()
			h.await("connection", h.Ready)
			h.fake.Refuse(code)
			h.fake.CloseAll(code)
			var fatal *discord.FatalError
			// It ends by itself, so that nothing is left for a shutdown to wait for.
			if err := <-ended; !errors.As(err, &fatal) || fatal.Code != code {
				t.Errorf("%d: error %v", code, err)
			}
			if n := len(h.fake.Identifies()); n > 2 {
				t.Errorf("%d: %d attempts", code, n)
			}
			if c := h.Connection(); c.State != core.Refused || !strings.Contains(c.Error, part) {
				t.Errorf("%d: it stands at %+v", code, c)
			}
			if n := len(bell.alerts()); n != 1 {
				t.Errorf("%d: the operator is told %d times", code, n)
			}
		}
		other.fake.Say("100", "700", "<@800> hi")
		other.heard(1)
	})
	t.Run("p086", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		h.fake.Switch(discordtest.IntentMessageContent, false)
		var fatal *discord.FatalError
		err := h.Run(t.Context(), h.guests)
		if !errors.As(err, &fatal) || fatal.Code != 4014 || len(h.fake.Identifies()) != 1 {
			t.Errorf("error %v after %d attempts", err, len(h.fake.Identifies()))
		}
		for _, part := range []string{"Message Content Intent", "https://discord.com/developers/applications"} {
			if !strings.Contains(fmt.Sprint(err), part) {
				t.Errorf("the error does not name %s: %v", part, err)
			}
		}
	})
	t.Run("p089", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(t *testing.T) {
			h := bubbleOpen(t)
			h.Retry(30 * time.Second)
			time.Sleep(time.Hour)
			before := h.Connection()
			h.fake.Inject(discordtest.Fault{Path: "/gateway/bot", Status: 503, Times: 2})
			h.fake.ForgetSessions()
			lost := time.Now()
			h.fake.CloseAll(4007)
			synctest.Wait()
			if c := h.Connection(); c.State != core.Reconnecting || c.Attempt != 1 || !c.Next.After(lost) || !c.Since.Equal(lost) || h.Ready() {
				t.Errorf("at once: %+v", c)
			}
			time.Sleep(2 * time.Minute)
			if c := h.Connection(); !h.Ready() || c.Attempt != 0 || !c.Next.IsZero() || c.Error != "" || !c.Since.After(before.Since) {
				t.Errorf("afterwards: %+v", c)
			}
		})
	})
}

// table is a table of n commands, the first of which are the real ones.
func table(n int) []core.Command {
	all := slices.Clone(core.Commands)
	for i := len(all); i < n; i++ {
		all = append(all, core.Command{Name: fmt.Sprintf("more%d", i), Help: "One of many", Who: core.Anyone})
	}
	return all
}

func (h *house) registered() (names []string) {
	for _, raw := range h.fake.Commands() {
		var c struct{ Name string }
		if err := json.Unmarshal(raw, &c); err != nil {
			h.t.Error(err)
		}
		names = append(names, c.Name)
	}
	return names
}

func TestCasesOfRegistration(t *testing.T) {
	t.Parallel()
	t.Run("p106", func(t *testing.T) {
		t.Parallel()
		var bell bell
		h := newHouse(t, bell.listen)
		h.Offer(table(130))
		h.start()
		h.await("registration", func() bool { return len(h.fake.Commands()) == 100 })
		if got := h.registered(); got[0] != "model" || slices.Contains(got, "more100") || !slices.Contains(got, "help") {
			t.Errorf("registered %q", got)
		}
		h.await("alert", func() bool { return len(bell.alerts()) == 1 })
		for _, text := range []string{bell.alerts()[0].Text, h.log.String()} {
			if !strings.Contains(text, "more100") || !strings.Contains(text, "more129") || strings.Contains(text, "more99,") {
				t.Errorf("the names that were left out: %s", text)
			}
		}
	})
	t.Run("p106 refused", func(t *testing.T) {
		t.Parallel()
		var bell bell
		h := newHouse(t, bell.listen)
		h.fake.LeaveCommands("", "old")
		h.fake.Inject(discordtest.Fault{Method: "PUT", Path: "/applications/*/commands", Status: 400, Code: 30032, Message: "Maximum number of application commands reached (100)"})
		h.start()
		h.await("alert", func() bool { return len(bell.alerts()) == 1 })
		if got := h.registered(); !slices.Equal(got, []string{"old"}) {
			t.Errorf("registered %q", got)
		}
		h.fake.Say(h.fake.Direct("700"), "700", "/help")
		if m := h.heard(1); m.Text != "/help" {
			t.Errorf("heard %q", m.Text)
		}
		if n := len(h.fake.Requests("PUT", "")); n != 1 {
			t.Errorf("%d attempts", n)
		}
	})
	t.Run("p108", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		guilds := []string{"900", "901", "902", "903"}
		for i, g := range guilds {
			if i > 0 {
				h.fake.AddGuild(g, fmt.Sprint(300+i))
			}
			for j := range 25 {
				h.fake.LeaveCommands(g, fmt.Sprintf("old%d", j))
			}
		}
		h.fake.AddGuild("904", "310") // without old commands
		h.start()
		h.await("end of the old commands", func() bool {
			return !slices.ContainsFunc(guilds, func(g string) bool { return len(h.fake.GuildCommands(g)) > 0 })
		})
		h.fake.ForgetSessions()
		h.fake.DropAll()
		h.await("new session", func() bool { return len(h.fake.Identifies()) == 3 || len(h.fake.Identifies()) == 2 && h.Ready() })
		h.texts()
		puts := h.fake.Requests("PUT", "")
		var paths []string
		for _, p := range puts {
			paths = append(paths, p.Path)
		}
		if len(paths) != 5 || paths[0] != "/applications/801/commands" {
			t.Errorf("replaced %q", paths)
		}
		if n := len(h.fake.Requests("POST", "/applications/*/commands")) + len(h.fake.Requests("DELETE", "")); n != 0 || h.fake.Creates() > 25 {
			t.Errorf("%d single requests, %d creations", n, h.fake.Creates())
		}
	})
}

// What a command of the table says about who and where reaches Discord.
func TestCommandsSayWhoAndWhere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.Offer([]core.Command{{Name: "model", Help: "x", Who: core.Anyone}, {Name: "approve", Help: "y", Who: core.Admins}})
	h.start()
	h.await("registration", func() bool { return len(h.fake.Commands()) == 2 })
	var all []struct {
		Name        string
		Contexts    []int
		Installs    []int   `json:"integration_types"`
		Permissions *string `json:"default_member_permissions"`
	}
	for _, raw := range h.fake.Commands() {
		all = append(all, struct {
			Name        string
			Contexts    []int
			Installs    []int   `json:"integration_types"`
			Permissions *string `json:"default_member_permissions"`
		}{})
		if err := json.Unmarshal(raw, &all[len(all)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if all[0].Permissions != nil || all[1].Permissions == nil || *all[1].Permissions != "32" {
		t.Errorf("commands %+v", all)
	}
	for _, c := range all {
		if !slices.Equal(c.Contexts, []int{0, 1}) || !slices.Equal(c.Installs, []int{0}) {
			t.Errorf("command %+v", c)
		}
	}
}

// A post whose time is up while Discord has it wait is not sent a second time:
// it is known not to have left.
func TestP157(t *testing.T) {
	t.Parallel()
	inBubble(t, postWhoseTimeIsUp)
}

func postWhoseTimeIsUp(t *testing.T) {
	h := bubbleOpen(t)
	h.fake.Say("100", "700", "<@800> hi")
	m := h.heard(1)
	h.post(m.Target, core.PostStatus, "thinking", "n0", false) // opens the thread
	h.fake.Inject(discordtest.Fault{Method: "POST", Path: "/channels/*/messages", Status: 429, RetryAfter: 2 * time.Second})
	p := core.Post{Target: m.Target, Kind: core.PostAnswer, Text: "hello", Nonce: "n1"}
	began := time.Now()
	for range 2 { // Discord says no, and then our own limiter
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_, err := h.Post(ctx, p)
		cancel()
		if failed := sendError(t, err); failed.Unknown || failed.Permanent || failed.Refused() {
			t.Errorf("error %+v", failed)
		}
	}
	if took := time.Since(began); took > 500*time.Millisecond {
		t.Errorf("the caller waited %v", took)
	}
	var all sync.WaitGroup
	for range 2 { // and whoever sends twice all the same has one message
		all.Go(func() {
			if _, err := h.Post(t.Context(), p); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if posts := h.fake.Posts(m.Target.Thread.Channel); len(posts) != 2 || posts[1].Content != "hello" {
		t.Errorf("posts %+v", posts)
	}
	// Of one that nobody knows of whether it left, its nonce tells.
	p.Text, p.Nonce = "and more", "n2"
	since := time.Now().Add(-time.Minute)
	if _, found, err := h.Find(t.Context(), p, since); found || err != nil {
		t.Errorf("found %v, %v before it was sent", found, err)
	}
	held := h.fake.Hold("POST", "/channels/*/messages")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-held.Reached
		cancel()
		held.Drop()
	}()
	_, err := h.Post(ctx, p)
	if failed := sendError(t, err); !failed.Unknown {
		t.Errorf("error %+v", failed)
	}
	posts := h.fake.Posts(m.Target.Thread.Channel)
	if posted, found, err := h.Find(t.Context(), p, since); !found || err != nil || len(posts) != 3 || posted.ID != posts[2].ID {
		t.Errorf("found %v %+v, %v among %+v", found, posted, err, posts)
	}
}
