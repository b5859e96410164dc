package terminal

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"sync"
	"time"

	"understudy/core"
)

// Event is one line of JSON output. Fields that do not apply are left out.
type Event struct {
	Event   string    `json:"event"` // attempt, notice, status, answer, error or command
	Time    time.Time `json:"time"`
	Model   string    `json:"model,omitempty"`
	Profile string    `json:"profile,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Skipped bool      `json:"skipped,omitempty"` // of an attempt: no request was made
	Text    string    `json:"text,omitempty"`
}

// JSON is a terminal that prints every event as a line of JSON, and nothing
// while an answer is still being written. It implements [core.Platform].
type JSON struct {
	out io.Writer
	now func() time.Time

	mu     sync.Mutex
	n      int
	last   Event // the last attempt
	failed bool
	answer bool
}

var _ core.Platform = (*JSON)(nil)

// NewJSON prints to out; now is the clock of the times.
func NewJSON(out io.Writer, now func() time.Time) *JSON { return &JSON{out: out, now: now} }

// Attempt prints an attempt. The model and profile of the last one are told
// again with the answer.
func (j *JSON) Attempt(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Event = "attempt"
	j.last = e
	j.print(e)
}

// Answered reports whether an answer was printed and no error.
func (j *JSON) Answered() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.answer && !j.failed
}

// Failed reports whether an error was printed.
func (j *JSON) Failed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// Limits: no previews.
func (j *JSON) Limits(core.Thread) core.Limits {
	return core.Limits{MaxText: maxText, Count: func(s string) int { return len(s) }, MaxParts: 1}
}

// Post prints a post.
func (j *JSON) Post(_ context.Context, p core.Post) (core.Posted, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.n++
	e := Event{Event: string(p.Kind), Time: j.now(), Text: p.Text}
	switch p.Kind {
	case core.PostAnswer:
		j.answer = true
		e.Model, e.Profile = j.last.Model, j.last.Profile
	case core.PostError:
		j.failed = true
		e.Model, e.Profile, e.Reason = j.last.Model, j.last.Profile, j.last.Reason
	}
	return core.Posted{ID: strconv.Itoa(j.n)}, sendError(j.print(e))
}

// Edit prints the text anew.
func (j *JSON) Edit(ctx context.Context, _ string, p core.Post) error {
	_, err := j.Post(ctx, p)
	return err
}

// Delete does nothing: what was printed stays.
func (j *JSON) Delete(context.Context, core.Target, string) error { return nil }

// Working does nothing.
func (j *JSON) Working(context.Context, core.Target, bool) error { return nil }

func (j *JSON) print(e Event) error {
	enc := json.NewEncoder(j.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(e)
}
