package slack

import (
	"context"

	"understudy/core"
)

// shortcuts are the commands that stand in the menu of every message, under
// these names. Inside a thread Slack offers no others.
var shortcuts = map[string]string{
	"model":  "Choose the model",
	"status": "Which model answers",
	"stop":   "Stop the answer",
	"help":   "List the commands",
}

// shortcut is a message shortcut, as much as the bot goes by.
type shortcut struct {
	Type     string `json:"type"`
	Callback string `json:"callback_id"`
	Trigger  string `json:"trigger_id"`
	Response string `json:"response_url"`
	User     struct {
		ID   string `json:"id"`
		Team string `json:"team_id"`
	} `json:"user"`
	Team      team                      `json:"team"`
	Channel   struct{ ID, Name string } `json:"channel"`
	MessageTS stamp                     `json:"message_ts"`
	Message   event                     `json:"message"`
}

// team is the workspace that the shortcut names.
func (s shortcut) team() team { return team{first(s.Team.ID, s.User.Team), s.Team.Enterprise} }

// shortcutInvocation reads which command is meant, and in which conversation: that of
// the message whose menu it was taken from.
func (a *Adapter) shortcutInvocation(s shortcut) (core.Invocation, bool) {
	if _, ok := shortcuts[s.Callback]; !ok {
		return core.Invocation{}, false
	}
	ev := s.Message
	ev.Channel, ev.ChannelType = s.Channel.ID, channelType(core.Thread{Kind: namedKind(s.Channel.ID, s.Channel.Name)})
	ev.TS = stamp(first(string(s.MessageTS), string(ev.TS)))
	who := core.Author{ID: s.User.ID, Team: s.User.Team}
	t := a.thread(payload{TeamID: a.workspace(s.team().ID)}, ev)
	return core.Invocation{ID: callID(s.Trigger), Author: who, Native: true, Name: s.Callback,
		Target: core.Target{Thread: t, Recipient: who.ID, RecipientTeam: who.Team}}, t.Channel != "" && who.ID != ""
}

// shortcut carries out a command that was chosen from the menu of a message. It
// was acknowledged; what there is to say goes to the caller alone.
func (a *Adapter) shortcut(ctx context.Context, s shortcut) {
	inv, ok := a.shortcutInvocation(s)
	if !ok || !a.lets(ctx, inv, a.outsider(s.team()), s.Response) || !a.fresh(inv.ID) {
		return
	}
	inv.Author.Name = a.nameFor(ctx, inv.Author)
	run := func() core.Reply { return a.result(inv.Name)(a.handler.Command(ctx, inv)) }
	if inv.Name == "model" {
		err := a.modal(ctx, s.Trigger, inv.Target, run)
		if err == nil {
			return
		}
		a.log.Warn("a modal could not be shown; the reply comes as a message", "error", err)
	}
	if err := a.answer(ctx, call{ResponseURL: s.Response}, inv.Target, run()); err != nil {
		a.log.Error("the reply to a command could not be sent", "command", inv.Name, "error", clean(err))
	}
}

// failedText answers a command that could not be carried out.
const failedText = "The command could not be carried out. Please try again."
