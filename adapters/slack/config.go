package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

// ReplyTo says where a message at the root of a channel is answered. Inside a
// thread the answer always stays in that thread.
type ReplyTo string

// The ways to answer. On Slack, where the reply link is the thread, first and
// all do the same: the message opens a thread for its answer.
const (
	ReplyOff   ReplyTo = "off"
	ReplyFirst ReplyTo = "first" // the default
	ReplyAll   ReplyTo = "all"
)

// DMPolicy says who may write to the bot directly.
type DMPolicy string

// The policies for direct messages.
const (
	DMAllowlist DMPolicy = "allowlist" // whose user or workspace id is in Allow; the default
	DMPairing   DMPolicy = "pairing"   // those, and whom an admin approved
	DMOpen      DMPolicy = "open"
	DMOff       DMPolicy = "off"
)

// RequireMention says which messages of a shared place are for the bot.
type RequireMention string

// The rules for mentions.
const (
	MentionAlways       RequireMention = "always"
	MentionUntilEngaged RequireMention = "until-engaged" // the default: in threads the sessions decide
	MentionNever        RequireMention = "never"
)

// Bots says which bots are heard in shared places.
type Bots string

// The choices. The bot never hears itself.
const (
	BotsNamed    Bots = "named"    // those that Allow names by their id, when they mention the bot; the default
	BotsMentions Bots = "mentions" // those where a person would be heard, when they mention the bot
	BotsAll      Bots = "all"      // those where a person would be heard
)

// Everybody in Config.Allow opens all shared places.
const Everybody = "*"

// Config is one Slack account.
type Config struct {
	Account  string // its name in keys; "default" if empty
	BotToken core.Secret
	// AppToken opens Socket Mode, SigningSecret is for what Slack sends to
	// [Adapter.Handler]. At least one must be set, both may be.
	AppToken, SigningSecret core.Secret
	// APIURL is the Web API's address, with a slash at its end; Slack's own if
	// empty.
	APIURL string
	// Allow says who may talk to the bot in shared places. An entry is the id
	// of an organisation, workspace or channel, or Everybody for all of them;
	// the id of a person, who then may talk everywhere; or "user:<id>". When
	// there are entries of the last form, only those people may talk, in the
	// places that are named, or everywhere if none is. Bots, and people of
	// another company in a shared channel, must be named by an id of their
	// own, unless Bots and External say otherwise. Empty allows nobody. Nobody else gets an answer to a message; a command
	// or a press of his is refused, with words that he alone sees.
	Allow []string
	DM    DMPolicy
	Bots  Bots
	// External lets people of other companies talk as if they were of the
	// bot's own workspace.
	External bool
	// RequireMention and ReplyTo are the rules of a place; nil, and a value that
	// is none of the choices, is the default. For a message at the root of a
	// channel the place is that channel.
	RequireMention func(core.Thread) RequireMention
	ReplyTo        func(core.Thread) ReplyTo
	// Seen is asked once, at the start, for what earlier processes knew; what
	// was said since then is read. Nil reads nothing.
	Seen func(context.Context) (core.Seen, error)
	// Alert hears of what an operator should know. It must not block.
	Alert func(core.Alert)
	// NativeStreaming says where answers grow by Slack's own streaming.
	NativeStreaming NativeStreaming
	// PostEvery is the time between two posts in one channel, and EditEvery
	// the time between two edits; Slack's limits if zero, none if negative.
	PostEvery, EditEvery time.Duration
	Log                  *slog.Logger // nil is silent
	HTTP                 *http.Client // nil is a client of its own
}

// httpTimeout ends a call of the Web API that nobody else ends.
const httpTimeout = 20 * time.Second

// check fills in what was left out and refuses what cannot be.
func (c *Config) check() error {
	if c.Account == "" {
		c.Account = "default"
	}
	var bad []error
	refuse := func(format string, args ...any) {
		bad = append(bad, fmt.Errorf("slack account %q: "+format, append([]any{c.Account}, args...)...))
	}
	c.checkTokens(refuse)
	if c.APIURL == "" {
		c.APIURL = slackgo.APIURL
	}
	if !strings.HasSuffix(c.APIURL, "/") {
		refuse("the address of the Web API must end in a slash, %q does not", c.APIURL)
	}
	choose(&c.NativeStreaming, refuse, "nativeStreaming", NativeAuto, NativeOn, NativeOff)
	choose(&c.Bots, refuse, "rule about bots", BotsNamed, BotsMentions, BotsAll)
	choose(&c.DM, refuse, "dm policy", DMAllowlist, DMPairing, DMOpen, DMOff)
	if c.PostEvery == 0 {
		c.PostEvery = postEvery
	}
	if c.EditEvery == 0 {
		c.EditEvery = editEvery
	}
	if c.Alert == nil {
		c.Alert = func(core.Alert) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.HTTP == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 32 // one host, many threads
		c.HTTP = &http.Client{Transport: t, Timeout: httpTimeout}
	}
	return errors.Join(bad...)
}

// checkTokens tells the tokens apart by how they begin: they are easily mixed
// up, and Slack's own answer to that names neither.
func (c *Config) checkTokens(refuse func(string, ...any)) {
	bot, app := c.BotToken.Reveal(), c.AppToken.Reveal()
	const (
		botPlace = "OAuth & Permissions in the app's settings"
		appPlace = "Basic Information, App-Level Tokens, in the app's settings"
	)
	if strings.HasPrefix(bot, "xapp-") && strings.HasPrefix(app, "xoxb-") {
		refuse("the two tokens have changed places: xoxb-… belongs into UNDERSTUDY_SLACK_BOT_TOKEN, xapp-… into UNDERSTUDY_SLACK_APP_TOKEN")
		return
	}
	switch {
	case bot == "":
		refuse("UNDERSTUDY_SLACK_BOT_TOKEN is missing: copy the token that begins with xoxb- (%s)", botPlace)
	case !strings.HasPrefix(bot, "xoxb-"):
		refuse("UNDERSTUDY_SLACK_BOT_TOKEN must be the token that begins with xoxb- (%s)", botPlace)
	}
	switch {
	case strings.HasPrefix(app, "xapp-"), app == "" && c.SigningSecret.Set():
	case app == "":
		refuse("UNDERSTUDY_SLACK_APP_TOKEN is missing: make the token that begins with xapp-, for Socket Mode (%s); or, for requests over HTTP, set UNDERSTUDY_SLACK_SIGNING_SECRET and UNDERSTUDY_SLACK_HTTP", appPlace)
	default:
		refuse("UNDERSTUDY_SLACK_APP_TOKEN must be the token that begins with xapp- (%s)", appPlace)
	}
}

// choose sets a value that was left out to the first of the choices, and
// refuses one that is none of them.
func choose[T ~string](value *T, refuse func(string, ...any), what string, choices ...T) {
	if *value == "" {
		*value = choices[0]
		return
	}
	if !slices.Contains(choices, *value) {
		refuse("%s can be one of %q, not %q", what, choices, *value)
	}
}

// replyTo is how messages at the root of a place are answered.
func (a *Adapter) replyTo(t core.Thread) ReplyTo {
	return rule(a.cfg.ReplyTo, t, ReplyFirst, ReplyAll, ReplyOff)
}

// requireMention is which messages of a place are for the bot.
func (a *Adapter) requireMention(t core.Thread) RequireMention {
	return rule(a.cfg.RequireMention, t, MentionUntilEngaged, MentionAlways, MentionNever)
}

// rule asks for the value of a place; the first of the choices is the default.
func rule[T ~string](ask func(core.Thread) T, t core.Thread, choices ...T) T {
	if ask != nil {
		if v := ask(t); slices.Contains(choices, v) {
			return v
		}
	}
	return choices[0]
}
