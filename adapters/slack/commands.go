package slack

import (
	"context"
	"fmt"
	"strings"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

// Slack's limits for menus and response URLs (docs.slack.dev, Block Kit and
// handling interactions).
const (
	maxOptions     = 100
	maxOptionText  = 75
	maxPlaceholder = 150
	maxResponses   = 5
	maxButtons     = 25
	// pressAction begins the action id of a menu or button; its token follows,
	// then a space and what tells it from others in its message.
	pressAction = "press:"
	chooseText  = "Choose"
)

// reserved are the names that Slack keeps for commands of its own, and what
// ours are called instead. One such name makes it refuse the whole manifest.
var reserved = map[string]string{"status": "botstatus"}

// nativeName is what a command is called in Slack's own interface.
func nativeName(name string) string { return first(reserved[name], name) }

// commandName is the opposite of nativeName.
func commandName(native string) string {
	native = strings.ToLower(strings.TrimPrefix(native, "/"))
	for name, other := range reserved {
		if other == native {
			return name
		}
	}
	return native
}

// call is a slash command or an action, as much as the bot goes by.
type call struct {
	Type string `json:"type"` // of an interactive payload
	// A slash command is flat.
	Command     string `json:"command"`
	Text        string `json:"text"`
	UserID      string `json:"user_id"`
	TeamID      string `json:"team_id"`
	ChannelID   string `json:"channel_id"`
	ChannelName string `json:"channel_name"`
	// An action is not.
	User struct {
		ID   string `json:"id"`
		Team string `json:"team_id"`
	} `json:"user"`
	Team      struct{ ID string }       `json:"team"`
	Channel   struct{ ID, Name string } `json:"channel"`
	Container struct {
		ThreadTS stamp `json:"thread_ts"`
	} `json:"container"`
	Message struct {
		ThreadTS stamp `json:"thread_ts"`
	} `json:"message"`
	Actions []struct {
		ID       string                 `json:"action_id"`
		Value    string                 `json:"value"`
		Selected struct{ Value string } `json:"selected_option"`
	} `json:"actions"`
	// Both have these.
	TriggerID   string `json:"trigger_id"`
	ResponseURL string `json:"response_url"`
}

// interaction handles a slash command or a pick from a menu. It is acknowledged
// at once, without content; what there is to say goes to the response URL,
// which no broken socket can take away.
func (a *Adapter) interaction(ctx context.Context, e envelope, ack func()) {
	c, err := decode[call](e.Payload)
	ack()
	if err != nil {
		a.log.Warn("an interaction could not be read", "kind", e.Type, "error", err)
		return
	}
	inv, ok := a.invocation(e.Type, c)
	if !ok || !a.lets(ctx, inv.Author, inv.Target.Thread, c.ResponseURL) || !a.calls.add(inv.ID) {
		return
	}
	inv.Author.Name = a.nameFor(ctx, inv.Author)
	reply, err := a.carryOut(ctx, c, inv)
	if err != nil {
		a.log.Error("a command failed", "command", inv.Name, "error", err)
		reply = core.Reply{Text: "The command could not be carried out. Please try again."}
	}
	if err := a.respond(ctx, c.ResponseURL, reply, e.Type == "interactive"); err != nil {
		a.log.Error("the reply to a command could not be sent", "command", inv.Name, "error", clean(err))
	}
}

// carryOut runs a command or a press.
func (a *Adapter) carryOut(ctx context.Context, c call, inv core.Invocation) (core.Reply, error) {
	if inv.Name != "" {
		return a.handler.Command(ctx, inv)
	}
	act := c.Actions[0]
	token, value, _ := strings.Cut(strings.TrimPrefix(act.ID, pressAction), " ")
	return a.handler.Press(ctx, core.Press{ID: inv.ID, Author: inv.Author, Target: inv.Target,
		Token: token, Value: first(act.Selected.Value, act.Value, value)})
}

func (a *Adapter) nameFor(ctx context.Context, who core.Author) string {
	ctx, cancel := context.WithTimeout(ctx, nameWait)
	defer cancel()
	return a.names.get(ctx, who.Team, who.ID)
}

// invocation reads who called what, and where. A slash command says nothing of
// a thread, and acts on its channel; so does a pick from the menu that such a
// command was answered with.
func (a *Adapter) invocation(kind string, c call) (core.Invocation, bool) {
	inv := core.Invocation{ID: c.TriggerID, Native: true}
	t := core.Thread{Platform: "slack", Account: a.cfg.Account}
	switch {
	case kind == "slash_commands":
		inv.Name, inv.Args = commandName(c.Command), strings.TrimSpace(c.Text)
		inv.Author = core.Author{ID: c.UserID, Team: c.TeamID}
		t.Workspace, t.Channel, t.Kind = c.TeamID, c.ChannelID, namedKind(c.ChannelID, c.ChannelName)
	case c.Type == "block_actions" && len(c.Actions) > 0:
		if !strings.HasPrefix(c.Actions[0].ID, pressAction) {
			return inv, false
		}
		inv.Author = core.Author{ID: c.User.ID, Team: c.User.Team}
		t.Workspace, t.Channel, t.Kind = c.Team.ID, c.Channel.ID, namedKind(c.Channel.ID, c.Channel.Name)
		t.Root = first(string(c.Container.ThreadTS), string(c.Message.ThreadTS))
		if t.Root != "" && t.Shared() {
			t.Kind = core.KindThread
		}
	default:
		return inv, false
	}
	inv.Target = core.Target{Thread: t, Recipient: inv.Author.ID, RecipientTeam: inv.Author.Team}
	return inv, t.Channel != "" && inv.Author.ID != ""
}

// namedKind reads the kind of a place from the name that interactions give it.
func namedKind(id, name string) core.Kind {
	switch {
	case name == "directmessage", strings.HasPrefix(id, "D"):
		return core.KindDirect
	case strings.HasPrefix(name, "mpdm-"):
		return core.KindGroup
	}
	return core.KindChannel
}

// respond sends a reply to a response URL: to the caller alone unless it is
// public, in the place of the menu that was picked from.
func (a *Adapter) respond(ctx context.Context, url string, r core.Reply, replaces bool) error {
	kind := slackgo.ResponseTypeEphemeral
	if r.Public {
		kind = slackgo.ResponseTypeInChannel
	}
	blocks := actions(r)
	if blank(r.Text) && len(blocks) > 0 { // Slack shows no menu without a text
		r.Text = chooseText
	}
	parts := core.Split(r.Text, a.Limits(core.Thread{}))
	for i, text := range parts[:min(len(parts), maxResponses)] {
		c, bad := render(core.PostCommand, text)
		if bad != nil {
			return bad
		}
		if i == len(parts)-1 {
			for _, b := range blocks {
				c = c.with(b)
			}
		}
		options := append(c.options(), slackgo.MsgOptionResponseURL(url, kind))
		if replaces && i == 0 {
			options = append(options, slackgo.MsgOptionReplaceOriginal(url))
		}
		if _, _, err := a.api.PostMessageContext(ctx, "", options...); err != nil {
			return err
		}
	}
	return nil
}

// actions are the menus and buttons of a reply.
func actions(r core.Reply) []slackgo.Block {
	var blocks []slackgo.Block
	for _, m := range r.Menus {
		for from := 0; from < len(m.Options); from += maxOptions {
			blocks = append(blocks, menuBlock(m, from))
		}
	}
	if len(r.Buttons) > 0 {
		blocks = append(blocks, buttonsBlock(r.Buttons))
	}
	return blocks
}

// menuBlock is a piece of a menu as Slack shows it. An option that cannot be
// picked is one whose note says so: Slack knows no other kind.
func menuBlock(m core.Menu, from int) slackgo.Block {
	var options []*slackgo.OptionBlockObject
	for _, o := range m.Options[from:min(from+maxOptions, len(m.Options))] {
		var note *slackgo.TextBlockObject
		if o.Note != "" {
			note = plainText(o.Note, maxOptionText)
		}
		options = append(options, slackgo.NewOptionBlockObject(o.Value, plainText(first(o.Label, o.Value), maxOptionText), note))
	}
	placeholder := plainText(first(m.Placeholder, chooseText), maxPlaceholder)
	id := fmt.Sprintf("%s%s %d", pressAction, m.Token, from)
	return slackgo.NewActionBlock("", slackgo.NewOptionsSelectBlockElement(slackgo.OptTypeStatic, placeholder, id, options...))
}

func buttonsBlock(buttons []core.Button) slackgo.Block {
	var list []slackgo.BlockElement
	for _, b := range buttons[:min(len(buttons), maxButtons)] {
		e := slackgo.NewButtonBlockElement(pressAction+b.Token+" "+b.Value, b.Value, plainText(b.Label, maxOptionText))
		if b.Danger {
			e.Style = slackgo.StyleDanger
		}
		list = append(list, e)
	}
	return slackgo.NewActionBlock("", list...)
}

// plainText is a text object without markup, cut to what Slack takes.
func plainText(s string, most int) *slackgo.TextBlockObject {
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return slackgo.NewTextBlockObject(slackgo.PlainTextType, s, false, false)
}
