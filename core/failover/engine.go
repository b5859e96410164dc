package failover

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Config holds what an [Engine] works with.
type Config struct {
	Rules    Rules
	Store    Store
	Profiles func(ctx context.Context, agent, provider string) (Profiles, error)
	// Skips is the auth skip cache; nil is off.
	Skips *SkipCache
	// Acquire takes a slot for one request for somebody, as Plan.Person names
	// them, and gives it back; nil is no limit.
	Acquire func(ctx context.Context, person string) (release func(), err error)
	// Called hears how the model calls of all turns end: with an answer, or with
	// the reason why there is none, except for plans aside. It must not block; nil hears nothing.
	Called func(Plan, *SummaryError)
	// Passes reports whether an error of the store may pass. A turn then waits
	// and asks again, for as long as it takes; nil is never.
	Passes func(error) bool
	// Now and After are the clock; nil is the real one.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
	Log   *slog.Logger
}

// Engine runs turns. It is safe for concurrent use.
type Engine struct {
	Config
	throttles *Throttles
}

// New makes an engine; Store and Profiles are required.
func New(c Config) *Engine {
	if c.Skips == nil {
		c.Skips = NewSkipCache(0)
	}
	if c.Acquire == nil {
		c.Acquire = func(context.Context, string) (func(), error) { return func() {}, nil }
	}
	if c.Passes == nil {
		c.Passes = func(error) bool { return false }
	}
	if c.Called == nil {
		c.Called = func(Plan, *SummaryError) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Engine{Config: c, throttles: NewThrottles()}
}

// Repair shortens the blocks of an agent's profiles that no rule could have
// made, once, when a process starts: a damaged or foreign store must not lock a
// credential away.
func (e *Engine) Repair(ctx context.Context, agent string) error {
	states, err := e.Store.States(ctx, agent)
	if err != nil {
		return fmt.Errorf("reading the profile states: %w", err)
	}
	now := e.Now()
	for id, s := range states {
		if !e.Rules.excessive(s, now) {
			continue
		}
		e.Log.WarnContext(ctx, "a block that no rule can have made is shortened", "profile", id, "agent", agent)
		if err := e.Store.UpdateState(ctx, agent, id, func(s State) State { return e.Rules.Clamp(s, now) }); err != nil {
			return fmt.Errorf("shortening the blocks of %s: %w", id, err)
		}
	}
	return nil
}
