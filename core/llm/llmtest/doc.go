// Package llmtest holds the suite that every client in core/llm passes, and the
// scripted provider that it runs against.
//
// [Suite] is for clients that speak to a server, [Contract] is the part of it
// that also holds for a client without a wire. [Server] answers requests of
// every known [Dialect] on one port with what was queued for the model: whole
// answers, streams with pauses and gates, failures before and inside a stream,
// silence, resets. It keeps a log of what it was asked. It needs no test to
// run, so that a process of its own can host it; [Server.Control] is its remote
// control there.
//
// A Server is also an in-memory [net/http.RoundTripper], for tests that run in
// fake time, where sockets do not count as idle.
package llmtest
