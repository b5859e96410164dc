package delivery

import (
	"context"
	"errors"
	"fmt"

	"understudy/core"
)

// Fetch reads an attachment of a message from the platform of its thread, as
// [core.Fetcher] says. The error is [errors.ErrUnsupported] where attachments
// cannot be read.
func (s *Sender) Fetch(ctx context.Context, t core.Thread, a core.Attachment, limit int64) (core.Attachment, error) {
	p, err := s.platform(t)
	if err != nil {
		return a, err
	}
	f, ok := p.(core.Fetcher)
	if !ok {
		return a, fmt.Errorf("attachments of %s: %w", t.Platform, errors.ErrUnsupported)
	}
	return f.Fetch(ctx, t, a, limit)
}

// Earlier reads what was said in a thread before a message, as
// [core.Historian] says. The error is [errors.ErrUnsupported] where that cannot
// be read.
func (s *Sender) Earlier(ctx context.Context, t core.Target, before string, limit int) ([]core.Message, error) {
	p, err := s.platform(t.Thread)
	if err != nil {
		return nil, err
	}
	h, ok := p.(core.Historian)
	if !ok {
		return nil, fmt.Errorf("earlier messages of %s: %w", t.Thread.Platform, errors.ErrUnsupported)
	}
	return h.Earlier(ctx, t, before, limit)
}
