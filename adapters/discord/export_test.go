package discord

import "time"

// Hasten shortens the times that connecting takes.
func (a *Adapter) Hasten() {
	a.pace = pacing{
		open: 2 * time.Second, silence: 300 * time.Millisecond, look: 50 * time.Millisecond,
		retry:   []time.Duration{10 * time.Millisecond},
		healthy: time.Minute,
		admit:   []time.Duration{5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond},
	}
}
