package discord_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
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

// bell keeps the alerts.
type bell struct {
	mu  sync.Mutex
	all []core.Alert
}

func (b *bell) listen(c *discord.Config) {
	c.Alert = func(a core.Alert) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.all = append(b.all, a)
	}
}

func (b *bell) alerts() []core.Alert {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all)
}

func TestRefusedForGood(t *testing.T) {
	t.Parallel()
	for code, part := range map[int]string{4004: "Reset Token", 4010: "shard", 4011: "shards", 4012: "update",
		4013: "intent", 4014: "Message Content Intent"} {
		var b bell
		h := newHouse(t, b.listen)
		h.fake.Refuse(code)
		err := h.Run(t.Context(), h.guests)
		var fatal *discord.FatalError
		if !errors.As(err, &fatal) || fatal.Code != code || !strings.Contains(err.Error(), part) {
			t.Errorf("code %d: %v", code, err)
		}
		if n := len(h.fake.Identifies()); n != 1 {
			t.Errorf("code %d: %d attempts", code, n)
		}
		if c := h.Connection(); c.State != core.Refused || h.Ready() || !strings.Contains(c.String(), part) {
			t.Errorf("code %d: it stands at %+v", code, c)
		}
		if all := b.alerts(); len(all) != 1 || all[0].Kind != "connection" || !strings.Contains(all[0].Text, part) {
			t.Errorf("code %d: the operator is told %+v", code, all)
		}
	}
}

// A token that the REST interface does not take needs no gateway to be refused.
func TestTokenThatIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *discord.Config) { c.Token = core.NewSecret("an old token") })
	var fatal *discord.FatalError
	if err := h.Run(t.Context(), h.guests); !errors.As(err, &fatal) || fatal.Code != 4004 {
		t.Errorf("error %v", err)
	}
	if n := len(h.fake.Requests("", "")); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// What a connection ends with decides whether its session goes on.
func TestWhatEndsASession(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		end    func(*discordtest.Server)
		resume bool
	}{
		{"4000", func(s *discordtest.Server) { s.CloseAll(4000) }, true},
		{"4001", func(s *discordtest.Server) { s.CloseAll(4001) }, true},
		{"4002", func(s *discordtest.Server) { s.CloseAll(4002) }, true},
		{"4003", func(s *discordtest.Server) { s.CloseAll(4003) }, true},
		{"4005", func(s *discordtest.Server) { s.CloseAll(4005) }, true},
		{"4007", func(s *discordtest.Server) { s.CloseAll(4007) }, false},
		{"4008", func(s *discordtest.Server) { s.CloseAll(4008) }, true},
		{"4009", func(s *discordtest.Server) { s.CloseAll(4009) }, false},
		{"1000", func(s *discordtest.Server) { s.CloseAll(1000) }, true},
		{"1001", func(s *discordtest.Server) { s.CloseAll(1001) }, true},
		{"an unknown code", func(s *discordtest.Server) { s.CloseAll(4999) }, true},
		{"op 7", (*discordtest.Server).AskReconnect, true},
		{"op 9, resumable", func(s *discordtest.Server) { s.Invalidate(true) }, true},
		{"op 9", func(s *discordtest.Server) { s.Invalidate(false) }, false},
		{"op 9 without a word", func(s *discordtest.Server) { s.SendRaw(`{"op":9,"d":null}`) }, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			x.end(h.fake)
			h.await("second attempt", func() bool { return len(h.fake.Identifies()) > 1 && h.fake.Connected() == 1 && h.Ready() })
			ids := h.fake.Identifies()
			if len(ids) != 2 || ids[1].Resume != x.resume {
				t.Errorf("attempts %+v", ids)
			}
			if want := map[bool]string{true: "/gateway/resume", false: "/gateway"}[x.resume]; strings.TrimSuffix(ids[1].Path, "/") != want {
				t.Errorf("the second attempt went to %s", ids[1].Path)
			}
			h.fake.Say(h.fake.Direct("700"), "700", "still there?")
			h.heard(1)
		})
	}
}

// An address for resumptions that leads nowhere is given up after some attempts,
// the session is not.
func TestResumeAddressThatIsDead(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.fake.ResumeAt("ws://127.0.0.1:1")
	h.start()
	h.await("connection", h.Ready)
	h.fake.DropAll()
	h.await("second attempt", func() bool { return len(h.fake.Identifies()) > 1 && h.Ready() })
	if id := h.fake.Identifies()[1]; !id.Resume || strings.TrimSuffix(id.Path, "/") != "/gateway" {
		t.Errorf("attempt %+v", id)
	}
	if n := strings.Count(h.log.String(), "connecting again"); n != 4 {
		t.Errorf("%d attempts failed", n)
	}
}

// An address that the operator has set is used for everything.
func TestGatewayAddressThatIsSet(t *testing.T) {
	t.Parallel()
	var address string
	h := newHouse(t, func(c *discord.Config) {
		address = "ws" + strings.TrimSuffix(strings.TrimPrefix(c.APIURL, "http"), "/api") + "/gateway/by-hand"
		c.GatewayURL = address
	})
	h.start()
	h.await("connection", h.Ready)
	h.fake.DropAll()
	h.await("second attempt", func() bool { return len(h.fake.Identifies()) > 1 && h.Ready() })
	for i, id := range h.fake.Identifies() {
		if id.Path != "/gateway/by-hand" || id.Resume != (i == 1) {
			t.Errorf("attempt %d: %+v", i, id)
		}
	}
}

// A session that cannot be resumed, whatever is tried, is given up.
func TestResumeThatNeverWorks(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.RefuseNext(3, 4000)
	h.fake.DropAll()
	h.await("new session", func() bool { return len(h.fake.Identifies()) == 5 && h.Ready() })
	for i, id := range h.fake.Identifies() {
		if id.Resume != (i > 0 && i < 4) {
			t.Errorf("attempt %d: %+v", i, id)
		}
	}
}

// What cannot be understood is passed over, and what follows is heard.
func TestOddFrames(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, f := range []string{`{}`, `[]`, `null`, `7`, `"x"`, `{`, ``, `{"op":null}`, `{"op":99,"d":{}}`, `{"op":"what"}`,
		`{"op":0,"t":null,"s":null,"d":null}`, `{"op":0,"t":"READY_SUPPLEMENTAL","s":"7","d":[]}`, `{"op":0,"t":7,"d":1}`,
		`{"op":0,"t":"MESSAGE_CREATE","d":null}`, `{"op":"11"}`, `{"op":11,"d":{"x":1},"y":2}`, `{"op":0,"t":"MESSAGE_CREATE","s":{},"d":{"id":{}}}`} {
		h.fake.SendRaw(f)
	}
	h.fake.Say(h.fake.Direct("700"), "700", "still there?")
	if m := h.heard(1); m.Text != "still there?" || len(h.fake.Identifies()) != 1 {
		t.Errorf("heard %+v after %d attempts", m, len(h.fake.Identifies()))
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			conversation(t, h, func() {
				trouble(h.fake)
				h.await("end of the connection", func() bool { // which may be over already
					return h.fake.Connected() == 0 || strings.Contains(h.log.String(), "not connected to Discord")
				})
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

// A switch that is off is named, with where it is.
func TestSwitchThatIsOff(t *testing.T) {
	t.Parallel()
	var b bell
	h := newHouse(t, b.listen)
	h.fake.Inject(discordtest.Fault{Method: "GET", Path: "/applications/@me", Status: 200, Body: `{"id":"801","flags":0}`})
	h.start()
	h.await("alert", func() bool { return len(b.alerts()) == 1 })
	if a := b.alerts()[0]; a.Kind != "switch" || !strings.Contains(a.Text, "Message Content Intent") || !strings.Contains(a.Text, "discord.com/developers") {
		t.Errorf("the operator is told %+v", a)
	}
}

// A frame that is larger than any of Discord's ends the connection, and no more:
// on the next one the bot hears what was said meanwhile.
func TestAFrameThatIsTooLarge(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.SendRaw(`{"op":0,"t":"TYPING_START","d":"` + strings.Repeat("x", 33<<20) + `"}`)
	h.fake.Say(h.fake.Direct("700"), "700", "still there?")
	if m := h.heard(1); m.Text != "still there?" {
		t.Errorf("heard %+v", m)
	}
}
