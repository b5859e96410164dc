package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"understudy/adapters/web"
	"understudy/core"
	"understudy/core/failover"
	"understudy/sessions"
	"understudy/store"
	"understudy/store/memory"
)

// A health address that is in use is found before anything else is begun.
func TestHealthAddressInUse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	town := newDiscordTown(t)
	s := newStand(t, town)
	setEnv(t, append(s.env, "UNDERSTUDY_HTTP="+ln.Addr().String())...)
	_, errs, code := command(t, "", "run")
	if code != 2 || !strings.Contains(errs, ln.Addr().String()) || !strings.Contains(errs, "UNDERSTUDY_HTTP") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, err := os.Stat(s.storePath()); err == nil {
		t.Error("a store was made")
	}
	if town.connected() > 0 {
		t.Error("it connected to Discord")
	}
}

// A bot that runs says that it is ready, and its health address ends with it.
func TestHealthOfARunningBot(t *testing.T) {
	s := newStand(t, newDiscordTown(t))
	s.env = append(s.env, "UNDERSTUDY_HTTP=127.0.0.1:0")
	stop, log := s.runHere()
	addr := regexp.MustCompile(`msg=running .*http=(\S+)`).FindStringSubmatch(log.String())
	if addr == nil {
		t.Fatal("the log does not name the health address")
	}
	t.Setenv("UNDERSTUDY_HTTP", addr[1])
	// Only the adapter knows when it is connected, so it is asked until it says
	// so, as whoever watches a container does.
	for deadline := time.Now().Add(patience); ; {
		out, _, code := command(t, "", "health", "-ready")
		if code == 0 && out == "ready\n" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not get ready; it says %q", out)
		}
	}
	if code := stop(); code != 0 {
		t.Errorf("run ended with %d", code)
	}
	if _, err := web.Check(t.Context(), addr[1], "/healthz"); err == nil {
		t.Error("it still answers")
	}
}

// A store that does not take what is written keeps the bot from its job until it
// takes something again, also when nobody writes to it meanwhile.
func TestStoreThatCannotBeWrittenIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := &store.Error{Path: "x.db", Problem: store.Full}
		var broken atomic.Bool
		var writes atomic.Int32
		st := &watchedStore{stores: memory.New().Open(memory.Options{Fault: func(string) error {
			writes.Add(1)
			if broken.Load() {
				return fmt.Errorf("writing: %w", full)
			}
			return nil
		}})}
		message := func(id string) error {
			m := core.Message{ID: id, Target: discordPlace, Text: "hi"}
			_, _, err := st.Admit(t.Context(), sessions.Inbound{Key: m.InboxKey(), Session: core.Key{Agent: mainAgent, Thread: m.Thread().Key()}, Message: m})
			return err
		}
		told := func(want bool) {
			t.Helper()
			list := unready(t.Context(), st, nil)
			if len(list) > 0 != want || want && !strings.Contains(list[0], "the disk is full") {
				t.Fatalf("it says %q", list)
			}
		}
		if err := message("1"); err != nil {
			t.Fatal(err)
		}
		told(false)

		broken.Store(true)
		if err := message("2"); !errors.Is(err, full) {
			t.Fatal(err)
		}
		told(true)
		before := writes.Load()
		for range 10 {
			told(true)
		}
		if n := writes.Load() - before; n != 0 {
			t.Errorf("ten questions at once made %d writes", n)
		}

		// A write that changed nothing proves nothing.
		broken.Store(false)
		if err := message("1"); err != nil {
			t.Fatal(err)
		}
		told(true)
		// The next probe finds that it is over, and leaves nothing behind.
		time.Sleep(probeEvery)
		told(false)
		if states, err := st.States(t.Context(), ""); err != nil || len(states) != 0 {
			t.Errorf("the probe leaves %v, %v", states, err)
		}

		// So does the next message, and every other kind of write counts.
		for name, write := range map[string]func() error{
			"commit": func() error {
				return st.Commit(t.Context(), core.Key{Agent: mainAgent, Thread: "t"}, 0, func(tx sessions.Tx) error {
					tx.SetSession(sessions.Session{Key: core.Key{Agent: mainAgent, Thread: "t"}, Transcript: "x"})
					return nil
				})
			},
			"state": func() error {
				return st.UpdateState(t.Context(), mainAgent, "a:env", func(failover.State) failover.State {
					return failover.State{LastUsed: time.Now()}
				})
			},
		} {
			broken.Store(true)
			if err := write(); !errors.Is(err, full) {
				t.Fatalf("%s: %v", name, err)
			}
			told(true)
			broken.Store(false)
			if err := write(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			told(false)
		}

		// What a change itself says is no trouble of the store.
		if err := st.Commit(t.Context(), core.Key{Agent: mainAgent, Thread: "t"}, 0, func(sessions.Tx) error { return errBroken }); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		told(false)
	})
}
