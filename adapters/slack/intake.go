package slack

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"regexp"
	"runtime/debug"
	"sync"
	"time"
)

const (
	laneCount = 16   // conversations share them by hash
	laneDepth = 64   // envelopes that wait in one lane before the socket waits
	maxHeld   = 1000 // envelopes that wait in one conversation for older ones

	// admitTimeout bounds the storing of one message. Slack repeats an envelope
	// after three seconds; a slower store is not helped by waiting longer.
	admitTimeout = 10 * time.Second
	// commandTimeout bounds a native command and its reply.
	commandTimeout = 30 * time.Second
	maxCommands    = 32 // native commands at once
)

// intake takes envelopes from sockets and requests and passes them on: messages
// through lanes, so that one conversation keeps its order and none waits for
// another, and commands each on its own, since they never wait behind messages.
type intake struct {
	a        *Adapter
	ctx      context.Context // of Run
	lanes    [laneCount]chan func()
	seed     maphash.Seed
	commands chan struct{}
	running  sync.WaitGroup

	putting sync.RWMutex // read-held while something is put in
	closed  bool

	mu   sync.Mutex
	held map[string][]func() // by the key of a conversation that is being read
}

func newIntake(ctx context.Context, a *Adapter) *intake {
	in := &intake{a: a, ctx: ctx, seed: maphash.MakeSeed(), commands: make(chan struct{}, maxCommands), held: map[string][]func(){}}
	for i := range in.lanes {
		lane := make(chan func(), laneDepth)
		in.lanes[i] = lane
		in.running.Go(func() {
			for job := range lane {
				job()
			}
		})
	}
	return in
}

// wait ends the intake once its context has ended, and returns when everything
// taken up is done.
func (in *intake) wait() {
	in.putting.Lock()
	in.closed = true
	for _, lane := range in.lanes {
		close(lane)
	}
	in.putting.Unlock()
	in.running.Wait()
}

// envelope is what every frame but hello and disconnect is.
type envelope struct {
	ID      string          `json:"envelope_id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
	Attempt int             `json:"retry_attempt"`
}

// settle says what became of an envelope: nil when Slack need not send it again.
type settle func(error)

// errEnding: the process ends, the next one will take it.
var errEnding = errors.New("the bot is shutting down")

// take decodes a frame of a socket.
func (in *intake) take(ctx context.Context, frame []byte, ack func(id string)) {
	e, err := decode[envelope](frame)
	if err != nil {
		in.a.log.Warn("a frame from Slack could not be read and was passed over", "bytes", len(frame), "error", err)
		// Slack would repeat it, and then count it against the app.
		if m := envelopeID.FindSubmatch(frame); m != nil {
			ack(string(m[1]))
		}
		return
	}
	in.accept(ctx, e, func(err error) {
		if err == nil {
			ack(e.ID)
		}
	})
}

var envelopeID = regexp.MustCompile(`"envelope_id"\s*:\s*"([^"\\]+)"`)

// accept finds an envelope a place to be handled. While that place is full it
// waits, which holds a socket back, until ctx ends.
func (in *intake) accept(ctx context.Context, e envelope, done settle) {
	switch e.Type {
	case "events_api":
		p, err := decode[payload](e.Payload)
		if err != nil {
			in.a.log.Warn("an event could not be read and was passed over", "bytes", len(e.Payload), "error", err)
			done(nil)
			return
		}
		in.put(ctx, in.a.thread(p, p.subject()).Key(), func() { in.event(p, e.Attempt, done) }, done)
	case "slash_commands":
		in.start(ctx, func(ctx context.Context) { in.a.interaction(ctx, e, func() { done(nil) }) }, done)
	case "interactive":
		in.start(ctx, func(ctx context.Context) { in.interactive(ctx, e, func() { done(nil) }) }, done)
	default:
		in.a.log.Info("an envelope of an unknown kind was passed over", "kind", e.Type)
		done(nil)
	}
}

// event handles one event in its lane.
func (in *intake) event(p payload, attempt int, done settle) {
	if in.ctx.Err() != nil {
		done(errEnding)
		return
	}
	defer in.survive(p.Event.Type, done)
	ctx, cancel := context.WithTimeout(in.ctx, admitTimeout)
	defer cancel()
	err := in.a.event(ctx, p)
	if err != nil && !errors.Is(err, context.Canceled) {
		in.a.log.Error("an event was not taken; Slack will send it again", "event", p.Event.Type, "channel", p.Event.Channel, "attempt", attempt, "error", err)
	}
	done(err)
}

// interactive tells message shortcuts from menus, buttons and modals.
func (in *intake) interactive(ctx context.Context, e envelope, ack func()) {
	s, err := decode[shortcut](e.Payload)
	if err != nil || s.Type != "message_action" {
		in.a.interaction(ctx, e, ack)
		return
	}
	ack()
	in.a.shortcut(ctx, s)
}

// survive keeps a fault in one event from ending the process. The event is
// settled: sent again, it would do the same.
func (in *intake) survive(what string, done settle) {
	if v := recover(); v != nil {
		in.a.log.Error("an event could not be handled", "event", what, "panic", v, "stack", string(debug.Stack()))
		done(nil)
	}
}

// put queues a job in the lane of its conversation. While older messages of the
// conversation are being read, it waits for them.
func (in *intake) put(ctx context.Context, key string, job func(), done settle) {
	in.mu.Lock()
	if list, waits := in.held[key]; waits && len(list) < maxHeld {
		in.held[key] = append(list, job)
		in.mu.Unlock()
		return
	}
	in.mu.Unlock()
	if !in.push(ctx, key, job) {
		done(errEnding)
	}
}

// push queues a job at once, or returns false when ctx or the intake has ended.
func (in *intake) push(ctx context.Context, key string, job func()) bool {
	in.putting.RLock()
	defer in.putting.RUnlock()
	if in.closed {
		return false
	}
	select {
	case in.lanes[maphash.String(in.seed, key)%laneCount] <- job:
		return true
	case <-ctx.Done():
		return false
	}
}

// hold lets what is said in a conversation wait until it is released.
func (in *intake) hold(key string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if _, ok := in.held[key]; !ok {
		in.held[key] = []func(){}
	}
}

// release queues what came meanwhile, in its order.
func (in *intake) release(ctx context.Context, key string) {
	for {
		in.mu.Lock()
		list := in.held[key]
		if len(list) == 0 {
			delete(in.held, key)
			in.mu.Unlock()
			return
		}
		in.held[key] = []func(){}
		in.mu.Unlock()
		for _, job := range list {
			in.push(ctx, key, job) // what is left out now, Slack sends again
		}
	}
}

// start runs a command as soon as there is room.
func (in *intake) start(ctx context.Context, do func(context.Context), done settle) {
	in.putting.RLock()
	defer in.putting.RUnlock()
	select {
	case in.commands <- struct{}{}:
	case <-ctx.Done():
		done(errEnding)
		return
	}
	if in.closed {
		done(errEnding)
		return
	}
	in.running.Go(func() {
		defer func() { <-in.commands }()
		defer in.survive("interaction", func(error) {})
		ctx, cancel := context.WithTimeout(in.ctx, commandTimeout)
		defer cancel()
		do(ctx)
	})
}
