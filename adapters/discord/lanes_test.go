package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestLanesWithoutStatedLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLanes(globalRate), time.Now()
		var at []int
		for range 8 {
			if err := l.enter(t.Context(), "100", routePost, urgentFirst); err != nil {
				t.Fatal(err)
			}
			at = append(at, int(time.Since(start).Round(time.Second)/time.Second))
			l.leave("100", routePost, nil, nil)
		}
		if !slices.Equal(at, []int{0, 0, 0, 0, 0, 1, 2, 3}) {
			t.Errorf("requests left after %v seconds", at)
		}
	})
}

func TestLanesFollowWhatDiscordStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLanes(1000), time.Now()
		head := func(left int) http.Header {
			h := http.Header{}
			h.Set("X-RateLimit-Remaining", fmt.Sprint(left))
			h.Set("X-RateLimit-Reset-After", "2.5")
			return h
		}
		pass := func(route string, left int) time.Duration {
			if err := l.enter(t.Context(), "100", route, urgentFirst); err != nil {
				t.Fatal(err)
			}
			l.leave("100", route, head(left), nil)
			return time.Since(start)
		}
		for i := range 20 {
			if at := pass(routePost, 19-i); at != 0 {
				t.Fatalf("request %d left after %v", i, at)
			}
		}
		if at := pass(routeEdit, 5); at != 0 {
			t.Errorf("another route waited %v", at)
		}
		if at := pass(routePost, 5); at != 2500*time.Millisecond {
			t.Errorf("the exhausted route waited %v", at)
		}
	})
}

func TestLanesPauseForAGlobalLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLanes(globalRate), time.Now()
		if err := l.enter(t.Context(), "100", routePost, urgentFirst); err != nil {
			t.Fatal(err)
		}
		l.leave("100", routePost, nil, &refusal{status: 429, retryAfter: 3 * time.Second, global: true})
		if err := l.try("110", routeTyping); !errors.Is(err, errBusy) {
			t.Errorf("typing went out: %v", err)
		}
		if err := l.enter(t.Context(), "110", routePost, urgentFirst); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited != 3*time.Second {
			t.Errorf("another conversation waited %v", waited)
		}
	})
}

func TestLanesCrowdAndForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(globalRate)
		if err := l.try("100", routePost); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range maxWaiting {
			all.Go(func() {
				if err := l.enter(ctx, "100", routePost, urgentFirst); !errors.Is(err, context.Canceled) {
					t.Errorf("entered with %v", err)
				}
			})
		}
		synctest.Wait()
		if err := l.enter(ctx, "100", routePost, urgentFirst); !errors.Is(err, errCrowded) {
			t.Errorf("one more waits: %v", err)
		}
		cancel()
		all.Wait()
		l.leave("100", routePost, nil, nil)
		for i := range 10 * laneSweep {
			key := fmt.Sprint(i)
			if err := l.try(key, routePost); err != nil {
				t.Fatal(err)
			}
			l.leave(key, routePost, nil, nil)
			time.Sleep(time.Second)
		}
		if n := len(l.all); n > laneSweep {
			t.Errorf("%d lanes are kept", n)
		}
	})
}

// Whatever comes when, one request of a conversation is under way at a time,
// requests of one route and class keep their order, and everybody gets in.
func TestLanesKeepOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		type request struct {
			route         string
			class         int
			before, lasts time.Duration
			left          string
		}
		requests := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) request {
			return request{
				route:  rapid.SampledFrom([]string{routePost, routeEdit}).Draw(r, "route"),
				class:  rapid.IntRange(0, 1).Draw(r, "class"),
				before: time.Duration(rapid.IntRange(0, 3).Draw(r, "before")) * 100 * time.Millisecond,
				lasts:  time.Duration(rapid.IntRange(0, 3).Draw(r, "lasts")) * 100 * time.Millisecond,
				left:   rapid.SampledFrom([]string{"", "0", "1"}).Draw(r, "left"),
			}
		}), 1, 15).Draw(r, "requests")
		synctest.Test(t, func(t *testing.T) {
			l := newLanes(globalRate)
			var (
				all    sync.WaitGroup
				mu     sync.Mutex
				inside int
				order  = map[string][]int{}
			)
			for i, q := range requests {
				time.Sleep(q.before)
				all.Go(func() {
					if err := l.enter(t.Context(), "100", q.route, q.class); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if inside++; inside > 1 {
						t.Error("two requests are under way")
					}
					key := fmt.Sprint(q.route, q.class)
					order[key] = append(order[key], i)
					mu.Unlock()
					time.Sleep(q.lasts)
					mu.Lock()
					inside--
					mu.Unlock()
					h := http.Header{}
					if q.left != "" {
						h.Set("X-RateLimit-Remaining", q.left)
						h.Set("X-RateLimit-Reset-After", "1")
					}
					l.leave("100", q.route, h, nil)
				})
				synctest.Wait()
			}
			all.Wait()
			total := 0
			for key, list := range order {
				total += len(list)
				if !slices.IsSorted(list) {
					t.Errorf("%s left in the order %v", key, list)
				}
			}
			if total != len(requests) {
				t.Errorf("%d of %d requests got in", total, len(requests))
			}
		})
	})
}
