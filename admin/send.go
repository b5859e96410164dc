package admin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/rescue"
)

const (
	sendTimeout  = 30 * time.Second
	storeTimeout = 5 * time.Second
	storePause   = 10 * time.Second // between tries while the store refuses
	// findSlack is how much earlier than the row a message is looked for:
	// clocks differ.
	findSlack = 15 * time.Second
	// maxRefusals is how often the platform may refuse a message for good
	// before it is taken to be about this message, not about the channel.
	maxRefusals = 5
)

// worker is a feed at work; one goroutine uses it.
type worker struct {
	*Feed
	c       Config
	begun   bool      // what an earlier process left is known
	failing bool      // the channel's refusal is in the log
	saveAt  time.Time // not before; the store refused
}

// takeUp reads what an earlier process left.
func (w *worker) takeUp(ctx context.Context) error {
	rows, err := w.c.Store.Outgoing(ctx)
	if err != nil {
		return err
	}
	w.begun = true
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range rows {
		if r.Post.Kind != core.PostAdmin {
			continue
		}
		i := stored(r)
		if i.note {
			w.queue = append(w.queue, i)
			continue
		}
		if o := w.known[i.subject]; o != nil && o.row.ID == 0 {
			// Heard of before Run, and known to the earlier process: the same
			// event.
			i.text, i.buttons, i.last, i.ended, i.end = o.text, o.buttons, o.last, o.ended, o.end
			i.count += o.count
			w.queue = slices.DeleteFunc(w.queue, func(x *incident) bool { return x == o })
		}
		w.known[i.subject] = i
		w.queue = append(w.queue, i)
	}
	return nil
}

// step does what is due, and says how long it is until something else may be:
// negative until there is something new.
func (w *worker) step(ctx context.Context) time.Duration {
	for ctx.Err() == nil {
		w.save(ctx)
		i, wait := w.next()
		if i == nil {
			return wait
		}
		if err := w.send(ctx, i); err != nil {
			w.failed(ctx, i, err)
		} else {
			w.succeeded(i)
		}
	}
	return -1
}

// next chooses what is sent next: a message that is missing before one that is
// behind. Where there is nothing to do now, it says for how long.
func (w *worker) next() (*incident, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	idle := w.say(now)
	if w.withdraw() {
		return nil, 0 // which the store hears of first
	}
	w.queue = slices.DeleteFunc(w.queue, func(i *incident) bool { return i.current() && !i.unsaved })
	if left := w.saveAt.Sub(now); left > 0 && (idle < 0 || left < idle) {
		idle = left
	}
	missing := w.missing()
	behind := slices.IndexFunc(w.queue, func(i *incident) bool { return i.shown != "" && !i.current() })
	reserve := 0 // an edit leaves room for something new
	if len(missing) == 0 {
		reserve = 1
	}
	var i *incident
	switch wait := max(w.retry.until.Sub(now), w.bucket.wait(1+reserve, now)); {
	case len(missing) == 0 && behind < 0:
		return nil, idle
	case wait > 0:
		return nil, wait
	case len(missing) > w.c.Burst:
		i = w.fold(now)
	case len(missing) > 0:
		i = missing[0]
	default:
		i = w.queue[behind]
	}
	i.sending = true
	return i, 0
}

// withdraw gives up the messages that are missing where no channel is named any
// more, or none was: there is nobody to be told. It reports whether the store
// has such a message. The lock is held.
func (w *worker) withdraw() (stored bool) {
	if _, ok := w.c.Channel(); ok {
		return false
	}
	for _, i := range w.missing() {
		i.folded, i.unsaved = true, i.row.ID != 0
		stored = stored || i.unsaved
	}
	return stored
}

// send brings the message of an incident up to date.
func (w *worker) send(ctx context.Context, i *incident) (err error) {
	defer rescue.Error(&err, w.c.Log, "telling operators")
	w.mu.Lock()
	row, shown := i.row, i.shown
	thread, ok := w.c.Channel()
	if shown != "" || !ok {
		thread = row.Post.Target.Thread
	}
	post := i.post(thread)
	w.mu.Unlock()
	p, ok := w.c.Platform(thread)
	if !ok {
		return &core.SendError{Unreached: true, Err: errors.New("no account runs on the platform of the admin channel")}
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if shown == "" {
		return w.create(ctx, p, i, row, post)
	}
	if err := p.Edit(ctx, row.PlatformID, post); err != nil {
		return err
	}
	w.showed(i, row.PlatformID, post)
	return nil
}

// create posts the message of an incident, or finds it where an earlier try may
// have made it.
func (w *worker) create(ctx context.Context, p core.Platform, i *incident, row delivery.Row, post core.Post) error {
	if f, ok := p.(core.Finder); ok && row.State == delivery.Sending {
		found, ok, err := f.Find(ctx, row.Post, row.Created.Add(-findSlack))
		switch {
		case err != nil:
			return &core.SendError{Unknown: true, Err: err}
		case ok:
			w.showed(i, found.ID, row.Post)
			return nil
		}
	}
	w.mu.Lock()
	i.row = i.record()
	i.row.State, i.row.Post, i.unsaved = delivery.Sending, post, true
	w.mu.Unlock()
	w.save(ctx)
	posted, err := p.Post(ctx, post)
	if err != nil {
		return err
	}
	w.showed(i, posted.ID, post)
	return nil
}

// showed notes what the channel shows now.
func (w *worker) showed(i *incident, id string, post core.Post) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i.shown == "" {
		i.saidOver = !strings.HasPrefix(post.Text, sign)
	}
	i.shown, i.row.PlatformID, i.row.Post, i.unsaved = post.Text, id, post, true
}

// succeeded: the channel works, so that what it refused again and again is
// about those messages.
func (w *worker) succeeded(i *incident) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.retry.succeeded()
	w.bucket.take(w.now())
	i.sending, i.refused = false, 0
	if w.failing {
		w.failing = false
		w.c.Log.Info("the admin channel takes messages again")
	}
	for _, o := range w.queue {
		if o.shown == "" && o.refused >= maxRefusals {
			o.folded = true
			o.unsaved = true
			w.c.Log.Error("a message for operators was given up", "kind", o.kind, "key", o.key, "text", o.text)
		}
	}
}

// failed puts everything off. A message that cannot be edited any more is
// posted anew, if its event goes on.
func (w *worker) failed(ctx context.Context, i *incident, err error) {
	if ctx.Err() != nil {
		return // the program stops; the next start settles it
	}
	var e *core.SendError
	if !errors.As(err, &e) {
		e = &core.SendError{Unknown: true, Err: err}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.failing {
		w.failing = true
		w.c.Log.Warn("the admin channel does not take a message; it is tried again", "err", err)
	}
	i.sending = false
	w.retry.failed(w.now(), e.RetryAfter)
	if e.Permanent {
		i.refused++
	}
	switch {
	case i.shown == "" && !e.Unknown:
		i.row.State = delivery.Queued
	case i.shown != "" && i.refused >= maxRefusals && i.over():
		i.shown = i.render() // nobody will see it
	case i.shown != "" && i.refused >= maxRefusals:
		w.anew(i)
	}
	i.unsaved = true
	w.queue = append(slices.DeleteFunc(w.queue, func(o *incident) bool { return o == i }), i)
}

// save writes what the store does not have yet. What it does not take is sent
// all the same; it would only be repeated after a crash.
func (w *worker) save(ctx context.Context) {
	if w.now().Before(w.saveAt) {
		return
	}
	if err := w.saveAll(ctx); err != nil && ctx.Err() == nil {
		w.c.Log.Warn("the store does not keep messages for operators", "err", err)
		w.saveAt = w.now().Add(storePause)
	}
}

func (w *worker) saveAll(ctx context.Context) error {
	if !w.begun {
		if err := w.takeUp(ctx); err != nil {
			return err
		}
	}
	w.mu.Lock()
	list := slices.Clone(w.queue)
	w.mu.Unlock()
	for _, i := range list {
		if err := w.saveOne(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) saveOne(ctx context.Context, i *incident) error {
	w.mu.Lock()
	if _, ok := w.c.Channel(); !ok && i.row.ID == 0 {
		i.folded = true // as withdraw does
	}
	row, save := i.record(), i.unsaved && (i.row.ID != 0 || !i.folded)
	i.unsaved = false
	w.mu.Unlock()
	if !save {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	id := row.ID
	var err error
	if id != 0 {
		err = w.c.Store.Mark(ctx, id, func(delivery.Row) delivery.Row { return row })
	} else if rows, failed := w.c.Store.Queue(ctx, row); failed != nil {
		err = failed
	} else {
		id = rows[0].ID
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	i.unsaved = i.unsaved || err != nil
	if row.ID = id; i.row.State == "" {
		i.row = row
	}
	i.row.ID = id
	return err
}
