package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"

	"understudy/core"
)

// run is the adapter between the start and the end of Run.
type run struct {
	*Adapter
	ctx     context.Context
	handler core.Handler
	inbox   *admission
	starts  *starts
	slots   chan struct{} // bounds the interactions that are answered at a time

	mu     sync.Mutex
	ended  bool
	work   sync.WaitGroup
	count  int                      // of shards
	tended tended                   // what is looked after once
	gaps   gaps                     // what was said without our hearing it
	direct *bounded[struct{}]       // channels of direct messages
	texts  *bounded[written]        // what messages said, to tell edits from other updates
	held   map[string][]wireMessage // by channel, until what was missed there is read
}

// Run connects and hands what people say to h until the context ends, which is
// no error. The only error is a *FatalError; everything else is tried again.
// Posts can be sent before, during and after Run.
func (a *Adapter) Run(ctx context.Context, h core.Handler) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	r := newRun(ctx, a, h)
	a.stand.begin()
	r.recall(ctx)
	defer func() {
		cancel()
		r.wait()
		a.stand.end(err)
	}()
	return r.connect(ctx)
}

// written is what a message that was handed over said.
type written struct{ content, text string }

// maxInteractions may be answered at the same time. Others are not answered,
// which Discord tells their users.
const maxInteractions = 64

func newRun(ctx context.Context, a *Adapter, h core.Handler) *run {
	r := &run{Adapter: a, ctx: ctx, handler: h, slots: make(chan struct{}, maxInteractions),
		direct: newBounded[struct{}](manyActive), texts: newBounded[written](manyMessages), held: map[string][]wireMessage{}, gaps: newGaps()}
	r.inbox = newAdmission(r)
	r.starts = &starts{run: r, turns: map[int]*startTurn{}}
	return r
}

// spawn starts work that Run waits for at its end.
func (r *run) spawn(what string, work func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.work.Go(func() {
		defer r.survive(what)
		work(r.ctx)
	})
}

func (r *run) wait() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.work.Wait()
}

// survive keeps a mistake in the handling of one event from ending the process.
func (r *run) survive(what string) {
	if p := recover(); p != nil {
		r.log.Error("a mistake of this program while handling an event of Discord; please report it",
			"event", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
}

// event takes one event of the gateway. Events come one at a time.
func (r *run) event(name string, raw json.RawMessage) {
	defer r.survive(name)
	if r.ctx.Err() != nil {
		return
	}
	switch name {
	case "READY":
		r.greet(raw)
	case "RESUMED":
	case "MESSAGE_CREATE":
		if m, ok := decode[wireMessage](r, name, raw); ok {
			r.live(m)
		}
	case "MESSAGE_UPDATE":
		if m, ok := decode[wireMessage](r, name, raw); ok {
			r.edited(m)
		}
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		if d, ok := decode[wireDeletion](r, name, raw); ok {
			r.deleted(d)
		}
	case "INTERACTION_CREATE":
		if i, ok := decode[wireInteraction](r, name, raw); ok {
			r.interaction(i)
		}
	default:
		r.placeEvent(name, raw)
	}
}

// greet takes the greeting of a connection that resumes nothing. What was said
// since the one before is read from the channels.
func (r *run) greet(raw json.RawMessage) {
	ready, ok := decode[greeting](r, "READY", raw)
	if !ok {
		return
	}
	r.identify(string(ready.User.ID), string(ready.Application.ID))
	r.missing(ready)
	shard, of := ready.shard()
	r.log.Info("connected to Discord", "user", string(ready.User.Username), "guilds", len(ready.Guilds), "shard", shard, "shards", of)
	r.spawn("upkeep", func(ctx context.Context) { r.upkeep(ctx, ready) })
}

// greeting is what the greeting of a new session tells.
type greeting struct {
	User        struct{ ID, Username word }
	Application struct{ ID word }
	Guilds      []struct{ ID word }
	Shard       []whole
}

// shard is which shard was greeted, and of how many.
func (w greeting) shard() (id, of int) {
	if len(w.Shard) != 2 || w.Shard[1] < 1 {
		return 0, 1
	}
	return int(w.Shard[0]), int(w.Shard[1])
}

// placeEvent keeps the knowledge about channels and threads up to date.
func (r *run) placeEvent(name string, raw json.RawMessage) {
	switch name {
	case "GUILD_CREATE", "THREAD_LIST_SYNC":
		if g, ok := decode[wireGuild](r, name, raw); ok {
			bot, _ := r.identity()
			r.places.learnGuild(g, bot)
			r.missedIn(g)
		}
	case "GUILD_UPDATE":
		if g, ok := decode[wireGuild](r, name, raw); ok {
			bot, _ := r.identity()
			r.places.learnGuild(g, bot)
		}
	case "GUILD_DELETE":
		if g, ok := decode[wireGuild](r, name, raw); ok && !g.Unavailable {
			r.places.forgetGuild(g.ID)
		}
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		if c, ok := decode[wireChannel](r, name, raw); ok {
			r.places.learn(c)
			r.threads.opened(c.ID)
		}
	case "CHANNEL_DELETE", "THREAD_DELETE":
		if c, ok := decode[wireChannel](r, name, raw); ok {
			r.places.forget(c.ID)
			r.threads.forget(c.ID)
		}
	}
}
