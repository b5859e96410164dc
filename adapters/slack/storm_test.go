package slack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

func TestCasesSocket(t *testing.T) {
	t.Run("p096", func(t *testing.T) {
		r := plainly(t)
		for id, frame := range map[string]string{
			"E1": `{"envelope_id":"E1","type":"events_api","payload":{"type":"event_callback","team_id":"T0TEAM","event_id":"Ev1","event":{"type":"brand_new_event","x":1}}}`,
			"E2": `{"envelope_id":"E2","type":"events_api","payload":{"type":"event_callback","team_id":"T0TEAM","event_id":"Ev2","event":{"type":"message","channel":"D0DM","user":"U0USER","ts":1700000001.0001,"text":"hi"}}}`,
			"E3": `{"envelope_id":"E3","type":"brand_new_envelope","payload":{}}`,
			"E4": `{"envelope_id":"E4","type":"interactive","payload":{"type":"message_action","callback_id":7,"message":"what"}}`,
			"E5": `{"envelope_id":"E5","type":"events_api","payload":{"event":{"type":"message","message":7,"blocks":"x","files":{"a":1},"channel":"D0DM"}}}`,
		} {
			r.slack.SendFrame(id, []byte(frame))
		}
		r.settled()
		if m := r.bot.next(t, 0); m.Text != "hi" || m.ID != "1700000001.000100" {
			t.Errorf("message is %+v", m)
		}
	})
	t.Run("p097", func(t *testing.T) {
		r := start(t, slacktest.Config{}, func(_ *Config, a *Adapter) {
			if a != nil {
				a.pace.settled = 0 // the pauses do not grow
			}
		})
		const rounds = 60
		root := r.slack.Say(slacktest.Channel, slacktest.OtherUser, "root", slacktest.Only("none"))
		for i := range rounds {
			r.slack.Say(slacktest.Channel, slacktest.User, fmt.Sprint(atBot, i), slacktest.In(root), slacktest.Only("message"))
			time.AfterFunc(time.Duration(i)*100*time.Microsecond, r.slack.Drop) // around the acknowledgement
			r.bot.next(t, i)
			r.wait("a socket, and every acknowledgement", func() bool { return r.slack.Connected() > 0 && len(r.slack.Unacked()) == 0 })
		}
		r.settled()
		if n := len(r.bot.heard()); n != rounds {
			t.Errorf("%d messages", n)
		}
	})
	t.Run("p198", func(t *testing.T) {
		r := start(t, slacktest.Config{AckWithin: 300 * time.Millisecond}, func(_ *Config, a *Adapter) {
			if a != nil {
				a.pace.settled = 0
			}
		})
		r.bot.mu.Lock()
		r.bot.slow = 2 * time.Millisecond
		r.bot.mu.Unlock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := range 1000 {
				r.slack.SendEvent(event1(slacktest.DM, "im", fmt.Sprintf("17000%05d.000100", n), ""))
				if n%20 == 0 {
					r.slack.Drop()
				}
				if n%50 == 0 {
					r.slack.Disconnect([]string{"warning", "refresh_requested"}[n/50%2])
				}
			}
		}()
		<-done
		r.connected()
		r.bot.next(t, 0)
		began := time.Now()
		r.cancel()
		err := <-r.run
		r.run <- err // for the cleanup
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the end took %s", took)
		}
		if strings.Contains(r.log.String(), "panic") {
			t.Errorf("log is %s", r.log)
		}
	})
}

// A fault of ours in one message costs that message alone.
func TestPanicsAreSurvived(t *testing.T) {
	r := plainly(t)
	r.connected()
	r.bot.mu.Lock()
	r.bot.panics = true
	r.bot.mu.Unlock()
	r.slack.Say(slacktest.DM, slacktest.User, "boom")
	r.slack.Slash(slacktest.Channel, slacktest.User, "/help", "")
	eventually(t, "both faults in the log", func() bool { return strings.Count(r.log.String(), "panic=boom") == 2 })
	r.settled()
	r.bot.mu.Lock()
	r.bot.panics = false
	r.bot.reply = core.Reply{Text: "ok"}
	r.bot.mu.Unlock()
	r.bot.next(t, r.hear(slacktest.DM, "still there?"))
	r.slack.Slash(slacktest.Channel, slacktest.User, "/help", "")
	r.response(0)
}
