// Package tool is the socket between a turn and what a model may do besides
// talking.
//
// A tool that has started counts as done: the turn is not replayed from the
// beginning after it, and no tool runs twice for one call. The error of a tool
// goes back to the model as its result; it is never a failure of a provider.
package tool

import (
	"context"
	"encoding/json"

	"understudy/core"
	"understudy/core/llm"
)

// Tool is one thing that a model may call. Implementations are safe for
// concurrent use.
type Tool interface {
	// Spec describes the tool to the model.
	Spec() llm.Tool
	// Run carries out one call. Its text goes to the model, as an error when
	// err is not nil.
	Run(ctx context.Context, call Call) (text string, err error)
}

// Call is one call of a tool.
type Call struct {
	Session core.Key
	Turn    string
	Args    json.RawMessage // a JSON object
}
