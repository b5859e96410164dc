package delivery

import (
	"context"
	"errors"
	"time"

	"understudy/core"
	"understudy/core/rescue"
)

const (
	// sendTimeout bounds one request to a platform. Its outcome is unknown
	// then.
	sendTimeout = 30 * time.Second
	// findTimeout bounds the reading of a conversation in which a message may
	// be.
	findTimeout = 2 * time.Minute
	// findSlack is how much earlier than the row a message is looked for:
	// clocks differ.
	findSlack = 15 * time.Second
)

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
	if r.State == Sent {
		s.nudge(key) // whoever wrote an answer is at work no more; others may be
	}
}

// attempt makes one try at bringing the row forward. A nil error means that it
// came forward, not that all of it is sent. After a mistake of the platform's
// adapter nobody knows what has happened.
func (s *Sender) attempt(ctx context.Context, r *Row) (err error) {
	defer rescue.Error(&err, s.c.Log, "sending a post")
	p, err := s.platform(r.Post.Target.Thread)
	if err != nil {
		return err
	}
	post, rest := piece(r.Post, p.Limits(r.Post.Target.Thread))
	switch anew := versionOf(r.Post.Nonce).anew; {
	case anew && r.PlatformID == "": // nobody knows which message to replace
		return s.save(ctx, r, func(r *Row) { r.Post.Nonce = unmade(r.Post.Nonce) })
	case anew || r.PlatformID == "":
		return s.post(ctx, p, r, post, rest)
	case len(post.Files) > 0: // which the message that is there cannot take
		return s.anew(ctx, r)
	}
	return s.amend(ctx, p, r, post, rest)
}

// piece is what goes into the next message of a row, and the text that is left
// for another one. Nearly always the whole fits; it does not where somebody
// queued a longer text, or the platform counted more than its limits say. Files
// go with the first piece, as the link does.
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

// anew decides that a new message takes the place of the row's message.
func (s *Sender) anew(ctx context.Context, r *Row) error {
	return s.save(ctx, r, func(r *Row) { r.Post.Nonce = nextMessage(r.Post.Nonce, true) })
}

// post makes a new message of a row. If one may be there already, it is looked
// for first. A message that it takes the place of goes once it is there.
func (s *Sender) post(ctx context.Context, p core.Platform, r *Row, post core.Post, rest string) error {
	if tried(*r) {
		posted, found, err := find(ctx, p, post, r.Created)
		if err != nil {
			return &core.SendError{Unknown: true, Err: err}
		}
		if found {
			return s.posted(ctx, p, r, posted.ID, rest)
		}
	} else if err := s.save(ctx, r, func(r *Row) { r.State, r.Created = Sending, s.c.Now() }); err != nil || r.State != Sending {
		return err
	}
	if !s.c.Wanted(post) {
		return s.save(ctx, r, func(r *Row) { r.State, r.Settled, r.Error = Withdrawn, s.c.Now(), "it is not wanted any more" })
	}
	sending, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	posted, err := p.Post(sending, post)
	if err != nil {
		return err
	}
	return s.posted(ctx, p, r, posted.ID, rest)
}

// tried reports whether the next message of a row may be there already.
func tried(r Row) bool {
	return r.State == Sending || r.State == Preview && r.PlatformID == ""
}

// posted goes on after a message was posted or found.
func (s *Sender) posted(ctx context.Context, p core.Platform, r *Row, id, rest string) error {
	if r.PlatformID != "" && !s.takeAway(ctx, p, *r) && ctx.Err() == nil {
		if err := s.markLeft(ctx, *r); err != nil {
			return storeError{err}
		}
	}
	return s.confirm(ctx, r, id, rest)
}

// takeAway removes the message whose place another one has taken. It tries for
// some seconds: two answers are worse than a short wait. It reports false when
// the message is left.
func (s *Sender) takeAway(ctx context.Context, p core.Platform, r Row) bool {
	for try := 0; ; try++ {
		err := s.deleteOnce(ctx, p, r)
		if err == nil {
			return true
		}
		if sendError(err).Permanent || try == maxTakeAway || !s.pause(ctx, max(sendWaits[try], sendError(err).RetryAfter)) {
			s.c.Log.Warn("a preview could not be taken away", "session", r.Session.String(), "turn", r.Turn, "part", r.Part, "error", err)
			return false
		}
	}
}

const (
	// leftMark is posted after an answer of which a preview still stands there,
	// since the platform neither changes it nor takes it away.
	leftMark = "An answer above was interrupted and cannot be changed any more; the whole one follows it. Send /retry to have it answered again."
	// leftPart is its place among the notices of a turn; the first is about
	// models.
	leftPart = 1
)

// markLeft queues that mark, once for a turn.
func (s *Sender) markLeft(ctx context.Context, r Row) error {
	mark := Row{
		Session: r.Session, Turn: r.Turn, Part: leftPart, State: Queued, Created: s.c.Now(),
		Post: core.Post{Target: r.Post.Target, Kind: core.PostNotice, Text: leftMark, Nonce: Nonce(r.Turn, core.PostNotice, leftPart)},
	}
	return s.insist(ctx, r, func(ctx context.Context) error {
		rows, err := s.c.Store.Queue(ctx, mark)
		if err == nil {
			s.Send(rows...)
		}
		return err
	})
}

// maxTakeAway is how often that is tried again.
const maxTakeAway = 3

func (s *Sender) deleteOnce(ctx context.Context, p core.Platform, r Row) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	return p.Delete(ctx, r.Post.Target, r.PlatformID)
}

// find looks for the message of a row made at the given time, if the platform
// can.
func find(ctx context.Context, p core.Platform, post core.Post, made time.Time) (posted core.Posted, found bool, err error) {
	f, ok := p.(core.Finder)
	if !ok {
		return core.Posted{}, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	return f.Find(ctx, post, made.Add(-findSlack))
}

// amend sends a row whose message exists already.
func (s *Sender) amend(ctx context.Context, p core.Platform, r *Row, post core.Post, rest string) error {
	s.mu.Lock()
	seen, known := s.shown[r.ID]
	delete(s.shown, r.ID)
	s.mu.Unlock()
	l := p.Limits(r.Post.Target.Thread)
	if known && seen.text == post.Text && !seen.unfinished(l) {
		return s.confirm(ctx, r, r.PlatformID, rest)
	}
	if due := latest(seen.at.Add(l.EditEvery), seen.hold); known && !s.pause(ctx, due.Sub(s.c.Now())) {
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
	return s.anew(ctx, r)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
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
		r.Post.Text, r.Post.Link, r.Post.Files = rest, false, nil
		r.Post.Nonce = nextMessage(r.Post.Nonce, false)
	})
}
