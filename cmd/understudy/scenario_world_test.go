package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/llm"
	"understudy/core/llm/script"
	"understudy/core/tool"
)

// world is everything outside of the process: the platform, the models and the
// log. It outlives the processes of a scenario.
type world struct {
	script *script.Script

	mu       sync.Mutex
	posts    []*post
	tries    int // posts that were tried, failed ones too
	faults   []doPlatform
	refuses  func(core.Post) bool // beside the faults of the script; nil for none
	typing   map[string]bool
	requests []*request
	logs     []logged
	tools    map[string]*script.Queue[doTool]
}

type post struct {
	id, place string
	post      core.Post
	matched   bool
	// edited: it is no post but a later text of one for operators. It may be
	// expected and need not be.
	edited bool
}

type request struct {
	script.Record
	matched bool
}

type logged struct {
	event   string
	fields  map[string]string
	matched bool
}

func newWorld() *world {
	w := &world{typing: map[string]bool{}, tools: map[string]*script.Queue[doTool]{}}
	w.script = &script.Script{OnRequest: func(r script.Record) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.requests = append(w.requests, &request{Record: r})
	}}
	return w
}

// line is one process's way to the platform; a killed process has none.
type wire struct {
	w    *world
	mu   sync.Mutex
	dead bool
}

func (l *wire) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
}

func (l *wire) gone() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return &core.SendError{Unknown: true, Err: errors.New("the process is gone")}
	}
	return nil
}

func (l *wire) Limits(core.Thread) core.Limits {
	return core.Limits{MaxText: 2000, Count: func(s string) int { return len([]rune(s)) }, MaxParts: 10,
		FirstPreview: time.Second, EditEvery: 1200 * time.Millisecond}
}

func placeName(t core.Thread) string {
	switch t.Kind {
	case core.KindDirect:
		return "dm:" + t.Channel
	case core.KindChannel:
		return "channel:" + t.Channel
	}
	return t.Channel
}

func (l *wire) Post(_ context.Context, p core.Post) (core.Posted, error) {
	if err := l.gone(); err != nil {
		return core.Posted{}, err
	}
	w := l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tries++
	for _, old := range w.posts {
		if old.post.Nonce == p.Nonce && p.Nonce != "" {
			return core.Posted{ID: old.id, Linked: old.post.Link}, nil
		}
	}
	if w.refuses != nil && w.refuses(p) {
		return core.Posted{}, &core.SendError{Permanent: true, Err: errors.New("the platform refuses such posts")}
	}
	var fault *doPlatform
	for i, f := range w.faults {
		if f.n == 0 || f.n == w.tries {
			fault = &f
			w.faults = append(w.faults[:i:i], w.faults[i+1:]...)
			break
		}
	}
	if fault != nil && !fault.unknown {
		return core.Posted{}, &core.SendError{Err: errors.New("the platform refused the post")}
	}
	x := &post{id: fmt.Sprintf("p%d", len(w.posts)+1), place: placeName(p.Target.Thread), post: p}
	w.posts = append(w.posts, x)
	if fault != nil {
		return core.Posted{}, &core.SendError{Unknown: true, Err: errors.New("the answer of the platform was lost")}
	}
	return core.Posted{ID: x.id, Linked: p.Link}, nil
}

func (l *wire) Edit(_ context.Context, id string, p core.Post) error {
	if err := l.gone(); err != nil {
		return err
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for _, x := range l.w.posts {
		if x.id == id {
			x.post.Text = p.Text
			if p.Kind == core.PostAdmin {
				l.w.posts = append(l.w.posts, &post{id: id, place: x.place, post: p, edited: true})
			}
			return nil
		}
	}
	return &core.SendError{Permanent: true, Err: errors.New("there is no such post")}
}

func (l *wire) Delete(context.Context, core.Target, string) error { return l.gone() }

func (l *wire) Working(_ context.Context, t core.Target, on bool) error {
	if err := l.gone(); err != nil {
		return err
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.typing[placeName(t.Thread)] = on
	return nil
}

func (l *wire) Find(_ context.Context, p core.Post, _ time.Time) (core.Posted, bool, error) {
	if err := l.gone(); err != nil {
		return core.Posted{}, false, err
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for _, x := range l.w.posts {
		if x.post.Nonce == p.Nonce {
			return core.Posted{ID: x.id, Linked: x.post.Link}, true, nil
		}
	}
	return core.Posted{}, false, nil
}

// text is everything that a model is given, for contains and lacks.
func (r *request) text() string {
	var b strings.Builder
	b.WriteString(r.Request.System + "\n")
	for _, m := range r.Request.Messages {
		for _, p := range m.Parts {
			b.WriteString(p.Text)
			if p.Call != nil {
				fmt.Fprintf(&b, "%s %s", p.Call.Name, p.Call.Args)
			}
			if p.Result != nil {
				b.WriteString(p.Result.Text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// actor is a tool of the scenario.
type actor struct {
	w    *world
	name string
}

func (s actor) Spec() llm.Tool {
	return llm.Tool{Name: s.name, Description: "a scripted tool", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (s actor) Run(ctx context.Context, _ tool.Call) (string, error) {
	s.w.mu.Lock()
	d := doTool{text: "ok"}
	if q := s.w.tools[s.name]; q != nil {
		if next, ok := q.Next(); ok {
			d = next
		}
	}
	s.w.mu.Unlock()
	select {
	case <-time.After(d.slow):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	switch {
	case d.hang:
		<-ctx.Done()
		return "", ctx.Err()
	case d.isError:
		return "", errors.New(d.text)
	}
	return d.text, nil
}

// recorder keeps structured log lines.
type recorder struct {
	w     *world
	attrs []slog.Attr
}

func (r recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r recorder) WithGroup(string) slog.Handler            { return r }
func (r recorder) WithAttrs(a []slog.Attr) slog.Handler {
	return recorder{r.w, append(r.attrs[:len(r.attrs):len(r.attrs)], a...)}
}

func (r recorder) Handle(_ context.Context, rec slog.Record) error {
	l := logged{event: rec.Message, fields: map[string]string{}}
	for _, a := range r.attrs {
		l.fields[a.Key] = a.Value.String()
	}
	rec.Attrs(func(a slog.Attr) bool {
		l.fields[a.Key] = a.Value.String()
		return true
	})
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.w.logs = append(r.w.logs, l)
	return nil
}
