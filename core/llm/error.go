package llm

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Reason is what a failed attempt is put down to. Every failure has exactly
// one; docs/failover.md tells users what each means.
type Reason string

// The reasons. The first group comes out of [Classify]; the second is given by
// the chain itself to attempts that made no request.
const (
	Auth            Reason = "auth"
	AuthPermanent   Reason = "auth_permanent"
	Billing         Reason = "billing"
	RateLimit       Reason = "rate_limit"
	Overloaded      Reason = "overloaded"
	Timeout         Reason = "timeout"
	ServerError     Reason = "server_error"
	ModelNotFound   Reason = "model_not_found"
	Format          Reason = "format"
	ContextOverflow Reason = "context_overflow"
	Refusal         Reason = "refusal"
	Abort           Reason = "abort"
	EmptyResponse   Reason = "empty_response"
	NoErrorDetails  Reason = "no_error_details"
	Unclassified    Reason = "unclassified"

	Cooldown        Reason = "cooldown"
	MissingAuth     Reason = "missing_auth"
	UnknownProvider Reason = "unknown_provider"
)

// Words is the reason for people: its name with spaces.
func (r Reason) Words() string { return strings.ReplaceAll(string(r), "_", " ") }

// Scope says what a failure is evidence against.
type Scope string

// The scopes of a failure. The zero value means that nothing is blocked, or
// that the reason's own default counts.
const (
	ScopeNone    Scope = "none"    // the request or this program, no credential and no model
	ScopeModel   Scope = "model"   // this model with this credential
	ScopeProfile Scope = "profile" // this credential, every model
)

// MaxBody is the most of a failing answer that is kept, in bytes.
const MaxBody = 64 << 10

// Error is a failed model call, classified where its status, headers and body
// were seen. Error() is one line for logs: it holds no body, no URL and no
// credential. Detail is the provider's own sentence, cut and masked, for logs
// and for "/status why", never for a thread.
type Error struct {
	Reason   Reason
	Provider string
	Model    string
	Status   int    // HTTP status; 0 without a response; 200 for an error inside a stream
	Code     string // the vendor's code or type that was found, if any
	Detail   string // at most 300 runes
	Evidence string // which rule decided, for "understudy classify"

	// Scope is what the evidence covers; see [Scope].
	Scope Scope
	// ResetAt is the moment that the provider itself named as the end of the
	// limit; zero when it named none.
	ResetAt time.Time
	// Never is true when the request alone is larger than the whole limit, so
	// that waiting cannot help: nothing cools down.
	Never bool
	// Final is true for an unclassified failure that must not move on: the
	// bare sentence that says nothing at all.
	Final bool
	// Usage is what the provider said that the failed call used, zero where it
	// said nothing.
	Usage Usage

	Header http.Header // of the failing answer, nil without one
	Body   []byte      // of the failing answer, at most MaxBody bytes
	Err    error       // what the transport or SDK said, for errors.Is
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s: %s", e.Provider, e.Model, e.Reason)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (status %d", e.Status)
		if e.Code != "" {
			b.WriteString(", " + e.Code)
		}
		b.WriteString(")")
	} else if e.Code != "" {
		b.WriteString(" (" + e.Code + ")")
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Advances reports whether the next candidate of a chain is tried after a
// failure with this reason.
func (e *Error) Advances() bool {
	switch e.Reason {
	case Format, ContextOverflow, Refusal, Abort:
		return false
	}
	return !e.Final
}

// Failure is what a client saw of a failed call, before it is classified.
type Failure struct {
	Provider string
	Model    string
	Status   int         // HTTP status; 200 for an error inside a stream; 0 without a response
	Header   http.Header // of the answer, may be nil
	Body     []byte      // the raw answer, or the raw stream event that failed
	Stream   bool        // the failure came inside a stream that had begun
	Finish   string      // the finish or stop reason that means a failure, as the provider wrote it
	Empty    bool        // the call ended well but nothing usable came back
	Cut      bool        // the stream ended before its terminal event
	// Cancelled: the caller's own context was cancelled. It decides before
	// everything else.
	Cancelled bool
	Usage     Usage     // what the provider had reported by then
	Err       error     // transport or SDK error, may be nil
	Now       time.Time // when the failure was seen; relative hints count from here
}
