package slack

import (
	"context"
	"encoding/json"
	"fmt"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

// Slack's limits for modals (docs.slack.dev, views).
const (
	maxViewBlocks = 100
	maxViewTitle  = 24
	maxViewPieces = 3 // of the text; the sum over all blocks is limited too
	viewTitle     = "understudy"
	viewCallback  = "understudy"
	loadingText   = "One moment…"
)

// modal shows the reply to a command in a modal. A trigger is good for three
// seconds, so that the modal is opened before the command runs. The error says
// that it was not opened; run was not called then.
func (a *Adapter) modal(ctx context.Context, trigger string, t core.Target, run func() core.Reply) error {
	view, err := modalOf(t, core.Reply{Text: loadingText})
	if err != nil {
		return err
	}
	opened, err := a.api.OpenViewContext(ctx, trigger, view)
	if err != nil {
		return fmt.Errorf("opening a modal: %w", clean(err))
	}
	r := run()
	if err := a.updateView(ctx, opened.ID, t, r); err != nil {
		a.log.Warn("a modal could not be filled; the reply comes as a message", "error", err)
		if err := a.whisper(ctx, t, r); err != nil {
			a.log.Error("the reply to a command could not be sent", "error", err)
		}
	}
	return nil
}

// updateView shows a reply in an open modal. Of several presses the last one to
// be carried out is what it shows, so that no hash is given.
func (a *Adapter) updateView(ctx context.Context, id string, t core.Target, r core.Reply) error {
	view, err := modalOf(t, r)
	if err != nil {
		return err
	}
	if _, err := a.api.UpdateViewContext(ctx, view, "", "", id); err != nil {
		return fmt.Errorf("changing a modal: %w", clean(err))
	}
	return nil
}

// modalOf is a reply as a modal. It keeps the conversation that it is about:
// Slack tells none of it.
func modalOf(t core.Target, r core.Reply) (slackgo.ModalViewRequest, error) {
	about, err := json.Marshal(t.Thread)
	if err != nil {
		return slackgo.ModalViewRequest{}, fmt.Errorf("slack: writing down a thread: %w", err)
	}
	if blank(r.Text) {
		r.Text = chooseText
	}
	var blocks []slackgo.Block
	for _, text := range pieces(r.Text, maxViewPieces) {
		blocks = append(blocks, sections(text)...)
	}
	under := actions(r)
	under = under[:min(len(under), maxViewBlocks-len(blocks))]
	return slackgo.ModalViewRequest{
		Type:            slackgo.VTModal,
		Title:           plainText(viewTitle, maxViewTitle),
		Close:           plainText("Close", maxViewTitle),
		CallbackID:      viewCallback,
		PrivateMetadata: string(about),
		Blocks:          slackgo.Blocks{BlockSet: append(blocks, under...)},
	}, nil
}

// view is as much of a modal in a payload as the bot goes by.
type view struct {
	ID       string `json:"id"`
	Callback string `json:"callback_id"`
	Private  string `json:"private_metadata"`
	State    struct {
		Values map[string]map[string]act `json:"values"`
	} `json:"state"`
}

// thread is the conversation that a modal of ours is about.
func (v view) thread() (core.Thread, bool) {
	t, err := decode[core.Thread]([]byte(v.Private))
	return t, err == nil && t.Channel != ""
}

// picked are the picks that stand in a modal when it is sent.
func (v view) picked() []act {
	var found []act
	for _, block := range v.State.Values {
		for id, a := range block {
			a.ID = first(a.ID, id)
			if _, ok := pressed(a.ID); ok && a.value() != "" {
				found = append(found, a)
			}
		}
	}
	return found
}
