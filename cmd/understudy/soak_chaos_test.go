package main

import (
	"math/rand/v2"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
)

// soakEvery is the time between two things that go wrong.
const soakEvery = time.Second

// chaos lets things go wrong until then, in an order that is the same each
// time.
func (s *soak) chaos(over time.Time) {
	s.Helper()
	wrongs := append(s.discordWrongs(), s.slackWrongs()...)
	luck := rand.New(rand.NewPCG(1, 2))
	var order []int
	for tick := time.Tick(soakEvery); time.Now().Add(2 * soakEvery).Before(over); <-tick {
		if len(order) == 0 {
			order = luck.Perm(len(wrongs))
		}
		wrongs[order[0]]()
		order = order[1:]
		s.breaks++
	}
}

func (s *soak) discordWrongs() []func() {
	d := s.towns[0].(discordTown)
	const posts, edits = "/channels/*/messages", "/channels/*/messages/*"
	fault := func(f discordtest.Fault) func() { return func() { d.Inject(f) } }
	return []func(){
		d.DropAll,
		d.AskReconnect,
		func() { d.CloseAll(4000) },
		func() { d.Invalidate(true) },
		func() { // a session that is gone: what is said meanwhile is read later
			d.Invalidate(false)
		},
		func() { // events come twice
			d.ReplayMore(5)
			d.DropAll()
		},
		fault(discordtest.Fault{Method: "POST", Path: posts, Status: 429, RetryAfter: time.Second}),
		fault(discordtest.Fault{Method: "PATCH", Path: edits, Status: 429, RetryAfter: time.Second}),
		fault(discordtest.Fault{Method: "POST", Path: posts, Status: 503, Performed: true}),
		fault(discordtest.Fault{Method: "POST", Path: posts, Status: 502}),
		func() { d.Hold("POST", posts).Drop() }, // made, but nobody says so
	}
}

func (s *soak) slackWrongs() []func() {
	l := s.towns[1].(slackTown)
	fault := func(method string, f slacktest.Fault) func() { return func() { l.Fail(method, f) } }
	wrongs := []func(){
		func() { s.silence(l.Drop) },
		func() { s.silence(func() { l.Disconnect("refresh_requested") }) },
		func() { l.Disconnect("warning") },
		func() { l.Redeliver() },
		fault("chat.postMessage", slacktest.Fault{RetryAfter: 1}),
		fault("chat.postMessage", slacktest.Fault{Status: 503}),
		fault("chat.postMessage", slacktest.Fault{Drop: true, Perform: true}),
		fault("chat.update", slacktest.Fault{RetryAfter: 1}),
	}
	return wrongs
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
