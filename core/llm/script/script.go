// Package script is a model provider without a network: it answers, streams
// and fails exactly as it is told to. The command "understudy chat" runs on it
// when there is no key, so that everybody can watch a failover; scenarios and
// tests run on it because it is exact.
//
// A [Script] holds what every model will say and may stand for any number of
// providers; [New] gives the client of one provider with one profile. For each
// request the script chooses the answer in this order:
//
//  1. a refusal, when the request itself is one that no vendor accepts: a
//     tool call without its result, a message without content;
//  2. a failure ordered through [Script.Fail], for the model before one for
//     its provider;
//  3. the profile's own queue for that model, then the model's general queue;
//  4. the script's Default.
//
// Clients keep the promises of package llm, the time limits of a real wire
// among them: a first byte, the gap between two bytes and the whole attempt
// each have their limit. Failures take the shape in which the provider's
// vendor sends them and are classified by [llm.Classify], as on a real wire.
//
// A Script and its clients are safe for concurrent use. Answers depend on the
// order of requests and on nothing else: no randomness, no clock of their own.
// A Script keeps no record of past requests, so it may run for months;
// [Log] does for those who ask for one.
package script

import (
	"fmt"
	"sync"
	"time"

	"understudy/core/llm"
)

// Script decides what the models say. The zero value answers "ok" to
// everything, in real time. The exported fields are set before the first
// request and not changed afterwards.
type Script struct {
	// Now and After are the script's clock; nil means that of package time.
	// Drivers of sped-up time give both from one source.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time

	// Timeouts are the limits of one request, with the defaults of a real
	// wire. Connect has no meaning here.
	Timeouts llm.Timeouts

	// Pace, when set, cuts text into words and waits this long between them,
	// so that a person sees it arrive.
	Pace time.Duration

	// Default answers requests for which nothing was queued; nil answers with
	// the text "ok". [Echo] is one for people. It is called without a lock.
	Default func(llm.Ref, llm.Request) Answer

	// OnRequest sees every request in the order in which they took their
	// answers, one at a time. It must not call the script.
	OnRequest func(Record)

	mu       sync.Mutex
	requests int // also makes the ids of tool calls
	queues   map[queueKey]*Queue[Answer]
	faults   []*pendingFault
}

// Record is one request that reached the script.
type Record struct {
	At      time.Time
	Ref     llm.Ref
	Profile string
	Request llm.Request
}

// Log keeps records. Its Add is meant for [Script.OnRequest].
type Log struct {
	mu      sync.Mutex
	records []Record
}

// Add appends a record.
func (l *Log) Add(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
}

// Requests are the records so far, oldest first.
func (l *Log) Requests() []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Record(nil), l.records...)
}

// queueKey names a queue; the general one of a model has no profile.
type queueKey struct {
	ref     llm.Ref
	profile string
}

// Push queues an answer for a model: for one profile, or for all when profile
// is empty. See [Queue] for how long an answer lasts.
func (s *Script) Push(ref llm.Ref, profile string, a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := queueKey{ref, profile}
	if s.queues == nil {
		s.queues = make(map[queueKey]*Queue[Answer])
	}
	if s.queues[k] == nil {
		s.queues[k] = new(Queue[Answer])
	}
	s.queues[k].Push(a)
}

// take records a request and chooses its answer. n is the request's number,
// counted from 1.
func (s *Script) take(r Record) (a Answer, n int) {
	s.mu.Lock()
	s.requests++
	n = s.requests
	if s.OnRequest != nil {
		s.OnRequest(r)
	}
	a, ok := s.planned(r)
	s.mu.Unlock()
	switch {
	case ok:
		return a, n
	case s.Default != nil:
		return s.Default(r.Ref, r.Request), n
	}
	return Text("ok"), n
}

// planned is the answer that somebody asked for, if any. s.mu is held.
func (s *Script) planned(r Record) (Answer, bool) {
	if a, bad := refuse(r.Request); bad {
		return a, true
	}
	if a, ok := s.fault(r.Ref); ok {
		return a, true
	}
	if a, ok := s.queues[queueKey{r.Ref, r.Profile}].Next(); ok {
		return a, true
	}
	return s.queues[queueKey{r.Ref, ""}].Next()
}

// refuse answers requests that every vendor rejects, so that a caller's
// mistake fails here as it would there.
func refuse(r llm.Request) (Answer, bool) {
	if len(r.Messages) == 0 {
		return badRequest("messages: at least one message is required"), true
	}
	var open []string // calls whose results have not come yet
	for i, m := range r.Messages {
		if len(m.Parts) == 0 {
			return badRequest(fmt.Sprintf("messages.%d: content must not be empty", i)), true
		}
		if m.Role != llm.ToolRole && len(open) > 0 {
			return badRequest(fmt.Sprintf("messages.%d: tool call %s has no result", i, open[0])), true
		}
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				open = append(open, p.Call.ID)
			case p.Result != nil:
				j := indexOf(open, p.Result.ID)
				if j < 0 {
					return badRequest(fmt.Sprintf("messages.%d: result of unknown tool call %q", i, p.Result.ID)), true
				}
				open = append(open[:j], open[j+1:]...)
			}
		}
	}
	if len(open) > 0 {
		return badRequest(fmt.Sprintf("tool call %s has no result", open[0])), true
	}
	return Answer{}, false
}

func badRequest(message string) Answer {
	return Answer{source: "400", steps: []step{{kind: stepStatus, status: 400, text: message}}}
}

func indexOf(ids []string, id string) int {
	for i, v := range ids {
		if v == id {
			return i
		}
	}
	return -1
}

func (s *Script) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

func (s *Script) after(d time.Duration) <-chan time.Time {
	if s.After != nil {
		return s.After(d)
	}
	return time.After(d)
}
