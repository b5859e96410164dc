package sessions

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
)

// turn is one message and everything done to answer it.
type turn struct {
	b     *Bot
	set   *Settings
	agent Agent
	in    Inbound
	run   *running
	id    string
	sess  Session // as it was when the turn began
	sel   selected
	plan  failover.Plan
	auto  auto
	drops bool // the session's choice cannot be followed and goes
	image bool // the chain is the one for images, not the session's
	// resumed: an earlier run of this turn has put the message into the
	// transcript.
	resumed bool
	again   bool // a message is answered that was answered before

	// left is what an earlier run of this turn had posted of its answer.
	left    []delivery.Row
	history []Entry  // what was said before and the message itself
	more    bool     // there is more before it that no summary tells of
	said    []Entry  // of that, what is not stored yet
	unused  []string // files that cannot be used, and why
	entries []Entry  // what this turn adds
	writer  *delivery.Writer
	chain   *failover.Turn
	text    strings.Builder // of the answer so far, since it was last discarded
	opened  int64           // bytes of the files that came with the message
	gap     bool            // what is said next is a paragraph of its own
	reply   llm.Message     // of the last call
	spent   llm.Usage       // by the last call
	usage   llm.Usage       // of the whole turn
	bill    Bill            // for it, failed calls too
	asked   llm.Ref         // whom the last request went to
	repairs []llm.Repair    // that its history needs
	answer  failover.Answer // of the last call
	record  Turn
	alerts  []core.Alert // for operators, once the answer is stored
	// statusRow is the status notice, once it was sent, perhaps by an earlier
	// run. The chain's End waits for whoever writes it.
	statusRow *delivery.Row
	telling   sync.Mutex // held while the status notice is sent
	compacts
}

// turn answers one message of the inbox. Nothing escapes it: every way it can
// end is committed, except for a stop of the program, which leaves the message
// in the inbox.
func (b *Bot) turn(ctx context.Context, in Inbound, run *running) {
	set := b.Settings()
	t := &turn{b: b, set: set, in: in, run: run, id: in.Turn, agent: set.agent(in.Session.Agent)}
	if t.id == "" {
		t.id = b.NewID()
	}
	t.record = Turn{ID: t.id, Session: in.Session, Inbox: in.Key, Started: b.Now()}
	t.takeOver()
	if len(t.left) > 0 { // it goes even if there will be no answer
		t.openWriter()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if set.TurnTimeout > 0 {
		go func() {
			select {
			case <-ctx.Done():
			case <-b.After(set.TurnTimeout):
				cancel(errTooLong)
			}
		}()
	}
	working := run.idle
	if working == nil {
		working = b.Sender.Working(in.Message.Target)
	}
	defer working()
	defer func() { b.files.free(t.opened) }()

	err := b.guard("a turn panicked", t.id, func() error {
		return b.outlast(ctx, in, func() error { return t.begin(ctx) })
	})
	if err == nil {
		err = b.guard("a turn panicked", t.id, func() error { return t.answerIt(ctx, run) })
	}
	working()
	// A panic at the end leaves the message in the inbox.
	_ = b.guard("the end of a turn panicked", t.id, func() error {
		var skip *commandReply
		if errors.As(err, &skip) {
			t.finishCommand(skip.text)
		} else {
			t.finish(ctx, err)
		}
		return nil
	})
}

// takeOver takes the messages that an earlier run of this turn left.
func (t *turn) takeOver() {
	t.b.mu.Lock()
	rows := t.b.previews[t.id]
	delete(t.b.previews, t.id)
	t.b.mu.Unlock()
	for _, r := range rows {
		if r.Post.Kind == core.PostStatus {
			t.statusRow = &r
			continue
		}
		t.left = append(t.left, r)
	}
}

// guard turns a panic into an error, so that it ends what it happened in and
// nothing else.
func (b *Bot) guard(what, id string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			b.Log.Error(what, "id", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errors.New("a fault of the program, see the log")
		}
	}()
	return f()
}

// commandReply ends a turn with the text of a command instead of an answer.
type commandReply struct{ text string }

func (e *commandReply) Error() string { return e.text }

// plainError ends a turn with a text of this program; no model is involved.
type plainError struct{ text string }

func (e *plainError) Error() string { return e.text }

// answerIt runs the turn's model calls and tools.
func (t *turn) answerIt(ctx context.Context, run *running) error {
	if t.writer == nil {
		t.openWriter()
	}
	if err := t.compactIfFull(ctx); err != nil {
		return err
	}
	t.chain = t.b.Engine.Begin(ctx, t.plan, failover.Hooks{
		Discard:   t.discard,
		Pending:   t.pending,
		Taken:     t.taken,
		Changed:   run.changed,
		Stopping:  t.b.stopping,
		Status:    t.status,
		Mend:      t.mend,
		Shrink:    t.shrink,
		Attempted: t.attempted,
		Held:      func() { t.b.tellHeld(t.in.Message) },
	})
	defer t.chain.End()
	for round := 0; ; round++ {
		if round > 0 {
			if err := t.compactIfFull(ctx); err != nil {
				return err
			}
		}
		answer, err := t.chain.Call(ctx, t.ask)
		if err != nil {
			return err
		}
		t.answer = answer
		if !blank(t.reply) {
			cost := t.set.tally(t.answer.Model, t.spent)
			t.entries = append(t.entries, Entry{Turn: t.id, Message: t.reply, Model: t.answer.Model, Profile: t.answer.Profile,
				Again: t.again, Usage: t.spent, Cost: cost.Cost, Priced: cost.Unpriced == 0 && t.spent != (llm.Usage{}), At: t.b.Now()})
		}
		calls := callsOf(t.reply)
		if len(calls) == 0 {
			return nil
		}
		if round >= t.set.MaxToolRounds {
			return &plainError{tooManyRoundsText(t.set.MaxToolRounds)}
		}
		if err := t.runTools(ctx, calls); err != nil {
			return err
		}
		t.gap = t.text.Len() > 0
	}
}

// openWriter makes the writer of the answer, which takes over what an earlier
// run had posted of it.
func (t *turn) openWriter() {
	t.writer = t.b.Sender.Writer(delivery.WriterConfig{
		Session: t.in.Session, Turn: t.id, Target: t.in.Message.Target,
		ReplyTo: t.set.replyTo(t.in.Message.Thread()), Streaming: t.set.streaming(t.in.Message.Thread()), Repost: t.set.Repost, Preview: t.left,
	})
}

// ask makes one request; see [failover.Turn.Call].
func (t *turn) ask(ctx context.Context, client llm.Client, ref llm.Ref) error {
	t.reply = llm.Message{}
	if ref != t.asked {
		t.asked, t.repairs = ref, nil
	}
	done := false
	for ev, err := range client.Stream(ctx, t.request(ref)) {
		if err != nil {
			var failure *llm.Error
			if errors.As(err, &failure) {
				t.spend(ref, failure.Usage)
			}
			return err
		}
		switch ev.Kind {
		case llm.TextEvent:
			t.chain.Output()
			t.say(ev.Text)
		case llm.DoneEvent:
			t.reply, done = ev.Reply, true
			t.spent = ev.Usage
			t.usage = t.usage.Add(ev.Usage)
			t.spend(ref, ev.Usage)
		}
	}
	switch {
	case !done && ctx.Err() != nil:
		return llm.Classify(llm.Failure{Provider: ref.Provider, Model: ref.Model, Cancelled: true, Err: ctx.Err(), Now: t.b.Now()})
	case !done || blank(t.reply) && core.Blank(t.text.String()):
		return llm.Classify(llm.Failure{Provider: ref.Provider, Model: ref.Model, Empty: true, Now: t.b.Now()})
	}
	return nil
}

// blank reports whether a reply says and asks for nothing. After something was
// said in the same turn, before a tool, it is a way to end an answer.
func blank(m llm.Message) bool {
	return core.Blank(m.Text()) && len(callsOf(m)) == 0
}

func (t *turn) say(text string) {
	if t.gap && text != "" {
		text, t.gap = "\n\n"+text, false
	}
	t.text.WriteString(text)
	t.writer.Text(text)
}

// discard drops what nobody has seen; false means that something was shown.
func (t *turn) discard() bool {
	if !t.writer.Discard() {
		return false
	}
	t.text.Reset()
	t.gap = false
	return true
}

// status sends the status notice, which is taken away again when the turn ends.
func (t *turn) status(ctx context.Context) {
	t.telling.Lock() // a summary may be waited for as well
	defer t.telling.Unlock()
	if t.statusRow != nil && t.statusRow.ID != 0 {
		return
	}
	row, err := t.b.Sender.Status(ctx, t.row(core.PostStatus, 0, notices.StillTrying))
	if err != nil {
		t.b.Log.WarnContext(ctx, "the status notice was not sent", "turn", t.id, "err", err)
	}
	if row.ID != 0 { // else there is only what an earlier run may have posted
		t.statusRow = &row
	}
}

// mend notes a repair for the rest of this call. What is stored stays as it is.
func (t *turn) mend(e *llm.Error) bool {
	r, ok := llm.RepairFor(e)
	if !ok {
		return false
	}
	if _, changes := r.Apply(t.messages(t.asked)); !changes {
		return false
	}
	t.repairs = append(t.repairs, r)
	return true
}

func (t *turn) attempted(a failover.Attempt) {
	if t.b.Attempted != nil {
		t.b.Attempted(t.in.Session, a)
	}
}

func (t *turn) row(kind core.PostKind, part int, text string) delivery.Row {
	return delivery.Row{
		Session: t.in.Session, Turn: t.id, Part: part, State: delivery.Queued, Created: t.b.Now(),
		Post: core.Post{Target: t.in.Message.Target, Kind: kind, Text: text, Nonce: delivery.Nonce(t.id, kind, part)},
	}
}

func callsOf(m llm.Message) []llm.Call {
	var calls []llm.Call
	for _, p := range m.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// elapsed is how long the turn took.
func (t *turn) elapsed() time.Duration { return t.b.Now().Sub(t.record.Started) }
