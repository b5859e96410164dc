package discord_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/adapters/discord"
	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

// elsewhere is a guild that belongs to the second of two shards.
const elsewhere = "4194304"

func sharded(h *house, n int) *house {
	h.fake.AddGuild(elsewhere, "300")
	h.fake.Shards(n)
	return h
}

func (h *house) connected(shards int) {
	h.t.Helper()
	h.await("connection of every shard", func() bool { return h.Ready() && h.fake.Connected() == shards })
}

func TestShards(t *testing.T) {
	t.Parallel()
	h := sharded(newHouse(t), 2)
	h.start()
	h.connected(2)
	h.fake.Say("100", "700", "<@800> on the first")
	h.fake.Say("300", "700", "<@800> on the second")
	h.fake.Say(h.fake.Direct("700"), "700", "direct")
	h.heard(3)
	got := h.heardTexts()
	slices.Sort(got)
	if want := []string{"direct", "on the first", "on the second"}; !slices.Equal(got, want) {
		t.Errorf("heard %q", got)
	}
	var shards []int
	for _, id := range h.fake.Identifies() {
		shards = append(shards, id.Shard)
		if id.Shards != 2 || id.Resume {
			t.Errorf("attempt %+v", id)
		}
	}
	if slices.Sort(shards); !slices.Equal(shards, []int{0, 1}) {
		t.Errorf("shards %v", shards)
	}
	if n := strings.Count(h.log.String(), "connected to Discord"); n != 2 {
		t.Errorf("%d greetings are logged", n)
	}
	h.await("registration", func() bool { return len(h.fake.Commands()) == len(core.Commands) })
	if n := len(h.fake.Requests("GET", "/applications/*/commands")); n != 1 {
		t.Errorf("the commands were looked at %d times", n)
	}
}

// One shard that is away makes the account count as away; the other goes on.
func TestShardThatIsAway(t *testing.T) {
	t.Parallel()
	h := sharded(newHouse(t), 2)
	h.start()
	h.connected(2)
	h.fake.RefuseNext(1000, 4000)
	h.fake.Cut(1)
	h.await("the loss", func() bool { c := h.Connection(); return c.State == core.Reconnecting && c.Attempt > 1 })
	if c := h.Connection(); !strings.Contains(c.Error, "shard 1") {
		t.Errorf("it stands at %+v", c)
	}
	h.fake.Say("100", "700", "<@800> hi")
	h.heard(1)
	h.fake.RefuseNext(0, 0)
	h.connected(2)
}

// When Discord asks for more shards, the bot connects anew with as many as it
// says, and what was said meanwhile is read.
func TestMoreShards(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.fake.AddGuild(elsewhere, "300")
	h.start()
	h.connected(1)
	h.fake.Say("300", "700", "<@800> before")
	h.heard(1)
	h.fake.Shards(2)
	h.fake.ForgetSessions()
	h.fake.CloseAll(4011)
	h.fake.Say("300", "700", "<@800> during")
	h.fake.Say("100", "700", "<@800> also during")
	h.heard(3)
	h.connected(2)
	got := h.heardTexts()[1:]
	slices.Sort(got)
	if want := []string{"also during", "during"}; !slices.Equal(got, want) {
		t.Errorf("heard %q", got)
	}
}

// Sessions begin as slowly as Discord wants.
func TestSessionsBeginOneAfterAnother(t *testing.T) {
	t.Parallel()
	const apart = 5250 * time.Millisecond
	for name, concurrency := range map[string]int{"one at a time": 1, "two at a time": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				h := sharded(bubbleHouse(t), 4)
				h.Recover(time.Millisecond, apart)
				h.fake.LimitStarts(discordtest.StartLimit{Remaining: 100, Reset: time.Hour, MaxConcurrency: concurrency, Every: 5 * time.Second})
				began := time.Now()
				h.start()
				h.connected(4)
				if n := len(h.fake.Identifies()); n != 4 {
					t.Errorf("%d attempts: Discord refused some", n)
				}
				if took, want := time.Since(began), time.Duration(4/concurrency-1)*apart; took < want || took > want+time.Second {
					t.Errorf("took %v, not %v", took, want)
				}
			})
		})
	}
}

// A bot that has connected too often waits until it may again, and says so.
func TestSessionsOfADayAreUsedUp(t *testing.T) {
	t.Parallel()
	inBubble(t, sessionsOfADayAreUsedUp)
}

func sessionsOfADayAreUsedUp(t *testing.T) {
	var b bell
	h := bubbleHouse(t, b.listen)
	const day = 20 * time.Hour
	h.fake.LimitStarts(discordtest.StartLimit{Remaining: 0, Reset: day})
	began := time.Now()
	h.start()
	synctest.Wait()
	if c := h.Connection(); !strings.Contains(c.String(), "as often as Discord allows") || c.Next.Sub(began) < day {
		t.Errorf("it stands at %+v", c)
	}
	time.Sleep(day - time.Second)
	if n := len(h.fake.Identifies()); n != 0 {
		t.Errorf("%d attempts before the day was over", n)
	}
	time.Sleep(2 * time.Second)
	if ids := h.fake.Identifies(); !h.Ready() || len(ids) != 1 || ids[0].At.Sub(began) < day {
		t.Errorf("attempts %+v, it stands at %+v", ids, h.Connection())
	}
	all := slices.DeleteFunc(b.alerts(), func(a core.Alert) bool { return a.Kind == "connection" })
	if len(all) != 2 || all[0].Kind != "sessions" || all[0].Over || !all[1].Over || all[1].Key != all[0].Key {
		t.Errorf("the operator is told %+v", all)
	}
}

// What earlier processes knew is read at the start: channels in which something
// was said since, threads that are archived by now, and direct messages.
func TestWhatEarlierProcessesKnew(t *testing.T) {
	t.Parallel()
	thread := func(channel, parent string) core.Thread {
		return core.Thread{Platform: "discord", Account: "main", Workspace: "900", Channel: channel, Parent: parent, Kind: core.KindThread}
	}
	known := core.Seen{At: time.Now().Add(-time.Minute)}
	h := newHouse(t, func(c *discord.Config) {
		c.Seen = func(context.Context) (core.Seen, error) { return known, nil }
	})
	dm := h.fake.Direct("700")
	h.fake.AddChannel(discordtest.Channel{ID: "500", Parent: "100", Type: discordtest.PublicThread})
	known.Threads = []core.Thread{thread("500", "100"),
		{Platform: "discord", Account: "main", Channel: dm, Kind: core.KindDirect},
		{Platform: "discord", Account: "another", Channel: "110", Workspace: "900", Kind: core.KindChannel}}
	h.fake.Say("100", "700", "<@800> long ago", discordtest.WithID("123"))
	h.fake.Say("500", "700", "<@800> in an archived thread")
	h.fake.Change("500", func(c *discordtest.Channel) { c.Archived = true })
	h.fake.Say(dm, "700", "direct")
	h.fake.Say("100", "700", "<@800> in a channel")
	h.start()
	h.heard(3)
	got := h.heardTexts()
	slices.Sort(got)
	if want := []string{"direct", "in a channel", "in an archived thread"}; !slices.Equal(got, want) {
		t.Errorf("heard %q", got)
	}
}

// What was said more than a day ago is not answered any more.
func TestWhatIsTooOld(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *discord.Config) { c.Seen = seen(core.Seen{At: time.Now().Add(-72 * time.Hour)}) })
	old := fmt.Sprint(uint64(time.Now().Add(-25*time.Hour).UnixMilli()-1420070400000) << 22)
	h.fake.Say("100", "700", "<@800> yesterday", discordtest.WithID(old))
	h.fake.Say("100", "700", "<@800> today")
	h.start()
	if m := h.heard(1); m.Text != "today" {
		t.Errorf("heard %q", m.Text)
	}
}

// A channel in which much was said does not keep the others waiting, and its own
// order is kept, with what is said meanwhile at its end.
func TestBusyChannelStarvesNobody(t *testing.T) {
	t.Parallel()
	inBubble(t, busyChannelStarvesNobody)
}

func busyChannelStarvesNobody(t *testing.T) {
	h := bubbleHouse(t, func(c *discord.Config) { c.Seen = seen(core.Seen{At: time.Now().Add(-time.Minute)}) })
	for i := range 130 {
		h.fake.Say("100", "700", fmt.Sprintf("<@800> %d", i))
	}
	h.fake.Say("110", "701", "<@800> the quiet one")
	h.start()
	h.connected(1)
	h.fake.Say("100", "700", "<@800> 130")
	h.heard(132)
	var busy []string
	for i, text := range h.heardTexts() {
		if text == "the quiet one" {
			if i > 60 {
				t.Errorf("the quiet channel was heard as number %d", i)
			}
			continue
		}
		busy = append(busy, text)
	}
	for i, text := range busy {
		if text != fmt.Sprint(i) {
			t.Fatalf("message %d of the busy channel is %q", i, text)
		}
	}
}

// What was said in a channel is read up to a bound, of which the log tells; what
// is said afterwards is heard.
func TestFloodDuringAGap(t *testing.T) {
	t.Parallel()
	inBubble(t, floodDuringAGap)
}

func floodDuringAGap(t *testing.T) {
	h := bubbleHouse(t, func(c *discord.Config) { c.Seen = seen(core.Seen{At: time.Now().Add(-time.Minute)}) })
	for i := range 520 {
		h.fake.Say("100", "700", fmt.Sprintf("<@800> %d", i))
	}
	h.start()
	h.await("end of the reading", func() bool { return strings.Contains(h.log.String(), "the rest is passed over") })
	h.fake.Say("100", "700", "<@800> live")
	if m := h.heard(501); m.Text != "live" {
		t.Errorf("after the bound %q was heard", m.Text)
	}
}
