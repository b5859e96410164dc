package core

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestLinger(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(context.WithValue(t.Context(), key{}, "v"), time.Minute)
		defer end()
		began := time.Now()
		later, cancel := Linger(ctx, Farewell)
		defer cancel()
		if _, ok := later.Deadline(); ok || later.Value(key{}) != "v" {
			t.Error("it has a deadline, or lost its values")
		}
		<-later.Done()
		if d := time.Since(began); d != time.Minute+Farewell {
			t.Errorf("it went on for %v", d)
		}
	})
}

// Nothing is left of one that is cancelled, before or after the other ended.
func TestLingerIsCancelled(t *testing.T) {
	for _, first := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			began := time.Now()
			later, cancel := Linger(ctx, time.Hour)
			if first {
				end()
				synctest.Wait()
				if later.Err() != nil {
					t.Error("it ended at once")
				}
			}
			cancel()
			if later.Err() == nil {
				t.Error("it goes on")
			}
			synctest.Wait() // a goroutine that is left would keep the bubble
			if time.Since(began) > 0 {
				t.Error("it took time")
			}
		})
	}
}
