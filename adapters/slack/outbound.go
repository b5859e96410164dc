package slack

import (
	"context"
	"errors"
	"math"
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
	// astrayTries is how often it is tried to take away what stands in the
	// wrong place.
	astrayTries = 3
)

// threadRef is a thread by what Slack knows it by.
type threadRef struct{ channel, root string }

func refOf(t core.Thread) threadRef { return threadRef{t.Channel, t.Root} }

// Limits are Slack's, see the constants.
func (a *Adapter) Limits(t core.Thread) core.Limits {
	l := core.Limits{
		MaxText: maxText, Count: count, MaxParts: maxParts, MaxFile: maxFile,
		FirstPreview: firstPreview, EditEvery: max(a.cfg.EditEvery, time.Millisecond),
	}
	if a.native(t) {
		l.FirstPreview, l.Rotate = streamFirst, streamRotate
		l.EditEvery = max(a.quota(appendEvery, appendBurst).every, time.Millisecond)
	}
	return l
}

// quota is a rate of Slack's, or none where the account has none for edits.
func (a *Adapter) quota(every time.Duration, burst int) quota {
	if a.cfg.EditEvery < 0 {
		every = a.cfg.EditEvery
	}
	return quota{every, burst}
}

// patience is how long a post may wait for a limit. A preview does not queue
// for longer than the time between two: by then there is newer text.
func (a *Adapter) patience(p core.Post) time.Duration {
	if p.Live {
		return max(a.cfg.EditEvery, 0)
	}
	return patient
}

// errThreadGone: the message that the thread hangs on was deleted.
var errThreadGone = errors.New("the first message of the thread was deleted")

// Post sends one message to the target's thread, or to its channel if it has
// none. Files follow it as messages of their own; one that cannot be sent is
// named in a remark, and costs the text nothing.
func (a *Adapter) Post(ctx context.Context, p core.Post) (core.Posted, error) {
	c, bad := renderPost(p)
	if bad != nil {
		return core.Posted{}, bad
	}
	t := p.Target.Thread
	if t.Root != "" && a.gone.has(refOf(t)) {
		return core.Posted{}, &core.SendError{Permanent: true, Err: errThreadGone}
	}
	if a.streamable(p) {
		if posted, started, err := a.start(ctx, p); err != nil {
			return posted, err
		} else if started {
			return posted, nil
		}
	}
	posted, err := a.post(ctx, p, c)
	if err != nil {
		return core.Posted{}, err
	}
	if p.Live {
		a.grows(p, "edits")
	}
	a.attach(ctx, p)
	if len(p.Buttons) > 0 {
		a.unlock(ctx, p.Target)
	}
	return posted, nil
}

// post makes a message of content.
func (a *Adapter) post(ctx context.Context, p core.Post, c content) (core.Posted, error) {
	t := p.Target.Thread
	key := gateKey{"chat.postMessage", t.Channel}
	var m slackgo.Message
	err := a.say(ctx, c, key, quota{a.cfg.PostEvery, postBurst}, rankOf(p), patient, func(content ...slackgo.MsgOption) error {
		options := append(content, slackgo.MsgOptionDisableLinkUnfurl(), slackgo.MsgOptionDisableMediaUnfurl(), nonce(p.Nonce))
		if t.Root != "" {
			options = append(options, slackgo.MsgOptionTS(t.Root))
		}
		_, ts, answer, err := a.api.PostMessageWithResponseContext(ctx, t.Channel, options...)
		m = answer
		m.Timestamp = ts
		return confirmed(ts, err)
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
	err := a.remove(ctx, t.Channel, ts)
	for try := 1; try < astrayTries && err != nil && code(err) == "" && sleep(ctx, max(time.Second, sendError(err).RetryAfter)); try++ {
		err = a.remove(ctx, t.Channel, ts)
	}
	if err != nil {
		a.log.Warn("a reply to a deleted message stands in the channel and could not be taken away", "channel", t.Channel, "ts", ts, "error", clean(err))
		return core.Posted{ID: ts}, nil
	}
	a.gone.add(refOf(t))
	return core.Posted{}, &core.SendError{Permanent: true, Err: errThreadGone}
}

// Edit replaces the text of a message of ours. One that is a stream grows, and
// is stopped by the edit that is not Live.
func (a *Adapter) Edit(ctx context.Context, id string, p core.Post) error {
	c, bad := renderPost(p)
	if bad != nil {
		return bad
	}
	ref := messageRef{p.Target.Thread.Channel, id}
	if st, ok := a.streams.take(ref); ok {
		if settled, err := a.grow(ctx, ref, st, p); err != nil {
			return err
		} else if settled {
			return nil
		}
	}
	return a.edit(ctx, ref, p, c)
}

// edit makes a message of ours show content. A stream that an earlier process
// left is stopped first: Slack edits none that grows.
func (a *Adapter) edit(ctx context.Context, ref messageRef, p core.Post, c content) error {
	key := gateKey{method: "chat.update"}
	update := func(content ...slackgo.MsgOption) error {
		_, ts, _, err := a.api.UpdateMessageContext(ctx, ref.channel, ref.ts, append(content, nonce(p.Nonce))...)
		return confirmed(ts, err)
	}
	return a.say(ctx, c, key, quota{a.cfg.EditEvery, 1}, rankOf(p), a.patience(p), func(content ...slackgo.MsgOption) error {
		err := update(content...)
		if code(err) == "streaming_state_conflict" && a.halt(ctx, ref) {
			err = update(content...)
		}
		return err
	})
}

// say sends content through its gate. Blocks that Slack does not take are left
// out in a second try: the text holds everything.
func (a *Adapter) say(ctx context.Context, c content, k gateKey, q quota, who rank, patience time.Duration, send func(...slackgo.MsgOption) error) error {
	if wait := a.gates.pass(ctx, k, q, who, patience); wait != nil {
		return wait
	}
	err := send(c.options()...)
	if c.blocks != nil && badBlocks(code(err)) {
		a.log.Warn("Slack refused blocks, sending plain text", "code", code(err))
		err = send(content{text: c.text}.options()...)
	}
	if e := a.outcome(k, err); e != nil {
		return e
	}
	return nil
}

// badBlocks reports whether a code is about the form of blocks. Their length is
// another matter: the text is to be shorter then.
func badBlocks(code string) bool {
	return code == "invalid_blocks" || code == "invalid_blocks_format"
}

// errUnconfirmed: the answer names no message. slack-go takes a failure without
// a code for a success.
var errUnconfirmed = errors.New("the answer of Slack names no message")

// confirmed is the error of a request about a message, whose answer named ts.
func confirmed(ts string, err error) error {
	if err == nil && ts == "" {
		return errUnconfirmed
	}
	return err
}

// outcome reads what came of a request. When Slack asks for time, the request's
// gate is shut for as long, and no other.
func (a *Adapter) outcome(k gateKey, err error) *core.SendError {
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
// Without a nonce it still tells a message from a stream that was cut off.
func nonce(n string) slackgo.MsgOption {
	return slackgo.MsgOptionMetadata(slackgo.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"nonce": n}})
}

// Delete takes a message of ours away; one that is gone is no error.
func (a *Adapter) Delete(ctx context.Context, t core.Target, id string) error {
	a.streams.take(messageRef{t.Thread.Channel, id})
	if err := a.remove(ctx, t.Thread.Channel, id); err != nil {
		return sendError(err)
	}
	return nil
}

// remove deletes a message. A stream is stopped first: Slack deletes none that
// grows, and says that it is not the bot's.
func (a *Adapter) remove(ctx context.Context, channel, ts string) error {
	once := func() error {
		_, gone, err := a.api.DeleteMessageContext(ctx, channel, ts)
		return confirmed(gone, err)
	}
	err := once()
	if code(err) == "cant_delete_message" && a.halt(ctx, messageRef{channel, ts}) {
		err = once()
	}
	if code(err) == "message_not_found" {
		return nil
	}
	return err
}
