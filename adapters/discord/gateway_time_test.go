package discord_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// The tests of this file say what a connection does when. They run in memory and
// in bubbles, so that they hold on any machine.

// After Discord ended a session, a new one waits a little.
func TestWaitAfterAnInvalidSession(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		h := bubbleHouse(t)
		h.Recover(time.Second, time.Millisecond)
		h.start()
		h.await("connection", h.Ready)
		began := time.Now()
		h.fake.Invalidate(false)
		h.await("new session", func() bool { return len(h.fake.Identifies()) == 2 })
		// The wait between attempts and that for the next session come on top.
		if waited := h.fake.Identifies()[1].At.Sub(began); waited < time.Second || waited > 5100*time.Millisecond {
			t.Errorf("waited %v", waited)
		}
	})
}

// One heartbeat an interval is sent, as Discord asks, and no connection lost.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		h := bubbleOpen(t)
		const every = 41250 * time.Millisecond
		time.Sleep(100 * every)
		if beats, late := h.fake.Heartbeats(); beats < 99 || beats > 101 || late != 0 || len(h.fake.Identifies()) != 1 {
			t.Errorf("%d heartbeats in 100 intervals, %d connections too late, attempts %+v", beats, late, h.fake.Identifies())
		}
	})
}

// Discord may ask for a heartbeat at any time.
func TestHeartbeatOnRequest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		h := bubbleOpen(t)
		before, _ := h.fake.Heartbeats()
		h.fake.AskHeartbeat()
		synctest.Wait()
		if after, _ := h.fake.Heartbeats(); after != before+1 {
			t.Errorf("%d heartbeats", after-before)
		}
	})
}

// A handler that takes its time is not mistaken for a dead connection.
func TestSlowHandlerIsNoDeadConnection(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		h := bubbleHouse(t)
		h.guests.pause = make(chan struct{})
		h.start()
		h.await("connection", h.Ready)
		h.fake.Say(h.fake.Direct("700"), "700", "hi")
		before, _ := h.fake.Heartbeats()
		time.Sleep(5 * time.Minute)
		if beats, _ := h.fake.Heartbeats(); beats < before+6 {
			t.Errorf("%d heartbeats in five minutes", beats-before)
		}
		close(h.guests.pause)
		h.heard(1)
		if n := len(h.fake.Identifies()); n != 1 {
			t.Errorf("%d attempts", n)
		}
	})
}

// A connection that stands open and says nothing any more is given up when a
// heartbeat was not acknowledged, and resumed.
func TestConnectionThatGoesSilent(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		h := bubbleOpen(t)
		h.Retry(5 * time.Second)    // by then Discord speaks again
		time.Sleep(5 * time.Minute) // it has sent heartbeats
		conversation(t, h, func() {
			h.fake.Mute(true)
			began := time.Now()
			for h.Ready() {
				time.Sleep(time.Second)
			}
			if took := time.Since(began); took > 2*41250*time.Millisecond+time.Second {
				t.Errorf("it was noticed after %v", took)
			}
			h.fake.Mute(false)
		})
		if ids := h.fake.Identifies(); !ids[1].Resume {
			t.Errorf("the connection was not resumed: %+v", ids)
		}
		h.guests.mu.Lock()
		defer h.guests.mu.Unlock()
		if h.guests.repeats != 0 {
			t.Errorf("%d messages came twice", h.guests.repeats)
		}
	})
}

// The end takes no time, and Discord learns of it.
func TestEndOfRun(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		h := bubbleOpen(t)
		h.fake.Say(h.fake.Direct("700"), "700", "hi")
		m := h.heard(1)
		started := time.Now()
		h.stop()
		if err := <-h.ended; err != nil || time.Since(started) > 0 {
			t.Errorf("Run took %v to end, with %v", time.Since(started), err)
		}
		h.ended <- nil
		synctest.Wait()
		if n := h.fake.Sessions(); n != 0 {
			t.Errorf("%d sessions are left: there was no goodbye", n)
		}
		if c := h.Connection(); c.State != core.Connecting || h.Ready() {
			t.Errorf("after the end it stands at %+v", c)
		}
		h.post(m.Target, core.PostAnswer, "one last thing", "n1", false)
	})
}

// While the connection is away, it says since when, how often it was tried and
// when that happens next; operators hear of it once, and once of its end.
func TestConnectionThatStaysAway(t *testing.T) {
	t.Parallel()
	inBubble(t, connectionThatStaysAway)
}

func connectionThatStaysAway(t *testing.T) {
	var b bell
	h := bubbleHouse(t, b.listen)
	h.Retry(30 * time.Second)
	h.Worry(2 * time.Minute)
	h.start()
	h.await("connection", h.Ready)
	up := h.Connection()
	if up.Attempt != 0 || !up.Next.IsZero() || up.Error != "" || up.String() != "" {
		t.Errorf("while connected: %+v", up)
	}
	h.fake.Refuse(4000)
	h.fake.DropAll()
	synctest.Wait()
	if c := h.Connection(); c.State != core.Reconnecting || c.Attempt != 1 || c.Error == "" || c.Since.Before(up.Since) {
		t.Errorf("away: %+v", c)
	}
	time.Sleep(2*time.Minute - time.Second)
	if c := h.Connection(); c.Attempt < 3 || c.Next.Before(time.Now()) || len(b.alerts()) != 0 {
		t.Errorf("away for long: %+v, alerts %+v", c, b.alerts())
	}
	time.Sleep(2 * time.Second)
	if len(b.alerts()) != 1 {
		t.Errorf("alerts %+v", b.alerts())
	}
	h.fake.Refuse(0)
	time.Sleep(time.Minute)
	all := b.alerts()
	if !h.Ready() || len(all) != 2 {
		t.Fatalf("it is ready: %v, alerts %+v", h.Ready(), all)
	}
	if all[0].Over || !all[1].Over || all[0].Kind != "connection" || all[0].Key != all[1].Key || !strings.Contains(all[0].Text, "reconnecting, attempt") {
		t.Errorf("the operator is told %+v", all)
	}
}
