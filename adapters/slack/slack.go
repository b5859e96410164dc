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
	"sync"
	"sync/atomic"
	"time"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
	"understudy/core/rescue"
)

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
	full     seldom
	passed   *tally
	kinds    *kinds
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
		full:     seldom{every: forgedEvery},
		passed:   newTally(),
		kinds:    newKinds(),
		stand:    newStanding(cfg.Account, cfg.Alert),
		recall:   newRecall(),
		pace:     defaultPace,
	}
	a.api = slackgo.New(cfg.BotToken.Reveal(),
		slackgo.OptionAppLevelToken(cfg.AppToken.Reveal()),
		slackgo.OptionAPIURL(cfg.APIURL),
		slackgo.OptionHTTPClient(boundedClient{a.http}))
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
	a.loose.Go(func() {
		defer rescue.Panic(a.log, "looking for direct messages that Slack did not tell of")
		a.audits(ctx)
	})
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
	if err != nil {
		wait = max(wait, sendError(err).RetryAfter) // when Slack will answer again
	}
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
