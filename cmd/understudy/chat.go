package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"understudy/adapters/terminal"
	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/llm/script"
	"understudy/store/memory"
)

// chatFlags are the flags of "understudy chat".
type chatFlags struct {
	config, message, model, store string
	json                          bool
	speed                         float64
	faults                        []script.Fault
}

// chatCommand is "understudy chat": the whole bot on the terminal.
func chatCommand(ctx context.Context, c console, args []string) error {
	var fl chatFlags
	f := flags(c, "chat")
	f.StringVar(&fl.config, "config", "", "the configuration file")
	f.StringVar(&fl.message, "m", "", "say this, print the answer and end")
	f.BoolVar(&fl.json, "json", false, "with -m: print one line of JSON per event")
	f.StringVar(&fl.model, "model", "", "use this model and no other (strict)")
	f.StringVar(&fl.store, "store", "", "keep the conversation in this SQLite file; without it, in memory (scripted provider) or in chat.db beside the bot's store")
	f.Float64Var(&fl.speed, "speed", 1, "let time pass so many times as fast (scripted provider only)")
	f.Func("fail", "let scripted models fail: target=kind:count, for example script/lead=overloaded:1; may be repeated", func(s string) error {
		fault, err := script.ParseFault(s)
		fl.faults = append(fl.faults, fault)
		return err
	})
	if err := parse(f, args); err != nil {
		return err
	}
	switch {
	case f.NArg() > 0:
		return misuse("%q is one word too many; to say something, write: understudy chat -m %q", f.Arg(0), strings.Join(f.Args(), " "))
	case f.given("m") && strings.TrimSpace(fl.message) == "":
		return misuse("-m is empty; write what to say behind it")
	case fl.json && fl.message == "":
		return misuse("--json needs -m")
	case !(fl.speed >= 0.001 && fl.speed <= 1e6):
		return misuse("--speed is %v; write a number from 0.001 to 1000000", fl.speed)
	}
	s, err := loadFor(c, fl.config)
	if err != nil {
		return err
	}
	if s.config.Agents.Defaults.Model.Zero() {
		useCast(s.config)
	}
	return s.chat(ctx, c, fl)
}

// chat wires the house to the terminal and talks.
func (s *setup) chat(ctx context.Context, c console, fl chatFlags) error {
	override, err := s.override(fl.model)
	if err != nil {
		return err
	}
	if err := s.unanswerable(override); err != nil {
		return err
	}
	now, after := time.Now, time.After
	if fl.speed != 1 {
		c := newClock(fl.speed, fl.message == "")
		now, after = c.Now, c.After
	}
	actors := &script.Script{Now: now, After: after, Timeouts: s.config.Timeouts.request(), Default: script.Echo}
	if fl.message == "" {
		actors.Pace = 25 * time.Millisecond
	}
	for _, fault := range fl.faults {
		if err := s.fail(actors, fault); err != nil {
			return misuse("--fail: %v", err)
		}
	}
	s.log = logger(c.err, "error", s.env.LogFormat)
	st, err := s.chatStore(ctx, fl.store, override)
	if err != nil {
		return err
	}
	stage := &stage{}
	transport := llm.NewTransport(nil, s.config.Timeouts.request())
	transport.Veil = c.veil()
	defer transport.CloseIdle()
	h, err := build(parts{
		hide:   c.hide,
		config: s.config, store: st, platform: func(t core.Thread) (core.Platform, bool) { return stage, t.Platform == "terminal" },
		client: s.config.clients(transport, actors), keys: s.keys,
		known: s.config.providerKnown, keyless: s.config.providerKeyless, unknown: s.config.unknown,
		override: override, attempted: stage.attempted, maxTurns: s.env.MaxTurns, skipTTL: time.Duration(s.env.SkipTTL),
		now: now, after: after, log: s.log,
	})
	if err != nil {
		st.Close()
		return misuse("%v", err)
	}
	t := terminal.New(terminal.Config{
		In: c.in, Out: c.out, Name: "chat", User: "you", Color: isTerminal(c.out) && !bool(s.env.NoColor),
		Local: s.local(actors), Idle: h.idle, Script: !isTerminal(c.in), Now: now, Interrupts: interrupts(fl.message == ""),
	})
	stage.Platform = t
	if fl.json {
		stage.json = terminal.NewJSON(c.out, now)
		stage.Platform = stage.json
	}
	if err := h.open(ctx); err != nil {
		return err
	}
	if fl.message != "" {
		err = say(ctx, t, h, fl.message)
	} else {
		fmt.Fprintf(c.out, "You talk to %s. /help lists the commands, :help the ways to make models fail; Ctrl-D ends.\n", s.first(override))
		if err = t.Run(ctx, h.bot); err == io.EOF {
			err = nil
		}
	}
	if e := h.shut(time.Second); err == nil {
		err = e
	}
	if err == nil && fl.message != "" && stage.failed.Load() {
		return errFailed
	}
	return err
}

// say says one thing and waits for all that follows.
func say(ctx context.Context, t *terminal.Terminal, h *house, text string) error {
	if err := t.Say(ctx, h.bot, text); err != nil {
		return err
	}
	err := h.idle(ctx)
	if err == nil {
		t.End()
	}
	return err
}

// override reads --model.
func (s *setup) override(word string) (llm.Ref, error) {
	if word == "" {
		return llm.Ref{}, nil
	}
	r, ok := s.config.Models.Aliases[strings.ToLower(word)]
	if !ok {
		r, ok = llm.ParseRef(word)
	}
	if !ok || s.config.unknown(r) != "" {
		return llm.Ref{}, misuse("--model: there is no model %q; the nearest are %s", word, strings.Join(s.config.nearest(word), ", "))
	}
	return r, nil
}

func (s *setup) first(override llm.Ref) llm.Ref {
	if override != (llm.Ref{}) {
		return override
	}
	return s.config.primary()
}

// chatStore keeps a try-out in memory, so that each one starts anew, and a talk
// with real models in a file beside the bot's: a bot that runs keeps its own.
func (s *setup) chatStore(ctx context.Context, path string, override llm.Ref) (stores, error) {
	if path == "" && s.first(override).Provider == "script" {
		return memory.New().Open(memory.Options{}), nil
	}
	if path == "" {
		path = filepath.Join(filepath.Dir(s.config.Store.Path), "chat.db")
	}
	st, err := s.openStore(ctx, path, true)
	if err != nil {
		return nil, err // no typed nil
	}
	return st, nil
}

// fail orders a failure of a model, or provider, that is there to fail.
func (s *setup) fail(actors *script.Script, f script.Fault) error {
	ref, ok := llm.ParseRef(f.Target)
	if !ok {
		ref.Provider = f.Target
	}
	p, _ := s.config.provider(ref.Provider)
	if p.API != "script" || ok && s.config.unknown(ref) != "" {
		return fmt.Errorf("there is no scripted model or provider %q; write for example script/lead, or script for all of them", f.Target)
	}
	return actors.Fail(f)
}

// local are the lines that are for the scripted provider.
func (s *setup) local(actors *script.Script) func(string) (string, bool) {
	return func(line string) (string, bool) {
		order, ok := strings.CutPrefix(line, ":")
		if !ok {
			return "", false
		}
		verb, rest, _ := strings.Cut(order, " ")
		if verb != "fail" {
			return "Write “:fail script/lead overloaded 3” to let the next three requests to that model fail, “:fail script ok” to heal all.\nKinds: " +
				strings.Join(script.Kinds(), ", ") + ", or an HTTP status.", true
		}
		if strings.TrimSpace(rest) == "" {
			return "Say who fails and how: “:fail script/lead overloaded 3”. :help lists the kinds.", true
		}
		fault, err := script.ParseFault(rest)
		if err == nil {
			err = s.fail(actors, fault)
		}
		if err != nil {
			return err.Error(), true
		}
		if fault.Kind == "ok" {
			return fault.Target + " works again.", true
		}
		if fault.Count > 1 {
			return fmt.Sprintf("The next %d requests to %s fail (%s).", fault.Count, fault.Target, fault.Kind), true
		}
		return fmt.Sprintf("The next request to %s fails (%s).", fault.Target, fault.Kind), true
	}
}

// stage is the terminal with an eye on how it went.
type stage struct {
	core.Platform
	json   *terminal.JSON
	failed atomic.Bool
}

// Post passes a post on.
func (s *stage) Post(ctx context.Context, p core.Post) (core.Posted, error) {
	if p.Kind == core.PostError {
		s.failed.Store(true)
	}
	return s.Platform.Post(ctx, p)
}

func (s *stage) attempted(_ core.Key, a failover.Attempt) {
	if s.json != nil {
		s.json.Attempt(terminal.Event{
			Time: a.At, Model: a.Model.String(), Profile: a.Profile, Reason: string(a.Cause()), Skipped: a.Skipped,
		})
	}
}

// interrupts is Ctrl-C, where somebody may press it.
func interrupts(on bool) <-chan os.Signal {
	if !on {
		return nil
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	return c
}

// isTerminal reports whether a person sits at the stream.
func isTerminal(stream any) bool {
	if p, ok := stream.(*printer); ok {
		stream = p.Writer
	}
	if w, ok := stream.(*veiledWriter); ok {
		stream = w.Writer
	}
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
