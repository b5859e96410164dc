package discord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// In no second does the account make more requests than Discord allows, however
// many conversations there are, and answers go first.
func TestAccountKeepsItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLanes(globalRate), time.Now()
		var (
			all   sync.WaitGroup
			mu    sync.Mutex
			at    []time.Duration
			kinds []int
		)
		for i := range 300 {
			all.Go(func() {
				key, class := fmt.Sprint(i), whenFree
				if i%3 == 0 {
					class = urgentFirst
				}
				if err := l.enter(t.Context(), key, routePost, class); err != nil {
					t.Error(err)
				}
				mu.Lock()
				at, kinds = append(at, time.Since(start)), append(kinds, class)
				mu.Unlock()
				l.leave(key, routePost, nil, nil)
			})
		}
		all.Wait()
		for i := range at {
			if j := i + globalRate; j < len(at) && at[j]-at[i] < time.Second {
				t.Fatalf("requests %d to %d left within %v", i, j, at[j]-at[i])
			}
		}
		if last := at[len(at)-1]; last > 8*time.Second {
			t.Errorf("300 requests took %v", last)
		}
		// The first burst left before there was anything to choose from.
		if rest := kinds[globalRate/5:]; !slices.IsSorted(rest) {
			t.Errorf("the order of classes was %v", rest)
		}
	})
}

// A notice that waits for the account does not hold up an answer of its own
// conversation.
func TestAnswerOvertakesANoticeThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(5) // one at once
		if err := l.try("110", routePost); err != nil {
			t.Fatal(err)
		}
		order := make(chan string, 2)
		wait := func(name string, class int) {
			if err := l.enter(t.Context(), "100", routePost, class); err != nil {
				t.Error(err)
			}
			order <- name
			l.leave("100", routePost, nil, nil)
		}
		go wait("notice", whenFree)
		synctest.Wait()
		go wait("answer", urgentFirst)
		if first, second := <-order, <-order; first != "answer" || second != "notice" {
			t.Errorf("first the %s, then the %s", first, second)
		}
	})
}

// Routes that Discord counts together wait together, and only in their own
// conversation.
func TestLanesShareABucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(globalRate)
		head := func(left string) http.Header {
			h := http.Header{}
			h.Set("X-RateLimit-Bucket", "abcd")
			h.Set("X-RateLimit-Remaining", left)
			h.Set("X-RateLimit-Reset-After", "3")
			return h
		}
		pass := func(key, route, left string) time.Duration {
			before := time.Now()
			if err := l.enter(t.Context(), key, route, urgentFirst); err != nil {
				t.Fatal(err)
			}
			l.leave(key, route, head(left), nil)
			return time.Since(before)
		}
		pass("100", routePost, "4")
		pass("100", routeEdit, "0")
		if waited := pass("110", routePost, "4"); waited != 0 {
			t.Errorf("another conversation waited %v", waited)
		}
		if waited := pass("100", routePost, "4"); waited != 3*time.Second {
			t.Errorf("the other route of the bucket waited %v", waited)
		}
	})
}

// A wait that is known to be too long is not begun.
func TestWaitThatIsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLanes(globalRate), time.Now()
		if err := l.enter(t.Context(), "100", routePost, urgentFirst); err != nil {
			t.Fatal(err)
		}
		l.leave("100", routePost, nil, &refusal{status: 429, retryAfter: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.enter(ctx, "100", routePost, urgentFirst); !errors.Is(err, errTooLong) || time.Since(start) != 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		var failed *core.SendError
		if failed = sendError(&unsent{errTooLong}, true); !failed.Unsent || failed.Refused() {
			t.Errorf("as an error of a post: %+v", failed)
		}
	})
}

// scripted answers every request with what answer says.
type scripted struct {
	answer func(*http.Request) (status int, body string, head http.Header)
}

func (s scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	status, body, head := s.answer(r)
	if head == nil {
		head = http.Header{}
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: head, Request: r,
		Body: io.NopCloser(strings.NewReader(body))}, nil
}

func scriptedREST(answer func(*http.Request) (int, string, http.Header)) *rest {
	return newREST("x", "http://discord.invalid/api", &http.Client{Transport: scripted{answer}}, newLanes(1<<20))
}

// What is forbidden is not asked for again and again, a token that was refused
// not at all, and nothing is asked any more when the bot is about to be shut
// out.
func TestGuardAgainstAskingInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		answers := scripted{func(q *http.Request) (int, string, http.Header) {
			asked++
			switch {
			case strings.HasSuffix(q.URL.Path, "/users/@me"):
				return 401, `{"message":"401: Unauthorized","code":0}`, nil
			case strings.Contains(q.URL.Path, "/channels/1/"):
				return 403, `{"message":"Missing Permissions","code":50013}`, nil
			case strings.Contains(q.URL.Path, "/shared"):
				return 429, `{"message":"slow","retry_after":0.1}`, http.Header{"X-Ratelimit-Scope": {"shared"}}
			}
			return 403, "<html>no</html>", nil
		}}
		var told []string
		a, err := New(Config{Token: core.NewSecret("x"), Allow: []string{"*"}, Rate: 1 << 20, HTTP: &http.Client{Transport: answers},
			Alert: func(a core.Alert) { told = append(told, fmt.Sprint(a.Kind, " ", a.Over)) }})
		if err != nil {
			t.Fatal(err)
		}
		r := a.rest
		do := func(method, path string) error {
			_, err := r.do(t.Context(), method, path, nil)
			return err
		}
		for range invalidSome + 20 {
			if err := do("POST", "channels/1/messages"); !refusedWith(err, codeMissingPermissions) {
				t.Fatal(err)
			}
		}
		if asked != invalidSome {
			t.Errorf("asked %d times for what is forbidden", asked)
		}
		asked = 0
		for range 20 {
			_ = do("GET", "channels/1/shared")
		}
		if asked != 1 { // 403, remembered as such
			t.Errorf("asked %d times", asked)
		}
		for range 20 {
			_ = do("GET", "channels/2/shared")
		}
		if r.guard.invalid != invalidSome+1 {
			t.Errorf("%d invalid answers: those of shared limits do not count", r.guard.invalid)
		}
		for range invalidMost {
			_ = do("GET", "channels/3")
		}
		var limited *refusal
		if err := do("GET", "channels/3"); !errors.As(err, &limited) || limited.status != 429 || limited.retryAfter <= 0 {
			t.Errorf("near the ban: %v", err)
		}
		if r.guard.invalid != invalidMost || !slices.Equal(told, []string{"requests false"}) {
			t.Errorf("%d invalid answers, told %v", r.guard.invalid, told)
		}
		time.Sleep(invalidTime)
		asked = 0
		_ = do("POST", "channels/1/messages")
		if asked != 1 || !slices.Equal(told, []string{"requests false", "requests true"}) {
			t.Errorf("after ten minutes: asked %d times, told %v", asked, told)
		}
		asked = 0
		for range 10 {
			_ = do("GET", "users/@me")
			_ = do("GET", "channels/9")
		}
		if asked != 1 {
			t.Errorf("asked %d times with a token that was refused", asked)
		}
		if _ = do("POST", "interactions/1/token/callback"); asked != 2 {
			t.Error("an interaction was not answered, although it needs no token of the bot")
		}
	})
}

// However many interactions are answered and conversations are had, what is
// kept about limits does not grow.
func TestP159(t *testing.T) {
	r := scriptedREST(func(*http.Request) (int, string, http.Header) { return 204, "", nil })
	answerSome := func(from, n int) {
		for i := from; i < from+n; i++ {
			if _, err := r.do(t.Context(), "POST", fmt.Sprintf("interactions/%d/token-%d/callback", i, i), object{"type": 5}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.do(t.Context(), "PATCH", fmt.Sprintf("webhooks/801/token-%d/messages/@original", i), object{"content": "x"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const many = 5000
	answerSome(0, 100)
	before := heap()
	answerSome(100, many)
	if grown := (heap() - before) / many; grown > 64 {
		t.Errorf("each interaction leaves %d bytes behind", grown)
	}
	synctest.Test(t, func(t *testing.T) {
		r.lanes = newLanes(1 << 20)
		for i := range 10 * laneSweep {
			if _, err := r.request(t.Context(), fmt.Sprint(i), routePost, urgentFirst, "POST", "channels/1/messages", nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if n := len(r.lanes.all); n > laneSweep+int(laneIdle/time.Second) {
			t.Errorf("%d conversations are remembered", n)
		}
	})
}
