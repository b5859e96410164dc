package delivery

import (
	"context"
	"time"

	"understudy/core"
)

// State is where a post stands on its way to the platform.
type State string

// The states of a row. Queued, Sending and Preview rows are open: they are
// taken up again after a restart. A row in Sending may have been posted; it is
// settled by its nonce before it is sent again.
const (
	Queued    State = "queued"
	Sending   State = "sending"   // handed to the platform, outcome not known yet
	Preview   State = "preview"   // posted for a while, or about to be: the final text follows, or the message goes away again
	Sent      State = "sent"      // confirmed
	Failed    State = "failed"    // given up
	Withdrawn State = "withdrawn" // not wanted any more
)

// Open reports whether something is still to be done for a row in this state.
func (s State) Open() bool { return s == Queued || s == Sending || s == Preview }

// Row is one post of one turn: what is to be shown, and what the platform said.
type Row struct {
	ID      int64     `json:"id"` // assigned by the store; rises in the order of queueing
	Session core.Key  `json:"session"`
	Turn    string    `json:"turn"`
	Part    int       `json:"part"` // from 0 within a turn and kind
	Post    core.Post `json:"post"`
	State   State     `json:"state"`
	// PlatformID is the message's id once it was posted.
	PlatformID string `json:"platformId,omitempty"`
	Tries      int    `json:"tries,omitempty"` // sends that the platform refused, so far
	// Created is when it was queued; once it was handed to the platform, when
	// that was. Its message is not older.
	Created time.Time `json:"created"`
	Settled time.Time `json:"settled,omitzero"` // when it was sent, given up or withdrawn
	Error   string    `json:"error,omitempty"`  // why the last send failed
}

// Store keeps delivery rows. [sessions.Tx] queues rows inside the commit of a
// turn; these methods are for what happens outside of it.
type Store interface {
	// Outgoing are all open rows, in order of ID.
	Outgoing(context.Context) ([]Row, error)
	// Queue stores new rows and returns them with their IDs. A row whose Turn,
	// Post.Kind and Part exist already is not stored again: the stored one is
	// returned in its place.
	Queue(context.Context, ...Row) ([]Row, error)
	// Mark replaces one row; ID, Session and Turn stay. An unknown ID is an
	// error.
	Mark(ctx context.Context, id int64, change func(Row) Row) error
	// GiveUp marks an answer as failed, and in the same update withdraws the
	// open notices of its turn and puts the session's notice state back to
	// what it was before that turn, if the turn had changed it.
	GiveUp(ctx context.Context, id int64, why string, now time.Time) error
}
