package slack

import (
	"context"
	"errors"
	"net/http"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

const (
	// maxResponses is how often a response URL can be used (docs.slack.dev,
	// handling interactions).
	maxResponses = 5
	// maxEphemeral is the most that a message for one person alone may hold, as
	// people report.
	maxEphemeral = 3000
	tooManyParts = "… (the rest is too long for this place)"
)

// answer brings the reply to a call to whoever made it: into the modal that was
// acted in, else through the response URL, else by the Web API. A response URL
// runs out, and may not be reached; a reply that comes twice is better than none.
func (a *Adapter) answer(ctx context.Context, c call, t core.Target, r core.Reply) error {
	if blank(r.Text) && len(r.Menus)+len(r.Buttons) == 0 {
		return nil
	}
	if c.View.ID != "" && c.Type != "view_submission" && !r.Aside {
		return a.updateView(ctx, c.View.ID, t, r)
	}
	if c.ResponseURL != "" {
		err := a.respond(ctx, c.ResponseURL, t.Thread.Root, inPlace(c, r), c.Type == "block_actions" && !r.Aside)
		if err == nil || ctx.Err() != nil {
			return err
		}
		a.log.Info("a response URL did not take a reply", "channel", t.Thread.Channel, "error", clean(err))
	}
	if ts := string(c.Message.TS); ts != "" && c.Type == "block_actions" && !c.Container.Ephemeral && !r.Aside {
		return a.amend(ctx, messageRef{t.Thread.Channel, ts}, r)
	}
	return a.whisper(ctx, t, r)
}

// inPlace makes the replacement of a message that all can see one that all can
// see.
func inPlace(c call, r core.Reply) core.Reply {
	if c.Type == "block_actions" && c.Message.TS != "" && !c.Container.Ephemeral && !r.Aside {
		r.Public = true
	}
	return r
}

// respond sends a reply to a response URL: to the caller alone unless it is
// public, in the place of the message that was acted on if it replaces that,
// and else in the thread of root if there is one.
func (a *Adapter) respond(ctx context.Context, url, root string, r core.Reply, replaces bool) error {
	kind := slackgo.ResponseTypeEphemeral
	if r.Public {
		kind = slackgo.ResponseTypeInChannel
	}
	for i, c := range replyParts(r, maxResponses) {
		options := []slackgo.MsgOption{slackgo.MsgOptionResponseURL(url, kind)}
		switch {
		case replaces && i == 0:
			options = append(options, slackgo.MsgOptionReplaceOriginal(url))
		case root != "":
			options = append(options, slackgo.MsgOptionTS(root))
		}
		send := func(c content) error {
			_, _, err := a.api.PostMessageContext(ctx, "", append(c.options(), options...)...)
			return err
		}
		err := send(c)
		if c.blocks != nil && (badBlocks(code(err)) || refusedForm(err)) {
			a.log.Warn("Slack refused the blocks of a reply, sending plain text", "error", clean(err))
			err = send(content{text: c.text})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refusedForm reports whether a response URL found fault with what it was given.
func refusedForm(err error) bool {
	var status slackgo.StatusCodeError
	return errors.As(err, &status) && status.Code == http.StatusBadRequest
}

// replyParts are the messages that a reply takes, at most so many. Its menus and
// buttons stand in the last.
func replyParts(r core.Reply, most int) []content {
	blocks := actions(r)
	if blank(r.Text) && len(blocks) > 0 { // Slack shows no menu without a text
		r.Text = chooseText
	}
	var parts []content
	for _, text := range pieces(r.Text, most) {
		if c, bad := render(core.PostCommand, text); bad == nil {
			parts = append(parts, c)
		}
	}
	if last := len(parts) - 1; last >= 0 {
		for _, b := range blocks {
			parts[last] = parts[last].with(b)
		}
	}
	return parts
}

// pieces are a text in at most so many pieces that each fit where replies are
// shown. What does not fit into them is cut off, with a mark.
func pieces(text string, most int) []string {
	texts, rest := core.SplitMost(text, core.Limits{MaxText: maxEphemeral - len(tooManyParts) - 2, Count: count, MaxParts: most})
	if rest != "" {
		texts[len(texts)-1] += "\n\n" + tooManyParts
	}
	return texts
}

// amend shows a reply in the place of a message of ours.
func (a *Adapter) amend(ctx context.Context, ref messageRef, r core.Reply) error {
	parts := replyParts(r, 1)
	if len(parts) == 0 {
		return nil
	}
	return a.edit(ctx, ref, core.Post{Kind: core.PostCommand}, parts[0])
}

// whisper shows a reply to one person alone, in the thread that it is about.
func (a *Adapter) whisper(ctx context.Context, t core.Target, r core.Reply) error {
	key := gateKey{"chat.postEphemeral", t.Thread.Channel}
	for _, c := range replyParts(r, maxParts) {
		err := a.say(ctx, c, key, quota{a.cfg.PostEvery, postBurst}, rankAnswer, patient, func(content ...slackgo.MsgOption) error {
			if t.Thread.Root != "" {
				content = append(content, slackgo.MsgOptionTS(t.Thread.Root))
			}
			ts, err := a.api.PostEphemeralContext(ctx, t.Thread.Channel, t.Recipient, content...)
			return confirmed(ts, err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
