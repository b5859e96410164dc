package discordtest

import (
	"net/http"
	"slices"
)

// newThread is the body of a request for a thread.
type newThread struct {
	Name     string
	Type     int
	Duration int `json:"auto_archive_duration"`
	Message  *outgoingMessage
	Tags     []string `json:"applied_tags"`
}

// readThread reads the body and finds what the platform refuses in every thread.
func (s *Server) readThread(c *call) (newThread, *apiError) {
	var d newThread
	if e := c.decode(&d); e != nil {
		return d, e
	}
	switch {
	case !between(d.Name, 1, 100):
		return d, invalid("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
	case d.Duration != 0 && !slices.Contains([]int{60, 1440, 4320, 10080}, d.Duration):
		return d, invalid("auto_archive_duration", "BASE_TYPE_CHOICES", "Value must be one of (60, 1440, 4320, 10080).")
	}
	return d, nil
}

// openThread makes a thread out of a message. It has the id of the message.
func (s *Server) openThread(c *call) (int, any) {
	ch, m, e := s.message(c)
	if e != nil {
		return fail(e)
	}
	switch {
	case ch.Type != TextChannel && ch.Type != Announcements:
		return fail(refused(http.StatusBadRequest, 50024, "Cannot execute action on this channel type"))
	case ch.NoThreads:
		return fail(errNoPermission)
	case s.channels[m.ID] != nil:
		return fail(errHasThread)
	}
	d, e := s.readThread(c)
	if e != nil {
		return fail(e)
	}
	t := &Channel{ID: m.ID, Guild: ch.Guild, Parent: ch.ID, Name: d.Name, Type: PublicThread}
	if ch.Type == Announcements {
		t.Type = NewsThread
	}
	s.openUp(t)
	stub := &Message{Channel: t.ID, Author: m.Author, Type: 21}
	stub.Extra = object{"referenced_message": s.messageJSON(m),
		"message_reference": object{"type": 0, "message_id": m.ID, "channel_id": ch.ID, "guild_id": ch.Guild}}
	s.add(stub)
	return http.StatusCreated, s.channelJSON(t)
}

// startThread makes a thread without a message, or the post of a forum, which
// has one of its own with the id of the thread.
func (s *Server) startThread(c *call) (int, any) {
	ch, e := s.place(c)
	if e != nil {
		return fail(e)
	}
	d, e := s.readThread(c)
	post := ch.Type == Forum || ch.Type == Media
	switch {
	case e != nil:
		return fail(e)
	case !post && ch.Type != TextChannel && ch.Type != Announcements:
		return fail(refused(http.StatusBadRequest, 50024, "Cannot execute action on this channel type"))
	case ch.NoThreads:
		return fail(errNoPermission)
	case post && d.Message == nil:
		return fail(invalid("message", "BASE_TYPE_REQUIRED", "This field is required"))
	case post && ch.NeedsTag && len(d.Tags) == 0:
		return fail(refused(http.StatusBadRequest, 40067, "A tag is required to create a forum post in this channel"))
	}
	t := &Channel{ID: s.newID(), Guild: ch.Guild, Parent: ch.ID, Name: d.Name, Type: d.Type}
	if post || !t.thread() {
		t.Type = PublicThread
	}
	if !post {
		s.openUp(t)
		return http.StatusCreated, s.channelJSON(t)
	}
	d.Message.files = c.files
	if d.Message.empty() {
		return fail(errEmpty)
	}
	if e := s.check(*d.Message); e != nil {
		return fail(e)
	}
	s.openUp(t)
	first := &Message{ID: t.ID, Channel: t.ID, Author: BotID}
	first.apply(*d.Message)
	s.add(first)
	o := s.channelJSON(t)
	o["message"] = s.messageJSON(first)
	return http.StatusCreated, o
}

// openUp makes a thread known. The lock is held.
func (s *Server) openUp(t *Channel) {
	s.channels[t.ID] = t
	o := s.channelJSON(t)
	o["newly_created"] = true
	s.dispatch("THREAD_CREATE", intentGuilds, o)
}

// activeThreads are the threads of a guild that are not archived.
func (s *Server) activeThreads(c *call) (int, any) {
	threads := []object{}
	for _, t := range s.channels {
		if t.thread() && t.Guild == c.PathValue("guild") && !t.Archived && !t.NoAccess {
			threads = append(threads, s.channelJSON(t))
		}
	}
	return http.StatusOK, object{"threads": threads, "members": []object{}}
}

// joinThread adds the bot to a thread, or takes it out.
func (s *Server) joinThread(c *call) (int, any) {
	ch, e := s.place(c)
	switch {
	case e != nil:
		return fail(e)
	case !ch.thread():
		return fail(refused(http.StatusBadRequest, 50024, "Cannot execute action on this channel type"))
	case ch.Archived:
		return fail(errArchived)
	}
	return http.StatusNoContent, nil
}

// PostInForum makes a user begin a post, and returns its id, which is that of
// its first message, too.
func (s *Server) PostInForum(forum, user, title, text string, how ...Saying) string {
	s.mu.Lock()
	t := &Channel{ID: s.newID(), Guild: s.channels[forum].Guild, Parent: forum, Name: title, Type: PublicThread}
	s.openUp(t)
	s.mu.Unlock()
	return s.Say(t.ID, user, text, append(how, WithID(t.ID))...)
}

// RemoveThread deletes a thread.
func (s *Server) RemoveThread(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeThread(s.channels[id])
}

// removeThread is RemoveThread with the lock held.
func (s *Server) removeThread(t *Channel) {
	delete(s.channels, t.ID)
	delete(s.messages, t.ID)
	s.dispatch("THREAD_DELETE", intentGuilds, object{"id": t.ID, "guild_id": t.Guild, "parent_id": t.Parent, "type": t.Type})
	s.happened()
}
