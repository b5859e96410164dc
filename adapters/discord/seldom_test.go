package discord

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeldom(10 * time.Minute)
		for _, c := range []struct {
			after time.Duration
			key   string
			due   bool
		}{{0, "ann /model", true}, {0, "ann /model", false}, {0, "ann /new", true}, {0, "bob /model", true},
			{10*time.Minute - 1, "ann /model", false}, {1, "ann /model", true}, {time.Second, "ann /model", false}} {
			time.Sleep(c.after)
			if got := s.due(c.key); got != c.due {
				t.Errorf("%s after %v more: %v", c.key, c.after, got)
			}
		}
	})
}
