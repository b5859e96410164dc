package admin

import "time"

// bucket lets one thing through per interval, and a burst after a silence. It
// counts in time: it is full at full, and each thing that is let through moves
// that moment on by one interval.
type bucket struct {
	every time.Duration
	burst int
	full  time.Time
}

// wait is how long it is until n things could go at once.
func (b *bucket) wait(n int, now time.Time) time.Duration {
	room := time.Duration(b.burst-min(n, b.burst)) * b.every
	return max(0, b.full.Sub(now)-room)
}

// take lets one thing through.
func (b *bucket) take(now time.Time) {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.every)
}

// retryWaits are the waits between tries while the channel refuses; the last
// one repeats.
var retryWaits = []time.Duration{
	time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute,
}

// retry holds the channel's queue back after a failure.
type retry struct {
	count int
	until time.Time
}

func (r *retry) failed(now time.Time, atLeast time.Duration) {
	r.until = now.Add(max(retryWaits[min(r.count, len(retryWaits)-1)], atLeast))
	r.count++
}

func (r *retry) succeeded() { *r = retry{} }
