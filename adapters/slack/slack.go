// Package slack connects one Slack app to the bot: Socket Mode or signed HTTP
// requests in, Web API out.
//
// Inbound. Each envelope is acknowledged only after its message was handed over
// and stored; one that fails is left for Slack to send again. What nobody can
// use, such as an event of an unknown kind or one that does not parse, is
// acknowledged at once, since Slack would repeat it to the end. Messages of one
// conversation keep their order; different conversations do not wait for each
// other. The two envelopes of a mention, and every repeat, lead to the same
// [core.Message.InboxKey], so that one message is answered once in whatever
// order they arrive. Who may talk is decided by one function on every entrance
// before anything is shown.
//
// Slack replays nothing for a time without a connection. After such a time, and
// at the start for the time before, the conversations in which something was
// said lately are read, oldest message first and within bounds; direct messages
// are read again now and then for events that never came. What is found goes
// the way of every other message. A connection is judged by its transport
// alone, never by how long nobody has said anything.
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
	"slices"
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
	// own, unless Bots and External say otherwise. Empty allows nobody, and
	// nobody else gets as much as a hint.
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

// Adapter is one Slack account. It is a [core.Platform], a [core.Finder], a
// [core.Fetcher] and a [core.Historian].
type Adapter struct {
	cfg      Config
	api      *slackgo.Client
	http     *http.Client
	log      *slog.Logger
	rules    rules
	names    *names
	gates    *gates
	works    *statuses
	streams  *streams
	untitled *untitled
	calls    *recent[string]    // interactions that were taken up
	gone     *recent[threadRef] // threads whose root was deleted
	turned   *recent[string]    // people, with their places, whom nobody lets in
	allied   *recent[string]    // workspaces of the bot's organisation
	forged   seldom
	stand    *standing
	recall   *recall
	pace     pace

	handler core.Handler // set by Run
	intake  atomic.Pointer[intake]
	end     atomic.Pointer[context.CancelCauseFunc] // of Run
	loose   sync.WaitGroup                          // what was started beside the lanes
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
	rules, err := parseRules(cfg.Allow)
	if err != nil {
		return nil, fmt.Errorf("slack account %q: %w", cfg.Account, err)
	}
	rules.bots = cfg.Bots != BotsNamed
	a := &Adapter{
		cfg:      cfg,
		http:     cfg.HTTP,
		log:      cfg.Log.With("platform", "slack", "account", cfg.Account),
		rules:    rules,
		gates:    newGates(),
		works:    newStatuses(),
		streams:  newStreams(),
		untitled: newUntitled(),
		calls:    newRecent[string](1000),
		gone:     newRecent[threadRef](1000),
		turned:   newRecent[string](1000),
		allied:   newRecent[string](1000),
		forged:   seldom{every: forgedEvery},
		stand:    newStanding(cfg.Account, cfg.Alert),
		recall:   newRecall(),
		pace:     defaultPace,
	}
	a.api = slackgo.New(cfg.BotToken.Reveal(),
		slackgo.OptionAppLevelToken(cfg.AppToken.Reveal()),
		slackgo.OptionAPIURL(cfg.APIURL),
		slackgo.OptionHTTPClient(a.http))
	a.names = newNames(a.fetchPerson)
	a.warnNobody()
	return a, nil
}

// warnNobody tells when the list of those who may talk is empty: that is not
// the same as everybody.
func (a *Adapter) warnNobody() {
	where := ""
	switch {
	case !a.rules.empty():
		return
	case a.cfg.DM == DMOpen, a.cfg.DM == DMPairing:
		where = " in channels"
	}
	a.log.Warn("nobody may talk to the bot" + where + ": the list of allowed ids is empty; set UNDERSTUDY_SLACK_ALLOW or channels.slack.allow")
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

// identity is who the bot is on Slack. The organisation is empty for a workspace
// that belongs to none; for an app that was installed in a whole organisation,
// team is no workspace.
type identity struct{ user, bot, team, name, organisation string }

// everywhere reports whether the app was installed in a whole organisation.
func (i *identity) everywhere() bool {
	return i.organisation != "" && (i.team == "" || i.team == i.organisation)
}

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
	a.me = &identity{user: r.UserID, bot: r.BotID, team: r.TeamID, name: r.User, organisation: r.EnterpriseID}
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

// Connected reports whether Slack can reach the bot right now.
func (a *Adapter) Connected() bool { return a.Connection().State == core.Connected }

// Run hands what people say to h until ctx ends, which is no error. The error
// is a *[FatalError] when Slack refuses the account for good; everything else
// is tried again. Run must not be called twice.
func (a *Adapter) Run(ctx context.Context, h core.Handler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	a.handler = h
	a.end.Store(&cancel)
	defer a.http.CloseIdleConnections()
	defer a.names.stop()
	defer a.loose.Wait()
	defer cancel(nil)
	err := a.serve(ctx)
	var fatal *FatalError
	if err == nil && errors.As(context.Cause(ctx), &fatal) {
		err = fatal
	}
	if err != nil {
		a.stand.refused(err)
	}
	return err
}

// serve signs in and listens until ctx ends.
func (a *Adapter) serve(ctx context.Context) error {
	if err := a.signIn(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	a.remember(ctx)
	in := newIntake(ctx, a)
	defer in.wait()
	a.intake.Store(in)
	defer a.intake.Store(nil)
	a.loose.Go(func() { a.audits(ctx) })
	if a.cfg.AppToken.Set() {
		return a.connect(ctx, in.take)
	}
	a.listening(ctx) // it is for Slack to call
	<-ctx.Done()
	return nil
}

// signIn asks who the bot is, until Slack tells or refuses.
func (a *Adapter) signIn(ctx context.Context) error {
	for failures := 0; ; failures++ {
		me, err := a.identify(ctx)
		if err == nil {
			a.log.Info("signed in to Slack", "user", me.user, "team", me.team, "organisation", me.organisation)
			return nil
		}
		if fatal := refusal(err, botTokenPlace); fatal != nil {
			return fatal
		}
		if !a.rest(ctx, failures, err) {
			return nil
		}
	}
}

// refuse ends the account: Slack has said that it is no longer wanted.
func (a *Adapter) refuse(err *FatalError) {
	if end := a.end.Load(); end != nil {
		(*end)(err)
	}
}

// rest waits before the next attempt. It returns false when ctx has ended.
func (a *Adapter) rest(ctx context.Context, failures int, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	wait := a.pace.pause(failures)
	a.stand.trying(failures+1, time.Now().Add(wait), err)
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
