package sessions_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"understudy/sessions"
)

// counter hands out slots and notes in what order they were given.
type counter struct {
	slots   *sessions.Slots
	order   []string
	release map[string][]func()
}

func newCounter(n int) *counter {
	return &counter{slots: sessions.NewSlots(n), release: map[string][]func(){}}
}

func (c *counter) ask(who string, times int) {
	for range times {
		c.slots.Ask(who, func(release func()) {
			c.order = append(c.order, who)
			c.release[who] = append(c.release[who], release)
		})
	}
}

// done ends the oldest thing that somebody does.
func (c *counter) done(who string) {
	r := c.release[who][0]
	c.release[who] = c.release[who][1:]
	r()
}

func TestSlotsTakeTurns(t *testing.T) {
	c := newCounter(1)
	c.ask("flood", 100)
	c.ask("ann", 1)
	c.ask("bob", 2)
	for range 5 {
		c.done(c.order[len(c.order)-1])
	}
	if want := []string{"flood", "ann", "bob", "flood", "bob", "flood"}; !slices.Equal(c.order, want) {
		t.Errorf("served %q, want %q", c.order, want)
	}
}

// Whoever holds fewer goes first, whatever the order of asking.
func TestSlotsGoToThoseWhoHaveFew(t *testing.T) {
	c := newCounter(4)
	c.ask("flood", 10)
	c.ask("ann", 3)
	c.done("flood")
	c.done("flood")
	if want := []string{"flood", "flood", "flood", "flood", "ann", "ann"}; !slices.Equal(c.order, want) {
		t.Errorf("served %q, want %q", c.order, want)
	}
	c.done("flood") // two of four are Ann's
	if c.order[6] != "flood" {
		t.Errorf("served %q", c.order)
	}
}

// Whoever comes back after an answer has not lost their place to somebody who was
// served since.
func TestSlotsRememberWhoWasServed(t *testing.T) {
	c := newCounter(1)
	c.ask("flood", 100)
	for range 5 { // Ann asks again whenever she was answered
		c.ask("ann", 1)
		c.done("flood")
		c.done("ann")
	}
	if want := slices.Repeat([]string{"flood", "ann"}, 5); !slices.Equal(c.order[:10], want) {
		t.Errorf("served %q", c.order)
	}
}

// One person never has all of many slots: somebody else gets one at once, though
// none of the flood's ends.
func TestSlotsAreKeptFromOnePerson(t *testing.T) {
	for n, most := range map[int]int{1: 1, 7: 7, 8: 7, 64: 56} {
		c := newCounter(n)
		c.ask("flood", 1000)
		if len(c.order) != most {
			t.Errorf("of %d slots one person has %d, want %d", n, len(c.order), most)
		}
		if c.ask("ann", 1); most < n && c.order[len(c.order)-1] != "ann" {
			t.Errorf("of %d slots none was left", n)
		}
	}
}

// Whatever people do, no slot is given twice or lost, everybody is served in the
// end, and nobody is served twice while somebody waits who has nothing.
func TestSlotsStarveNobody(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(20)
		slots := sessions.NewSlots(n)
		waiting := map[string][]func() bool{} // withdraw, by person and in order
		held := map[string][]func(){}
		overtaken := map[[2]string]bool{} // the first waits with nothing, and the second was served since
		given := 0
		calm := func(who string) {
			for k := range overtaken {
				if k[0] == who {
					delete(overtaken, k)
				}
			}
		}
		grant := func(who string) func(func()) {
			return func(release func()) {
				if given++; given > n {
					t.Fatalf("seed %d: %d of %d slots are given", seed, given, n)
				}
				held[who] = append(held[who], release)
				waiting[who] = waiting[who][1:]
				calm(who)
				for other, w := range waiting {
					if len(w) == 0 || len(held[other]) > 0 || other == who {
						continue
					}
					if k := [2]string{other, who}; overtaken[k] {
						t.Fatalf("seed %d: %s was served twice while %s waits with nothing", seed, who, other)
					} else {
						overtaken[k] = true
					}
				}
			}
		}
		ask := func(who string) {
			at := len(waiting[who])
			waiting[who] = append(waiting[who], nil)
			withdraw := slots.Ask(who, grant(who))
			if at < len(waiting[who]) {
				waiting[who][at] = withdraw
			}
		}
		end := func() {
			who := fmt.Sprint("p", r.IntN(6))
			if h := held[who]; len(h) > 0 {
				release := h[0]
				held[who] = h[1:]
				given--
				release()
			}
		}
		for range 600 {
			switch r.IntN(6) {
			case 0, 1:
				ask("p0") // who asks most
			case 2:
				ask(fmt.Sprint("p", r.IntN(6)))
			case 3:
				who := fmt.Sprint("p", r.IntN(6))
				if w := waiting[who]; len(w) > 0 {
					i := r.IntN(len(w))
					if !w[i]() {
						t.Fatalf("seed %d: a claim that waits was given", seed)
					}
					if waiting[who] = slices.Delete(w, i, i+1); len(waiting[who]) == 0 {
						calm(who)
					}
				}
			default:
				end()
			}
		}
		left := func() (k int) {
			for _, w := range waiting {
				k += len(w)
			}
			return k + given
		}
		for tries := 0; left() > 0; tries++ {
			if end(); tries > 100_000 {
				t.Fatalf("seed %d: %d are never served", seed, left())
			}
		}
	}
}

// A claim whose context ends holds nothing, also when the slot comes at that
// moment.
func TestSlotsInARace(t *testing.T) {
	slots := sessions.NewSlots(3)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					go cancel()
				}
				if release, err := slots.Take(ctx, fmt.Sprint(i%4)); err == nil {
					release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	for range 3 { // all of them are there again
		if _, err := slots.Take(t.Context(), "last"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSlotsListenToTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := sessions.NewSlots(1)
		release, err := slots.Take(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { _, err := slots.Take(ctx, "bob"); ended <- err }()
		synctest.Wait()
		cancel()
		if err := <-ended; err != context.Canceled {
			t.Errorf("the error is %v", err)
		}
		release()
		if _, err := slots.Take(ctx, "bob"); err != context.Canceled {
			t.Errorf("with an ended context: %v", err)
		}
		if _, err := slots.Take(t.Context(), "ann"); err != nil {
			t.Error(err)
		}
	})
}
