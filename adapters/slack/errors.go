package slack

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

// FatalError says that Slack refuses this account until somebody turns a
// switch; trying again cannot help.
type FatalError struct {
	Code string // Slack's own
	Help string // which switch, and where
	Err  error
}

func (e *FatalError) Error() string {
	return fmt.Sprintf("Slack refuses the account: %s: %s", e.Code, e.Help)
}

func (e *FatalError) Unwrap() error { return e.Err }

// Where the two tokens come from, in the words of the app's settings.
const (
	botTokenPlace = "the bot token (UNDERSTUDY_SLACK_BOT_TOKEN, xoxb-…) from OAuth & Permissions"
	appTokenPlace = "the app-level token (UNDERSTUDY_SLACK_APP_TOKEN, xapp-…) from Basic Information, App-Level Tokens"
)

// appScope is the one scope that an app-level token needs.
const appScope = "connections:write"

// refusals are the codes that end an account, with what to do. %s is the place
// of the token that was used.
var refusals = map[string]string{
	"invalid_auth":            "copy %s of the app's settings again",
	"not_authed":              "set %s of the app's settings",
	"account_inactive":        "the app was removed from the workspace or its owner left: install it again, then set %s",
	"user_removed_from_team":  "the app was removed from the workspace: install it again, then set %s",
	"token_revoked":           "install the app again, then set %s",
	"token_expired":           "switch token rotation off in the app's settings, install the app again, then set %s",
	"not_allowed_token_type":  "the two tokens may have changed places: this one must be %s",
	"missing_scope":           "add what is missing to %s",
	"no_permission":           "the token may not do this: install the app again with the scopes of its manifest, then set %s",
	"app_missing_action_url":  "switch Socket Mode on in the app's settings",
	"forbidden_team":          "the workspace may not use Socket Mode with this app; ask the workspace's admins, then set %s",
	"team_access_not_granted": "an admin of the organisation must grant the app this workspace, then set %s",
	"access_denied":           "an admin must approve the app for this workspace, then set %s",
	"ekm_access_denied":       "the workspace's admins suspended access through key management",
}

// refusal reads an error as the end of the account, or is nil.
func refusal(err error, place string) error {
	var refused slackgo.SlackErrorResponse
	if errors.As(err, &refused) {
		help, ok := refusals[refused.Err]
		if !ok {
			return nil
		}
		if strings.Contains(help, "%s") {
			help = fmt.Sprintf(help, place)
		}
		needed := refused.Needed
		if needed == "" && refused.Err == "missing_scope" && place == appTokenPlace {
			needed = appScope
		}
		if needed != "" {
			help += ": " + needed
		}
		return &FatalError{Code: refused.Err, Help: help, Err: err}
	}
	var status slackgo.StatusCodeError
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		return &FatalError{Code: "http 404", Help: "the address of the Web API is not Slack's", Err: err}
	}
	return nil
}

// obstacles are codes that make a post, an edit or a deletion impossible, and
// what somebody can do about it. Those without help are faults of ours.
var obstacles = map[string]string{
	"not_in_channel":                            "invite the bot to the channel: /invite and its name",
	"channel_not_found":                         "the channel is gone, or private without the bot: /invite it there",
	"is_archived":                               "the channel is archived: an admin can bring it back",
	"restricted_action":                         "a setting of the workspace keeps apps from posting here",
	"restricted_action_read_only_channel":       "only some people may post in this channel: add the app to them",
	"restricted_action_thread_only_channel":     "the channel takes replies in threads only",
	"restricted_action_thread_locked":           "the thread is locked",
	"restricted_action_non_threadable_channel":  "the channel takes no threads: set replyTo to off for it",
	"cannot_reply_to_message":                   "the message takes no replies: set replyTo to off for its channel",
	"external_channel_migrating":                "the shared channel is being moved; it takes posts again when that is done",
	"team_not_found":                            "the workspace is gone, or has removed the app",
	"team_access_not_granted":                   "an admin of the organisation must grant the app this workspace",
	"messages_tab_disabled":                     "switch on the Messages Tab under App Home of the app's settings",
	"thread_not_found":                          "the thread is gone",
	"message_not_found":                         "the message is gone",
	"cant_update_message":                       "the message is not the bot's own",
	"cant_delete_message":                       "the message is not the bot's own",
	"edit_window_closed":                        "the workspace allows no edits after this time",
	"compliance_exports_prevent_deletion":       "the workspace keeps all messages",
	"user_not_found":                            "the person is gone",
	"user_not_in_channel":                       "the person has left the channel",
	"cannot_dm_bot":                             "bots cannot be written to",
	"file_upload_size_restricted":               "the workspace takes no files of that size",
	"file_uploads_disabled":                     "the workspace takes no files: an admin can allow them",
	"file_uploads_except_images_disabled":       "the workspace takes no files but pictures: an admin can allow them",
	"slack_connect_file_upload_sharing_blocked": "the workspace shares no files with other companies",
	"posting_to_channel_denied":                 "the app may not share files in this channel",
	"unknown_method":                            "the address of the Web API is not Slack's",
	"method_deprecated":                         "this version of the bot is too old for Slack: update it",
	"deprecated_endpoint":                       "this version of the bot is too old for Slack: update it",
	"no_text":                                   "",
	"invalid_arguments":                         "",
	"invalid_arg_name":                          "",
	"invalid_array_arg":                         "",
	"invalid_blocks":                            "",
	"invalid_blocks_format":                     "",
	"invalid_charset":                           "",
	"invalid_form_data":                         "",
	"invalid_metadata_format":                   "",
	"invalid_metadata_schema":                   "",
	"invalid_post_type":                         "",
	"invalid_ts":                                "",
	"metadata_too_large":                        "",
	"missing_argument":                          "",
	"missing_post_type":                         "",
	"too_many_attachments":                      "",
}

// sendError classifies what came of a post or an edit. An outcome is unknown
// when the request may have reached Slack and no proper answer came back.
func sendError(err error) *core.SendError {
	var known *core.SendError
	if errors.As(err, &known) {
		return known
	}
	e := &core.SendError{Err: clean(err)}
	var limited *slackgo.RateLimitedError
	var refused slackgo.SlackErrorResponse
	var status slackgo.StatusCodeError
	switch {
	case errors.As(err, &limited):
		e.RetryAfter = max(limited.RetryAfter, time.Second)
	case errors.As(err, new(*strconv.NumError)):
		e.RetryAfter = vagueLimit // slack-go cannot read the Retry-After of a 429
	case errors.As(err, &refused):
		refusedSend(e, refused)
	case errors.As(err, &status):
		statusSend(e, status.Code)
	case unreached(err):
		e.Unreached = true
	default:
		e.Unknown = true
	}
	return e
}

// vagueLimit is how long is waited when Slack asks for time without saying how
// much.
const vagueLimit = 30 * time.Second

// statusSend reads an answer that is none of the Web API's: Slack says what it
// refuses with the status 200.
func statusSend(e *core.SendError, status int) {
	switch {
	case status == http.StatusTooManyRequests:
		e.RetryAfter = vagueLimit
	case status == http.StatusNotFound:
		e.Permanent, e.Help = true, obstacles["unknown_method"]
	case status >= 500:
		e.Unknown = true
	default:
		e.Unreached = true // a proxy's
	}
}

// unreached reports whether a request failed before anything of it was sent.
func unreached(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial" ||
		errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.RecordHeaderError))
}

// refusedSend reads ok:false. Codes that are not known are tried again by the
// sender; Slack has said that it did nothing.
func refusedSend(e *core.SendError, refused slackgo.SlackErrorResponse) {
	code := refused.Err
	switch code {
	case "msg_too_long", "msg_blocks_too_long":
		e.TooLong = true
	case "ratelimited", "rate_limited":
		e.RetryAfter = time.Second
	case "message_limit_exceeded":
		e.RetryAfter = vagueLimit
	case "internal_error", "fatal_error", "request_timeout":
		e.Unknown = true // Slack says itself that part of it may have happened
	case "service_unavailable", "team_added_to_org", "org_login_required":
		e.Unreached = true // for a while, as while a workspace moves into an organisation
	case "missing_scope":
		e.Permanent = true
		e.Help = "add the scope " + refused.Needed + " under OAuth & Permissions of the app's settings and install the app again"
	default:
		if help, ok := obstacles[code]; ok {
			e.Permanent, e.Help = true, help
		} else if f, ok := refusal(refused, botTokenPlace).(*FatalError); ok {
			e.Permanent, e.Help = true, f.Help
		}
	}
}

// code is Slack's own code of an error, or "" for what is none of its answers.
func code(err error) string {
	var refused slackgo.SlackErrorResponse
	if errors.As(err, &refused) {
		return refused.Err
	}
	return ""
}

// clean takes addresses out of an error of the HTTP client: those of response
// URLs and sockets hold a credential.
func clean(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		if u.Timeout() && !errors.Is(u.Err, context.DeadlineExceeded) {
			return fmt.Errorf("%s: no answer in time: %w", u.Op, u.Err)
		}
		return fmt.Errorf("%s: %w", u.Op, u.Err)
	}
	return err
}
