package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/core/auth"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/llm/script"
	"understudy/core/tool"
	"understudy/sessions"
	"understudy/store"
	"understudy/store/memory"
)

// scenarioFolders hold the stories: those of the rules, and those of failures
// that were reported of other programs.
var scenarioFolders = []string{"testdata/scenarios", "testdata/cases"}

// TestScenarios plays every story on both stores, in exact fake time.
func TestScenarios(t *testing.T) {
	var files []string
	for _, dir := range scenarioFolders {
		found, err := filepath.Glob(dir + "/*.txtar")
		if err != nil || len(found) == 0 {
			t.Fatalf("no scenarios in %s: %v", dir, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		for _, kind := range []string{"memory", "sqlite"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				s, err := readScenario(filepath.Base(file), data)
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) { play(t, s, opener(t, kind, dir)) })
			})
		}
	}
}

// opener gives handles on one store.
func opener(t *testing.T, kind, dir string) func(fault func(string) error) stores {
	if kind == "memory" {
		m := memory.New()
		return func(fault func(string) error) stores { return m.Open(memory.Options{Fault: fault}) }
	}
	return func(fault func(string) error) stores {
		s, err := store.Open(context.Background(), store.Options{Path: filepath.Join(dir, "store.db"), Fault: fault})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// player plays one scenario.
type player struct {
	*testing.T
	s     *scenario
	w     *world
	open  func(func(string) error) stores
	began time.Time // of the bubble

	config       *config
	env          map[string]string
	unconfigured []string
	bare         []string
	threads      map[string]string

	house *house
	store stores
	wire  *wire
	calls *script.Wire
	fault atomic.Pointer[func() error] // of the next write

	ids      atomic.Int64
	messages []core.Message
	last     *post // matched by the last expectation
	seen     [2]int
	line     line
	group    bool
}

func play(t *testing.T, s *scenario, open func(func(string) error) stores) {
	playIn(t, s, newWorld(), open)
}

// playIn plays a scenario in a world that the test has prepared.
func playIn(t *testing.T, s *scenario, w *world, open func(func(string) error) stores) {
	p := &player{T: t, s: s, w: w, open: open, began: time.Now(), env: map[string]string{}, threads: map[string]string{}}
	p.w.script.Now, p.w.script.After = p.now, time.After
	c, err := parseConfig("config.jsonc", s.files["config.jsonc"], p.toolNames()...)
	if err != nil {
		t.Fatal(err)
	}
	p.config = c
	p.admins(s.lines)
	defer p.kill() // also after a failure: the bubble must empty
	for _, l := range s.lines {
		p.line = l
		p.do(l.cmd)
	}
	if p.house == nil {
		p.start()
	}
	p.end()
}

func (p *player) now() time.Time { return p.s.start.Add(time.Since(p.began)) }

func (p *player) fatalf(format string, args ...any) {
	p.Helper()
	p.Fatalf("line %d: %s\n%s\n%s", p.line.no, p.line.text, fmt.Sprintf(format, args...), p.dump())
}

// start starts the process on what the store holds.
func (p *player) start() {
	first := p.store == nil
	p.fault.Store(nil)
	p.store = p.open(func(string) error {
		if f := p.fault.Swap(nil); f != nil {
			return (*f)()
		}
		return nil
	})
	p.wire = &wire{w: p.w}
	p.calls = p.w.script.Wire()
	p.w.script.Timeouts = p.config.Timeouts.request()
	if first {
		p.load()
	}
	h, err := build(p.parts())
	if err != nil {
		p.fatalf("%v", err)
	}
	p.house = h
	if err := h.open(context.Background()); err != nil {
		p.fatalf("%v", err)
	}
	synctest.Wait()
}

func (p *player) parts() parts {
	max, _ := strconv.Atoi(p.env["UNDERSTUDY_MAX_TURNS"])
	ttl := p.env["UNDERSTUDY_FALLBACK_SKIP_TTL_MS"]
	if ttl == "" {
		ttl = p.env["OPENCLAW_FALLBACK_SKIP_TTL_MS"]
	}
	ms, _ := strconv.Atoi(ttl)
	var tools []tool.Tool
	for _, name := range p.toolNames() {
		tools = append(tools, actor{p.w, name})
	}
	return parts{
		config: p.config, store: p.store,
		platform: func(core.Thread) (core.Platform, bool) { return p.wire, true },
		client: func(d auth.Declared, _ core.Secret) (llm.Client, error) {
			return p.calls.Client(d.Provider, d.ID), nil
		},
		unknown: func(r llm.Ref) string {
			if slices.Contains(p.unconfigured, r.Provider) {
				return "the provider " + r.Provider + " is not configured"
			}
			return ""
		},
		known:   func(id string) bool { return !slices.Contains(p.unconfigured, id) },
		keyless: func(id string) bool { return !slices.Contains(p.bare, id) },
		bare:    func(id string) bool { return !slices.Contains(p.bare, id) },
		channel: func(a address) (core.Thread, bool) { return p.thread("channel:" + a.ID), true },
		tools:   tools, maxTurns: max, skipTTL: time.Duration(ms) * time.Millisecond,
		now: p.now, after: time.After,
		newID: func() string { return fmt.Sprintf("id%d", p.ids.Add(1)) },
		log:   slog.New(recorder{w: p.w}),
	}
}

// toolNames are the tools that the script or the configuration names.
func (p *player) toolNames() []string {
	var names []string
	for _, l := range p.s.lines {
		if d, ok := l.cmd.(doTool); ok {
			names = append(names, d.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// kill ends the process without a goodbye: nothing that it still tries
// reaches the store, the platform or a model.
func (p *player) kill() {
	if p.house == nil {
		return
	}
	p.wire.cut()
	p.calls.Cut()
	p.store.Close()
	p.house.bot.Stop(0)
	p.house.cancel()
	<-p.house.done
	p.house = nil
	synctest.Wait()
}

func (p *player) do(cmd any) {
	p.Helper()
	switch c := cmd.(type) {
	case doStart:
		return
	case doEnv:
		p.env[c.name] = c.value
		return
	case doUnconfigured:
		p.unconfigured = append(p.unconfigured, c.provider)
		return
	case doNoCredential:
		p.bare = append(p.bare, c.provider)
		return
	case doModel:
		p.w.script.Push(c.ref, c.profile, c.answer)
		if p.house != nil || p.store == nil {
			return
		}
	case doKill:
		p.kill()
		return
	case doStop:
		if err := p.house.shut(20 * time.Second); err != nil {
			p.fatalf("%v", err)
		}
		p.house = nil
		return
	}
	if p.house == nil {
		p.start()
	}
	switch c := cmd.(type) {
	case doModel:
	case doTogether:
		p.group = true
		for _, l := range c.lines {
			p.line = l
			p.do(l.cmd)
		}
		p.group = false
		synctest.Wait()
		return
	case doWait:
		time.Sleep(c.d)
	case doTool:
		p.w.mu.Lock()
		q := p.w.tools[c.name]
		if q == nil {
			q = &script.Queue[doTool]{}
			p.w.tools[c.name] = q
		}
		q.Push(c)
		p.w.mu.Unlock()
	case doThread:
		p.threads[c.thread] = strings.TrimPrefix(c.channel, "channel:")
	case doUser:
		p.user(c)
	case doEdit:
		p.change(core.Change{InboxKey: p.message(c.message).InboxKey(), Text: c.text})
	case doDelete:
		p.change(core.Change{InboxKey: p.message(c.message).InboxKey(), Deleted: true})
	case doRedeliver:
		p.deliver(p.message(c.message))
	case doPlatform:
		p.w.mu.Lock()
		p.w.faults = append(p.w.faults, c)
		p.w.mu.Unlock()
	case doStore:
		f := func() error {
			if c.slow > 0 {
				time.Sleep(c.slow)
				return nil
			}
			return errors.New("the store was told to fail")
		}
		p.fault.Store(&f)
	case doConfig:
		next, err := parseConfig(c.file, p.s.files[c.file], p.toolNames()...)
		if err != nil {
			p.fatalf("%v", err)
		}
		p.config = next
		p.w.script.Timeouts = next.Timeouts.request()
		p.admins(p.s.lines)
		if err := p.house.configure(next); err != nil {
			p.fatalf("%v", err)
		}
	case doRun:
		p.command(c.args)
	case doPatch:
		p.patch(c)
	case doPrune:
		for n := 1; n > 0; {
			var err error
			if n, err = p.store.Prune(context.Background(), p.config.Retention.before(p.now()), tidyAtOnce); err != nil {
				p.fatalf("%v", err)
			}
		}
	case doReset:
		if err := p.house.bot.Reset(context.Background(), p.session(c.session).Key); err != nil {
			p.fatalf("%v", err)
		}
	default:
		p.expect(cmd)
		return
	}
	if !p.group {
		synctest.Wait()
	}
}

// patch changes a session as whoever administers sessions does.
func (p *player) patch(c doPatch) {
	p.Helper()
	word := ""
	for _, f := range c.fields {
		switch f.name {
		case "model":
			word = f.value + word
		case "profile":
			word += "@" + f.value
		default:
			p.fatalf("a patch of %s is not there yet", f.name)
		}
	}
	s := p.session(c.session)
	if _, err := p.house.bot.SelectModel(context.Background(), s.Key, core.Target{Thread: p.thread(c.session)}, word); err != nil {
		p.fatalf("%v", err)
	}
}

// admins are the people whom the script calls admins.
func (p *player) admins(lines []line) {
	for _, l := range lines {
		switch c := l.cmd.(type) {
		case doUser:
			if c.admin {
				p.config.Admin.Users = append(p.config.Admin.Users, address{"fake", c.name})
			}
		case doTogether:
			p.admins(c.lines)
		}
	}
}

// command runs a command of the program beside it, on a handle of its own.
func (p *player) command(args []string) {
	p.Helper()
	if len(args) == 3 && args[0] == "auth" && args[1] == "clear" {
		s := p.open(nil)
		defer s.Close()
		if err := clearProfile(context.Background(), s, mainAgent, args[2]); err != nil {
			p.fatalf("%v", err)
		}
		return
	}
	p.fatalf("the command %q is not there yet", args)
}

func (p *player) thread(place string) core.Thread {
	t := core.Thread{Platform: "fake", Account: "main"}
	switch kind, name, ok := strings.Cut(place, ":"); {
	case ok && kind == "dm":
		t.Kind, t.Channel = core.KindDirect, name
	case ok && kind == "channel":
		t.Kind, t.Channel = core.KindChannel, name
	default:
		t.Kind, t.Channel, t.Parent = core.KindThread, place, "channel of "+place
		if c, ok := p.threads[place]; ok {
			t.Parent = c
		}
	}
	return t
}

func (p *player) user(c doUser) {
	p.Helper()
	id := fmt.Sprintf("m%d", len(p.messages)+1)
	m := core.Message{
		ID: id, Author: core.Author{ID: c.name, Name: c.name}, Text: c.text, At: p.now(), Addressed: true,
		Target: core.Target{Thread: p.thread(c.place), ReplyTo: id},
	}
	for _, name := range c.images {
		m.Attachments = append(m.Attachments, core.Attachment{Name: name, MIME: "image/png", Data: []byte(name), Size: int64(len(name))})
	}
	p.messages = append(p.messages, m)
	p.deliver(m)
}

func (p *player) deliver(m core.Message) {
	// An error is what an adapter gets when nothing was stored: it does not
	// acknowledge, and the platform delivers again, which is a line of its own.
	_ = p.house.bot.Message(context.Background(), m)
}

func (p *player) change(c core.Change) {
	p.Helper()
	if err := p.house.bot.Change(context.Background(), c); err != nil {
		p.fatalf("%v", err)
	}
}

func (p *player) message(name string) core.Message {
	p.Helper()
	if name == "last" && len(p.messages) > 0 {
		return p.messages[len(p.messages)-1]
	}
	for _, m := range p.messages {
		if m.ID == name {
			return m
		}
	}
	p.fatalf("there is no message %s", name)
	return core.Message{}
}

func (p *player) session(thread string) sessions.Session {
	p.Helper()
	s, err := p.store.Session(context.Background(), core.Key{Agent: mainAgent, Thread: p.thread(thread).Key()})
	if err != nil {
		p.fatalf("%v", err)
	}
	return s
}

// profileState is a profile's state as stored.
func (p *player) profileState(id string) failover.State {
	p.Helper()
	states, err := p.store.States(context.Background(), mainAgent)
	if err != nil {
		p.fatalf("%v", err)
	}
	return states[id]
}
