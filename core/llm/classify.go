package llm

import (
	"errors"
	"io"
	"net"
)

// Classify puts one failed call down to one reason. It is called where status,
// headers and body were seen; above that nobody matches text.
func Classify(f Failure) *Error {
	e := &Error{
		Provider: f.Provider,
		Model:    f.Model,
		Status:   f.Status,
		Header:   f.Header,
		Body:     f.Body[:min(len(f.Body), MaxBody)],
		Err:      f.Err,
	}
	e.Reason, e.Evidence = decide(f)
	return e
}

func decide(f Failure) (Reason, string) {
	var netErr net.Error
	switch {
	case f.Cancelled:
		return Abort, "the caller cancelled"
	case f.Cut, errors.Is(f.Err, io.ErrUnexpectedEOF), errors.As(f.Err, &netErr):
		return Timeout, "transport"
	case f.Empty:
		return EmptyResponse, "nothing came back"
	}
	switch s := f.Status; {
	case s == 401, s == 403:
		return Auth, "status"
	case s == 402:
		return Billing, "status"
	case s == 404:
		return ModelNotFound, "status"
	case s == 408:
		return Timeout, "status"
	case s == 413:
		return ContextOverflow, "status"
	case s == 429:
		return RateLimit, "status"
	case s == 529:
		return Overloaded, "status"
	case s == 400, s == 422:
		return Format, "status"
	case s >= 500:
		return ServerError, "status"
	}
	return Unclassified, ""
}
