package slack

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

const (
	// maxText is the most that one post may hold. chat.postMessage takes ten
	// times as much, but a preview is posted first and edited later, and
	// chat.update refuses more than 4,000 characters; a hundred are left for
	// the difference between Markdown and Slack's own markup.
	maxText      = 3900
	maxParts     = 10
	firstPreview = time.Second
	// metadataType marks our posts; the nonce is in its payload.
	metadataType = "understudy_post"
	patient      = time.Duration(math.MaxInt64)
)

// threadRef is a thread by what Slack knows it by.
type threadRef struct{ channel, root string }

func refOf(t core.Thread) threadRef { return threadRef{t.Channel, t.Root} }

// Limits are Slack's, see the constants.
func (a *Adapter) Limits(core.Thread) core.Limits {
	return core.Limits{MaxText: maxText, Count: count, MaxParts: maxParts, FirstPreview: firstPreview, EditEvery: max(a.cfg.EditEvery, time.Millisecond)}
}

// errThreadGone: the message that the thread hangs on was deleted.
var errThreadGone = errors.New("the first message of the thread was deleted")

// Post sends one message to the target's thread, or to its channel if it has
// none.
func (a *Adapter) Post(ctx context.Context, p core.Post) (core.Posted, error) {
	c, bad := render(p.Kind, p.Text)
	if bad != nil {
		return core.Posted{}, bad
	}
	t := p.Target.Thread
	if t.Root != "" && a.gone.has(refOf(t)) {
		return core.Posted{}, &core.SendError{Permanent: true, Err: errThreadGone}
	}
	key := gateKey{"chat.postMessage", t.Channel}
	var m slackgo.Message
	err := a.say(ctx, c, key, a.cfg.PostEvery, postBurst, patient, func(content ...slackgo.MsgOption) error {
		options := append(content, slackgo.MsgOptionDisableLinkUnfurl(), slackgo.MsgOptionDisableMediaUnfurl(), nonce(p.Nonce))
		if t.Root != "" {
			options = append(options, slackgo.MsgOptionTS(t.Root))
		}
		_, ts, answer, err := a.api.PostMessageWithResponseContext(ctx, t.Channel, options...)
		m = answer
		m.Timestamp = ts
		return err
	})
	if err != nil {
		return core.Posted{}, err
	}
	a.works.posted(refOf(t))
	if t.Root != "" && m.ThreadTimestamp != t.Root {
		return a.astray(ctx, t, m.Timestamp)
	}
	return core.Posted{ID: m.Timestamp, Linked: t.Root != ""}, nil
}

// astray handles a reply that Slack put at the root of the channel because the
// thread's first message was deleted. What was meant for a few must not stand
// before all, so it is taken away. If that fails it was posted all the same.
func (a *Adapter) astray(ctx context.Context, t core.Thread, ts string) (core.Posted, error) {
	if err := a.remove(ctx, t.Channel, ts); err != nil {
		a.log.Warn("a reply to a deleted message stands in the channel and could not be taken away", "channel", t.Channel, "ts", ts, "error", clean(err))
		return core.Posted{ID: ts}, nil
	}
	a.gone.add(refOf(t))
	return core.Posted{}, &core.SendError{Permanent: true, Err: errThreadGone}
}

// Edit replaces the text of a message of ours. It does not queue behind other
// edits for longer than the time between two: by then there is newer text.
func (a *Adapter) Edit(ctx context.Context, id string, p core.Post) error {
	c, bad := render(p.Kind, p.Text)
	if bad != nil {
		return bad
	}
	key := gateKey{method: "chat.update"}
	err := a.say(ctx, c, key, a.cfg.EditEvery, editBurst, max(a.cfg.EditEvery, 0), func(content ...slackgo.MsgOption) error {
		_, _, _, err := a.api.UpdateMessageContext(ctx, p.Target.Thread.Channel, id, append(content, nonce(p.Nonce))...)
		return err
	})
	if err != nil {
		return err
	}
	return nil
}

// say sends content through its gate. Blocks that Slack does not take are left
// out in a second try: the text holds everything.
func (a *Adapter) say(ctx context.Context, c content, k gateKey, every time.Duration, burst int, patience time.Duration, send func(...slackgo.MsgOption) error) error {
	if wait := a.gates.pass(ctx, k, every, burst, patience); wait != nil {
		return wait
	}
	err := send(c.options()...)
	var refused slackgo.SlackErrorResponse
	if errors.As(err, &refused) && c.blocks != nil && strings.Contains(refused.Err, "blocks") {
		a.log.Warn("Slack refused blocks, sending plain text", "code", refused.Err)
		err = send(content{text: c.text}.options()...)
	}
	if err == nil {
		return nil
	}
	e := sendError(err)
	if e.RetryAfter > 0 {
		a.gates.shut(k, e.RetryAfter)
	}
	return e
}

// nonce is the metadata that identifies a post. Edits send it again, so that
// whatever Slack does with metadata that is left out, the post can be found.
func nonce(n string) slackgo.MsgOption {
	if n == "" {
		return slackgo.MsgOptionCompose()
	}
	return slackgo.MsgOptionMetadata(slackgo.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"nonce": n}})
}

// Delete takes a message of ours away; one that is gone is no error.
func (a *Adapter) Delete(ctx context.Context, t core.Target, id string) error {
	if err := a.remove(ctx, t.Thread.Channel, id); err != nil {
		return sendError(err)
	}
	return nil
}

func (a *Adapter) remove(ctx context.Context, channel, ts string) error {
	_, _, err := a.api.DeleteMessageContext(ctx, channel, ts)
	var refused slackgo.SlackErrorResponse
	if errors.As(err, &refused) && refused.Err == "message_not_found" {
		return nil
	}
	return err
}
