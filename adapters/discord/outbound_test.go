package discord_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

// in is a target in a place that needs no thread.
func in(channel string) core.Target {
	return core.Target{Thread: core.Thread{Platform: "discord", Account: "main", Workspace: "900", Channel: channel, Kind: core.KindChannel}}
}

func answer(text, nonce string) core.Post {
	return core.Post{Target: in("100"), Kind: core.PostAnswer, Text: text, Nonce: nonce}
}

func sendError(t *testing.T, err error) *core.SendError {
	t.Helper()
	var failed *core.SendError
	if !errors.As(err, &failed) {
		t.Fatalf("error %v is no SendError", err)
	}
	return failed
}

func TestNonce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := h.post(in("100"), core.PostAnswer, "once", "turn-1", false)
	second := h.post(in("100"), core.PostAnswer, "once", "turn-1", false)
	if first != second || len(h.fake.Posts("100")) != 1 {
		t.Errorf("%+v and %+v; the channel shows %+v", first, second, h.fake.Posts("100"))
	}
}

func TestLostOutcomeIsFound(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	since := time.Now().Add(-time.Minute)
	p := answer("did you see this?", "turn-1")
	if _, found, err := h.Find(t.Context(), p, since); found || err != nil {
		t.Errorf("found %v, %v before it was posted", found, err)
	}
	held := h.fake.Hold("POST", "/channels/100/messages")
	go func() {
		<-held.Reached
		held.Drop()
	}()
	_, err := h.Post(t.Context(), p)
	if failed := sendError(t, err); !failed.Unknown || failed.Permanent {
		t.Errorf("error %+v", failed)
	}
	for range 120 { // more than a page
		h.fake.Say("100", "700", "chatter")
	}
	other := p
	other.Nonce = "turn-2"
	if _, found, err := h.Find(t.Context(), other, since); found || err != nil {
		t.Errorf("found the same text of another turn: %v, %v", found, err)
	}
	posted, found, err := h.Find(t.Context(), p, since)
	if err != nil || !found || posted.ID != h.fake.Posts("100")[0].ID {
		t.Errorf("found %v %+v, %v", found, posted, err)
	}
	h.fake.ForgetNonces()
	if _, found, err := h.Find(t.Context(), p, since); !found || err != nil {
		t.Errorf("without nonces: found %v, %v", found, err)
	}
	p.Nonce, p.Text = "turn-2", "another text"
	if _, found, err := h.Find(t.Context(), p, since); found || err != nil {
		t.Errorf("found a post of another turn: %v, %v", found, err)
	}
}

// A post is looked for among all messages since it was tried, and where those are
// too many nothing is said to be missing.
func TestLostOutcomeAmongMany(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	since := time.Now().Add(-time.Minute)
	p := answer("did you see this?", "turn-1")
	for range 650 {
		h.fake.Say("100", "700", "chatter")
	}
	if _, err := h.Post(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, found, err := h.Find(t.Context(), p, since); !found || err != nil {
		t.Errorf("after 650 messages: found %v, %v", found, err)
	}
	p.Nonce = "turn-2"
	if _, found, err := h.Find(t.Context(), p, since); found || err != nil {
		t.Errorf("of another turn: found %v, %v", found, err)
	}
	for range 9_500 {
		h.fake.Say("100", "700", "chatter")
	}
	if _, found, err := h.Find(t.Context(), p, since); found || err == nil || !strings.Contains(err.Error(), "more than 10000 messages") {
		t.Errorf("after 10,151 messages: found %v, %v", found, err)
	}
}

func TestOutcomeOfFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault     discordtest.Fault
		unknown   bool
		unreached bool
		permanent bool
		after     time.Duration
		help      string
	}{
		"server error":    {fault: discordtest.Fault{Status: 500, Performed: true}, unknown: true},
		"bad gateway":     {fault: discordtest.Fault{Status: 502, Body: "<html>"}, unknown: true},
		"rate limit":      {fault: discordtest.Fault{Status: 429, RetryAfter: 1500 * time.Millisecond}, after: 1500 * time.Millisecond},
		"rate limit page": {fault: discordtest.Fault{Status: 429, Body: "<html>slow down", RetryAfter: 3 * time.Second}, after: 3 * time.Second},
		"blocked page":    {fault: discordtest.Fault{Status: 403, Body: "<html>no"}, unreached: true},
		"no access":       {fault: discordtest.Fault{Status: 403, Code: 50001}, permanent: true, help: "View Channel"},
		"bad token":       {fault: discordtest.Fault{Status: 401, Message: "401: Unauthorized"}, permanent: true, help: "token"},
		"gone":            {fault: discordtest.Fault{Status: 404, Code: 10003}, permanent: true, help: "deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			c.fault.Path = "/channels/100/messages"
			h.fake.Inject(c.fault)
			_, err := h.Post(t.Context(), answer("hello", "n1"))
			failed := sendError(t, err)
			if failed.Unknown != c.unknown || failed.Unreached != c.unreached || failed.Permanent != c.permanent || failed.RetryAfter/time.Second != c.after/time.Second ||
				!strings.Contains(failed.Help, c.help) {
				t.Errorf("error %+v", failed)
			}
			if n := len(h.fake.Requests("POST", "/channels/100/messages")); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.fake.Close()
	_, err := h.Post(t.Context(), answer("hello", "n1"))
	if failed := sendError(t, err); failed.Unknown || failed.Permanent || !failed.Unreached {
		t.Errorf("what could not be sent is %+v", failed)
	}
	if failed := sendError(t, h.Edit(t.Context(), "1", answer("hello", "n1"))); failed.Unknown || !failed.Unreached {
		t.Errorf("what could not be edited is %+v", failed)
	}
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, err := h.Post(t.Context(), answer(strings.Repeat("語", 2001), "n1"))
	if failed := sendError(t, err); !failed.TooLong {
		t.Errorf("error %+v", failed)
	}
	h.post(in("100"), core.PostAnswer, strings.Repeat("語", h.Limits(core.Thread{}).MaxText), "n2", false)
}

func TestRateLimitIsWaitedForWithTheContext(t *testing.T) {
	t.Parallel()
	inBubble(t, rateLimitIsWaitedFor)
}

func rateLimitIsWaitedFor(t *testing.T) {
	h := bubbleHouse(t)
	h.fake.Inject(discordtest.Fault{Path: "/channels/100/messages", Status: 429, RetryAfter: 7 * time.Second})
	if _, err := h.Post(t.Context(), answer("one", "n1")); err == nil {
		t.Fatal("no error")
	}
	limited := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := h.Post(ctx, answer("one", "n1"))
	if failed := sendError(t, err); failed.Unknown || !failed.Unsent || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %+v", failed)
	}
	if n := len(h.fake.Requests("POST", "")); n != 1 {
		t.Errorf("%d requests", n)
	}
	if waited := time.Since(limited); waited > time.Second {
		t.Errorf("the context was over after a second, the post after %v", waited)
	}
	h.post(in("110"), core.PostAnswer, "elsewhere", "n2", false)
	if waited := time.Since(limited); waited > time.Second {
		t.Errorf("elsewhere it was waited until %v", waited)
	}
	h.post(in("100"), core.PostAnswer, "one", "n1", false)
	if waited := time.Since(limited); waited < 7*time.Second || waited > 8*time.Second {
		t.Errorf("waited %v", waited)
	}
	if n := len(h.fake.Posts("100")); n != 1 {
		t.Errorf("%d posts", n)
	}
}

func TestStatedLimitsAreKept(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		h := bubbleHouse(t)
		h.fake.Limit(2, 5*time.Second)
		began := time.Now()
		var all sync.WaitGroup
		for i := range 7 {
			all.Go(func() {
				if _, err := h.Post(t.Context(), answer("x", string(rune('a'+i)))); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, r := range h.fake.Requests("POST", "") {
			if r.Status != 200 {
				t.Errorf("a request was answered with %d", r.Status)
			}
		}
		if took := time.Since(began); took < 15*time.Second || took > 16*time.Second {
			t.Errorf("seven posts, two in five seconds, took %v", took)
		}
	})
}

func TestAnswersGoBeforeNotices(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	held := h.fake.Hold("POST", "/channels/100/messages")
	var all sync.WaitGroup
	send := func(kind core.PostKind, text string) {
		all.Go(func() {
			p := answer(text, text)
			p.Kind = kind
			if _, err := h.Post(t.Context(), p); err != nil {
				t.Error(err)
			}
		})
	}
	send(core.PostAnswer, "first")
	<-held.Reached
	send(core.PostNotice, "notice")
	h.Waiting("100", 1)
	send(core.PostAnswer, "second")
	h.Waiting("100", 2)
	if err := h.Working(t.Context(), in("100"), true); err != nil {
		t.Error(err)
	}
	held.Release()
	all.Wait()
	var order []string
	for _, m := range h.fake.Posts("100") {
		order = append(order, m.Content)
	}
	if got := strings.Join(order, ", "); got != "first, second, -# notice" {
		t.Errorf("order %s", got)
	}
	if n := len(h.fake.Requests("POST", "/channels/100/typing")); n != 0 {
		t.Error("typing was shown while an answer was on its way")
	}
}

// Typing that hangs is cut off by whoever asked for it, and the answer goes
// out then.
func TestTypingThatIsCutOffHoldsNothingBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	held := h.fake.Hold("POST", "/channels/100/typing")
	defer held.Release()
	ctx, cancel := context.WithCancel(t.Context())
	typing := make(chan error, 1)
	go func() { typing <- h.Working(ctx, in("100"), true) }()
	<-held.Reached
	cancel()
	if err := <-typing; !errors.Is(err, context.Canceled) {
		t.Errorf("typing: %v", err)
	}
	h.post(in("100"), core.PostAnswer, "answer", "n1", false)
}

func TestMentionsAreInert(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.post(in("100"), core.PostAnswer, "@everyone <@&77> <@701>", "n1", false)
	if err := h.Edit(t.Context(), p.ID, answer("@here <@700>", "")); err != nil {
		t.Error(err)
	}
	for _, r := range h.fake.Requests("", "/channels/100/messages*") {
		t.Logf("%s %s", r.Method, r.Body)
	}
	if len(h.fake.Requests("PATCH", "")) != 1 || len(h.fake.Careless()) != 0 {
		t.Error("a request does not switch mentions off")
	}
}

func TestEditsThatFail(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	err := h.Edit(t.Context(), "12345", answer("x", ""))
	if failed := sendError(t, err); !failed.Permanent {
		t.Errorf("edit of a message that is gone: %+v", failed)
	}
	p := h.post(in("100"), core.PostAnswer, "x", "n1", false)
	// Messages that are older than an hour may be edited a few times only.
	h.fake.Inject(discordtest.Fault{Method: "PATCH", Status: 400, Code: 30046, Message: "Maximum number of edits to messages older than 1 hour reached. Try again later"})
	err = h.Edit(t.Context(), p.ID, answer("y", ""))
	if failed := sendError(t, err); !failed.Permanent || !strings.Contains(failed.Error(), "older than 1 hour") {
		t.Errorf("edit of an old message: %+v", failed)
	}
	h.fake.Inject(discordtest.Fault{Method: "PATCH", Status: 503})
	err = h.Edit(t.Context(), p.ID, answer("y", ""))
	if failed := sendError(t, err); failed.Permanent || failed.Unknown {
		t.Errorf("edit that can be repeated: %+v", failed)
	}
}
