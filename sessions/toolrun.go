package sessions

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"understudy/core/llm"
	"understudy/core/tool"
)

// maxToolText is the most of a tool's result that a model is given, in bytes.
const maxToolText = 64 << 10

// runTools runs the calls of one reply in order and adds their results to the
// turn. The turn is marked in the store before the first one starts.
func (t *turn) runTools(ctx context.Context, calls []llm.Call) error {
	err := t.b.outlast(ctx, t.in, func() error { return t.b.Store.MarkTool(ctx, t.in.Key) })
	if err != nil {
		return fmt.Errorf("marking the turn before a tool: %w", err)
	}
	t.chain.Tool()
	for _, c := range calls {
		text, err := t.runTool(ctx, c)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r := llm.Result{ID: c.ID, Text: text}
		if err != nil {
			r.Text, r.IsError = "Error: "+err.Error(), true
		}
		if len(r.Text) > maxToolText {
			r.Text = strings.ToValidUTF8(r.Text[:maxToolText], "") + "\n[cut: the result is longer]"
		}
		t.entries = append(t.entries, Entry{Turn: t.id, At: t.b.Now(),
			Message: llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Result: &r}}}})
	}
	return nil
}

var errToolTimeout = errors.New("the tool took too long")

// runTool runs one call within its time. Whatever goes wrong is an error for
// the model, not for the turn.
func (t *turn) runTool(ctx context.Context, c llm.Call) (text string, err error) {
	var found tool.Tool
	for _, x := range t.agent.Tools {
		if x.Spec().Name == c.Name {
			found = x
		}
	}
	if found == nil {
		return "", fmt.Errorf("there is no tool %q", c.Name)
	}
	release, err := t.b.Slots.Take(ctx, addressOf(t.in.Message))
	if err != nil {
		return "", err
	}
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if t.set.ToolTimeout > 0 {
		go func() {
			select {
			case <-ctx.Done():
			case <-t.b.After(t.set.ToolTimeout):
				cancel(errToolTimeout)
			}
		}()
	}
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				t.b.Log.ErrorContext(ctx, "a tool panicked", "tool", c.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				done <- outcome{"", errors.New("the tool crashed")}
			}
		}()
		text, err := found.Run(ctx, tool.Call{Session: t.in.Session, Turn: t.id, Args: c.Args})
		done <- outcome{text, err}
	}()
	select {
	case o := <-done:
		return o.text, o.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
