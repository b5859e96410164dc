package discord

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"understudy/core"
)

// standing keeps how the connections of an account stand. The account counts as
// connected while all of them are.
type standing struct {
	adapter *Adapter

	mu    sync.Mutex
	now   core.Connection
	legs  []leg
	was   bool        // connected before, in this run
	alarm *time.Timer // set while not connected
	told  bool        // the operator was told that it takes long
}

// leg is how one connection stands.
type leg struct {
	up      bool
	attempt int
	next    time.Time
	err     string
}

func newStanding(a *Adapter) *standing {
	return &standing{adapter: a, now: core.Connection{State: core.Connecting, Since: time.Now()}}
}

// Connection tells how the account stands with Discord.
func (a *Adapter) Connection() core.Connection {
	a.stand.mu.Lock()
	defer a.stand.mu.Unlock()
	return a.stand.now
}

// Ready reports whether the account is connected right now.
func (a *Adapter) Ready() bool { return a.Connection().State == core.Connected }

// begin starts a run; nothing of one before it counts.
func (s *standing) begin() {
	s.change(func() {
		s.legs, s.was, s.told = make([]leg, 1), false, false
		s.now = core.Connection{State: core.Connecting, Since: time.Now()}
	})
}

// split sets the number of connections; all of them are down.
func (s *standing) split(n int) {
	s.change(func() { s.legs = make([]leg, n) })
}

func (s *standing) up(n int) {
	s.change(func() { s.legs[n] = leg{up: true} })
}

// trying notes that an attempt is being made.
func (s *standing) trying(n int) {
	s.change(func() { s.legs[n].next = time.Time{} })
}

// waits notes that an attempt has to wait, and why.
func (s *standing) waits(n int, until time.Time, err error) {
	s.change(func() { s.legs[n].next, s.legs[n].err = until, err.Error() })
}

// down notes that a connection ended or did not come about, and when the next
// attempt is made.
func (s *standing) down(n int, next time.Time, err error) {
	s.change(func() { s.legs[n] = leg{attempt: s.legs[n].attempt + 1, next: next, err: err.Error()} })
}

// end is the end of a run, with the reason for which Discord refused it.
func (s *standing) end(err error) {
	s.change(func() {
		s.legs = nil
		var refused *FatalError
		if errors.As(err, &refused) {
			s.now = core.Connection{State: core.Refused, Since: time.Now(), Error: err.Error()}
		}
		s.calm()
	})
}

// calm stops the alarm about a missing connection. The lock is held.
func (s *standing) calm() {
	if s.alarm != nil {
		s.alarm.Stop()
		s.alarm = nil
	}
}

// change does something under the lock, works out how the account stands, and
// tells the operator what there is to tell.
func (s *standing) change(do func()) {
	s.mu.Lock()
	before := s.now.State
	do()
	s.sum()
	news := s.news(before)
	s.mu.Unlock()
	for _, n := range news {
		s.adapter.alert(n)
	}
}

// sum makes one state out of those of all connections. The lock is held.
func (s *standing) sum() {
	if s.now.State == core.Refused && len(s.legs) == 0 {
		return
	}
	sum := core.Connection{State: core.Connected}
	for n, l := range s.legs {
		if l.up {
			continue
		}
		sum.State = core.Connecting
		sum.Attempt = max(sum.Attempt, l.attempt)
		if sum.Next.IsZero() || !l.next.IsZero() && l.next.Before(sum.Next) {
			sum.Next = l.next
		}
		switch {
		case l.err == "":
		case len(s.legs) == 1:
			sum.Error = l.err
		default:
			sum.Error = fmt.Sprintf("shard %d: %s", n, l.err)
		}
	}
	switch {
	case len(s.legs) == 0:
		sum.State = core.Connecting
	case sum.State == core.Connected:
		s.was = true
	case s.was:
		sum.State = core.Reconnecting
	}
	sum.Since = time.Now()
	if sum.State == s.now.State {
		sum.Since = s.now.Since
	}
	s.now = sum
}

// news are the alerts about a change of state. The lock is held.
func (s *standing) news(before core.Link) []core.Alert {
	switch {
	case s.now.State == core.Refused && before != core.Refused:
		return []core.Alert{s.event("Discord refused the account, which is stopped: "+s.now.Error, false)}
	case s.now.State == core.Connected:
		s.calm()
		if s.told {
			s.told = false
			return []core.Alert{s.event("the account is connected again", true)}
		}
	case len(s.legs) > 0 && s.alarm == nil:
		s.alarm = time.AfterFunc(s.adapter.pace.worry, s.worry)
	}
	return nil
}

// worry tells the operator that the account has been away for long.
func (s *standing) worry() {
	s.mu.Lock()
	away := len(s.legs) > 0 && s.now.State != core.Connected && !s.told
	s.told = s.told || away
	text := fmt.Sprintf("the account has not been connected for %v: %v", s.adapter.pace.worry, s.now)
	s.mu.Unlock()
	if away {
		s.adapter.alert(s.event(text, false))
	}
}

func (s *standing) event(text string, over bool) core.Alert {
	return core.Alert{Kind: "connection", Key: s.adapter.name(), Text: s.adapter.name() + ": " + text, Over: over}
}

// name is what the account is called in alerts.
func (a *Adapter) name() string { return "discord " + a.config.Account }

// tellInvalid tells the operator that the account may be shut out.
func (a *Adapter) tellInvalid(text string, over bool) {
	a.log.Error(text)
	a.alert(core.Alert{Kind: "requests", Key: a.name(), Text: a.name() + ": " + text, Over: over})
}
