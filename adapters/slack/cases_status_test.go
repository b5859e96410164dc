package slack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// TestCasesStatus plays what went wrong with the status line of other bots, and
// with limits. The beat is that of delivery.
func TestCasesStatus(t *testing.T) {
	for id, play := range map[string]func(*testing.T){
		"p147": twoThreadsAtWork,
		"p148": longTurn,
		"p150": interimMessage,
		"p151": statusBesideAQuestion,
		"p152": statusThatWasLeft,
		"p156": limitedEdits,
		"p176": twoTurnsAtWork,
	} {
		t.Run(id, play)
	}
}

const setStatus = "assistant.threads.setStatus"

// working changes the status of a thread, which must work.
func (r *rig) working(t core.Target, on bool) {
	r.Helper()
	if err := r.a.Working(r.Context(), t, on); err != nil {
		r.Error(err)
	}
}

func (r *rig) status(t core.Target) string {
	return r.slack.Status(t.Thread.Channel, t.Thread.Root)
}

func twoThreadsAtWork(t *testing.T) {
	r := plainly(t)
	var threads []core.Target
	for i, text := range []string{"a", "b"} {
		r.slack.Say(slacktest.Channel, slacktest.User, atBot+text)
		threads = append(threads, r.bot.next(t, i).Target)
	}
	for _, th := range threads {
		r.working(th, true)
	}
	for i, th := range threads {
		r.deliver(th, "done")
		r.working(th, false)
		if own, other := r.status(th), r.status(threads[1-i]); own != "" || other != "" && i == 1 || other == "" && i == 0 {
			t.Errorf("after turn %d the threads show %q and %q", i, own, other)
		}
	}
	said := map[string]string{}
	for _, c := range r.slack.Calls(setStatus) {
		said[c.Args["thread_ts"]] += "[" + c.Args["status"] + "]"
	}
	for _, th := range threads {
		if got := said[th.Thread.Root]; got != "["+workingText+"][]" {
			t.Errorf("thread %s: %s", th.Thread.Root, got)
		}
	}
}

func interimMessage(t *testing.T) {
	for _, kind := range []core.PostKind{core.PostNotice, core.PostStatus, core.PostAnswer} {
		r, target := asked(t)
		r.working(target, true)
		p := post(target, "step 1")
		p.Kind = kind
		if _, err := r.a.Post(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if s := r.status(target); s != "" {
			t.Fatalf("%s: Slack keeps the status %q", kind, s)
		}
		r.working(target, true) // delivery asks for it at once
		if r.status(target) != workingText {
			t.Errorf("%s: no status after an interim message", kind)
		}
		r.deliver(target, "done")
		r.working(target, false)
		if s := r.status(target); s != "" {
			t.Errorf("%s: status %q stays", kind, s)
		}
	}
}

func statusBesideAQuestion(t *testing.T) {
	r, target := asked(t)
	hold := make(chan struct{})
	r.slack.Fail(setStatus, slacktest.Fault{Hold: hold})
	var late sync.WaitGroup
	late.Go(func() { r.working(target, true) })
	r.wait("the refresh", func() bool { return len(r.slack.Calls(setStatus)) == 1 })
	late.Go(func() { r.card(target, "May I?") })
	r.wait("the question", func() bool { return len(r.slack.Posts(slacktest.Channel, target.Thread.Root)) == 1 })
	close(hold) // Slack shows it only now
	late.Wait()
	if s := r.status(target); s != "" {
		t.Errorf("status %q locks the composer", s)
	}
}

func statusThatWasLeft(t *testing.T) {
	for name, leave := range map[string]func(*rig, core.Target){
		"killed": func(r *rig, target core.Target) {
			other, err := New(r.a.cfg)
			if err != nil {
				r.Fatal(err)
			}
			if err := other.Working(r.Context(), target, true); err != nil {
				r.Fatal(err)
			}
		},
		"panicked": func(r *rig, target core.Target) {
			ctx, cancel := context.WithCancel(r.Context())
			if err := r.a.Working(ctx, target, true); err != nil {
				r.Fatal(err)
			}
			cancel()
		},
		"limited": func(r *rig, target core.Target) {
			r.working(target, true)
			r.slack.Fail(setStatus, slacktest.Fault{RetryAfter: 1})
			if err := r.a.Working(r.Context(), target, false); err == nil {
				r.Error("it was not taken away, and there is no error")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, target := asked(t)
			leave(r, target)
			if r.status(target) == "" {
				t.Fatal("no status")
			}
			r.working(target, false)
			if s := r.status(target); s != "" {
				t.Errorf("status %q stays", s)
			}
		})
	}
}

func twoTurnsAtWork(t *testing.T) {
	r, target := asked(t)
	for range 2 { // both ask; delivery counts them, and the last one ends it
		r.working(target, true)
	}
	if r.status(target) == "" {
		t.Error("no status while one is at work")
	}
	r.working(target, false)
	if n := len(r.slack.Calls(setStatus)); n != 2 || r.status(target) != "" {
		t.Errorf("%d requests; status %q", n, r.status(target))
	}
}

// wire is a Slack without a network, for time that does not pass.
type wire struct {
	answer func(wired) (retryAfter int)

	mu       sync.Mutex
	calls    []wired
	inFlight int
	crowd    int // the most at once
}

// wired is one request.
type wired struct {
	at     time.Time
	n      int // of the method, from 1
	method string
	args   url.Values
	failed bool
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	args, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	c := wired{at: time.Now(), method: strings.TrimPrefix(req.URL.Path, "/api/"), args: args}
	w.mu.Lock()
	c.n = 1 + len(w.of(c.method))
	retry := w.answer(c)
	c.failed = retry > 0
	w.calls = append(w.calls, c)
	w.inFlight++
	w.crowd = max(w.crowd, w.inFlight)
	w.mu.Unlock()
	time.Sleep(200 * time.Millisecond)
	w.mu.Lock()
	w.inFlight--
	w.mu.Unlock()
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req}
	said := fmt.Sprintf(`{"ok":true,"channel":"D1","ts":"2.%06d","message":{"thread_ts":%q}}`, c.n, args.Get("thread_ts"))
	if c.failed {
		resp.StatusCode, said = http.StatusTooManyRequests, "<html>slow down</html>"
		resp.Header.Set("Retry-After", fmt.Sprint(retry))
	}
	resp.Body = io.NopCloser(strings.NewReader(said))
	return resp, nil
}

// of are the calls of a method. The lock is held, or nobody calls any more.
func (w *wire) of(method string) (calls []wired) {
	for _, c := range w.calls {
		if c.method == method {
			calls = append(calls, c)
		}
	}
	return calls
}

// wiredTo is an adapter on a wire, with Slack's own limits.
func wiredTo(t *testing.T, w *wire) *Adapter {
	t.Helper()
	a, err := New(Config{
		BotToken: core.NewSecret(slacktest.BotToken), AppToken: core.NewSecret(slacktest.AppToken), NativeStreaming: NativeOff,
		Allow: []string{Everybody}, HTTP: &http.Client{Transport: w},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func longTurn(t *testing.T) {
	for _, limited := range []int{0, 30} { // seconds
		synctest.Test(t, func(t *testing.T) {
			w := &wire{answer: func(c wired) int {
				if c.n == 3 {
					return limited
				}
				return 0
			}}
			a, target := wiredTo(t, w), inThread("C1", "1.0")
			var beats sync.WaitGroup
			for range 5 * 60 / 8 { // five minutes
				beats.Go(func() { _ = a.Working(t.Context(), target, true) })
				time.Sleep(8 * time.Second)
			}
			beats.Wait()
			if err := a.Working(t.Context(), target, false); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Minute)
			calls := w.of(setStatus)
			last := len(calls) - 1
			if calls[last].args.Get("status") != "" || w.crowd > 1 {
				t.Errorf("the last of %d says %q; %d at once", len(calls), calls[last].args.Get("status"), w.crowd)
			}
			for i, c := range calls[1:] {
				gap := c.at.Sub(calls[i].at)
				if gap > 100*time.Second || c.failed && gap < 10*time.Second || calls[i].failed && gap < time.Duration(limited)*time.Second {
					t.Errorf("request %d comes %s after the one before", i+2, gap)
				}
			}
			if n := len(calls); n < 4 || n > 8 {
				t.Errorf("%d requests in five minutes", n)
			}
		})
	}
}

// limitedEdits streams 200 pieces in 20 seconds, while Slack refuses every third
// edit, and beside it other answers grow.
func limitedEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: func(c wired) int {
			if c.method == "chat.update" && c.n%3 == 0 {
				return 5
			}
			return 0
		}}
		a, target := wiredTo(t, w), inThread("D1", "1.0")
		l := a.Limits(target.Thread)
		posted, err := a.Post(t.Context(), live(target, "piece 0"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var others sync.WaitGroup
		for i := range 3 {
			others.Go(func() {
				for n := 0; sleep(ctx, l.EditEvery); n++ {
					_ = a.Edit(ctx, fmt.Sprintf("3.%d", i), live(inThread("D1", fmt.Sprint(i)), fmt.Sprint("other ", n)))
				}
			})
		}
		began := time.Now()
		text := func() string { // what the model said by now
			n := min(200, 1+int(time.Since(began)/(100*time.Millisecond)))
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "piece %d ", i)
			}
			return b.String()
		}
		for time.Since(began) < 20*time.Second {
			wait := l.EditEvery
			if err := a.Edit(t.Context(), posted.ID, live(target, text())); err != nil {
				wait = max(wait, sendErr(t, err).RetryAfter)
			}
			time.Sleep(wait)
		}
		final := time.Now()
		for done := false; !done; {
			err := a.Edit(t.Context(), posted.ID, post(target, text()))
			if done = err == nil; !done {
				time.Sleep(sendErr(t, err).RetryAfter)
			}
		}
		// It waits for what Slack asked for at most, not for the others.
		if d := time.Since(final); d > 13*time.Second {
			t.Errorf("the final text took %s", d)
		}
		stop()
		others.Wait()
		edits := w.of("chat.update")
		shown := ""
		for i, c := range edits {
			if !c.failed && c.args.Get("ts") == posted.ID {
				shown = c.args.Get("text")
			}
			if i == 0 {
				continue
			}
			gap := c.at.Sub(edits[i-1].at)
			if gap < editEvery-time.Millisecond || edits[i-1].failed && gap < 5*time.Second {
				t.Errorf("edit %d comes %s after the one before", i+1, gap)
			}
		}
		if want := mrkdwn(text()); shown != want {
			t.Errorf("%q is shown", shown)
		}
	})
}
