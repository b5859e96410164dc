package delivery

import (
	"slices"
	"strings"
	"sync"
	"time"

	"understudy/core"
)

// Mode says which answers carry the native reply link to the message they
// answer.
type Mode string

// The modes. Whatever the mode, only the first part of an answer can carry the
// link, and nothing but an answer does.
const (
	ModeOff   Mode = "off"
	ModeFirst Mode = "first" // the default: the first answer of a turn
	ModeAll   Mode = "all"   // every answer
)

// NoReply is what a model says, alone, when it wants to say nothing.
const NoReply = "NO_REPLY"

// interruptedMark goes after an answer that was not completed.
const interruptedMark = "… (interrupted)"

// WriterConfig says whose answer a Writer collects, and where it goes.
type WriterConfig struct {
	Session core.Key
	Turn    string
	Target  core.Target
	ReplyTo Mode
	// Streaming shows the answer while it grows, where the platform can.
	Streaming bool
	// Repost: an answer whose preview has stood for so long is posted anew, so
	// that people are told of it, and the preview is taken away. Zero is never.
	Repost time.Duration
	// Preview are the rows of this turn that an earlier process left open: the
	// answer goes into their messages. They do not count as shown.
	Preview []Row
}

// Writer collects the answer of one turn and owns what people see of it.
// Its methods are safe for concurrent use.
//
// While the answer grows a preview of it is posted, and then edited, at the
// pace of the platform's limits; long answers go on in further messages, and so
// do those that take longer than one message may be a preview. The last message
// is a live one until the end. What
// was said so far can be taken back with Discard for as long as nobody saw any
// of it. Finish or Interrupt end the preview and give the rows for the commit
// of the turn; after the commit they are given to [Sender.Send], and Close
// clears away what is left. A Writer that is closed without either leaves its
// preview to the next run of the turn.
type Writer struct {
	s        *Sender
	c        WriterConfig
	platform core.Platform // nil if there is none
	limits   core.Limits
	key      string

	wake chan struct{} // new text
	quit chan struct{} // the preview is over
	done chan struct{} // the goroutine of the preview is gone

	mu      sync.Mutex
	text    strings.Builder
	first   time.Time // when the first text came
	next    time.Time // the preview changes not before
	fresh   bool      // there is text that the preview was not told of
	running bool      // the goroutine of the preview
	flying  bool      // something is on its way
	seen    bool      // this run showed something
	mute    bool      // no more previews
	ended   bool
	given   int // rows for the commit; -1 before Finish or Interrupt

	// These belong to the goroutine of the preview, and after it to the rest.
	parts  []*part
	failed int // changes in a row that failed
	fixed  fixed
}

// part is one message of the answer.
type part struct {
	row    Row
	old    bool      // an earlier process may have posted it
	posted time.Time // by this one
	text   string    // what it shows, empty if that is not known
	at     time.Time // since when
	live   bool      // it shows that as a live one
	hold   time.Time // the platform wants no edit before that
}

// Writer starts to collect the answer of a turn. It must be closed.
func (s *Sender) Writer(c WriterConfig) *Writer {
	w := &Writer{
		s: s, c: c, key: c.Target.Thread.Key(), given: -1,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if p, ok := s.c.Platform(c.Target.Thread); ok {
		w.platform, w.limits = p, p.Limits(c.Target.Thread)
	}
	w.mute = !c.Streaming || w.platform == nil || w.limits.EditEvery <= 0
	for _, r := range c.Preview {
		if r.Turn == c.Turn && r.Post.Kind == core.PostAnswer && r.State.Open() && r.Part == len(w.parts) {
			w.parts = append(w.parts, &part{row: r, old: true})
		}
	}
	return w
}

// Text adds to the answer.
func (w *Writer) Text(s string) {
	if s == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	if w.text.Len() == 0 {
		w.first = w.s.c.Now()
	}
	w.text.WriteString(s)
	w.fresh = true
	if w.mute {
		return
	}
	if !w.running {
		w.running = true
		go w.stream()
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// said is what was said so far, as people are to see it. The lock is held, or
// the preview is over.
func (w *Writer) said() string { return forPeople(w.text.String(), true) }

// forPeople is a model's text as people are to see it; growing tells that it
// goes on.
func forPeople(text string, growing bool) string {
	return core.WithoutDirectives(core.WithoutControls(text), growing)
}

// Discard drops the text so far and reports true, or reports false and keeps it
// if people saw some of it, or will: a preview is shown or on its way.
func (w *Writer) Discard() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen || w.flying {
		return false
	}
	w.text.Reset()
	w.fresh = false
	return true
}

// Shown reports whether people saw something of the answer, or will.
func (w *Writer) Shown() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen || w.flying
}

// Finish ends the preview and returns the rows of the final text: none if it
// is blank or says that there is nothing to say.
func (w *Writer) Finish(text string) []Row {
	w.end()
	text = forPeople(text, false)
	if t := core.Trim(text); t == "" || t == NoReply {
		return w.rows(nil, nil)
	}
	anew := w.stale()
	if anew || !w.fixed.begins(text) {
		w.fixed = fixed{}
	}
	rows := w.rows(w.compose(text))
	for i := range rows {
		if anew && rows[i].PlatformID != "" {
			rows[i].Post.Nonce = nextMessage(rows[i].Post.Nonce, true)
		}
	}
	return rows
}

// stale reports whether the preview has stood for so long that nobody looks
// for the answer there any more.
func (w *Writer) stale() bool {
	if w.c.Repost <= 0 || len(w.parts) == 0 {
		return false
	}
	first := w.parts[0].row
	return first.PlatformID != "" && w.s.c.Now().Sub(first.Created) >= w.c.Repost
}

// compose splits a final text. Where it is too long for the place, the whole of
// it is attached as a file or, if that cannot be, its end is cut off.
func (w *Writer) compose(text string) ([]string, []core.File) {
	mark, files := cutMark, attached(text, w.limits)
	if files != nil {
		mark = fileMark
	}
	l := w.limits
	l.MaxParts = max(0, l.MaxParts-len(w.fixed.texts))
	texts, cut := fit(w.fixed.rest(text), l, mark)
	if !cut {
		files = nil
	}
	return append(slices.Clone(w.fixed.texts), texts...), files
}

// Interrupt ends the preview of an answer that will not be completed. The rows
// hold what was said so far and a mark that it was interrupted; there are none
// if nobody saw any of it.
func (w *Writer) Interrupt() []Row {
	w.end()
	if !w.Shown() {
		return w.rows(nil, nil)
	}
	texts, files := w.compose(strings.TrimRight(w.said(), " \n"))
	if last := len(texts) - 1; last >= 0 && fits(texts[last]+"\n\n"+interruptedMark, w.limits) {
		texts[last] += "\n\n" + interruptedMark
	} else {
		texts = append(texts, interruptedMark)
	}
	return w.rows(texts, files)
}

// Close ends the preview, if it was not ended, and waits for what it does.
// Messages that the final text has no use for are taken away.
func (w *Writer) Close() {
	w.end()
	w.mu.Lock()
	given := w.given
	w.given = -1
	w.mu.Unlock()
	if given < 0 {
		return
	}
	for i, p := range w.parts {
		if i < given {
			w.s.forget(w.key, p.row.ID)
			continue
		}
		w.s.Remove(background, p.row)
	}
}

// end stops the preview and waits for what is on its way.
func (w *Writer) end() {
	w.mu.Lock()
	if !w.ended {
		w.ended = true
		close(w.quit)
	}
	running := w.running
	w.mu.Unlock()
	if running {
		<-w.done
	}
}

// rows are those of the final texts, the files with the last one. Parts that
// have a message keep it.
func (w *Writer) rows(texts []string, files []core.File) []Row {
	w.mu.Lock()
	w.given = len(texts)
	w.mu.Unlock()
	rows := make([]Row, len(texts))
	for i, text := range texts {
		r := w.row(i)
		r.State = Queued
		if i < len(w.parts) && w.parts[i].row.ID != 0 {
			p := w.parts[i]
			r.ID, r.State, r.PlatformID, r.Created = p.row.ID, p.row.State, p.row.PlatformID, p.row.Created
			if g := p.glimpse(); p.text != "" || !p.hold.IsZero() {
				w.s.remember(r.ID, g)
			}
		}
		r.Post.Text = text
		rows[i] = r
	}
	if len(rows) == 0 {
		return nil
	}
	rows[len(rows)-1].Post.Files = files
	return rows
}

// row is a part of the answer, without its text.
func (w *Writer) row(i int) Row {
	return Row{
		Session: w.c.Session,
		Turn:    w.c.Turn,
		Part:    i,
		Created: w.s.c.Now(),
		Post: core.Post{
			Target: w.c.Target,
			Kind:   core.PostAnswer,
			Link:   i == 0 && w.c.ReplyTo != ModeOff,
			Nonce:  Nonce(w.c.Turn, core.PostAnswer, i),
		},
	}
}

// remember keeps what a preview showed last until its row is sent.
func (s *Sender) remember(id int64, g glimpse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown[id] = g
}

// forget drops that for a row that is not on its way.
func (s *Sender) forget(key string, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lanes[key]; l != nil {
		if l.busy == id {
			return
		}
		for _, r := range l.rows {
			if r.ID == id {
				return
			}
		}
	}
	delete(s.shown, id)
}
