package slack

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// alerts keeps what an operator was told.
type alerts struct {
	mu   sync.Mutex
	list []core.Alert
}

func (a *alerts) add(x core.Alert) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, x)
}

// await returns once an operator was told n things.
func (a *alerts) await(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprint(n, " alerts"), func() bool { return len(a.all()) >= n })
}

func (a *alerts) all() []core.Alert {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.list)
}

// connected returns once the adapter has been greeted, of which Slack does not
// know.
func (r *rig) connected() {
	r.Helper()
	eventually(r.T, "a connection", r.a.Connected)
}

// eventually returns once ok holds, of whose change nobody tells.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestStanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told alerts
		s := newStanding("main", told.add)
		a := &Adapter{stand: s}
		check := func(want core.Link, attempt int) {
			t.Helper()
			if c := a.Connection(); c.State != want || c.Attempt != attempt {
				t.Errorf("connection is %+v, want %s, attempt %d", c, want, attempt)
			}
		}
		check(core.Connecting, 0)
		s.trying(1, time.Now().Add(time.Second), errors.New("no route"))
		check(core.Connecting, 1)
		if gap, alone := s.greeted(); !gap.IsZero() || !alone {
			t.Errorf("the first connection has a gap: %v %v", gap, alone)
		}
		check(core.Connected, 0)
		if _, alone := s.greeted(); alone {
			t.Error("a second connection is not alone")
		}
		s.hung() // one of two
		s.trying(1, time.Now(), errors.New("late"))
		check(core.Connected, 0)
		lost := time.Now()
		s.hung()
		check(core.Reconnecting, 0)
		for n := range 10 {
			time.Sleep(30 * time.Second)
			s.trying(n+1, time.Now().Add(30*time.Second), errors.New("no route"))
			check(core.Reconnecting, n+1)
		}
		if list := told.all(); len(list) != 1 || list[0].Over || list[0].Key != "slack:main" {
			t.Errorf("told %+v", list)
		}
		if gap, _ := s.greeted(); !gap.Equal(lost) {
			t.Errorf("the gap began at %s, not %s", gap, lost)
		}
		check(core.Connected, 0)
		if list := told.all(); len(list) != 2 || !list[1].Over {
			t.Errorf("told %+v", list)
		}
		s.refused(errors.New("token_revoked"))
		check(core.Refused, 0)
	})
}

func TestCasesConnection(t *testing.T) {
	t.Run("p088", func(t *testing.T) {
		t.Run("quiet", quietSocketIsKept)
		t.Run("silent", silentSocketIsGivenUp)
	})
	t.Run("p089", func(t *testing.T) {
		r := plainly(t)
		r.connected()
		if c := r.a.Connection(); c.String() != "" {
			t.Fatalf("connection is %+v", c)
		}
		r.a.stand.mu.Lock()
		before := r.a.stand.now.Since
		r.a.stand.mu.Unlock()
		hold := make(chan struct{})
		r.slack.Fail("apps.connections.open", slacktest.Fault{Status: 503}, slacktest.Fault{Status: 503}, slacktest.Fault{Status: 503}, slacktest.Fault{Hold: hold})
		r.slack.Drop()
		r.wait("three attempts", func() bool { return len(r.slack.Calls("apps.connections.open")) >= 5 })
		c := r.a.Connection()
		if c.State != core.Reconnecting || c.Attempt < 3 || c.Next.IsZero() || c.Error == "" || !c.Since.After(before) {
			t.Errorf("connection is %+v", c)
		}
		if r.a.Connected() {
			t.Error("it says that it is connected")
		}
		close(hold)
		r.connected()
	})
	t.Run("p090, old sockets", refusedSocketIsClosed)
	t.Run("p090", func(t *testing.T) {
		if first, later := defaultPace.pause(0), defaultPace.pause(5); first < time.Second || later < 30*time.Second {
			t.Errorf("the pauses are %s, then %s", first, later)
		}
		for _, reason := range []string{"too_many_websockets", "link_disabled"} {
			var told alerts
			r := start(t, slacktest.Config{}, set(func(c *Config) { c.Alert = told.add }))
			r.connected()
			r.slack.Refuse(reason)
			r.slack.Drop()
			r.wait("six openings", func() bool { return len(r.slack.Calls("apps.connections.open")) >= 6 })
			calls := r.slack.Calls("apps.connections.open")
			for i, pause := range quick.pauses {
				if got := calls[i+1].Time.Sub(calls[i].Time); got < pause {
					t.Errorf("opening %d came after %s, want at least %s", i+1, got, pause)
				}
			}
			if c := r.a.Connection(); c.State != core.Reconnecting || c.Error == "" {
				t.Errorf("connection is %+v", c)
			}
			if list := told.all(); len(list) != 1 {
				t.Errorf("told %+v", list)
			}
			r.slack.Refuse("")
			told.await(t, 2)
			if list := told.all(); len(list) != 2 || !list[1].Over {
				t.Errorf("told %+v", list)
			}
		}
	})
}
