package discord

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Whoever gets 10,000 invalid answers (401, 403, 429) in ten minutes is shut
// out for a while. https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
const (
	invalidTime  = 10 * time.Minute
	invalidSome  = 500  // from then on what was forbidden is not asked again
	invalidMost  = 8000 // and from then on nothing is asked
	manyRefusals = 1000
	tokenPause   = time.Minute // between attempts with a token that was refused
)

// guard keeps the account from being shut out for asking in vain.
type guard struct {
	tell func(text string, over bool) // nil: nobody

	mu       sync.Mutex
	since    time.Time
	invalid  int
	refused  *bounded[*refusal] // by what was asked, since then
	token    *refusal           // the token was refused
	tokenEnd time.Time
}

func newGuard() *guard { return &guard{refused: newBounded[*refusal](manyRefusals)} }

// check refuses in Discord's place what it has refused, when asking again would
// do harm.
func (g *guard) check(method, path string) error {
	if tokenInPath.MatchString(path) {
		return nil // is not asked with the bot's token
	}
	g.mu.Lock()
	now := time.Now()
	over := g.invalid >= invalidMost && now.Sub(g.since) >= invalidTime
	if now.Sub(g.since) >= invalidTime {
		g.since, g.invalid, g.refused = now, 0, newBounded[*refusal](manyRefusals)
	}
	err := g.verdict(method, path, now)
	g.mu.Unlock()
	if over && g.tell != nil {
		g.tell("requests to Discord go out again", true)
	}
	return err
}

// verdict is the decision about one request. The lock is held.
func (g *guard) verdict(method, path string, now time.Time) error {
	switch {
	case g.token != nil && now.Before(g.tokenEnd):
		return g.token
	case g.invalid >= invalidMost:
		return &refusal{route: route(method, path), status: http.StatusTooManyRequests,
			message: "not asked, since too many requests were refused", retryAfter: g.since.Add(invalidTime).Sub(now)}
	case g.invalid >= invalidSome:
		if r, ok := g.refused.get(asked(method, path)); ok {
			return r
		}
	}
	return nil
}

// note takes what Discord answered to a request.
func (g *guard) note(method, path string, r *refusal) {
	if tokenInPath.MatchString(path) {
		return
	}
	g.mu.Lock()
	switch {
	case r.status == http.StatusUnauthorized:
		g.token, g.tokenEnd = r, time.Now().Add(tokenPause)
	case r.status == http.StatusForbidden && r.code != 0:
		g.refused.put(asked(method, path), r)
	case r.status == http.StatusForbidden, r.status == http.StatusTooManyRequests && !r.shared:
	default:
		g.mu.Unlock()
		return
	}
	g.invalid++
	count := g.invalid
	g.mu.Unlock()
	if count == invalidMost && g.tell != nil {
		g.tell(fmt.Sprintf("Discord refused %d requests within %v, and shuts out whoever asks in vain more often; "+
			"nothing is sent until they are over. Look into the log for the permissions that the bot lacks", count, invalidTime), false)
	}
}

// asked is what a request asks for, without the ids of messages.
func asked(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	key := method
	for i, p := range parts {
		if i < 2 || strings.Trim(p, "0123456789") != "" {
			key += " " + p
		}
	}
	return key
}
