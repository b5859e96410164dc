package llmtest

import (
	"time"

	"understudy/core/llm"
)

// Response is what a [Server] does with one request. With a Status it is a
// plain answer; else it is a stream of Steps, which ends well by itself unless
// a step ends it otherwise.
type Response struct {
	Delay  time.Duration     `json:"delay,omitempty"` // before anything else
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	// Body is the plain answer. Without one, Code and Message are put into the
	// dialect's own form of an error.
	Body    string `json:"body,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Steps   []Step `json:"steps,omitempty"`
}

// Step is one act of a stream; the functions of the same name make one.
type Step struct {
	Do      string        `json:"do"`
	Text    string        `json:"text,omitempty"`
	Message string        `json:"message,omitempty"`
	For     time.Duration `json:"for,omitempty"`
	Call    *llm.Call     `json:"call,omitempty"`
	Stop    llm.Stop      `json:"stop,omitempty"`
	Usage   llm.Usage     `json:"usage,omitzero"`
}

// Say streams a piece of the answer's text.
func Say(text string) Step { return Step{Do: "say", Text: text} }

// Think streams a piece of reasoning.
func Think(text string) Step { return Step{Do: "think", Text: text} }

// Use streams a tool call, in several pieces.
func Use(call llm.Call) Step { return Step{Do: "use", Call: &call} }

// Ping sends what the dialect sends to keep a connection alive.
func Ping() Step { return Step{Do: "ping"} }

// Raw sends bytes as they are.
func Raw(text string) Step { return Step{Do: "raw", Text: text} }

// Pause waits.
func Pause(d time.Duration) Step { return Step{Do: "pause", For: d} }

// Gate waits until [Server.Open] opens the gate of that name.
func Gate(name string) Step { return Step{Do: "gate", Text: name} }

// Finish ends the answer well.
func Finish(stop llm.Stop, usage llm.Usage) Step {
	return Step{Do: "finish", Stop: stop, Usage: usage}
}

// Refuse ends the answer as the dialect tells a refusal.
func Refuse() Step { return Step{Do: "refuse"} }

// Fail ends the stream with an error event.
func Fail(code, message string) Step { return Step{Do: "fail", Text: code, Message: message} }

// Hang goes silent until the client leaves. As the first step it comes before
// the headers.
func Hang() Step { return Step{Do: "hang"} }

// Cut ends the body properly, but before the dialect's terminal event.
func Cut() Step { return Step{Do: "cut"} }

// Drop closes the connection in the middle of the body.
func Drop() Step { return Step{Do: "drop"} }

// Reset resets the connection. As the first step it comes before the headers.
func Reset() Step { return Step{Do: "reset"} }

// Stream is a streamed answer.
func Stream(steps ...Step) Response { return Response{Steps: steps} }

// Text is a whole answer of one text.
func Text(text string) Response { return Stream(Say(text)) }

// Failure is a failing answer in the dialect's own form.
func Failure(status int, code, message string) Response {
	return Response{Status: status, Code: code, Message: message}
}

// Plain is an answer as it stands, of that content type.
func Plain(status int, contentType, body string) Response {
	return Response{Status: status, Header: map[string]string{"Content-Type": contentType}, Body: body}
}

// With adds a header.
func (r Response) With(name, value string) Response {
	header := map[string]string{name: value}
	for k, v := range r.Header {
		header[k] = v
	}
	r.Header = header
	return r
}

// After puts a delay before the response.
func (r Response) After(d time.Duration) Response {
	r.Delay = d
	return r
}
