package slack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// slack-go queues twenty acknowledgements; the next one waits for the socket,
// for as long as its context allows, and Ack has one that never ends.
func TestTrapAcknowledgementsThatBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := socketmode.New(slackgo.New(slacktest.BotToken))
		for n := range 20 {
			if err := c.AckCtx(t.Context(), fmt.Sprint("E", n), nil); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		last := make(chan error, 1)
		go func() { last <- c.AckCtx(ctx, "E20", nil) }()
		time.Sleep(time.Hour)
		select {
		case err := <-last:
			t.Errorf("slack-go does not wait any more: %v", err)
		default:
		}
		cancel()
		<-last

		ours, _ := pair(t) // of which nobody reads the other side
		l := newLink(ours, defaultPace)
		began := time.Now()
		for n := range 100 {
			l.ack(fmt.Sprint("E", n))
		}
		if took := time.Since(began); took > writeTimeout {
			t.Errorf("a hundred acknowledgements took %s", took)
		}
	})
}

// An acknowledgement can carry a reply, of less than 20 KB. Ours carries none:
// what there is to say has a way without that limit.
func TestTrapLargeAcknowledgements(t *testing.T) {
	c := socketmode.New(slackgo.New(slacktest.BotToken))
	large := map[string]string{"text": strings.Repeat("x", 20<<10)}
	if err := c.AckCtx(t.Context(), "E1", large); err == nil {
		t.Error("slack-go takes it now")
	}
	menu := core.Menu{Token: "t0k"}
	for n := range 400 {
		menu.Options = append(menu.Options, core.Choice{Label: fmt.Sprint(strings.Repeat("model ", 10), n), Value: fmt.Sprint("m", n)})
	}
	r := answering(t, core.Reply{Text: "Choose.", Menus: []core.Menu{menu}}, nil)
	_, id := r.slack.Slash(slacktest.Channel, slacktest.User, "/models", "")
	got := r.response(0)
	if n := len(got.Blocks); n < 20<<10 || strings.Count(string(got.Blocks), `"value"`) != 400 {
		t.Errorf("the reply has %d bytes", n)
	}
	if times, payload := r.slack.Acks(id); len(times) != 1 || payload != nil {
		t.Errorf("acknowledged %d times with %s", len(times), payload)
	}
}

// slack-go hears nothing but pings: a socket on which Slack talks all the time
// is given up without them. Ours lives by whatever comes.
func TestTrapDeadMan(t *testing.T) {
	s := serve(t, slacktest.Config{PingEvery: time.Hour})
	events, _ := theirSocket(t, s, socketmode.OptionPingInterval(100*time.Millisecond))
	await(t, events, socketmode.EventTypeHello)
	talking := make(chan struct{})
	quiet := make(chan struct{})
	go func() {
		defer close(quiet)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.SendEvent(event1(slacktest.DM, "im", stampOne, ""))
			case <-talking:
				return
			}
		}
	}()
	(&rig{T: t, slack: s}).wait("a second socket", func() bool { return s.Opened() > 1 })
	close(talking)
	<-quiet

	synctest.Test(t, func(t *testing.T) {
		_, _, slacks, ended := reading(t, func([]byte, func(string)) {})
		for range 30 { // ten minutes without a ping
			time.Sleep(20 * time.Second)
			send(t, slacks, `{"type":"events_api","envelope_id":"E1"}`)
		}
		last := time.Now()
		select {
		case <-ended:
			t.Fatal("a socket on which Slack talks was given up")
		default:
		}
		<-ended
		if silent := time.Since(last); silent != defaultPace.silence {
			t.Errorf("it was given up after %s", silent)
		}
	})
}

// Whoever does not take slack-go's events at once loses the socket: with the
// frames the pings are not read either, and the client waits for ever before it
// would connect again. Ours reads on however slow the store is, so that what
// does not need the store goes its way.
func TestTrapUndrainedEvents(t *testing.T) {
	s := serve(t, slacktest.Config{PingEvery: 10 * time.Millisecond, AckWithin: time.Hour})
	c := socketmode.New(theirs(t, s), socketmode.OptionPingInterval(200*time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.RunContext(ctx) }()
	r := &rig{T: t, slack: s}
	r.wait("a socket", func() bool { return s.Connected() > 0 })
	for n := range 2 * cap(c.Events) {
		s.SendEvent(event1(slacktest.DM, "im", fmt.Sprintf("1700000001.%06d", n), ""))
	}
	eventually(t, "the end of slack-go's patience", func() bool { return len(c.Events) == cap(c.Events) && s.Connected() == 0 })
	opened := s.Opened()
	s.SendEvent(event1(slacktest.DM, "im", stampTwo, ""))
	if s.Missed() == 0 || s.Opened() != opened {
		t.Error("slack-go connects again now")
	}
	cancel()
	<-ended

	r = answering(t, core.Reply{Text: "Still here."}, nil)
	r.bot.mu.Lock()
	r.bot.stuck = true
	r.bot.mu.Unlock()
	const held = 300
	for n := range held {
		r.slack.SendEvent(event1(slacktest.DM, "im", fmt.Sprintf("1700000001.%06d", n), ""))
	}
	_, id := r.slack.Slash(slacktest.DM, slacktest.User, "/help", "")
	r.response(0)
	r.wait("the acknowledgement of the command", func() bool { times, _ := r.slack.Acks(id); return len(times) == 1 })
	if n := len(r.slack.Unacked()); n < held {
		t.Errorf("%d envelopes are to be stored, want %d", n, held)
	}
}

// What finds no room is left to Slack, and the reader goes on.
func TestNothingWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newBot()
		h.stuck = true
		a := fuzzed(t, h)
		ctx, cancel := context.WithCancel(t.Context())
		in := newIntake(ctx, a)
		var left, taken int
		offer := func(e envelope) {
			in.accept(e, func(err error) {
				switch {
				case err == errCrowded:
					left++
				case err == nil:
					taken++
				}
			})
		}
		event := []byte(`{"event":{"type":"message","channel":"D1","user":"U1","text":"hi","ts":"1.000001"}}`)
		for range laneDepth + 10 {
			offer(envelope{Type: "events_api", Payload: event})
		}
		synctest.Wait()
		if left < 9 || taken > 0 {
			t.Errorf("%d messages are left to Slack, %d are taken", left, taken)
		}
		left = 0
		for range maxCalls + 10 { // beside those that run the rest waits
			in.start(func(ctx context.Context) { <-ctx.Done() }, func(err error) {
				if err == errCrowded {
					left++
				}
			})
		}
		if left != 10 {
			t.Errorf("%d commands are left to Slack", left)
		}
		cancel()
		in.wait()
		a.names.stop()
	})
}

// slack-go's handler runs every event on its own: a later one may overtake an
// earlier one of the same conversation.
func TestTrapUnorderedHandlers(t *testing.T) {
	s := serve(t, slacktest.Config{AckWithin: time.Hour})
	h := socketmode.NewSocketmodeHandler(socketmode.New(theirs(t, s)))
	h.HandleDefault(func(*socketmode.Event, *socketmode.Client) {})
	second, overtaken := make(chan struct{}), make(chan bool, 1)
	ctx, cancel := context.WithCancel(t.Context())
	h.HandleEvents(slackevents.Message, func(e *socketmode.Event, _ *socketmode.Client) {
		switch e.Data.(slackevents.EventsAPIEvent).InnerEvent.Data.(*slackevents.MessageEvent).Text {
		case "1":
			select {
			case <-second:
				overtaken <- true
			case <-ctx.Done():
			case <-time.After(patience):
				overtaken <- false
			}
		case "2":
			close(second)
		}
	})
	ended := make(chan error, 1)
	go func() { ended <- h.RunEventLoopContext(ctx) }()
	(&rig{T: t, slack: s}).wait("a socket", func() bool { return s.Connected() > 0 })
	s.Say(slacktest.DM, slacktest.User, "1")
	s.Say(slacktest.DM, slacktest.User, "2")
	if !<-overtaken {
		t.Error("slack-go waits for the first one now")
	}
	cancel()
	<-ended

	r := plainly(t)
	permits := make(chan struct{})
	r.bot.mu.Lock()
	r.bot.permits = permits
	r.bot.mu.Unlock()
	for n := range 3 {
		r.slack.Say(slacktest.DM, slacktest.User, fmt.Sprint(n+1))
	}
	for n := range 3 {
		permits <- struct{}{}
		if m := r.bot.next(t, n); m.Text != fmt.Sprint(n+1) {
			t.Errorf("message %d is %q", n, m.Text)
		}
	}
}

// slack-go's own HTTP client waits for ever.
func TestTrapNoTimeout(t *testing.T) {
	a, err := New(Config{BotToken: core.NewSecret(slacktest.BotToken), AppToken: core.NewSecret(slacktest.AppToken)})
	if err != nil {
		t.Fatal(err)
	}
	usual := http.DefaultTransport
	defer func() { http.DefaultTransport = usual }()
	synctest.Test(t, func(t *testing.T) {
		dead := roundTrip(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		http.DefaultTransport = dead
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := slackgo.New(slacktest.BotToken).AuthTestContext(ctx)
			ended <- err
		}()
		time.Sleep(24 * time.Hour)
		select {
		case err := <-ended:
			t.Errorf("slack-go has a limit now: %v", err)
		default:
		}
		cancel()
		<-ended

		a.http.Transport = dead
		began := time.Now()
		_, err := a.Post(t.Context(), post(core.Target{Thread: core.Thread{Channel: "C1"}}, "x"))
		if took := time.Since(began); !sendErr(t, err).Unknown || took != httpTimeout {
			t.Errorf("after %s: %v", took, err)
		}
	})
}
