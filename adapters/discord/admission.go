package discord

import (
	"context"
	"sync"
	"time"
)

// admission hands messages and changes to the handler in the order in which
// they came. What the handler cannot take now waits, and all that follows waits
// behind it.
type admission struct {
	run *run

	mu   sync.Mutex
	late []entry
}

type entry struct {
	what string // for the log
	do   func(context.Context) error
}

const (
	admitLimit = 10 * time.Second // for one offer
	maxLate    = 1000             // entries that may wait for the store
)

func newAdmission(r *run) *admission { return &admission{run: r} }

func (q *admission) admit(e entry) {
	q.mu.Lock()
	waiting := len(q.late) > 0
	if waiting {
		q.append(e)
	}
	q.mu.Unlock()
	if waiting {
		return
	}
	err := q.offer(e)
	if err == nil || q.run.ctx.Err() != nil {
		return
	}
	q.run.log.Error("a message could not be stored; trying again", "message", e.what, "error", err)
	q.mu.Lock()
	q.append(e)
	first := len(q.late) == 1
	q.mu.Unlock()
	if first {
		q.run.spawn("late admission", q.catchUp)
	}
}

// append adds an entry to those that wait. The lock is held.
func (q *admission) append(e entry) {
	if len(q.late) >= maxLate {
		q.run.log.Error("too many messages wait to be stored; one is lost", "message", e.what)
		return
	}
	q.late = append(q.late, e)
}

func (q *admission) offer(e entry) error {
	ctx, cancel := context.WithTimeout(q.run.ctx, admitLimit)
	defer cancel()
	return e.do(ctx)
}

// catchUp offers what waits until nothing does.
func (q *admission) catchUp(ctx context.Context) {
	schedule := q.run.pace.admit
	for try := 0; ; {
		q.mu.Lock()
		if len(q.late) == 0 {
			q.mu.Unlock()
			return
		}
		e := q.late[0]
		q.mu.Unlock()
		select {
		case <-time.After(schedule[min(try, len(schedule)-1)]):
		case <-ctx.Done():
			return
		}
		err := q.offer(e)
		if try++; err != nil && try < len(schedule) {
			continue
		}
		if err != nil {
			q.run.log.Error("a message could not be stored and is lost", "message", e.what, "error", err)
		}
		q.mu.Lock()
		q.late = q.late[1:]
		q.mu.Unlock()
		try = 0
	}
}
