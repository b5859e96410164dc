package slack

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

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
			"E6": `{"envelope_id":"E6","type":"events_api","payload":{"type":"event_callback","event":{"type":"another_new_event"}}}`,
			"E7": `{"envelope_id":"E7","type":"events_api","payload":"what"}`,
			"E8": `{"envelope_id" : "E8", "type": `,
		} {
			r.slack.SendFrame(id, []byte(frame))
		}
		r.settled()
		if m := r.bot.next(t, 0); m.Text != "hi" || m.ID != "1700000001.000100" {
			t.Errorf("message is %+v", m)
		}
		// Each cause is counted on its own.
		log := r.log.String()
		for cause, times := range map[string]int{"kind of event": 2, "kind of envelope": 1, "frame": 1} {
			if want := fmt.Sprintf(`times=%d`, times); !slices.ContainsFunc(strings.Split(log, "\n"), func(line string) bool {
				return strings.Contains(line, "passed over") && strings.Contains(line, "cause="+quotedIfSpaced(cause)+" ") && strings.Contains(line, want)
			}) {
				t.Errorf("%s is not counted %d times: %s", cause, times, log)
			}
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
	t.Run("p198", storm)
	t.Run("p198, the end", endWithoutAListener)
}

// quotedIfSpaced is a value as the log writes it.
func quotedIfSpaced(s string) string {
	if strings.Contains(s, " ") {
		return strconv.Quote(s)
	}
	return s
}

// storm: a slow store, and Slack hangs up two hundred times while it sends five
// times as much as is stored.
func storm(t *testing.T) {
	r := start(t, slacktest.Config{AckWithin: 300 * time.Millisecond}, func(_ *Config, a *Adapter) {
		if a != nil {
			a.pace.settled = 0 // the pauses do not grow
		}
	})
	const rounds = 200
	permits := make(chan struct{}, rounds)
	r.bot.mu.Lock()
	r.bot.permits = permits
	r.bot.mu.Unlock()
	for n := range rounds {
		for i := range 5 {
			r.slack.SendEvent(event1(slacktest.DM, "im", fmt.Sprintf("17000%05d.000100", 5*n+i), ""))
		}
		permits <- struct{}{}
		before := r.slack.Opened()
		switch n % 10 {
		case 3:
			r.slack.Disconnect("warning")
		case 7:
			r.slack.Disconnect("refresh_requested")
		default:
			r.slack.Drop()
		}
		r.wait("another socket", func() bool { return r.slack.Opened() > before && r.slack.Connected() > 0 })
	}
	r.connected()
	r.bot.next(t, 9) // messages went on being stored
	r.cancel()
	select {
	case err := <-r.run:
		r.run <- err // for the cleanup
	case <-time.After(patience):
		t.Fatal("Run does not end")
	}
	if strings.Contains(r.log.String(), "panic") {
		t.Errorf("log is %s", r.log)
	}
}

// endWithoutAListener: neither a store that does not answer nor a peer that
// reads nothing holds up the end.
func endWithoutAListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, slacks := pair(t)
		h := newBot()
		h.stuck = true
		a := fuzzed(t, h)
		a.pace = defaultPace
		ctx, cancel := context.WithCancel(t.Context())
		in := newIntake(ctx, a)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			a.read(ctx, newLink(ours, a.pace), in.take)
		}()
		for n := range 1000 {
			frame := fmt.Sprintf(`{"envelope_id":"E%d","type":"events_api","payload":{"event":{"type":"message","channel":"D%d","user":"U1","text":"hi","ts":"%d.000001"}}}`, n, n, n)
			if err := slacks.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		began := time.Now()
		cancel()
		<-ended
		in.wait()
		a.loose.Wait()
		a.names.stop()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the end took %s", took)
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
