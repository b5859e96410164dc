package slacktest

import (
	"maps"
	"slices"
	"strings"
)

func (s *Server) usersInfo(a args) reply {
	p := s.users[a["user"]]
	if p == nil {
		return failed("user_not_found")
	}
	return reply{"user": map[string]any{
		"id": p.ID, "team_id": p.Team, "name": strings.ToLower(p.Name), "real_name": p.Name, "is_bot": p.Bot,
		"profile": map[string]any{"display_name": p.Name, "real_name": p.Name, "bot_id": p.BotID},
	}}
}

func (s *Server) botsInfo(a args) reply {
	for _, p := range s.users {
		if p.Bot && p.BotID == a["bot"] {
			return reply{"bot": map[string]any{"id": p.BotID, "name": p.Name, "user_id": p.ID, "app_id": "A-" + p.BotID}}
		}
	}
	return failed("bot_not_found")
}

func (s *Server) conversationInfo(a args) reply {
	p := s.places[a["channel"]]
	if p == nil {
		return failed("channel_not_found")
	}
	return reply{"channel": p.describe()}
}

// describe is a conversation as the methods show it.
func (p *place) describe() map[string]any {
	return map[string]any{
		"id": p.id, "name": p.name, "is_channel": p.kind == "channel", "is_group": p.kind == "group", "is_im": p.kind == "im",
		"is_mpim": p.kind == "mpim", "is_private": p.kind != "channel", "is_archived": p.archived, "is_member": !p.outside,
	}
}

// kinds are the names of kinds of conversations in the methods.
var kinds = map[string]string{"public_channel": "channel", "private_channel": "group", "im": "im", "mpim": "mpim"}

// conversationList is conversations.list; public channels unless it says which.
func (s *Server) conversationList(a args) reply {
	var wanted []string
	for kind := range strings.SplitSeq(either(a["types"], "public_channel"), ",") {
		wanted = append(wanted, kinds[strings.TrimSpace(kind)])
	}
	list := []any{}
	for _, id := range slices.Sorted(maps.Keys(s.places)) {
		if p := s.places[id]; slices.Contains(wanted, p.kind) {
			list = append(list, p.describe())
		}
	}
	return reply{"channels": list, "response_metadata": map[string]any{"next_cursor": ""}}
}

// conversationMembers is conversations.members: those who ever spoke, and the
// bot.
func (s *Server) conversationMembers(a args) reply {
	p := s.places[a["channel"]]
	if p == nil {
		return failed("channel_not_found")
	}
	members := []string{}
	if !p.outside {
		members = append(members, s.cfg.BotUser)
	}
	for _, m := range p.messages {
		if m.User != "" && !slices.Contains(members, m.User) {
			members = append(members, m.User)
		}
	}
	return reply{"members": members, "response_metadata": map[string]any{"next_cursor": ""}}
}

// conversationOpen is conversations.open with one person; a conversation that
// there was is opened again.
func (s *Server) conversationOpen(a args) reply {
	who := s.users[a["users"]]
	switch {
	case who == nil:
		return failed("user_not_found")
	case who.Bot:
		return failed("cannot_dm_bot")
	}
	id := "D0" + strings.TrimPrefix(who.ID, "U0")
	if who.ID == User {
		id = DM
	}
	if s.places[id] == nil {
		s.places[id] = &place{id: id, kind: "im", team: Team, byTS: map[string]*Message{}}
	}
	return reply{"channel": map[string]any{"id": id}}
}

type reactionKey struct{ channel, ts, name string }

// reaction finds what a reaction of the bot is about.
func (s *Server) reaction(a args) (reactionKey, reply) {
	p := s.places[a["channel"]]
	if p == nil {
		return reactionKey{}, failed("channel_not_found")
	}
	if m := p.find(a["timestamp"]); m == nil || m.Deleted {
		return reactionKey{}, failed("message_not_found")
	}
	if a["name"] == "" {
		return reactionKey{}, failed("invalid_name")
	}
	return reactionKey{p.id, a["timestamp"], a["name"]}, nil
}

// reactionsAdd is reactions.add.
func (s *Server) reactionsAdd(a args) reply {
	key, bad := s.reaction(a)
	switch {
	case bad != nil:
		return bad
	case s.reactions[key]:
		return failed("already_reacted")
	}
	s.reactions[key] = true
	return reply{}
}

// reactionsRemove is reactions.remove.
func (s *Server) reactionsRemove(a args) reply {
	key, bad := s.reaction(a)
	switch {
	case bad != nil:
		return bad
	case !s.reactions[key]:
		return failed("no_reaction")
	}
	delete(s.reactions, key)
	return reply{}
}
