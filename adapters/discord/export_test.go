package discord

import (
	"context"
	"net"
	"runtime"
	"time"

	"understudy/core"
)

// Hasten shortens the times that connecting takes.
func (a *Adapter) Hasten() {
	a.pace = pacing{
		open:     20 * time.Second,
		retry:    []time.Duration{10 * time.Millisecond},
		healthy:  time.Minute,
		invalid:  time.Millisecond,
		starts:   time.Millisecond,
		worry:    time.Minute,
		register: 10 * time.Millisecond,
		admit:    []time.Duration{5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond},
		entry:    usualPace.entry,
	}
}

// Slacken lengthens the times in which Discord has to answer, for a machine that
// has much else to do.
func (a *Adapter) Slacken() { a.pace.entry, a.places.patience = 30*time.Second, 30*time.Second }

// Wire leads connections to the gateway somewhere else.
func (a *Adapter) Wire(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	a.dial = dial
}

// Distrust shortens how long a connection is waited for.
func (a *Adapter) Distrust(open time.Duration) { a.pace.open = open }

// Recover sets how long a new session is waited with after Discord ended one,
// and how far apart sessions begin.
func (a *Adapter) Recover(invalid, starts time.Duration) {
	a.pace.invalid, a.pace.starts = invalid, starts
}

// Retry sets the time between attempts to connect.
func (a *Adapter) Retry(every time.Duration) { a.pace.retry = []time.Duration{every} }

// Offer replaces the table of commands.
func (a *Adapter) Offer(table []core.Command) { a.table = table }

// Worry shortens how long a connection may be missing.
func (a *Adapter) Worry(after time.Duration) { a.pace.worry = after }

// Waiting blocks until n requests wait for a conversation.
func (a *Adapter) Waiting(place string, n int) {
	for {
		a.lanes.mu.Lock()
		l := a.lanes.all[place]
		waiting := l != nil && l.queue() == n
		a.lanes.mu.Unlock()
		if waiting {
			return
		}
		runtime.Gosched()
	}
}
