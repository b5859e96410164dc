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
	if iso, ok := strings.CutPrefix(lower(s), "p"); ok {
		days, clock, _ := strings.Cut(iso, "t")
		if d, rest := duration(days + clock); d > 0 && rest == "" {
			return t.now.Add(d) // "PT1M30S"
		}
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
	"sekunde": time.Second, "sekunden": time.Second, "seconde": time.Second, "secondes": time.Second, "segundo": time.Second, "segundos": time.Second,
	"minuten": time.Minute, "minuto": time.Minute, "minutos": time.Minute,
	"stunde": time.Hour, "stunden": time.Hour, "heure": time.Hour, "heures": time.Hour, "hora": time.Hour, "horas": time.Hour,
	"tag": 24 * time.Hour, "tage": 24 * time.Hour, "tagen": 24 * time.Hour, "jour": 24 * time.Hour, "jours": 24 * time.Hour, "dia": 24 * time.Hour, "dias": 24 * time.Hour,
	"時間": time.Hour, "日": 24 * time.Hour,
	"초": time.Second, "분": time.Minute, "시간": time.Hour,
	"秒": time.Second, "秒钟": time.Second, "分": time.Minute, "分钟": time.Minute, "小时": time.Hour, "个小时": time.Hour, "天": 24 * time.Hour,
}

// duration reads "5h59m59.9s", "58 hours", "5 days and 2 hours" or "an hour" at
// the beginning of s, which is lower case, and returns what follows.
func duration(s string) (sum time.Duration, rest string) {
	rest = s
	for {
		r := strings.TrimLeft(rest, " ,")
		v, r, ok := leadingNumber(r)
		if n := longestPrefix(r, ones); !ok && n > 0 && sum == 0 {
			v, r, ok = 1, r[n:], true
		}
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

// ones are the words for one of a unit.
var ones = []string{"a", "an", "one", "ein", "eine", "einer", "einem", "un", "una", "une", "um", "uma"}

// clockSpan reads a span that is written as on a clock, "02:15:30", or with days
// before it, "1.17:05:14".
func clockSpan(s string) time.Duration {
	r := &reader{s}
	days, h := 0, r.digits(3)
	if r.take(".") {
		days, h = h, r.digits(2)
	}
	if h < 0 || !r.take(":") {
		return 0
	}
	m := r.digits(2)
	if m < 0 || m > 59 || !r.take(":") {
		return 0
	}
	sec := r.digits(2)
	if sec < 0 || sec > 59 {
		return 0
	}
	return time.Duration(days)*24*time.Hour + time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(sec)*time.Second
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
	markers = []string{"again", "retry", "retrying", "reset", "resets", "renew", "renews", "wait", "access", "available", "until", "refreshes", "replenished",
		"versuchen", "erneut", "warten", "nuevo", "espere", "reintente", "novamente", "essayez", "nouveau", "将在", "将于", "请在", "请等待"}
	ways = []string{"again", "in", "after", "at", "on", "by", "for", "about", "approximately", "another", "around", "is", "the", "next", "to", "from", "now",
		"sie", "es", "bitte", "en", "de", "dentro", "em", "dans"}
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
	return t.before(low)
}

// afters follow a span in languages that name it first: "30秒后重试".
var afters = []string{"后", "之后", "以后", "後", "후"}

// before finds the first span that one of afters follows.
func (t clock) before(low string) time.Time {
	if !strings.Contains(low, "后") && !strings.Contains(low, "後") && !strings.Contains(low, "후") {
		return time.Time{}
	}
	for i := 0; i < len(low); i++ {
		if !isDigit(low[i]) || i > 0 && (isDigit(low[i-1]) || low[i-1] == '.') {
			continue
		}
		if d, rest := duration(low[i:]); d > 0 && longestPrefix(strings.TrimLeft(rest, " "), afters) > 0 {
			return t.now.Add(d)
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
	way := ""
	for n := 0; n < 5; n++ {
		low = strings.TrimLeft(low, " :=~(\"'")
		skip := longestPrefix(low, ways)
		if skip == 0 {
			break
		}
		way, low = low[:skip], low[skip:]
	}
	s = s[len(s)-len(low):]
	if way == "in" || way == "after" {
		if d := clockSpan(low); d > 0 {
			return t.now.Add(d)
		}
	}
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
