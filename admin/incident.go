package admin

import (
	"fmt"
	"strings"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/notices"
)

// incident is one event and the message that tells of it.
type incident struct {
	subject
	id      string // of the message
	text    string
	buttons []core.Button
	count   int
	first   time.Time
	last    time.Time
	ended   time.Time // zero while it lasts
	end     string    // how it ended
	// saidOver: people were notified last that it is over.
	saidOver bool

	// note: it is nothing but a message, such as the news of an end.
	note bool
	// lines are those of a message that tells of several incidents, as far as
	// there is room; count has the number.
	lines []string
	// folded: such a message tells of it, so that it has none of its own.
	folded bool

	row     delivery.Row // of its message; without ID while it is not stored
	unsaved bool         // the store has not taken the row as it is
	shown   string       // what the message shows; empty while there is none
	sending bool         // it is on its way
	refused int          // how often the platform refused it for good
}

func (i *incident) over() bool { return !i.ended.IsZero() }

// past reports whether the same event, now, would be another one.
func (i *incident) past(now time.Time) bool {
	if i.over() {
		return now.Sub(i.ended) >= again
	}
	return now.Sub(i.last) >= stale
}

func (i *incident) happened(a core.Alert, now time.Time) {
	i.text, i.buttons, i.last = a.Text, a.Buttons, now
	i.count++
	i.ended, i.end = time.Time{}, ""
}

// quiet are the kinds whose end is no news: whoever ended them knows.
var quiet = map[string]bool{Stranger: true, Refused: true}

// units name what is counted.
var units = map[string]string{
	Exhausted: "messages", Overload: "messages", Fallback: "sessions", LongFallback: "answers", Delivery: "posts",
}

// render is what the incident's message should show.
func (i *incident) render() string {
	if i.note {
		return i.noted()
	}
	var b strings.Builder
	if i.over() {
		fmt.Fprintf(&b, "✅ %s\n", i.end)
	} else {
		b.WriteString(sign)
	}
	b.WriteString(i.text)
	if s := i.counted(); s != "" {
		b.WriteString("\n" + s)
	}
	return b.String()
}

// sign stands before the text of an incident that lasts.
const sign = "⚠️ "

// noted is the text of a note.
func (i *incident) noted() string {
	if i.lines == nil {
		return i.text
	}
	s := fmt.Sprintf("%s%d events came faster than this channel takes messages:\n- %s", sign, i.count, strings.Join(i.lines, "\n- "))
	if more := i.count - len(i.lines); more > 0 {
		s += fmt.Sprintf("\n- and %d more, which are in the log", more)
	}
	return s
}

// counted tells how often and how long.
func (i *incident) counted() string {
	var s string
	switch unit := units[i.kind]; {
	case i.count > 1 && unit != "":
		s = fmt.Sprintf("%d %s, the first at %s, the last at %s UTC.", i.count, unit, clock(i.first, i.last), clock(i.last, i.last))
	case i.count > 1:
		s = fmt.Sprintf("%d times, first at %s, last at %s UTC.", i.count, clock(i.first, i.last), clock(i.last, i.last))
	}
	if i.over() {
		s = strings.TrimSpace(s + " It lasted " + notices.About(i.ended.Sub(i.first)) + ".")
	}
	return s
}

// clock is a time of the day, with the date where it is not that of the other
// one.
func clock(t, other time.Time) string {
	t, other = t.UTC(), other.UTC()
	if t.YearDay() == other.YearDay() && t.Year() == other.Year() {
		return t.Format(time.TimeOnly)
	}
	return t.Format("2 Jan 15:04:05")
}

// swallow takes up an incident into a message that tells of several.
func (i *incident) swallow(o *incident) {
	const lines, width = 8, 180
	o.folded, o.unsaved = true, true
	if o.lines != nil { // it tells of several itself: a flood went on while it was being sent
		i.count += o.count
		i.lines = append(i.lines, o.lines[:min(len(o.lines), lines-len(i.lines))]...)
		return
	}
	i.count++
	if len(i.lines) == lines {
		return
	}
	line := []rune(strings.ReplaceAll(o.render(), "\n", " "))
	if len(line) > width {
		line = append(line[:width-1], '…')
	}
	i.lines = append(i.lines, string(line))
}

// post is the message as it is to be sent.
func (i *incident) post(t core.Thread) core.Post {
	p := core.Post{
		Target: core.Target{Thread: t}, Kind: core.PostAdmin, Text: i.render(),
		Nonce: delivery.Nonce(i.id, core.PostAdmin, 0),
	}
	if !i.over() {
		p.Buttons = i.buttons
	}
	return p
}

// current reports whether the message shows what it should.
func (i *incident) current() bool {
	return i.folded || i.shown != "" && (i.note || i.shown == i.render())
}

// record is the row as the store should have it.
func (i *incident) record() delivery.Row {
	r := i.row
	r.Tries = i.count
	switch {
	case i.folded:
		r.State = delivery.Withdrawn
	case i.shown == "" && r.State == "":
		r.Session, r.Turn, r.Created = core.Key{Thread: i.kind + " " + i.key}, i.id, i.first
		r.State, r.Post = delivery.Queued, i.post(core.Thread{})
	case i.shown == "" && r.State == delivery.Queued:
		r.Post = i.post(core.Thread{})
	case i.shown != "" && i.current() && (i.note || i.over()):
		r.State, r.Settled = delivery.Sent, i.ended
	case i.shown != "":
		r.State, r.Settled = delivery.Preview, time.Time{}
	}
	return r
}

// stored is the incident that a row of an earlier process tells of. Its text is
// the first line of what the message shows; the rest is made anew.
func stored(r delivery.Row) *incident {
	kind, key, _ := strings.Cut(r.Session.Thread, " ")
	text, _, _ := strings.Cut(r.Post.Text, "\n")
	i := &incident{
		subject: subject{kind, key}, id: r.Turn, text: strings.TrimPrefix(text, sign), buttons: r.Post.Buttons,
		count: r.Tries, first: r.Created, last: r.Created, row: r,
	}
	if kind == "" || !strings.HasPrefix(text, sign) {
		i.text, i.note = r.Post.Text, true
	}
	if r.PlatformID != "" {
		i.shown = r.Post.Text
	}
	return i
}
