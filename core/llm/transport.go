package llm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// MaxAnswer is the most of one answer that is read, in bytes on the wire. No
// model writes as much; a broken or hostile server could.
const MaxAnswer = 32 << 20

// errAnswerTooLarge and errSecondRequest are what a provider or an SDK gets
// that breaks the rules of [Attempt].
var (
	errAnswerTooLarge = fmt.Errorf("the answer is larger than %d MiB and was cut off", MaxAnswer>>20)
	errSecondRequest  = errors.New("a second request within one call was not sent")
)

// Transport carries the requests of every client to every provider. It pools
// connections, so that one value serves the whole program; it is safe for
// concurrent use. A client takes one [Attempt] from it for each call.
type Transport struct {
	// Veil hides the credentials of the whole program in what providers say, also
	// those that a request did not go out with. Nil hides none. It is set before
	// the first request.
	Veil *Veil

	base   http.RoundTripper
	limits Timeouts
	veils  sync.Map // of *Veil by the secrets that they hide, joined
}

// NewTransport makes a Transport over base. A nil base is a connection pool of
// its own, with the proxy of the environment; another one may be given for
// tests.
func NewTransport(base http.RoundTripper, limits Timeouts) *Transport {
	limits = limits.withDefaults()
	if base == nil {
		dialer := &net.Dialer{Timeout: limits.Connect, KeepAlive: 30 * time.Second}
		base = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         dialer.DialContext,
			TLSHandshakeTimeout: limits.Connect,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 64,
			// Shorter than the idle limit of the usual load balancer: a request on
			// a connection that the other side just closed cannot be repeated here.
			IdleConnTimeout: 45 * time.Second,
			// A compressed event stream arrives in lumps.
			DisableCompression: true,
		}
	}
	return &Transport{base: base, limits: limits}
}

// CloseIdle closes the pooled connections that nobody uses now.
func (t *Transport) CloseIdle() {
	(&http.Client{Transport: t.base}).CloseIdleConnections()
}

// Attempt is one request and what was seen of its answer. It stands where an
// SDK wants an HTTP client (Do) or a transport (RoundTrip), and holds two
// promises whatever the SDK does: it sends one request only, and it follows no
// redirect. The answer's status, headers and, unless it is an event stream, the
// first MaxBody bytes are kept for [Attempt.Failure] and replayed to the SDK.
//
// An Attempt belongs to one call and is not safe for concurrent use. Close
// ends it.
type Attempt struct {
	t       *Transport
	secrets []string
	veil    *Veil  // over secrets; nil until it is needed
	guard   *guard // nil until the request is sent

	status int
	header http.Header
	body   []byte
	broken error // what ended the reading of body early
	stream bool
	head   *streamHead // of an event stream
}

// Attempt prepares one request. The secrets are blanked out of everything that
// Failure gives, in case the provider echoes them.
func (t *Transport) Attempt(secrets ...string) *Attempt {
	return &Attempt{t: t, secrets: secrets}
}

// Secrets are the credentials that a request goes out with: its key, and the
// values of configured headers that are long enough to be one.
func Secrets(key string, header http.Header) []string {
	list := []string{key}
	for _, values := range header {
		for _, v := range values {
			if len(v) >= veilPiece {
				list = append(list, v)
			}
		}
	}
	return list
}

// Do sends the request; it is RoundTrip under the name that SDKs look for.
func (a *Attempt) Do(req *http.Request) (*http.Response, error) { return a.RoundTrip(req) }

// RoundTrip sends the request under the transport's deadlines.
func (a *Attempt) RoundTrip(req *http.Request) (*http.Response, error) {
	if a.guard != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, errSecondRequest
	}
	ctx, guard := newGuard(req.Context(), a.t.limits)
	a.guard = guard
	resp, err := a.t.base.RoundTrip(req.WithContext(ctx))
	if err != nil {
		guard.end()
		return nil, guard.explain(err)
	}
	a.status, a.header = resp.StatusCode, a.hideHeader(resp.Header)
	a.stream = isEventStream(resp)
	body := &guardedBody{rc: resp.Body, guard: guard}
	resp.Body = body
	if a.stream {
		a.head = newStreamHead(body)
		resp.Body = a.head
	} else {
		a.capture(resp, body)
	}
	return resp, nil
}

// capture keeps the head of the answer and puts it back in front of the rest.
// A body that breaks off keeps what came: status and headers still count.
func (a *Attempt) capture(resp *http.Response, body io.ReadCloser) {
	head, err := io.ReadAll(io.LimitReader(body, MaxBody))
	a.body, a.broken = a.Hide(head), err
	rest := io.Reader(body)
	if err != nil {
		rest = failingReader{err}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), body}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func isEventStream(resp *http.Response) bool {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return false
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "text/event-stream" || kind == "application/vnd.amazon.eventstream"
}

// Streaming reports whether the answer is a successful event stream.
func (a *Attempt) Streaming() bool { return a.stream }

// EndWithin gives the answer a new, short deadline. Clients use it once they
// saw the terminal event: what follows it (a token count, the end of the body)
// is welcome, but nobody waits long for it.
func (a *Attempt) EndWithin(wait time.Duration) {
	if a.guard != nil {
		a.guard.whole.Reset(wait)
	}
}

// Close ends the attempt. An answer that was not read to its end loses its
// connection, so that the provider stops at once.
func (a *Attempt) Close() {
	if a.guard != nil {
		a.guard.end()
	}
}

// Failure describes how the call failed as far as the transport saw it. ctx is
// the caller's own context, err what the transport or the SDK said, nil when
// the answer itself is the failure. The client fills in the rest.
func (a *Attempt) Failure(ctx context.Context, err error) Failure {
	if errors.Is(err, bufio.ErrTooLong) { // one line of it
		err = errAnswerTooLarge
	}
	if err == nil && a.status < 400 {
		err = a.broken // a failing status tells more than how its body ended
	}
	if err != nil {
		if said := err.Error(); string(a.Hide([]byte(said))) != said {
			err = errors.New(string(a.Hide([]byte(said))))
		}
	}
	if a.head != nil && a.head.stray {
		a.body = a.Hide(a.head.kept)
	}
	return Failure{
		Status:    a.status,
		Header:    a.header,
		Body:      a.body,
		Stream:    a.stream,
		Empty:     err == nil && a.status/100 == 2 && !a.stream && len(bytes.TrimSpace(a.body)) == 0,
		Cancelled: ctx.Err() != nil,
		Err:       err,
	}
}

// Hide blanks the attempt's secrets out of b, in whatever form they come back.
func (a *Attempt) Hide(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	if a.t.Veil != nil {
		b = []byte(a.t.Veil.Hide(string(b)))
	}
	if len(a.secrets) == 0 {
		return b
	}
	if a.veil == nil {
		a.veil = a.t.veilOf(a.secrets)
	}
	hidden := b
	for _, s := range a.secrets {
		if s != "" && len(s) < veilLeast {
			hidden = bytes.ReplaceAll(hidden, []byte(s), []byte(masked))
		}
	}
	return []byte(a.veil.Hide(string(hidden)))
}

// nothing is the veil of a client whose secrets the whole program knows.
var nothing = NewVeil()

// veilOf hides the secrets of one client, unless the Veil of the program does
// already. It is made with the client's first request: a key in all its forms is
// some thousands of pieces.
func (t *Transport) veilOf(secrets []string) *Veil {
	if t.Veil != nil && t.Veil.knows(secrets) {
		return nothing
	}
	of := strings.Join(secrets, "\x00")
	if v, ok := t.veils.Load(of); ok {
		return v.(*Veil)
	}
	v, _ := t.veils.LoadOrStore(of, NewVeil(secrets...))
	return v.(*Veil)
}

// hideHeader copies a header without secrets and without cookies, which are
// secrets too.
func (a *Attempt) hideHeader(from http.Header) http.Header {
	header := from.Clone()
	header.Del("Set-Cookie")
	for _, values := range header {
		for i, v := range values {
			values[i] = string(a.Hide([]byte(v)))
		}
	}
	return header
}

// ParseBaseURL checks the address of a provider. Credentials do not belong into
// it: addresses are logged.
func ParseBaseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("the base URL cannot be read; write one like https://host/v1")
	case u.User != nil:
		return nil, errors.New("the base URL holds a user name or password; put the key into a profile instead")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("the base URL %q must begin with http:// or https:// and name a host", s)
	}
	return u, nil
}
