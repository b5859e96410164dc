package slack

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"regexp"
	"sync"
	"time"
)

const (
	laneCount = 16 // conversations share them by hash
	laneDepth = 64 // envelopes that wait in one lane before the socket waits

	// admitTimeout bounds the storing of one message. Slack repeats an envelope
	// after three seconds; a slower store is not helped by waiting longer.
	admitTimeout = 10 * time.Second
	// commandTimeout bounds a native command and its reply.
	commandTimeout = 30 * time.Second
	maxCommands    = 32 // native commands at once
)

// intake takes frames from the sockets and passes them on: messages through
// lanes, so that one conversation keeps its order and none waits for another,
// and commands each on its own, since they never wait behind messages.
type intake struct {
	a        *Adapter
	lanes    [laneCount]chan func()
	seed     maphash.Seed
	commands chan struct{}
	running  sync.WaitGroup
}

func newIntake(a *Adapter) *intake {
	in := &intake{a: a, seed: maphash.MakeSeed(), commands: make(chan struct{}, maxCommands)}
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

// wait ends the intake after the last socket has ended, and returns when
// everything taken up is done.
func (in *intake) wait() {
	for _, lane := range in.lanes {
		close(lane)
	}
	in.running.Wait()
}

// envelope is what every frame but hello and disconnect is.
type envelope struct {
	ID      string          `json:"envelope_id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
	Attempt int             `json:"retry_attempt"`
}

// take decodes one frame and finds it a place to be handled. It blocks when
// that place is full, which holds the socket back until there is room.
func (in *intake) take(ctx context.Context, frame []byte, ack func(id string)) {
	e, err := decode[envelope](frame)
	if err != nil {
		in.unreadable(frame, err, ack)
		return
	}
	switch e.Type {
	case "hello":
	case "events_api":
		p, err := decode[payload](e.Payload)
		if err != nil {
			in.unreadable(frame, err, ack)
			return
		}
		in.put(ctx, in.a.thread(p, p.subject()).Key(), func() {
			if ctx.Err() != nil {
				return // for the next process: Slack sends it again
			}
			ctx, cancel := context.WithTimeout(ctx, admitTimeout)
			defer cancel()
			if err := in.a.event(ctx, p); err != nil {
				if errors.Is(err, context.Canceled) {
					return
				}
				in.a.log.Error("an event was not taken; Slack will send it again", "event", p.Event.Type, "channel", p.Event.Channel, "attempt", e.Attempt, "error", err)
				return
			}
			ack(e.ID)
		})
	case "slash_commands", "interactive":
		in.start(ctx, func(ctx context.Context) { in.a.interaction(ctx, e, func() { ack(e.ID) }) })
	default:
		in.a.log.Info("an envelope of an unknown kind was passed over", "kind", e.Type)
		ack(e.ID)
	}
}

// put queues a job in the lane of its conversation.
func (in *intake) put(ctx context.Context, key string, job func()) {
	lane := in.lanes[maphash.String(in.seed, key)%laneCount]
	select {
	case lane <- job:
	case <-ctx.Done():
	}
}

// start runs a command as soon as there is room.
func (in *intake) start(ctx context.Context, do func(context.Context)) {
	select {
	case in.commands <- struct{}{}:
	case <-ctx.Done():
		return
	}
	in.running.Go(func() {
		defer func() { <-in.commands }()
		ctx, cancel := context.WithTimeout(ctx, commandTimeout)
		defer cancel()
		do(ctx)
	})
}

// unreadable acknowledges a frame that does not parse, if an envelope id can
// be found in it by any means: Slack would repeat it, and then count it against
// the app.
func (in *intake) unreadable(frame []byte, err error, ack func(id string)) {
	in.a.log.Warn("a frame from Slack could not be read and was passed over", "bytes", len(frame), "error", err)
	if m := envelopeID.FindSubmatch(frame); m != nil {
		ack(string(m[1]))
	}
}

var envelopeID = regexp.MustCompile(`"envelope_id"\s*:\s*"([^"\\]+)"`)

// decode reads JSON. A field of an unexpected type is left empty and is no
// error: one odd field must not cost a message.
func decode[T any](data []byte) (T, error) {
	var v T
	err := json.Unmarshal(data, &v)
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		err = nil
	}
	return v, err
}
