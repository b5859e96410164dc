package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"understudy/core"
	"understudy/core/llm"
)

// endWait bounds the wait for the end of the body after message_stop. It comes
// with the same packet unless the server is odd.
const endWait = 250 * time.Millisecond

// block is one content block in the making.
type block struct {
	kind      string
	text      strings.Builder // text, or the arguments of a call
	thinking  strings.Builder
	signature strings.Builder
	redacted  string
	id, name  string
	input     any // arguments that came with the block's start
}

// reader takes one answer apart and puts the reply together.
type reader struct {
	origin  llm.Ref
	attempt *llm.Attempt

	blocks  []*block
	byIndex map[int64]*block
	reason  string // the stop reason, once it came
	last    string // the event that brought it
	ended   bool   // message_stop came
	texts   int    // bytes of text so far
	calls   int    // so far
	excess  error  // why there is more of the answer than there may be
	usage   usage
}

// read yields the text as it comes, until the answer is whole. open is false
// when the caller left; a failure ends the call.
func (r *reader) read(ctx context.Context, stream *ssestream.Stream[sdk.MessageStreamEventUnion], yield func(llm.Event, error) bool) (open bool, failure *llm.Failure) {
	for stream.Next() {
		ev := stream.Current()
		event, ok := r.add(&ev)
		if r.excess != nil {
			f := r.attempt.Failure(ctx, r.excess)
			f.Finish = "malformed_response"
			return true, &f
		}
		if ok && !yield(event, nil) {
			return false, nil
		}
	}
	return true, r.judge(ctx, stream.Err())
}

// add takes one event in and gives what of it is shown at once.
func (r *reader) add(ev *sdk.MessageStreamEventUnion) (llm.Event, bool) {
	switch ev.Type {
	case "message_start":
		u := ev.Message.Usage
		r.usage.set(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokensDetails.ThinkingTokens)
	case "content_block_start":
		return r.start(ev)
	case "content_block_delta":
		return r.extend(ev)
	case "message_delta":
		u := ev.Usage
		r.usage.set(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokensDetails.ThinkingTokens)
		if ev.Delta.StopReason != "" {
			r.reason, r.last = string(ev.Delta.StopReason), ev.RawJSON()
		}
	case "message_stop":
		r.ended = true
		r.attempt.EndWithin(endWait)
	}
	return llm.Event{}, false
}

func (r *reader) start(ev *sdk.MessageStreamEventUnion) (llm.Event, bool) {
	from := &ev.ContentBlock
	if from.Type == "fallback" {
		// Another of the vendor's models goes on from here. Calls and reasoning of
		// the one that declined must not be sent back.
		r.keepText()
		return llm.Event{}, false
	}
	b := &block{kind: from.Type, redacted: from.Data, id: from.ID, name: from.Name, input: from.Input}
	if r.byIndex == nil {
		r.byIndex = map[int64]*block{}
	}
	r.blocks = append(r.blocks, b)
	r.byIndex[ev.Index] = b
	switch b.kind {
	case "tool_use":
		if r.calls++; r.calls > llm.MaxCalls {
			r.excess = llm.ErrManyCalls
		}
	case "text":
		b.text.WriteString(from.Text)
		return llm.Event{Kind: llm.TextEvent, Text: from.Text}, from.Text != ""
	case "thinking":
		b.thinking.WriteString(from.Thinking)
		b.signature.WriteString(from.Signature)
		return llm.Event{Kind: llm.ThinkingEvent, Text: from.Thinking}, from.Thinking != ""
	}
	return llm.Event{}, false
}

func (r *reader) extend(ev *sdk.MessageStreamEventUnion) (llm.Event, bool) {
	b := r.byIndex[ev.Index]
	if b == nil {
		return llm.Event{}, false
	}
	d := &ev.Delta
	switch d.Type {
	case "text_delta":
		b.text.WriteString(d.Text)
		if r.texts += len(d.Text); r.texts > llm.MaxText {
			r.excess = llm.ErrMuchText
		}
		return llm.Event{Kind: llm.TextEvent, Text: d.Text}, d.Text != ""
	case "thinking_delta":
		b.thinking.WriteString(d.Thinking)
		return llm.Event{Kind: llm.ThinkingEvent, Text: d.Thinking}, d.Thinking != ""
	case "signature_delta":
		b.signature.WriteString(d.Signature)
	case "input_json_delta":
		b.text.WriteString(d.PartialJSON)
		if b.text.Len() > llm.MaxArgs {
			r.excess = llm.ErrLongArgs
		}
	}
	return llm.Event{}, false
}

func (r *reader) keepText() {
	var kept []*block
	for _, b := range r.blocks {
		if b.kind == "text" {
			kept = append(kept, b)
		}
	}
	r.blocks, r.byIndex = kept, nil
}

// judge decides whether what came is an answer.
func (r *reader) judge(ctx context.Context, err error) *llm.Failure {
	f := r.attempt.Failure(ctx, transportError(err))
	var event *sdk.Error
	switch {
	case f.Cancelled:
	case r.ended:
		return r.judgeWhole(f)
	case errors.As(err, &event):
		f.Body = r.attempt.Hide(bytes.TrimSpace([]byte(event.RawJSON())))
	default:
		f.Cut = true
	}
	return &f
}

// judgeWhole decides about an answer that came to its end.
func (r *reader) judgeWhole(f llm.Failure) *llm.Failure {
	f.Err = nil
	text, calls, whole := r.contents()
	switch length := stop(r.reason) == llm.StopLength; {
	case llm.FailingFinish(r.reason):
		f.Finish, f.Body = r.reason, r.attempt.Hide([]byte(r.last))
	case !whole && !length:
		f.Finish = "malformed_response"
	case !text && (!calls || length):
		f.Empty = true
	default:
		return nil
	}
	return &f
}

// contents reports whether there is text, whether there are calls, and whether
// all of them are whole.
func (r *reader) contents() (text, calls, whole bool) {
	whole = true
	for _, b := range r.blocks {
		switch b.kind {
		case "text":
			text = text || !core.Blank(b.text.String())
		case "tool_use":
			calls = true
			args := b.arguments()
			whole = whole && b.name != "" && json.Valid(args) && args[0] == '{'
		}
	}
	return text, calls, whole
}

// arguments are those that were streamed, else those that came at once.
func (b *block) arguments() json.RawMessage {
	if args := strings.TrimSpace(b.text.String()); args != "" {
		return json.RawMessage(args)
	}
	if m, ok := b.input.(map[string]any); ok && len(m) > 0 {
		if args, err := json.Marshal(m); err == nil {
			return args
		}
	}
	return json.RawMessage("{}")
}

// finish yields the tool calls and the end.
func (r *reader) finish(yield func(llm.Event, error) bool) {
	done := llm.Event{Kind: llm.DoneEvent, Stop: stop(r.reason), Usage: r.usage.sum()}
	done.Reply.Role = llm.Assistant
	var calls []*llm.Call
	for _, b := range r.blocks {
		part, ok := r.part(b)
		if !ok || part.Call != nil && done.Stop == llm.StopLength { // the last call may be cut short
			continue
		}
		if part.Call != nil {
			calls = append(calls, part.Call)
		}
		done.Reply.Parts = append(done.Reply.Parts, part)
	}
	if calls != nil {
		done.Stop = llm.StopTools
	} else if done.Stop == llm.StopTools {
		done.Stop = llm.StopEnd
	}
	for _, call := range calls {
		if !yield(llm.Event{Kind: llm.CallEvent, Call: call}, nil) {
			return
		}
	}
	yield(done, nil)
}

// part is a block as the history keeps it.
func (r *reader) part(b *block) (llm.Part, bool) {
	switch b.kind {
	case "text":
		return llm.Part{Text: b.text.String()}, b.text.Len() > 0
	case "tool_use":
		return llm.Part{Call: &llm.Call{ID: b.id, Name: b.name, Args: b.arguments()}}, true
	case "thinking", "redacted_thinking":
		t := thought{b.thinking.String(), b.signature.String(), b.redacted}
		data, err := json.Marshal(t)
		if err != nil || t.Signature == "" && t.Redacted == "" {
			return llm.Part{}, false
		}
		return llm.Part{Opaque: &llm.Opaque{Origin: r.origin, Data: data}}, true
	}
	return llm.Part{}, false
}

// stop is the stop reason of an answer that did not fail. An unknown one is an
// ordinary end.
func stop(reason string) llm.Stop {
	switch reason {
	case "max_tokens":
		return llm.StopLength
	case "tool_use":
		return llm.StopTools
	}
	return llm.StopEnd
}

// usage holds the counts as the API gives them: each event overwrites what it
// names, and cached parts of the prompt are counted apart.
type usage struct{ in, out, cacheRead, cacheWrite, thinking int64 }

func (u *usage) set(in, out, cacheRead, cacheWrite, thinking int64) {
	for _, v := range []struct {
		to  *int64
		new int64
	}{{&u.in, in}, {&u.out, out}, {&u.cacheRead, cacheRead}, {&u.cacheWrite, cacheWrite}, {&u.thinking, thinking}} {
		if v.new != 0 {
			*v.to = v.new
		}
	}
}

func (u usage) sum() llm.Usage {
	return llm.Usage{
		In:         int(u.in + u.cacheRead + u.cacheWrite),
		Out:        int(u.out),
		CacheRead:  int(u.cacheRead),
		CacheWrite: int(u.cacheWrite),
		Reasoning:  int(u.thinking),
	}
}
