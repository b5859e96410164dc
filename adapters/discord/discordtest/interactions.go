package discordtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// The types of interactions.
const (
	CommandInteraction   = 2
	ComponentInteraction = 3
	CompleteInteraction  = 4
	ModalInteraction     = 5
)

// The types of first responses.
const (
	respondMessage     = 4
	respondLater       = 5
	respondLaterUpdate = 6
	respondUpdate      = 7
	respondChoices     = 8
	respondModal       = 9
)

const (
	ephemeral = 1 << 6
	loading   = 1 << 7 // the message that says that the bot is thinking

	respondWithin = 3 * time.Second
	tokenLife     = 15 * time.Minute
)

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

// Choice is one value offered while typing.
type Choice struct{ Name, Value string }

type interaction struct {
	Interaction
	born, spent time.Time // when it came; when its token ran out, if a test said so
	callback    int
	choices     []Choice
	deleted     bool
	edits       int
	// original is the message of the first response, or for a component the
	// one that holds it.
	original  *Message
	followUps []*Message
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
	switch {
	case c.Guild != "":
		member := s.memberJSON(i.User)
		member["user"], member["permissions"] = s.userJSON(i.User), "0"
		o["guild_id"], o["member"], o["channel"] = c.Guild, member, s.channelJSON(c)
	case c.Type == GroupMessage:
		o["user"], o["context"], o["channel"] = s.userJSON(i.User), 2, s.channelJSON(c)
	default:
		o["user"], o["context"] = s.userJSON(i.User), 1
	}
	n := &interaction{Interaction: i, born: time.Now()}
	if i.Message != "" {
		n.original = s.holding(i)
		o["message"] = s.messageJSON(n.original)
	}
	for k, v := range i.Raw {
		o[k] = v
	}
	s.interactions[i.ID] = n
	s.dispatch("INTERACTION_CREATE", 0, o)
	return i.ID
}

// holding is the message that holds a component: one of a channel, or one that
// only its user sees.
func (s *Server) holding(i Interaction) *Message {
	if m := s.find(i.Channel, i.Message); m != nil {
		return m
	}
	for _, other := range s.interactions {
		for _, m := range append(other.followUps, other.original) {
			if m != nil && m.ID == i.Message {
				return m
			}
		}
	}
	return &Message{ID: i.Message, Channel: i.Channel, Author: BotID, Flags: ephemeral, At: time.Now()}
}

func (s *Server) interactionData(i Interaction) object {
	switch i.Type {
	case ComponentInteraction:
		if i.Values == nil {
			return object{"custom_id": i.CustomID, "component_type": buttonType}
		}
		return object{"custom_id": i.CustomID, "component_type": selectType, "values": i.Values}
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
	a := Answer{Callback: i.callback, Choices: i.choices, Deleted: i.deleted, Edits: i.edits}
	if m := i.original; m != nil && i.callback != 0 {
		a.Ephemeral, a.Content, a.Components = m.Flags&ephemeral != 0, m.Content, m.Components
	}
	for _, m := range i.followUps {
		a.FollowUps = append(a.FollowUps, FollowUp{m.Content, m.Flags&ephemeral != 0})
	}
	return a
}

// Unanswered are the interactions that got no response at all.
func (s *Server) Unanswered() []Interaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Interaction
	for _, i := range s.interactions {
		if i.callback == 0 {
			all = append(all, i.Interaction)
		}
	}
	return all
}

// Spend lets the token of an interaction run out.
func (s *Server) Spend(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interactions[id].spent = time.Now()
}

// firstResponse is the body of a callback.
type firstResponse struct {
	Type int
	Data json.RawMessage
}

func (s *Server) callback(c *call) (int, any) {
	i := s.interactions[c.PathValue("interaction")]
	if i == nil || c.PathValue("token") != "itok-"+i.ID || !i.spent.IsZero() || i.callback == 0 && time.Since(i.born) > s.patience {
		return fail(refused(http.StatusNotFound, 10062, "Unknown interaction"))
	}
	if e := s.reachable(i); e != nil {
		return fail(e)
	}
	if i.callback != 0 {
		return fail(refused(http.StatusBadRequest, 40060, "Interaction has already been acknowledged."))
	}
	var d firstResponse
	if e := c.decode(&d); e != nil {
		return fail(e)
	}
	allowed := map[int][]int{
		CommandInteraction:   {respondMessage, respondLater, respondModal},
		ComponentInteraction: {respondMessage, respondLater, respondLaterUpdate, respondUpdate, respondModal},
		CompleteInteraction:  {respondChoices},
		ModalInteraction:     {respondMessage, respondLater, respondLaterUpdate, respondUpdate},
	}
	if !slices.Contains(allowed[i.Type], d.Type) {
		return fail(invalid("type", "BASE_TYPE_CHOICES", "Not a response to this type of interaction."))
	}
	if e := s.begins(i, d, c.files); e != nil {
		return fail(e)
	}
	i.callback = d.Type
	if c.URL.Query().Get("with_response") != "true" {
		return http.StatusNoContent, nil
	}
	resource := object{"type": d.Type}
	head := object{"id": i.ID, "type": i.Type, "response_message_loading": d.Type == respondLater}
	if i.original != nil && d.Type != respondChoices && d.Type != respondModal {
		resource["message"] = s.messageJSON(i.original)
		head["response_message_id"] = i.original.ID
	}
	return http.StatusOK, object{"interaction": head, "resource": resource}
}

// begins carries a first response out.
func (s *Server) begins(i *interaction, d firstResponse, files []upload) *apiError {
	switch d.Type {
	case respondLaterUpdate:
		return nil
	case respondChoices:
		return i.offer(d.Data)
	case respondModal:
		return checkModal(d.Data)
	}
	var out outgoingMessage
	if len(d.Data) > 0 {
		if err := json.Unmarshal(d.Data, &out); err != nil {
			return refused(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
		}
	}
	out.files = files
	if d.Type == respondUpdate {
		return s.edit(i.original, out)
	}
	if d.Type == respondMessage && out.empty() {
		return errEmpty
	}
	if e := s.check(out); e != nil {
		return e
	}
	m := i.message(out)
	if d.Type == respondLater {
		m.Flags |= loading
	}
	i.original = m
	s.show(m)
	return nil
}

// message is a new message that answers an interaction.
func (i *interaction) message(out outgoingMessage) *Message {
	m := &Message{Channel: i.Channel, Author: BotID, Flags: out.Flags, At: time.Now()}
	if i.Type == CommandInteraction {
		m.Type = 20
	}
	m.Extra = object{"webhook_id": ApplicationID, "application_id": ApplicationID,
		"interaction_metadata": object{"id": i.ID, "type": i.Type, "user": object{"id": i.User}, "authorizing_integration_owners": object{}}}
	m.apply(out)
	return m
}

// show puts a message into its channel, unless only its user sees it.
func (s *Server) show(m *Message) {
	m.ID = s.newID()
	if m.Flags&ephemeral != 0 {
		s.store(m)
		return
	}
	s.add(m)
}

func (i *interaction) offer(raw json.RawMessage) *apiError {
	var d struct{ Choices []Choice }
	if err := json.Unmarshal(raw, &d); err != nil {
		return invalid("data.choices", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
	}
	if len(d.Choices) > 25 {
		return invalid("data.choices", "BASE_TYPE_BAD_LENGTH", "Must be 25 or fewer in length.")
	}
	for n, choice := range d.Choices {
		if !between(choice.Name, 1, 100) || !between(choice.Value, 1, 100) {
			return invalid(fmt.Sprintf("data.choices.%d.name", n), "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
		}
	}
	i.choices = d.Choices
	return nil
}

func checkModal(raw json.RawMessage) *apiError {
	var d struct {
		CustomID   string `json:"custom_id"`
		Title      string
		Components []json.RawMessage
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return refused(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
	}
	switch {
	case !between(d.CustomID, 1, 100):
		return invalid("data.custom_id", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
	case !between(d.Title, 1, 45):
		return invalid("data.title", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 45 in length.")
	case len(d.Components) < 1 || len(d.Components) > 5:
		return invalid("data.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
	}
	return nil
}

// reachable reports why nothing can be answered in the place of an interaction.
func (s *Server) reachable(i *interaction) *apiError {
	switch c := s.channels[i.Channel]; {
	case c == nil:
		return errUnknownChannel
	case c.NoAccess && c.thread(): // in a channel no access is needed
		return errNoAccess
	case c.Locked:
		return errArchived
	}
	return nil
}
