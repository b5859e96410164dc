package sessions

import (
	"context"
	"time"
)

// Retention says what has become too old to be kept: everything from before
// these moments. A zero moment keeps things for ever.
type Retention struct {
	// Transcripts is for what was said, by the time it was said, and for a summary
	// as soon as the oldest of what it tells of is from before.
	Transcripts time.Time
	// Notices is for posts that were sent, given up or withdrawn, and for the
	// records of turns.
	Notices time.Time
	// Inbox is for the keys of messages that are settled. A message whose key is
	// forgotten counts as new, so this must lie further back than any platform
	// delivers a message again, or an adapter looks back by itself.
	Inbox time.Time
	// Spent is the first day, as in "2026-01-31", of which the use of people and
	// places stays counted; "" keeps all. What conversations used stays.
	Spent string
}

// Keeper forgets what is too old.
type Keeper interface {
	// Prune forgets at most limit pieces of each kind, the oldest first, and
	// returns how many it forgot; fewer than limit of every kind means that
	// nothing is left to forget. A summary goes before anything that it tells of.
	// Of a session of which a message waits or a post
	// is to be sent nothing but keys of settled messages is forgotten, and what
	// has no time is kept.
	Prune(ctx context.Context, r Retention, limit int) (int, error)
}
