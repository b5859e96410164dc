package delivery

import (
	"context"
	"errors"
	"strings"

	"understudy/core"
)

// restMissing is posted after the parts of an answer that could be sent.
const restMissing = "… (the rest of this answer could not be sent)"

// giveUp settles a row that cannot be sent, and what depends on it.
func (s *Sender) giveUp(ctx context.Context, key string, r Row, cause error) {
	why := s.words(cause)
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
		errs = append(errs, s.insist(ctx, r, func(ctx context.Context) error {
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
	post.Text, post.Link, post.Files, post.Nonce = restMissing, false, nil, plain(nextMessage(post.Nonce, false))
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if _, err := p.Post(ctx, post); err != nil {
		s.c.Log.Warn("the thread was not told that the rest of an answer is missing", "session", r.Session.String(), "turn", r.Turn, "error", strings.TrimSpace(err.Error()))
	}
}
