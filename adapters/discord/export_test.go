package discord

import (
	"runtime"
	"time"
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
	}
}

// Distrust shortens how long a connection is waited for.
func (a *Adapter) Distrust(open time.Duration) { a.pace.open = open }

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
