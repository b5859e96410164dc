package sessions

import (
	"context"
	"fmt"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/llm"
)

// Quota is how much may be used in a day; zero of something is no limit.
type Quota struct {
	Messages int
	Tokens   int
	Cost     llm.Money
}

// Quotas are the limits of a day. They are looked at before a message is taken
// up; an answer that has begun is finished, so that the last one of a day may
// go beyond a limit of tokens or money.
type Quotas struct {
	User  Quota // of each person, in all places together
	Place Quota // of each channel, with its threads
	Total Quota // of everything
	// ExemptAdmins: what admins say is counted, but never refused.
	ExemptAdmins bool
	// Zone is where a day begins and ends at midnight; nil is UTC.
	Zone *time.Location
}

func (q Quotas) of(k AccountKind) Quota {
	switch k {
	case UserAccount:
		return q.User
	case PlaceAccount:
		return q.Place
	}
	return q.Total
}

// any reports whether there is a limit at all.
func (q Quotas) any() bool {
	return q.User != (Quota{}) || q.Place != (Quota{}) || q.Total != (Quota{})
}

// reached names the limit that is used up, or "".
func (q Quota) reached(used Tally) string {
	switch {
	case q.Messages > 0 && used.Messages >= q.Messages:
		return messagesText(q.Messages)
	case q.Tokens > 0 && used.Tokens() >= q.Tokens:
		return tokensText(q.Tokens)
	case q.Cost > 0 && used.Cost >= q.Cost:
		return q.Cost.String()
	}
	return ""
}

// quotaError ends a turn that a limit forbids.
type quotaError struct {
	account Account
	limit   string
	ends    time.Time
}

func (e *quotaError) Error() string {
	return fmt.Sprintf("the %s quota of %s is used up", e.account.Kind, e.limit)
}

// bound reports whether limits hold for the turn: one that had begun before is
// counted already.
func (t *turn) bound() bool {
	q := t.set.Quotas
	exempt := q.ExemptAdmins && t.set.admin(t.in.Message.Thread().Platform, t.in.Message.Author)
	return q.any() && t.in.Turn == "" && !exempt
}

// within looks whether the turn may be run, before anything is done for it.
func (t *turn) within(ctx context.Context) error {
	if !t.bound() {
		return nil
	}
	return t.check(func(day string, a Account) (Bill, error) { return t.b.Store.Spent(ctx, day, a) })
}

// count counts the message, unless an earlier run of its turn did, and refuses
// it where another message has used up a limit meanwhile.
func (t *turn) count(tx Tx) error {
	if t.in.Turn != "" {
		return nil
	}
	if t.bound() {
		if err := t.check(func(day string, a Account) (Bill, error) { return tx.Spent(day, a), nil }); err != nil {
			return err
		}
	}
	one := Bill{llm.Ref{}: {Messages: 1}}
	day := t.set.Quotas.day(t.record.Started)
	s := tx.Session()
	s.Spent = s.Spent.add(day, one)
	tx.SetSession(s)
	for _, a := range accountsOf(t.in.Message.Thread(), t.in.Message.Author) {
		tx.Spend(day, a, one)
	}
	return nil
}

// check finds the first limit that is used up.
func (t *turn) check(spent func(day string, a Account) (Bill, error)) error {
	q := t.set.Quotas
	day := q.day(t.record.Started)
	for _, a := range accountsOf(t.in.Message.Thread(), t.in.Message.Author) {
		limits := q.of(a.Kind)
		if limits == (Quota{}) {
			continue
		}
		used, err := spent(day, a)
		if err != nil {
			return fmt.Errorf("reading what was used today: %w", err)
		}
		if limit := limits.reached(used.Sum()); limit != "" {
			return &quotaError{account: a, limit: limit, ends: q.ends(t.record.Started)}
		}
	}
	return nil
}

// refused ends a turn that a limit forbids. People are told, but not again and
// again: whoever asks once more within a minute gets no answer to that.
func (t *turn) refused(e *quotaError) {
	now := t.b.Now()
	t.record.Outcome, t.record.Error = "refused", quotaText(e, now)
	t.b.Log.Info("a quota is used up", "turn", t.id, "session", t.in.Session.String(), "quota", string(e.account.Kind), "limit", e.limit)
	if e.account.Kind == TotalAccount {
		t.b.alert(core.Alert{Kind: "quota", Key: t.set.Quotas.day(now), Text: totalReachedText(e, now)})
	}
	if t.in.Message.Author.Bot || !t.b.refusals.tell(e.account, t.in.Message, now) {
		t.end(nil)
		return
	}
	row := t.row(core.PostError, 0, t.record.Error)
	t.end(&row)
}

const (
	// refusalEvery is how often one person is told in one place that a limit is
	// used up, and how often all are told of a limit that they share.
	refusalEvery = time.Minute
	// maxRefusals is how many are told in one shared place within that time.
	maxRefusals = 3
)

// refusals remember who was told of a limit in the last minute. After a restart
// everybody is told once more.
type refusals struct {
	mu   sync.Mutex
	told []refusal // oldest first
}

type refusal struct {
	at    time.Time
	who   Account
	place string
}

// tell reports whether somebody is to be told now, and notes it.
func (r *refusals) tell(a Account, m core.Message, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.told) > 0 && now.Sub(r.told[0].at) >= refusalEvery {
		r.told = r.told[1:]
	}
	place := m.Thread().Holder().Key()
	here := 0
	for _, x := range r.told {
		if x.place != place {
			continue
		}
		if here++; x.who == a || here >= maxRefusals && m.Thread().Shared() {
			return false
		}
	}
	r.told = append(r.told, refusal{now, a, place})
	return true
}
