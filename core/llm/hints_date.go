package llm

import (
	"strconv"
	"strings"
	"time"
)

// Dates and times of day in prose.

// reader is a place in a text.
type reader struct{ s string }

// skip passes over any of the bytes.
func (r *reader) skip(chars string) { r.s = strings.TrimLeft(r.s, chars) }

// word takes letters.
func (r *reader) word() string {
	end := 0
	for end < len(r.s) && isLetter(r.s[end]) && r.s[end] != '_' {
		end++
	}
	w := r.s[:end]
	r.s = r.s[end:]
	return strings.ToLower(w)
}

// digits takes a number of at most n digits; -1 without one.
func (r *reader) digits(n int) int {
	end := 0
	for end < len(r.s) && end < n && isDigit(r.s[end]) {
		end++
	}
	v, err := strconv.Atoi(r.s[:end])
	if err != nil {
		return -1
	}
	r.s = r.s[end:]
	return v
}

// take passes over text if the rest begins with it.
func (r *reader) take(text string) bool {
	if len(r.s) < len(text) || !strings.EqualFold(r.s[:len(text)], text) {
		return false
	}
	r.s = r.s[len(text):]
	return true
}

// date reads "2026-04-01 at 00:00 UTC", "2026-03-06T22:19:54Z", "Sep 21st, 2026
// 5:47 PM", "3pm (America/New_York)" or "midnight UTC" at the beginning of s.
// A time of day alone is its next occurrence.
func (t clock) date(s string) (at time.Time, ok bool) {
	r := &reader{s}
	r.skip(" ")
	year, month, day := 0, time.Month(0), 0
	if len(r.s) >= 10 && r.s[4] == '-' && r.s[7] == '-' {
		y, m, d := &reader{r.s[:4]}, &reader{r.s[5:7]}, &reader{r.s[8:10]}
		year, month, day = y.digits(4), time.Month(m.digits(2)), d.digits(2)
		if year < 1970 || month < 1 || day < 1 {
			return at, false
		}
		r.s = r.s[10:]
	} else if month = r.month(); month != 0 {
		r.skip(" .")
		day = r.digits(2)
		for _, th := range []string{"st", "nd", "rd", "th"} {
			if r.take(th) {
				break
			}
		}
		before := r.s
		r.skip(" ,")
		if year = r.digits(4); year < 1970 {
			year, r.s = 0, before
		}
	}
	dated := month != 0
	if dated && (day < 1 || day > 31 || month > 12) {
		return at, false
	}
	h, m, sec, nano, timed := r.timeOfDay(dated)
	if !dated && !timed {
		return at, false
	}
	zone := t.zone(r)
	if dated {
		if year != 0 {
			return time.Date(year, month, day, h, m, sec, nano, zone), true
		}
		local := t.now.In(zone)
		at = time.Date(local.Year(), month, day, h, m, sec, nano, zone)
		if at.Before(t.now.AddDate(0, -6, 0)) {
			at = at.AddDate(1, 0, 0)
		}
		return at, true
	}
	local := t.now.In(zone)
	at = time.Date(local.Year(), local.Month(), local.Day(), h, m, sec, nano, zone)
	if !at.After(t.now) {
		at = time.Date(local.Year(), local.Month(), local.Day()+1, h, m, sec, nano, zone)
	}
	return at, true
}

// month takes the English name of a month, short or long.
func (r *reader) month() time.Month {
	before := r.s
	if w := r.word(); len(w) >= 3 {
		for m := time.January; m <= time.December; m++ {
			if name := strings.ToLower(m.String()); strings.HasPrefix(name, w) || w == "sept" && m == time.September {
				return m
			}
		}
	}
	r.s = before
	return 0
}

// timeOfDay takes "T22:19:54.5", " at 3pm", "15:00" or "midnight". After a date
// its absence means midnight; alone, a bare number is no time.
func (r *reader) timeOfDay(dated bool) (h, m, s, nano int, ok bool) {
	before := r.s
	fail := func() (int, int, int, int, bool) { r.s = before; return 0, 0, 0, 0, false }
	r.skip(" ,")
	if !r.take("at ") && dated {
		_ = r.take("T")
	}
	r.skip(" ")
	if r.take("midnight") {
		return 0, 0, 0, 0, true
	}
	if h = r.digits(2); h < 0 || h > 24 {
		return fail()
	}
	colon := r.take(":")
	if colon {
		if m = r.digits(2); m < 0 || m > 59 {
			return fail()
		}
		if r.take(":") {
			if s = r.digits(2); s < 0 || s > 60 {
				return fail()
			}
			nano = r.fraction()
		}
	}
	afterDigits := r.s
	r.skip(" ")
	pm := r.take("pm") || r.take("p.m.")
	am := !pm && (r.take("am") || r.take("a.m."))
	switch {
	case !pm && !am && !colon, (pm || am) && (h < 1 || h > 12):
		return fail()
	case pm && h < 12:
		h += 12
	case am && h == 12:
		h = 0
	case !pm && !am:
		r.s = afterDigits
	}
	return h, m, s, nano, true
}

// fraction takes ".123" as nanoseconds.
func (r *reader) fraction() int {
	if len(r.s) < 2 || r.s[0] != '.' || !isDigit(r.s[1]) {
		return 0
	}
	v, rest, ok := leadingNumber("0" + r.s)
	if !ok {
		return 0
	}
	r.s = rest
	return int(v * 1e9)
}

// abbreviations of zones that have only one meaning here.
var abbreviations = map[string]string{
	"utc": "UTC", "gmt": "UTC", "z": "UTC",
	"pt": "America/Los_Angeles", "pst": "America/Los_Angeles", "pdt": "America/Los_Angeles",
	"et": "America/New_York", "est": "America/New_York", "edt": "America/New_York",
}

// zone takes "Z", " UTC", "+08:00" or "(America/New_York)". Without a zone a
// date is Beijing's for the providers that write it so, else UTC.
func (t clock) zone(r *reader) *time.Location {
	fallback := time.UTC
	if t.beijing {
		fallback = time.FixedZone("Beijing", 8*3600)
	}
	if len(r.s) > 2 && (r.s[0] == '+' || r.s[0] == '-') {
		sign := 1
		if r.s[0] == '-' {
			sign = -1
		}
		o := &reader{r.s[1:]}
		h := o.digits(2)
		_ = o.take(":")
		m := max(o.digits(2), 0)
		if h >= 0 && h <= 14 && m < 60 {
			return time.FixedZone("", sign*(h*3600+m*60))
		}
		return fallback
	}
	r.skip(" (")
	end := strings.IndexFunc(r.s, func(c rune) bool {
		return c != '/' && c != '_' && c != '+' && c != '-' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
	name := r.s
	if end >= 0 {
		name = r.s[:end]
	}
	if long, ok := abbreviations[strings.ToLower(name)]; ok {
		name = long
	} else if !strings.Contains(name, "/") || len(name) > 40 || strings.HasPrefix(name, "/") {
		return fallback
	}
	if loc, err := time.LoadLocation(name); err == nil {
		return loc
	}
	return fallback
}
