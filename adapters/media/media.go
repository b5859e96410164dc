// Package media reads attachments from a platform's own hosts, for the adapters
// of several platforms.
//
// Promises:
//
//   - Only hosts that are named are asked, at every hop of a redirect, and only
//     they get the account's token. Plain HTTP is spoken to this machine alone.
//   - What comes is bounded in size, while it is read, and in time.
//   - What a file is, its first bytes say. A web page that is served in place
//     of a file (a sign-in page, with status 200 and any type) is refused.
//   - What a person should know of a refusal is a note in words; errors are for
//     the log, and hold no address, since addresses carry tokens.
package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"understudy/core"
)

const (
	// maxHops is how many redirects are followed.
	maxHops = 5
	// patience bounds reading one attachment, all hops included.
	patience = time.Minute
)

// Source is where the attachments of one account come from.
type Source struct {
	HTTP *http.Client // nil is a client of its own
	// Hosts are the names of the hosts that may be asked, with a port where it
	// is not the usual one. A name that begins with a dot stands for all hosts
	// below it. A host of this machine that is named with its port may be asked
	// without TLS.
	Hosts []string
	// Token goes with every request as a bearer token, if it is set.
	Token core.Secret
}

// The notes that do not depend on the file.
const (
	noteNoAddress = "the platform gives no address for it"
	noteElsewhere = "it is not stored with the platform itself"
	noteHops      = "the platform sends from one address to the next without an end"
	noteDenied    = "the bot may not read it"
	noteGone      = "it is not there any more"
	notePage      = "the platform sent a web page in place of the file"
	noteOther     = "what it holds is not what it is said to be"
	noteKind      = "files of this kind cannot be read"
	noteEmpty     = "it is empty"
)

// refusal is why an attachment cannot be used, in words for its sender.
type refusal string

func (r refusal) Error() string { return string(r) }

// Fetch reads an attachment of at most limit bytes; see [core.Fetcher].
func (s Source) Fetch(ctx context.Context, a core.Attachment, limit int64) (core.Attachment, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	data, kind, err := s.read(ctx, a, limit)
	if err == nil {
		a.MIME, err = judge(a, data, kind)
	}
	var no refusal
	switch {
	case errors.As(err, &no):
		a.Note = string(no)
		return a, nil
	case err != nil:
		return a, fmt.Errorf("reading an attachment: %w", err)
	}
	a.Data, a.Size = data, int64(len(data))
	return a, nil
}

// read gives the bytes of an attachment, and the type that its server names.
func (s Source) read(ctx context.Context, a core.Attachment, limit int64) (data []byte, kind string, err error) {
	if a.Size > limit {
		return nil, "", tooLarge(limit)
	}
	if a.URL == "" {
		return nil, "", refusal(noteNoAddress)
	}
	at, err := url.Parse(a.URL)
	if err != nil {
		return nil, "", refusal(noteElsewhere)
	}
	resp, err := s.get(ctx, at)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	if resp.ContentLength > limit {
		return nil, "", tooLarge(limit)
	}
	data, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, "", bare(err)
	case int64(len(data)) > limit:
		return nil, "", tooLarge(limit)
	case len(data) == 0:
		return nil, "", refusal(noteEmpty)
	}
	return data, resp.Header.Get("Content-Type"), nil
}

func tooLarge(limit int64) error {
	if limit >= 1<<20 {
		return refusal(fmt.Sprintf("it is larger than %d MiB", limit>>20))
	}
	return refusal(fmt.Sprintf("it is larger than %d bytes", limit))
}

// get asks for an address, and for those that it leads to.
func (s Source) get(ctx context.Context, at *url.URL) (*http.Response, error) {
	for range maxHops + 1 {
		if !s.named(at) {
			return nil, refusal(noteElsewhere)
		}
		resp, err := s.ask(ctx, at)
		if err != nil {
			return nil, err
		}
		next, err := resp.Location()
		if resp.StatusCode/100 != 3 || err != nil {
			if err := refused(resp.StatusCode); err != nil {
				_ = resp.Body.Close()
				return nil, err
			}
			return resp, nil
		}
		_ = resp.Body.Close()
		at = next
	}
	return nil, refusal(noteHops)
}

// ask makes one request. The client's own way with redirects and cookies is
// not used: it knows no named hosts.
func (s Source) ask(ctx context.Context, at *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, refusal(noteElsewhere)
	}
	req.Header.Set("User-Agent", "understudy")
	if s.Token.Set() {
		req.Header.Set("Authorization", "Bearer "+s.Token.Reveal())
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if s.HTTP != nil {
		client.Transport, client.Timeout = s.HTTP.Transport, s.HTTP.Timeout
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, bare(err)
	}
	return resp, nil
}

// bare is an error without the address that it is about.
func bare(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// refused is what a status says about the file; nil if the file follows.
func refused(status int) error {
	switch {
	case status == http.StatusOK:
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return refusal(noteDenied)
	case status == http.StatusNotFound, status == http.StatusGone:
		return refusal(noteGone)
	}
	return fmt.Errorf("the platform answered with status %d", status)
}
