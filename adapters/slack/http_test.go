package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// overHTTP is a rig without a socket: Slack calls the adapter's handler.
func overHTTP(t *testing.T, fake slacktest.Config, change func(*Config, *Adapter)) (*rig, string) {
	t.Helper()
	r := start(t, fake, func(c *Config, a *Adapter) {
		if a == nil {
			c.AppToken, c.SigningSecret = core.Secret{}, core.NewSecret(slacktest.SigningSecret)
		}
		if change != nil {
			change(c, a)
		}
	})
	srv := httptest.NewServer(r.a.Handler())
	t.Cleanup(srv.Close)
	if err := r.slack.Subscribe(t.Context(), slacktest.Endpoints{
		Events: srv.URL + "/slack/events", Commands: srv.URL + "/slack/commands", Interactions: srv.URL + "/slack/interactions",
	}); err != nil {
		t.Fatal(err)
	}
	return r, srv.URL
}

func TestEverythingComesOverHTTP(t *testing.T) {
	r, _ := overHTTP(t, slacktest.Config{}, nil)
	r.bot.mu.Lock()
	r.bot.reply = core.Reply{Text: "done"}
	r.bot.mu.Unlock()
	ts := r.slack.Say(slacktest.Channel, slacktest.User, atBot+"6 &lt; 7")
	if m := r.bot.next(t, 0); m.Text != "6 < 7" || m.ID != ts || !m.Addressed {
		t.Errorf("message is %+v", m)
	}
	r.slack.Slash(slacktest.Channel, slacktest.User, "/model", "a b")
	r.response(0)
	r.slack.Shortcut(slacktest.Channel, slacktest.User, "stop", ts)
	r.response(1)
	r.slack.Pick(slacktest.Channel, ts, slacktest.User, "press:t0k 0", "i1")
	r.response(2)
	r.settled()
	if c := r.bot.called(); len(c) != 2 || c[0].Args != "a b" || c[0].Target.Thread.Kind != core.KindChannel || c[1].Target.Thread.Root != ts {
		t.Errorf("commands: %+v", c)
	}
	if p := r.bot.pressed(); len(p) != 1 || p[0].Value != "i1" {
		t.Errorf("presses: %+v", p)
	}
	if len(r.bot.heard()) != 1 || len(r.slack.Calls("apps.connections.open")) > 0 {
		t.Errorf("heard %+v, with %d sockets", r.bot.heard(), r.slack.Opened())
	}
}

func TestBothWaysAtOnce(t *testing.T) {
	r := start(t, slacktest.Config{}, set(func(c *Config) { c.SigningSecret = core.NewSecret(slacktest.SigningSecret) }))
	r.bot.next(t, r.hear(slacktest.DM, "by socket"))
	srv := httptest.NewServer(r.a.Handler())
	t.Cleanup(srv.Close)
	if err := r.slack.Subscribe(t.Context(), slacktest.Endpoints{Events: srv.URL + "/slack/events"}); err != nil {
		t.Fatal(err)
	}
	r.bot.next(t, r.hear(slacktest.DM, "by request"))
}

func TestARequestIsAnsweredOnceStored(t *testing.T) {
	r, _ := overHTTP(t, slacktest.Config{RetryAfter: []time.Duration{0, 0}}, nil)
	r.bot.mu.Lock()
	r.bot.fail = []error{errors.New("the disk is full"), errors.New("the disk is full")}
	r.bot.mu.Unlock()
	r.slack.Say(slacktest.DM, slacktest.User, "hi")
	r.bot.next(t, 0) // the third time
	r.settled()
	if n := strings.Count(r.log.String(), "was not taken"); n != 2 {
		t.Errorf("log is %s", r.log)
	}
}

func TestARequestIsAnsweredInTime(t *testing.T) {
	r, address := overHTTP(t, slacktest.Config{RetryAfter: []time.Duration{}}, func(_ *Config, a *Adapter) {
		if a != nil {
			a.pace.answer = 100 * time.Millisecond
		}
	})
	r.bot.mu.Lock()
	r.bot.stuck = true
	r.bot.mu.Unlock()
	body := `{"type":"event_callback","team_id":"T0TEAM","event":{"type":"message","channel":"D0DM","channel_type":"im","user":"U0USER","text":"hi","ts":"` + stampOne + `"}}`
	if got := r.send(address+"/slack/events", "application/json", body, nil); got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("X-Slack-No-Retry") != "" {
		t.Errorf("answered with %d", got.StatusCode)
	}
}

// send posts a body as Slack would; change may spoil it. The answer's body is
// in its status text.
func (r *rig) send(address, kind, body string, change func(*http.Request)) *http.Response {
	r.Helper()
	req, err := http.NewRequest(http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	r.slack.Sign(req, []byte(body), time.Now())
	if change != nil {
		change(req)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	resp.Status = string(text)
	return resp
}

const helloEvent = `{"type":"event_callback","team_id":"T0TEAM","event":{"type":"message","channel":"D0DM","channel_type":"im","user":"U0USER","text":"hi","ts":"1700000001.000100"}}`

func TestRequestsThatAreNotSlacks(t *testing.T) {
	r, address := overHTTP(t, slacktest.Config{}, nil)
	at := func(d time.Duration) func(*http.Request) {
		return func(q *http.Request) { r.slack.Sign(q, []byte(helloEvent), time.Now().Add(d)) }
	}
	header := func(key, value string) func(*http.Request) {
		return func(q *http.Request) { q.Header.Set(key, value) }
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"old":             {at(-6 * time.Minute), http.StatusUnauthorized},
		"of the future":   {at(6 * time.Minute), http.StatusUnauthorized},
		"unsigned":        {func(q *http.Request) { q.Header.Del("X-Slack-Signature") }, http.StatusUnauthorized},
		"without a time":  {func(q *http.Request) { q.Header.Del("X-Slack-Request-Timestamp") }, http.StatusUnauthorized},
		"odd time":        {header("X-Slack-Request-Timestamp", "soon"), http.StatusUnauthorized},
		"other signature": {header("X-Slack-Signature", "v0="+strings.Repeat("ab", 32)), http.StatusUnauthorized},
		"other version":   {header("X-Slack-Signature", "v1="+strings.Repeat("ab", 32)), http.StatusUnauthorized},
		"no hex":          {header("X-Slack-Signature", "v0=xyz"), http.StatusUnauthorized},
		"cut signature": {func(q *http.Request) {
			q.Header.Set("X-Slack-Signature", q.Header.Get("X-Slack-Signature")[:20])
		}, http.StatusUnauthorized},
		"other body": {func(q *http.Request) {
			q.Body = io.NopCloser(strings.NewReader(strings.Replace(helloEvent, "hi", "ho", 1)))
		}, http.StatusUnauthorized},
		"not posted": {func(q *http.Request) { q.Method = http.MethodGet }, http.StatusMethodNotAllowed},
		"other path": {func(q *http.Request) { q.URL.Path = "/slack/else" }, http.StatusNotFound},
	} {
		if got := r.send(address+"/slack/events", "application/json", helloEvent, c.change); got.StatusCode != c.want {
			t.Errorf("%s: answered with %d %s", name, got.StatusCode, got.Status)
		}
	}
	long := strings.Repeat("x", maxBody+1)
	if got := r.send(address+"/slack/events", "application/json", long, nil); got.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("too long: answered with %d", got.StatusCode)
	}
	if len(r.bot.heard()) > 0 {
		t.Errorf("heard %+v", r.bot.heard())
	}
	if n := strings.Count(r.log.String(), "has not signed"); n != 1 {
		t.Errorf("anybody can fill the log: %d lines", n)
	}
	for range 2 { // somebody sends it again within the time
		if got := r.send(address+"/slack/events", "application/json", helloEvent, at(-4*time.Minute)); got.StatusCode != http.StatusOK {
			t.Errorf("answered with %d %s", got.StatusCode, got.Status)
		}
	}
	if len(r.bot.heard()) != 1 {
		t.Errorf("heard %+v", r.bot.heard())
	}
}

func TestRequestsWithoutAnEnvelope(t *testing.T) {
	r, address := overHTTP(t, slacktest.Config{}, nil)
	const form, json = "application/x-www-form-urlencoded", "application/json; charset=utf-8"
	for _, c := range []struct{ kind, body, want string }{
		{json, `{"type":"url_verification","challenge":"abc<b>"}`, "abc<b>"},
		{form, "ssl_check=1&token=x", "ok"},
		{json, `{"type":`, ""},
		{json, `[]`, ""},
		{json, `null`, ""},
		{json, `{"type":"event_callback","event":{"type":"brand_new_event"}}`, ""},
		{form, "payload=%7B", ""},
		{form, "payload=" + url.QueryEscape(`{"type":"brand_new"}`), ""},
		{form, "a=%zz", ""},
		{form, "", ""},
		{"", "what", ""},
	} {
		got := r.send(address+"/slack/events", c.kind, c.body, nil)
		if got.StatusCode != http.StatusOK || got.Status != c.want {
			t.Errorf("%s: answered with %d %q", c.body, got.StatusCode, got.Status)
		}
		if kind := got.Header.Get("Content-Type"); strings.Contains(kind, "html") {
			t.Errorf("%s: answered with %s", c.body, kind)
		}
	}
}

func TestRequestsWhileNobodyListens(t *testing.T) {
	s := serve(t, slacktest.Config{})
	cfg := config(s)
	cfg.SigningSecret = core.NewSecret(slacktest.SigningSecret)
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, slack: s, a: a}
	srv := httptest.NewServer(a.Handler())
	t.Cleanup(srv.Close)
	if got := r.send(srv.URL+"/slack/events", "application/json", helloEvent, nil); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("answered with %d", got.StatusCode)
	}
	// Without a secret nothing can be proved.
	a.cfg.SigningSecret = core.Secret{}
	empty := func(q *http.Request) {
		at := strconv.FormatInt(time.Now().Unix(), 10)
		mac := hmac.New(sha256.New, nil)
		mac.Write([]byte("v0:" + at + ":" + helloEvent))
		q.Header.Set("X-Slack-Request-Timestamp", at)
		q.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	}
	if got := r.send(srv.URL+"/slack/events", "application/json", helloEvent, empty); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("answered with %d", got.StatusCode)
	}
}

func TestRequestsWhileTheBotEnds(t *testing.T) {
	r, address := overHTTP(t, slacktest.Config{RetryAfter: []time.Duration{}}, nil)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				r.send(address+"/slack/events", "application/json", helloEvent, nil)
			}
		}
	}()
	r.bot.next(t, 0)
	r.cancel()
	err := <-r.run
	r.run <- err // for the cleanup
	close(stop)
	<-done
	if got := r.send(address+"/slack/events", "application/json", helloEvent, nil); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("answered with %d", got.StatusCode)
	}
}
