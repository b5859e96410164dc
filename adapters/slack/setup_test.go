package slack

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen. It is long, since a
// busy machine is no failure.
const patience = 30 * time.Second

// bot is a handler that keeps what it was given, as a store would: a message
// whose key is known changes nothing.
type bot struct {
	mu        sync.Mutex
	changed   chan struct{}
	messages  []core.Message
	keys      map[string]int // deliveries by inbox key
	changes   []core.Change
	commands  []core.Invocation
	presses   []core.Press
	known     map[string]bool // who may write under the policy "pairing"
	knocks    []core.Message
	fail      []error       // for the next messages
	stuck     bool          // the store does not answer
	meanwhile func()        // while a command runs
	panics    bool          // a fault of ours
	permits   chan struct{} // when set, each message takes one of these
	waiting   int           // messages that wait for it
	reply     core.Reply
}

func newBot() *bot { return &bot{changed: make(chan struct{}), keys: map[string]int{}} }

func (b *bot) touch() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *bot) Message(ctx context.Context, m core.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.touch()
	if permits := b.permits; permits != nil {
		b.mu.Unlock()
		select {
		case <-permits:
		case <-ctx.Done():
		}
		b.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if b.panics {
		panic("boom")
	}
	if b.stuck {
		b.waiting++
		b.touch()
		b.mu.Unlock()
		<-ctx.Done()
		b.mu.Lock()
		return ctx.Err()
	}
	if len(b.fail) > 0 {
		err := b.fail[0]
		b.fail = b.fail[1:]
		return err
	}
	b.keys[m.InboxKey()]++
	if b.keys[m.InboxKey()] == 1 {
		b.messages = append(b.messages, m)
	}
	return nil
}

func (b *bot) Change(_ context.Context, c core.Change) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.touch()
	b.changes = append(b.changes, c)
	return nil
}

func (b *bot) Command(_ context.Context, inv core.Invocation) (core.Reply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.touch()
	if b.panics {
		panic("boom")
	}
	if b.meanwhile != nil {
		b.meanwhile()
	}
	b.commands = append(b.commands, inv)
	if b.reply.Text == "" {
		return core.Reply{}, errors.New("nothing to say")
	}
	return b.reply, nil
}

func (b *bot) Press(_ context.Context, p core.Press) (core.Reply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.touch()
	b.presses = append(b.presses, p)
	return b.reply, nil
}

func (b *bot) Known(_ context.Context, _ core.Thread, who core.Author) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known[who.ID], nil
}

func (b *bot) Knock(_ context.Context, m core.Message) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.touch()
	b.knocks = append(b.knocks, m)
	return "who are you?", nil
}

func (b *bot) Complete(context.Context, core.Invocation) ([]core.Choice, error) { return nil, nil }

// await returns once ok holds, which may look at the bot.
func (b *bot) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		b.mu.Lock()
		changed, done := b.changed, ok()
		b.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// next is the message with number n, counted from 0.
func (b *bot) next(t *testing.T, n int) core.Message {
	t.Helper()
	b.await(t, "a message", func() bool { return len(b.messages) > n })
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.messages[n]
}

// pressed are the picks and clicks so far.
func (b *bot) pressed() []core.Press {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.presses)
}

// heard are the messages so far; told are the changes, called the commands.
func (b *bot) heard() []core.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.messages)
}

func (b *bot) told() []core.Change {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.changes)
}

func (b *bot) called() []core.Invocation {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.commands)
}

// rig is a fake Slack, an adapter connected to it, and the bot behind.
type rig struct {
	*testing.T
	slack *slacktest.Server
	a     *Adapter
	bot   *bot
	log   *lockedBuffer
	run   chan error
	// cancel ends Run.
	cancel context.CancelFunc
}

// quick is a pace at which nothing waits for long.
var quick = pace{
	pauses:   []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond},
	settled:  time.Hour,
	silence:  20 * time.Second,
	farewell: 5 * time.Second,
	audit:    time.Hour,
	answer:   2 * time.Second,
}

func config(s *slacktest.Server) Config {
	return Config{
		Account: "main", APIURL: s.APIURL(), BotToken: core.NewSecret(slacktest.BotToken), AppToken: core.NewSecret(slacktest.AppToken),
		Allow: []string{Everybody}, DM: DMOpen, PostEvery: -1, EditEvery: -1,
	}
}

// serve starts a fake Slack.
func serve(t *testing.T, cfg slacktest.Config) *slacktest.Server {
	t.Helper()
	s := slacktest.New(cfg)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// start makes the whole rig, and waits for the socket. No token may have been
// logged by the time it ends.
func start(t *testing.T, fake slacktest.Config, change func(*Config, *Adapter)) *rig {
	t.Helper()
	return begin(t, serve(t, fake), change)
}

// begin connects an adapter to a fake Slack in which something has happened.
func begin(t *testing.T, s *slacktest.Server, change func(*Config, *Adapter)) *rig {
	t.Helper()
	r := &rig{T: t, slack: s, bot: newBot(), log: &lockedBuffer{}, run: make(chan error, 1)}
	cfg := config(s)
	cfg.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if change != nil {
		change(&cfg, nil)
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.pace = quick
	if change != nil {
		change(&cfg, a)
	}
	r.a = a
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	go func() { r.run <- a.Run(ctx, r.bot) }()
	t.Cleanup(func() {
		cancel()
		if err := <-r.run; err != nil {
			t.Errorf("Run: %v", err)
		}
		for _, token := range []string{slacktest.BotToken, slacktest.AppToken, "hook-", "ticket-"} {
			if strings.Contains(r.log.String(), token) {
				t.Errorf("the log holds %q", token)
			}
		}
	})
	if cfg.AppToken.Set() {
		r.wait("a socket", func() bool { return s.Connected() > 0 })
	} else {
		r.connected()
	}
	return r
}

// plainly is a rig with nothing special about it.
func plainly(t *testing.T) *rig { return start(t, slacktest.Config{}, nil) }

// set changes the configuration before the adapter is made.
func set(change func(*Config)) func(*Config, *Adapter) {
	return func(c *Config, a *Adapter) {
		if a == nil {
			change(c)
		}
	}
}

// wait returns once the fake Slack is as it should be.
func (r *rig) wait(what string, ok func() bool) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if err := r.slack.Wait(ctx, what, ok); err != nil {
		r.Fatal(err)
	}
}

// settled returns once everything that was sent is acknowledged.
func (r *rig) settled() {
	r.Helper()
	r.wait("acknowledgements", func() bool { return len(r.slack.Unacked()) == 0 })
}

// post is an answer in the thread of a target.
func post(t core.Target, text string) core.Post {
	return core.Post{Target: t, Kind: core.PostAnswer, Text: text, Link: true, Nonce: "turn1-0"}
}

// inThread is a target in the thread of a root.
func inThread(channel, root string) core.Target {
	return core.Target{Thread: core.Thread{Platform: "slack", Account: "main", Workspace: slacktest.Team, Channel: channel, Root: root, Kind: core.KindThread}}
}

func sendErr(t *testing.T, err error) *core.SendError {
	t.Helper()
	var e *core.SendError
	if !errors.As(err, &e) {
		t.Fatalf("%v is no SendError", err)
	}
	return e
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
