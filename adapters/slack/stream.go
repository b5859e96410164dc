package slack

import (
	"context"
	"strings"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

// NativeStreaming says where an answer grows by Slack's own streaming rather
// than by edits.
type NativeStreaming string

// The ways to stream. In a shared place a native stream grows for one person
// only, and the others see it when it is done: there edits are the default.
const (
	NativeAuto NativeStreaming = "auto" // in direct messages; the default
	NativeOn   NativeStreaming = "on"   // in every thread
	NativeOff  NativeStreaming = "off"
)

const (
	// maxStreamText is what one call may add to a stream (docs.slack.dev,
	// chat.appendStream). A post never holds more.
	maxStreamText = 12000
	// streamRotate is how long a stream goes on in one message. Slack ends it
	// by itself after about five minutes, as people report.
	streamRotate = 4 * time.Minute
	// streamFirst is how long text is collected before a stream is started.
	streamFirst = 400 * time.Millisecond
	// streamGone is when a stream is forgotten that nobody finished.
	streamGone = 10 * time.Minute
)

// messageRef is a message by what Slack knows it by.
type messageRef struct{ channel, ts string }

// stream is a message of ours that is in Slack's streaming state.
type stream struct {
	sent    string // the Markdown that Slack has
	lost    bool   // it is not known what Slack has
	started time.Time
}

// streams are the open streams of this process. Whoever changes one takes it
// out and puts it back, so that nobody appends to what somebody else stops.
type streams struct {
	mu      sync.Mutex
	open    map[messageRef]stream
	refused bool // Slack knows no streams for this app; do not ask again
}

func newStreams() *streams { return &streams{open: map[messageRef]stream{}} }

func (s *streams) take(ref messageRef) (stream, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.open[ref]
	delete(s.open, ref)
	return st, ok
}

func (s *streams) put(ref messageRef, st stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for old, o := range s.open {
		if time.Since(o.started) > streamGone {
			delete(s.open, old)
		}
	}
	s.open[ref] = st
}

func (s *streams) has(ref messageRef) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.open[ref]
	return ok
}

func (s *streams) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = true
}

func (s *streams) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// native reports whether answers in a thread grow natively. A stream is always
// a reply.
func (a *Adapter) native(t core.Thread) bool {
	if t.Root == "" || a.streams.broken() {
		return false
	}
	return a.cfg.NativeStreaming == NativeOn || a.cfg.NativeStreaming == NativeAuto && t.Kind == core.KindDirect
}

// streamable reports whether a post can begin or go on as a stream. Nothing can
// be escaped in the Markdown of a stream, and outside of direct messages Slack
// wants to know for whom it is.
func (a *Adapter) streamable(p core.Post) bool {
	t := p.Target
	return p.Live && len(p.Files) == 0 && len(p.Buttons) == 0 && !risky(p.Text) && a.native(t.Thread) &&
		(t.Thread.Kind == core.KindDirect || t.Recipient != "" && t.RecipientTeam != "")
}

// start begins a stream. Started is false where Slack will not have one: the
// text is then posted as any other.
func (a *Adapter) start(ctx context.Context, p core.Post) (posted core.Posted, started bool, err *core.SendError) {
	t := p.Target
	key := gateKey{method: "chat.startStream"}
	if a.gates.pass(ctx, key, a.quota(streamEvery, streamBurst), rankLive, 0) != nil {
		return core.Posted{}, false, nil
	}
	options := []slackgo.MsgOption{slackgo.MsgOptionTS(t.Thread.Root), slackgo.MsgOptionMarkdownText(p.Text)}
	if t.Recipient != "" && t.RecipientTeam != "" {
		options = append(options, slackgo.MsgOptionRecipientUserID(t.Recipient), slackgo.MsgOptionRecipientTeamID(t.RecipientTeam))
	}
	_, ts, failed := a.api.StartStreamContext(ctx, t.Thread.Channel, options...)
	if failed = confirmed(ts, failed); failed == nil {
		a.works.posted(refOf(t.Thread))
		a.streams.put(messageRef{t.Thread.Channel, ts}, stream{sent: p.Text, started: time.Now()})
		a.grows(p, "stream")
		return core.Posted{ID: ts, Linked: true}, true, nil
	}
	e := sendError(failed)
	switch {
	case e.Unknown: // it may have begun; Find knows
		return core.Posted{}, false, e
	case e.RetryAfter > 0:
		a.gates.shut(key, e.RetryAfter)
	case unsupported(failed):
		a.streams.refuse()
		fallthrough
	default:
		a.log.Info("Slack starts no stream; the answer grows by edits", "channel", t.Thread.Channel, "error", e)
	}
	return core.Posted{}, false, nil
}

// grows notes how an answer is shown while it is written: who reads along sees
// the one, and only the person who is answered the other.
func (a *Adapter) grows(p core.Post, by string) {
	a.log.Debug("an answer grows", "by", by, "nonce", p.Nonce, "channel", p.Target.Thread.Channel, "root", p.Target.Thread.Root)
}

// unsupported reports whether Slack said that it does not know something at all
// for this app.
func unsupported(err error) bool {
	switch code(err) {
	case "unknown_method", "method_deprecated", "missing_scope", "not_allowed_token_type", "feature_not_enabled":
		return true
	}
	return false
}

// grow brings a stream that was taken to the text of a post. It is settled when
// the post was dealt with; else the message is no stream any more, and is to be
// edited.
func (a *Adapter) grow(ctx context.Context, ref messageRef, st stream, p core.Post) (settled bool, err *core.SendError) {
	more, goesOn := strings.CutPrefix(p.Text, st.sent)
	switch {
	case !goesOn || st.lost || risky(p.Text) || len(more) > maxStreamText:
		return a.replace(ctx, ref, st, p)
	case !p.Live:
		p.Text = more
		return a.stop(ctx, ref, st, p)
	case more == "":
		a.streams.put(ref, st)
		return true, nil
	}
	err = a.extend(ctx, ref, more)
	switch {
	case err == nil:
		st.sent = p.Text
		a.streams.put(ref, st)
		return true, nil
	case err.Unsent || err.Unreached || err.RetryAfter > 0:
		a.streams.put(ref, st)
		return true, err
	}
	// It was refused, or nobody knows whether it arrived: the whole text takes
	// the place of what is there.
	st.lost = true
	return a.replace(ctx, ref, st, p)
}

// replace ends a stream whose text is to be another one.
func (a *Adapter) replace(ctx context.Context, ref messageRef, st stream, p core.Post) (settled bool, err *core.SendError) {
	p.Text, p.Buttons = "", nil
	_, err = a.stop(ctx, ref, st, p)
	return err != nil, err
}

// extend adds text to a stream.
func (a *Adapter) extend(ctx context.Context, ref messageRef, text string) *core.SendError {
	key := gateKey{method: "chat.appendStream"}
	q := a.quota(appendEvery, appendBurst)
	if wait := a.gates.pass(ctx, key, q, rankLive, max(q.every, 0)); wait != nil {
		return wait
	}
	_, ts, err := a.api.AppendStreamContext(ctx, ref.channel, ref.ts, slackgo.MsgOptionMarkdownText(text))
	return a.outcome(key, confirmed(ts, err))
}

// stop ends a stream with the text and the buttons of a post under it. Done is
// false when Slack had ended it before, so that nothing was added. A stream
// that may go on is kept.
func (a *Adapter) stop(ctx context.Context, ref messageRef, st stream, p core.Post) (done bool, err *core.SendError) {
	key := gateKey{method: "chat.stopStream"}
	q := a.quota(streamEvery, streamBurst)
	if err = a.gates.pass(ctx, key, q, rankOf(p), a.patience(p)); err == nil {
		options := []slackgo.MsgOption{nonce(p.Nonce)}
		if p.Text != "" {
			options = append(options, slackgo.MsgOptionMarkdownText(p.Text))
		}
		if blocks := buttonBlocks(p.Buttons); len(blocks) > 0 {
			options = append(options, slackgo.MsgOptionBlocks(blocks...))
		}
		_, ts, failed := a.api.StopStreamContext(ctx, ref.channel, ref.ts, options...)
		err = a.outcome(key, confirmed(ts, failed))
	}
	switch {
	case err == nil:
		return true, nil
	case err.Unknown:
		st.lost = true
	case !err.Unsent && !err.Unreached && err.RetryAfter == 0:
		return false, nil // it is no stream any more
	}
	a.streams.put(ref, st)
	return true, err
}

// halt ends a stream that this process knows nothing of, as one killed while it
// wrote leaves it. It reports whether there was one.
func (a *Adapter) halt(ctx context.Context, ref messageRef) bool {
	_, _, err := a.api.StopStreamContext(ctx, ref.channel, ref.ts)
	return err == nil
}

// left reports whether a message of ours in p's thread is a stream that was
// begun for p, by a process that was killed before it knew: a stream bears a
// nonce only once it is stopped. made is when p was.
func (a *Adapter) left(p core.Post, m slackgo.Message, made time.Time) bool {
	t := p.Target.Thread
	return p.Kind == core.PostAnswer && t.Root != "" && m.ThreadTimestamp == t.Root && m.Metadata.EventType == "" &&
		m.SubType == "" && len(m.Files) == 0 && !stamp(m.Timestamp).time().Before(made) && !a.streams.has(messageRef{t.Channel, m.Timestamp})
}
