package discord_test

import (
	"context"
	"flag"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"understudy/adapters/discord"
	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

func TestMain(m *testing.M) {
	// Tests wait for sockets, not for the processor.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	// The tests of discordgo's traps leave two of its goroutines behind that
	// nothing ends: an Open that hangs, and a loop that connects again for ever.
	// The adapter opens no session of discordgo.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/bwmarrin/discordgo.(*Session).Open"),
		goleak.IgnoreAnyFunction("github.com/bwmarrin/discordgo.(*Session).reconnect"))
}

// guests is a handler that remembers what it was given.
type guests struct {
	mu       sync.Mutex
	changed  chan struct{}
	messages []core.Message
	keys     map[string]bool
	repeats  int
	changes  []core.Change
	calls    []core.Invocation
	failures int           // so many messages are refused first
	pause    chan struct{} // when set, messages wait until it is closed
	presses  []core.Press
	known    map[string]bool // who may write under the policy "pairing"
	knocks   []core.Message
	command  func(core.Invocation) (core.Reply, error)
	press    func(core.Press) (core.Reply, error)
	complete func(core.Invocation) ([]core.Choice, error)
}

func (g *guests) happened() {
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *guests) Message(_ context.Context, m core.Message) error {
	if g.pause != nil {
		<-g.pause
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.happened()
	if g.failures > 0 {
		g.failures--
		return errFull
	}
	if g.keys[m.InboxKey()] {
		g.repeats++
		return nil
	}
	g.keys[m.InboxKey()] = true
	g.messages = append(g.messages, m)
	return nil
}

func (g *guests) Change(_ context.Context, c core.Change) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.happened()
	g.changes = append(g.changes, c)
	return nil
}

func (g *guests) Command(_ context.Context, i core.Invocation) (core.Reply, error) {
	g.mu.Lock()
	g.calls = append(g.calls, i)
	g.happened()
	g.mu.Unlock()
	if g.command == nil {
		return core.Reply{Text: "did " + i.Name}, nil
	}
	return g.command(i)
}

func (g *guests) Complete(_ context.Context, i core.Invocation) ([]core.Choice, error) {
	if g.complete == nil {
		return nil, nil
	}
	return g.complete(i)
}

func (g *guests) Press(_ context.Context, p core.Press) (core.Reply, error) {
	g.mu.Lock()
	g.presses = append(g.presses, p)
	g.happened()
	g.mu.Unlock()
	if g.press == nil {
		return core.Reply{Text: "pressed " + p.Value}, nil
	}
	return g.press(p)
}

func (g *guests) Known(_ context.Context, _ core.Thread, who core.Author) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known[who.ID], nil
}

func (g *guests) Knock(_ context.Context, m core.Message) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.happened()
	g.knocks = append(g.knocks, m)
	return "who are you?", nil
}

type failure string

func (f failure) Error() string { return string(f) }

const errFull = failure("the disk is full")

// house is an adapter that runs against a fake Discord.
type house struct {
	t     *testing.T
	wires *wires // nil for loopback
	*discord.Adapter
	fake   *discordtest.Server
	guests *guests
	log    *lines
	ended  chan error
	stop   context.CancelFunc
}

// lines keeps what is logged.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func everybody(c *discord.Config) { c.Allow, c.DM = []string{"*"}, discord.DMOpen }

// newHouse makes a fake on loopback and an adapter that is not started.
func newHouse(t *testing.T, settings ...func(*discord.Config)) *house {
	t.Helper()
	return newHouseOn(t, nil, settings...)
}

// newHouseOn is newHouse in memory, if there are wires.
func newHouseOn(t *testing.T, wires *wires, settings ...func(*discord.Config)) *house {
	t.Helper()
	options := discordtest.Options{Inert: true, RespondWithin: time.Minute}
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	if wires != nil {
		options.Listener, transport.DialContext = wires, wires.dial
	}
	fake, err := discordtest.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, wires: wires, fake: fake, log: &lines{}, ended: make(chan error, 1),
		guests: &guests{changed: make(chan struct{}), keys: map[string]bool{}}}
	c := discord.Config{Account: "main", Token: core.NewSecret(discordtest.DefaultToken), APIURL: fake.URL,
		HTTP: &http.Client{Transport: transport},
		Log:  slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	everybody(&c)
	for _, s := range settings {
		s(&c)
	}
	if h.Adapter, err = discord.New(c); err != nil {
		t.Fatal(err)
	}
	h.Hasten()
	if wires != nil {
		h.Wire(wires.dial)
	} else {
		h.Slacken()
	}
	t.Cleanup(func() {
		if h.stop != nil {
			h.stop()
			select {
			case err := <-h.ended:
				if err != nil {
					t.Errorf("Run ended with %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Error("Run does not end")
			}
		}
		fake.Close()
		transport.CloseIdleConnections()
		if strings.Contains(h.log.String(), discordtest.DefaultToken) {
			t.Error("the token is in the log")
		}
		if careless := fake.Careless(); len(careless) > 0 {
			t.Errorf("posts that do not switch mentions off: %+v", careless)
		}
		if t.Failed() {
			t.Log(h.log.String())
		}
	})
	return h
}

// open makes a house whose adapter is connected.
func open(t *testing.T, settings ...func(*discord.Config)) *house {
	t.Helper()
	h := newHouse(t, settings...)
	h.start()
	h.await("a connection", func() bool { return h.Ready() && h.fake.Connected() == 1 })
	return h
}

func (h *house) start() { h.startWith(h.guests) }

// startWith runs the adapter with another handler.
func (h *house) startWith(handler core.Handler) {
	ctx, cancel := context.WithCancel(context.Background())
	h.stop = cancel
	go func() { h.ended <- h.Run(ctx, handler) }()
}

// await waits until something is so at the fake or at the handler.
func (h *house) await(what string, ok func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		h.guests.mu.Lock()
		changed := h.guests.changed
		h.guests.mu.Unlock()
		if ok() {
			return
		}
		wait, done := context.WithCancel(ctx)
		go func() {
			select {
			case <-changed:
			case <-time.After(20 * time.Millisecond): // for what the adapter alone knows
			case <-wait.Done():
			}
			done()
		}()
		_ = h.fake.Await(wait, ok)
		done()
		if ctx.Err() != nil {
			h.t.Fatalf("there was no %s", what)
		}
	}
}

// heard waits for the n-th message that was handed over.
func (h *house) heard(n int) core.Message {
	h.t.Helper()
	var m core.Message
	h.await("message", func() bool {
		h.guests.mu.Lock()
		defer h.guests.mu.Unlock()
		if len(h.guests.messages) < n {
			return false
		}
		m = h.guests.messages[n-1]
		return true
	})
	return m
}

// texts are what was handed over until a last message, which proves that all
// before it were looked at.
func (h *house) texts() []string {
	h.t.Helper()
	h.fake.Say(h.fake.Direct("700"), "700", "that is all")
	var all []string
	h.await("last message", func() bool {
		h.guests.mu.Lock()
		defer h.guests.mu.Unlock()
		all = all[:0]
		for _, m := range h.guests.messages {
			all = append(all, m.Text)
		}
		return slices.Contains(all, "that is all")
	})
	return all[:len(all)-1]
}

func (h *house) post(t core.Target, kind core.PostKind, text, nonce string, link bool) core.Posted {
	h.t.Helper()
	p, err := h.Post(h.t.Context(), core.Post{Target: t, Kind: kind, Text: text, Nonce: nonce, Link: link})
	if err != nil {
		h.t.Fatalf("post %q: %v", text, err)
	}
	return p
}
