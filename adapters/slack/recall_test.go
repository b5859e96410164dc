package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// texts are what was heard, in order.
func (r *rig) texts() string {
	var list []string
	for _, m := range r.bot.heard() {
		list = append(list, m.Text)
	}
	return strings.Join(list, " ")
}

// part cuts the connection and keeps the next one from being made until the
// returned function is called.
func (r *rig) part() (rejoin func()) {
	r.connected()
	hold := make(chan struct{})
	r.slack.Fail("apps.connections.open", slacktest.Fault{Hold: hold})
	r.slack.Drop()
	r.wait("no socket", func() bool { return r.slack.Connected() == 0 })
	return func() { close(hold) }
}

func TestWhatWasSaidInAGapIsRead(t *testing.T) {
	r := plainly(t)
	thread := r.slack.Say(slacktest.Channel, slacktest.User, atBot+"one")
	r.bot.next(t, 0)
	r.slack.Say(slacktest.DM, slacktest.User, "two")
	r.bot.next(t, 1)
	r.settled()
	rejoin := r.part()
	r.slack.Say(slacktest.DM, slacktest.User, "three")
	r.slack.Say(slacktest.Channel, slacktest.User, "four", slacktest.In(thread))
	edited := r.slack.Say(slacktest.Channel, slacktest.User, atBot+"fiv")
	r.slack.Edit(slacktest.Channel, edited, atBot+"five")
	r.slack.Say(slacktest.Channel, slacktest.User, "nobody asked the bot")
	r.slack.Say(slacktest.Channel, slacktest.User, "joined", slacktest.Subtype("channel_join"))
	gone := r.slack.Say(slacktest.DM, slacktest.User, "six")
	r.slack.Remove(slacktest.DM, gone)
	rejoin()
	r.bot.await(t, "what was missed", func() bool { return len(r.bot.messages) >= 5 })
	r.settled()
	got := " " + r.texts() + " "
	for _, want := range []string{"three", "four", "five"} {
		if strings.Count(got, " "+want+" ") != 1 {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
	if n := len(r.bot.heard()); n != 5 {
		t.Errorf("heard %s", got)
	}
	for _, m := range r.bot.heard() {
		if want := m.Text != "four"; m.Addressed != want {
			t.Errorf("%s: addressed %v", m.Text, m.Addressed)
		}
		if m.Text == "four" && m.Thread().Root != thread {
			t.Errorf("thread is %+v", m.Thread())
		}
	}
}

func TestMissedMessagesPassTheSameRules(t *testing.T) {
	r := start(t, slacktest.Config{}, set(func(c *Config) { c.Allow = []string{slacktest.Channel} }))
	r.slack.AddPerson(slacktest.Person{ID: "U0EXT", Name: "Eve", Team: "T0EXT"})
	r.slack.Share(slacktest.Channel)
	r.bot.next(t, r.hear(slacktest.Channel, atBot+"one"))
	rejoin := r.part()
	r.slack.Say(slacktest.Channel, "U0EXT", atBot+"from outside")
	r.slack.Say(slacktest.Channel, slacktest.OtherBot, atBot+"from a bot")
	r.slack.Say(slacktest.Channel, slacktest.User, atBot+"two")
	rejoin()
	r.bot.next(t, 1)
	r.settled()
	if got := r.texts(); got != "one two" {
		t.Errorf("heard %s", got)
	}
}

func TestMissedMessagesComeBeforeNewOnes(t *testing.T) {
	r := plainly(t)
	r.bot.next(t, r.hear(slacktest.DM, "1"))
	r.settled()
	rejoin := r.part()
	for n := range 3 {
		r.slack.Say(slacktest.DM, slacktest.User, fmt.Sprint(n+2))
	}
	reading := make(chan struct{})
	r.slack.Fail("conversations.history", slacktest.Fault{Hold: reading})
	rejoin()
	r.wait("the reading", func() bool { return len(r.slack.Calls("conversations.history")) > 0 })
	r.slack.Say(slacktest.DM, slacktest.User, "5") // while older ones are being read
	r.slack.Say(slacktest.Channel, slacktest.User, atBot+"elsewhere")
	if m := r.bot.next(t, 1); m.Text != "elsewhere" {
		t.Errorf("another conversation had to wait for %q", m.Text)
	}
	close(reading)
	r.bot.next(t, 5)
	r.settled()
	if got := r.texts(); got != "1 elsewhere 2 3 4 5" {
		t.Errorf("heard %s", got)
	}
}

func TestReadingWaitsForARateLimit(t *testing.T) {
	r := plainly(t)
	r.bot.next(t, r.hear(slacktest.DM, "one"))
	rejoin := r.part()
	r.slack.Say(slacktest.DM, slacktest.User, "two")
	r.slack.Fail("conversations.history", slacktest.Fault{RetryAfter: 1})
	rejoin()
	if m := r.bot.next(t, 1); m.Text != "two" {
		t.Errorf("heard %q", m.Text)
	}
	calls := r.slack.Calls("conversations.history")
	if len(calls) != 2 || calls[1].Time.Sub(calls[0].Time) < time.Second {
		t.Errorf("asked %+v", calls)
	}
}

func TestAMissedMessageIsTriedUntilItIsStored(t *testing.T) {
	r := plainly(t)
	r.bot.next(t, r.hear(slacktest.DM, "one"))
	rejoin := r.part()
	r.slack.Say(slacktest.DM, slacktest.User, "two")
	r.bot.mu.Lock()
	r.bot.fail = []error{errors.New("the disk is full"), errors.New("the disk is full")}
	r.bot.mu.Unlock()
	rejoin()
	r.bot.next(t, 1)
}

// seeing is a start at which earlier processes knew something.
func seeing(seen core.Seen, err error) func(*Config, *Adapter) {
	return set(func(c *Config) {
		c.Seen = func(context.Context) (core.Seen, error) { return seen, err }
	})
}

// place is a conversation of the account.
func place(channel, root string, kind core.Kind) core.Thread {
	return core.Thread{Platform: "slack", Account: "main", Workspace: slacktest.Team, Channel: channel, Root: root, Kind: kind}
}

func TestWhatWasSaidBeforeTheStartIsRead(t *testing.T) {
	s := serve(t, slacktest.Config{})
	thread := s.Say(slacktest.Channel, slacktest.User, atBot+"in the thread")
	s.Say(slacktest.Channel, slacktest.User, "reply", slacktest.In(thread))
	s.Say(slacktest.DM, slacktest.User, "direct")
	s.Say(slacktest.Channel2, slacktest.User, atBot+"in a place that is not known")
	other := place(slacktest.Channel2, "", core.KindChannel)
	other.Account = "other"
	seen := core.Seen{At: time.Now().Add(-time.Hour), Threads: []core.Thread{
		other, place(slacktest.Channel, thread, core.KindThread), place(slacktest.DM, "", core.KindDirect), place("C0GONE", "", core.KindChannel),
	}}
	r := begin(t, s, seeing(seen, nil))
	r.bot.next(t, 2)
	r.settled()
	if got := r.texts(); len(r.bot.heard()) != 3 || strings.Contains(got, "not known") {
		t.Errorf("heard %s", got)
	}
	for _, m := range r.bot.heard() {
		if m.Text == "reply" && m.Thread().Root != thread {
			t.Errorf("thread is %+v", m.Thread())
		}
	}
}

func TestNothingIsReadWithoutKnowledge(t *testing.T) {
	for name, change := range map[string]func(*Config, *Adapter){
		"no memory": nil,
		"empty":     seeing(core.Seen{Threads: []core.Thread{place(slacktest.DM, "", core.KindDirect)}}, nil),
		"broken":    seeing(core.Seen{}, errors.New("the disk is full")),
	} {
		s := serve(t, slacktest.Config{})
		s.Say(slacktest.DM, slacktest.User, "before")
		r := begin(t, s, change)
		r.bot.next(t, r.hear(slacktest.DM, "after"))
		r.settled()
		if got := r.texts(); got != "after" || len(s.Calls("conversations.history", "conversations.replies")) > 0 {
			t.Errorf("%s: heard %s", name, got)
		}
	}
}

func TestWhatIsReadIsBounded(t *testing.T) {
	r := newRecall()
	var threads []core.Thread
	for n := range 2 * recallPlaces {
		threads = append(threads, place("C1", fmt.Sprint(n), core.KindThread))
	}
	r.heard(threads...)
	r.heard(threads[0])
	got := r.places()
	if len(got) != recallPlaces || got[0].Root != "0" || got[1].Root != "" || got[2].Root != fmt.Sprint(2*recallPlaces-1) {
		t.Errorf("%d places: %+v", len(got), got[:3])
	}

	s := serve(t, slacktest.Config{})
	s.Say(slacktest.DM, slacktest.User, "long ago")
	rig := begin(t, s, seeing(core.Seen{At: time.Now().Add(-100 * 24 * time.Hour), Threads: []core.Thread{place(slacktest.DM, "", core.KindDirect)}}, nil))
	rig.bot.next(t, 0)
	calls := s.Calls("conversations.history")
	if len(calls) != 1 || stamp(calls[0].Args["oldest"]).time().Before(time.Now().Add(-recallAge-time.Minute)) || calls[0].Args["limit"] != fmt.Sprint(recallMessages) {
		t.Errorf("asked %+v", calls)
	}
}

func TestChatterDoesNotPushOutConversations(t *testing.T) {
	r := plainly(t)
	root := r.slack.Say(slacktest.Channel, slacktest.User, atBot+"one")
	r.bot.next(t, 0)
	for n := range 2 * recallPlaces {
		r.slack.Say(slacktest.Channel2, slacktest.OtherUser, fmt.Sprint(n), slacktest.Only("message"))
	}
	r.slack.Say(slacktest.Channel, slacktest.User, "two", slacktest.In(root))
	r.settled()
	// Conversations are taken up beside each other, so either may be the last.
	var got []string
	for _, p := range r.a.recall.places() {
		got = append(got, p.Channel+" "+p.Root)
	}
	slices.Sort(got)
	if want := []string{slacktest.Channel + " ", slacktest.Channel + " " + root, slacktest.Channel2 + " "}; !slices.Equal(got, want) {
		t.Errorf("places are %q, want %q", got, want)
	}
}

func TestStampOf(t *testing.T) {
	at := time.Unix(1700000001, 100_000)
	if s := stampOf(at); s != stampOne || !s.time().Equal(at) {
		t.Errorf("stamp is %s", s)
	}
}

func TestCasesMissed(t *testing.T) {
	t.Run("p094", func(t *testing.T) {
		var told alerts
		r := start(t, slacktest.Config{}, func(c *Config, a *Adapter) {
			c.Alert = told.add
			if a != nil {
				a.pace.audit, a.pace.grace = 50*time.Millisecond, 0
			}
		})
		r.bot.next(t, r.hear(slacktest.DM, "one"))
		r.settled()
		r.slack.Say(slacktest.DM, slacktest.User, "two", slacktest.Only("none"))
		if m := r.bot.next(t, 1); m.Text != "two" || !m.Addressed {
			t.Errorf("message is %+v", m)
		}
		eventually(t, "the log", func() bool { return strings.Contains(r.log.String(), "missed event") })
		if list := told.all(); len(list) > 0 {
			t.Errorf("once may happen: %+v", list)
		}
		for n := 2; len(told.all()) == 0; n++ { // until two audits in a row find one
			r.slack.Say(slacktest.DM, slacktest.User, "more", slacktest.Only("none"))
			r.bot.next(t, n)
			if n > 20 {
				t.Fatal("nobody is told")
			}
		}
		told.await(t, 2)
		if list := told.all(); list[0].Over || !list[1].Over || !strings.Contains(list[0].Text, "message.im") {
			t.Errorf("told %+v", list)
		}
	})
}
