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
	// sendTimeout bounds one request to a platform. Its outcome is unknown
	// then.
	sendTimeout = 30 * time.Second
	// outagePatience is how long a post is put off because the platform cannot
	// be reached, or asks for time, and queuePatience how long it may wait for
	// our own limits. Both count from the first try of this process: an outage
	// must not cost the answers of the time before it.
	outagePatience = 10 * time.Minute
	queuePatience  = 30 * time.Minute
	// storeTimeout bounds one write.
	storeTimeout = 5 * time.Second
	// findSlack is how much earlier than the row a message is looked for:
	// clocks differ.
	findSlack = 15 * time.Second
)

// restMissing is posted after the parts of an answer that could be sent.
const restMissing = "… (the rest of this answer could not be sent)"

// delays are what a row went through in this process.
type delays struct {
	since time.Time // the first try
	count int       // how often it was put off
}

// storeError is a write that failed for good. The row cannot be sent safely.
type storeError struct{ error }

// deliver sends one row, or gives it up. If the context ends first, the row
// stays as it is.
func (s *Sender) deliver(ctx context.Context, key string, r Row) {
	if r.Post.Nonce == "" {
		r.Post.Nonce = Nonce(r.Turn, r.Post.Kind, r.Part)
	}
	put := delays{since: s.c.Now()}
	for r.State.Open() {
		err := s.attempt(ctx, &r)
		if err == nil {
			continue
		}
		again := false
		if ctx.Err() == nil && !errors.As(err, new(storeError)) {
			again, err = s.again(ctx, &r, &put, err)
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.As(err, new(storeError)):
			s.c.Log.Error("a post is left to the next start: the store does not take its state",
				"session", r.Session.String(), "turn", r.Turn, "kind", r.Post.Kind, "part", r.Part, "error", err)
			s.take(key, func(o Row) bool { return o.Turn == r.Turn })
			return
		case !again:
			s.giveUp(ctx, key, r, err)
			return
		}
	}
	if r.State == Sent && r.Post.Kind != core.PostAnswer {
		s.nudge(key)
	}
}

// attempt makes one try at bringing the row forward. A nil error means that it
// came forward, not that all of it is sent.
func (s *Sender) attempt(ctx context.Context, r *Row) error {
	p, err := s.platform(r.Post.Target.Thread)
	if err != nil {
		return err
	}
	post, rest := piece(r.Post, p.Limits(r.Post.Target.Thread))
	if r.PlatformID != "" {
		return s.amend(ctx, p, r, post, rest)
	}
	return s.post(ctx, p, r, post, rest)
}

// piece is what goes into the next message of a row, and the text that is left
// for another one. Nearly always the whole fits; it does not where somebody
// queued a longer text, or the platform counted more than its limits say.
func piece(p core.Post, l core.Limits) (core.Post, string) {
	l.MaxText >>= versionOf(p.Nonce).halvings
	l.MaxParts = 1
	parts, rest := core.SplitMost(p.Text, l)
	if len(parts) > 0 {
		p.Text = parts[0]
	}
	p.Nonce = plain(p.Nonce)
	return p, rest
}

// post makes a new message of a row. If one may be there already, it is looked
// for first.
func (s *Sender) post(ctx context.Context, p core.Platform, r *Row, post core.Post, rest string) error {
	if r.State != Queued {
		posted, found, err := find(ctx, p, post, r.Created)
		if err != nil {
			return &core.SendError{Unknown: true, Err: err}
		}
		if found {
			return s.confirm(ctx, r, posted.ID, rest)
		}
	} else if err := s.save(ctx, r, func(r *Row) { r.State = Sending }); err != nil || r.State != Sending {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	posted, err := p.Post(ctx, post)
	if err != nil {
		return err
	}
	return s.confirm(ctx, r, posted.ID, rest)
}

// find looks for the message of a row made at the given time, if the platform
// can.
func find(ctx context.Context, p core.Platform, post core.Post, made time.Time) (posted core.Posted, found bool, err error) {
	f, ok := p.(core.Finder)
	if !ok {
		return core.Posted{}, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return f.Find(ctx, post, made.Add(-findSlack))
}

// amend sends a row whose message exists already.
func (s *Sender) amend(ctx context.Context, p core.Platform, r *Row, post core.Post, rest string) error {
	s.mu.Lock()
	seen, known := s.shown[r.ID]
	delete(s.shown, r.ID)
	s.mu.Unlock()
	if known && seen.text == post.Text {
		return s.confirm(ctx, r, r.PlatformID, rest)
	}
	if known && !s.pause(ctx, seen.at.Add(p.Limits(r.Post.Target.Thread).EditEvery).Sub(s.c.Now())) {
		return ctx.Err()
	}
	sending, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := p.Edit(sending, r.PlatformID, post)
	if err == nil {
		return s.confirm(ctx, r, r.PlatformID, rest)
	}
	if e := sendError(err); !e.Permanent || e.TooLong {
		return err
	}
	s.c.Log.Warn("a preview cannot be edited any more; the answer is posted anew",
		"session", r.Session.String(), "turn", r.Turn, "part", r.Part, "error", err)
	if err := p.Delete(sending, r.Post.Target, r.PlatformID); err != nil {
		s.c.Log.Warn("a preview could not be taken away", "session", r.Session.String(), "turn", r.Turn, "part", r.Part, "error", err)
	}
	return s.save(ctx, r, func(r *Row) {
		r.State, r.PlatformID = Queued, ""
		r.Post.Nonce = nextMessage(r.Post.Nonce)
	})
}

func nextMessage(nonce string) string {
	v := versionOf(nonce)
	v.message++
	return withVersion(nonce, v)
}

// confirm notes what the platform confirmed.
func (s *Sender) confirm(ctx context.Context, r *Row, id, rest string) error {
	if r.State == Preview && r.PlatformID == "" {
		// The message is there, but it may be that of the preview: what it
		// shows is not known.
		s.remember(r.ID, glimpse{at: s.c.Now()})
		return s.save(ctx, r, func(r *Row) { r.PlatformID = id })
	}
	return s.save(ctx, r, func(r *Row) {
		if rest == "" {
			r.State, r.PlatformID, r.Settled, r.Error = Sent, id, s.c.Now(), ""
			return
		}
		r.State, r.PlatformID, r.Tries, r.Error = Queued, "", 0, ""
		r.Post.Text, r.Post.Link, r.Post.Nonce = rest, false, nextMessage(r.Post.Nonce)
	})
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
	if e.TooLong {
		return s.halve(ctx, r, err)
	}
	wait, ok := s.wait(*r, d, e)
	if !ok {
		return false, err
	}
	failed := s.save(ctx, r, func(r *Row) {
		r.Error = err.Error()
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

// save changes a row in the store and here. A row that somebody settled in the
// meantime stays as it is there. What is known is written even when the
// context ended.
func (s *Sender) save(ctx context.Context, r *Row, change func(*Row)) error {
	want := *r
	change(&want)
	var now Row
	err := s.insist(ctx, func(ctx context.Context) error {
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

// insist writes to the store, and tries for some minutes if that fails. The
// first try is made even when the context ended.
func (s *Sender) insist(ctx context.Context, write func(context.Context) error) error {
	for try := 0; ; try++ {
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		err := write(writing)
		cancel()
		if err == nil || try == len(storeWaits) || !s.pause(ctx, storeWaits[try]) {
			return err
		}
	}
}

// giveUp settles a row that cannot be sent, and what depends on it.
func (s *Sender) giveUp(ctx context.Context, key string, r Row, cause error) {
	why := cause.Error()
	s.c.Log.Error("a post was given up", "session", r.Session.String(), "turn", r.Turn,
		"kind", r.Post.Kind, "part", r.Part, "tries", r.Tries+1, "error", why)
	var err error
	if r.Post.Kind == core.PostAnswer {
		err = s.giveUpAnswer(ctx, key, r, why)
	} else {
		err = s.save(ctx, &r, func(r *Row) { r.State, r.Settled, r.Error = Failed, s.c.Now(), why })
	}
	if err != nil {
		s.c.Log.Error("the store does not take that a post was given up", "session", r.Session.String(), "turn", r.Turn, "error", err)
	}
	if r.Post.Kind != core.PostAdmin {
		r.State, r.Error = Failed, why
		s.c.GaveUp(r)
	}
}

func (s *Sender) giveUpAnswer(ctx context.Context, key string, r Row, why string) error {
	later := s.take(key, func(o Row) bool { return o.Turn == r.Turn && o.Post.Kind == core.PostAnswer })
	var errs []error
	for _, o := range later {
		errs = append(errs, s.save(ctx, &o, func(o *Row) {
			o.State, o.Settled, o.Error = Withdrawn, s.c.Now(), "an earlier part was given up: "+why
		}))
	}
	if r.Part == 0 {
		s.take(key, func(o Row) bool { return o.Turn == r.Turn && o.Post.Kind == core.PostNotice })
		errs = append(errs, s.insist(ctx, func(ctx context.Context) error {
			return s.c.Store.GiveUp(ctx, r.ID, why, s.c.Now())
		}))
		return errors.Join(errs...)
	}
	errs = append(errs, s.save(ctx, &r, func(r *Row) { r.State, r.Settled, r.Error = Failed, s.c.Now(), why }))
	s.remark(ctx, r)
	return errors.Join(errs...)
}

// remark says in the thread that the rest of an answer is missing. There is one
// try: whatever kept the rest away may keep this away too.
func (s *Sender) remark(ctx context.Context, r Row) {
	p, err := s.platform(r.Post.Target.Thread)
	if err != nil {
		return
	}
	post := r.Post
	post.Text, post.Link, post.Nonce = restMissing, false, plain(nextMessage(post.Nonce))
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if _, err := p.Post(ctx, post); err != nil {
		s.c.Log.Warn("the thread was not told that the rest of an answer is missing", "session", r.Session.String(), "turn", r.Turn, "error", strings.TrimSpace(err.Error()))
	}
}
