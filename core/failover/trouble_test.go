package failover

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core/llm"
)

// While the store is in trouble that may pass, a turn waits for it at every step
// and then goes on as if nothing had been. It ends with the program.
func TestATurnOutlastsTroubleOfTheStore(t *testing.T) {
	trouble := errors.New("no space")
	for _, op := range []string{"states", "update"} {
		for _, stops := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				x := newTheatre(Config{Passes: func(err error) bool { return errors.Is(err, trouble) }}, "a:p", "b:p")
				over := time.Now().Add(40 * time.Minute)
				x.shelf.fail = func(at string) error {
					if at == op && time.Now().Before(over) {
						return trouble
					}
					return nil
				}
				stopping, held := make(chan struct{}), 0
				turn := x.Begin(t.Context(), x.plan("a/m1", "b/m2"), Hooks{Stopping: stopping, Held: func() { held++ }})
				defer turn.End()
				if stops {
					time.AfterFunc(time.Minute, func() { close(stopping) })
				}
				answer, err := turn.Call(t.Context(), x.cast(map[string][]act{"a/m1": {gives(llm.RateLimit)}, "b/m2": {ok}}))
				switch {
				case stops && !errors.Is(err, ErrStopping):
					t.Errorf("%s: it ended with %v", op, err)
				case !stops && (err != nil || answer.Model != ref("b/m2") || len(x.calls) != 2 || x.shelf.states["a:p"].Models == nil):
					t.Errorf("%s: %+v, %v after %v, and booked was %+v", op, answer, err, x.calls, x.shelf.states)
				case held == 0 || held > 2: // b is booked as well
					t.Errorf("%s: held up %d times", op, held)
				}
			})
		}
	}
}
