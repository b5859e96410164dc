package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"understudy/core"
	"understudy/sessions"
)

// Prune forgets what is too old.
func (s *Store) Prune(ctx context.Context, r sessions.Retention, limit int) (removed int, err error) {
	if err := s.enter(ctx, "prune"); err != nil {
		return 0, err
	}
	defer s.leave()
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if err := s.closed(); err != nil {
		return 0, err
	}
	d, work := &s.m.data, s.m.data.atWork()
	said, err := d.oldEntries(r.Transcripts, work)
	if err != nil {
		return 0, err
	}
	turns, err := d.oldTurns(r.Notices, work)
	if err != nil {
		return 0, err
	}
	told, err := d.oldSummaries(r.Transcripts, work)
	if err != nil {
		return 0, err
	}
	for _, o := range oldest(told, limit) {
		if err := d.dropSummary(o.key); err != nil {
			return removed, err
		}
		removed++
	}
	if len(told) >= limit {
		said = nil // a summary may be left of what is too old, so that stays as well
	}
	for _, o := range oldest(said, limit) {
		d.transcripts[o.key.transcript] = slices.DeleteFunc(slices.Clone(d.transcripts[o.key.transcript]), func(e entry) bool { return e.seq == o.key.seq })
		removed++
	}
	for _, o := range oldest(turns, limit) {
		delete(d.turns, o.key)
		removed++
	}
	for _, o := range oldest(d.oldRows(r.Notices, work), limit) {
		turn := d.rows[o.key].Turn
		d.rowsOf[turn] = slices.DeleteFunc(slices.Clone(d.rowsOf[turn]), func(id int64) bool { return id == o.key })
		delete(d.rows, o.key)
		removed++
	}
	for _, o := range oldest(d.oldKeys(r.Inbox), limit) {
		delete(d.inbox, o.key)
		removed++
	}
	for _, o := range oldest(d.oldDays(r.Spent), limit) {
		delete(d.spent, o.key)
		removed++
	}
	return removed, nil
}

// oldDays are the purses of days before one.
func (d *data) oldDays(first string) (list []old[purse]) {
	for p := range d.spent {
		if day, err := time.Parse(time.DateOnly, p.day); err == nil && p.day < first {
			list = append(list, old[purse]{p, day, 0})
		}
	}
	return list
}

// oldSummaries are the sessions whose summary tells of something that is too old.
func (d *data) oldSummaries(before time.Time, work map[core.Key]bool) (list []old[core.Key], err error) {
	for k, r := range d.sessions {
		s, err := decode[sessions.Session](r.rest)
		if err != nil {
			return nil, err
		}
		if s.Summary != nil && tooOld(s.Summary.Since, before) && !work[k] {
			list = append(list, old[core.Key]{k, s.Summary.Since, 0})
		}
	}
	return list, nil
}

// dropSummary takes the summary of a session away.
func (d *data) dropSummary(k core.Key) error {
	r := d.sessions[k]
	s, err := decode[sessions.Session](r.rest)
	if err != nil {
		return err
	}
	s.Summary = nil
	if r.rest, _, err = encode(s); err == nil {
		d.sessions[k] = r
	}
	return err
}

// old is something that may be forgotten.
type old[K any] struct {
	key K
	at  time.Time
	nth int64 // in order of storing, where times are the same
}

type place struct {
	transcript
	seq int64
}

// oldest are the first of a list by age.
func oldest[K any](list []old[K], limit int) []old[K] {
	slices.SortFunc(list, func(a, b old[K]) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.nth, b.nth)) })
	return list[:min(len(list), max(limit, 0))]
}

// tooOld reports whether something from at is from before a moment. What has no
// time is not, and nothing is without a moment.
func tooOld(at, before time.Time) bool { return !before.IsZero() && !at.IsZero() && at.Before(before) }

// atWork are the sessions of which a message waits or a post is to be sent.
func (d *data) atWork() map[core.Key]bool {
	work := map[core.Key]bool{}
	for m := range maps.Values(d.inbox) {
		if !m.settled {
			work[m.Session] = true
		}
	}
	for r := range maps.Values(d.rows) {
		if r.State.Open() {
			work[r.Session] = true
		}
	}
	return work
}

func (d *data) oldEntries(before time.Time, work map[core.Key]bool) (list []old[place], err error) {
	for tr, entries := range d.transcripts {
		for _, e := range entries {
			v, err := decode[sessions.Entry](e.doc)
			if err != nil {
				return nil, err
			}
			if tooOld(v.At, before) && !work[tr.key] {
				list = append(list, old[place]{place{tr, e.seq}, v.At, e.seq})
			}
		}
	}
	return list, nil
}

func (d *data) oldTurns(before time.Time, work map[core.Key]bool) (list []old[string], err error) {
	for id, doc := range d.turns {
		v, err := decode[sessions.Turn](doc)
		if err != nil {
			return nil, err
		}
		if tooOld(v.Started, before) && !work[v.Session] {
			list = append(list, old[string]{id, v.Started, 0})
		}
	}
	return list, nil
}

func (d *data) oldRows(before time.Time, work map[core.Key]bool) (list []old[int64]) {
	for id, r := range d.rows {
		if tooOld(r.Settled, before) && !r.State.Open() && !work[r.Session] {
			list = append(list, old[int64]{id, r.Settled, id})
		}
	}
	return list
}

func (d *data) oldKeys(before time.Time) (list []old[string]) {
	for key, m := range d.inbox {
		if m.settled && tooOld(m.At, before) {
			list = append(list, old[string]{key, m.At, m.Seq})
		}
	}
	return list
}
