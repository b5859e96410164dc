package slack

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"
	"golang.org/x/sync/errgroup"

	"understudy/core"
	"understudy/core/rescue"
)

// The bounds of what is read after a gap.
const (
	recallPlaces   = 50 // conversations
	recallMessages = 200
	recallAge      = 24 * time.Hour
	recallAtATime  = 4
	recallTime     = time.Minute // for all of it, since new messages wait meanwhile
	recallOverlap  = time.Minute // what is read twice: a dead socket shows late
)

// The bounds of the audit of direct messages.
const (
	auditPlaces = 20
	auditPause  = 2 * time.Second // between two conversations; Slack allows 50 reads a minute
)

// recall knows where something was said lately, and which messages came.
type recall struct {
	mu     sync.Mutex
	lately []core.Thread // newest first, each once
	since  time.Time     // of what earlier processes knew; zero if nothing
	came   *recent[eventRef]
	misses int // audits in a row that found something
}

type eventRef struct{ channel, id string }

func newRecall() *recall { return &recall{came: newRecent[eventRef](10000)} }

// overheard notes that something was said that may not be for the bot: of a
// conversation that it is part of, or else of what holds it. Otherwise the
// threads of a busy channel would push out those that matter.
func (r *recall) overheard(t core.Thread) {
	r.mu.Lock()
	known := slices.ContainsFunc(r.lately, func(o core.Thread) bool { return o.Key() == t.Key() })
	r.mu.Unlock()
	if !known {
		t = t.Holder()
	}
	r.heard(t)
}

// heard notes that something was said to the bot in a conversation.
func (r *recall) heard(threads ...core.Thread) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range threads {
		r.lately = slices.DeleteFunc(r.lately, func(o core.Thread) bool { return o.Key() == t.Key() })
		r.lately = slices.Insert(r.lately, 0, t)
	}
	r.lately = r.lately[:min(len(r.lately), recallPlaces)]
}

// places are the conversations to be read, threads and what holds them, newest
// first.
func (r *recall) places() []core.Thread {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []core.Thread
	known := map[string]bool{}
	for _, t := range r.lately {
		for _, place := range []core.Thread{t, t.Holder()} {
			if key := place.Key(); !known[key] && len(list) < recallPlaces {
				known[key] = true
				list = append(list, place)
			}
		}
	}
	return list
}

// remember asks what earlier processes knew.
func (a *Adapter) remember(ctx context.Context) {
	if a.cfg.Seen == nil {
		return
	}
	seen, err := a.cfg.Seen(ctx)
	if err != nil {
		a.log.Warn("it is not known what was said before the start; nothing of it is read", "error", err)
		return
	}
	own := slices.DeleteFunc(slices.Clone(seen.Threads), func(t core.Thread) bool {
		return t.Platform != "slack" || t.Account != a.cfg.Account
	})
	slices.Reverse(own) // the newest are noted last
	a.recall.heard(own...)
	a.recall.since = seen.At
}

// listening notes that Slack can reach the bot, and begins to read what was
// said while it could not.
func (a *Adapter) listening(ctx context.Context) {
	gap, alone := a.stand.greeted()
	if !alone {
		return
	}
	if gap.IsZero() {
		gap = a.recall.since
	}
	in := a.intake.Load()
	if gap.IsZero() || in == nil {
		return
	}
	since := gap.Add(-recallOverlap)
	if oldest := time.Now().Add(-recallAge); since.Before(oldest) {
		since = oldest
	}
	places := a.recall.places()
	for _, t := range places {
		in.hold(t.Key())
	}
	a.loose.Go(func() {
		defer rescue.Panic(a.log, "reading what was said meanwhile")
		a.catchUp(ctx, in, places, since)
	})
}

// catchUp reads conversations and takes what was said as if it had just come.
// What comes meanwhile waits until its conversation is read.
func (a *Adapter) catchUp(ctx context.Context, in *intake, places []core.Thread, since time.Time) {
	reading, cancel := context.WithTimeout(ctx, recallTime)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(recallAtATime)
	for _, t := range places {
		group.Go(func() error {
			defer in.release(ctx, t.Key())
			defer in.survive("missed messages", func(error) {})
			for _, p := range a.missed(reading, t, since) {
				a.admit(ctx, p)
			}
			return nil
		})
	}
	_ = group.Wait() // what failed is in the log
}

// missed are the messages of a conversation since a time, oldest first.
func (a *Adapter) missed(ctx context.Context, t core.Thread, since time.Time) []payload {
	after := stampOf(since)
	var list []event
	var err error
	for {
		list, _, err = a.messages(ctx, t, span{after: after, limit: recallMessages})
		var limited *slackgo.RateLimitedError
		if !errors.As(err, &limited) || !sleep(ctx, limited.RetryAfter) {
			break
		}
	}
	if err != nil && !saidCode(err, "channel_not_found", "not_in_channel", "is_archived") {
		a.log.Warn("what was said meanwhile cannot be read", "channel", t.Channel, "root", t.Root, "error", clean(err))
	}
	var found []payload
	for _, ev := range list {
		if ev.TS.time().Before(since) || !ev.speech() {
			continue // the root of a thread comes whatever its age
		}
		ev.Type, ev.ChannelType = "message", channelType(t)
		found = append(found, payload{TeamID: t.Workspace, Event: ev, recalled: true})
	}
	return found
}

// channelType is what Slack calls a kind of place. Of the place that holds a
// thread nothing is known.
func channelType(t core.Thread) string {
	switch t.Kind {
	case core.KindThread:
		return ""
	case core.KindDirect:
		return "im"
	case core.KindGroup:
		return "mpim"
	}
	return "channel"
}

// admit takes one message that was read. Slack will not send it again, so that
// it is tried a few times.
func (a *Adapter) admit(ctx context.Context, p payload) {
	for try := 0; ; try++ {
		bounded, cancel := context.WithTimeout(ctx, admitTimeout)
		a.learnKind(bounded, p.Event)
		err := a.speech(bounded, p)
		cancel()
		if err == nil || ctx.Err() != nil {
			return
		}
		if try == len(a.pace.pauses) {
			a.log.Error("a message that was missed is lost", "channel", p.Event.Channel, "message", p.Event.TS, "error", err)
			return
		}
		sleep(ctx, a.pace.pause(try))
	}
}

// audits looks, now and then, for direct messages whose events never came
// though the connection looked well.
func (a *Adapter) audits(ctx context.Context) {
	since := time.Now()
	for sleep(ctx, a.pace.audit) {
		if a.Connection().State != core.Connected {
			continue
		}
		next := time.Now()
		a.audit(ctx, since.Add(-2*a.pace.grace), next.Add(-a.pace.grace))
		since = next
	}
}

// audit reads the active direct messages between two times.
func (a *Adapter) audit(ctx context.Context, since, until time.Time) {
	direct := slices.DeleteFunc(a.recall.places(), func(t core.Thread) bool { return t.Kind != core.KindDirect })
	missed := 0
	for i, t := range direct[:min(len(direct), auditPlaces)] {
		if i > 0 && !sleep(ctx, auditPause) {
			return
		}
		for _, p := range a.missed(ctx, t, since) {
			ev := p.subject()
			if ev.TS.time().After(until) || a.own(p, ev) || a.recall.came.has(eventRef{ev.Channel, string(ev.TS)}) {
				continue
			}
			missed++
			a.log.Warn("missed event: Slack did not tell of a direct message", "channel", ev.Channel, "message", ev.TS)
			a.admit(ctx, p)
		}
	}
	a.alertMisses(missed > 0)
}

// alertMisses tells an operator when two audits in a row found something.
func (a *Adapter) alertMisses(found bool) {
	before := a.recall.misses
	a.recall.misses++
	if !found {
		a.recall.misses = 0
	}
	alert := core.Alert{Kind: "connection", Key: "slack:" + a.cfg.Account + ":missed"}
	switch {
	case found && before == 1:
		alert.Text = "Slack does not tell of all direct messages: check the event subscriptions of the app (message.im)"
	case !found && before > 1:
		alert.Text, alert.Over = "Slack tells of all direct messages again", true
	default:
		return
	}
	a.cfg.Alert(alert)
}
