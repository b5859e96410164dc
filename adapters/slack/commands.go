package slack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"understudy/core"
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
	Enterprise  string `json:"enterprise_id"`
	ChannelID   string `json:"channel_id"`
	ChannelName string `json:"channel_name"`
	// An action is not.
	User struct {
		ID   string `json:"id"`
		Team string `json:"team_id"`
	} `json:"user"`
	Team      team                      `json:"team"`
	Channel   struct{ ID, Name string } `json:"channel"`
	Container struct {
		ThreadTS  stamp `json:"thread_ts"`
		Ephemeral bool  `json:"is_ephemeral"`
	} `json:"container"`
	Message struct {
		TS       stamp `json:"ts"`
		ThreadTS stamp `json:"thread_ts"`
	} `json:"message"`
	Actions []act `json:"actions"`
	View    view  `json:"view"`
	// Both have these.
	TriggerID   string `json:"trigger_id"`
	ResponseURL string `json:"response_url"`
}

// team is the workspace of an interaction: that of the person, where it is
// shared with another company (Slack Connect).
type team struct {
	ID         string `json:"id"`
	Enterprise string `json:"enterprise_id"`
}

// act is a pick from a menu or a click on a button.
type act struct {
	ID       string                 `json:"action_id"`
	Value    string                 `json:"value"`
	Selected struct{ Value string } `json:"selected_option"`
}

func (a act) value() string { return first(a.Selected.Value, a.Value) }

// interaction handles a slash command, a press, or a modal that is sent. It is
// acknowledged at once, without content; what there is to say goes to the
// response URL, which no broken socket can take away.
func (a *Adapter) interaction(ctx context.Context, e envelope, ack func()) {
	c, err := decode[call](e.Payload)
	ack()
	if err != nil {
		a.passOver("interaction", "kind", e.Type, "error", err)
		return
	}
	inv, acts, ok := a.invocation(e.Type, c)
	if !ok || !a.lets(ctx, inv, a.outsider(c.team()), c.ResponseURL) || !a.fresh(inv.ID) {
		return
	}
	inv.Author.Name = a.nameFor(ctx, inv.Author)
	for _, r := range a.perform(ctx, inv, acts) {
		if err := a.answer(ctx, c, inv.Target, r); err != nil {
			a.log.Error("the reply to a command could not be sent", "command", inv.Name, "error", clean(err))
		}
	}
}

// callID identifies a call for whoever keeps it. The trigger itself is a secret:
// with it, views are opened in the name of the app.
func callID(trigger string) string {
	if trigger == "" {
		return "" // of a modal that is sent
	}
	sum := sha256.Sum256([]byte("trigger of Slack\x00" + trigger))
	return hex.EncodeToString(sum[:12])
}

// fresh reports whether a call was not taken up before. One without an id cannot
// be told from others, and counts as new.
func (a *Adapter) fresh(id string) bool { return id == "" || a.calls.add(id) }

// perform runs a command, or presses, and says what came of them.
func (a *Adapter) perform(ctx context.Context, inv core.Invocation, acts []act) []core.Reply {
	if inv.Name != "" {
		return []core.Reply{a.result(inv.Name)(a.handler.Command(ctx, inv))}
	}
	var replies []core.Reply
	for _, act := range acts {
		token, _ := pressed(act.ID)
		p := core.Press{ID: inv.ID, Author: inv.Author, Target: inv.Target, Token: token, Value: act.value()}
		replies = append(replies, a.result("a press")(a.handler.Press(ctx, p)))
	}
	return replies
}

// result turns a failure into words for whoever called. It leaves the message
// that was acted on as it is, so that it can be tried again.
func (a *Adapter) result(what string) func(core.Reply, error) core.Reply {
	return func(r core.Reply, err error) core.Reply {
		if err == nil {
			return r
		}
		a.log.Error("a command failed", "command", what, "error", err)
		return core.Reply{Text: failedText, Aside: true}
	}
}

func (a *Adapter) nameFor(ctx context.Context, who core.Author) string {
	ctx, cancel := context.WithTimeout(ctx, nameWait)
	defer cancel()
	return a.names.get(ctx, who.Team, who.ID)
}

// invocation reads who called what, and where. A slash command says nothing of
// a thread, and acts on its channel; so does a pick from the menu that such a
// command was answered with. A modal was told what it is about.
func (a *Adapter) invocation(kind string, c call) (inv core.Invocation, acts []act, ok bool) {
	inv = core.Invocation{ID: callID(c.TriggerID), Native: true}
	t := core.Thread{Platform: "slack", Account: a.cfg.Account}
	switch {
	case kind == "slash_commands":
		inv.Name, inv.Args = commandName(c.Command), strings.TrimSpace(c.Text)
		inv.Author = core.Author{ID: c.UserID, Team: c.TeamID}
		t.Workspace, t.Channel, t.Kind = a.workspace(c.TeamID), c.ChannelID, namedKind(c.ChannelID, c.ChannelName)
	case c.View.ID != "":
		if t, ok = c.View.thread(); !ok || c.View.Callback != viewCallback || t.Account != a.cfg.Account {
			return inv, nil, false
		}
		acts = c.ours()
	case c.Type == "block_actions":
		acts = c.ours()
		t.Workspace, t.Channel, t.Kind = a.workspace(c.team().ID), c.Channel.ID, namedKind(c.Channel.ID, c.Channel.Name)
		t.Root = first(string(c.Container.ThreadTS), string(c.Message.ThreadTS))
		if t.Root != "" && t.Shared() {
			t.Kind = core.KindThread
		}
	}
	if kind != "slash_commands" {
		inv.Author = core.Author{ID: c.User.ID, Team: c.User.Team}
	}
	inv.Target = core.Target{Thread: t, Recipient: inv.Author.ID, RecipientTeam: inv.Author.Team}
	return inv, acts, t.Channel != "" && inv.Author.ID != "" && (inv.Name != "" || len(acts) > 0)
}

// team is the workspace that an interaction names. With an app of a whole
// organisation it may name that of the person alone.
func (c call) team() team {
	return team{first(c.TeamID, c.Team.ID, c.User.Team), first(c.Enterprise, c.Team.Enterprise)}
}

// workspace is where an interaction happened for the bot. Who acts in a channel
// that is shared with another company brings a workspace of his own along, so
// that an app of one workspace goes by that.
func (a *Adapter) workspace(named string) string {
	if a.me.everywhere() {
		return named
	}
	return a.me.team
}

// outsider reports whether an interaction comes from a workspace that is not
// known to be of the bot's organisation. For an app of one workspace that needs
// no answer: see [Adapter.guest]. A workspace that Slack calls one of the
// organisation's is remembered, since a modal names none.
func (a *Adapter) outsider(from team) bool {
	if a.me.organisation != "" && from.Enterprise == a.me.organisation && from.ID != "" {
		a.allied.add(from.ID)
	}
	return a.me.everywhere() && from.Enterprise != a.me.organisation && from.ID != a.me.organisation && !a.allied.has(from.ID)
}

// ours are the acts on menus and buttons that the bot made: those that were
// acted on, or stand in a modal that is sent.
func (c call) ours() []act {
	switch c.Type {
	case "view_submission":
		return c.View.picked()
	case "block_actions":
		return slices.DeleteFunc(slices.Clone(c.Actions), func(a act) bool {
			_, ok := pressed(a.ID)
			return !ok
		})
	}
	return nil
}

// namedKind reads the kind of a place from its id, and from the name that
// interactions give it: people choose the names of channels, so that one may be
// called as Slack calls a direct message.
func namedKind(id, name string) core.Kind {
	switch {
	case strings.HasPrefix(id, "D"):
		return core.KindDirect
	case strings.HasPrefix(name, "mpdm-"):
		return core.KindGroup
	}
	return core.KindChannel
}
