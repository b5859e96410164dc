package discordtest

import (
	"net/http"
	"slices"
)

// lookups are the routes that a bot seldom needs and clients offer all the
// same.
func (s *Server) lookups(on func(string, handler)) {
	on("GET /users/{user}", s.getUser)
	on("GET /users/@me/guilds", s.listGuilds)
	on("GET /guilds/{guild}", s.getGuild)
	on("GET /guilds/{guild}/channels", s.listChannels)
	on("GET /channels/{channel}/threads/archived/public", s.archivedThreads)
	on("DELETE /channels/{channel}", s.deleteChannel)
	on("POST /channels/{channel}/messages/bulk-delete", s.bulkDelete)
	on("GET /channels/{channel}/messages/{message}/reactions/{emoji}", s.listReactions)
}

var errUnknownGuild = refused(http.StatusNotFound, 10004, "Unknown Guild")

func (s *Server) getUser(c *call) (int, any) {
	if s.users[c.PathValue("user")] == nil {
		return fail(refused(http.StatusNotFound, 10013, "Unknown User"))
	}
	return http.StatusOK, s.userJSON(c.PathValue("user"))
}

func (s *Server) listGuilds(*call) (int, any) {
	list := []object{}
	for _, id := range s.guilds {
		list = append(list, object{"id": id, "name": "guild " + id, "icon": nil, "owner": false, "permissions": "0", "features": []string{}})
	}
	return http.StatusOK, list
}

func (s *Server) getGuild(c *call) (int, any) {
	if !slices.Contains(s.guilds, c.PathValue("guild")) {
		return fail(errUnknownGuild)
	}
	o := s.guildJSON(c.PathValue("guild"))
	for _, live := range []string{"channels", "threads", "members", "presences", "voice_states", "stage_instances",
		"guild_scheduled_events", "soundboard_sounds", "joined_at", "large", "unavailable", "member_count"} {
		delete(o, live) // only the gateway tells
	}
	return http.StatusOK, o
}

func (s *Server) listChannels(c *call) (int, any) {
	if !slices.Contains(s.guilds, c.PathValue("guild")) {
		return fail(errUnknownGuild)
	}
	return http.StatusOK, s.guildJSON(c.PathValue("guild"))["channels"]
}

func (s *Server) archivedThreads(c *call) (int, any) {
	ch, e := s.place(c)
	if e != nil {
		return fail(e)
	}
	threads := []object{}
	for _, t := range s.channels {
		if t.Parent == ch.ID && t.thread() && t.Archived && t.Type != PrivateThread {
			threads = append(threads, s.channelJSON(t))
		}
	}
	return http.StatusOK, object{"threads": threads, "members": []object{}, "has_more": false}
}

// deleteChannel deletes a thread of the bot's; for anything else it would have
// to manage channels.
func (s *Server) deleteChannel(c *call) (int, any) {
	ch, e := s.place(c)
	switch {
	case e != nil:
		return fail(e)
	case !ch.thread() || ch.Locked:
		return fail(errNoPermission)
	}
	s.removeThread(ch)
	return http.StatusOK, s.channelJSON(ch)
}

func (s *Server) bulkDelete(c *call) (int, any) {
	ch, e := s.place(c)
	if e != nil {
		return fail(e)
	}
	var d struct{ Messages []string }
	if e := c.decode(&d); e != nil {
		return fail(e)
	}
	if n := len(d.Messages); n < 2 || n > 100 {
		return fail(refused(http.StatusBadRequest, 50016, "Provided too few or too many messages to delete. Must provide at least 2 and fewer than 100 messages to delete"))
	}
	if slices.ContainsFunc(d.Messages, func(id string) bool { m := s.find(ch.ID, id); return m != nil && m.Author != BotID }) {
		return fail(errNoPermission)
	}
	s.remove(ch.ID, d.Messages)
	return http.StatusNoContent, nil
}

func (s *Server) listReactions(c *call) (int, any) {
	_, m, e := s.message(c)
	if e != nil {
		return fail(e)
	}
	list := []object{}
	if slices.Contains(m.Reactions, c.PathValue("emoji")) {
		list = append(list, s.userJSON(BotID))
	}
	return http.StatusOK, list
}
