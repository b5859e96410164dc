package failover

import (
	"context"
	"time"
)

// storeWaits are the waits between tries of what the store does not take now;
// the last one repeats.
var storeWaits = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}

// triesUnseen are the tries, 7 s of them, after which a turn is held up.
const triesUnseen = 3

// insist asks the store again until its trouble is over. It gives up when
// the turn ends or the program stops.
func (t *Turn) insist(ctx context.Context, ask func() error) error {
	for try := 0; ; try++ {
		err := ask()
		if err == nil || !t.e.Passes(err) {
			return err
		}
		if try == 0 {
			t.e.Log.WarnContext(ctx, "the store is in trouble, and a turn waits for it", "err", err)
		}
		if try == triesUnseen && t.hooks.Held != nil {
			t.hooks.Held()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.hooks.Stopping:
			return ErrStopping
		case <-t.e.After(storeWaits[min(try, len(storeWaits)-1)]):
		}
	}
}
