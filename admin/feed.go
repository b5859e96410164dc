// Package admin tells operators what needs them, in a channel of a platform.
//
// A [Feed] hears alerts and shows each event as one message: when it happens
// again that message is edited, with a count, and so it is when it ends. Since
// nobody is notified of an edit, an end that lasts is said anew as well.
//
// Promises:
//
//   - Hearing never blocks, and nobody who is answered waits for the feed: it
//     has a queue of its own, and a channel that refuses is tried again at
//     growing intervals, for as long as it takes.
//   - The channel gets no more messages and edits than the rate allows. What
//     comes faster is told in one message that counts it.
//   - No text holds a credential: all of them are masked here once more.
//   - A message is stored before it is sent. After a restart, an event that goes
//     on edits the message that tells of it.
//
// Each message is a row of [delivery.Store] of the kind [core.PostAdmin], which
// the [delivery.Sender] leaves to the feed. While its event lasts the row is a
// preview.
package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/llm"
)

const (
	// again is how soon after its end an event counts as the same one that goes
	// on: what comes and goes is one message.
	again = 10 * time.Minute
	// calm is how long an end, or a relapse, must last before it is said anew.
	calm = time.Minute
	// stale is how long after it was last heard of an event that never ended
	// counts as a new one: its message has scrolled out of sight.
	stale = 24 * time.Hour
	// most is the number of events that are kept in mind.
	most = 500
	// longest is the most of a text, in runes: a message with all that stands
	// beside it fits every platform.
	longest = 500
)

// Config is what a Feed works with; all fields but those with a default named
// are required.
type Config struct {
	Store delivery.Store
	// Platform finds the account that posts in a thread.
	Platform func(core.Thread) (core.Platform, bool)
	// Channel is where operators read; ok is false where they have none.
	Channel func() (t core.Thread, ok bool)
	// Every is the time per message, and Burst how many may go at once after a
	// silence; 10 seconds and 5 if zero.
	Every time.Duration
	Burst int
	// After is the clock's other half; nil is the real one.
	After func(time.Duration) <-chan time.Time
	Log   *slog.Logger // nil logs nothing
}

// Feed shows events to operators. Its methods are safe for concurrent use.
type Feed struct {
	// Hide takes the credentials that are known out of a text; nil takes none. It
	// is set before the first alert.
	Hide func(string) string

	now  func() time.Time
	wake chan struct{}

	mu     sync.Mutex
	known  map[subject]*incident // the newest of each subject
	queue  []*incident           // whose message is not what it should be, in order of arrival
	bucket bucket
	retry  retry
}

// subject is what tells one event from the next.
type subject struct{ kind, key string }

// New returns a feed, which hears at once and shows nothing before Run. The
// clock is the real one if nil.
func New(now func() time.Time) *Feed {
	if now == nil {
		now = time.Now
	}
	return &Feed{now: now, wake: make(chan struct{}, 1), known: map[subject]*incident{}}
}

// Hear takes note of an alert. The end of an event that nobody heard of is
// passed over.
func (f *Feed) Hear(a core.Alert) {
	now := f.now()
	if f.Hide != nil {
		a.Text = f.Hide(a.Text)
	}
	a.Text = tidy(a.Text)
	f.mu.Lock()
	defer f.mu.Unlock()
	s := subject{a.Kind, a.Key}
	i := f.known[s]
	switch {
	case a.Over && (i == nil || i.over()):
		return
	case a.Over:
		i.ended, i.end = now, cmp.Or(a.Text, "It is over.")
	default:
		if i == nil || i.past(now) {
			f.forget(now)
			i = &incident{subject: s, id: rand.Text(), first: now}
			f.known[s] = i
		}
		if i.folded {
			f.anew(i)
		}
		i.happened(a, now)
	}
	f.enqueue(i)
	if len(f.queue) > most {
		f.fold(now)
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// enqueue notes that an incident's message is not what it should be, or may not
// be. The lock is held.
func (f *Feed) enqueue(i *incident) {
	i.unsaved = true
	if !slices.Contains(f.queue, i) {
		f.queue = append(f.queue, i)
	}
}

// fold makes one message of all that wait for one, if any do. The lock is held.
func (f *Feed) fold(now time.Time) *incident {
	list := f.missing()
	if len(list) == 0 {
		return nil
	}
	one := &incident{id: rand.Text(), first: now, note: true}
	if at := slices.IndexFunc(list, func(i *incident) bool { return i.lines != nil }); at >= 0 {
		one = list[at]
	}
	for _, i := range list {
		if i != one {
			one.swallow(i)
		}
	}
	f.enqueue(one)
	return one
}

// missing are the incidents that wait for a message. The lock is held.
func (f *Feed) missing() []*incident {
	var list []*incident
	for _, i := range f.queue {
		if i.shown == "" && !i.folded && !i.sending {
			list = append(list, i)
		}
	}
	return list
}

// forget drops what is over for good, and if that is not enough what was heard
// of longest ago. The lock is held.
func (f *Feed) forget(now time.Time) {
	for s, i := range f.known {
		if i.past(now) {
			delete(f.known, s)
		}
	}
	if len(f.known) < most {
		return
	}
	var oldest *incident
	for _, i := range f.known {
		if oldest == nil || i.last.Before(oldest.last) {
			oldest = i
		}
	}
	delete(f.known, oldest.subject)
}

// anew gives an incident another message: it was told together with others, or
// its own is gone. The lock is held.
func (f *Feed) anew(i *incident) {
	f.enqueue(&incident{subject: i.subject, id: i.id, count: i.count, row: i.row, folded: true})
	i.id, i.row, i.shown, i.refused, i.folded = rand.Text(), delivery.Row{}, "", 0, false
}

// say makes notes of what has changed and stayed so, and tells how long it is
// until the next one may be due: negative if none may. The lock is held.
func (f *Feed) say(now time.Time) time.Duration {
	wait := time.Duration(-1)
	for _, i := range f.known {
		if i.saidOver == i.over() || i.shown == "" && !i.folded {
			continue
		}
		since, text := i.ended, "✅ "+i.end
		if !i.over() {
			since, text = i.last, sign+"Again: "+i.text
		}
		switch left := since.Add(calm).Sub(now); {
		case quiet[i.kind]:
			i.saidOver = i.over()
		case left > 0 && (wait < 0 || left < wait):
			wait = left
		case left <= 0:
			i.saidOver = i.over()
			f.enqueue(&incident{id: rand.Text(), text: text, first: now, count: 1, note: true})
		}
	}
	return wait
}

// Run shows what was heard until the context ends. It is called once.
func (f *Feed) Run(ctx context.Context, c Config) {
	if c.Every <= 0 {
		c.Every = 10 * time.Second
	}
	if c.Burst <= 0 {
		c.Burst = 5
	}
	if c.After == nil {
		c.After = time.After
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	f.mu.Lock()
	f.bucket = bucket{every: c.Every, burst: c.Burst, full: f.now()}
	f.mu.Unlock()
	w := worker{Feed: f, c: c}
	for ctx.Err() == nil {
		var due <-chan time.Time
		if wait := w.step(ctx); wait >= 0 {
			due = c.After(wait)
		}
		select {
		case <-ctx.Done():
		case <-f.wake:
		case <-due:
		}
	}
	// What is not shown yet is for the next start.
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if w.begun {
		w.save(rest)
	}
}

// tidy is a text on one line, without credentials, and cut.
func tidy(s string) string {
	s = strings.Join(strings.Fields(llm.Mask(s)), " ")
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest-1]) + "…"
	}
	return s
}
