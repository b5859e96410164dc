package main

import (
	"math"
	"time"
)

// mode is a way to choose the instant of a kill.
type mode struct {
	name   string
	weight int
	wait   func(*crashes) // from when the program is ready until the kill
}

// modes hold what is awaited, and the wait after it. The waits are spread over
// orders of magnitude: most of what can be caught in between is short.
var crashModes = []mode{
	{"start", 14, nil}, // not ready yet
	{"ready", 10, func(s *crashes) { s.pause(0.1, 400) }},
	{"message", 14, func(s *crashes) { s.speech(""); s.pause(0.1, 300) }},
	{"lost ack", 6, func(s *crashes) {
		s.fakes.order(s.T, "/slack/deaf", map[string]int{"acks": 1 + s.luck.IntN(3)}, nil)
		s.speech("slack")
		s.pause(0.2, 30)
	}},
	{"asked", 8, func(s *crashes) { s.hold("", "asked"); s.pause(0.01, 5) }},
	{"answered", 10, func(s *crashes) { s.ending(); s.pause(0.03, 12) }},
	{"tool", 8, func(s *crashes) { s.hold("", "ring"); s.pause(0.01, 5) }},
	{"post sent", 8, func(s *crashes) { s.hold("discord", "POST /channels/*/messages") }},
	{"edit sent", 6, func(s *crashes) { s.hold("discord", "PATCH /channels/*/messages/*") }},
	{"thread opened", 4, func(s *crashes) { s.hold("discord", "POST /channels/*/messages/*/threads") }},
	{"post sent", 6, func(s *crashes) { s.hold("slack", "chat.postMessage") }},
	{"edit sent", 2, func(s *crashes) { s.hold("slack", "chat.update") }},
	{"stream begun", 5, func(s *crashes) { s.hold("slack", "chat.startStream") }},
	{"stream goes on", 4, func(s *crashes) { s.hold("slack", "chat.appendStream") }},
	{"stream ended", 5, func(s *crashes) { s.hold("slack", "chat.stopStream") }},
	{"stopping", 6, func(s *crashes) { s.signal(); s.pause(0.1, 400) }},
	{"second signal", 3, func(s *crashes) { s.signal(); s.pause(0.1, 50); s.signal(); s.atOnce() }},
}

func (s *crashes) pick() mode {
	all := 0
	for _, m := range crashModes {
		all += m.weight
	}
	n := s.luck.IntN(all)
	for _, m := range crashModes {
		if n -= m.weight; n < 0 {
			return m
		}
	}
	panic("the weights do not add up")
}

// pause waits for a time between two numbers of milliseconds, short ones as
// likely as long ones.
func (s *crashes) pause(least, most float64) {
	ms := math.Exp(math.Log(least) + s.luck.Float64()*math.Log(most/least))
	time.Sleep(time.Duration(ms * float64(time.Millisecond)))
}

// patienceOfModes is how long a mode waits for what it waits for; then the
// program is killed as it is.
const patienceOfModes = 800 * time.Millisecond

// speech waits until somebody speaks on a platform, or on any.
func (s *crashes) speech(platform string) {
	select {
	case <-s.spoke: // an old one
	default:
	}
	over := time.After(patienceOfModes)
	for {
		select {
		case on := <-s.spoke:
			if platform == "" || on == platform {
				return
			}
		case <-over:
			return
		}
	}
}

// hold waits until something is held by the fakes.
func (s *crashes) hold(platform, request string) (what string) {
	var got struct {
		Reached bool
		What    string
	}
	s.fakes.order(s.T, "/hold", map[string]any{"platform": platform, "request": request, "within": patienceOfModes.Milliseconds()}, &got)
	return got.What
}

// ending waits for the end of an answer, and lets it come.
func (s *crashes) ending() {
	if gate := s.hold("", "ending"); gate != "" {
		for _, provider := range []string{"/lead/open", "/second/open"} {
			s.fakes.order(s.T, provider, map[string]string{"gate": gate}, nil)
		}
	}
}

// atOnce wants the program to end now. Two signals that come close together are
// one to a process that sleeps, so there may be more of them.
func (s *crashes) atOnce() {
	s.Helper()
	for range 20 {
		select {
		case err := <-s.gone:
			s.gone <- err
			return
		case <-time.After(100 * time.Millisecond):
			s.signal()
		}
	}
	s.Error("the program goes on after a second signal")
}
