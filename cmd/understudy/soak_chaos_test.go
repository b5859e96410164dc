package main

import (
	"math/rand/v2"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
)

const (
	// faultEvery is the time between two requests that go wrong.
	faultEvery = time.Second
	// breakEvery is the time between two connections that end, at most. The
	// platforms take turns; a connection that lives for less than a minute
	// counts as one that failed, and the next attempt waits longer.
	breakEvery = 35 * time.Second
)

// chaos lets things go wrong until then, in an order that is the same each
// time.
func (s *soak) chaos(over time.Time) {
	s.Helper()
	luck := rand.New(rand.NewPCG(1, 2))
	faults := shuffled(luck, append(s.discordFaults(), s.slackFaults()...))
	discord, slack := shuffled(luck, s.discordBreaks()), shuffled(luck, s.slackBreaks())
	pause := min(breakEvery, time.Until(over)/5)
	due := time.Now().Add(pause)
	for range time.Tick(faultEvery) {
		if !time.Now().Add(pause).Before(over) {
			return
		}
		s.wrongs++
		if time.Now().Before(due) {
			faults()()
			continue
		}
		discord()()
		discord, slack = slack, discord
		due = time.Now().Add(pause)
	}
}

// shuffled deals all of them in some order, then all in another, and so on.
func shuffled(luck *rand.Rand, all []func()) func() func() {
	var order []int
	return func() func() {
		if len(order) == 0 {
			order = luck.Perm(len(all))
		}
		next := all[order[0]]
		order = order[1:]
		return next
	}
}

func (s *soak) discordBreaks() []func() {
	d := s.towns[0].(discordTown)
	return []func(){
		d.DropAll,
		d.AskReconnect,
		func() { d.CloseAll(4000) },
		func() { d.Invalidate(true) },
		func() { d.Invalidate(false) }, // what is said meanwhile is read later
		func() { // events come twice
			d.ReplayMore(5)
			d.DropAll()
		},
	}
}

func (s *soak) discordFaults() []func() {
	d := s.towns[0].(discordTown)
	const posts, edits = "/channels/*/messages", "/channels/*/messages/*"
	fault := func(f discordtest.Fault) func() { return func() { d.Inject(f) } }
	return []func(){
		fault(discordtest.Fault{Method: "POST", Path: posts, Status: 429, RetryAfter: time.Second}),
		fault(discordtest.Fault{Method: "PATCH", Path: edits, Status: 429, RetryAfter: time.Second}),
		fault(discordtest.Fault{Method: "POST", Path: posts, Status: 503, Performed: true}),
		fault(discordtest.Fault{Method: "POST", Path: posts, Status: 502}),
		func() { d.Hold("POST", posts).Drop() }, // made, but nobody says so
	}
}

func (s *soak) slackBreaks() []func() {
	l := s.towns[1].(slackTown)
	return []func(){
		func() { s.silence(l.Drop) },
		func() { s.silence(func() { l.Disconnect("refresh_requested") }) },
		func() { l.Disconnect("warning") },
	}
}

func (s *soak) slackFaults() []func() {
	l := s.towns[1].(slackTown)
	fault := func(method string, f slacktest.Fault) func() { return func() { l.Fail(method, f) } }
	return []func(){
		func() { l.Redeliver() },
		fault("chat.postMessage", slacktest.Fault{RetryAfter: 1}),
		fault("chat.postMessage", slacktest.Fault{Status: 503}),
		fault("chat.postMessage", slacktest.Fault{Drop: true, Perform: true}),
		fault("chat.update", slacktest.Fault{RetryAfter: 1}),
		fault("chat.startStream", slacktest.Fault{RetryAfter: 1}),
		fault("chat.appendStream", slacktest.Fault{RetryAfter: 1}),
		fault("chat.stopStream", slacktest.Fault{Drop: true, Perform: true}),
	}
}

// silence breaks Slack's connection while nobody speaks: what is said to no
// connection is lost there, and is not told again.
func (s *soak) silence(breakIt func()) {
	s.Helper()
	l := s.towns[1].(slackTown)
	s.streets[1].Lock()
	defer s.streets[1].Unlock()
	opened := l.Opened()
	breakIt()
	s.until(l, "a new connection to Slack", func() bool { return l.Opened() > opened && l.Connected() > 0 })
}
