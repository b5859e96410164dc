package slack

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	slackgo "github.com/slack-go/slack"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// said is a Slack that answers everything so.
func said(status int, body string, header ...string) roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req}
		for i := 0; i+1 < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp, nil
	}
}

// sent is what a post to such a Slack comes to, by the adapter and by slack-go.
func sent(t *testing.T, slack roundTrip) (ours *core.SendError, theirs error) {
	t.Helper()
	client := &http.Client{Transport: slack}
	_, _, theirs = slackgo.New(slacktest.BotToken, slackgo.OptionHTTPClient(client)).PostMessageContext(t.Context(), "C1", slackgo.MsgOptionText("x", false))
	a, err := New(Config{BotToken: core.NewSecret(slacktest.BotToken), AppToken: core.NewSecret(slacktest.AppToken), HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Post(t.Context(), post(core.Target{Thread: core.Thread{Channel: "C1"}}, "x"))
	return sendErr(t, err), theirs
}

// A Retry-After that slack-go cannot read hides that Slack refused the post.
func TestTrapVagueRetryAfter(t *testing.T) {
	for _, after := range []string{"", "0.5", "soon"} {
		ours, theirs := sent(t, said(http.StatusTooManyRequests, "", "Retry-After", after))
		var limited *slackgo.RateLimitedError
		if errors.As(theirs, &limited) {
			t.Errorf("slack-go reads %q now: %v", after, theirs)
		}
		if ours.RetryAfter != vagueLimit || ours.Unknown {
			t.Errorf("%q: %+v", after, ours)
		}
	}
}

// A page in place of JSON says nothing about the post, whoever it comes from.
func TestTrapPageInPlaceOfJSON(t *testing.T) {
	ours, theirs := sent(t, said(http.StatusOK, "<html>Sign in to the Wi-Fi</html>"))
	var refused slackgo.SlackErrorResponse
	if theirs == nil || errors.As(theirs, &refused) || !ours.Unknown {
		t.Errorf("slack-go: %v; here: %+v", theirs, ours)
	}
}

// A failed call without a code is a success for slack-go. Nobody knows what it
// was, so that the post is looked for.
func TestTrapRefusalWithoutACode(t *testing.T) {
	for _, body := range []string{`{"ok":false}`, `{}`, `{"ok":true}`} {
		ours, theirs := sent(t, said(http.StatusOK, body))
		if theirs != nil || !ours.Unknown {
			t.Errorf("%s: slack-go: %v; here: %+v", body, theirs, ours)
		}
	}
	a := fuzzed(t, quiet{})
	defer a.names.stop()
	a.http.Transport = said(http.StatusOK, `{"ok":false}`)
	target := inThread("C1", "1.0")
	if err := a.Edit(t.Context(), "2.0", post(target, "x")); !sendErr(t, err).Unknown {
		t.Errorf("edit: %v", err)
	}
	if err := a.Delete(t.Context(), target, "2.0"); !sendErr(t, err).Unknown {
		t.Errorf("deletion: %v", err)
	}
}

// An edit that names no blocks leaves those of before.
func TestTrapBlocksThatStay(t *testing.T) {
	r, target := asked(t)
	posted, err := r.a.Post(t.Context(), post(target, "text"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := theirs(t, r.slack).UpdateMessageContext(t.Context(), slacktest.Channel, posted.ID, slackgo.MsgOptionText("<x>", false)); err != nil {
		t.Fatal(err)
	}
	if err := r.a.Edit(t.Context(), posted.ID, post(target, "see <@U0USER>")); err != nil {
		t.Fatal(err)
	}
	calls := r.slack.Calls("chat.update")
	if _, named := calls[0].Args["blocks"]; named {
		t.Error("slack-go names no blocks as well now")
	}
	if calls[1].Args["blocks"] != "[]" {
		t.Errorf("edited with %v", calls[1].Args)
	}
}
