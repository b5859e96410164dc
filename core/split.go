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
// open is closed at the end.
//
// The parts without the fence lines added here, joined, are the text. Only a
// stretch of white space or bare fence lines that would be a post of its own
// is left out. A text of nothing but white space has no parts. The time taken
// grows with the length of the text.
func Split(text string, l Limits) []string {
	l.MaxParts = 0
	parts, _ := SplitMost(text, l)
	return parts
}

// SplitMost is Split for at most l.MaxParts parts; zero means any number. Rest
// is what is left of the text, empty if all of it fitted; if it begins inside a
// code block, the block is opened again.
func SplitMost(text string, l Limits) (parts []string, rest string) {
	if strings.TrimSpace(text) == "" {
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
		if part := c.next(); part != "" {
			parts = append(parts, part)
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
	for c.at < len(text) && part == "" {
		part = c.next()
	}
	return part, c.head(), c.at
}

// Resume is how a text goes on that Cut cut: open goes before rest[from:]. A
// block that was cut right before its closing line is over with it.
func Resume(open, rest string) (head string, from int) {
	_, marker := container(open)
	line, _, _ := strings.Cut(rest, "\n")
	if _, end := container(line); run(marker) != "" && closes(end, run(marker)) {
		return "", min(len(rest), len(line)+1)
	}
	return open, 0
}

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

// cutter cuts one text from front to back.
type cutter struct {
	text  string
	most  int
	count func(string) int
	place
}

// place is an offset of the text with the fences and spans that do not end
// before it.
type place struct {
	at     int
	fences []fence
	spans  []span
}

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
	c.spans = slices.DeleteFunc(c.spans, func(s span) bool { return c.count(c.text[s.start:s.end]) > c.most })
}

// head is what goes before a part that starts at the place: the line that
// opens a fence again.
func (c *cutter) head() string {
	f := c.fence()
	switch {
	case f == nil || c.at == f.end && c.at < len(c.text):
		return ""
	case c.text[c.at-1] != '\n':
		return f.open + "\n" + f.quote
	}
	return f.open + "\n"
}

// foot is what goes after a part that ends at p: the line that closes a fence.
func (c *cutter) foot(p place) string {
	f := p.fence()
	switch {
	case f == nil || p.at == len(c.text) && c.blank(f.body, p.at):
		return ""
	case c.text[p.at-1] != '\n':
		return "\n" + f.close
	}
	return f.close
}

// next cuts one part off. It is empty if there would be nothing to see in it.
func (c *cutter) next() string {
	head, start, visible := c.head(), c.place, false
	for most := c.most; ; {
		end := c.find(most - c.count(head))
		part := head + c.text[start.at:end.at] + c.foot(end)
		over := c.count(part) - c.most
		if over > 0 && most > 1 {
			// The whole counts for more than its pieces do: aim lower.
			most -= max(over, most/8, 1)
			continue
		}
		visible = c.visible(end.at)
		c.place = end
		if !visible {
			return ""
		}
		return part
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
