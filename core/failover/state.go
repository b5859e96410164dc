package failover

import (
	"context"
	"time"

	"understudy/core/llm"
)

// AllModels is the window key for a limit that covers every model of a
// profile.
const AllModels = "*"

// Window is one block: it holds from Since up to, not including, Until. After
// that it stays as the memory of how often the key failed.
type Window struct {
	Reason llm.Reason `json:"reason,omitempty"`
	Since  time.Time  `json:"since,omitzero"`
	Until  time.Time  `json:"until,omitzero"`
	// Stated is true when the provider named the end itself.
	Stated bool `json:"stated,omitempty"`
	// Count is the number of failures booked since the last success or the
	// last quiet failure window; it chooses the step of the ladder.
	Count int `json:"count,omitempty"`
}

// Live reports whether the window blocks at now.
func (w Window) Live(now time.Time) bool {
	return !w.Until.IsZero() && now.Before(w.Until) // most never blocked, which takes no comparison
}

// State is what is remembered about one profile of one agent. The zero value
// is a profile that was never used. Values are replaced, never changed in
// place.
type State struct {
	LastUsed time.Time `json:"lastUsed,omitzero"`
	// Models holds cooldowns by model, and under AllModels those that cover
	// the profile.
	Models map[string]Window `json:"models,omitempty"`
	// Auth is a cooldown, Billing and Permanent are disables; all three hold
	// for every model.
	Auth      Window `json:"auth,omitzero"`
	Billing   Window `json:"billing,omitzero"`
	Permanent Window `json:"permanent,omitzero"`
}

// Store keeps profile states. Changes go through a function, so that two
// writers never undo each other; UpdateState may call it more than once.
type Store interface {
	// States are the states of all profiles of the agent, by profile id,
	// without those never used. It reads what other processes wrote, too.
	States(ctx context.Context, agent string) (map[string]State, error)
	// UpdateState replaces one state and returns once that is durable.
	UpdateState(ctx context.Context, agent, profile string, change func(State) State) error
}

// Attempt is one request to one candidate with one profile, or the decision to
// make none.
type Attempt struct {
	Model   llm.Ref    `json:"model"`
	Profile string     `json:"profile,omitempty"`
	Pass    int        `json:"pass"` // from 1
	Reason  llm.Reason `json:"reason,omitempty"`
	// Behind is the reason of the block behind a skip.
	Behind llm.Reason `json:"behind,omitempty"`
	Status int        `json:"status,omitempty"` // HTTP status
	Code   string     `json:"code,omitempty"`   // the vendor's code
	Detail string     `json:"detail,omitempty"` // one line, masked
	// Skipped: no request was made. Probe: the request was made in spite of a
	// block. Won: it was answered. Switched: the user chose another model.
	Skipped  bool          `json:"skipped,omitempty"`
	Probe    bool          `json:"probe,omitempty"`
	Won      bool          `json:"won,omitempty"`
	Switched bool          `json:"switched,omitempty"`
	At       time.Time     `json:"at"`
	Took     time.Duration `json:"took,omitempty"` // nanoseconds
	// Until is the end of the block that the failure led to or that was found.
	Until time.Time `json:"until,omitzero"`
}

// Cause is the reason that counts for the attempt: for a skip the one behind
// it.
func (a Attempt) Cause() llm.Reason {
	if a.Skipped && a.Behind != "" {
		return a.Behind
	}
	return a.Reason
}
