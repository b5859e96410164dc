package sessions

import (
	"context"
	"errors"
	"slices"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
)

// commitWaits are the waits between tries of what the store refused; the last one
// repeats while the store itself is in trouble.
var commitWaits = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}

// finish commits the end of a turn, whatever it was, and sends what is due.
func (t *turn) finish(ctx context.Context, err error) {
	cause := context.Cause(ctx)
	if t.writer != nil {
		defer t.writer.Close()
	}
	if t.chain != nil {
		t.chain.End()
		t.record.Attempts = t.chain.Attempts()
		t.record.Chain = t.chain.Plan().Chain
	}
	var over *quotaError
	switch {
	case err == nil:
		t.answered()
	case errors.Is(cause, errShutdown), errors.Is(err, failover.ErrStopping):
		return // the next start takes it up again
	case errors.Is(cause, errStopped), errors.Is(cause, errReset):
		t.record.Outcome = "stopped"
		var cut []Entry
		if errors.Is(cause, errStopped) {
			cut = t.cutOff()
		}
		t.end(nil, cut...)
	case errors.As(err, &over):
		t.refused(over)
	default:
		t.failed(err, cause)
	}
}

// failed ends the turn with an error text.
func (t *turn) failed(err, cause error) {
	now := t.b.Now()
	t.record.Outcome = "failed"
	var lost *failover.SummaryError
	var plain *plainError
	switch {
	case errors.Is(cause, errTooLong):
		t.record.Error = tooLongText(t.set.TurnTimeout)
	case errors.As(err, &plain):
		t.record.Error = plain.text
		if t.in.Tool {
			t.record.Outcome = "interrupted"
		}
	case errors.As(err, &lost):
		t.measure(lost)
		t.record.Error = notices.Failure(lost, now)
		t.toldFailed = lost.Unsummarised != nil
	default:
		t.record.Error = notices.Failure(&failover.SummaryError{Plan: t.plan, Local: err}, now)
	}
	t.b.Log.Warn("a turn has no answer", "turn", t.id, "session", t.in.Session.String(), "err", err)
	if t.in.Tool && t.writer != nil {
		// What people saw of it is not to stand there as if it were an answer.
		t.endWith(t.writer.Finish(t.record.Error))
		return
	}
	row := t.row(core.PostError, 0, t.record.Error)
	if lost != nil && t.sel.Source == failover.FromUser && !t.set.ModelAdmins {
		row.Post.Buttons = []core.Button{{Label: defaultLabel, Token: "/model", Value: "default"}}
	}
	t.end(&row)
}

// end commits a turn that was not answered. What people saw of an answer is
// marked as cut off; errorRow, if any, is a post of its own after it, and cut
// goes into the transcript.
func (t *turn) end(errorRow *delivery.Row, cut ...Entry) {
	var rows []delivery.Row
	if t.writer != nil {
		rows = t.writer.Interrupt()
	}
	if errorRow != nil {
		rows = append(rows, *errorRow)
	}
	t.endWith(rows, cut...)
}

// endWith commits a turn that was not answered with the posts that tell so.
func (t *turn) endWith(rows []delivery.Row, cut ...Entry) {
	t.commit(func(tx Tx) []delivery.Row {
		s := tx.Session()
		s.LastTurn = t.id
		if t.toldFailed || !s.Uncompacted.IsZero() { // else who is answered next is told
			t.noteFailed(&s)
		}
		tx.SetSession(s)
		tx.Append(t.sess.Transcript, cut...)
		return tx.Queue(rows...)
	})
}

// cutOff is what a turn that a user stopped leaves in the transcript: once a
// tool ran, what was done, with a result for each call and a note that more was
// not wanted. Without one the question stands alone.
func (t *turn) cutOff() []Entry {
	if len(t.entries) == 0 {
		return nil
	}
	entries := slices.Clone(t.entries)
	done := map[string]bool{}
	for _, e := range entries {
		for _, p := range e.Message.Parts {
			if p.Result != nil {
				done[p.Result.ID] = true
			}
		}
	}
	add := func(m llm.Message) { entries = append(entries, Entry{Turn: t.id, At: t.b.Now(), Message: m}) }
	for _, e := range t.entries {
		for _, c := range callsOf(e.Message) {
			if !done[c.ID] {
				add(llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.Result{ID: c.ID, Text: cancelledText, IsError: true}}}})
			}
		}
	}
	add(llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: stoppedNote}}})
	return entries
}

// finishCommand ends a turn that turned out to be a command, perhaps with
// nothing to do.
func (t *turn) finishCommand(text string) {
	t.commitOnly(func(tx Tx) []delivery.Row {
		if t.made != nil && !t.put(tx, t.made) {
			text, t.record.Outcome = changedMeanwhileText, "failed"
		}
		t.settleBill(tx)
		if t.record.Outcome != "" {
			s := tx.Session()
			s.LastTurn = t.id
			tx.SetSession(s)
			t.record.Ended = t.b.Now()
			tx.SaveTurn(t.record)
		}
		return tx.Queue(t.row(core.PostCommand, 0, text))
	})
}

// answered commits an answer: transcript, session, notice and posts in one.
func (t *turn) answered() {
	parts := t.writer.Finish(t.text.String())
	t.record.Outcome, t.record.Active = "answered", t.answer.Model
	if len(parts) == 0 {
		t.record.Outcome = "silent"
	}
	t.commit(func(tx Tx) []delivery.Row {
		s := tx.Session()
		rows := tx.Queue(parts...)
		tx.Append(t.sess.Transcript, t.entries...)
		s.LastTurn = t.id
		s.Usage = s.Usage.Add(t.usage)
		if t.noteFailed(&s) {
			rows = append(rows, tx.Queue(t.row(core.PostCommand, summaryPart, notSummarisedText(t.failedSummary, t.b.Now())))...)
		}
		if s.Transcript == t.sess.Transcript {
			rows = append(rows, t.settleModels(tx, &s)...)
		}
		tx.SetSession(s)
		return rows
	})
	for _, a := range append(t.alerts, missingAlerts(t.record.Attempts)...) {
		t.b.alert(a)
	}
}

// settleModels notes who answered, pins the profile, and queues the notice that
// the change calls for.
func (t *turn) settleModels(tx Tx, s *Session) []delivery.Row {
	provider := t.answer.Model.Provider
	if t.answer.Pin {
		*s = t.set.pin(t.in.Session.Agent, *s, provider, t.answer.Profile)
	}
	var before, after notices.State
	var text string
	o := notices.Outcome{Turn: t.id, Selected: t.selected(), Active: t.answer.Model, Attempts: t.record.Attempts, At: t.b.Now()}
	switch {
	case t.image:
		// Not the session's models: a pair of their own, and the first of the
		// image chain is what counts as selected.
		o.Selected = t.plan.Chain[0]
		before = s.ImageNotice
		after, text = notices.Next(before, o)
		s.ImageNotice = after
	case t.set.resolve(t.in.Session.Agent, s.Choice).Model != t.sel.Model:
		// Somebody chose another model while the answer was on its way: what
		// there was to say about the old one is over.
		s.Active, s.Notice = o.Active, notices.State{}
	default:
		before = t.before(s.Notice)
		after, text = notices.Next(before, o)
		s.Active, s.Notice = o.Active, after
	}
	policy := t.set.notices(t.in.Message.Thread())
	t.alerts = fallbackAlerts(before, after, policy, text, o.At)
	if text == "" {
		return nil
	}
	if policy != notices.Off {
		t.b.Log.Info("model fallback notice", "turn", t.id, "session", t.in.Session.String(), "text", text)
	}
	if policy != notices.Reply {
		return nil
	}
	return tx.Queue(t.row(core.PostNotice, 0, text))
}

// commit is the one commit at the end of a turn.
func (t *turn) commit(change func(Tx) []delivery.Row) {
	t.record.Ended = t.b.Now()
	t.commitOnly(func(tx Tx) []delivery.Row {
		rows := change(tx)
		t.settleBill(tx)
		tx.SaveTurn(t.record)
		return rows
	})
}

// commitOnly settles the message with the change and sends the rows. A store
// that refuses is asked again a few times, and one that is in trouble until that
// is over; the message stays in the inbox if it never agrees.
func (t *turn) commitOnly(change func(Tx) []delivery.Row) {
	var rows []delivery.Row
	err := t.b.insist(t.b.base, t.in, func() error {
		return t.commitWith(context.WithoutCancel(t.b.base), func(tx Tx) error {
			rows = change(tx)
			tx.Settle(t.in.Key)
			return nil
		})
	})
	if err != nil {
		t.b.Log.Error("a turn could not be stored; its message stays in the inbox", "turn", t.id, "err", err)
		return
	}
	t.b.Sender.Send(rows...)
	if t.statusRow != nil {
		t.b.Sender.Remove(context.WithoutCancel(t.b.base), *t.statusRow)
	}
	t.b.Log.Info("turn ended", "turn", t.id, "session", t.in.Session.String(), "outcome", t.record.Outcome,
		"selected", t.record.Selected.String(), "active", t.record.Active.String(), "took", t.elapsed().String())
}

// insist asks a store that refuses a commit a few times more, and one that is in
// trouble until that is over; whoever waits for an answer to the message is told
// then. It returns the last error when it gives up or the context ends.
func (b *Bot) insist(ctx context.Context, in Inbound, commit func() error) error {
	for try := 0; ; try++ {
		err := commit()
		if err == nil || try >= len(commitWaits) && !core.StoreTrouble(err) {
			return err
		}
		if try < len(commitWaits) {
			b.Log.Warn("the store refused a commit, trying again", "err", err)
		}
		if !b.waitFor(ctx, nil, in, try, err) {
			return err
		}
	}
}

// outlast does something with the store, again and again while it is in trouble,
// until the context ends, with the last error, or the bot stops.
func (b *Bot) outlast(ctx context.Context, in Inbound, do func() error) error {
	for try := 0; ; try++ {
		err := do()
		if err == nil || !core.StoreTrouble(err) {
			return err
		}
		if try == 0 {
			b.Log.Warn("the store is in trouble, and a message waits for it", "session", in.Session.String(), "err", err)
		}
		if !b.waitFor(ctx, b.stopping, in, try, err) {
			if ctx.Err() == nil {
				err = failover.ErrStopping
			}
			return err
		}
	}
}

// waitFor waits before the next try; it reports false when there is to be none.
func (b *Bot) waitFor(ctx context.Context, stop <-chan struct{}, in Inbound, try int, err error) bool {
	if try >= triesUnseen && core.StoreTrouble(err) {
		b.tellHeld(in.Message)
	}
	select {
	case <-b.After(commitWaits[min(try, len(commitWaits)-1)]):
		return true
	case <-stop:
	case <-ctx.Done():
	}
	return false
}

// triesUnseen are the tries, 7 s of them, of which nobody is told who waits for
// an answer.
const triesUnseen = 3
