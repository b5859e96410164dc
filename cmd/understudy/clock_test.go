package main

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// Timers fire at their exact moments and in order, however fast the clock.
func TestClockGoesFromTimerToTimer(t *testing.T) {
	c := newClock(1e6, false)
	start := c.Now()
	var mu sync.Mutex
	var got []time.Duration
	var wg sync.WaitGroup
	note := func() {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, c.Now().Sub(start))
	}
	wg.Go(func() {
		<-c.After(30 * time.Second)
		note()
	})
	wg.Go(func() {
		for _, d := range []time.Duration{2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 20 * time.Second} {
			<-c.After(d)
			note()
		}
	})
	wg.Wait()
	want := []time.Duration{2500 * time.Millisecond, 7500 * time.Millisecond, 17500 * time.Millisecond, 30 * time.Second, 37500 * time.Millisecond}
	if !slices.Equal(got, want) {
		t.Fatalf("the timers fired at %v, want %v", got, want)
	}
}

// A clock that follows the world does not overtake what is pending.
func TestClockDoesNotOvertakeATimer(t *testing.T) {
	c := newClock(1e6, true)
	start := c.Now()
	fired := c.After(time.Hour)
	for {
		select {
		case at := <-fired:
			if got := at.Sub(start); got < time.Hour || got > time.Hour+time.Minute {
				t.Fatalf("fired after %v", got)
			}
			return
		default:
			if now := c.Now(); now.Sub(start) > time.Hour+time.Minute && len(fired) == 0 {
				t.Fatalf("it is %v, and a timer of an hour has not fired", now.Sub(start))
			}
		}
	}
}
