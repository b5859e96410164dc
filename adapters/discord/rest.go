package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"understudy/core"
)

// defaultAPI is where Discord's REST interface is.
const defaultAPI = "https://discord.com/api"

// requestTimeout bounds one request. Discord sometimes holds a request for half
// a minute before it fails; by then nobody waits any more.
const requestTimeout = 10 * time.Second

// maxAnswer bounds what is read of an answer, in bytes. A page of messages may
// have a megabyte or two.
const maxAnswer = 16 << 20

// rest makes single requests through discordgo. Its own rate limiter is passed
// by, since that one sleeps without looking at a context, holds a channel's
// other requests back while one is under way, and never forgets a route.
type rest struct {
	session *discordgo.Session // never opened; it knows the token
	base    string             // ends in a slash
	client  *http.Client
	lanes   *lanes
	guard   *guard
}

func newREST(token, api string, client *http.Client, lanes *lanes) *rest {
	session, _ := discordgo.New("Bot " + token) // it has no way to fail
	session.LogLevel = quiet
	return &rest{session: session, base: strings.TrimRight(api, "/") + "/v10/", client: client, lanes: lanes, guard: newGuard()}
}

// quiet keeps discordgo from writing to the standard log: what it would say is
// seen and said by this package.
const quiet = discordgo.LogError - 1

// answer is what came back for a request: its body, and its headers even when
// it is a refusal.
type answer struct {
	body []byte
	head http.Header
}

// ask makes a request that belongs to no conversation, when the account may
// make one. The error is a *refusal when Discord answered.
func (r *rest) ask(ctx context.Context, class int, method, path string, body any) (answer, error) {
	key, _, _ := strings.Cut(path, "?")
	return r.request(ctx, key, method, class, method, path, body)
}

// request waits for its turn in a conversation and makes one request.
func (r *rest) request(ctx context.Context, place, route string, class int, method, path string, body any) (answer, error) {
	if err := r.lanes.enter(ctx, place, route, class); err != nil {
		return answer{}, &unsent{err}
	}
	got, err := r.do(ctx, method, path, body)
	r.lanes.leave(place, route, got.head, err)
	return got, err
}

// do makes one request, once and at once. The error is a *refusal when Discord answered.
func (r *rest) do(ctx context.Context, method, path string, body any) (answer, error) {
	kind, raw, limit, err := encode(body)
	if err != nil {
		return answer{}, &core.SendError{Permanent: true, Err: fmt.Errorf("encode %s: %w", route(method, path), err)}
	}
	if err := r.guard.check(method, path); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tap := &tap{next: r.client.Transport}
	if tap.next == nil {
		tap.next = http.DefaultTransport
	}
	bucket := discordgo.NewRatelimiter().LockBucket("")
	got, err := r.session.RequestWithLockedBucket(method, r.base+path, kind, raw, bucket, 0,
		discordgo.WithContext(ctx), discordgo.WithRetryOnRatelimit(false), discordgo.WithRestRetries(0),
		discordgo.WithClient(&http.Client{Transport: tap}))
	if err == nil {
		return answer{got, tap.head}, nil
	}
	err = explain(err, route(method, path), tap)
	var refused *refusal
	if errors.As(err, &refused) {
		refused.hide(path)
		r.guard.note(method, path, refused)
	}
	return answer{head: tap.head}, err
}

// tap keeps status and headers of a response, which discordgo does not give.
type tap struct {
	next   http.RoundTripper
	status int
	head   http.Header
}

func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err == nil {
		t.status, t.head = response.StatusCode, response.Header
		// discordgo fails over limits that it cannot read, though the request
		// was carried out, and reads a body of any size.
		response.Header = http.Header{}
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxAnswer), response.Body}
	}
	return response, err
}

// withoutURL leaves the URL out of an error: those of interactions hold tokens,
// and that of the gateway is not where it was asked for.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// explain makes one error out of the many forms in which discordgo reports a
// failure.
func explain(err error, route string, t *tap) error {
	if t.status == 0 {
		return fmt.Errorf("%s: %w", route, withoutURL(err))
	}
	out := &refusal{route: route, status: t.status}
	var (
		limited *discordgo.RateLimitError
		failed  *discordgo.RESTError
	)
	switch {
	case errors.As(err, &limited):
		out.message, out.retryAfter = limited.Message, limited.RetryAfter
	case errors.As(err, &failed):
		var body struct {
			Code    int
			Message string
			Errors  map[string]any
		}
		_ = json.Unmarshal(failed.ResponseBody, &body) // a body of another form explains nothing
		out.code, out.message, out.fields = body.Code, body.Message, body.Errors
	}
	if out.status == http.StatusTooManyRequests {
		out.global = t.head.Get("X-RateLimit-Global") != "" || t.head.Get("X-RateLimit-Scope") == "global"
		out.shared = t.head.Get("X-RateLimit-Scope") == "shared"
		if out.retryAfter == 0 {
			// A limit set in front of the API answers with a page of HTML.
			out.retryAfter = seconds(t.head.Get("Retry-After"), time.Second)
		}
	}
	return out
}

// seconds reads a header that states a number of seconds.
func seconds(value string, otherwise time.Duration) time.Duration {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n < 0 || n > 86400 {
		return otherwise
	}
	return time.Duration(n * float64(time.Second))
}

var tokenInPath = regexp.MustCompile(`^(interactions|webhooks)/[^/]+/[^/]+`)

// hide takes the token of an interaction out of what was answered to a request
// with it: whoever stands before Discord may say back what was asked for.
func (r *refusal) hide(path string) {
	if parts := strings.Split(tokenInPath.FindString(path), "/"); len(parts) == 3 {
		r.message = strings.ReplaceAll(r.message, parts[2], "[secret]")
	}
}

// route names a request in errors and logs.
func route(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	return method + " " + tokenInPath.ReplaceAllString(path, "$1/…")
}
