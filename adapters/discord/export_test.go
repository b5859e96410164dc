package discord

import (
	"runtime"
	"time"
)

// Hasten shortens the times that connecting takes.
func (a *Adapter) Hasten() {
	a.pace = pacing{
		open: 2 * time.Second, silence: 300 * time.Millisecond, look: 50 * time.Millisecond,
		retry:   []time.Duration{10 * time.Millisecond},
		healthy: time.Minute,
		admit:   []time.Duration{5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond},
	}
}

// Waiting blocks until n requests wait for a conversation.
func (a *Adapter) Waiting(place string, n int) {
	for {
		a.lanes.mu.Lock()
		l := a.lanes.all[place]
		waiting := l != nil && len(l.waiting[0])+len(l.waiting[1]) == n
		a.lanes.mu.Unlock()
		if waiting {
			return
		}
		runtime.Gosched()
	}
}
