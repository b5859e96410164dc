package sessions

import (
	"slices"
	"time"

	"understudy/core/llm"
)

// What was said too long ago is not told to models any more, nor told on by a
// summary. That goes by the time alone: whether the store has removed it by then
// does not matter.

// past is the moment before which everything is too old, for what happens now;
// zero where nothing ever is.
func (s *Settings) past(now time.Time) time.Time {
	if s.Retention <= 0 {
		return time.Time{}
	}
	return now.Add(-s.Retention)
}

// past is that moment now.
func (t *turn) past() time.Time {
	if t.set.Retention <= 0 {
		return time.Time{}
	}
	return t.set.past(t.b.Now())
}

// tooOld reports whether something from at is from before a moment. What has no
// time is not, and nothing is where there is no moment.
func tooOld(at, past time.Time) bool { return !at.IsZero() && at.Before(past) }

// kept is a summary as long as nothing that it tells of is from before a moment.
func (s *Summary) kept(past time.Time) *Summary {
	if s == nil || tooOld(s.Since, past) {
		return nil
	}
	return s
}

// recent leaves out the exchanges in which something was said before a moment.
func recent(entries []Entry, past time.Time) []Entry {
	old := func(e Entry) bool { return tooOld(e.At, past) }
	if !slices.ContainsFunc(entries, old) {
		return entries
	}
	var list []Entry
	for from := 0; from < len(entries); {
		to := exchange(entries, from)
		if !slices.ContainsFunc(entries[from:to], old) {
			list = append(list, entries[from:to]...)
		}
		from = to
	}
	return list
}

// recentBefore leaves them out before a place; what a turn was asked itself is told
// however old it is.
func recentBefore(place int, entries []Entry, past time.Time) []Entry {
	list := recent(entries[:place], past)
	if len(list) == place {
		return entries
	}
	return slices.Concat(list, entries[place:])
}

// exchange is where the next one begins after that which begins with an entry.
func exchange(entries []Entry, from int) int {
	to := from + 1
	for to < len(entries) && entries[to].Message.Role != llm.User {
		to++
	}
	return to
}

// A summary that began with the oldest of what is not too old would be too old
// itself soon after, and in a busy conversation another one would have to be made
// of everything every day. So it begins with what may be told of for a quarter of
// the time yet, and lasts that long.
const lastingPart = 4

// lasting is the moment from when on a new summary tells what was said, given
// when the last of that was. Where all of it is older, all is told that may be:
// there will be less to tell once that is too old.
func (t *turn) lasting(last time.Time) time.Time {
	past := t.past()
	from := past.Add(t.set.Retention / lastingPart)
	if past.IsZero() || tooOld(last, from) {
		return past
	}
	return from
}

// since is the earliest time of some entries and of what was told before, in UTC.
func since(before time.Time, entries []Entry) time.Time {
	for _, e := range entries {
		if !e.At.IsZero() && (before.IsZero() || e.At.Before(before)) {
			before = e.At.UTC()
		}
	}
	return before
}
