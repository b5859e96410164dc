package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/auth"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/llm/script"
	"understudy/notices"
	"understudy/store/memory"
)

// explain is "understudy explain": the decisions of a stored turn in plain
// words, or what would happen if providers failed.
func explain(ctx context.Context, c console, args []string) error {
	f := flags(c, "explain")
	configPath := f.String("config", "", "the configuration file")
	agent := f.String("agent", mainAgent, "with --if: whose message it is")
	model := f.String("model", "", "with --if: as if a user had chosen this model")
	var faults []script.Fault
	f.Func("if", "play a message through with these failures: provider=kind,…, for example anthropic=overloaded,openai=429; a model in place of a provider, and provider=kind:count, work too", func(s string) error {
		for part := range strings.SplitSeq(s, ",") {
			fault, err := script.ParseFault(part)
			if err != nil {
				return err
			}
			if fault.Count == 0 {
				fault.Count = script.MaxFaults
			}
			faults = append(faults, fault)
		}
		return nil
	})
	if err := parse(f, args); err != nil {
		return err
	}
	if (f.NArg() == 1) == (len(faults) > 0) {
		return misuse("name a turn, or say what fails: understudy explain --if anthropic=overloaded,openai=429")
	}
	s, err := loadFor(c, *configPath)
	if err != nil {
		return err
	}
	if len(faults) == 0 {
		return s.explainTurn(ctx, c.out, f.Arg(0))
	}
	if s.config.Agents.Defaults.Model.Zero() {
		useCast(s.config)
	}
	if !slices.Contains(s.config.agentIDs(), *agent) {
		return misuse("there is no agent %q%s", *agent, didYouMean(*agent, s.config.agentIDs()))
	}
	choice, err := s.override(*model)
	if err != nil {
		return err
	}
	states, err := s.states(ctx)
	if err != nil {
		return err
	}
	return s.rehearse(ctx, c.out, *agent, choice, faults, states[*agent])
}

// explainTurn tells the decisions of a turn that happened.
func (s *setup) explainTurn(ctx context.Context, out io.Writer, id string) error {
	st, err := s.openStore(ctx, s.config.Store.Path, false)
	if err != nil {
		return err
	}
	defer st.Close()
	t, ok, err := st.Turn(ctx, id)
	if err != nil {
		return err
	}
	if !ok {
		return misuse("the store %s knows no turn %q; the log names the turns", s.config.Store.Path, id)
	}
	fmt.Fprintf(out, "%s  %s (%s), in %s: %s\n", t.Started.UTC().Format(time.RFC3339), t.Selected, t.Source, t.Session.Thread, t.Outcome)
	for i, line := range notices.Why(t.Attempts) {
		fmt.Fprintf(out, "%9s  %s\n", since(t.Started, t.Attempts[i].At), line)
	}
	if t.Error != "" {
		fmt.Fprintf(out, "%9s  the thread was told: %s\n", since(t.Started, t.Ended), t.Error)
	}
	return nil
}

// rehearse plays one message through the real configuration and the present
// states of the profiles, with scripted models and on a clock that does not
// wait, and prints what would happen when.
func (s *setup) rehearse(ctx context.Context, out io.Writer, agent string, choice llm.Ref, faults []script.Fault, states map[string]failover.State) error {
	clock := newClock(1e9, false)
	actors := &script.Script{Now: clock.Now, After: clock.After, Timeouts: s.config.Timeouts.request()}
	for _, f := range faults {
		if err := actors.Fail(f); err != nil {
			return misuse("--if: %v", err)
		}
	}
	st := memory.New().Open(memory.Options{})
	for id, state := range states {
		if err := st.UpdateState(ctx, agent, id, func(failover.State) failover.State { return state }); err != nil {
			return err
		}
	}
	play := &rehearsal{out: out, now: clock.Now, began: clock.Now()}
	config := *s.config
	config.Bindings = []bindingConfig{{Agent: agent}}
	config.RequireMention, config.Streaming = byKind{Default: "never"}, "off"
	h, err := build(parts{
		config: &config, store: st, platform: func(core.Thread) (core.Platform, bool) { return play, true },
		client: func(d auth.Declared, _ core.Secret) (llm.Client, error) {
			return script.New(actors, d.Provider, d.ID), nil
		},
		keys: s.keys, known: s.config.providerKnown, keyless: s.config.providerKeyless, unknown: s.config.unknown,
		attempted: play.attempted, skipTTL: time.Duration(s.env.SkipTTL), now: clock.Now, after: clock.After,
	})
	if err != nil {
		return misuse("%v", err)
	}
	if err := h.open(ctx); err != nil {
		return err
	}
	defer h.shut(0)
	target := core.Target{Thread: core.Thread{Platform: "explain", Account: "main", Channel: "rehearsal", Kind: core.KindThread}, ReplyTo: "1"}
	if choice != (llm.Ref{}) {
		if _, err := h.bot.SelectModel(ctx, core.Key{Agent: agent, Thread: target.Thread.Key()}, target, choice.String()); err != nil {
			return err
		}
	}
	play.began = clock.Now()
	err = h.bot.Message(ctx, core.Message{ID: "1", Author: core.Author{ID: "someone", Name: "someone"}, Target: target, Text: "hello", At: clock.Now(), Addressed: true})
	if err != nil {
		return err
	}
	return h.idle(ctx)
}

// rehearsal is a platform on which everything that is said is a line with its
// time.
type rehearsal struct {
	out   io.Writer
	now   func() time.Time
	mu    sync.Mutex
	began time.Time
	posts int
}

func (r *rehearsal) print(at time.Time, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "%9s  %s\n", since(r.began, at), text)
}

func (r *rehearsal) attempted(_ core.Key, a failover.Attempt) {
	r.print(a.At.Add(a.Took), notices.Why([]failover.Attempt{a})[0])
}

// Limits have no previews.
func (r *rehearsal) Limits(core.Thread) core.Limits {
	return core.Limits{MaxText: 1 << 20, Count: func(s string) int { return len(s) }, MaxParts: 1}
}

// Post prints what people would read.
func (r *rehearsal) Post(_ context.Context, p core.Post) (core.Posted, error) {
	text := map[core.PostKind]string{
		core.PostAnswer: "the thread gets the answer",
		core.PostNotice: "the thread is told, beside the answer: " + p.Text,
		core.PostStatus: "the thread is told, until the answer comes: " + p.Text,
		core.PostError:  "the thread is told: " + p.Text,
	}[p.Kind]
	if text == "" {
		text = "the thread is told: " + p.Text
	}
	r.print(r.now(), text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.posts++
	return core.Posted{ID: fmt.Sprint(r.posts)}, nil
}

// Edit, Delete and Working change nothing that is printed.
func (r *rehearsal) Edit(context.Context, string, core.Post) error     { return nil }
func (r *rehearsal) Delete(context.Context, core.Target, string) error { return nil }
func (r *rehearsal) Working(context.Context, core.Target, bool) error  { return nil }

// since is a time in a turn, as people read it.
func since(start, at time.Time) string {
	return "+" + at.Sub(start).Round(time.Millisecond).String()
}
