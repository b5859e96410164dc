package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"understudy/core"
)

// archiveAfter is how many minutes a thread stays in the list without a
// message. Discord takes 60, 1440, 4320 and 10080.
const archiveAfter = 1440

// threads opens threads from messages, each once. A thread has the id of the
// message it was opened from, so that its address is known before it exists.
type threads struct {
	adapter *Adapter

	mu    sync.Mutex
	known *bounded[*opening] // by the id of the thread
	// troubled are threads and channels of which the operator was told that
	// nothing can be said there.
	troubled *bounded[struct{}]
}

type opening struct {
	turn  chan struct{} // held by whoever is opening it
	place string        // where to post to; empty until that is known
	shut  bool          // Discord refused to open it
	told  bool          // people were told that nothing can be said in it
	times int           // how often they were
}

func newThreads(a *Adapter) *threads {
	return &threads{adapter: a, known: newBounded[*opening](manyThreads), troubled: newBounded[struct{}](manyAlerts)}
}

func (t *threads) opening(id string) *opening {
	t.mu.Lock()
	defer t.mu.Unlock()
	o, ok := t.known.get(id)
	if !ok {
		o = &opening{turn: make(chan struct{}, 1)}
		t.known.put(id, o)
	}
	return o
}

// place is where messages of a target are, as far as is known without asking.
func (t *threads) place(target core.Target) string {
	if target.Opens != "" {
		o := t.opening(target.Thread.Channel)
		t.mu.Lock()
		defer t.mu.Unlock()
		if o.place != "" {
			return o.place
		}
	}
	return target.Thread.Channel
}

// open makes sure that the thread of a target exists and returns the channel to
// post to. That is the thread, or its parent if the message to open it from was
// deleted meanwhile.
func (t *threads) open(ctx context.Context, target core.Target) (string, error) {
	if target.Opens == "" {
		return target.Thread.Channel, nil
	}
	o := t.opening(target.Thread.Channel)
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return "", &unsent{ctx.Err()}
	}
	t.mu.Lock()
	place := o.place
	t.mu.Unlock()
	if place != "" {
		return place, nil
	}
	place, err := t.create(ctx, target)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		o.shut = sendError(err, false).Permanent
		return "", err
	}
	o.place = place
	return place, nil
}

// there reports whether the thread of a target exists, as far as is known.
func (t *threads) there(target core.Target) bool {
	if target.Opens == "" {
		return true
	}
	o := t.opening(target.Thread.Channel)
	t.mu.Lock()
	defer t.mu.Unlock()
	return o.place == target.Thread.Channel
}

// shut reports whether Discord refused to open the thread of a target, which
// only a post is worth trying again.
func (t *threads) shut(target core.Target) bool {
	if target.Opens == "" {
		return false
	}
	o := t.opening(target.Thread.Channel)
	t.mu.Lock()
	defer t.mu.Unlock()
	return o.shut && o.place == ""
}

func (t *threads) create(ctx context.Context, target core.Target) (string, error) {
	a, parent := t.adapter, target.Thread.Parent
	path := messagePath(parent, target.Opens) + "/threads"
	body := object{"name": threadName(target.Title), "auto_archive_duration": archiveAfter}
	_, err := a.request(ctx, parent, routeThreads, urgentFirst, http.MethodPost, path, body)
	if wrongField(err, "auto_archive_duration") {
		a.log.Warn("Discord does not take the archive time for a thread; using the channel's own", "channel", parent)
		delete(body, "auto_archive_duration")
		_, err = a.request(ctx, parent, routeThreads, urgentFirst, http.MethodPost, path, body)
	}
	switch {
	case err == nil, refusedWith(err, codeThreadExists):
		return target.Thread.Channel, nil
	case refusedWith(err, codeUnknownMessage):
		a.log.Info("the message to open a thread from is gone; answering in its channel", "channel", parent)
		return parent, nil
	}
	// Nothing of the post itself was sent yet, whatever became of the thread.
	failed := sendError(fmt.Errorf("open a thread in channel %s: %w", parent, err), false)
	return "", failed
}

// opened notes that a thread exists.
func (t *threads) opened(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o, ok := t.known.get(id); ok && o.place == "" {
		o.place = id
	}
}

// forget drops what is known of a thread that was deleted.
func (t *threads) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known.drop(id)
}

// wrongField reports whether a form was refused for one of its fields.
func wrongField(err error, field string) bool {
	var r *refusal
	if !errors.As(err, &r) || r.code != codeInvalidForm {
		return false
	}
	_, ok := r.fields[field]
	return ok
}

// tellParent says in the channel that holds a thread why nothing can be said in
// the thread itself, once until something can, and tells the operator. A forum holds
// no messages, so that the operator alone is told of its posts.
func (a *Adapter) tellParent(ctx context.Context, target core.Target, why *core.SendError) {
	parent := target.Thread.Parent
	if parent == "" || why.Help == "" || refusedWith(why, codeUnknownChannel) {
		return
	}
	times, due := a.threads.toTell(target.Thread.Channel)
	if !due {
		return
	}
	text := "I cannot answer in the thread <#" + target.Thread.Channel + ">: " + why.Help + ". Then send /retry there."
	if !a.threads.there(target) {
		text = "I cannot answer in a thread here: " + why.Help + "."
	}
	a.trouble(target, why.Help)
	if c, known := a.places.known(parent); known && !c.talks() {
		return
	}
	body := object{"content": text, "allowed_mentions": noMentions(),
		"nonce": fmt.Sprintf("t%s-%d", target.Thread.Channel, times), "enforce_nonce": true}
	if target.Opens != "" {
		body["message_reference"] = reference(target.Opens)
	}
	_, err := a.request(ctx, parent, routePost, whenFree, http.MethodPost, messagesPath(parent), body)
	if err != nil {
		a.log.Warn("cannot say in the channel why a thread stays without an answer",
			slog.String("channel", parent), slog.Any("error", err))
	}
}

// trouble tells the operator that nothing can be said in a thread. What keeps
// threads from being opened is the same for all those of a channel.
func (a *Adapter) trouble(target core.Target, why string) {
	place, what := target.Thread.Channel, "the thread"
	if !a.threads.there(target) {
		place, what = target.Thread.Parent, "threads of the channel"
	}
	a.threads.mu.Lock()
	a.threads.troubled.put(place, struct{}{})
	a.threads.mu.Unlock()
	a.alert(core.Alert{Kind: "thread", Key: a.name() + " " + place,
		Text: fmt.Sprintf("%s: nothing can be said in %s %s: %s", a.name(), what, place, why)})
}

// noTrouble tells the operator when something can be said again.
func (a *Adapter) noTrouble(target core.Target) {
	places := []string{target.Thread.Channel}
	if target.Opens != "" {
		places = append(places, target.Thread.Parent)
	}
	for _, place := range places {
		a.threads.mu.Lock()
		_, was := a.threads.troubled.get(place)
		a.threads.troubled.drop(place)
		if o, ok := a.threads.known.get(target.Thread.Channel); ok && was {
			o.told = false
		}
		a.threads.mu.Unlock()
		if was {
			a.alert(core.Alert{Kind: "thread", Key: a.name() + " " + place, Over: true,
				Text: fmt.Sprintf("%s: something can be said in %s again", a.name(), place)})
		}
	}
}

// toTell reports whether people are still to be told that nothing can be said
// in a thread, and how often they were told so far.
func (t *threads) toTell(id string) (times int, due bool) {
	o := t.opening(id)
	t.mu.Lock()
	defer t.mu.Unlock()
	if o.told {
		return o.times, false
	}
	o.told = true
	o.times++
	return o.times - 1, true
}
