package discord

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"understudy/core"
)

// FatalError says that Discord refuses the account for a reason that only its
// operator can remove. Trying again does not help.
type FatalError struct {
	Code int    // the gateway's close code
	Text string // what is wrong and which switch to turn where
	Err  error
}

func (e *FatalError) Error() string { return e.Text }

func (e *FatalError) Unwrap() error { return e.Err }

const portal = "https://discord.com/developers/applications"

const switchContent = "turn on Message Content Intent at " + portal + " (your application, Bot, Privileged Gateway Intents)"

// fatalCodes are the close codes after which a client must not connect again.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes
var fatalCodes = map[int]string{
	closeBadToken: "Discord does not accept the bot token: make a new one at " + portal + " (your application, Bot, Reset Token) and set it as UNDERSTUDY_DISCORD_TOKEN",
	4010:          "Discord does not accept the shard that was asked for: update the program",
	closeSharding: "the bot is in so many guilds that Discord asks for shards, but it does not say for how many: start it again later, or remove it from some guilds",
	4012:          "Discord does not speak this gateway version any more: update the program",
	4013:          "Discord does not know an intent that was asked for: update the program",
	4014:          "an intent is not switched on: turn on Message Content Intent at " + portal + " (your application, Bot, Privileged Gateway Intents)",
}

// fatal finds the reason in err that ends the account, if there is one.
func fatal(err error) *FatalError {
	var (
		closed *websocket.CloseError
		r      *refusal
	)
	code := 0
	switch {
	case errors.As(err, &closed):
		code = closed.Code
	case errors.As(err, &r) && r.status == http.StatusUnauthorized:
		code = closeBadToken
	}
	text, ok := fatalCodes[code]
	if !ok {
		return nil
	}
	return &FatalError{Code: code, Text: text, Err: err}
}

// The codes of refusals that are treated on their own.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
const (
	codeUnknownChannel      = 10003
	codeUnknownMessage      = 10008
	codeUnknownWebhook      = 10015
	codeUnknownInteraction  = 10062
	codeAcknowledged        = 40060
	codeMissingAccess       = 50001
	codeCannotMessageUser   = 50007
	codeMissingPermissions  = 50013
	codeInvalidToken        = 50027
	codeInvalidForm         = 50035
	codeThreadArchived      = 50083
	codeThreadExists        = 160004
	codeThreadLocked        = 160005
	codeWrongChannelType    = 50024
	codeTooManyThreads      = 160006
	codeTooManyAnnouncement = 160007
)

// refusal is an answer of Discord that is no success. It names the route
// without ids of interactions, since those carry tokens.
type refusal struct {
	route      string
	status     int
	code       int
	message    string
	fields     map[string]any // which fields of a form are wrong
	retryAfter time.Duration
	global     bool // the limit is one over all routes
	shared     bool // the limit is one that others have hit
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("Discord answers %s with %d", r.route, r.status)
	if r.code != 0 {
		text += fmt.Sprintf(" (code %d)", r.code)
	}
	if r.message != "" {
		text += ": " + r.message
	}
	return text
}

// refusedWith reports whether err is a refusal with one of the codes.
func refusedWith(err error, codes ...int) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	for _, c := range codes {
		if r.code == c {
			return true
		}
	}
	return false
}

// unsent is a wait for our own limits that took too long.
type unsent struct{ err error }

func (u *unsent) Error() string { return "was not sent: " + u.err.Error() }

func (u *unsent) Unwrap() error { return u.err }

// helps are the switches that remove a refusal.
var helps = map[int]string{
	codeUnknownChannel:    "the channel or thread was deleted",
	codeCannotMessageUser: "the user does not accept direct messages from this server",
	codeThreadArchived:    "the thread is archived and locked: unlock it, or give the bot Manage Threads",
	codeThreadLocked:      "the thread is locked: unlock it, or give the bot Manage Threads",
	codeTooManyThreads:    "the channel has as many active threads as Discord allows: archive some",
}

// help is the switch that removes a refusal, as far as that is known.
func help(r *refusal) string {
	method, path, _ := strings.Cut(r.route, " ")
	needs := ""
	switch {
	case r.code == codeMissingAccess:
		needs = "View Channel and Read Message History"
	case r.code != codeMissingPermissions:
		return helps[r.code]
	case strings.HasSuffix(path, "/threads"):
		needs = "Create Public Threads and Send Messages in Threads"
	case method == http.MethodGet:
		needs = "Read Message History"
	case method == http.MethodPatch && strings.Count(path, "/") == 1:
		needs = "Manage Threads"
	default:
		needs = "View Channel, Send Messages and Attach Files, and for threads Send Messages in Threads,"
	}
	return "give the bot " + needs + " there"
}

// sendError says what a failed request means for the post. creates is true
// when repeating the request could make a second message.
func sendError(err error, creates bool) *core.SendError {
	var (
		r     *refusal
		u     *unsent
		ready *core.SendError
		dial  *net.OpError
	)
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &u):
		return &core.SendError{Unsent: true, Err: err}
	case !errors.As(err, &r):
		unknown := creates && !(errors.As(err, &dial) && dial.Op == "dial")
		return &core.SendError{Unknown: unknown, Unreached: !unknown, Err: err}
	}
	switch {
	case r.status == http.StatusTooManyRequests:
		return &core.SendError{RetryAfter: r.retryAfter, Err: err}
	case r.status >= 500 || r.status < 400:
		return &core.SendError{Unknown: creates, Unreached: !creates, Err: err}
	case r.status == http.StatusUnauthorized:
		return &core.SendError{Permanent: true, Help: fatalCodes[closeBadToken], Err: err}
	case r.code == codeInvalidForm && tooLong(r.fields):
		return &core.SendError{TooLong: true, Err: err}
	case r.code == 0 && r.status == http.StatusForbidden:
		// Without a code it is not Discord itself that speaks but what stands
		// in front of it, and that passes.
		return &core.SendError{Unreached: true, Err: err}
	}
	return &core.SendError{Permanent: true, Help: help(r), Err: err}
}

// tooLong reports whether a form was refused for the length of its content.
func tooLong(fields map[string]any) bool {
	content, _ := fields["content"].(map[string]any)
	list, _ := content["_errors"].([]any)
	for _, e := range list {
		entry, _ := e.(map[string]any)
		if entry["code"] == "BASE_TYPE_MAX_LENGTH" {
			return true
		}
	}
	return false
}
