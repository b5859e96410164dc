package discordtest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
)

// application are the switches of the bot's application.
type application struct {
	off int // privileged intents that are switched off
}

// Switch turns a privileged intent of the application on or off. All are on
// when a server starts.
func (s *Server) Switch(intent int, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.application.off |= intent
	if on {
		s.application.off &^= intent
	}
}

// flags are those of an application that is in few guilds.
func (a application) flags() int {
	flags := 0
	for intent, flag := range map[int]int{IntentPresences: 1 << 13, IntentMembers: 1 << 15, IntentMessageContent: 1 << 19} {
		if a.off&intent == 0 {
			flags |= flag
		}
	}
	return flags
}

func (s *Server) getApplication(*call) (int, any) {
	return http.StatusOK, object{"id": ApplicationID, "name": "understudy", "description": "", "icon": nil,
		"bot_public": true, "bot_require_code_grant": false, "flags": s.application.flags(), "bot": s.userJSON(BotID)}
}

const (
	maxCommands = 100 // of a scope
	maxCreates  = 200 // of a scope and a day
)

// commands are those of one guild, or those for all. The lock is held.
func (s *Server) listCommands(c *call) (int, any) {
	all := []json.RawMessage{}
	return http.StatusOK, append(all, s.commands[c.PathValue("guild")]...)
}

// putCommands replaces all commands of a scope. One whose name was there keeps
// its id and counts as no creation.
func (s *Server) putCommands(c *call) (int, any) {
	var all []object
	if e := c.decode(&all); e != nil {
		return fail(e)
	}
	guild := c.PathValue("guild")
	before := map[any]any{}
	for _, raw := range s.commands[guild] {
		var o object
		_ = json.Unmarshal(raw, &o)
		before[o["name"]] = o["id"]
	}
	if len(all) > maxCommands {
		return fail(refused(http.StatusBadRequest, 30032, "Maximum number of application commands reached (100)."))
	}
	created := 0
	var list []json.RawMessage
	for _, o := range all {
		if e := checkCommand(o); e != nil {
			return fail(e)
		}
		id := before[o["name"]]
		if id == nil {
			id = s.newID()
			created++
		}
		list = append(list, s.commandJSON(o, id, guild))
	}
	if s.creates[guild]+created > maxCreates {
		return fail(refused(http.StatusBadRequest, 30034, "Max number of daily application command creates has been reached (200)"))
	}
	s.creates[guild] += created
	s.commands[guild] = list
	return s.listCommands(c)
}

func (s *Server) postCommand(c *call) (int, any) {
	var o object
	if e := c.decode(&o); e != nil {
		return fail(e)
	}
	guild := c.PathValue("guild")
	if e := checkCommand(o); e != nil {
		return fail(e)
	}
	switch {
	case len(s.commands[guild]) >= maxCommands:
		return fail(refused(http.StatusBadRequest, 30032, "Maximum number of application commands reached (100)."))
	case s.creates[guild] >= maxCreates:
		return fail(refused(http.StatusBadRequest, 30034, "Max number of daily application command creates has been reached (200)"))
	}
	s.creates[guild]++
	raw := s.commandJSON(o, s.newID(), guild)
	s.commands[guild] = append(s.commands[guild], raw)
	return http.StatusCreated, raw
}

func (s *Server) deleteCommand(c *call) (int, any) {
	guild, id := c.PathValue("guild"), c.PathValue("command")
	before := len(s.commands[guild])
	s.commands[guild] = slices.DeleteFunc(s.commands[guild], func(raw json.RawMessage) bool {
		var o struct{ ID string }
		_ = json.Unmarshal(raw, &o)
		return o.ID == id
	})
	if len(s.commands[guild]) == before {
		return fail(refused(http.StatusNotFound, 10063, "Unknown application command"))
	}
	return http.StatusNoContent, nil
}

var commandName = regexp.MustCompile(`^[-_\p{L}\p{N}]{1,32}$`)

// checkCommand holds a command to the platform's limits.
func checkCommand(o object) *apiError {
	name, _ := o["name"].(string)
	description, _ := o["description"].(string)
	kind, _ := o["type"].(float64)
	options, _ := o["options"].([]any)
	switch {
	case kind > 1:
		return nil // those of menus have no description
	case !commandName.MatchString(name):
		return invalid("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
	case !between(description, 1, 100):
		return invalid("description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
	case len(options) > 25:
		return invalid("options", "BASE_TYPE_BAD_LENGTH", "Must be 25 or fewer in length.")
	}
	for _, option := range options {
		o, _ := option.(map[string]any)
		name, _ := o["name"].(string)
		description, _ := o["description"].(string)
		if !commandName.MatchString(name) || !between(description, 1, 100) {
			return invalid("options", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
		}
	}
	return nil
}

// commandJSON is a command as Discord tells it: with everything that the bot
// left out.
func (s *Server) commandJSON(o object, id any, guild string) json.RawMessage {
	full := object{"type": 1, "default_member_permissions": nil, "nsfw": false, "name_localizations": nil,
		"description_localizations": nil}
	if guild == "" {
		full["contexts"], full["integration_types"] = []int{0, 1, 2}, []int{0}
	} else {
		full["guild_id"] = guild
	}
	maps.Copy(full, o)
	full["id"], full["application_id"], full["version"] = id, ApplicationID, s.newID()
	raw, _ := json.Marshal(full)
	return raw
}

// Commands are the commands registered for all guilds as Discord tells them.
func (s *Server) Commands() []json.RawMessage { return s.GuildCommands("") }

// GuildCommands are the commands registered for one guild.
func (s *Server) GuildCommands(guild string) []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands[guild])
}

// LeaveCommands registers commands in a guild, or for all, as an older bot may
// have done.
func (s *Server) LeaveCommands(guild string, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		o := object{"name": name, "description": cmp.Or(name, "x")}
		s.commands[guild] = append(s.commands[guild], s.commandJSON(o, s.newID(), guild))
	}
}

// Creates is how many commands the bot has created in all scopes.
func (s *Server) Creates() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := 0
	for _, n := range s.creates {
		all += n
	}
	return all
}

// AddGuild lets the bot be in one more guild, with one text channel.
func (s *Server) AddGuild(id, channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guilds = append(s.guilds, id)
	s.channels[channel] = &Channel{ID: channel, Guild: id, Name: "general"}
	o := s.guildJSON(id)
	for _, n := range s.sessions {
		if n.tells(id) && n.intents&intentGuilds != 0 {
			n.dispatch("GUILD_CREATE", o)
		}
	}
}
