package slack

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"understudy/core"
)

// longGone is how long an account may be out of reach before somebody is told.
const longGone = 2 * time.Minute

// standing is how the account stands. Of two sockets that are open for a while, one
// after the other, either makes it connected.
type standing struct {
	account string
	alert   func(core.Alert)

	mu    sync.Mutex
	now   core.Connection
	open  int       // connections that Slack has greeted
	ever  bool      // there was one
	lost  time.Time // when the last one went
	alarm bool      // somebody was told
}

func newStanding(account string, alert func(core.Alert)) *standing {
	return &standing{account: account, alert: alert, now: core.Connection{State: core.Connecting, Since: time.Now()}}
}

// Connection is how the account stands.
func (a *Adapter) Connection() core.Connection {
	a.stand.mu.Lock()
	defer a.stand.mu.Unlock()
	return a.stand.now
}

// greeted notes a connection. It returns since when nothing was heard before
// it: the zero time for the first connection, and false while there was another.
func (l *standing) greeted() (gap time.Time, alone bool) {
	l.mu.Lock()
	l.open++
	l.ever = true
	if l.open > 1 {
		l.mu.Unlock()
		return time.Time{}, false
	}
	gap = l.lost
	l.now = core.Connection{State: core.Connected, Since: time.Now()}
	over := l.alarm
	l.alarm = false
	l.mu.Unlock()
	if over {
		l.tell("Slack can be reached again", true)
	}
	return gap, true
}

// hung notes that a connection has ended.
func (l *standing) hung() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.open == 0 {
		l.lost = time.Now()
		l.now = core.Connection{State: core.Reconnecting, Since: l.lost}
	}
}

// trying notes when the next attempt is made, and why there has to be one.
func (l *standing) trying(attempt int, next time.Time, err error) {
	l.mu.Lock()
	if l.open > 0 {
		l.mu.Unlock()
		return
	}
	if l.ever {
		l.now.State = core.Reconnecting
	}
	l.now.Attempt, l.now.Next, l.now.Error = attempt, next, fmt.Sprint(clean(err))
	var sent *disconnected
	alarm := !l.alarm && (errors.As(err, &sent) && sent.help() != "" || time.Since(l.now.Since) > longGone)
	l.alarm = l.alarm || alarm
	text := "Slack cannot be reached: " + l.now.Error
	l.mu.Unlock()
	if alarm {
		l.tell(text, false)
	}
}

// refused notes that Slack wants no more of the account.
func (l *standing) refused(err error) {
	l.mu.Lock()
	l.now = core.Connection{State: core.Refused, Since: time.Now(), Error: err.Error()}
	l.mu.Unlock()
	l.tell(err.Error(), false)
}

func (l *standing) tell(text string, over bool) {
	l.alert(core.Alert{Kind: "connection", Key: "slack:" + l.account, Text: text, Over: over})
}

// disconnected is Slack's word that it does not want this connection.
type disconnected struct{ reason string }

func (d *disconnected) Error() string {
	text := "Slack closed the socket: " + d.reason
	if help := d.help(); help != "" {
		text += " (" + help + ")"
	}
	return text
}

// help is what somebody must do before Slack will have a connection. Whatever
// it is may be done at any time, so the adapter goes on trying, slowly.
func (d *disconnected) help() string {
	switch d.reason {
	case "link_disabled":
		return "Socket Mode is off: switch it on under Settings, Socket Mode, of the app's settings"
	case "too_many_websockets":
		return "the app has ten sockets open already: end the other processes that use its tokens"
	}
	return ""
}
