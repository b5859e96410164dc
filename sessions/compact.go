package sessions

import (
	"context"
	"errors"
	"slices"
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
)

// compacts is the part of a turn that makes room in the window of its model.
type compacts struct {
	stated map[llm.Ref]int // windows that providers told in a refusal
	// failedSummary is why a summary that was to be made by itself was not, and
	// alone: there was nothing to summarise when one was needed.
	failedSummary error
	alone         bool
	toldFailed    bool     // the text of a failed turn tells of failedSummary
	partly        bool     // a summary did not reach as far as it was to
	made          *Summary // by hand, for the commit at the end
	stored        int64    // the last entry that the stored summary tells of, 0 where there is none
}

const (
	// keptPercent of a window is what stays word for word when the older part is
	// summarised by itself, or half of the room for the conversation where that is
	// less, and keptEntries is the most that does.
	keptPercent = 20
	keptEntries = historyLimit / 4
	// worthPercent of a window is the least that a summary is made of where only
	// the provider's count says that there is no room: more often than that it
	// is the system prompt and the tools that take it.
	worthPercent = 10
	// compactAgain is how long no summary is made by itself after one failed.
	compactAgain = 10 * time.Minute
	// summaryPart is the place of the post about a failed summary among those of
	// a turn that a command could have written.
	summaryPart = 2
)

// compactIfFull summarises the older part of the conversation when the next
// request would take more of the selected model's window than it may. It is no
// reason to end the turn if that fails: the request then does without what does
// not fit. An error is that of a turn that was cut off.
func (t *turn) compactIfFull(ctx context.Context) error {
	if t.failedSummary != nil || t.partly || t.b.Now().Sub(t.sess.Uncompacted) < compactAgain {
		return nil
	}
	cut, full := t.full()
	if !full {
		return nil
	}
	plan := t.compactionPlan()
	plan.Once = true // the answer is what people wait for
	return t.compact(ctx, cut, false, plan)
}

// full reports whether the window is full, and where that part of the history
// begins that is kept.
func (t *turn) full() (cut int, full bool) {
	ref := t.models()[0]
	room, window := t.room(ref), t.window(ref)
	used := sizes(t.history) + sizes(t.entries)
	for _, m := range t.sess.Summary.kept(t.past()).messages(room / 3) {
		used += size(m)
	}
	cut = t.boundary(min(window*keptPercent/100, room/2), keptEntries)
	switch {
	case cut == 0 && !t.more:
		return 0, false
	case used > room || t.more:
		return cut, true
	}
	return cut, t.reported(ref) > window*fullPercent/100 && sizes(t.history[:cut]) > window*worthPercent/100
}

// reported is how many tokens the next request takes by the count of the
// provider, or 0 where it gave none since the last summary.
func (t *turn) reported(ref llm.Ref) int {
	for i := len(t.history) - 1; i >= 0; i-- {
		e := t.history[i]
		if e.Model != ref || e.Usage.In == 0 || e.Again {
			continue
		}
		if s := t.sess.Summary; s != nil && !e.At.After(s.At) {
			return 0
		}
		return e.Usage.In + e.Usage.Out + sizes(t.history[i+1:]) + sizes(t.entries)
	}
	return 0
}

// boundary is where the newest part of the history begins that takes no more
// than so many tokens and entries, nor more bytes than may stay. It is at a user message, so that no tool call
// is parted from its result, and leaves what this turn was asked.
func (t *turn) boundary(room, entries int) int {
	cut := min(lastUser(t.history), len(t.history)-len(t.said))
	used, held := sizes(t.history[cut:]), bulk(t.history[cut:])
	for i := cut - 1; i >= 0 && len(t.history)-i <= entries; i-- {
		used += size(t.history[i].Message)
		if held += bulk(t.history[i : i+1]); used > room || held > keptBulk {
			break
		}
		if t.history[i].Message.Role == llm.User {
			cut = i
		}
	}
	return max(cut, 0)
}

func sizes(entries []Entry) (n int) {
	for _, e := range entries {
		n += size(e.Message)
	}
	return n
}

// shrink summarises all that was said before the message of this turn, since a
// model could not hold it; see [failover.Hooks].
func (t *turn) shrink(ctx context.Context, e *llm.Error) (bool, error) {
	ref := llm.Ref{Provider: e.Provider, Model: e.Model}
	if _, window, ok := llm.Lengths(e.Detail); ok {
		if t.stated == nil {
			t.stated = map[llm.Ref]int{}
		}
		t.stated[ref] = window
	}
	cut := t.boundary(0, 0)
	if cut == 0 && !t.more {
		t.alone = t.sess.Summary == nil
		return false, nil
	}
	if err := t.compact(ctx, cut, true, t.compactionPlan()); err != nil {
		return false, err
	}
	return t.failedSummary == nil, nil
}

// compact summarises the history before cut and stores the summary. What that
// did not reach stays in the history, unless all of it has to go. A failure is
// noted in the turn; an error is that of a turn that was cut off.
func (t *turn) compact(ctx context.Context, cut int, all bool, plan failover.Plan) error {
	t.failedSummary = nil
	s, err := t.summarise(ctx, cut, "", plan)
	var lost *failover.SummaryError
	switch {
	case errors.Is(err, errSwitched):
		return nil // another model is to answer, with what there is
	case errors.As(err, &lost) && lost.Final != nil && lost.Final.Reason == llm.Abort:
		return err
	case err == nil && s != nil:
		err = t.keepSummary(ctx, s)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		t.b.Log.WarnContext(ctx, "the conversation was not summarised", "turn", t.id, "session", t.in.Session.String(), "err", err)
		t.failedSummary = err
		return nil
	}
	if s != nil {
		t.sess.Summary = s
		t.sess.Pins, t.sess.PinnedUnder, t.plan.Pins = nil, nil, nil
	}
	if t.partly && !all {
		cut = told(t.history[:cut], s)
	}
	t.history, t.more = t.history[cut:], t.more && t.partly && cut == 0
	return nil
}

// told is how many of the first entries a summary tells of.
func told(entries []Entry, s *Summary) int {
	n := slices.IndexFunc(entries, func(e Entry) bool { return e.Seq > s.through() })
	if n < 0 {
		return len(entries)
	}
	return n
}

// keepSummary stores a summary, and what it cost, in one change. Where the
// conversation lost a message meanwhile, of which the summary may tell, this turn
// alone uses it: the next one makes a new one.
func (t *turn) keepSummary(ctx context.Context, s *Summary) error {
	kept := false
	err := t.b.insist(ctx, t.in, func() error {
		return t.b.Store.Commit(ctx, t.in.Session, 0, func(tx Tx) error {
			kept = t.put(tx, s)
			t.settleBill(tx)
			return nil
		})
	})
	if err != nil {
		return err
	}
	t.bill = nil
	if kept {
		t.stored = s.Through
	} else {
		t.b.Log.InfoContext(ctx, "a summary is not kept, since the conversation changed meanwhile", "turn", t.id, "session", t.in.Session.String())
	}
	return nil
}

// put stores a summary and frees the pins that nobody chose. It reports false,
// and changes nothing, where the conversation was reset, summarised by somebody
// else, or lost a message since the turn began: the summary may tell of it.
func (t *turn) put(tx Tx, s *Summary) bool {
	now := tx.Session()
	if now.Transcript != t.sess.Transcript || now.Unsaid != t.sess.Unsaid || now.Summary.through() != t.stored {
		return false
	}
	now.Summary = s
	now.Compactions++
	now.Pins, now.PinnedUnder, now.Uncompacted = nil, nil, time.Time{}
	tx.SetSession(now)
	return true
}

// noteFailed notes that a summary which was to be made by itself failed, and
// reports whether people are to be told: once, until one is made.
func (t *turn) noteFailed(s *Session) (tell bool) {
	if t.failedSummary == nil || s.Transcript != t.sess.Transcript {
		return false
	}
	tell = s.Uncompacted.IsZero()
	s.Uncompacted = t.b.Now()
	return tell
}

// measure adds to a failure how long the request was that did not fit.
func (t *turn) measure(lost *failover.SummaryError) {
	if lost.Final == nil || lost.Final.Reason != llm.ContextOverflow || len(lost.Attempts) == 0 {
		return
	}
	ref := lost.Attempts[len(lost.Attempts)-1].Model
	lost.Window, lost.Alone, lost.Unsummarised = t.window(ref), t.alone, t.failedSummary
	if length, window, ok := llm.Lengths(lost.Final.Detail); ok {
		lost.Size, lost.Window = length, window
		return
	}
	req := t.request(ref)
	lost.Size = tokens(len(req.System)) + t.agent.MaxTokens
	for _, m := range req.Messages {
		lost.Size += size(m)
	}
}

// models are those that may answer the turn, as they stand: a choice that was made
// meanwhile replaces them.
func (t *turn) models() []llm.Ref {
	if t.chain != nil {
		return t.chain.Plan().Chain
	}
	return t.plan.Chain
}

// compactionPlan is the plan of a request for a summary: the session's own
// chain, or the one model that is configured for it.
func (t *turn) compactionPlan() failover.Plan {
	p := t.set.plan(t.in.Session, t.id, t.sess, t.sel)
	if !t.image {
		p.Chain = t.models()
	}
	p.Aside, p.Fresh, p.Lock = true, false, t.sel.Lock
	p.Started, p.Person = t.record.Started, t.plan.Person
	if m := t.set.CompactionModel; m != (llm.Ref{}) {
		p.Chain, p.Source, p.Lock = []llm.Ref{m}, failover.FromDefault, ""
	}
	return p
}

// isCompact reports whether the turn is the command /compact, and what its
// summary is to keep.
func (t *turn) isCompact() (keep string, ok bool) {
	c, args, ok := core.ParseCommand(t.in.Message.Text)
	return args, ok && c.Name == "compact"
}

// compactByHand carries out /compact: all but the last exchange is summarised.
func (t *turn) compactByHand(ctx context.Context, keep string) error {
	cut := lastUser(t.history)
	switch {
	case len(keep) > maxArgs:
		return &commandReply{longArgsText("compact")}
	case cut == 0 && !t.more:
		return &commandReply{nothingToCompactText}
	}
	err := t.b.Store.Commit(ctx, t.in.Session, 0, func(tx Tx) error {
		tx.Begin(t.in.Key, t.id)
		return t.count(tx)
	})
	if err != nil {
		return err
	}
	before := sizes(t.history)
	if old := t.sess.Summary.kept(t.past()); old != nil {
		before += tokens(len(old.Text))
	}
	s, err := t.summarise(ctx, cut, keep, t.compactionPlan())
	var lost *failover.SummaryError
	switch {
	case errors.As(err, &lost) && lost.Final != nil && lost.Final.Reason == llm.Abort:
		return err
	case err != nil:
		t.record.Outcome = "failed"
		t.b.Log.WarnContext(ctx, "the conversation was not summarised", "turn", t.id, "session", t.in.Session.String(), "err", err)
		return &commandReply{notSummarisedText(err, t.b.Now())}
	case s == nil:
		return &commandReply{nothingToCompactText}
	}
	t.made, t.record.Outcome = s, "summarised"
	if t.partly {
		return &commandReply{partlyCompactedText}
	}
	return &commandReply{compactedText(before, sizes(t.history[cut:])+tokens(len(s.Text)))}
}
