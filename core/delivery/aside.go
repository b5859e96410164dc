package delivery

import (
	"context"

	"understudy/core"
)

// Aside posts a message at once, past everything that waits, and writes nothing
// down: it is for what has to be said while the store takes nothing. It is tried
// once, for at most 5 seconds.
func (s *Sender) Aside(ctx context.Context, post core.Post) error {
	p, err := s.platform(post.Target.Thread)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	_, err = p.Post(ctx, post)
	return err
}
