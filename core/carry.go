package core

import (
	"sort"
	"strings"
)

// line is a line of a quote or of an item of a list, outside of code blocks.
// Offsets are bytes of the text.
type line struct {
	start int
	text  int // after its markers and indentation
	end   int
	// open goes before what is left of a line that was cut.
	open string
	// item: the line goes on with an item that began in an earlier line. It has
	// no marker of its own, and gets that of the item when it starts a part.
	item bool
}

// code is a code span that fits into no part. Body is what stands between its
// backticks.
type code struct {
	body, tail, end int
	ticks           string
}

// longCodes are the code spans that are too long for a part.
func (c *cutter) longCodes() []code {
	var found []code
	for _, s := range c.spans {
		n := ticks(c.text[s.start:s.end])
		if n > 0 && s.end-s.start > 2*n && 8*n <= c.most && c.count(c.text[s.start:s.end]) > c.most && c.text[s.end-1] == '`' {
			found = append(found, code{s.start + n, s.end - n, s.end, c.text[s.start : s.start+n]})
		}
	}
	return found
}

// ticks opens or closes the code span around the place, or is empty.
func (p *place) ticks() string {
	if len(p.codes) == 0 || p.at <= p.codes[0].body || p.at >= p.codes[0].tail {
		return ""
	}
	return p.codes[0].ticks
}

// inMarker reports whether the place is inside the markers of a line.
func (p *place) inMarker() bool {
	return len(p.lines) > 0 && p.lines[0].start < p.at && p.at <= p.lines[0].text
}

// marker is that of the quote or item which a part goes on with that starts at
// the place.
func (p *place) marker() string {
	if len(p.lines) == 0 || p.at < p.lines[0].text || p.at == p.lines[0].start {
		return ""
	}
	return p.lines[0].open
}

// skip passes over the indentation of a line that goes on with an item, at the
// start of a part, and over the markers inside a code span: the head of the
// part stands in their place.
func (c *cutter) skip() {
	if len(c.lines) == 0 || c.at != c.lines[0].start || c.fence() != nil {
		return
	}
	if l := c.lines[0]; l.item || c.ticks() != "" {
		c.move(l.text)
	}
}

// markedLines finds the lines of quotes and lists. Those with markers that would
// take much of a part are left out.
func (c *cutter) markedLines() []line {
	if !strings.ContainsAny(c.text, ">-*+.)") {
		return nil
	}
	var found []line
	var list items
	fences, at := c.fences, 0
	for raw := range strings.Lines(c.text) {
		start := at
		at += len(raw)
		for len(fences) > 0 && fences[0].end <= start {
			fences = fences[1:]
		}
		if len(fences) > 0 && fences[0].start <= start {
			continue
		}
		l := list.read(raw)
		if l.text >= len(strings.TrimRight(raw, " \t\r\n")) || l.open == "" || 4*c.count(l.open) > c.most {
			continue
		}
		l.start, l.text, l.end = start, start+l.text, at
		found = append(found, l)
	}
	return found
}

// items are the items of lists around a line, the outer ones first.
type items struct {
	quote string
	open  []item
}

type item struct {
	indent int
	marker string
}

// read takes the markers of the next line apart. Text is an offset of it.
func (x *items) read(raw string) (l line) {
	quote, rest, indent := quotes(raw)
	if quote != x.quote {
		x.quote, x.open = quote, nil
	}
	l.open, l.text = quote, len(raw)-len(rest)
	word, _, _ := strings.Cut(rest, " ")
	text := strings.TrimLeft(rest[len(word):], " ")
	switch {
	case strings.TrimSpace(rest) == "":
	case bullet(word) && text != rest[len(word):]:
		x.leave(indent)
		x.open = append(x.open, item{indent, word})
		l.open, l.text = quote+word+" ", len(raw)-len(text)
	case indent < 2:
		x.open = nil
	default:
		x.leave(indent)
		if n := len(x.open); n > 0 {
			l.open, l.item = quote+x.open[n-1].marker+" ", true
		}
	}
	return l
}

// leave ends the items that a line with that indentation is no part of.
func (x *items) leave(indent int) {
	x.open = x.open[:sort.Search(len(x.open), func(i int) bool { return x.open[i].indent >= indent })]
}

// quotes takes the markers of block quotes and the indentation after them off
// the front of a line. A tab counts as four spaces.
func quotes(raw string) (quote, rest string, indent int) {
	rest = raw
	for {
		text := strings.TrimLeft(rest, " \t")
		space := rest[:len(rest)-len(text)]
		indent, rest = len(space)+3*strings.Count(space, "\t"), text
		if !strings.HasPrefix(rest, ">") || len(quote) >= maxQuotes {
			return quote, rest, indent
		}
		quote, rest = quote+"> ", strings.TrimPrefix(rest[1:], " ")
	}
}
