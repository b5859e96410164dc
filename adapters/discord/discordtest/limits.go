package discordtest

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"time"
)

// rate limits requests: per route and channel, over all, and those that are
// invalid.
type rate struct {
	n       int
	per     time.Duration
	windows map[string]*window

	global  int         // requests in any second
	lately  []time.Time // of the last second
	invalid int         // answers with 401, 403 or 429
	most    int         // of them, then nothing is answered any more
}

type window struct {
	ends time.Time
	used int
}

// Limit allows n requests per route in each period, as the headers of every
// answer then say, and answers the others with 429. Zero means no limit, which
// is how a server starts.
func (s *Server) Limit(n int, per time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate.n, s.rate.per, s.rate.windows = n, per, map[string]*window{}
}

// LimitGlobally allows n requests in any second over all routes but those of
// interactions. Discord's limit is 50; zero, which is how a server starts, is
// none.
func (s *Server) LimitGlobally(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate.global, s.rate.lately = n, nil
}

// BanAfter lets the guard in front of Discord shut the bot out once it got so
// many invalid answers (10,000 in ten minutes, in reality).
func (s *Server) BanAfter(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate.most = n
}

// Invalid is how many answers of 401, 403 and 429 the bot got; those of shared
// limits do not count.
func (s *Server) Invalid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rate.invalid
}

// take counts a request: how many are left in its window, when that ends, and
// whether the request is within it. The lock is held.
func (r *rate) take(method, path string) (left int, reset time.Duration, ok bool) {
	if r.n == 0 {
		return 1 << 20, time.Second, true
	}
	key := method + " " + route(path)
	w := r.windows[key]
	if w == nil || !time.Now().Before(w.ends) {
		w = &window{ends: time.Now().Add(r.per)}
		r.windows[key] = w
	}
	w.used++
	return max(r.n-w.used, 0), time.Until(w.ends), w.used <= r.n
}

// crowded counts a request and is how long to wait when there were too many in
// the last second. The lock is held.
func (r *rate) crowded(path string) time.Duration {
	if r.global == 0 || strings.HasPrefix(path, "/interactions/") || strings.HasPrefix(path, "/webhooks/") {
		return 0
	}
	now := time.Now()
	for len(r.lately) > 0 && now.Sub(r.lately[0]) >= time.Second {
		r.lately = r.lately[1:]
	}
	if len(r.lately) >= r.global {
		return r.lately[0].Add(time.Second).Sub(now)
	}
	r.lately = append(r.lately, now)
	return 0
}

// count counts an answer. The lock is held.
func (r *rate) count(status int, scope string) {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		r.invalid++
	case http.StatusTooManyRequests:
		if scope != "shared" {
			r.invalid++
		}
	}
}

func (r *rate) banned() bool { return r.most > 0 && r.invalid >= r.most }

// bannedPage is what stands in front of Discord answers to those it shut out.
const bannedPage = "<html><head><title>Access denied | discord.com used Cloudflare to restrict access</title></head><body>error code: 1015</body></html>"

func limitedBody(after time.Duration, global bool) object {
	return object{"message": "You are being rate limited.", "retry_after": after.Seconds(), "global": global}
}

func (f *fault) scope() string {
	switch {
	case f.Global:
		return "global"
	case f.Shared:
		return "shared"
	}
	return "user"
}

// route is the path up to what a limit is shared by: the channel, not the
// message.
func route(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) > 4 && parts[1] == "channels" {
		parts = parts[:4]
	}
	return strings.Join(parts, "/")
}

// bucket is the name of a limit, which does not tell for which channel it is.
func bucket(method, path string) string {
	parts := strings.Split(route(path), "/")
	for i, p := range parts {
		if strings.Trim(p, "0123456789") == "" {
			parts[i] = ""
		}
	}
	h := fnv.New64a()
	fmt.Fprint(h, method, strings.Join(parts, "/"))
	return fmt.Sprintf("%016x", h.Sum64())
}
