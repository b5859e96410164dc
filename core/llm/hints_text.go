package llm

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // providers name zones, and small images have none
)

// clock reads points of time as providers write them, seen from now.
type clock struct {
	now     time.Time
	beijing bool // a date without a zone is Beijing's, else it is UTC
}

// later is now plus a number of units.
func (t clock) later(number string, unit time.Duration) time.Time {
	if number == "" {
		return time.Time{}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) {
		return time.Time{}
	}
	return t.now.Add(span(v, unit))
}

// span is v units, at most a hundred years, so that nothing overflows.
func span(v float64, unit time.Duration) time.Duration {
	const most = 100 * 365 * 24 * time.Hour
	if d := v * float64(unit); d < float64(most) {
		return time.Duration(d + 0.5)
	}
	return most
}

// parse reads a value that stands alone: seconds from now, seconds or
// milliseconds since 1970, a duration, a timestamp or an HTTP date.
func (t clock) parse(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		switch {
		case v >= 1e12 && v < 1e15:
			return time.UnixMilli(int64(v))
		case v >= 1e9 && v < 1e12:
			return time.Unix(0, int64(v*1e9))
		}
		return t.later(s, time.Second)
	}
	if d, rest := duration(lower(s)); d > 0 && rest == "" {
		return t.now.Add(d)
	}
	if at, err := http.ParseTime(s); err == nil {
		return at
	}
	at, _ := t.date(s)
	return at
}

// units of time by their names; the longest name of a letter run decides.
var units = map[string]time.Duration{
	"ms": time.Millisecond, "msec": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
	"秒": time.Second, "秒钟": time.Second, "分": time.Minute, "分钟": time.Minute, "小时": time.Hour, "个小时": time.Hour, "天": 24 * time.Hour,
}

// duration reads "5h59m59.9s", "58 hours" or "5 days and 2 hours" at the
// beginning of s, which is lower case, and returns what follows.
func duration(s string) (sum time.Duration, rest string) {
	rest = s
	for {
		v, r, ok := leadingNumber(strings.TrimLeft(rest, " ,"))
		if !ok {
			return sum, rest
		}
		r = strings.TrimLeft(r, " ")
		end := 0
		for end < len(r) && (isLetter(r[end]) && r[end] != '_' || r[end] >= 0x80) {
			end++
		}
		unit, name := time.Duration(0), r[:end]
		for len(name) > 0 && unit == 0 {
			if unit = units[name]; unit == 0 && name[0] >= 0x80 {
				name = name[:len(name)-1] // Chinese goes on without a space
				continue
			}
			break
		}
		if unit == 0 {
			return sum, rest
		}
		sum += span(v, unit)
		if sum > 100*365*24*time.Hour {
			return sum, ""
		}
		rest = r[len(name):]
		rest = strings.TrimPrefix(rest, " and")
	}
}

// leadingNumber reads a decimal number.
func leadingNumber(s string) (v float64, rest string, ok bool) {
	end := 0
	for end < len(s) && end < 24 && (isDigit(s[end]) || s[end] == '.' && end > 0 && end+1 < len(s) && isDigit(s[end+1])) {
		end++
	}
	if end == 0 {
		return 0, s, false
	}
	v, err := strconv.ParseFloat(s[:end], 64)
	return v, s[end:], err == nil
}

// markers are the words that a time follows. ways are what may stand between.
var (
	markers = []string{"again", "retry", "retrying", "reset", "resets", "renew", "renews", "wait", "access", "available", "until", "refreshes", "将在", "将于", "请在", "请等待"}
	ways    = []string{"again", "in", "after", "at", "on", "by", "for", "about", "approximately", "another", "around", "is", "the", "next", "to", "from", "now"}
)

// beginsMarker are the first bytes of markers.
var beginsMarker = func() (t [256]bool) {
	for _, m := range markers {
		t[m[0]] = true
	}
	return
}()

// maxProse is how much of a sentence is searched for a time, in bytes.
const maxProse = 8 << 10

// inText finds the first time that a sentence names as the end of a wait.
func (t clock) inText(s string) time.Time {
	s = s[:min(len(s), maxProse)]
	if _, after, ok := strings.Cut(s, "|"); ok && len(after) >= 10 && isDigit(after[0]) {
		// "Claude AI usage limit reached|1774036800"
		if at := t.parse(strings.TrimSpace(after)); at.After(t.now) {
			return at
		}
	}
	low := lower(s)
	for i := 0; i < len(low); i++ {
		if !beginsMarker[low[i]] || i > 0 && isLetter(low[i-1]) {
			continue
		}
		m := longestPrefix(low[i:], markers)
		if m == 0 {
			continue
		}
		if at := t.after(s[i+m:], low[i+m:]); at.After(t.now) {
			return at
		}
	}
	return time.Time{}
}

// longestPrefix is the length of the longest of words that s begins with, 0
// for none. A Latin word must end where it ends.
func longestPrefix(s string, words []string) int {
	n := 0
	if s == "" || !isLetter(s[0]) && s[0] < 0x80 {
		return 0
	}
	for _, w := range words {
		if len(w) > n && strings.HasPrefix(s, w) && (w[0] >= 0x80 || len(s) == len(w) || charClass[s[len(w)]]&(charLetter|charDigit) == 0) {
			n = len(w)
		}
	}
	return n
}

// after reads the time behind a marker; s and low are the same text as written
// and in lower case.
func (t clock) after(s, low string) time.Time {
	for n := 0; n < 5; n++ {
		low = strings.TrimLeft(low, " :=~(\"'")
		skip := longestPrefix(low, ways)
		if skip == 0 {
			break
		}
		low = low[skip:]
	}
	s = s[len(s)-len(low):]
	d, rest := duration(low)
	if d > 0 {
		return t.now.Add(d)
	}
	if v, r, ok := leadingNumber(rest); ok && (r == "" || r == "." || strings.HasPrefix(r, ". ")) {
		return t.now.Add(span(v, time.Second)) // "retry after 30"
	}
	at, _ := t.date(s)
	return at
}
