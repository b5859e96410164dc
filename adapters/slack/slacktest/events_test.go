package slacktest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
)

// app is an app's address. It keeps what came and answers as it is told.
type app struct {
	mu      sync.Mutex
	got     []*http.Request
	bodies  []string
	answers []func(http.ResponseWriter) // for the next requests; 200 when none is left
	url     string
	came    chan struct{} // one for each request
}

func listen(t *testing.T) *app {
	a := &app{came: make(chan struct{}, 100)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "url_verification") {
			_, _ = w.Write(body)
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.got, a.bodies = append(a.got, r), append(a.bodies, string(body))
		if len(a.answers) > 0 {
			a.answers[0](w)
			a.answers = a.answers[1:]
		}
		a.came <- struct{}{}
	}))
	t.Cleanup(srv.Close)
	a.url = srv.URL
	return a
}

// request is what came n-th.
func (a *app) request(n int) (*http.Request, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n >= len(a.got) {
		return nil, ""
	}
	return a.got[n], a.bodies[n]
}

func settled(t *testing.T, s *slacktest.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := s.Wait(ctx, "answers", func() bool { return len(s.Unacked()) == 0 }); err != nil {
		t.Fatal(err)
	}
}

func status(code int, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func TestEventsOverHTTP(t *testing.T) {
	s := serve(t, slacktest.Config{RetryAfter: []time.Duration{0, 0, 0}})
	a := listen(t)
	if err := s.Subscribe(t.Context(), slacktest.Endpoints{Events: a.url}); err != nil {
		t.Fatal(err)
	}
	a.answers = []func(http.ResponseWriter){status(500), status(404)}
	s.Say(slacktest.DM, slacktest.User, "hi")
	settled(t, s)
	for n, want := range []struct{ num, reason string }{{"", ""}, {"1", "http_error"}, {"2", "http_error"}} {
		r, body := a.request(n)
		if r == nil || r.Header.Get("X-Slack-Retry-Num") != want.num || r.Header.Get("X-Slack-Retry-Reason") != want.reason || !strings.Contains(body, `"event_callback"`) {
			t.Fatalf("request %d is %+v with %s", n, r, body)
		}
		again, _ := http.NewRequest(http.MethodPost, "/", nil)
		at := r.Header.Get("X-Slack-Request-Timestamp")
		sent, err := time.ParseDuration(at + "s")
		if err != nil {
			t.Fatal(err)
		}
		s.Sign(again, []byte(body), time.Unix(int64(sent.Seconds()), 0))
		if got := r.Header.Get("X-Slack-Signature"); got != again.Header.Get("X-Slack-Signature") || !strings.HasPrefix(got, "v0=") {
			t.Errorf("signed with %s", got)
		}
	}
	if s.Missed() > 0 || s.Connected() > 0 {
		t.Error("something went to sockets")
	}
}

func TestNoRetry(t *testing.T) {
	s := serve(t, slacktest.Config{RetryAfter: []time.Duration{0}})
	a := listen(t)
	if err := s.Subscribe(t.Context(), slacktest.Endpoints{Events: a.url}); err != nil {
		t.Fatal(err)
	}
	a.answers = []func(http.ResponseWriter){status(500, "X-Slack-No-Retry", "1"), status(200)}
	s.Say(slacktest.DM, slacktest.User, "one")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	select {
	case <-a.came:
	case <-ctx.Done():
		t.Fatal("nothing came")
	}
	s.Say(slacktest.DM, slacktest.User, "two")
	if err := s.Wait(ctx, "the second", func() bool { return len(s.Unacked()) == 1 }); err != nil {
		t.Fatal(err)
	}
	if _, body := a.request(1); !strings.Contains(body, "two") {
		t.Errorf("the second request is %s", body)
	}
}

func TestCommandsAndInteractionsOverHTTP(t *testing.T) {
	s := serve(t, slacktest.Config{RetryAfter: []time.Duration{0}})
	events, commands, interactions := listen(t), listen(t), listen(t)
	if err := s.Subscribe(t.Context(), slacktest.Endpoints{Events: events.url, Commands: commands.url, Interactions: interactions.url}); err != nil {
		t.Fatal(err)
	}
	s.Slash(slacktest.Channel, slacktest.User, "/model", "x & y")
	ts := s.Say(slacktest.Channel, slacktest.User, "hi")
	s.Shortcut(slacktest.Channel, slacktest.User, "stop", ts)
	settled(t, s)
	_, body := commands.request(0)
	form, _ := url.ParseQuery(body)
	if form.Get("command") != "/model" || form.Get("text") != "x & y" || form.Get("response_url") == "" {
		t.Errorf("command is %s", body)
	}
	_, body = interactions.request(0)
	form, _ = url.ParseQuery(body)
	var p struct {
		Type, Callback_ID, Message_TS string
		Message                       struct{ Text string }
	}
	if err := json.Unmarshal([]byte(form.Get("payload")), &p); err != nil || p.Type != "message_action" || p.Callback_ID != "stop" || p.Message_TS != ts || p.Message.Text != "hi" {
		t.Errorf("shortcut is %s, %v", body, err)
	}
}

func TestWrongChallenge(t *testing.T) {
	s := serve(t, slacktest.Config{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	t.Cleanup(srv.Close)
	if err := s.Subscribe(t.Context(), slacktest.Endpoints{Events: srv.URL}); err == nil {
		t.Error("an address that repeats no challenge is taken")
	}
}

func TestFilesNeedTheToken(t *testing.T) {
	s := serve(t, slacktest.Config{})
	s.Host(slacktest.HostedFile{ID: "F1", Name: "a.txt", MIME: "text/plain", Data: []byte("text")})
	file, _ := call(t, s, "files.info", "file", "F1")["file"].(map[string]any)
	address, _ := file["url_private_download"].(string)
	for token, want := range map[string]string{slacktest.BotToken: "text", "other": "Sign in"} {
		req, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d, %s", token, resp.StatusCode, body)
		}
	}
	if got := code(call(t, s, "files.info", "file", "F2")); got != "file_not_found" {
		t.Errorf("another file: %s", got)
	}
}

func TestUninstalled(t *testing.T) {
	s := serve(t, slacktest.Config{})
	c := open(t, s)
	c.next()
	s.Uninstall()
	for _, want := range []string{"tokens_revoked", "app_uninstalled"} {
		f := c.next()
		c.ack(f)
		if got := inner(f)["type"]; got != want {
			t.Errorf("told of %v, want %s", got, want)
		}
	}
	if got := code(call(t, s, "auth.test")); got != "account_inactive" {
		t.Errorf("auth.test: %q", got)
	}
}

func TestOrganisation(t *testing.T) {
	s := serve(t, slacktest.Config{Organisation: "E0ORG", OrgWide: true})
	c := open(t, s)
	c.next()
	s.Move(slacktest.Channel2, "T0TWO")
	s.Say(slacktest.Channel2, slacktest.User, "hi")
	f := c.next()
	c.ack(f)
	p, _ := f["payload"].(map[string]any)
	if p["context_team_id"] != "T0TWO" || p["enterprise_id"] != "E0ORG" || inner(f)["user_team"] != slacktest.Team {
		t.Errorf("payload is %v", p)
	}
	if out := call(t, s, "auth.test"); out["team_id"] != "E0ORG" || out["enterprise_id"] != "E0ORG" {
		t.Errorf("auth.test: %v", out)
	}
}
