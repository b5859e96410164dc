package slack

import (
	"context"
	"slices"

	"understudy/core"
)

// stopped carries out Slack's own stop button, which stands beside an answer
// that is being written. Slack shows that it was pressed, so that the reply to
// the command is not needed.
func (a *Adapter) stopped(ctx context.Context, p payload) error {
	ev := p.subject()
	t := a.thread(p, ev)
	who, outsider := a.sender(ctx, p, ev)
	id := first(p.EventID, string(ev.EventTS))
	if who.ID == "" || t.Channel == "" || id == "" {
		return nil
	}
	if v, err := a.admits(ctx, who, outsider, t); err != nil || v != admitted {
		return err
	}
	if !a.calls.add(id) {
		return nil
	}
	_, err := a.handler.Command(ctx, core.Invocation{ID: id, Author: who, Native: true, Name: "stop",
		Target: core.Target{Thread: t, Recipient: who.ID, RecipientTeam: who.Team}})
	if err != nil { // a later repeat might stop the next answer
		a.log.Error("an answer could not be stopped", "channel", t.Channel, "error", err)
	}
	return nil
}

// removed ends the account when the app was taken out of its workspace, or its
// token was. In one of an organisation's workspaces it goes on in the others.
func (a *Adapter) removed(p payload) {
	kind := p.Event.Type
	switch {
	case kind == "tokens_revoked" && !slices.Contains(p.Event.Tokens.Bot, a.me.user):
	case a.me.everywhere() && p.TeamID != a.me.organisation:
		a.log.Warn("the app was removed from a workspace of the organisation", "team", p.TeamID)
	default:
		a.refuse(&FatalError{Code: kind, Help: "the app was removed from the workspace: install it again, then set " + botTokenPlace})
	}
}

// rateLimited tells that Slack holds events back: more than 30,000 an hour came
// from one workspace.
func (a *Adapter) rateLimited() {
	const text = "Slack holds events of a workspace back, since there are too many: take the bot out of busy channels in which nobody needs it"
	a.log.Warn(text)
	a.cfg.Alert(core.Alert{Kind: "connection", Key: "slack:" + a.cfg.Account + ":events", Text: text})
}
