// Package discord is the Discord half of the bot: it turns what people say
// there into [core.Message] values and posts what the bot says.
//
// What is promised. A message reaches the handler before the gateway reads on;
// when the handler cannot store it, it is offered again for some minutes, and
// what comes after it waits behind it, so that order is kept. A message may
// reach the handler more than once (a resumed connection, the reading of what
// was missed), always with the same inbox key. After a gap that Discord does
// not replay, and at the start, the places in which something was said are read,
// oldest message first, by turns and within bounds. Nothing that Discord sends
// makes the process fail; what cannot be understood is passed over.
//
// Who may talk is decided once, by one function, for messages, commands,
// completions, menus and buttons alike, before anything is answered; a place
// that cannot be looked up is closed. Under the policy pairing the handler says
// whether somebody may write directly. Every interaction gets a response in
// time, if there are not too many of them.
//
// A message comes with what it replies to or forwards, as quotations, and with
// the addresses of its files, which [Adapter.Fetch] reads from Discord's own
// hosts. What was said in a thread before, [Adapter.Earlier] reads.
//
// Posts of one conversation leave one at a time, those of all no faster than
// Discord allows, answers before notices. An error says whether a post may have
// happened; a second post with the same nonce does not make a second message
// within some minutes, and [Adapter.Find] looks further back. No text of the bot
// can mention anybody.
//
// A message that mentions the bot in a text channel is answered in a thread of
// its own. The thread's id is the message's, so that the conversation has its
// key before the thread exists; the first post opens it. Where that is not
// possible, or nothing can be said in a thread, its channel is told once, and
// the operator.
//
// All methods are safe for concurrent use; Run is called once at a time.
package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"understudy/adapters/media"
	"understudy/core"
)

// idleConnections are kept open to Discord; it speaks HTTP/2 on one, what
// stands in front of it may not.
const idleConnections = 64

// The policies for direct messages.
const (
	DMOpen      = "open"      // everybody
	DMPairing   = "pairing"   // users who are named in Allow, or whom the handler knows; others knock
	DMAllowlist = "allowlist" // users who are named in Allow
	DMOff       = "off"
)

// The rules about mentions in shared places.
const (
	MentionAlways       = "always"        // only messages that address the bot
	MentionUntilEngaged = "until-engaged" // and those in threads, where the sessions decide
	MentionNever        = "never"         // every message is meant for the bot
)

// The rules about bots and webhooks in shared places.
const (
	BotsNamed    = "named"    // those that Allow names by their user id, when they mention the bot by hand
	BotsMentions = "mentions" // those where a person would be heard, when they mention the bot by hand
	BotsAll      = "all"      // those where a person would be heard
)

// The rules about reply links.
const (
	ReplyOff   = "off"
	ReplyFirst = "first" // the first message of an answer
	ReplyAll   = "all"
)

// Config are the settings of one bot account.
type Config struct {
	Account string      // its name in keys; "default" if empty
	Token   core.Secret // the bot token, without "Bot "
	// APIURL and GatewayURL lead somewhere else than to Discord; GatewayURL is
	// asked for at APIURL when it is empty.
	APIURL, GatewayURL string
	// Allow says who may talk to the bot in shared places. An entry is the id
	// of a guild, category, channel or thread, or "*" for all of them; the id
	// of a user or role, who then may talk everywhere; or "user:<id>" or
	// "role:<id>". When there are entries of the last form, only those people
	// may talk, in the places that are named, or everywhere if none is. Bots
	// and webhooks must be named by their user id, unless Bots says otherwise.
	// Empty allows nobody.
	Allow []string
	// Bots is the rule about bots and webhooks; BotsNamed if empty. The bot never
	// hears itself, and no bot writes to it directly.
	Bots string
	// DM is the policy for direct messages; DMAllowlist if empty.
	DM string
	// RequireMention is the rule about mentions for a place, which may have a
	// parent and a category; MentionUntilEngaged if it is nil or says nothing.
	RequireMention func(core.Thread) string
	// ReplyTo is the rule about reply links for a place. With ReplyOff a message
	// is handed over without anything to link to. ReplyFirst if it is nil.
	ReplyTo func(core.Thread) string
	// EveryoneWakes makes @everyone and @here of a person a mention of the bot.
	EveryoneWakes bool
	// MentionRoles are the ids of roles that stand for the bot, beside the one
	// that Discord made for it: a mention of one by a person is one of the bot.
	MentionRoles []string
	// NoAutoThread answers mentions in a text channel in the channel itself.
	NoAutoThread bool
	// Seen tells at the start of Run what earlier processes knew. What was said
	// since then is read, within bounds; nothing is if it is nil.
	Seen func(context.Context) (core.Seen, error)
	// Alert is told what an operator should know; it must not block. It may be
	// nil.
	Alert func(core.Alert)
	// Rate is how many requests a second the account may make; 50 if zero.
	Rate int
	Log  *slog.Logger // nothing is logged if nil
	HTTP *http.Client // one with enough connections is made if nil
}

// Adapter is one bot account on Discord.
type Adapter struct {
	config  Config
	rules   rules
	log     *slog.Logger
	rest    *rest
	lanes   *lanes
	places  *places
	threads *threads
	pace    pacing
	stand   *standing
	table   []core.Command // what is registered with Discord
	// refusals are those of which the operator was told.
	refusals *seldom
	source   media.Source
	// dial connects to the gateway; the network does where it is nil.
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	userID string // of the bot
	appID  string
}

var (
	_ core.Platform  = (*Adapter)(nil)
	_ core.Finder    = (*Adapter)(nil)
	_ core.Fetcher   = (*Adapter)(nil)
	_ core.Historian = (*Adapter)(nil)
)

// New checks the settings and makes an adapter. It does not connect.
func New(c Config) (*Adapter, error) {
	if c.Account == "" {
		c.Account = "default"
	}
	if c.DM == "" {
		c.DM = DMAllowlist
	}
	if c.Bots == "" {
		c.Bots = BotsNamed
	}
	if c.RequireMention == nil {
		c.RequireMention = func(core.Thread) string { return "" }
	}
	if c.ReplyTo == nil {
		c.ReplyTo = func(core.Thread) string { return ReplyFirst }
	}
	if c.APIURL == "" {
		c.APIURL = defaultAPI
	}
	if c.Rate == 0 {
		c.Rate = globalRate
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second}}
	}
	rules, err := parseRules(c.Allow)
	rules.bots = c.Bots != BotsNamed
	errs := []error{err}
	if !c.Token.Set() {
		errs = append(errs, errors.New("UNDERSTUDY_DISCORD_TOKEN, the bot token, is missing: copy it from "+portal+" (your application, Bot)"))
	}
	if c.Rate < 0 {
		errs = append(errs, fmt.Errorf("the rate is %d requests a second: it must be positive", c.Rate))
	}
	errs = append(errs, oneOf("the policy for direct messages", c.DM, DMOpen, DMPairing, DMAllowlist, DMOff))
	errs = append(errs, oneOf("the rule about bots", c.Bots, BotsNamed, BotsMentions, BotsAll))
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("discord account %q: %w", c.Account, err)
	}
	a := &Adapter{config: c, rules: rules, log: c.Log.With("platform", "discord", "account", c.Account),
		lanes: newLanes(c.Rate), pace: usualPace, table: core.Commands}
	a.rest = newREST(c.Token.Reveal(), c.APIURL, c.HTTP, a.lanes)
	a.rest.guard.tell = a.tellInvalid
	a.places = newPlaces(a.rest)
	a.threads = newThreads(a)
	a.refusals = newSeldom(alertEvery)
	a.source = newSource(c.APIURL, c.HTTP)
	a.stand = newStanding(a)
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
	case a.config.DM == DMOpen, a.config.DM == DMPairing:
		where = " in channels"
	}
	a.log.Warn("nobody may talk to the bot" + where + ": the list of allowed ids is empty; set UNDERSTUDY_DISCORD_ALLOW or channels.discord.allow")
}

func oneOf(what, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s is %q: it must be one of %q", what, value, allowed)
}

// alert tells the operator something, if anybody listens.
func (a *Adapter) alert(what core.Alert) {
	if a.config.Alert != nil {
		a.config.Alert(what)
	}
}

// identity is who the bot is, as far as it is known without asking.
func (a *Adapter) identity() (user, app string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.userID, a.appID
}

func (a *Adapter) identify(user, app string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.userID, a.appID = user, app
}

// self is the bot's user id, asked for if there was no connection yet.
func (a *Adapter) self(ctx context.Context) (string, error) {
	if user, _ := a.identity(); user != "" {
		return user, nil
	}
	got, err := a.rest.ask(ctx, urgentFirst, http.MethodGet, "users/@me", nil)
	if err != nil {
		return "", err
	}
	u, err := read[wireUser](got.body)
	if err != nil {
		return "", fmt.Errorf("read who the bot is: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.userID = u.ID
	return u.ID, nil
}
