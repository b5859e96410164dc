package main

import (
	"container/heap"
	"runtime/metrics"
	"sync"
	"time"
)

// clock is a clock on which time passes faster than in the world, and does not
// pass while the program computes: it goes from one timer to the next, each at
// its exact moment, after a pause that shortens the wait by the factor.
//
// With real set it also follows the world between timers, for somebody who
// types; it never overtakes a timer that is pending.
type clock struct {
	speed float64
	real  bool

	mu     sync.Mutex
	now    time.Time // of the last timer, or the start
	since  time.Time // in the world, when now was set
	timers timers
	wake   chan struct{}
}

// Before a timer fires the program must be at rest, so that the timers it sets
// in consequence of the last one are known: nothing runs, and nothing is about
// to, several looks in a row.
const (
	look     = 500 * time.Microsecond // in the world
	looks    = 4
	mostLook = 400 // a program that never rests does not stop the clock
)

// rest returns once the program is at rest. The scheduler's own counts tell it.
func rest() {
	counts := []metrics.Sample{{Name: "/sched/goroutines/running:goroutines"}, {Name: "/sched/goroutines/runnable:goroutines"}}
	for quiet, n := 0, 0; quiet < looks && n < mostLook; n++ {
		time.Sleep(look)
		metrics.Read(counts)
		if counts[0].Value.Uint64() <= 1 && counts[1].Value.Uint64() == 0 {
			quiet++ // the one that runs is this one
		} else {
			quiet = 0
		}
	}
}

// newClock starts a clock now.
func newClock(speed float64, real bool) *clock {
	start := time.Now()
	c := &clock{speed: speed, real: real, now: start.Round(0), since: start, wake: make(chan struct{}, 1)}
	go c.run()
	return c
}

// Now is the time on this clock.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at()
}

func (c *clock) at() time.Time {
	if !c.real {
		return c.now
	}
	t := c.now.Add(time.Duration(float64(time.Since(c.since)) * c.speed))
	if c.timers.Len() > 0 && c.timers.list[0].at.Before(t) {
		t = c.timers.list[0].at
	}
	return t
}

// After is time.After on this clock.
func (c *clock) After(d time.Duration) <-chan time.Time {
	t := &timer{ch: make(chan time.Time, 1)}
	c.mu.Lock()
	t.at = c.at().Add(max(d, 0))
	c.timers.seq++
	t.seq = c.timers.seq
	heap.Push(&c.timers, t)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return t.ch
}

// run fires the timers, the earliest first. It lives as long as the process.
func (c *clock) run() {
	for {
		c.mu.Lock()
		pause := time.Duration(-1)
		if c.timers.Len() > 0 {
			wait := c.timers.list[0].at.Sub(c.now)
			pause = max(0, time.Duration(float64(wait)/c.speed)-time.Since(c.since))
		}
		c.mu.Unlock()
		if pause < 0 {
			<-c.wake
			continue
		}
		select {
		case <-c.wake: // an earlier timer may have come
			continue
		case <-time.After(pause):
		}
		rest()
		c.mu.Lock()
		t := heap.Pop(&c.timers).(*timer)
		c.now, c.since = t.at, time.Now()
		t.ch <- t.at
		c.mu.Unlock()
	}
}

type timer struct {
	at  time.Time
	seq int // of two at one moment the one that was set first fires first
	ch  chan time.Time
}

// timers is a heap of timers.
type timers struct {
	list []*timer
	seq  int
}

func (t timers) Len() int { return len(t.list) }
func (t timers) Less(i, j int) bool {
	a, b := t.list[i], t.list[j]
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	return a.seq < b.seq
}
func (t timers) Swap(i, j int) { t.list[i], t.list[j] = t.list[j], t.list[i] }
func (t *timers) Push(x any)   { t.list = append(t.list, x.(*timer)) }
func (t *timers) Pop() any {
	n := len(t.list) - 1
	x := t.list[n]
	t.list = t.list[:n]
	return x
}
