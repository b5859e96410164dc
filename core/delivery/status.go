package delivery

import (
	"context"
	"errors"
	"time"

	"understudy/core"
)

const (
	statusTimeout = 5 * time.Second
	removeTimeout = 10 * time.Second
)

// Status posts a status message at once, past everything that waits, and gives
// up after 5 seconds. A turn has one, also if it began in an earlier process;
// asking again returns the first. Its row stays open, as that of a preview, until
// [Sender.Remove]. The row is for that also when there is an error: the message
// may be there all the same.
func (s *Sender) Status(ctx context.Context, r Row) (Row, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	p, err := s.platform(r.Post.Target.Thread)
	if err != nil {
		return r, err
	}
	r.State, r.Created = Sending, s.c.Now()
	r.Post.Kind, r.Post.Link, r.Post.Nonce = core.PostStatus, false, Nonce(r.Turn, core.PostStatus, r.Part)
	rows, err := s.c.Store.Queue(ctx, r)
	if err != nil {
		return r, err
	}
	known := !rows[0].Created.Equal(r.Created)
	if r = rows[0]; r.State != Sending {
		return r, nil
	}
	posted, failed := postOnce(ctx, p, r, known)
	r, err = s.settle(ctx, r, posted, failed)
	if failed != nil {
		return r, failed
	}
	s.nudge(r.Post.Target.Thread.Key())
	return r, err
}

// postOnce posts the message of a row. If an earlier try may have done so, it is
// looked for first.
func postOnce(ctx context.Context, p core.Platform, r Row, tried bool) (core.Posted, error) {
	if tried {
		posted, found, err := find(ctx, p, r.Post, r.Created)
		if err != nil {
			return core.Posted{}, &core.SendError{Unknown: true, Err: err}
		}
		if found {
			return posted, nil
		}
	}
	return p.Post(ctx, r.Post)
}

// settle stores what became of a status message.
func (s *Sender) settle(ctx context.Context, r Row, posted core.Posted, failed error) (Row, error) {
	switch {
	case failed == nil:
		r.State, r.PlatformID = Preview, posted.ID
	case sendError(failed).Unknown:
		r.Error = s.words(failed)
	default:
		r.State, r.Error, r.Settled = Failed, s.words(failed), s.c.Now()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return r, s.c.Store.Mark(ctx, r.ID, func(Row) Row { return r })
}

// Remove takes the messages of rows away again and marks the rows as
// withdrawn: a status message once the answer came, the preview of a turn that
// will not go on. It does what the platform can; a message that stays is in the
// log, and its row stays open for the next start if that may have more luck.
func (s *Sender) Remove(ctx context.Context, rows ...Row) {
	for _, r := range rows {
		if r.ID == 0 || !r.State.Open() { // what was sent stays
			continue
		}
		if err := s.remove(ctx, r); err != nil {
			s.c.Log.Warn("a message could not be taken away", "session", r.Session.String(), "turn", r.Turn, "kind", r.Post.Kind, "error", err)
		}
	}
}

func (s *Sender) remove(ctx context.Context, r Row) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	failed := s.deleteMessage(ctx, r)
	if e := (*core.SendError)(nil); errors.As(failed, &e) && !e.Permanent {
		return failed
	}
	err := s.c.Store.Mark(ctx, r.ID, func(stored Row) Row {
		stored.State, stored.Settled = Withdrawn, s.c.Now()
		return stored
	})
	if failed != nil {
		return failed
	}
	return err
}

func (s *Sender) deleteMessage(ctx context.Context, r Row) error {
	if r.PlatformID == "" && !mayExist(r) {
		return nil
	}
	p, err := s.platform(r.Post.Target.Thread)
	if err != nil {
		return err
	}
	if r.PlatformID == "" {
		if _, ok := p.(core.Finder); !ok {
			return errors.New("it may be there, but the platform cannot look for it")
		}
		posted, found, err := find(ctx, p, r.Post, r.Created)
		if err != nil || !found {
			return err
		}
		r.PlatformID = posted.ID
	}
	return p.Delete(ctx, r.Post.Target, r.PlatformID)
}

// mayExist reports whether a row without a message id may have a message.
func mayExist(r Row) bool { return r.State == Sending || r.State == Preview }
