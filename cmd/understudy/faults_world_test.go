package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/llm"
	"understudy/core/llm/script"
	"understudy/core/tool"
)

// boards is the platform of a trial. Unlike Discord it takes the same nonce
// twice: whoever does not know whether something was posted has to look.
type boards struct {
	mu    sync.Mutex
	posts []*staged
	rings map[string]int // runs of the tool, by what it was called for
}

type staged struct {
	id   string
	post core.Post
	gone bool
}

// shows is what people see, as "answer: hello".
func (s *boards) shows() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.posts {
		if !p.gone {
			all = append(all, fmt.Sprintf("%s: %s", p.post.Kind, p.post.Text))
		}
	}
	return all
}

// door is one process's way to the boards. Nothing comes through once it is shut.
type door struct {
	*boards
	mu   sync.Mutex
	shut bool
}

func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
}

// enter holds the boards until leave is called.
func (d *door) enter() (leave func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return nil, &core.SendError{Unknown: true, Err: errDead}
	}
	d.boards.mu.Lock()
	return d.boards.mu.Unlock, nil
}

func (d *door) Limits(core.Thread) core.Limits {
	return core.Limits{MaxText: 2000, Count: func(s string) int { return len(s) }, MaxParts: 10,
		FirstPreview: time.Second, EditEvery: 1200 * time.Millisecond}
}

func (d *door) Post(_ context.Context, p core.Post) (core.Posted, error) {
	leave, err := d.enter()
	if err != nil {
		return core.Posted{}, err
	}
	defer leave()
	x := &staged{id: fmt.Sprintf("p%d", len(d.posts)+1), post: p}
	d.posts = append(d.posts, x)
	return core.Posted{ID: x.id, Linked: p.Link}, nil
}

// change does something with a post.
func (d *door) change(id string, do func(*staged)) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	for _, x := range d.posts {
		if x.id == id && !x.gone {
			do(x)
			return nil
		}
	}
	return &core.SendError{Permanent: true, Err: errors.New("there is no such post")}
}

func (d *door) Edit(_ context.Context, id string, p core.Post) error {
	return d.change(id, func(x *staged) { x.post.Text = p.Text })
}

func (d *door) Delete(_ context.Context, _ core.Target, id string) error {
	var e *core.SendError
	if err := d.change(id, func(x *staged) { x.gone = true }); err != nil && (!errors.As(err, &e) || !e.Permanent) {
		return err
	}
	return nil
}

func (d *door) Working(context.Context, core.Target, bool) error { return nil }

func (d *door) Find(_ context.Context, p core.Post, _ time.Time) (core.Posted, bool, error) {
	leave, err := d.enter()
	if err != nil {
		return core.Posted{}, false, err
	}
	defer leave()
	for _, x := range d.posts {
		if x.post.Nonce == p.Nonce && !x.gone {
			return core.Posted{ID: x.id, Linked: x.post.Link}, true, nil
		}
	}
	return core.Posted{}, false, nil
}

// ringer is a tool whose effect is seen on the boards.
type ringer struct{ *door }

func (r ringer) Spec() llm.Tool {
	return llm.Tool{Name: "ring", Description: "rings the bell", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (r ringer) Run(_ context.Context, c tool.Call) (string, error) {
	leave, err := r.enter()
	if err != nil {
		return "", err
	}
	defer leave()
	r.rings[string(c.Args)]++
	return "it rang", nil
}

// recite is what the models of a trial say. It depends on nothing but the last
// thing that was said, so that it is the same after a crash.
func recite(ref llm.Ref, req llm.Request) script.Answer {
	rang, line := false, ""
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch {
			case m.Role == llm.User:
				rang, line = false, p.Text
			case p.Result != nil:
				rang = true
			}
		}
	}
	text := fmt.Sprintf(`"heard %s (%s)."`, strings.Fields(line + " nothing")[0], ref.Provider)
	switch {
	case strings.Contains(line, "away") && ref.Provider == "lead":
		return recited(`429 retry-after=36000 "slow down"`)
	case strings.Contains(line, "ring") && !rang:
		return recited(fmt.Sprintf(`tool ring {"line":%q}`, strings.Fields(line)[0]))
	case strings.Contains(line, "slowly"):
		return recited("stream " + text + ` pause 3s " And" pause 3s " on."`)
	}
	return recited("text " + text)
}

func recited(text string) script.Answer {
	a, err := script.ParseAnswer(text)
	if err != nil {
		panic(err) // it is written above
	}
	return a
}
