package discordtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// call is one REST request on its way through a handler. Handlers run with the
// server's lock held and answer with a status and a JSON value.
type call struct {
	*http.Request
	body  []byte // without files
	files []upload
}

// decode reads the JSON body.
func (c *call) decode(into any) *apiError {
	if err := json.Unmarshal(c.body, into); err != nil {
		return refused(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
	}
	return nil
}

// number is a query parameter between low and high.
func (c *call) number(name string, otherwise, high int) int {
	n, err := strconv.Atoi(c.URL.Query().Get(name))
	if err != nil {
		return otherwise
	}
	return min(max(n, 1), high)
}

// apiError is a refusal in the platform's form.
type apiError struct {
	status  int
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Errors  map[string]any `json:"errors,omitempty"`
}

func refused(status, code int, message string) *apiError {
	return &apiError{status: status, Code: code, Message: message}
}

// invalid is a 50035, which leads to the field: "components.0.type".
func invalid(field, code, message string) *apiError {
	e := refused(http.StatusBadRequest, 50035, "Invalid Form Body")
	e.Errors = object{"_errors": []object{{"code": code, "message": message}}}
	for _, name := range slices.Backward(strings.Split(field, ".")) {
		e.Errors = object{name: e.Errors}
	}
	return e
}

var (
	errUnknownChannel = refused(http.StatusNotFound, 10003, "Unknown Channel")
	errUnknownMessage = refused(http.StatusNotFound, 10008, "Unknown Message")
	errNoAccess       = refused(http.StatusForbidden, 50001, "Missing Access")
	errNoPermission   = refused(http.StatusForbidden, 50013, "Missing Permissions")
	errNotAuthor      = refused(http.StatusForbidden, 50005, "Cannot edit a message authored by another user")
	errEmpty          = refused(http.StatusBadRequest, 50006, "Cannot send an empty message")
	errArchived       = refused(http.StatusBadRequest, 50083, "Thread is archived")
	errLocked         = refused(http.StatusBadRequest, 160005, "Thread is locked")
	errHasThread      = refused(http.StatusBadRequest, 160004, "A thread has already been created for this message")
)

type handler func(*call) (int, any)

// api is the REST interface.
func (s *Server) api() http.Handler {
	mux := http.NewServeMux()
	on := func(pattern string, h handler) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, h) })
	}
	on("GET /gateway", s.gatewayAddress)
	on("GET /gateway/bot", s.gatewayInfo)
	on("GET /users/@me", func(*call) (int, any) { return http.StatusOK, s.userJSON(BotID) })
	on("GET /applications/@me", s.getApplication)
	on("GET /oauth2/applications/@me", s.getApplication)
	on("GET /channels/{channel}", s.getChannel)
	on("PATCH /channels/{channel}", s.patchChannel)
	on("GET /channels/{channel}/messages", s.listMessages)
	on("POST /channels/{channel}/messages", s.postMessage)
	on("GET /channels/{channel}/messages/{message}", s.getMessage)
	on("PATCH /channels/{channel}/messages/{message}", s.patchMessage)
	on("DELETE /channels/{channel}/messages/{message}", s.deleteMessage)
	on("POST /channels/{channel}/messages/{message}/threads", s.openThread)
	on("POST /channels/{channel}/typing", s.typing)
	on("GET /guilds/{guild}/members/{user}", s.getMember)
	on("GET /applications/{application}/commands", s.listCommands)
	on("PUT /applications/{application}/commands", s.putCommands)
	on("POST /applications/{application}/commands", s.postCommand)
	on("DELETE /applications/{application}/commands/{command}", s.deleteCommand)
	on("GET /applications/{application}/guilds/{guild}/commands", s.listCommands)
	on("PUT /applications/{application}/guilds/{guild}/commands", s.putCommands)
	on("POST /applications/{application}/guilds/{guild}/commands", s.postCommand)
	on("DELETE /applications/{application}/guilds/{guild}/commands/{command}", s.deleteCommand)
	on("POST /interactions/{interaction}/{token}/callback", s.callback)
	on("POST /webhooks/{application}/{token}", s.followUp)
	on("GET /webhooks/{application}/{token}/messages/{message}", s.getAnswer)
	on("PATCH /webhooks/{application}/{token}/messages/{message}", s.patchAnswer)
	on("DELETE /webhooks/{application}/{token}/messages/{message}", s.deleteAnswer)
	on("POST /channels/{channel}/threads", s.startThread)
	on("PUT /channels/{channel}/thread-members/@me", s.joinThread)
	on("DELETE /channels/{channel}/thread-members/@me", s.joinThread)
	on("GET /guilds/{guild}/threads/active", s.activeThreads)
	on("PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me", s.react)
	on("DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/@me", s.react)
	on("POST /users/@me/channels", s.openDirect)
	on("POST /attachments/refresh-urls", s.refreshURLs)
	s.lookups(on)
	on("/", func(c *call) (int, any) { return fail(refused(http.StatusNotFound, 0, "404: Not Found")) })
	return stripVersion(mux)
}

var versionPattern = regexp.MustCompile(`^/api(/v(9|10))?/`)

func stripVersion(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = versionPattern.ReplaceAllString(r.URL.Path, "/")
		next.ServeHTTP(w, r)
	})
}

func fail(e *apiError) (int, any) { return e.status, e }

// serve logs a request, lets limits and faults have their say, and answers.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, h handler) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 256<<20))
	if err != nil {
		return
	}
	payload, files := unpack(r, body)
	c := &call{r, payload, files}
	entry := &Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Body: jsonOnly(payload), Files: len(files)}

	s.mu.Lock()
	s.requests = append(s.requests, entry)
	f := s.fault(r.Method, r.URL.Path)
	left, reset, within := s.rate.take(r.Method, r.URL.Path)
	if strings.HasPrefix(r.URL.Path, "/interactions/") {
		within = true // callbacks have no limits
	}
	limit := s.rate.n
	status, answer := 0, any(nil)
	scope, crowd := "user", s.rate.crowded(r.URL.Path)
	switch {
	case s.rate.banned():
		status, answer = http.StatusTooManyRequests, rawBody(bannedPage)
	case !s.authorised(r):
		status, answer = fail(refused(http.StatusUnauthorized, 0, "401: Unauthorized"))
	case crowd > 0:
		scope, reset = "global", crowd
		status, answer = http.StatusTooManyRequests, limitedBody(reset, true)
	case !within:
		status, answer = http.StatusTooManyRequests, limitedBody(reset, false)
	case f == nil || f.Performed:
		status, answer = h(c)
	}
	s.happened()
	s.mu.Unlock()

	if f != nil && !s.spoil(w, f, &status, &answer) {
		return
	}
	if f != nil && f.Status == http.StatusTooManyRequests {
		reset, scope = f.RetryAfter, f.scope()
	}
	s.mu.Lock()
	entry.Status = status
	s.rate.count(status, scope)
	s.happened()
	s.mu.Unlock()
	head := w.Header()
	if limit == 0 {
		limit = 1 << 20
	}
	if scope != "global" {
		head.Set("X-RateLimit-Bucket", bucket(r.Method, r.URL.Path))
		head.Set("X-RateLimit-Limit", strconv.Itoa(limit))
		head.Set("X-RateLimit-Remaining", strconv.Itoa(left))
		head.Set("X-RateLimit-Reset", fmt.Sprintf("%.3f", float64(time.Now().Add(reset).UnixMilli())/1000))
		head.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", reset.Seconds()))
	}
	if status == http.StatusTooManyRequests {
		head.Set("Retry-After", strconv.Itoa(int(math.Ceil(reset.Seconds()))))
		head.Set("X-RateLimit-Scope", scope)
		if scope == "global" {
			head.Set("X-RateLimit-Global", "true")
		}
	}
	if raw, ok := answer.(rawBody); ok {
		head.Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, string(raw))
		return
	}
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	head.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// rawBody is an answer that is no JSON.
type rawBody string

// spoil applies a fault to an answer; it reports false when there is none.
func (s *Server) spoil(w http.ResponseWriter, f *fault, status *int, answer *any) bool {
	if f.held != nil {
		close(f.held.Reached)
		if !<-f.held.verdict {
			panic(http.ErrAbortHandler)
		}
		return true
	}
	*status = f.Status
	switch {
	case f.Body != "":
		*answer = rawBody(f.Body)
	case f.Status == http.StatusTooManyRequests:
		*answer = limitedBody(f.RetryAfter, f.Global)
	case f.Field != "":
		_, *answer = fail(invalid(f.Field, "BASE_TYPE_CHOICES", f.Message))
	default:
		*answer = refused(f.Status, f.Code, f.Message)
	}
	return true
}

// authorised checks the token, which routes with a token in their path do
// without.
func (s *Server) authorised(r *http.Request) bool {
	if r.URL.Path == "/gateway" || strings.HasPrefix(r.URL.Path, "/interactions/") || strings.HasPrefix(r.URL.Path, "/webhooks/") {
		return true
	}
	return r.Header.Get("Authorization") == "Bot "+s.token
}

func jsonOnly(body []byte) json.RawMessage {
	if !json.Valid(body) {
		return nil
	}
	return bytes.Clone(body)
}

func (s *Server) getMember(c *call) (int, any) {
	id := c.PathValue("user")
	if s.users[id] == nil {
		return fail(refused(http.StatusNotFound, 10007, "Unknown Member"))
	}
	m := s.memberJSON(id)
	m["user"] = s.userJSON(id)
	return http.StatusOK, m
}
