package delivery

import (
	"context"
	"errors"
	"strings"
	"time"

	"understudy/core"
)

// sendWaits are the waits between the tries of a send that the platform
// refuses. One that did not come to that is put off in the same steps, with
// the last one repeated.
var sendWaits = []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}

// storeWaits are the waits between the tries of a write to the store. A row
// whose state cannot be written then is left to the next start.
var storeWaits = []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 60 * time.Second, 120 * time.Second}

const (
	// outagePatience is how long a post is put off because the platform cannot
	// be reached, or asks for time, and queuePatience how long it may wait for
	// our own limits. Both count from the first try of this process: an outage
	// must not cost the answers of the time before it.
	outagePatience = 10 * time.Minute
	queuePatience  = 30 * time.Minute
	// troubleWait is the longest wait for a store in trouble: what is ready goes
	// out that soon after the trouble is over.
	troubleWait = 16 * time.Second
	// triesUnseen are the tries, 7 s of them, after which a post is held up.
	triesUnseen = 3
	// storeTimeout bounds one write.
	storeTimeout = 5 * time.Second
)

// delays are what a row went through in this process.
type delays struct {
	since time.Time // the first try
	count int       // how often it was put off
}

// sendError is the error of a platform; one without a classification leaves
// the outcome open.
func sendError(err error) *core.SendError {
	var e *core.SendError
	if errors.As(err, &e) {
		return e
	}
	return &core.SendError{Unknown: true, Err: err}
}

// again decides about a failed try. It returns true when the next one is due,
// and otherwise the reason to stop.
func (s *Sender) again(ctx context.Context, r *Row, d *delays, err error) (bool, error) {
	e := sendError(err)
	switch {
	case e.TooLong:
		return s.halve(ctx, r, err)
	case e.Permanent && len(r.Post.Files) > 0:
		return s.bare(ctx, r, err)
	}
	wait, ok := s.wait(*r, d, e)
	if !ok {
		return false, err
	}
	failed := s.save(ctx, r, func(r *Row) {
		r.Error = s.words(err)
		if e.Refused() {
			r.Tries++
		}
		if r.State == Sending && !e.Unknown {
			r.State = Queued
		}
	})
	if failed != nil {
		return false, failed
	}
	return s.pause(ctx, wait), nil
}

// wait is how long it is until the next try; ok is false if there is none. Only
// refusals use up the tries. What was not refused has time instead.
func (s *Sender) wait(r Row, d *delays, e *core.SendError) (wait time.Duration, ok bool) {
	if e.Permanent {
		return 0, false
	}
	if e.Refused() {
		if r.Tries >= len(sendWaits) {
			return 0, false
		}
		return sendWaits[r.Tries], true
	}
	wait = max(sendWaits[min(d.count, len(sendWaits)-1)], e.RetryAfter)
	patience := outagePatience
	if e.Unsent {
		wait, patience = max(sendWaits[0], e.RetryAfter), queuePatience
	}
	if d.count++; d.count == 1 && !e.Unsent {
		s.c.Log.Warn("a post has to wait: the platform does not take it now", "session", r.Session.String(), "turn", r.Turn,
			"kind", r.Post.Kind, "part", r.Part, "error", e)
	}
	return wait, !s.c.Now().Add(wait).After(d.since.Add(patience))
}

// halve makes the pieces of a text smaller that the platform finds too long.
func (s *Sender) halve(ctx context.Context, r *Row, err error) (bool, error) {
	v := versionOf(r.Post.Nonce)
	if v.halvings >= maxHalvings {
		return false, err
	}
	v.halvings++
	failed := s.save(ctx, r, func(r *Row) {
		r.Post.Nonce = withVersion(r.Post.Nonce, v)
		if r.State == Sending {
			r.State = Queued
		}
	})
	return failed == nil, failed
}

// bare takes the files off a post that the platform refuses: the text may be
// welcome.
func (s *Sender) bare(ctx context.Context, r *Row, err error) (bool, error) {
	s.c.Log.Warn("a post is sent without its files: the platform refuses it",
		"session", r.Session.String(), "turn", r.Turn, "part", r.Part, "error", err)
	failed := s.save(ctx, r, func(r *Row) {
		r.Post.Files, r.Post.Text = nil, strings.Replace(r.Post.Text, fileMark, cutMark, 1)
		r.State, r.Error = Queued, s.words(err)
	})
	return failed == nil, failed
}

// save changes a row in the store and here. A row that somebody settled in the
// meantime stays as it is there. What is known is written even when the
// context ended.
func (s *Sender) save(ctx context.Context, r *Row, change func(*Row)) error {
	want := *r
	change(&want)
	var now Row
	err := s.insist(ctx, *r, func(ctx context.Context) error {
		return s.c.Store.Mark(ctx, r.ID, func(stored Row) Row {
			now = stored
			if stored.State.Open() {
				now = want
			}
			return now
		})
	})
	if err != nil {
		return storeError{err}
	}
	*r = now
	return nil
}

// insist writes to the store, and tries for some minutes if that fails, or for
// as long as it takes if the store itself is in trouble. The first try is made
// even when the context ended.
func (s *Sender) insist(ctx context.Context, r Row, write func(context.Context) error) error {
	for try := 0; ; try++ {
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		err := write(writing)
		cancel()
		if r.State == Queued && try == triesUnseen && core.StoreTrouble(err) {
			s.c.Held(r) // else people have seen it, or something of it
		}
		if err == nil || !s.pauseFor(ctx, try, err) {
			return err
		}
	}
}

// pauseFor waits after a write that failed; it reports false if there is to be
// no other.
func (s *Sender) pauseFor(ctx context.Context, try int, err error) bool {
	if core.StoreTrouble(err) {
		return s.pause(ctx, min(storeWaits[min(try, len(storeWaits)-1)], troubleWait))
	}
	return try < len(storeWaits) && s.pause(ctx, storeWaits[try])
}
