package discord_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/adapters/discord"
	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

func TestIntents(t *testing.T) {
	t.Parallel()
	h := open(t)
	if got := h.fake.Identifies()[0].Intents; got != 1<<0|1<<9|1<<12|1<<15 {
		t.Errorf("intents %b", got)
	}
}

func TestRefusedForGood(t *testing.T) {
	t.Parallel()
	for code, part := range map[int]string{4004: "token", 4011: "shards", 4014: "Message Content Intent"} {
		h := newHouse(t)
		h.fake.Refuse(code)
		err := h.Run(t.Context(), h.guests)
		var fatal *discord.FatalError
		if !errors.As(err, &fatal) || fatal.Code != code || !strings.Contains(err.Error(), part) {
			t.Errorf("code %d: %v", code, err)
		}
		if n := len(h.fake.Identifies()); n != 1 {
			t.Errorf("code %d: %d attempts", code, n)
		}
		if h.Ready() {
			t.Errorf("code %d: it says that it is ready", code)
		}
	}
}

func TestTokenThatIsTakenAway(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ended := make(chan error, 1)
	go func() { ended <- h.Run(t.Context(), h.guests) }()
	h.await("connection", h.Ready)
	h.fake.Refuse(4004)
	h.fake.CloseAll(4004)
	var fatal *discord.FatalError
	if err := <-ended; !errors.As(err, &fatal) || fatal.Code != 4004 {
		t.Errorf("error %v", err)
	}
	if n := len(h.fake.Identifies()); n > 2 {
		t.Errorf("%d attempts", n)
	}
}

// discordgo names discord.com wherever the gateway was asked for.
func TestWhoCannotBeReachedIsNamed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.fake.Close()
	h.start()
	h.await("report", func() bool { return strings.Contains(h.log.String(), "connecting again") })
	log := h.log.String()
	address := strings.TrimSuffix(strings.TrimPrefix(h.fake.URL, "http://"), "/api")
	if strings.Contains(log, "discord.com") || !strings.Contains(log, "connect to Discord: GET gateway/bot: dial tcp "+address) {
		t.Errorf("the log says %s", log)
	}
}

// conversation says something, does something to the connection, says something
// more and checks that both are heard once and in order.
func conversation(t *testing.T, h *house, trouble func()) {
	t.Helper()
	dm := h.fake.Direct("700")
	h.fake.Say(dm, "700", "before")
	h.heard(1)
	trouble()
	h.fake.Say(dm, "700", "during")
	h.fake.Say("100", "700", "<@800> also during")
	h.await("connection", func() bool { return len(h.fake.Identifies()) > 1 && h.fake.Connected() == 1 && h.Ready() })
	h.fake.Say(dm, "700", "after")
	if got := h.texts(); !slices.Equal(got, []string{"before", "during", "also during", "after"}) &&
		!slices.Equal(got, []string{"before", "also during", "during", "after"}) {
		t.Errorf("heard %q", got)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(*discordtest.Server){
		"cut":    (*discordtest.Server).DropAll,
		"closed": func(s *discordtest.Server) { s.CloseAll(4000) },
		"asked":  (*discordtest.Server).AskReconnect,
		"replays too much": func(s *discordtest.Server) {
			s.ReplayMore(1)
			s.DropAll()
		},
		"goes silent": func(s *discordtest.Server) {
			s.Mute(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			if name == "goes silent" {
				h.fake.Heartbeat(50 * time.Millisecond)

			}
			h.start()
			h.await("connection", h.Ready)
			conversation(t, h, func() {
				trouble(h.fake)
				h.await("end of the connection", func() bool { return h.fake.Connected() == 0 })
				h.fake.Mute(false)
			})
			ids := h.fake.Identifies()
			if !ids[1].Resume {
				t.Errorf("the connection was not resumed: %+v", ids)
			}
			h.guests.mu.Lock()
			defer h.guests.mu.Unlock()
			if replayed := name == "replays too much"; (h.guests.repeats > 0) != replayed {
				t.Errorf("%d messages came twice", h.guests.repeats)
			}
		})
	}
}

// After a gap that is not replayed, every place is read in which something was
// said, whether or not it was before.
func TestGapThatIsNotReplayed(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.AddChannel(discordtest.Channel{ID: "500", Parent: "110", Type: discordtest.PublicThread})
	h.fake.Say("100", "700", "<@800> an earlier question")
	h.heard(1)
	h.fake.Say(h.fake.Direct("700"), "700", "before")
	h.heard(2)
	h.fake.ForgetSessions()
	h.fake.DropAll()
	for _, text := range []string{"one", "two", "three"} {
		h.fake.Say("100", "701", "<@800> "+text)
	}
	h.fake.Say(h.fake.Direct("700"), "700", "direct")
	h.fake.Say("500", "700", "in a thread")
	h.await("connection", func() bool { return len(h.fake.Identifies()) > 1 && h.fake.Connected() == 1 })
	h.fake.Say("100", "701", "<@800> four")
	h.heard(8)
	var inChannel []string
	for i := range 8 {
		if m := h.heard(i + 1); m.Target.Thread.Parent == "100" {
			inChannel = append(inChannel, m.Text)
		}
	}
	if want := []string{"an earlier question", "one", "two", "three", "four"}; !slices.Equal(inChannel, want) {
		t.Errorf("heard %q, want %q", inChannel, want)
	}
	for _, text := range []string{"direct", "in a thread"} {
		if !slices.Contains(h.heardTexts(), text) {
			t.Errorf("%q was not heard", text)
		}
	}
}

func seen(s core.Seen) func(context.Context) (core.Seen, error) {
	return func(context.Context) (core.Seen, error) { return s, nil }
}

// What was said while no process ran is read when it is told since when.
func TestGapBeforeTheStart(t *testing.T) {
	t.Parallel()
	h := newHouse(t, allow("100"), func(c *discord.Config) { c.Seen = seen(core.Seen{At: time.Now().Add(-time.Minute)}) })
	h.fake.Say("100", "700", "<@800> long ago", discordtest.WithID("123"))
	h.fake.Say("110", "700", "<@800> not allowed")
	h.fake.Say("100", "700", "<@800> lately")
	h.start()
	if m := h.heard(1); m.Text != "lately" {
		t.Errorf("heard %q", m.Text)
	}
	for _, r := range h.fake.Requests("GET", "/channels/110/messages") {
		t.Errorf("a place where nobody is heard was read: %+v", r)
	}
}

// The roles of people who spoke during a gap have to be asked for.
func TestGapWithRoles(t *testing.T) {
	t.Parallel()
	h := open(t, allow("900", "role:77", "user:700"))
	h.fake.AddUser(discordtest.User{ID: "702", Name: "eve", Nick: "Eve", Roles: []string{"77"}})
	h.fake.Say("100", "700", "<@800> before")
	h.heard(1)
	h.fake.ForgetSessions()
	h.fake.DropAll()
	h.fake.Say("100", "701", "<@800> not allowed")
	h.fake.Say("100", "702", "<@800> during")
	if m := h.heard(2); m.Text != "during" || m.Author.Name != "Eve" {
		t.Errorf("heard %+v", m)
	}
}

func TestSessionThatIsInvalidated(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.Invalidate(false)
	h.await("connection", func() bool { return len(h.fake.Identifies()) > 1 && h.fake.Connected() == 1 })
	h.fake.Say(h.fake.Direct("700"), "700", "still there?")
	if m := h.heard(1); m.Text != "still there?" {
		t.Errorf("heard %q", m.Text)
	}
}

// discordgo hangs for ever when it is asked to reconnect in place of a
// greeting; the session is left behind and another one is made.
func TestReconnectInPlaceOfGreeting(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.fake.ReconnectFirst(1)
	h.start()
	h.await("connection", h.Ready)
	if n := len(h.fake.Identifies()); n < 2 {
		t.Errorf("%d attempts", n)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.fake.Inject(discordtest.Fault{Path: "/gateway/bot", Status: 500, Times: 2})
	h.start()
	h.await("connection", h.Ready)
}

func TestEndOfRun(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.Say(h.fake.Direct("700"), "700", "hi")
	m := h.heard(1)
	started := time.Now()
	h.stop()
	if err := <-h.ended; err != nil || time.Since(started) > 2*time.Second {
		t.Errorf("Run took %v to end, with %v", time.Since(started), err)
	}
	h.ended <- nil
	h.post(m.Target, core.PostAnswer, "one last thing", "n1", false)
}
