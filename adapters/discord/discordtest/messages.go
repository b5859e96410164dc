package discordtest

import (
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// The platform's own limits.
const (
	maxContent   = 2000 // characters of a message
	maxNonce     = 25
	maxName      = 100 // of a thread
	nonceMinutes = 3   // how long a nonce is enforced
)

// outgoingMessage is the body of a post, an edit or an interaction's answer.
type outgoingMessage struct {
	Content      *string
	Nonce        any
	EnforceNonce bool `json:"enforce_nonce"`
	Flags        int
	Components   []component
	Embeds       []any
	Reference    *struct {
		MessageID string `json:"message_id"`
		ChannelID string `json:"channel_id"`
		FailMiss  *bool  `json:"fail_if_not_exists"`
	} `json:"message_reference"`
}

func (m outgoingMessage) text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// check finds what the platform refuses in every kind of message.
func (m outgoingMessage) check() *apiError {
	if utf8.RuneCountInString(m.text()) > maxContent {
		return invalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
	}
	return checkComponents(m.Components)
}

// place finds a channel in which the bot wants to do something.
func (s *Server) place(c *call) (*Channel, *apiError) {
	ch := s.channels[c.PathValue("channel")]
	switch {
	case ch == nil:
		return nil, errUnknownChannel
	case ch.NoAccess:
		return nil, errNoAccess
	}
	return ch, nil
}

func (s *Server) getChannel(c *call) (int, any) {
	ch, e := s.place(c)
	if e != nil {
		return fail(e)
	}
	return http.StatusOK, s.channelJSON(ch)
}

func (s *Server) patchChannel(c *call) (int, any) {
	ch, e := s.place(c)
	if e != nil {
		return fail(e)
	}
	var change struct {
		Archived, Locked *bool
		Name             *string
	}
	if e := c.decode(&change); e != nil {
		return fail(e)
	}
	if ch.Locked {
		return fail(errNoPermission)
	}
	if ch.Archived && (change.Archived == nil || *change.Archived) {
		return fail(errArchived)
	}
	if change.Archived != nil {
		ch.Archived = *change.Archived
	}
	if change.Name != nil {
		ch.Name = *change.Name
	}
	s.announce(ch, true)
	return http.StatusOK, s.channelJSON(ch)
}

func (s *Server) listMessages(c *call) (int, any) {
	ch, e := s.place(c)
	if e != nil {
		return fail(e)
	}
	limit, all := c.number("limit", 50, 100), s.messages[ch.ID]
	after, before := c.URL.Query().Get("after"), c.URL.Query().Get("before")
	var some []*Message
	for _, m := range all {
		if (after == "" || older(after, m.ID)) && (before == "" || older(m.ID, before)) {
			some = append(some, m)
		}
	}
	if len(some) > limit {
		if after != "" {
			some = some[:limit]
		} else {
			some = some[len(some)-limit:]
		}
	}
	list := []object{}
	for _, m := range slices.Backward(some) {
		list = append(list, s.messageJSON(m))
	}
	return http.StatusOK, list
}

// older compares two ids, which are numbers.
func older(a, b string) bool {
	x, _ := strconv.ParseUint(a, 10, 64)
	y, _ := strconv.ParseUint(b, 10, 64)
	return x < y
}

func (s *Server) postMessage(c *call) (int, any) {
	ch, e := s.place(c)
	if e != nil {
		return fail(e)
	}
	var out outgoingMessage
	if e := c.decode(&out); e != nil {
		return fail(e)
	}
	nonce, _ := out.Nonce.(string)
	if e := s.mayPost(ch, out, nonce); e != nil {
		return fail(e)
	}
	if known := s.nonces[nonce]; nonce != "" && out.EnforceNonce && known != nil && time.Since(known.At) < nonceMinutes*time.Minute {
		return http.StatusOK, s.messageJSON(known)
	}
	m := &Message{Channel: ch.ID, Author: BotID, Content: out.text(), Nonce: nonce, Flags: out.Flags}
	if e := s.refer(m, out); e != nil {
		return fail(e)
	}
	s.add(m)
	if nonce != "" {
		s.nonces[nonce] = m
	}
	return http.StatusOK, s.messageJSON(m)
}

// ForgetNonces lets the minutes pass for which nonces are enforced and told.
func (s *Server) ForgetNonces() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.nonces)
	for _, list := range s.messages {
		for _, m := range list {
			m.Nonce = ""
		}
	}
}

func (s *Server) mayPost(ch *Channel, out outgoingMessage, nonce string) *apiError {
	switch {
	case ch.Type == Category || ch.Type == Forum:
		return refused(http.StatusBadRequest, 50008, "Cannot send messages in a non-text channel")
	case ch.Locked:
		return errLocked
	case ch.NoPosts:
		return errNoPermission
	case out.text() == "" && len(out.Embeds) == 0 && len(out.Components) == 0:
		return errEmpty
	case len(nonce) > maxNonce:
		return invalid("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length.")
	}
	return out.check()
}

// refer makes a message a reply. Only a message of the same channel can be
// replied to; one that is gone is passed over if the sender wants that.
func (s *Server) refer(m *Message, out outgoingMessage) *apiError {
	r := out.Reference
	if r == nil || r.MessageID == "" {
		return nil
	}
	unknown := invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
	elsewhere := s.locate(r.MessageID)
	switch {
	case r.ChannelID != "" && r.ChannelID != m.Channel, elsewhere != nil && elsewhere.Channel != m.Channel:
		return unknown
	case elsewhere == nil && (r.FailMiss == nil || *r.FailMiss):
		return unknown
	case elsewhere != nil:
		m.Type, m.Reference = 19, r.MessageID
	}
	return nil
}

// message finds a message that the bot names.
func (s *Server) message(c *call) (*Channel, *Message, *apiError) {
	ch, e := s.place(c)
	if e != nil {
		return nil, nil, e
	}
	m := s.find(ch.ID, c.PathValue("message"))
	if m == nil {
		return nil, nil, errUnknownMessage
	}
	return ch, m, nil
}

func (s *Server) getMessage(c *call) (int, any) {
	_, m, e := s.message(c)
	if e != nil {
		return fail(e)
	}
	return http.StatusOK, s.messageJSON(m)
}

func (s *Server) patchMessage(c *call) (int, any) {
	ch, m, e := s.message(c)
	if e != nil {
		return fail(e)
	}
	var out outgoingMessage
	if e := c.decode(&out); e != nil {
		return fail(e)
	}
	switch {
	case m.Author != BotID:
		return fail(errNotAuthor)
	case ch.Archived:
		return fail(errArchived)
	case out.Content != nil && *out.Content == "":
		return fail(errEmpty)
	}
	if e := out.check(); e != nil {
		return fail(e)
	}
	if out.Content != nil {
		m.Content, m.Edited = *out.Content, time.Now()
	}
	s.dispatchMessage("MESSAGE_UPDATE", m)
	return http.StatusOK, s.messageJSON(m)
}

func (s *Server) deleteMessage(c *call) (int, any) {
	ch, m, e := s.message(c)
	if e != nil {
		return fail(e)
	}
	if ch.Archived {
		return fail(errArchived)
	}
	s.remove(ch.ID, []string{m.ID})
	return http.StatusNoContent, nil
}

func (s *Server) typing(c *call) (int, any) {
	ch, e := s.place(c)
	switch {
	case e != nil:
		return fail(e)
	case ch.NoPosts:
		return fail(errNoPermission)
	}
	return http.StatusNoContent, nil
}

func (s *Server) openThread(c *call) (int, any) {
	ch, m, e := s.message(c)
	if e != nil {
		return fail(e)
	}
	var d struct {
		Name     string
		Duration int `json:"auto_archive_duration"`
	}
	if e := c.decode(&d); e != nil {
		return fail(e)
	}
	n := utf8.RuneCountInString(d.Name)
	switch {
	case ch.Type != TextChannel && ch.Type != Announcements:
		return fail(refused(http.StatusBadRequest, 50024, "Cannot execute action on this channel type"))
	case ch.NoThreads:
		return fail(errNoPermission)
	case s.channels[m.ID] != nil:
		return fail(errHasThread)
	case n < 1 || n > maxName:
		return fail(invalid("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length."))
	case d.Duration != 0 && !slices.Contains([]int{60, 1440, 4320, 10080}, d.Duration):
		return fail(invalid("auto_archive_duration", "BASE_TYPE_CHOICES", "Value must be one of (60, 1440, 4320, 10080)."))
	}
	t := &Channel{ID: m.ID, Guild: ch.Guild, Parent: ch.ID, Name: d.Name, Type: PublicThread}
	if ch.Type == Announcements {
		t.Type = NewsThread
	}
	s.channels[t.ID] = t
	s.announce(t, false)
	s.add(&Message{Channel: t.ID, Author: m.Author, Type: 21, ID: s.newID()})
	return http.StatusCreated, s.channelJSON(t)
}
