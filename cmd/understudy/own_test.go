package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/terminal"
	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/llm"
	"understudy/core/llm/llmtest"
	"understudy/core/llm/script"
	"understudy/sessions"
	"understudy/store"
	"understudy/store/memory"
)

// leave puts a message that waits and a post that is to be sent into a store, as
// a process leaves them that was killed. What is told is how they are kept.
func leave(t *testing.T, path string, target core.Target) (left func() (messages, posts int)) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	key := core.Key{Agent: mainAgent, Thread: target.Thread.Key()}
	m := core.Message{ID: "left-1", Author: core.Author{ID: "700", Name: "ann"}, Target: target, Text: "left behind", At: time.Now(), Addressed: true}
	if _, _, err := st.Admit(t.Context(), sessions.Inbound{Key: m.InboxKey(), Session: key, Message: m, At: m.At}); err != nil {
		t.Fatal(err)
	}
	_, err = st.Queue(t.Context(), delivery.Row{
		Session: key, Turn: "turn-of-the-post", State: delivery.Queued, Created: time.Now(),
		Post: core.Post{Target: target, Kind: core.PostAnswer, Text: "the answer left behind", Nonce: "n-1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() (messages, posts int) {
		t.Helper()
		st, err := store.Open(t.Context(), store.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		waiting, err := st.Waiting(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows, err := st.Outgoing(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(waiting), len(rows)
	}
}

var discordPlace = core.Target{Thread: core.Thread{
	Platform: "discord", Account: "default", Workspace: "900", Channel: "55", Parent: discordSquare, Kind: core.KindThread,
}}

// A talk in the terminal on the bot's own store leaves alone what the bot has
// still to answer and to send.
func TestChatLeavesTheBotsConversations(t *testing.T) {
	setEnv(t)
	path := filepath.Join(t.TempDir(), "understudy.db")
	left := leave(t, path, discordPlace)
	out, errs, code := command(t, "", "chat", "-m", "hello", "--store", path)
	if code != 0 || !strings.Contains(out, "hello") || strings.Contains(out, "left behind") {
		t.Errorf("exit %d, %s; it prints\n%s", code, errs, out)
	}
	if messages, posts := left(); messages != 1 || posts != 1 {
		t.Errorf("%d messages and %d posts are left for the bot, want one of each", messages, posts)
	}
}

// The bot leaves alone what belongs to a talk in the terminal, and to a platform
// that is switched off for now.
func TestRunLeavesOtherConversations(t *testing.T) {
	for name, target := range map[string]core.Target{
		"terminal": terminal.Target("chat"),
		"slack": {Thread: core.Thread{
			Platform: "slack", Account: "default", Workspace: "T1", Channel: "C1", Root: "1.2", Kind: core.KindThread,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, newDiscordTown(t))
			left := leave(t, s.storePath(), target)
			stop, _ := s.runHere()
			s.lead.Queue("actor", llmtest.Text("Good evening."))
			s.open(s.towns[0], "hello").next("Good evening.")
			if code := stop(); code != 0 {
				t.Errorf("run ended with %d", code)
			}
			if messages, posts := left(); messages != 1 || posts != 1 {
				t.Errorf("%d messages and %d posts are left, want one of each", messages, posts)
			}
			if n := asked(s.lead); n != 1 {
				t.Errorf("the lead was asked %d times, want once", n)
			}
		})
	}
}

// A talk with a real model has a file of its own beside the bot's, which may be
// in use; another talk may not have the same.
func TestChatHasItsOwnStore(t *testing.T) {
	s := newStand(t)
	setEnv(t, s.env...)
	bot, err := store.Open(t.Context(), store.Options{Path: s.storePath(), Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer bot.Close()
	for _, answer := range []string{"Good evening.", "Good evening again."} {
		s.lead.Queue("actor", llmtest.Text(answer))
		if out, errs, code := command(t, "", "chat", "-m", "hello"); code != 0 || !strings.Contains(out, answer) {
			t.Fatalf("exit %d, %s; it prints\n%s", code, errs, out)
		}
	}
	k := talk{stand: s}
	if heard := k.heard(s.lead); !strings.Contains(heard, "Good evening.") {
		t.Errorf("the talk does not go on; the model hears\n%s", heard)
	}
	path := filepath.Join(filepath.Dir(s.storePath()), "chat.db")
	other, err := store.Open(t.Context(), store.Options{Path: path, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, args := range [][]string{{"chat", "-m", "hello"}, {"chat", "-m", "hello", "--store", s.storePath()}} {
		if out, errs, code := command(t, "", args...); code != 2 || !strings.Contains(errs, "stop that one first") {
			t.Errorf("%q on a file in use ends with %d, %s; it prints\n%s", args, code, errs, out)
		}
	}
}

// brokenInbox is a store that cannot tell what waits; its Close sees whether
// somebody still reads from it.
type brokenInbox struct {
	slowOutbox
	outbox    bool // the first reading of the outgoing posts fails as well
	reading   atomic.Int32
	closed    atomic.Bool
	disturbed atomic.Bool
}

var errBroken = errors.New("the disk is broken")

func (s *brokenInbox) Waiting(context.Context) ([]sessions.Inbound, error) { return nil, errBroken }

func (s *brokenInbox) Outgoing(ctx context.Context) ([]delivery.Row, error) {
	s.reading.Add(1)
	defer s.reading.Add(-1)
	if s.outbox {
		return nil, errBroken
	}
	return s.slowOutbox.Outgoing(ctx)
}

func (s *brokenInbox) Close() error {
	s.closed.Store(true)
	s.disturbed.Store(s.reading.Load() > 0)
	return s.stores.Close()
}

// A house that cannot be opened leaves nothing running and nothing open.
func TestFailedOpenLeavesNothingBehind(t *testing.T) {
	for name, outbox := range map[string]bool{"posts": true, "messages": false} {
		t.Run(name, func(t *testing.T) {
			st := &brokenInbox{slowOutbox: slowOutbox{stores: memory.New().Open(memory.Options{})}, outbox: outbox}
			c := defaultConfig()
			useCast(c)
			h, err := build(parts{
				config: c, store: st, platform: func(core.Thread) (core.Platform, bool) { return nil, false },
				client: c.clients(llm.NewTransport(nil, c.Timeouts.request()), &script.Script{}),
				known:  c.providerKnown, keyless: c.providerKeyless, unknown: c.unknown,
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := h.open(t.Context()); !errors.Is(err, errBroken) {
				t.Errorf("open says %v", err)
			}
			if !st.closed.Load() || st.disturbed.Load() {
				t.Errorf("closed %v, while somebody read from it %v", st.closed.Load(), st.disturbed.Load())
			}
		})
	}
}

// A store at a path that cannot be one is a wrong setting, also for a talk.
func TestUnusableStorePath(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("no database of ours, but some text that is long enough"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a folder": dir, "in a file": filepath.Join(file, "x.db"), "another file": file} {
		for _, args := range [][]string{{"run"}, {"chat", "-m", "hi", "--store", path}, {"explain", "some-turn"}, {"check"}, {"auth", "clear", "a:env"}} {
			setEnv(t, "UNDERSTUDY_HTTP=off", "UNDERSTUDY_MODEL=script/lead", "UNDERSTUDY_STORE="+path,
				"UNDERSTUDY_DISCORD_TOKEN="+discordtest.DefaultToken, "UNDERSTUDY_DISCORD_ALLOW=*")
			_, errs, code := command(t, "", args...)
			if code != 2 || !strings.Contains(errs, filepath.Base(file)) && !strings.Contains(errs, dir) {
				t.Errorf("%s, %q: exit %d, %s", name, args[0], code, errs)
			}
		}
	}
}
