package llm

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Reset hints: where each provider says when a limit ends. The order is that of
// the most exact word: the reset of the window that rejects, then
// retry-after-ms, then retry-after, then the message, then a reset of a window
// that may not be the one that rejects.

// longestReset is the most that is believed of a stated time.
const longestReset = 32 * 24 * time.Hour

// hint is one value that may tell the time. Names of headers keep their dashes;
// names of body fields are without "_" and "-".
type hint struct{ name, value string }

// maxHints bounds what a hostile body can make us keep.
const maxHints = 48

func (ev *evidence) hint(key, value string, header bool) {
	if value == "" || len(ev.hints) >= maxHints {
		return
	}
	if header && !tellsTime(key) {
		return
	}
	if small, ok := timeHeaders[key]; ok {
		key = small
	} else {
		key = lower(key)
	}
	if !header {
		key = strings.ReplaceAll(strings.ReplaceAll(key, "_", ""), "-", "")
	}
	ev.hints = append(ev.hints, hint{key, value})
}

// timeHeaders are the headers that most answers with a limit have, as net/http
// writes them, in lower case.
var timeHeaders = func() map[string]string {
	m := map[string]string{}
	for _, name := range []string{"retry-after", "retry-after-ms", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
		"anthropic-ratelimit-unified-status", "anthropic-ratelimit-unified-reset", "anthropic-ratelimit-unified-representative-claim"} {
		m[http.CanonicalHeaderKey(name)] = name
	}
	for _, what := range []string{"limit", "remaining", "reset"} {
		for _, of := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
			for _, name := range []string{"x-ratelimit-" + what + "-" + of, "anthropic-ratelimit-" + of + "-" + what} {
				m[http.CanonicalHeaderKey(name)] = name
			}
		}
	}
	return m
}()

// timePrefixes begin the names of headers that belong to a limit.
var timePrefixes = []string{
	"retry-after", "x-ratelimit", "ratelimit", "anthropic-ratelimit-", "x-codex-", "x-rate-limit-", "x-retry-after", "x-ms-retry-after",
}

// beginsWith reports whether s begins with prefix, which is in lower case,
// however s is written.
func beginsWith(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if smallLetter[s[i]] != prefix[i] {
			return false
		}
	}
	return true
}

// tellsTime reports whether a header belongs to a limit.
func tellsTime(name string) bool {
	for _, p := range timePrefixes {
		if beginsWith(name, p) {
			return true
		}
	}
	return false
}

// hinted is the first hint of that name, or "".
func (ev *evidence) hinted(name string) string {
	for i := range ev.hints {
		if ev.hints[i].name == name {
			return ev.hints[i].value
		}
	}
	return ""
}

// resetAt is the moment that the provider named as the end of the limit, or
// zero. Moments in the past count as none.
func (ev *evidence) resetAt(now time.Time, reason Reason) time.Time {
	t := clock{now: now, beijing: ev.family == familyZhipu || ev.family == familyMiniMax}
	for _, source := range resetSources {
		if at := source(ev, t); at.After(now) {
			return t.believed(at)
		}
	}
	if reason != RateLimit {
		return time.Time{}
	}
	for _, family := range []string{"x-ratelimit-", "x-rate-limit-", "ratelimit-"} {
		if ev.hinted(family+"remaining") != "" {
			continue
		}
		if at := t.parse(ev.hinted(family + "reset")); at.After(now) {
			return t.believed(at)
		}
	}
	return time.Time{}
}

// resetSources are the places to look, the most exact first.
var resetSources = []func(*evidence, clock) time.Time{
	(*evidence).planWindow, (*evidence).anthropicWindow, (*evidence).googleDelay, (*evidence).emptyWindow,
	(*evidence).retryAfter, (*evidence).toldInWords,
}

// believed is at, but not later than anybody is believed.
func (t clock) believed(at time.Time) time.Time {
	if most := t.now.Add(longestReset); at.After(most) {
		return most
	}
	return at
}

// retryNames are the headers and fields that tell the wait itself.
var retryNames = []string{
	"retry-after", "x-retry-after", "retryafter", "retryafterseconds", "retryin", "retryinseconds",
	"x-ratelimit-reset-after", "x-rate-limit-reset-after", "resetafter", "resetafterseconds", "waitseconds", "estimatedtime",
}

// retryAfter is the wait in a header, or in a field of the same name.
func (ev *evidence) retryAfter(t clock) time.Time {
	for _, name := range []string{"retry-after-ms", "x-ms-retry-after-ms", "retryafterms"} {
		if at := t.later(ev.hinted(name), time.Millisecond); at.After(t.now) {
			return at
		}
	}
	for _, name := range retryNames {
		if at := t.parse(ev.hinted(name)); at.After(t.now) {
			return at
		}
	}
	return time.Time{}
}

// planWindow is the reset of a subscription's window: OpenAI's Codex names it
// in the body, and in headers for each of its windows. What counts from now is
// preferred to a moment, because clocks differ.
func (ev *evidence) planWindow(t clock) time.Time {
	for _, name := range []string{"resetsinseconds", "resetinseconds"} {
		if at := t.later(ev.hinted(name), time.Second); !at.IsZero() {
			return at
		}
	}
	for _, name := range []string{"resetsat", "resetat", "retryat", "resettime"} {
		if at := t.parse(ev.hinted(name)); at.After(t.now) {
			return at
		}
	}
	var full, first time.Time
	measured := false
	for _, h := range ev.hints {
		base, ok := strings.CutSuffix(h.name, "-window-minutes")
		if !ok {
			base, ok = strings.CutSuffix(h.name, "-used-percent")
		}
		if !ok || !strings.HasPrefix(base, "x-") {
			continue
		}
		at := t.later(ev.hinted(base+"-reset-after-seconds"), time.Second)
		if at.IsZero() {
			at = t.parse(ev.hinted(base + "-reset-at"))
		}
		used, err := strconv.ParseFloat(ev.hinted(base+"-used-percent"), 64)
		measured = measured || err == nil
		switch {
		case err == nil && used >= 100:
			full = latest(full, at)
		case strings.HasSuffix(base, "-primary"):
			first = at
		}
	}
	if !measured {
		return first
	}
	return full
}

// anthropicWindow is the reset of a rejecting subscription window.
func (ev *evidence) anthropicWindow(t clock) time.Time {
	const unified = "anthropic-ratelimit-unified-"
	if ev.hinted(unified+"status") != "rejected" {
		return time.Time{}
	}
	var at time.Time
	for _, h := range ev.hints {
		if window, ok := strings.CutSuffix(h.name, "-status"); ok && h.value == "rejected" && strings.HasPrefix(window, unified) {
			at = latest(at, t.parse(ev.hinted(window+"-reset")))
		}
	}
	if at.After(t.now) {
		return at
	}
	claim := ev.hinted(unified + "representative-claim")
	switch claim {
	case "five_hour":
		claim = "5h"
	case "seven_day":
		claim = "7d"
	}
	if at = t.parse(ev.hinted(unified + claim + "-reset")); at.After(t.now) {
		return at
	}
	return t.parse(ev.hinted(unified + "reset"))
}

// googleDelay is the longest of the forms in which Google states one delay; the
// sentence is often more exact than the field.
func (ev *evidence) googleDelay(t clock) time.Time {
	at := latest(t.parse(ev.hinted("retrydelay")), t.parse(ev.hinted("quotaresetdelay")))
	if at.After(t.now) {
		return latest(at, ev.toldInWords(t))
	}
	return t.parse(ev.hinted("quotaresettimestamp"))
}

// emptyWindow is the latest reset of a window that has nothing left.
func (ev *evidence) emptyWindow(t clock) time.Time {
	at := t.emptyPolicy(ev.hinted("ratelimit"))
	for _, h := range ev.hints {
		if h.value != "0" || !strings.Contains(h.name, "remaining") {
			continue
		}
		at = latest(at, t.parse(ev.hinted(strings.Replace(h.name, "remaining", "reset", 1))))
	}
	return at
}

// emptyPolicy reads the header of the drafts on rate limits, which holds all
// windows at once: "limit=100, remaining=0, reset=30" and, of later drafts,
// "burst";r=7;t=3, "daily";r=0;t=600.
func (t clock) emptyPolicy(s string) time.Time {
	var at time.Time
	left, reset := "", ""
	for part := range strings.FieldsFuncSeq(s, func(c rune) bool { return c == ',' || c == ';' || c == ' ' }) {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "remaining", "r":
			left = value
		case "reset", "t":
			reset = value
		default:
			left, reset = "", ""
		}
		if left == "0" {
			at = latest(at, t.later(reset, time.Second))
		}
	}
	return at
}

// toldInWords is the latest moment that the sentences name.
func (ev *evidence) toldInWords(t clock) time.Time {
	var at time.Time
	for _, s := range ev.texts {
		at = latest(at, t.inText(s))
	}
	return at
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
