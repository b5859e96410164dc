package discordtest

import (
	"slices"
	"strings"
	"time"
)

// Saying changes a message before it is sent.
type Saying func(*Message)

// Replying makes the message a reply to another one of the same channel. Its
// author is pinged, which puts him among the mentions.
func Replying(id string) Saying {
	return func(m *Message) { m.Type, m.Reference = 19, id }
}

// WithID gives the message an id instead of a new one.
func WithID(id string) Saying { return func(m *Message) { m.ID = id } }

// OfType makes it a system message or the like.
func OfType(t int) Saying { return func(m *Message) { m.Type = t } }

// FromWebhook makes the author a webhook; such messages mention nobody.
func FromWebhook(id string) Saying { return func(m *Message) { m.Webhook = id } }

// With adds a field to the message's JSON, such as components or attachments.
func With(key string, value any) Saying {
	return func(m *Message) {
		if m.Extra == nil {
			m.Extra = map[string]any{}
		}
		m.Extra[key] = value
	}
}

// Say sends a message of a user and returns its id. <@id> in the text is a
// mention.
func (s *Server) Say(channel, user, text string, how ...Saying) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &Message{Channel: channel, Author: user, Content: text}
	for _, h := range how {
		h(m)
	}
	m.Everyone = strings.Contains(text, "@everyone") || strings.Contains(text, "@here")
	if m.Webhook == "" {
		m.Mentions = s.mentioned(text)
		if r := s.find(channel, m.Reference); r != nil && !slices.Contains(m.Mentions, r.Author) {
			m.Mentions = append(m.Mentions, r.Author)
		}
	}
	s.add(m)
	return m.ID
}

// Again dispatches a message that exists a second time, as a resumed connection
// may do.
func (s *Server) Again(channel, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatchMessage("MESSAGE_CREATE", s.find(channel, id))
}

// Edit changes the text of somebody's message.
func (s *Server) Edit(channel, id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(channel, id)
	m.Content, m.Edited, m.Mentions = text, time.Now(), s.mentioned(text)
	s.dispatchMessage("MESSAGE_UPDATE", m)
	s.happened()
}

// Touch dispatches an update of a message whose text did not change, as
// happens when a link preview arrives.
func (s *Server) Touch(channel, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatchMessage("MESSAGE_UPDATE", s.find(channel, id))
}

// Remove deletes messages; more than one at once is a bulk deletion.
func (s *Server) Remove(channel string, ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(channel, ids)
}

// remove is Remove with the lock held.
func (s *Server) remove(channel string, ids []string) {
	s.messages[channel] = slices.DeleteFunc(s.messages[channel], func(m *Message) bool {
		return slices.Contains(ids, m.ID)
	})
	c := s.channels[channel]
	o := object{"channel_id": channel}
	if c.Guild != "" {
		o["guild_id"] = c.Guild
	}
	event := "MESSAGE_DELETE"
	if len(ids) == 1 {
		o["id"] = ids[0]
	} else {
		event, o["ids"] = "MESSAGE_DELETE_BULK", ids
	}
	s.dispatch(event, messageIntent(c), o)
	s.happened()
}

// Dispatch sends any event to the bot.
func (s *Server) Dispatch(event string, data any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch(event, 0, data)
}
