package core

import (
	"context"
	"time"
)

// Farewell is how long what somebody was told to wait for may go on after the
// account has been told to end: the answer to a command whose work is done.
const Farewell = 3 * time.Second

// Linger is ctx, but it goes on for d after ctx has ended, and has no deadline
// of its own. Its values are those of ctx. It ends at once with cancel, which
// must be called.
func Linger(ctx context.Context, d time.Duration) (later context.Context, cancel context.CancelFunc) {
	later, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		left := time.NewTimer(d)
		defer left.Stop()
		select {
		case <-left.C:
			end()
		case <-later.Done():
		}
	})
	return later, func() {
		stop()
		end()
	}
}
