package core

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Split cuts a text into parts that each fit into one post. It cuts at blank
// lines if it can, else at line ends, sentences or spaces, and never inside a
// link, mention, emoji, code span or character that fits into a post itself. A
// fenced code block that is cut is closed at the end of one part and opened
// again, with its language, at the start of the next; one that the text leaves
// open is closed at the end. So is a code span that fits into no post. A part
// that starts inside a quote or an item of a list starts with its marker.
//
// The parts without what is added here, joined, are the text. Only a stretch of
// white space or bare fence lines that would be a post of its own is left out,
// and the indentation, or marker of a quote, in whose place a marker stands. A
// text of nothing but white space has no parts. The time taken grows with the
// length of the text.
func Split(text string, l Limits) []string {
	l.MaxParts = 0
	parts, _ := SplitMost(text, l)
	return parts
}

// SplitMost is Split for at most l.MaxParts parts; zero means any number. Rest
// is what is left of the text, empty if all of it fitted; if it begins inside a
// code block, the block is opened again.
func SplitMost(text string, l Limits) (parts []string, rest string) {
	if Blank(text) {
		return nil, ""
	}
	if l.MaxText <= 0 {
		return []string{text}, ""
	}
	c := newCutter(text, l)
	if len(c.fences) == 0 && c.count(text) <= c.most {
		return []string{text}, ""
	}
	c.findSpans()
	for c.at < len(text) && c.visible(len(text)) {
		if l.MaxParts > 0 && len(parts) == l.MaxParts {
			return parts, c.head() + text[c.at:]
		}
		if p, ok := c.next(); ok {
			parts = append(parts, c.show(p))
		}
	}
	if len(parts) == 0 && c.count(text) <= c.most {
		return []string{text}, "" // nothing but fence lines
	}
	return parts, ""
}

// Cut takes one part off the front of a text, as Split does. What is left of
// the text, also after more was added to its end, is [Resume] of open and
// text[at:].
func Cut(text string, l Limits) (part, open string, at int) {
	if l.MaxText <= 0 {
		return text, "", len(text)
	}
	c := newCutter(text, l)
	c.findSpans()
	for c.at < len(text) {
		if p, ok := c.next(); ok {
			return c.show(p), c.head(), c.at
		}
	}
	return "", "", len(text)
}

// Resume is how a text goes on that Cut cut: head goes before rest[from:]. A
// block that was cut right before its closing line is over with it, and a quote
// or item that was cut at the end of its line with that line.
func Resume(open, rest string) (head string, from int) {
	_, marker := container(open)
	line, _, more := strings.Cut(rest, "\n")
	_, end := container(line)
	switch mark := run(marker); {
	case mark != "" && closes(end, mark):
		return "", min(len(rest), len(line)+1)
	case mark == "" && line == "" && more:
		return "", 0
	}
	return open, 0
}

// cutter cuts one text from front to back.
type cutter struct {
	text  string
	most  int
	count func(string) int
	place
}

// place is an offset of the text with what does not end before it.
type place struct {
	at     int
	fences []fence
	spans  []span
	lines  []line
	codes  []code
}

// piece is a part: a stretch of the text, and what goes before and after it.
type piece struct {
	head, foot string
	from, to   int
}

// show is the text of a part.
func (c *cutter) show(p piece) string { return p.head + c.text[p.from:p.to] + p.foot }

func newCutter(text string, l Limits) *cutter {
	c := &cutter{text: text, most: l.MaxText, count: l.Count}
	if c.count == nil {
		c.count = utf8.RuneCountInString
	}
	c.fences = fences(text, c.most*3/4, c.count)
	return c
}

func (p *place) move(to int) {
	p.at = to
	for len(p.fences) > 0 && (p.fences[0].end < to || p.fences[0].end == to && p.fences[0].closed()) {
		p.fences = p.fences[1:]
	}
	for len(p.spans) > 0 && p.spans[0].end <= to {
		p.spans = p.spans[1:]
	}
	for len(p.lines) > 0 && p.lines[0].end <= to {
		p.lines = p.lines[1:]
	}
	for len(p.codes) > 0 && p.codes[0].end <= to {
		p.codes = p.codes[1:]
	}
}

// fence is the block around the place, or nil. At the end of a block without a
// closing line the place is still inside.
func (p *place) fence() *fence {
	if len(p.fences) == 0 || p.at <= p.fences[0].start {
		return nil
	}
	return &p.fences[0]
}

// findSpans lists what is not to be cut. The marker lines of fences are among
// it.
func (c *cutter) findSpans() {
	from := 0
	for _, f := range c.fences {
		c.spans = append(c.spans, spans(c.text[from:f.start], from)...)
		c.spans = append(c.spans, span{f.start, f.body})
		if f.closed() {
			c.spans = append(c.spans, span{f.tail, f.end})
		}
		from = f.end
	}
	c.spans = append(c.spans, spans(c.text[from:], from)...)
	c.codes = c.longCodes()
	c.spans = slices.DeleteFunc(c.spans, func(s span) bool { return c.count(c.text[s.start:s.end]) > c.most })
	c.lines = c.markedLines()
}

// head is what goes before a part that starts at the place: the line that
// opens a fence again, or the marker of a quote or item, and of a code span.
func (c *cutter) head() string {
	f := c.fence()
	switch {
	case f == nil || c.at == f.end && c.at < len(c.text):
		return c.marker() + c.ticks()
	case c.text[c.at-1] != '\n':
		return f.open + "\n" + f.quote
	}
	return f.open + "\n"
}

// foot is what goes after a part that ends at p: the line that closes a fence,
// or the end of a code span.
func (c *cutter) foot(p place) string {
	f := p.fence()
	switch {
	case f == nil:
		return p.ticks()
	case p.at == len(c.text) && c.blank(f.body, p.at):
		return ""
	case c.text[p.at-1] != '\n':
		return "\n" + f.close
	}
	return f.close
}

// next cuts one part off; ok is false if there is nothing to see in it.
func (c *cutter) next() (_ piece, ok bool) {
	head, start := c.head(), c.place
	for most := c.most; ; {
		end := c.find(most - c.count(head))
		p := piece{head, c.foot(end), start.at, end.at}
		over := c.count(c.show(p)) - c.most
		if over > 0 && most > 1 {
			// The whole counts for more than its pieces do: aim lower.
			most -= max(over, most/8, 1)
			continue
		}
		visible := c.visible(end.at)
		c.place = end
		c.skip()
		return p, visible
	}
}

// visible reports whether there is more than white space and marker lines of
// fences between the place and end.
func (c *cutter) visible(end int) bool {
	start := c.at
	for _, f := range c.fences {
		if f.start >= end {
			break
		}
		if !c.blank(start, f.start) || !c.blank(max(start, f.body), min(end, f.tail)) {
			return true
		}
		start = max(start, f.end)
	}
	return !c.blank(start, end)
}

func (c *cutter) blank(start, end int) bool {
	return start >= end || strings.TrimLeftFunc(c.text[start:end], unicode.IsSpace) == ""
}
