package failover

import (
	"context"
	"time"

	"understudy/core/rescue"
)

// Output tells that assistant output has begun: a status notice that is due
// later would only disturb. It is called while a request is made.
func (t *Turn) Output() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.said, t.status.suspended = true, true
}

// Tool tells that a tool starts.
func (t *Turn) Tool() {
	t.run.ToolStarted()
	t.Output()
}

// armStatus starts the timer of the status notice once it has a due time.
func (t *Turn) armStatus() {
	due, ok := t.run.StatusAt()
	if !ok || t.hooks.Status == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status.armed {
		return
	}
	t.status.armed, t.status.due = true, due
	t.wg.Go(func() {
		defer rescue.Panic(t.e.Log, "the status notice of a turn")
		if d := due.Sub(t.e.Now()); d > 0 {
			select {
			case <-t.ctx.Done():
				return
			case <-t.e.After(d):
			}
		}
		t.sendStatus()
	})
}

func (t *Turn) sendStatus() {
	t.mu.Lock()
	send := !t.status.suspended && !t.status.sent && t.ctx.Err() == nil
	t.status.sent = t.status.sent || send
	t.mu.Unlock()
	if send {
		ctx, cancel := context.WithTimeout(t.ctx, 5*time.Second)
		defer cancel()
		t.hooks.Status(ctx)
	}
}

// resumeStatus lets the notice go out after all when output had begun and was
// taken back, and the turn goes on.
func (t *Turn) resumeStatus() {
	t.mu.Lock()
	t.status.suspended = t.run.tool
	due := t.status.armed && !t.status.suspended && !t.status.sent && !t.e.Now().Before(t.status.due)
	t.mu.Unlock()
	if due {
		t.wg.Go(func() {
			defer rescue.Panic(t.e.Log, "the status notice of a turn")
			t.sendStatus()
		})
	}
}

func (t *Turn) withdraw() {
	t.Output()
	t.cancel()
}

// End withdraws a status notice that was not sent and waits for one that is
// being sent.
func (t *Turn) End() {
	t.cancel()
	t.wg.Wait()
}
