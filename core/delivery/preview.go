package delivery

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"understudy/core"
	"understudy/core/rescue"
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
	defer rescue.Panic(w.s.c.Log, "showing an answer while it grows")
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
	at, rotates := w.rotation()
	switch {
	case w.ended || w.mute:
		return 0, false
	case w.fresh && !silent(w.said()):
		at = w.next
		if first := w.first.Add(w.limits.FirstPreview); !w.seen && first.After(at) {
			at = first
		}
	case !rotates:
		return 0, false
	case at.Before(w.next):
		at = w.next
	}
	return at.Sub(w.s.c.Now()), true
}

// silent reports whether a text may still become one that says nothing.
func silent(text string) bool { return strings.HasPrefix(NoReply, core.Trim(text)) }

// flush brings the preview up to date.
func (w *Writer) flush() {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return
	}
	text := w.said()
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
		if !e.Unsent && e.RetryAfter == 0 { // else it is only put off
			w.failed++
		}
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
	w.rotate(text)
	l := w.limits
	l.MaxParts = max(0, l.MaxParts-len(w.fixed.texts))
	texts, _ := core.SplitMost(w.fixed.rest(text), l)
	texts = append(slices.Clone(w.fixed.texts), texts...)
	for i, text := range texts {
		if i == len(w.parts) {
			w.parts = append(w.parts, &part{row: w.row(i)})
		}
		p := w.parts[i]
		live := i == len(texts)-1 && i >= len(w.fixed.texts) && p.mayLive()
		if p.text == text && (live || !p.glimpse().unfinished(w.limits)) {
			continue
		}
		select {
		case <-w.quit:
			return nil
		default:
		}
		if err := w.showPart(p, text, live); err != nil {
			return err
		}
	}
	return nil
}

// mayLive reports whether the message may be a live one: one that is to be
// made, or is live by this process.
func (p *part) mayLive() bool { return !p.old && (p.row.PlatformID == "" || p.live) }

func (p *part) glimpse() glimpse { return glimpse{p.text, p.at, p.live, p.hold} }

func (w *Writer) showPart(p *part, text string, live bool) error {
	ctx, cancel := context.WithTimeout(background, previewTimeout)
	defer cancel()
	post := p.row.Post
	post.Text, post.Live = text, live
	if p.row.PlatformID == "" {
		if fresh, err := w.open(ctx, p, post); err != nil || fresh {
			return err
		}
	}
	err := w.platform.Edit(ctx, p.row.PlatformID, post)
	p.text, p.at, p.hold = "", w.s.c.Now(), time.Time{}
	if err == nil {
		p.text, p.live = text, live
		w.saw()
		return nil
	}
	e := sendError(err)
	if e.RetryAfter > 0 {
		p.hold = p.at.Add(e.RetryAfter)
	}
	if e.Unknown {
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
			w.opened(ctx, p, post.Live, p.row.Created, posted.ID)
			return false, nil
		}
	}
	posted, err := w.platform.Post(ctx, post)
	switch {
	case err == nil:
		w.saw()
		now := w.s.c.Now()
		w.opened(ctx, p, post.Live, now, posted.ID)
		p.at = now
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

// opened notes that the message of a part is there.
func (w *Writer) opened(ctx context.Context, p *part, live bool, at time.Time, id string) {
	p.posted, p.live = at, live
	w.note(ctx, p, func(r *Row) { r.State, r.PlatformID = Preview, id })
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
