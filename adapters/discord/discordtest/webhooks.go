package discordtest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// byToken finds the interaction of a webhook route.
func (s *Server) byToken(c *call) (*interaction, *apiError) {
	i := s.interactions[strings.TrimPrefix(c.PathValue("token"), "itok-")]
	switch {
	case i == nil, i.callback == 0, c.PathValue("application") != ApplicationID:
		return nil, refused(http.StatusNotFound, 10015, "Unknown Webhook")
	case !i.spent.IsZero(), time.Since(i.born) > tokenLife:
		return nil, refused(http.StatusUnauthorized, 50027, "Invalid Webhook Token")
	}
	return i, s.reachable(i)
}

// followUp makes a message after the response. While the response is still
// deferred the message takes its place instead, and its flags do not count.
func (s *Server) followUp(c *call) (int, any) {
	i, e := s.byToken(c)
	if e != nil {
		return fail(e)
	}
	out, e := c.message()
	if e != nil {
		return fail(e)
	}
	if out.empty() {
		return fail(errEmpty)
	}
	if i.waits() {
		return s.settle(i, out)
	}
	if e := s.check(out); e != nil {
		return fail(e)
	}
	m := i.message(out)
	s.show(m)
	i.followUps = append(i.followUps, m)
	return http.StatusOK, s.messageJSON(m)
}

// waits reports whether the response still says that the bot is thinking.
func (i *interaction) waits() bool {
	return i.original != nil && i.original.Flags&loading != 0 && !i.deleted
}

// settle edits the response.
func (s *Server) settle(i *interaction, out outgoingMessage) (int, any) {
	if e := s.edit(i.original, out); e != nil {
		return fail(e)
	}
	i.original.Flags &^= loading
	i.edits++
	return http.StatusOK, s.messageJSON(i.original)
}

// answering finds the message that a webhook route names.
func (s *Server) answering(c *call) (*interaction, *Message, *apiError) {
	i, e := s.byToken(c)
	if e != nil {
		return nil, nil, e
	}
	id := c.PathValue("message")
	if (id == "@original" || i.original != nil && id == i.original.ID) && i.original != nil && !i.deleted {
		return i, i.original, nil
	}
	for _, m := range i.followUps {
		if m.ID == id {
			return i, m, nil
		}
	}
	return nil, nil, errUnknownMessage
}

func (s *Server) getAnswer(c *call) (int, any) {
	_, m, e := s.answering(c)
	if e != nil {
		return fail(e)
	}
	return http.StatusOK, s.messageJSON(m)
}

func (s *Server) patchAnswer(c *call) (int, any) {
	i, m, e := s.answering(c)
	if e != nil {
		return fail(e)
	}
	out, e := c.message()
	if e != nil {
		return fail(e)
	}
	if m == i.original {
		return s.settle(i, out)
	}
	if e := s.edit(m, out); e != nil {
		return fail(e)
	}
	return http.StatusOK, s.messageJSON(m)
}

func (s *Server) deleteAnswer(c *call) (int, any) {
	i, m, e := s.answering(c)
	if e != nil {
		return fail(e)
	}
	if m == i.original {
		i.deleted = true
	} else {
		i.followUps = slices.DeleteFunc(i.followUps, func(f *Message) bool { return f == m })
	}
	if s.find(m.Channel, m.ID) != nil {
		s.remove(m.Channel, []string{m.ID})
	}
	return http.StatusNoContent, nil
}
