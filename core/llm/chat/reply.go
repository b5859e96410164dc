package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"understudy/core"
	"understudy/core/llm"
)

const (
	// usageWait bounds the wait for what may follow the finish reason.
	usageWait = 2 * time.Second
	// endWait bounds the wait for the end of the body after [DONE]. It comes with
	// the same packet unless the server is odd.
	endWait = 250 * time.Millisecond
)

// chunk is one event of the stream. Members whose shape differs between
// servers stay raw, so that an oddity there cannot spoil the answer.
type chunk struct {
	Object  string          `json:"object"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Delta        delta           `json:"delta"`
	Message      delta           `json:"message"` // in an answer that is no stream
	FinishReason string          `json:"finish_reason"`
	NativeFinish string          `json:"native_finish_reason"`
	Error        json.RawMessage `json:"error"`
}

type delta struct {
	Content          contentText       `json:"content"`
	Refusal          string            `json:"refusal"`
	Reasoning        string            `json:"reasoning"`
	ReasoningContent string            `json:"reasoning_content"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        []callDelta       `json:"tool_calls"`
}

// contentText is a string, or a list of pieces in which reasoning may stand
// beside text.
type contentText struct {
	text     string
	thinking string
}

func (c *contentText) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '[' {
		return json.Unmarshal(b, &c.text)
	}
	var pieces []struct {
		Type     string      `json:"type"`
		Text     string      `json:"text"`
		Thinking contentText `json:"thinking"`
	}
	if err := json.Unmarshal(b, &pieces); err != nil {
		return err
	}
	for _, p := range pieces {
		c.text += p.Text
		c.thinking += p.Thinking.text
	}
	return nil
}

// reader takes one answer apart and puts the reply together.
type reader struct {
	origin  llm.Ref
	attempt *llm.Attempt

	text    strings.Builder
	inline  inline
	refusal strings.Builder
	thought thoughts
	calls   calls
	reason  string // the finish reason, once it came
	usage   llm.Usage
	odd     []byte // the last event that fits no known shape: it may say what went wrong
}

// read yields the text as it comes, until the answer is whole. open is false
// when the caller left; a failure ends the call.
func (r *reader) read(ctx context.Context, resp *http.Response, yield func(llm.Event, error) bool) (open bool, failure *llm.Failure) {
	events := ssestream.NewDecoder(resp)
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		if bytes.Equal(data, []byte("[DONE]")) {
			r.attempt.EndWithin(endWait)
			_, _ = io.Copy(io.Discard, resp.Body)
			break
		}
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil || c.failed() {
			f := r.attempt.Failure(ctx, nil)
			f.Body = r.attempt.Hide(c.evidence(data))
			return true, &f
		}
		thinking, text := r.add(c, data)
		if err := r.excess(); err != nil {
			f := r.attempt.Failure(ctx, err)
			f.Finish = "malformed_response"
			return true, &f
		}
		if thinking != "" && !yield(llm.Event{Kind: llm.ThinkingEvent, Text: thinking}, nil) {
			return false, nil
		}
		if text != "" && !yield(llm.Event{Kind: llm.TextEvent, Text: text}, nil) {
			return false, nil
		}
	}
	if rest := r.inline.rest(); rest != "" {
		r.text.WriteString(rest)
		if !yield(llm.Event{Kind: llm.TextEvent, Text: rest}, nil) {
			return false, nil
		}
	}
	return true, r.judge(ctx, events.Err())
}

// readWhole takes an answer that came in one piece, as servers give it that know
// no streams. What is none is a failure.
func (r *reader) readWhole(ctx context.Context, resp *http.Response, yield func(llm.Event, error) bool) (open bool, failure *llm.Failure) {
	none := func(err error) (bool, *llm.Failure) {
		f := r.attempt.Failure(ctx, err)
		return true, &f
	}
	if resp.StatusCode/100 != 2 {
		return none(nil)
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return none(err)
	}
	var c chunk
	if json.Unmarshal(data, &c) != nil || c.failed() || len(c.Choices) == 0 {
		return none(nil)
	}
	c.Choices[0].Delta = c.Choices[0].Message
	thinking, text := r.add(c, data)
	if rest := r.inline.rest(); rest != "" {
		r.text.WriteString(rest)
		text += rest
	}
	if err := r.excess(); err != nil {
		return none(err)
	}
	if failure := r.judge(ctx, nil); failure != nil {
		return true, failure
	}
	return (thinking == "" || yield(llm.Event{Kind: llm.ThinkingEvent, Text: thinking}, nil)) &&
		(text == "" || yield(llm.Event{Kind: llm.TextEvent, Text: text}, nil)), nil
}

// excess is why there is more of the answer than there may be.
func (r *reader) excess() error {
	switch {
	case r.text.Len()+r.refusal.Len() > llm.MaxText:
		return llm.ErrMuchText
	case len(r.calls.open) > llm.MaxCalls:
		return llm.ErrManyCalls
	case r.calls.longest > llm.MaxArgs:
		return llm.ErrLongArgs
	}
	return nil
}

// failed reports an error inside the stream.
func (c chunk) failed() bool {
	if c.Object == "error" || says(c.Error) {
		return true
	}
	return len(c.Choices) > 0 && says(c.Choices[0].Error)
}

// evidence is what of a failing event tells why. An error that stands beside
// model output is taken out of it.
func (c chunk) evidence(data []byte) []byte {
	if len(c.Choices) > 0 && says(c.Choices[0].Error) && !says(c.Error) {
		return []byte(`{"error":` + string(c.Choices[0].Error) + `}`)
	}
	return data
}

// says reports whether an error member holds anything.
func says(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}":
		return false
	}
	return true
}

// add takes one chunk in and gives what of it is shown at once.
func (r *reader) add(c chunk, data []byte) (thinking, text string) {
	if says(c.Usage) {
		r.usage = usage(c.Usage)
	}
	if len(c.Choices) == 0 {
		if c.Choices == nil && !says(c.Usage) {
			r.odd = data
		}
		return "", ""
	}
	first := c.Choices[0]
	d := first.Delta
	aloud, said := r.inline.take(d.Content.text)
	r.text.WriteString(said)
	r.refusal.WriteString(d.Refusal)
	r.calls.add(d.ToolCalls)
	if reason := first.reason(); reason != "" && r.reason == "" {
		r.reason = reason
		r.attempt.EndWithin(usageWait)
	}
	return d.Content.thinking + r.thought.add(d) + aloud, said
}

// reason is the finish reason. A router's own word for an upstream failure is
// less telling than the upstream's.
func (c choice) reason() string {
	if c.FinishReason != "" && llm.FailingFinish(c.NativeFinish) {
		return c.NativeFinish
	}
	return c.FinishReason
}

// judge decides whether what came is an answer.
func (r *reader) judge(ctx context.Context, err error) *llm.Failure {
	f := r.attempt.Failure(ctx, err)
	if r.odd != nil {
		f.Body = r.attempt.Hide(r.odd)
	}
	switch {
	case f.Cancelled:
	case r.reason == "":
		f.Cut = true
	case llm.FailingFinish(r.reason):
		f.Finish, f.Err = r.reason, nil
	case r.refusal.Len() > 0 && r.blank():
		f.Finish, f.Err = "refusal", nil
	case !r.calls.whole() && stop(r.reason) != llm.StopLength:
		f.Finish, f.Err = "malformed_response", nil
	case r.blank() && (r.calls.none() || stop(r.reason) == llm.StopLength):
		f.Empty, f.Err = true, nil
	default:
		return nil
	}
	return &f
}

func (r *reader) blank() bool { return core.Blank(r.text.String()) }

// finish yields the tool calls and the end.
func (r *reader) finish(yield func(llm.Event, error) bool) {
	done := llm.Event{Kind: llm.DoneEvent, Stop: stop(r.reason), Usage: r.usage}
	done.Reply.Role = llm.Assistant
	var made []llm.Call
	if done.Stop != llm.StopLength { // the last call may be cut short
		made = r.calls.all()
	}
	if made != nil {
		done.Stop = llm.StopTools
		if o := r.thought.opaque(r.origin); o != nil {
			done.Reply.Parts = append(done.Reply.Parts, llm.Part{Opaque: o})
		}
	} else if done.Stop == llm.StopTools {
		done.Stop = llm.StopEnd
	}
	if r.text.Len() > 0 {
		done.Reply.Parts = append(done.Reply.Parts, llm.Part{Text: r.text.String()})
	}
	for i := range made {
		done.Reply.Parts = append(done.Reply.Parts, llm.Part{Call: &made[i]})
		if !yield(llm.Event{Kind: llm.CallEvent, Call: &made[i]}, nil) {
			return
		}
	}
	yield(done, nil)
}

// stop is the stop reason of a finish reason that does not fail. An unknown one
// is an ordinary end.
func stop(reason string) llm.Stop {
	switch strings.ToLower(reason) {
	case "length", "max_tokens", "model_length":
		return llm.StopLength
	case "tool_calls", "function_call", "tool_use":
		return llm.StopTools
	}
	return llm.StopEnd
}

// usage reads the token counts. They are never worth an error.
func usage(raw json.RawMessage) llm.Usage {
	var u struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		CacheHit   int `json:"prompt_cache_hit_tokens"`
		PromptMore struct {
			Cached  int `json:"cached_tokens"`
			Written int `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionMore struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	_ = json.Unmarshal(raw, &u)
	return llm.Usage{
		In:         u.Prompt,
		Out:        u.Completion,
		CacheRead:  max(u.PromptMore.Cached, u.CacheHit),
		CacheWrite: u.PromptMore.Written,
		Reasoning:  u.CompletionMore.Reasoning,
	}
}
