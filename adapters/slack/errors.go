package slack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
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
	botTokenPlace = "the bot token (xoxb-) from OAuth & Permissions"
	appTokenPlace = "the app-level token (xapp-) from Basic Information, App-Level Tokens"
)

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
		if refused.Needed != "" {
			help += ": " + refused.Needed
		}
		return &FatalError{Code: refused.Err, Help: help, Err: err}
	}
	var status slackgo.StatusCodeError
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		return &FatalError{Code: "http 404", Help: "the address of the Web API is not Slack's", Err: err}
	}
	return nil
}

// obstacles are codes that make a post impossible until somebody acts.
var obstacles = map[string]string{
	"not_in_channel":                           "invite the bot to the channel: /invite and its name",
	"channel_not_found":                        "the channel is gone, or private without the bot: /invite it there",
	"is_archived":                              "the channel is archived: an admin can bring it back",
	"restricted_action":                        "a setting of the workspace keeps apps from posting here",
	"restricted_action_read_only_channel":      "only some people may post in this channel: add the app to them",
	"restricted_action_thread_only_channel":    "the channel takes replies in threads only",
	"restricted_action_non_threadable_channel": "the channel takes no threads: set replyTo to off for it",
	"thread_not_found":                         "the thread is gone",
	"message_not_found":                        "the message is gone",
	"cant_update_message":                      "the message is not the bot's own",
	"edit_window_closed":                       "the workspace allows no edits after this time",
	"cant_delete_message":                      "the message is not the bot's own",
	"user_not_found":                           "the person is gone",
	"cannot_dm_bot":                            "bots cannot be written to",
	"messages_tab_disabled":                    "switch on the Messages Tab under App Home of the app's settings",
	"no_text":                                  "",
	"invalid_arguments":                        "",
	"unknown_method":                           "the address of the Web API is not Slack's",
	"metadata_too_large":                       "",
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
	var dial *net.OpError
	switch {
	case errors.As(err, &limited):
		e.RetryAfter = max(limited.RetryAfter, time.Second)
	case errors.As(err, &refused):
		refusedSend(e, refused)
	case errors.As(err, &status):
		e.Unknown = status.Code >= 500
		e.Permanent = status.Code == http.StatusNotFound
		if status.Code == http.StatusTooManyRequests { // without a Retry-After
			e.RetryAfter = 30 * time.Second
		}
	case errors.As(err, &dial) && dial.Op == "dial":
		e.Unreached = true // nothing was sent
	default:
		e.Unknown = true
	}
	return e
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
	case "internal_error", "fatal_error", "request_timeout":
		e.Unknown = true // Slack says itself that part of it may have happened
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
