package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"understudy/core/llm"
	"understudy/core/llm/llmtest"
)

// line is a message that a reciting provider understands: its number, and how
// it is to be answered.
var line = regexp.MustCompile(`line (\S+) please((?:, [a-z ]+)*)`)

// The ways to ask for an answer.
const (
	slowly   = ", slowly"
	atLength = ", at length"
	leadAway = ", the lead is away"
	ringIt   = ", ring"
	aloud    = ", aloud"
)

// leadAwayFor is how long the lead wants to be left alone, once it was away.
const leadAwayFor = 2 * time.Second

// longer is what long answers go on with; the parts of an answer behind the
// first consist of nothing else.
const longer = "And so on and on. "

// stage is what the reciting providers and their bell have in common.
type stage struct {
	latch *latch
	bell  string // address of the order /ring

	mu    sync.Mutex
	away  []away
	back  time.Time // until when the lead spoke, at least
	rings map[string]int
}

// away is one time that the lead was away.
type away struct {
	Number string    `json:"number"`
	Until  time.Time `json:"until"`
	Known  bool      `json:"known"` // the second was asked in its place
}

// recite is what a provider called so answers.
func (s *stage) recite(who string) func(context.Context, llmtest.Asked) llmtest.Response {
	return func(ctx context.Context, asked llmtest.Asked) llmtest.Response {
		if wantsSummary(asked) {
			return llmtest.Text("They counted lines, and were heard.")
		}
		number, how, rang := heard(asked)
		s.latch.pass(ctx, atAsked, who+" "+number)
		if who == "second" {
			s.stands(number)
			s.latch.pass(ctx, atSecond, number)
		}
		if strings.Contains(how, leadAway) && who == "lead" {
			s.note(number)
			return llmtest.Failure(http.StatusTooManyRequests, "rate_limit_error", "slow down").
				With("Retry-After", fmt.Sprint(int(leadAwayFor.Seconds())))
		}
		if strings.Contains(how, ringIt) && !rang {
			var steps []llmtest.Step
			if strings.Contains(how, aloud) {
				steps = append(steps, llmtest.Say("One moment."), llmtest.Pause(1300*time.Millisecond))
			}
			s.speaks(who, steps)
			return llmtest.Stream(append(steps, llmtest.Use(s.ring(number, asked.Tools)))...)
		}
		steps := []llmtest.Step{llmtest.Say(fmt.Sprintf("heard %s (%s).", number, who))}
		if strings.Contains(how, slowly) {
			for range 4 {
				steps = append(steps, llmtest.Pause(450*time.Millisecond), llmtest.Say(" "+strings.TrimSpace(longer)))
			}
		}
		if strings.Contains(how, atLength) {
			steps = append(steps, llmtest.Pause(300*time.Millisecond), llmtest.Say(" "+strings.Repeat(longer, 150)))
		}
		if gate, armed := s.latch.gate(number); armed {
			steps = append(steps, llmtest.Gate(gate))
		}
		s.speaks(who, steps)
		return llmtest.Stream(steps...)
	}
}

// wantsSummary reports whether the program asks for a summary of what was said,
// which holds many lines and is an answer to none of them.
func wantsSummary(asked llmtest.Asked) bool {
	return len(asked.Messages) == 1 && strings.HasSuffix(asked.Messages[0].Text(), "Now write the summary.")
}

// heard reads the newest line of a request, and whether a tool has run since.
func heard(asked llmtest.Asked) (number, how string, rang bool) {
	for _, m := range slices.Backward(asked.Messages) {
		if all := line.FindAllStringSubmatch(m.Text(), -1); m.Role == llm.User && all != nil {
			last := all[len(all)-1]
			return last[1], last[2], rang
		}
		rang = rang || slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Result != nil })
	}
	return "nothing", "", rang
}

// ring is the call of the bell where there is one, and else of what every bot
// has.
func (s *stage) ring(number string, tools []llm.Tool) llm.Call {
	if !slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == "ring" }) {
		return llm.Call{ID: "call-" + number, Name: "session_status", Args: json.RawMessage(`{}`)}
	}
	args, _ := json.Marshal(map[string]string{"url": s.bell + "?number=" + url.QueryEscape(number)})
	return llm.Call{ID: "call-" + number, Name: "ring", Args: args}
}

func (s *stage) note(number string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = append(s.away, away{Number: number, Until: time.Now().Add(leadAwayFor)})
}

// stands notes that the second was asked what the lead may have refused.
func (s *stage) stands(number string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.away {
		s.away[i].Known = s.away[i].Known || s.away[i].Number == number
	}
}

// speaks notes that a provider is about to answer. Who holds it at a gate does so
// for a moment only.
func (s *stage) speaks(who string, steps []llmtest.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if who == "second" {
		return
	}
	until := time.Now().Add(100 * time.Millisecond)
	for _, step := range steps {
		if until = until.Add(step.For); step.Do == "gate" {
			until = until.Add(time.Second)
		}
	}
	if until.After(s.back) {
		s.back = until
	}
}

// rung counts a ring of the bell.
func (s *stage) rung(rw http.ResponseWriter, r *http.Request) {
	number := r.URL.Query().Get("number")
	s.mu.Lock()
	s.rings[number]++
	s.mu.Unlock()
	s.latch.pass(r.Context(), atRing, number)
	answer(rw)("ding", nil)
}

// played is what a reciting stage has seen.
type played struct {
	Rings map[string]int `json:"rings"` // by number
	Away  []away         `json:"away"`
	Back  time.Time      `json:"back"` // until when the lead spoke, at least
}

func (s *stage) played() played {
	s.mu.Lock()
	defer s.mu.Unlock()
	rings := map[string]int{}
	for number, n := range s.rings {
		rings[number] = n
	}
	return played{rings, slices.Clone(s.away), s.back}
}
