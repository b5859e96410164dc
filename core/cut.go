package core

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The kinds of places to cut, the better ones higher.
const (
	cutNever = iota // where a cut would break or make a fence
	cutAnywhere
	cutSpace
	cutSentence
	cutLine
	cutBlock
	cutKinds
)

// find is where a part ends that starts at the cutter's place and may cost
// budget. It is always farther on.
func (c *cutter) find(budget int) place {
	var last [cutKinds]place // the last place of each kind that fits
	var late [cutKinds]bool  // whether it leaves the part more than half full
	here, used := c.place, 0
	for here.at < len(c.text) {
		end, whole := c.unit(here)
		then := here
		then.move(end)
		cost := c.count(c.text[here.at:end])
		fits := used+cost+c.count(c.foot(then)) <= budget
		if used+cost > budget || end == len(c.text) && !fits {
			return c.choose(last, late, here, whole, end, budget-used)
		}
		here, used = then, used+cost
		if fits {
			kind := c.kind(here)
			last[kind], late[kind] = here, used > budget/2
		}
	}
	return here
}

// choose picks where to cut when the unit from here to end does not fit any
// more: at the best of the places that leave the part at least half full, else
// before what must stay whole, else inside the unit.
func (c *cutter) choose(last [cutKinds]place, late [cutKinds]bool, here place, whole bool, end, left int) place {
	for kind := cutBlock; kind >= cutSpace; kind-- {
		if late[kind] {
			return last[kind]
		}
	}
	var latest place
	for _, p := range last[cutAnywhere:] {
		if p.at > latest.at {
			latest = p
		}
	}
	if whole && latest.at > c.at {
		return latest
	}
	if p := c.inside(here, end, left); p.at > here.at {
		return p
	}
	switch {
	case latest.at > c.at:
		return latest
	case last[cutNever].at > c.at:
		return last[cutNever]
	}
	// Not even one character fits: go on by the least that can be cut off.
	_, n := utf8.DecodeRuneInString(c.text[c.at:])
	p := c.place
	p.move(c.at + n)
	return p
}

// inside is the last place before end, between two characters, that leaves
// room for a foot; it is here if there is none. It is not before something
// that would be a fence at the start of a part, unless nothing else is left.
func (c *cutter) inside(here place, end, left int) place {
	best, any := here, here
	for p := here; p.at < end; {
		n := cluster(c.text[p.at:end])
		left -= c.count(c.text[p.at : p.at+n])
		p.move(p.at + n)
		if left < 0 {
			break
		}
		if p.at == end || c.count(c.foot(p)) > left {
			continue
		}
		any = p
		if !marker(c.text[p.at:min(len(c.text), p.at+maxUnit)]) {
			best = p
		}
	}
	if best.at == here.at {
		return any
	}
	return best
}

// maxUnit bounds, in bytes, what is measured in one go.
const maxUnit = 64

// unit is the end of the shortest stretch from p on that ends at a place to
// cut; whole is true if it must not be cut itself.
func (c *cutter) unit(p place) (end int, whole bool) {
	text := c.text[p.at:]
	if len(p.spans) > 0 {
		switch s := p.spans[0]; {
		case s.start == p.at:
			return s.end, true
		case s.start > p.at:
			text = c.text[p.at:s.start]
		}
	}
	if first, _ := utf8.DecodeRuneInString(text); space(first) {
		return p.at + gap(text), false
	}
	return p.at + word(text), false
}

// word is the length of the characters without a space at the start of s.
func word(s string) int {
	n := 0
	for n < len(s) && n < maxUnit {
		r, _ := utf8.DecodeRuneInString(s[n:])
		if space(r) {
			break
		}
		n += cluster(s[n:])
		if wideStop(r) > 0 {
			break
		}
	}
	return n
}

// gap is the length of the white space at the start of s: through the last
// line break if there is one, since what follows it indents the next line.
func gap(s string) int {
	n, line := 0, 0
	for n < len(s) && n < maxUnit {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !space(r) {
			break
		}
		n += size
		if r == '\n' {
			line = n
		}
	}
	if line > 0 {
		return line
	}
	return n
}

// space reports whether r separates words. A no-break space does not.
func space(r rune) bool {
	return unicode.IsSpace(r) && r != 0xA0 && r != 0x202F
}

// kind says how good a place is.
func (c *cutter) kind(p place) int {
	f := p.fence()
	if f != nil && (p.at <= f.body || f.closed() && p.at >= f.tail) {
		return cutNever
	}
	before, after := c.text[max(0, p.at-maxUnit):p.at], c.text[p.at:min(len(c.text), p.at+maxUnit)]
	r, _ := utf8.DecodeLastRuneInString(before)
	said := strings.TrimRightFunc(before, unicode.IsSpace)
	switch breaks := strings.Count(before[len(said):], "\n"); {
	case r != '\n' && marker(after):
		return cutNever // at the start of a part it would be a fence
	case p.inMarker(), p.ticks() != "" && (r == '`' || strings.HasPrefix(after, "`")):
		return cutNever
	case !space(r):
		return max(cutAnywhere, wideStop(r))
	case r != '\n' && breaks > 0:
		return cutAnywhere // inside an indentation
	case f == nil && (breaks > 1 || breaks == 1 && (marker(said[strings.LastIndexByte(said, '\n')+1:]) || marker(after))):
		return cutBlock
	case breaks > 0:
		return cutLine
	case strings.ContainsAny(lastByte(strings.TrimRight(said, `"')]*_`)), ".!?:;"):
		return cutSentence
	}
	return cutSpace
}

// marker reports whether a line is one of a fence.
func marker(line string) bool {
	_, rest := container(line)
	return run(rest) != ""
}

func lastByte(s string) string { return s[max(0, len(s)-1):] }

// wideStop is the kind of a place after punctuation that needs no space after
// it, or 0.
func wideStop(r rune) int {
	switch r {
	case '。', '！', '？', '；':
		return cutSentence
	case '、', '，', '：':
		return cutSpace
	}
	return 0
}
