package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"regexp"
	"runtime/debug"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/rescue"
)

const (
	laneCount = 16   // conversations share them by hash
	laneDepth = 1000 // envelopes that wait in one lane
	maxHeld   = 1000 // envelopes that wait in one conversation for older ones

	// admitTimeout bounds the storing of one message. Slack repeats an envelope
	// after three seconds; a slower store is not helped by waiting longer.
	admitTimeout = 10 * time.Second
	// commandTimeout bounds a native command and its reply.
	commandTimeout = 30 * time.Second
	maxCommands    = 32  // native commands at once
	maxCalls       = 500 // those and what waits for them
)

// intake takes envelopes from sockets and requests and passes them on: messages
// through lanes, so that one conversation keeps its order and none waits for
// another, and commands each on its own, since they never wait behind messages.
// It never keeps a socket from being read, however slow the store is: with the
// frames its pings would go unanswered. What finds no room is left unacknowledged,
// and Slack sends it again.
type intake struct {
	a        *Adapter
	ctx      context.Context // of Run
	lanes    [laneCount]chan func()
	seed     maphash.Seed
	commands chan struct{} // held by what runs
	calls    chan struct{} // held by that and what waits
	running  sync.WaitGroup

	putting sync.RWMutex // read-held while something is put in
	closed  bool

	mu   sync.Mutex
	held map[string][]func() // by the key of a conversation that is being read
}

func newIntake(ctx context.Context, a *Adapter) *intake {
	in := &intake{a: a, ctx: ctx, seed: maphash.MakeSeed(), commands: make(chan struct{}, maxCommands), calls: make(chan struct{}, maxCalls), held: map[string][]func(){}}
	for i := range in.lanes {
		lane := make(chan func(), laneDepth)
		in.lanes[i] = lane
		in.running.Go(func() {
			for job := range lane {
				in.do(job)
			}
		})
	}
	return in
}

// do runs a job of a lane, which goes on whatever happens.
func (in *intake) do(job func()) {
	defer rescue.Panic(in.a.log, "a message of Slack")
	job()
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

var (
	// errEnding: the process ends, the next one will take it.
	errEnding = errors.New("the bot is shutting down")
	// errCrowded: so much waits that Slack is to keep this for a while.
	errCrowded = errors.New("too much waits to be stored")
)

// take decodes a frame of a socket.
func (in *intake) take(frame []byte, ack func(id string)) {
	e, err := decode[envelope](frame)
	if err != nil {
		in.a.passOver("frame", "bytes", len(frame), "error", err)
		// Slack would repeat it, and then count it against the app.
		if m := envelopeID.FindSubmatch(frame); m != nil {
			ack(string(m[1]))
		}
		return
	}
	in.accept(e, func(err error) {
		if err == nil {
			ack(e.ID)
		}
	})
}

var envelopeID = regexp.MustCompile(`"envelope_id"\s*:\s*"([^"\\]+)"`)

// accept finds an envelope a place to be handled, and does not wait for it.
func (in *intake) accept(e envelope, done settle) {
	switch e.Type {
	case "events_api":
		p, err := decode[payload](e.Payload)
		if err != nil {
			in.a.passOver("event", "bytes", len(e.Payload), "error", err)
			done(nil)
			return
		}
		in.put(in.a.thread(p, p.subject()).Key(), func() { in.event(p, e.Attempt, done) }, done)
	case "slash_commands":
		in.start(func(ctx context.Context) { in.a.interaction(ctx, e, func() { done(nil) }) }, done)
	case "interactive":
		in.start(func(ctx context.Context) { in.interactive(ctx, e, func() { done(nil) }) }, done)
	default:
		in.a.passOver("kind of envelope", "kind", e.Type)
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
		in.a.log.Error("an event could not be handled", "event", what, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		done(nil)
	}
}

// put queues a job in the lane of its conversation. While older messages of the
// conversation are being read, it waits for them.
func (in *intake) put(key string, job func(), done settle) {
	in.mu.Lock()
	if list, waits := in.held[key]; waits && len(list) < maxHeld {
		in.held[key] = append(list, job)
		in.mu.Unlock()
		return
	}
	in.mu.Unlock()
	if err := in.offer(key, job); err != nil {
		done(err)
	}
}

// offer queues a job if there is room for it.
func (in *intake) offer(key string, job func()) error {
	in.putting.RLock()
	defer in.putting.RUnlock()
	if in.closed {
		return errEnding
	}
	select {
	case in.lane(key) <- job:
		return nil
	default:
		in.crowded()
		return errCrowded
	}
}

func (in *intake) lane(key string) chan func() {
	return in.lanes[maphash.String(in.seed, key)%laneCount]
}

// crowded tells the operator, once in a while, that Slack has to wait.
func (in *intake) crowded() {
	if in.a.full.due() {
		in.a.log.Warn("Slack sends faster than messages are stored; it is left to send the rest again")
	}
}

// push queues a job as soon as there is room, or returns false when ctx or the
// intake has ended.
func (in *intake) push(ctx context.Context, key string, job func()) bool {
	in.putting.RLock()
	defer in.putting.RUnlock()
	if in.closed {
		return false
	}
	select {
	case in.lane(key) <- job:
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

// start runs a command as soon as there is room, for which it waits on its own.
// One that runs is acknowledged: its person gets the answer, also when the
// account ends meanwhile.
func (in *intake) start(do func(context.Context), done settle) {
	in.putting.RLock()
	defer in.putting.RUnlock()
	if in.closed {
		done(errEnding)
		return
	}
	select {
	case in.calls <- struct{}{}:
	default:
		in.crowded()
		done(errCrowded)
		return
	}
	in.running.Go(func() {
		defer func() { <-in.calls }()
		select {
		case in.commands <- struct{}{}:
		case <-in.ctx.Done():
			done(errEnding)
			return
		}
		defer func() { <-in.commands }()
		defer in.survive("interaction", func(error) {})
		ctx, leave := core.Linger(in.ctx, core.Farewell)
		defer leave()
		ctx, cancel := context.WithTimeout(ctx, commandTimeout)
		defer cancel()
		do(ctx)
	})
}
