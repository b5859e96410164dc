// Package slack connects one Slack app to the bot: Socket Mode in, Web API out.
//
// Inbound. Each envelope is acknowledged only after its message was handed over
// and stored; one that fails is left for Slack to send again. What nobody can
// use, such as an event of an unknown kind or one that does not parse, is
// acknowledged at once, since Slack would repeat it to the end. Messages of one
// conversation keep their order; different conversations do not wait for each
// other. The two envelopes of a mention, and every repeat, lead to the same
// [core.Message.InboxKey], so that one message is answered once in whatever
// order they arrive. Who may talk is checked on every entrance before anything
// is shown.
//
// Outbound. Every post goes to the thread of its target's root, never to the
// timestamp of a reply, and carries its nonce in the message's metadata, where
// [Adapter.Find] reads it back. A post whose thread is gone is taken away again
// and refused for good: Slack would show it to the whole channel. Text is
// rendered by one function for posts, edits and replies to commands; in no form
// of it can a mention ring. Waiting for a rate limit listens to the context.
// Only a post that Slack may have made without telling is of unknown outcome.
//
// The Web API is spoken through slack-go. Its Socket Mode client is not used: it
// keeps the reason of a disconnect to itself, connects again without a pause,
// cannot tell a lost acknowledgement from a written one, and drops the
// connection before it has the next.
package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
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

// Everybody in Config.Allow opens all shared places of the workspace.
const Everybody = "*"

// Config is one Slack account.
type Config struct {
	Account  string // its name in keys; "default" if empty
	BotToken core.Secret
	AppToken core.Secret
	// APIURL is the Web API's address, with a slash at its end; Slack's own if
	// empty.
	APIURL string
	// Allow lists the workspace, channel, user and bot ids that the bot
	// listens to, or Everybody. Nobody else gets as much as a hint. A bot, and
	// a person of another workspace, must be listed by an id of their own.
	Allow          []string
	DM             DMPolicy
	RequireMention RequireMention
	ReplyTo        ReplyTo
	// PostEvery is the time between two posts in one channel, and EditEvery
	// the time between two edits; Slack's limits if zero, none if negative.
	PostEvery, EditEvery time.Duration
	Log                  *slog.Logger // nil is silent
	HTTP                 *http.Client // nil is a client of its own
}

// httpTimeout ends a call of the Web API that nobody else ends.
const httpTimeout = 20 * time.Second

// Adapter is one Slack account. It is a [core.Platform] and a [core.Finder].
type Adapter struct {
	cfg    Config
	api    *slackgo.Client
	http   *http.Client
	log    *slog.Logger
	policy policy
	names  *names
	gates  *gates
	works  *statuses
	calls  *recent[string]    // interactions that were taken up
	gone   *recent[threadRef] // threads whose root was deleted
	pace   pace

	handler core.Handler // set by Run
	open    atomic.Int32 // sockets
	mu      sync.Mutex
	me      *identity // set once; Run sets it before anything is heard
}

var (
	_ core.Platform = (*Adapter)(nil)
	_ core.Finder   = (*Adapter)(nil)
)

// New checks the configuration. It does not speak to Slack.
func New(cfg Config) (*Adapter, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	a := &Adapter{
		cfg:    cfg,
		http:   cfg.HTTP,
		log:    cfg.Log.With("platform", "slack", "account", cfg.Account),
		policy: newPolicy(cfg.Allow, cfg.DM),
		gates:  newGates(),
		works:  newStatuses(),
		calls:  newRecent[string](1000),
		gone:   newRecent[threadRef](1000),
		pace:   defaultPace,
	}
	a.api = slackgo.New(cfg.BotToken.Reveal(),
		slackgo.OptionAppLevelToken(cfg.AppToken.Reveal()),
		slackgo.OptionAPIURL(cfg.APIURL),
		slackgo.OptionHTTPClient(a.http))
	a.names = newNames(a.fetchName)
	if len(cfg.Allow) == 0 && cfg.DM != DMOpen {
		a.log.Warn("nobody may talk to the bot: the list of allowed ids is empty; set channels.slack.allow or UNDERSTUDY_SLACK_ALLOW")
	}
	return a, nil
}

// check fills in what was left out and refuses what cannot be.
func (c *Config) check() error {
	if c.Account == "" {
		c.Account = "default"
	}
	var bad []error
	refuse := func(format string, args ...any) {
		bad = append(bad, fmt.Errorf("slack account %q: "+format, append([]any{c.Account}, args...)...))
	}
	if t := c.BotToken.Reveal(); !strings.HasPrefix(t, "xoxb-") {
		refuse("the bot token must be the one that begins with xoxb- (OAuth & Permissions in the app's settings)")
	}
	if t := c.AppToken.Reveal(); !strings.HasPrefix(t, "xapp-") {
		refuse("the app token must be the one that begins with xapp- (Basic Information, App-Level Tokens, in the app's settings)")
	}
	if c.APIURL == "" {
		c.APIURL = slackgo.APIURL
	}
	if !strings.HasSuffix(c.APIURL, "/") {
		refuse("the address of the Web API must end in a slash, %q does not", c.APIURL)
	}
	choose(&c.DM, refuse, "dm policy", DMAllowlist, DMOpen, DMOff)
	choose(&c.RequireMention, refuse, "mention rule", MentionUntilEngaged, MentionAlways, MentionNever)
	choose(&c.ReplyTo, refuse, "replyTo", ReplyFirst, ReplyAll, ReplyOff)
	if c.PostEvery == 0 {
		c.PostEvery = postEvery
	}
	if c.EditEvery == 0 {
		c.EditEvery = editEvery
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

// choose sets a value that was left out to the first of the choices, and
// refuses one that is none of them.
func choose[T ~string](value *T, refuse func(string, ...any), what string, choices ...T) {
	if *value == "" {
		*value = choices[0]
		return
	}
	for _, c := range choices {
		if *value == c {
			return
		}
	}
	refuse("%s can be one of %q, not %q", what, choices, *value)
}

// identity is who the bot is on Slack.
type identity struct{ user, bot, team, name string }

// identify asks Slack once who the bot is.
func (a *Adapter) identify(ctx context.Context) (*identity, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.me != nil {
		return a.me, nil
	}
	r, err := a.api.AuthTestContext(ctx)
	if err != nil {
		return nil, err
	}
	a.me = &identity{user: r.UserID, bot: r.BotID, team: r.TeamID, name: r.User}
	a.warnScopes(r.Header.Get("X-OAuth-Scopes"))
	return a.me, nil
}

// warnScopes tells the operator early what will not work later.
func (a *Adapter) warnScopes(header string) {
	if header == "" {
		return
	}
	have := map[string]bool{}
	for s := range strings.SplitSeq(header, ",") {
		have[strings.TrimSpace(s)] = true
	}
	var missing []string
	for _, s := range botScopes {
		if !have[s] {
			missing = append(missing, s)
		}
	}
	if len(missing) > 0 {
		a.log.Warn("the Slack app lacks scopes; add them under OAuth & Permissions and install the app again", "missing", missing)
	}
}

// Connected reports whether a socket to Slack is open.
func (a *Adapter) Connected() bool { return a.open.Load() > 0 }

// Run hands what people say to h until ctx ends, which is no error. The error
// is a *[FatalError] when Slack refuses the account for good; everything else
// is tried again. Run must not be called twice.
func (a *Adapter) Run(ctx context.Context, h core.Handler) error {
	a.handler = h
	defer a.http.CloseIdleConnections()
	defer a.names.stop()
	for failures := 0; ; failures++ {
		me, err := a.identify(ctx)
		if err == nil {
			a.log.Info("signed in to Slack", "user", me.user, "team", me.team)
			break
		}
		if fatal := refusal(err, botTokenPlace); fatal != nil {
			return fatal
		}
		if !a.rest(ctx, failures, err) {
			return nil
		}
	}
	in := newIntake(a)
	defer in.wait()
	return a.connect(ctx, in.take)
}

// rest waits before the next attempt. It returns false when ctx has ended.
func (a *Adapter) rest(ctx context.Context, failures int, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	wait := a.pace.pause(failures)
	a.log.Warn("cannot reach Slack, trying again", "in", wait, "failures", failures+1, "error", clean(err))
	return sleep(ctx, wait)
}

// sleep waits unless ctx ends before, and reports whether it has not.
func sleep(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
