package discordtest

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// The types of interactions.
const (
	CommandInteraction   = 2
	ComponentInteraction = 3
	CompleteInteraction  = 4
	ModalInteraction     = 5
)

const ephemeral = 64

// Interaction is something a user did with the bot's own interface.
type Interaction struct {
	Type          int // command if zero
	ID            string
	Channel, User string
	Command       string            // name of the command
	Options       map[string]string // its options
	CustomID      string            // of a component or modal
	Values        []string          // picked in a menu
	Message       string            // the message that holds the component
	Raw           map[string]any    // fields put over the payload
}

// Answer is what the bot answered to an interaction so far.
type Answer struct {
	Callback  int  // type of the first response; zero if there is none
	Ephemeral bool // only the user sees it
	// Content and Components are those of the original response as it stands.
	Content    string
	Components []Row
	Choices    []Choice
	Deleted    bool
	FollowUps  []FollowUp
	Edits      int // how often the original was edited
}

// FollowUp is a message after the original response.
type FollowUp struct {
	Content   string
	Ephemeral bool
}

// Row is an action row of components.
type Row struct{ Components []Component }

// Component is a menu or button.
type Component = component

type component struct {
	Type        int
	CustomID    string `json:"custom_id"`
	Placeholder string
	Options     []Option
	Components  []component
}

// Option is one entry of a select menu.
type Option struct{ Label, Value, Description string }

// Choice is one value offered while typing.
type Choice struct{ Name, Value string }

type interaction struct {
	Interaction
	answer Answer
}

// Interact makes a user do something and returns the interaction's id.
func (s *Server) Interact(i Interaction) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i.Type == 0 {
		i.Type = CommandInteraction
	}
	if i.ID == "" {
		i.ID = s.newID()
	}
	c := s.channels[i.Channel]
	o := object{"id": i.ID, "type": i.Type, "token": "itok-" + i.ID, "application_id": ApplicationID,
		"channel_id": i.Channel, "version": 1, "locale": "en-US", "app_permissions": "0", "entitlements": []any{},
		"authorizing_integration_owners": object{}, "context": 0, "attachment_size_limit": 10 << 20,
		"data": s.interactionData(i)}
	if c.Guild != "" {
		member := s.memberJSON(i.User)
		member["user"], member["permissions"] = s.userJSON(i.User), "0"
		o["guild_id"], o["member"], o["channel"] = c.Guild, member, s.channelJSON(c)
	} else {
		o["user"], o["context"] = s.userJSON(i.User), 1
	}
	if i.Message != "" {
		o["message"] = s.messageJSON(&Message{ID: i.Message, Channel: i.Channel, Author: BotID, Flags: ephemeral})
	}
	for k, v := range i.Raw {
		o[k] = v
	}
	s.interactions[i.ID] = &interaction{Interaction: i}
	s.dispatch("INTERACTION_CREATE", 0, o)
	return i.ID
}

func (s *Server) interactionData(i Interaction) object {
	switch i.Type {
	case ComponentInteraction:
		return object{"custom_id": i.CustomID, "component_type": 3, "values": i.Values}
	case ModalInteraction:
		return object{"custom_id": i.CustomID, "components": []object{}}
	}
	options := []object{}
	for name, value := range i.Options {
		option := object{"name": name, "type": 3, "value": value}
		if i.Type == CompleteInteraction {
			option["focused"] = true
		}
		options = append(options, option)
	}
	return object{"id": "1", "name": i.Command, "type": 1, "options": options}
}

// Answer is what the bot answered to an interaction until now.
func (s *Server) Answer(id string) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.interactions[id]
	if i == nil {
		return Answer{}
	}
	a := i.answer
	a.FollowUps = slices.Clone(a.FollowUps)
	return a
}

func (s *Server) callback(c *call) (int, any) {
	i := s.interactions[c.PathValue("interaction")]
	if i == nil || c.PathValue("token") != "itok-"+i.ID {
		return fail(refused(http.StatusNotFound, 10062, "Unknown interaction"))
	}
	if ch := s.channels[i.Channel]; ch.Locked {
		return fail(errArchived)
	}
	if i.answer.Callback != 0 {
		return fail(refused(http.StatusBadRequest, 40060, "Interaction has already been acknowledged."))
	}
	var d struct {
		Type int
		Data struct {
			outgoingMessage
			Choices []Choice
		}
	}
	if e := c.decode(&d); e != nil {
		return fail(e)
	}
	if e := d.Data.check(); e != nil {
		return fail(e)
	}
	allowed := map[int][]int{CommandInteraction: {4, 5, 9}, ComponentInteraction: {4, 5, 6, 7, 9},
		CompleteInteraction: {8}, ModalInteraction: {4, 5, 6, 7}}
	switch {
	case !slices.Contains(allowed[i.Type], d.Type):
		return fail(invalid("type", "BASE_TYPE_CHOICES", "Not a response to this type of interaction."))
	case d.Type == 4 && d.Data.text() == "" && len(d.Data.Components) == 0:
		return fail(errEmpty)
	case len(d.Data.Choices) > 25:
		return fail(invalid("choices", "BASE_TYPE_BAD_LENGTH", "Must be 25 or fewer in length."))
	}
	for _, choice := range d.Data.Choices {
		if !between(choice.Name, 1, 100) || !between(choice.Value, 1, 100) {
			return fail(invalid("choices", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length."))
		}
	}
	i.answer = Answer{Callback: d.Type, Ephemeral: d.Data.Flags&ephemeral != 0,
		Content: d.Data.text(), Components: rows(d.Data.Components), Choices: d.Data.Choices}
	return http.StatusNoContent, nil
}

// byToken finds the interaction of a webhook route.
func (s *Server) byToken(c *call) (*interaction, *apiError) {
	id := strings.TrimPrefix(c.PathValue("token"), "itok-")
	i := s.interactions[id]
	if i == nil || i.answer.Callback == 0 {
		return nil, refused(http.StatusNotFound, 10015, "Unknown Webhook")
	}
	if s.channels[i.Channel].Locked {
		return nil, errArchived
	}
	return i, nil
}

// followUp makes a message after the response. While the response is still
// deferred the message takes its place instead, and its flags do not count.
func (s *Server) followUp(c *call) (int, any) {
	i, e := s.byToken(c)
	if e != nil {
		return fail(e)
	}
	var out outgoingMessage
	if e := c.decode(&out); e != nil {
		return fail(e)
	}
	if e := out.check(); e != nil {
		return fail(e)
	}
	if i.answer.Callback == 5 && i.answer.Edits == 0 {
		i.answer.Content, i.answer.Components = out.text(), rows(out.Components)
		i.answer.Edits++
		return http.StatusOK, s.original(i)
	}
	f := FollowUp{Content: out.text(), Ephemeral: out.Flags&ephemeral != 0}
	i.answer.FollowUps = append(i.answer.FollowUps, f)
	m := &Message{ID: s.newID(), Channel: i.Channel, Author: BotID, Content: f.Content, Flags: out.Flags}
	if !f.Ephemeral {
		s.add(m)
	}
	return http.StatusOK, s.messageJSON(m)
}

func (s *Server) original(i *interaction) object {
	return s.messageJSON(&Message{ID: "1" + i.ID[1:], Channel: i.Channel, Author: BotID, Content: i.answer.Content})
}

func (s *Server) getOriginal(c *call) (int, any) {
	i, e := s.byToken(c)
	if e != nil {
		return fail(e)
	}
	return http.StatusOK, s.original(i)
}

func (s *Server) patchOriginal(c *call) (int, any) {
	i, e := s.byToken(c)
	if e != nil {
		return fail(e)
	}
	var out outgoingMessage
	if e := c.decode(&out); e != nil {
		return fail(e)
	}
	if e := out.check(); e != nil {
		return fail(e)
	}
	if out.Content != nil {
		i.answer.Content = *out.Content
	}
	if out.Components != nil {
		i.answer.Components = rows(out.Components)
	}
	if i.answer.Content == "" && len(i.answer.Components) == 0 {
		return fail(errEmpty)
	}
	i.answer.Edits++
	return http.StatusOK, s.original(i)
}

func (s *Server) deleteOriginal(c *call) (int, any) {
	i, e := s.byToken(c)
	if e != nil {
		return fail(e)
	}
	i.answer.Deleted = true
	return http.StatusNoContent, nil
}

func rows(all []component) []Row {
	var out []Row
	for _, r := range all {
		out = append(out, Row{Components: r.Components})
	}
	return out
}

func between(s string, low, high int) bool {
	n := utf8.RuneCountInString(s)
	return n >= low && n <= high
}

// checkComponents holds action rows and select menus to the platform's limits.
func checkComponents(all []component) *apiError {
	if len(all) > 5 {
		return invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be 5 or fewer in length.")
	}
	seen := map[string]bool{}
	for _, row := range all {
		if row.Type != 1 || len(row.Components) == 0 {
			return invalid("components", "UNION_TYPE_CHOICES", "Must be an action row with components.")
		}
		for _, c := range row.Components {
			if !between(c.CustomID, 1, 100) || seen[c.CustomID] {
				return invalid("custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", "Must be unique and at most 100 in length.")
			}
			seen[c.CustomID] = true
			if c.Type == 3 {
				if e := checkMenu(c); e != nil {
					return e
				}
			}
		}
	}
	return nil
}

func checkMenu(c component) *apiError {
	if len(c.Options) < 1 || len(c.Options) > 25 {
		return invalid("options", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 25 in length.")
	}
	if !between(c.Placeholder, 0, 150) {
		return invalid("placeholder", "BASE_TYPE_MAX_LENGTH", "Must be 150 or fewer in length.")
	}
	values := map[string]bool{}
	for _, o := range c.Options {
		if !between(o.Label, 1, 100) || !between(o.Value, 1, 100) || !between(o.Description, 0, 100) {
			return invalid("options", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
		}
		if values[o.Value] {
			return invalid("options", "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", "The specified option value is already used.")
		}
		values[o.Value] = true
	}
	return nil
}
