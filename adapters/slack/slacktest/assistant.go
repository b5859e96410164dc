package slacktest

import (
	"encoding/json"
	"time"
)

// maxPrompts is how many prompts an assistant thread suggests.
const maxPrompts = 4

type statusKey struct{ channel, root string }

type status struct {
	text string
	at   time.Time
}

// assistantThread is the thread that a call of assistant.threads is about.
func (s *Server) assistantThread(a args) (statusKey, reply) {
	p := s.places[a["channel_id"]]
	switch {
	case p == nil:
		return statusKey{}, failed("channel_not_found")
	case a["thread_ts"] == "" || p.find(a["thread_ts"]) == nil:
		return statusKey{}, failed("thread_not_found")
	}
	return statusKey{p.id, a["thread_ts"]}, nil
}

// setStatus is assistant.threads.setStatus: an empty status clears it.
func (s *Server) setStatus(a args) reply {
	key, bad := s.assistantThread(a)
	switch {
	case bad != nil:
		return bad
	case a["status"] == "":
		delete(s.statuses, key)
	default:
		s.statuses[key] = status{a["status"], s.now()}
	}
	return reply{}
}

// Status is what a thread shows as the bot's status now.
func (s *Server) Status(channel, root string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.statuses[statusKey{channel, root}]
	if s.now().Sub(st.at) > statusLife {
		return ""
	}
	return st.text
}

// setTitle is assistant.threads.setTitle.
func (s *Server) setTitle(a args) reply {
	_, bad := s.assistantThread(a)
	switch {
	case bad != nil:
		return bad
	case a["title"] == "":
		return failed("invalid_arguments")
	}
	return reply{}
}

// setPrompts is assistant.threads.setSuggestedPrompts.
func (s *Server) setPrompts(a args) reply {
	if _, bad := s.assistantThread(a); bad != nil {
		return bad
	}
	var prompts []struct{ Title, Message string }
	if json.Unmarshal([]byte(a["prompts"]), &prompts) != nil || len(prompts) == 0 || len(prompts) > maxPrompts {
		return failed("invalid_arguments")
	}
	for _, p := range prompts {
		if p.Title == "" || p.Message == "" {
			return failed("invalid_arguments")
		}
	}
	return reply{}
}
