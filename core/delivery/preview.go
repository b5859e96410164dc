package delivery

import (
	"context"
	"errors"
	"strings"
	"time"

	"understudy/core"
)

// background is the context of previews: they end with their turn, through
// Finish, Interrupt or Close, and each request has a limit.
var background = context.Background()

// previewTimeout bounds one change of a preview. Finish waits for it: a change
// that is cut off might overtake the final text.
const previewTimeout = 10 * time.Second

// maxPreviewFailures is how many changes in a row may fail before the preview
// is left as it is; the final text is sent with more patience.
const maxPreviewFailures = 5

// errMute ends a preview for good.
var errMute = errors.New("the preview cannot go on")

// errLater puts a change off, without counting it as failed.
var errLater = errors.New("not yet")

// stream shows the answer while it grows.
func (w *Writer) stream() {
	defer close(w.done)
	for {
		var due <-chan time.Time
		switch wait, ok := w.due(); {
		case !ok: // until there is text
		case wait <= 0:
			w.flush()
			continue
		default:
			due = w.s.c.After(wait)
		}
		select {
		case <-due:
		case <-w.wake:
		case <-w.quit:
			return
		}
	}
}

// due is how long it is until the preview is to change; ok is false if it is
// not to change.
func (w *Writer) due() (wait time.Duration, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.mute || !w.fresh || silent(w.text.String()) {
		return 0, false
	}
	at := w.next
	if first := w.first.Add(w.limits.FirstPreview); !w.seen && first.After(at) {
		at = first
	}
	return at.Sub(w.s.c.Now()), true
}

// silent reports whether a text may still become one that says nothing.
func silent(text string) bool { return strings.HasPrefix(NoReply, strings.TrimSpace(text)) }

// flush brings the preview up to date.
func (w *Writer) flush() {
	w.mu.Lock()
	if w.ended || !w.fresh {
		w.mu.Unlock()
		return
	}
	text := w.text.String()
	w.fresh, w.flying = false, true
	w.mu.Unlock()

	err := w.show(text)

	w.mu.Lock()
	defer w.mu.Unlock()
	w.flying = false
	wait := w.limits.EditEvery
	switch {
	case err == nil:
		w.failed = 0
	case errors.Is(err, errLater):
		w.fresh = true
	default:
		e := sendError(err)
		w.failed++
		w.fresh = true
		w.mute = errors.Is(err, errMute) || e.Permanent || e.TooLong || w.failed >= maxPreviewFailures
		wait = max(wait, e.RetryAfter)
		if w.mute {
			w.s.c.Log.Warn("a preview stops; the answer follows when it is complete", "session", w.c.Session.String(), "turn", w.c.Turn, "error", err)
		}
	}
	w.next = w.s.c.Now().Add(wait)
}

// show makes the messages of the preview show a text.
func (w *Writer) show(text string) error {
	texts, _ := core.SplitMost(text, w.limits)
	for i, text := range texts {
		if i == len(w.parts) {
			w.parts = append(w.parts, &part{row: w.row(i)})
		}
		p := w.parts[i]
		if p.text == text {
			continue
		}
		select {
		case <-w.quit:
			return nil
		default:
		}
		if err := w.showPart(p, text); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) showPart(p *part, text string) error {
	ctx, cancel := context.WithTimeout(background, previewTimeout)
	defer cancel()
	post := p.row.Post
	post.Text = text
	if p.row.PlatformID == "" {
		if fresh, err := w.open(ctx, p, post); err != nil || fresh {
			return err
		}
	}
	err := w.platform.Edit(ctx, p.row.PlatformID, post)
	p.text, p.at = "", w.s.c.Now()
	switch {
	case err == nil:
		p.text = text
		w.saw()
	case sendError(err).Unknown:
		w.saw()
	}
	return err
}

// open finds or makes the message of a part; fresh is true if it shows the text
// of the post.
func (w *Writer) open(ctx context.Context, p *part, post core.Post) (fresh bool, err error) {
	if w.s.waiting(w.key) {
		return false, errLater
	}
	unknown, err := w.intend(ctx, p)
	if err != nil || p.row.PlatformID != "" {
		return false, err
	}
	if unknown {
		posted, found, err := find(ctx, w.platform, post, p.row.Created)
		if err != nil {
			return false, &core.SendError{Unknown: true, Err: err}
		}
		if found {
			w.note(ctx, p, func(r *Row) { r.State, r.PlatformID = Preview, posted.ID })
			return false, nil
		}
	}
	posted, err := w.platform.Post(ctx, post)
	switch {
	case err == nil:
		w.saw()
		w.note(ctx, p, func(r *Row) { r.State, r.PlatformID = Preview, posted.ID })
		p.at = w.s.c.Now()
		if unknown { // it may be the earlier message, with an earlier text
			return false, errLater
		}
		p.text = post.Text
	case sendError(err).Unknown:
		w.saw()
	case !unknown: // nothing is there, and nobody saw anything
		w.note(ctx, p, func(r *Row) { r.State = Queued })
	}
	return true, err
}

// intend stores, before a message is posted, that it may be there. Unknown is
// true if that was stored before.
func (w *Writer) intend(ctx context.Context, p *part) (unknown bool, err error) {
	if p.row.ID == 0 {
		r := p.row
		r.State, r.Created = Preview, w.s.c.Now()
		rows, err := w.s.c.Store.Queue(ctx, r)
		if err != nil {
			return false, err
		}
		p.row = rows[0]
		if !p.row.State.Open() || p.row.Post.Text != "" {
			return false, errMute // somebody ended the turn
		}
		if p.row.Created.Equal(r.Created) {
			return false, nil
		}
	}
	if p.row.State != Queued {
		return true, nil
	}
	return false, w.mark(ctx, p, func(r *Row) { r.State = Preview })
}

// mark changes the row of a part, in the store and here, without touching what
// a commit may have put there.
func (w *Writer) mark(ctx context.Context, p *part, change func(*Row)) error {
	err := w.s.c.Store.Mark(ctx, p.row.ID, func(r Row) Row {
		if r.State.Open() {
			change(&r)
		}
		return r
	})
	if err == nil {
		change(&p.row)
	}
	return err
}

// note is mark for what has happened already. If the store does not take it,
// the nonce leads to the message.
func (w *Writer) note(ctx context.Context, p *part, change func(*Row)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := w.mark(ctx, p, change); err != nil {
		change(&p.row)
		w.s.c.Log.Warn("the store does not take the state of a preview", "session", w.c.Session.String(), "turn", w.c.Turn, "error", err)
	}
}

// saw notes that people saw something of this run.
func (w *Writer) saw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = true
}
