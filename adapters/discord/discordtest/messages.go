package discordtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// nonceMinutes is how long a nonce is enforced.
const nonceMinutes = 3

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
	if ch.Locked || change.Locked != nil {
		return fail(errNoPermission) // it would have to manage threads
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
	if around := c.URL.Query().Get("around"); around != "" {
		all = near(all, around, limit)
	}
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

// near are the messages around one of them.
func near(all []*Message, id string, limit int) []*Message {
	i := slices.IndexFunc(all, func(m *Message) bool { return !older(m.ID, id) })
	if i < 0 {
		i = len(all)
	}
	return all[max(0, i-limit/2):min(len(all), i+limit/2+1)]
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
	out, e := c.message()
	if e != nil {
		return fail(e)
	}
	if e := s.mayPost(ch, out); e != nil {
		return fail(e)
	}
	nonce := out.nonce()
	if known := s.nonces[nonce]; nonce != "" && out.EnforceNonce && known != nil && time.Since(known.At) < nonceMinutes*time.Minute {
		return http.StatusOK, s.messageJSON(known)
	}
	m := &Message{Channel: ch.ID, Author: BotID, Nonce: nonce, Flags: out.Flags &^ ephemeral}
	if e := s.refer(m, out); e != nil {
		return fail(e)
	}
	m.apply(out)
	s.add(m)
	if nonce != "" {
		s.nonces[nonce] = m
	}
	return http.StatusOK, s.messageJSON(m)
}

// apply puts what a body says into a message.
func (m *Message) apply(out outgoingMessage) {
	if out.Content != nil {
		m.Content = out.text()
	}
	if out.Components != nil {
		m.Components, m.components = rows(*out.Components), out.raw.Components
	}
	if out.Embeds != nil {
		m.embeds = out.raw.Embeds
	}
	if out.Attachments != nil {
		// Files that are not named any more go.
		m.Files = slices.DeleteFunc(slices.Clone(m.Files), func(f File) bool {
			return !slices.ContainsFunc(*out.Attachments, func(a attachment) bool { return fmt.Sprint(a.ID) == f.ID })
		})
	}
	m.Files = append(m.Files, out.uploads()...)
}

// blank reports whether a message shows nothing.
func (m *Message) blank() bool {
	none := func(raw json.RawMessage) bool { return raw == nil || string(raw) == "[]" }
	return m.Content == "" && len(m.Files) == 0 && none(m.embeds) && none(m.components)
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

func (s *Server) mayPost(ch *Channel, out outgoingMessage) *apiError {
	switch {
	case ch.Type == Category || ch.Type == Forum || ch.Type == Media:
		return refused(http.StatusBadRequest, 50008, "Cannot send messages in a non-text channel")
	case ch.Locked:
		return errLocked
	case ch.NoPosts, len(out.files) > 0 && ch.NoFiles:
		return errNoPermission
	case ch.Type == DirectMessage && s.users[ch.Recipient] != nil && s.users[ch.Recipient].NoDirect:
		return refused(http.StatusForbidden, 50007, "Cannot send messages to this user")
	case out.empty():
		return errEmpty
	}
	if e := s.tooLarge(ch.Guild, out.files); e != nil {
		return e
	}
	return s.check(out)
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
	out, e := c.message()
	switch {
	case e != nil:
		return fail(e)
	case m.Author != BotID:
		return fail(errNotAuthor)
	case ch.Archived:
		return fail(errArchived)
	}
	if e := s.edit(m, out); e != nil {
		return fail(e)
	}
	return http.StatusOK, s.messageJSON(m)
}

// edit changes a message of the bot, if the platform takes the change.
func (s *Server) edit(m *Message, out outgoingMessage) *apiError {
	if e := s.check(out); e != nil {
		return e
	}
	if e := s.tooLarge(s.channels[m.Channel].Guild, out.files); e != nil {
		return e
	}
	changed := *m
	changed.apply(out)
	if changed.blank() {
		return errEmpty
	}
	changed.Edited = time.Now()
	*m = changed
	s.store(m)
	if s.find(m.Channel, m.ID) == m {
		s.dispatchMessage("MESSAGE_UPDATE", m)
	}
	return nil
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

// react adds a reaction of the bot, or takes it away.
func (s *Server) react(c *call) (int, any) {
	ch, m, e := s.message(c)
	switch {
	case e != nil:
		return fail(e)
	case ch.Archived:
		return fail(errArchived)
	}
	emoji, event := c.PathValue("emoji"), "MESSAGE_REACTION_ADD"
	if c.Method == http.MethodDelete {
		event = "MESSAGE_REACTION_REMOVE"
		m.Reactions = slices.DeleteFunc(slices.Clone(m.Reactions), func(r string) bool { return r == emoji })
	} else if !slices.Contains(m.Reactions, emoji) {
		m.Reactions = append(m.Reactions, emoji)
	}
	o := object{"user_id": BotID, "channel_id": ch.ID, "message_id": m.ID, "type": 0, "burst": false,
		"emoji": object{"id": nil, "name": emoji}}
	intent := intentDirectReactions
	if ch.Guild != "" {
		o["guild_id"], intent = ch.Guild, intentGuildReactions
	}
	s.dispatch(event, intent, o)
	return http.StatusNoContent, nil
}

// openDirect is the channel of direct messages with a user.
func (s *Server) openDirect(c *call) (int, any) {
	var d struct {
		Recipient string `json:"recipient_id"`
	}
	if e := c.decode(&d); e != nil {
		return fail(e)
	}
	if s.users[d.Recipient] == nil {
		return fail(refused(http.StatusBadRequest, 50033, "Invalid Recipient(s)"))
	}
	return http.StatusOK, s.channelJSON(s.direct(d.Recipient))
}
