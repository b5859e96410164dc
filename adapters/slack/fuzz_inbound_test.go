package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// FuzzRequests: whatever a signed request holds, it is answered, and neither
// panics nor lingers.
func FuzzRequests(f *testing.F) {
	const form = "application/x-www-form-urlencoded"
	for _, seed := range []struct{ kind, body string }{
		{"application/json", helloEvent},
		{"application/json", `{"type":"url_verification","challenge":"x"}`},
		{"application/json", `{"type":"app_rate_limited","minute_rate_limited":1}`},
		{"application/json", `{"event":{"type":"assistant_thread_started","assistant_thread":{"user_id":"U1","channel_id":"D1","thread_ts":"1.0"}}}`},
		{"application/json", `{"event_id":"Ev1","event":{"type":"agent_session_stopped","channel":"D1","user":"U1","thread_ts":"1.0"}}`},
		{"application/json", `{"event":{"type":"tokens_revoked","tokens":{"bot":["U1"]}}}`},
		{form, "command=%2Fmodel&text=x&user_id=U1&channel_id=C1&team_id=T1&trigger_id=t"},
		{form, "payload=" + url.QueryEscape(`{"type":"message_action","callback_id":"stop","channel":{"id":"C1"},"user":{"id":"U1"},"message":{"ts":"1.0","thread_ts":"0.5"}}`)},
		{form, "ssl_check=1"},
		{form, "payload=%zz;&&="},
		{"", ""},
	} {
		f.Add(seed.kind, []byte(seed.body))
	}
	fake := slacktest.New(slacktest.Config{SigningSecret: "sign"})
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		a := fuzzed(t, quiet{})
		ctx, cancel := context.WithCancel(t.Context())
		in := newIntake(ctx, a)
		a.intake.Store(in)
		req := httptest.NewRequest(http.MethodPost, "/slack/events", bytes.NewReader(body))
		req.Header.Set("Content-Type", kind)
		fake.Sign(req, body, time.Now())
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			t.Errorf("answered with %d", w.Code)
		}
		cancel()
		in.wait()
		a.loose.Wait()
		a.names.stop()
	})
}

// FuzzInteractions: no slash command, shortcut, press or modal panics, and each
// is acknowledged once.
func FuzzInteractions(f *testing.F) {
	for _, seed := range []struct{ kind, payload string }{
		{"slash_commands", `{"command":"/model","text":"x","user_id":"U1","channel_id":"C1","channel_name":"directmessage","team_id":"T1","trigger_id":"t"}`},
		{"interactive", `{"type":"message_action","callback_id":"model","trigger_id":"t","channel":{"id":"C1","name":"mpdm-x"},"user":{"id":"U1","team_id":"T1"},"team":null,"message":{"ts":1.5}}`},
		{"interactive", `{"type":"block_actions","user":{"id":"U1"},"channel":{"id":"C1"},"actions":[{"action_id":"press:t 0","selected_option":{"value":"v"}}],"container":{"thread_ts":"1.0"}}`},
		{"interactive", `{"type":"block_actions","actions":[null,{}]}`},
		{"interactive", `{"type":"view_submission","user":{"id":"U1"},"view":{"id":"V1","callback_id":"understudy","private_metadata":"{}","state":{"values":{"a":{"b":{"selected_option":null}}}}}}`},
		{"interactive", `{"type":"block_suggestion","value":"x","action_id":"a"}`},
		{"interactive", `{"type":"view_closed"}`},
		{"interactive", `7`},
	} {
		f.Add(seed.kind, []byte(seed.payload))
	}
	f.Fuzz(func(t *testing.T, kind string, payload []byte) {
		if !json.Valid(payload) || kind != "slash_commands" && kind != "interactive" {
			return
		}
		a := fuzzed(t, quiet{})
		ctx, cancel := context.WithCancel(t.Context())
		in := newIntake(ctx, a)
		acks := make(chan error, 10)
		in.accept(envelope{ID: "E1", Type: kind, Payload: payload}, func(err error) { acks <- err })
		if err := <-acks; err != nil {
			t.Errorf("not taken: %v", err)
		}
		cancel()
		in.wait()
		a.loose.Wait()
		a.names.stop()
		if len(acks) > 0 {
			t.Error("it was acknowledged twice")
		}
	})
}

// FuzzAnswers: no answer of the Web API panics.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"ok":true}`, `{"ok":false}`, `{"ok":false,"error":"missing_scope","needed":"x"}`, `{"ok":"yes"}`, `null`, `[]`, ``, `<html>`,
		`{"ok":true,"messages":[{"ts":"1.000001","user":"U1","text":"<@U2>","files":[{"id":"F1"}]},null,7,{"ts":2.5,"bot_id":"B0BOT"}],"response_metadata":{"next_cursor":"x"}}`,
		`{"ok":true,"file":{"id":"F1","url_private":"https://files.slack.com/x","mode":7}}`,
		`{"ok":true,"ts":"1.0","channel":"C1","message":{"thread_ts":"1.0"}}`,
		`{"ok":true,"user_id":"U0BOT","bot_id":"B0BOT","user":{"profile":null}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		a := fuzzed(t, quiet{})
		a.http.Transport = roundTrip(func(q *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Request: q, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer))}, nil
		})
		ctx := t.Context()
		to := inThread("C1", "1.000000")
		list, err := a.Earlier(ctx, to, "3.000000", 5)
		if len(list) > 5 || err != nil && strings.Contains(err.Error(), "xoxb-") {
			t.Errorf("%d messages, %v", len(list), err)
		}
		for _, p := range a.missed(ctx, place("D1", "", core.KindDirect), time.Unix(1, 0)) {
			_ = a.speech(ctx, p)
		}
		_, _ = a.Fetch(ctx, to.Thread, core.Attachment{ID: "F1"}, 100)
		_, _, _ = a.Find(ctx, post(to, "x"), time.Unix(1, 0))
		_, _ = a.Post(ctx, post(to, "x"))
		_, _ = a.fetchPerson(ctx, "U1")
		a.me = nil
		_, _ = a.identify(ctx)
		a.loose.Wait()
		a.names.stop()
	})
}
