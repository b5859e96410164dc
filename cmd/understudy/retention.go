package main

import (
	"context"
	"log/slog"
	"regexp"
	"strconv"
	"time"

	"understudy/sessions"
)

const (
	tidyEvery = time.Hour
	// tidyAtOnce is what is removed in one change, and tidyPause the time that
	// is left to the turns before the next one.
	tidyAtOnce = 200
	tidyPause  = 100 * time.Millisecond
)

const (
	day = 24 * time.Hour
	// keysAtLeast is far longer than any platform delivers a message again, and
	// than the day that the adapters look back after a break.
	keysAtLeast = 7 * day
)

// spentFor is how long it is known what people and places used in a day. Limits
// look at today alone, wherever on earth that is counted.
const spentFor = 7 * day

var wholeDays = regexp.MustCompile(`^[1-9][0-9]{0,4}d$`)

// parseAge reads "30d", or a duration; 0 is for ever, written "off" or "0".
func parseAge(s string) (age time.Duration, ok bool) {
	switch {
	case s == "off" || s == "0":
		return 0, true
	case wholeDays.MatchString(s):
		n, err := strconv.Atoi(s[:len(s)-1])
		return time.Duration(n) * day, err == nil
	}
	age, err := time.ParseDuration(s)
	return age, err == nil && age > 0
}

// isAge wants an age of at least so much, or none.
func isAge(least time.Duration) func(string) bool {
	return func(s string) bool {
		age, ok := parseAge(s)
		return ok && (age == 0 || age >= least) && age <= 99999*day
	}
}

// said is how long what was said is kept; 0 is for ever.
func (c retentionConfig) said() time.Duration {
	age, _ := parseAge(c.Transcripts) // was read before
	return age
}

// before says what is too old at a moment.
func (c retentionConfig) before(now time.Time) sessions.Retention {
	since := func(s string) time.Time {
		if age, ok := parseAge(s); ok && age > 0 {
			return now.Add(-age)
		}
		return time.Time{}
	}
	return sessions.Retention{Transcripts: since(c.Transcripts), Notices: since(c.Notices), Inbox: since(c.Inbox),
		Spent: now.Add(-spentFor).UTC().Format(time.DateOnly)}
}

// tidy removes what is too old, at once and every hour, until the context ends.
// It takes little at a time, so that no turn waits for it.
func (c retentionConfig) tidy(ctx context.Context, st sessions.Keeper, log *slog.Logger) {
	for {
		removed := 0
		for {
			n, err := st.Prune(ctx, c.before(time.Now()), tidyAtOnce)
			if err != nil && ctx.Err() == nil {
				log.Warn("what is too old could not be removed; the next try is in an hour", "err", err)
			}
			removed += n
			if err != nil || n == 0 || !waited(ctx, tidyPause) {
				break
			}
		}
		if removed > 0 {
			log.Info("what was too old is removed", "rows", removed)
		}
		if !waited(ctx, tidyEvery) {
			return
		}
	}
}

// waited reports whether the time passed before the context ended.
func waited(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
