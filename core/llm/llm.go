// Package llm is the socket between the bot and a language model: the client
// interface, requests and stream events, the one error type with its reason,
// and the classification of what providers really answer.
//
// The contract of a [Client], which the suite in core/llm/llmtest proves for
// every implementation:
//
//   - One call makes at most one request to the provider. No client sleeps,
//     retries or refreshes credentials behind the caller's back.
//   - The sequence ends with exactly one Done event or exactly one *Error,
//     never with neither, and nothing follows either of them.
//   - Done comes only after the dialect's own terminal event. A stream that
//     ends before it, or a 200 that is no stream, is an *Error.
//   - Tool calls are delivered whole or not at all.
//   - Leaving the loop early closes the connection at once. A cancelled context
//     ends the sequence with reason [Abort] within milliseconds.
//   - A client holds one credential, keeps no other state, and is safe for
//     concurrent use. Its errors hold no credential.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"unicode"
)

// Client speaks to one provider with one credential.
type Client interface {
	// Stream sends the request and yields what comes back. Every error it
	// yields is an *Error.
	Stream(context.Context, Request) iter.Seq2[Event, error]
}

// Ref names a model: the provider's id in lower case and the model as the
// provider writes it.
type Ref struct {
	Provider string
	Model    string
}

// ParseRef splits "provider/model" at the first slash. The provider is
// lower-cased, the model is kept as written. ok is false when either part is
// empty, or holds white space or a control character.
func ParseRef(s string) (r Ref, ok bool) {
	s = strings.TrimSpace(s)
	p, m, found := strings.Cut(s, "/")
	p = strings.ToLower(p)
	if !found || p == "" || m == "" || len(p)+len(m) > 200 {
		return Ref{}, false
	}
	if strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || c == unicode.ReplacementChar || c == '@' && strings.ContainsRune(p, c)
	}) {
		return Ref{}, false
	}
	return Ref{p, m}, true
}

// String is the full ref as written.
func (r Ref) String() string {
	if r == (Ref{}) {
		return ""
	}
	return r.Provider + "/" + r.Model
}

// MarshalText writes the full ref.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a full ref; an empty text is the zero Ref.
func (r *Ref) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*r = Ref{}
		return nil
	}
	v, ok := ParseRef(string(b))
	if !ok {
		return &RefError{Text: string(b)}
	}
	*r = v
	return nil
}

// RefError says that a text is no model ref.
type RefError struct{ Text string }

func (e *RefError) Error() string {
	return "\"" + e.Text + "\" is no model ref; write provider/model, for example anthropic/claude-sonnet-4-5"
}

// Role says who speaks in a message.
type Role string

// The roles of a conversation. Tool results have a role of their own; clients
// map them to what their provider wants.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Request is one model call.
type Request struct {
	Model       string // as the provider writes it
	System      string
	Messages    []Message
	Tools       []Tool
	MaxTokens   int      // most tokens of output; 0 leaves it to the client
	Temperature *float64 // left out where the API refuses it
	Session     string   // a stable id of the conversation, for prompt caches
}

// Message is one step of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// TextMessage is a message of one text.
func TextMessage(r Role, text string) Message {
	return Message{Role: r, Parts: []Part{{Text: text}}}
}

// Text joins the text parts.
func (m Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Part is one piece of a message; exactly one field is set.
type Part struct {
	Text     string    `json:"text,omitempty"`
	Image    *Image    `json:"image,omitempty"`
	Document *Document `json:"document,omitempty"`
	Call     *Call     `json:"call,omitempty"`
	Result   *Result   `json:"result,omitempty"`
	Opaque   *Opaque   `json:"opaque,omitempty"`
}

// Image is a picture given to a model.
type Image struct {
	MIME string `json:"mime"`
	Data []byte `json:"data"`
}

// Document is a PDF given to a model. A client whose provider takes none gives
// the model Unread in its place.
type Document struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// Unread says to a model that it cannot read the document.
func (d Document) Unread() string { return "[the PDF " + d.Name + " cannot be shown to this model]" }

// Tool describes a tool that the model may call. Schema is a JSON Schema of an
// object.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Call is a tool call by the model. Args is a JSON object.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Result is what a tool answered to the call with the same ID.
type Result struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	IsError bool   `json:"isError,omitempty"`
}

// Opaque is data that only the provider and model that made it can read, such
// as signed reasoning. It is given back to them and dropped for every other.
type Opaque struct {
	Origin Ref             `json:"origin"`
	Data   json.RawMessage `json:"data"`
}

// EventKind says what a stream event is.
type EventKind int

// The kinds of stream events.
const (
	TextEvent     EventKind = iota // Text holds more text of the answer
	ThinkingEvent                  // Text holds reasoning, never shown as the answer
	CallEvent                      // Call holds one whole tool call
	DoneEvent                      // the last event: Stop, Usage and Reply are set
)

// Stop says why the model ended.
type Stop string

// The stop reasons of a finished answer. A refusal is an *Error instead.
const (
	StopEnd    Stop = "end"
	StopLength Stop = "length" // the output limit was reached
	StopTools  Stop = "tools"  // the model waits for tool results
)

// Event is one step of an answer.
type Event struct {
	Kind  EventKind
	Text  string
	Call  *Call
	Stop  Stop
	Usage Usage
	Reply Message // on Done: the assistant message for the history
}

// Usage counts tokens of one call as the provider reports them; zero means
// unknown. In is the whole prompt, so that it measures the context: CacheRead
// and CacheWrite are parts of it, as Reasoning is a part of Out.
type Usage struct {
	In         int `json:"in,omitempty"`
	Out        int `json:"out,omitempty"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
}

// Add is the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.In + v.In, u.Out + v.Out, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Reasoning + v.Reasoning}
}
