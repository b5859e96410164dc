package sessions

import (
	"context"
	"fmt"
	"slices"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/llm"
)

// begin loads the session, repairs a choice that cannot be followed, makes the
// plan, and stores the user's message.
func (t *turn) begin(ctx context.Context) error {
	b, key := t.b, t.in.Session
	sess, err := b.open(ctx, key, t.in.Message.Thread())
	if err != nil {
		return err
	}
	t.sess, t.stored = sess, sess.Summary.through()
	t.sess.Summary = sess.Summary.kept(t.past())
	if n := len(t.in.Message.Text); n > maxMessage {
		return &plainError{tooLargeText(n)}
	}
	t.sel = t.set.resolve(key.Agent, sess.Choice)
	t.plan = t.set.plan(key, t.id, sess, t.sel)
	t.plan.Started, t.plan.Person = t.record.Started, addressOf(t.in.Message)
	if t.sel.Source == failover.FromAuto {
		t.autoPlan()
	}
	t.record.Selected, t.record.Source = t.sel.Model, t.sel.Source
	if t.sel.Model == (llm.Ref{}) {
		return &plainError{noModelText}
	}
	if t.set.Override == (llm.Ref{}) {
		if why := t.set.impossible(key.Agent, sess.Choice); why != "" {
			// Told, and dropped, in the commit that ends the turn. The message
			// is to be sent again, so it is no part of the conversation.
			t.drops = true
			model, _ := t.set.agent(key.Agent).Policy.Resolve()
			return &plainError{impossibleText(sess.Choice.Model, why, model)}
		}
	}
	if err := t.within(ctx); err != nil {
		return err
	}
	if err := t.read(ctx); err != nil {
		return err
	}
	if keep, ok := t.isCompact(); ok {
		return t.compactByHand(ctx, keep)
	}
	if t.in.Tool {
		return &plainError{interruptedText}
	}
	if t.again = t.isRetry(); t.again {
		if err := t.retry(); err != nil {
			return err
		}
	} else if !t.resume() {
		return t.hear(ctx)
	}
	if err := t.look(t.hasImages()); err != nil {
		return err
	}
	return t.store(ctx)
}

// read reads what was said before, as far as it is not too old and no summary
// stands for it: only the newest of it where that is very long.
func (t *turn) read(ctx context.Context) error {
	past := t.past()
	defer func() {
		own := t.ownMessage()
		if own < 0 {
			own = len(t.history)
		}
		t.history = recentBefore(own, t.history, past)
		t.more = t.more && len(t.history) > 0
	}()
	through := t.sess.Summary.through()
	if through > 0 { // what it tells of, which is most of it, is not read
		whole, err := t.readAfter(ctx, through)
		if err != nil || whole {
			return err
		}
	}
	all, err := t.b.Store.Transcript(ctx, t.in.Session, t.sess.Transcript, historyLimit)
	if err != nil {
		return fmt.Errorf("reading the transcript: %w", err)
	}
	t.history = slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.Seq <= through })
	long := len(t.history) == historyLimit || len(t.history) == len(all) && bulk(all) >= historyBulk
	t.more = long && !tooOld(t.history[0].At, past)
	return nil
}

// readAfter reads what was said after an entry, and reports whether that is not
// too much.
func (t *turn) readAfter(ctx context.Context, seq int64) (whole bool, err error) {
	t.history = nil
	for {
		page, err := t.b.Store.Following(ctx, t.in.Session, t.sess.Transcript, seq, historyLimit)
		if err != nil {
			return false, fmt.Errorf("reading the transcript: %w", err)
		}
		if len(page) == 0 {
			return true, nil
		}
		t.history = append(t.history, page...)
		if len(t.history) >= historyLimit || bulk(t.history) >= historyBulk {
			return false, nil
		}
		seq = page[len(page)-1].Seq
	}
}

// bulk is how many bytes entries hold.
func bulk(entries []Entry) int {
	n := 0
	for _, e := range entries {
		for _, p := range e.Message.Parts {
			n += len(p.Text)
			switch {
			case p.Image != nil:
				n += len(p.Image.Data)
			case p.Document != nil:
				n += len(p.Document.Data)
			case p.Call != nil:
				n += len(p.Call.Args)
			case p.Result != nil:
				n += len(p.Result.Text)
			case p.Opaque != nil:
				n += len(p.Opaque.Data)
			}
		}
	}
	return n
}

const (
	// historyBulk is how many bytes of a history are so many that there may be
	// more than was read.
	historyBulk = HistoryBytes / 2
	// keptBulk is how many of them stay where the older part is summarised.
	keptBulk = HistoryBytes / 4
)

// historyLimit is the most entries of a transcript that a turn reads. When there
// are more, or they are very large, the older ones are summarised, whatever the window holds.
const historyLimit = 1000

// hear reads what came with the message and was said before it, and stores all
// of it.
func (t *turn) hear(ctx context.Context) error {
	files, err := t.fetch(ctx)
	if err == nil {
		err = t.listen(ctx, files)
	}
	if err == nil {
		err = t.look(slices.ContainsFunc(files, picture))
	}
	if err != nil {
		return err
	}
	with := bring(files, t.set.pdfs(t.plan.Chain[0]))
	t.unused = with.unused
	t.said = append(t.seeds(ctx), t.userEntry(with))
	t.history = append(t.history, t.said...)
	return t.store(ctx)
}

// look takes the chain for images where the message has some that the selected
// model cannot see.
func (t *turn) look(images bool) error {
	if !images {
		return nil
	}
	plan, ok := t.set.imagePlan(t.plan)
	if !ok {
		return &plainError{noImagesText(t.sel.Model)}
	}
	t.image = plan.Chain[0] != t.plan.Chain[0]
	t.plan = plan
	return nil
}

// store commits what must be known before the first request: the turn, the
// user's message, and the repair of a choice that holds something impossible.
func (t *turn) store(ctx context.Context) error {
	lost, broken := t.lostLock(), t.sess.Choice.Broken
	var posts []delivery.Row
	err := t.b.Store.CommitChoice(ctx, t.in.Session, 0, func(tx ChoiceTx) error {
		posts = nil
		s := tx.Session()
		if s.Pending != nil && t.sess.Pending != nil && s.Pending.ID == t.sess.Pending.ID {
			s.Pending = nil // this turn starts with that choice
		}
		if s.Choice == t.sess.Choice {
			s.Fresh = false
		}
		s.Target, s.LastActive, s.Seeded = t.in.Message.Target, t.record.Started, true
		tx.SetSession(s)
		if err := t.count(tx); err != nil {
			return err
		}
		if s.Choice == t.sess.Choice {
			switch {
			case t.auto.probing:
				s.Choice.Probed = t.record.Started
				tx.SetChoice(s.Choice)
			case lost != "" || broken != "":
				c := s.Choice
				c.Broken = ""
				if lost != "" {
					c.Lock = ""
				}
				tx.SetChoice(c)
				posts = tx.Queue(t.row(core.PostCommand, 0, repairText(broken, lost, t.sel.Model)))
			}
		}
		tx.Begin(t.in.Key, t.id)
		if len(t.said) > 0 {
			tx.Append(t.sess.Transcript, t.kept(t.said)...)
		}
		if len(t.unused) > 0 {
			posts = append(posts, tx.Queue(t.row(core.PostCommand, unusedPart, unusedText(t.unused)))...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("storing the message: %w", err)
	}
	t.b.Sender.Send(posts...)
	if t.auto.probing {
		t.sess.Choice.Probed = t.record.Started
	}
	if lost != "" {
		t.sel.Lock, t.plan.Lock = "", ""
	}
	return nil
}

// lostLock is the locked profile when it does not exist any more.
func (t *turn) lostLock() string {
	lock := t.sel.Lock
	if lock == "" {
		return ""
	}
	ps, err := t.set.Profiles(t.in.Session.Agent, failover.ProviderOf(lock))
	if err != nil {
		return ""
	}
	for _, p := range ps.List {
		if p.ID == lock {
			return ""
		}
	}
	return lock
}
