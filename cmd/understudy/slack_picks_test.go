package main

import (
	"encoding/json"
	"strings"

	"understudy/adapters/slack/slacktest"
	"understudy/core/llm"
)

// pickList is the last menu of a response: its action, and the values of the
// options by their labels.
func (s *street) pickList(r slacktest.Response) (action string, values map[string]string) {
	s.Helper()
	var blocks []struct {
		Elements []struct {
			Type   string
			Action string `json:"action_id"`

			Options []struct {
				Text  struct{ Text string }
				Value string
			}
		}
	}
	if err := json.Unmarshal(r.Blocks, &blocks); err != nil {
		s.Fatal(err)
	}
	values = map[string]string{}
	for _, b := range blocks {
		for _, e := range b.Elements {
			if e.Type == "static_select" {
				action = e.Action
				for _, o := range e.Options {
					values[o.Text.Text] = o.Value
				}
			}
		}
	}
	return action, values
}

// labelled is the value of the option whose label holds a word.
func labelled(values map[string]string, word string) string {
	for label, value := range values {
		if strings.Contains(label, word) {
			return value
		}
	}
	return ""
}

// answered is the n-th response to a command or a pick, from 1.
func (s *street) answered(p slackTown, n int) slacktest.Response {
	s.Helper()
	s.until(p, "a response", func() bool { return len(p.Responses()) >= n })
	return p.Responses()[n-1]
}

func aPickIsOfTheListItStoodIn(s *street, p slackTown) {
	s.run(`"replyTo": "off",`)
	p.Slash(slacktest.Channel, slacktest.User, "/model", "")
	providers, values := s.pickList(s.answered(p, 1))
	p.Pick(slacktest.Channel, "", slacktest.User, providers, labelled(values, "second"))
	old, models := s.pickList(s.answered(p, 2))
	p.Pick(slacktest.Channel, "", slacktest.User, providers, labelled(values, "lead"))
	newer, _ := s.pickList(s.answered(p, 3))
	if old == newer || labelled(models, "double") == "" {
		s.Fatalf("the lists are %q and %q: %v", old, newer, models)
	}
	// What stood in the old list is meant, or nothing at all.
	p.Pick(slacktest.Channel, "", slacktest.User, newer, "99")
	if r := s.answered(p, 4); !strings.Contains(r.Text, "The list has changed") {
		s.Errorf("a value that the list does not have: %+v", r)
	}
	if got := s.chosen(""); got != (llm.Ref{}) {
		s.Errorf("it chose %v", got)
	}
	p.Pick(slacktest.Channel, "", slacktest.User, old, labelled(models, "double"))
	for n := 5; ; n++ {
		r := s.answered(p, n)
		action, profiles := s.pickList(r)
		if action == "" {
			break
		}
		p.Pick(slacktest.Channel, "", slacktest.User, action, labelled(profiles, "any"))
	}
	if got := s.chosen(""); got != (llm.Ref{Provider: "second", Model: "double"}) {
		s.Errorf("the old list chose %v", got)
	}
}

func aListOfAnEarlierProcess(s *street, p slackTown) {
	s.run(`"replyTo": "off",`)
	p.Slash(slacktest.Channel, slacktest.User, "/model", "")
	action, values := s.pickList(s.answered(p, 1))
	s.stop()
	s.again()
	p.Pick(slacktest.Channel, "", slacktest.User, action, labelled(values, "second"))
	if r := s.answered(p, 2); !strings.Contains(r.Text, "out of date") || !r.Ephemeral {
		s.Errorf("the old list is answered with %+v", r)
	}
	if got := s.chosen(""); got != (llm.Ref{}) {
		s.Errorf("it chose %v", got)
	}
}
