package slack

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

// TestEveryRefusal: each code of Slack's is one of: for good, with the switch
// to turn, too long, for later, or of unknown outcome.
func TestEveryRefusal(t *testing.T) {
	const app, place = "of the app's settings", "channel"
	permanent := map[string]string{
		"missing_scope": "files:write", "not_in_channel": "/invite", "channel_not_found": "/invite", "is_archived": "archived",
		"restricted_action": "setting", "restricted_action_read_only_channel": place, "restricted_action_thread_only_channel": place,
		"restricted_action_non_threadable_channel": "replyTo", "restricted_action_thread_locked": "locked", "cannot_reply_to_message": "replyTo",
		"messages_tab_disabled": "Messages Tab", "token_revoked": "install the app again", "token_expired": "token rotation", "invalid_auth": app,
		"not_authed": app, "account_inactive": "install it again", "no_permission": "scopes", "access_denied": "admin", "ekm_access_denied": "admins",
		"team_access_not_granted": "admin", "thread_not_found": "gone", "message_not_found": "gone", "cant_update_message": "own", "edit_window_closed": "edits",
		"cant_delete_message": "own", "user_not_in_channel": place, "file_uploads_disabled": "admin", "file_upload_size_restricted": "size",
		"unknown_method": "address", "method_deprecated": "update", "no_text": "", "invalid_blocks": "", "invalid_arguments": "", "metadata_too_large": "",
		"not_allowed_token_type": "changed places",
	}
	for code, help := range permanent {
		e := sendError(slackgo.SlackErrorResponse{Err: code, Needed: "files:write"})
		if !e.Permanent || e.Unknown || e.TooLong || e.RetryAfter > 0 || e.Unreached || !strings.Contains(e.Help, help) || strings.Contains(e.Help, "%") {
			t.Errorf("%s: %+v", code, e)
		}
	}
	refused := func(code string) error { return slackgo.SlackErrorResponse{Err: code} }
	for _, c := range []struct {
		err  error
		want core.SendError
	}{
		{refused("msg_too_long"), core.SendError{TooLong: true}},
		{refused("msg_blocks_too_long"), core.SendError{TooLong: true}},
		{refused("ratelimited"), core.SendError{RetryAfter: time.Second}},
		{refused("rate_limited"), core.SendError{RetryAfter: time.Second}},
		{refused("message_limit_exceeded"), core.SendError{RetryAfter: vagueLimit}},
		{refused("internal_error"), core.SendError{Unknown: true}},
		{refused("fatal_error"), core.SendError{Unknown: true}},
		{refused("request_timeout"), core.SendError{Unknown: true}},
		{refused("service_unavailable"), core.SendError{Unreached: true}},
		{refused("team_added_to_org"), core.SendError{Unreached: true}},
		{refused("something_new"), core.SendError{}},
		{&slackgo.RateLimitedError{RetryAfter: time.Minute}, core.SendError{RetryAfter: time.Minute}},
		{&slackgo.RateLimitedError{}, core.SendError{RetryAfter: time.Second}},
		{numError(), core.SendError{RetryAfter: vagueLimit}},
		{slackgo.StatusCodeError{Code: 429}, core.SendError{RetryAfter: vagueLimit}},
		{slackgo.StatusCodeError{Code: 404}, core.SendError{Permanent: true}},
		{slackgo.StatusCodeError{Code: 403}, core.SendError{Unreached: true}},
		{slackgo.StatusCodeError{Code: 407}, core.SendError{Unreached: true}},
		{slackgo.StatusCodeError{Code: 500}, core.SendError{Unknown: true}},
		{slackgo.StatusCodeError{Code: 503}, core.SendError{Unknown: true}},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, core.SendError{Unreached: true}},
		{&url.Error{Op: "Post", URL: "https://e.invalid", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, core.SendError{Unreached: true}},
		{&url.Error{Op: "Post", Err: &tls.CertificateVerificationError{Err: errors.New("expired")}}, core.SendError{Unreached: true}},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, core.SendError{Unknown: true}},
		{context.DeadlineExceeded, core.SendError{Unknown: true}},
		{errors.New("invalid character '<'"), core.SendError{Unknown: true}},
	} {
		got := *sendError(c.err)
		got.Err, got.Help = nil, ""
		if got != c.want {
			t.Errorf("%v: %+v, want %+v", c.err, got, c.want)
		}
	}
}

func numError() error {
	_, err := strconv.ParseInt("0.5", 10, 64)
	return err
}
