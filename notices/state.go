package notices

import (
	"time"

	"understudy/core/llm"
)

// State is what a session remembers about the last change that its people were
// told of. The zero value means that the selected model answers.
type State struct {
	Selected llm.Ref    `json:"selected,omitzero"`
	Active   llm.Ref    `json:"active,omitzero"`
	Reason   llm.Reason `json:"reason,omitempty"`
	Since    time.Time  `json:"since,omitzero"`
	// Turn is the turn that stored the state, and Before what it replaced: an
	// answer that could not be delivered takes its notice and this state back.
	Turn   string `json:"turn,omitempty"`
	Before *State `json:"before,omitempty"` // at most one step: its own Before is nil
}

// Moved reports whether another model than the selected one answers.
func (s State) Moved() bool { return s.Active != (llm.Ref{}) && s.Active != s.Selected }
