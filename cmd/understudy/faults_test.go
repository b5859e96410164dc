package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/core/auth"
	"understudy/core/llm"
	"understudy/core/llm/script"
	"understudy/core/tool"
	"understudy/store"
)

// tale is what somebody does in one thread, in order.
type tale struct {
	name string
	acts []deed
}

// deed is one message, or one native command. hasty leaves no time for the
// answer before the next.
type deed struct {
	text          string
	native, hasty bool
}

var tales = []tale{
	{"a fallback", []deed{{text: "one away", hasty: true}, {text: "two away"}, {text: "three away"}}},
	{"a tool", []deed{{text: "one ring"}, {text: "two"}}},
	{"a growing answer", []deed{{text: "one slowly"}, {text: "two"}}},
	{"a model is chosen", []deed{{text: "one"}, {text: "/model " + standInModel}, {text: "two"}, {text: "/model default"}}},
	{"a reset", []deed{{text: "one away"}, {text: "/new"}, {text: "two away"}}},
	{"somebody is forgotten", []deed{{text: "one"}, {text: "/forget yes"}, {text: "two"}}},
	{"native commands", []deed{{text: "one"}, {text: "model " + standInModel, native: true}, {text: "two"}, {text: "retry", native: true}, {text: "forget yes", native: true}, {text: "three"}}},
}

// TestStoreFaults plays small stories over a real store, and lets the store fail
// at one statement of each play: once with an error of every kind, once by
// killing the process, or for minutes from there on. Whatever happens, the
// thread must look as if nothing had.
//
// It plays a sample. UNDERSTUDY_FAULTS=all strikes every
// statement in every way; UNDERSTUDY_FAULTS=<seed> chooses another sample.
func TestStoreFaults(t *testing.T) {
	registerSabotaged()
	how := cmp.Or(os.Getenv("UNDERSTUDY_FAULTS"), "1")
	seed, err := strconv.ParseUint(how, 10, 64)
	if err != nil && how != "all" {
		t.Fatalf("UNDERSTUDY_FAULTS is %q; want all or a number", how)
	}
	luck := rand.New(rand.NewPCG(seed, 1))
	empty := emptyStore(t)
	for _, x := range tales {
		t.Run(x.name, func(t *testing.T) {
			counter := &saboteur{}
			want := perform(t, empty, x, counter)
			if n := len(want.rings); n != 0 != strings.Contains(x.name, "tool") {
				t.Fatalf("the bell rang for %d messages", n)
			}
			t.Logf("%d statements; it goes %q", counter.seen, want.shows)
			plays, struck := 0, 0
			for _, s := range []strike{diskError, lateError, lockError, fullError, crashBefore, crashAfter, crashTwice, longFull} {
				for at := 1; at <= counter.seen; at++ {
					if how != "all" && luck.IntN(sampled) > 0 {
						continue
					}
					sab := &saboteur{how: s, at: at, long: 7 * time.Minute, next: 1 + luck.IntN(50)}
					name := fmt.Sprintf("%s at %d", s, at)
					ok := t.Run(name, func(t *testing.T) {
						got := perform(t, empty, x, sab)
						compareTrials(t, sab, got, want)
					})
					if plays++; sab.hit != "" {
						struck++
					}
					if !ok {
						t.Logf("%s of %q: %s: %s", name, x.name, how, sab.hit)
					}
				}
			}
			if struck*2 < plays { // plays without a strike show nothing
				t.Errorf("only %d of %d plays were struck", struck, plays)
			}
		})
	}
}

// sampled is one in how many plays there is in a sample.
const sampled = 150

// perform plays a story over a copy of an empty store.
func perform(t *testing.T, empty string, x tale, sab *saboteur) (got outcome) {
	synctest.Test(t, func(t *testing.T) {
		defer atWork.Store(nil)
		w := newTrial(t, empty, sab)
		defer func() { w.leave() }()
		for _, d := range x.acts {
			w.do(d)
		}
		w.rest(20 * time.Minute)
		got = w.outcome()
	})
	return got
}

// emptyStore is a store in which there is nothing.
func emptyStore(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "empty.db")
	st, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// newTrial starts a process on a copy of an empty store.
func newTrial(t *testing.T, empty string, sab *saboteur) *trial {
	t.Helper()
	path := filepath.Join(t.TempDir(), "understudy.db")
	if err := copyFile(empty, path); err != nil {
		t.Fatal(err)
	}
	w := &trial{T: t, path: path, sab: sab, boards: &boards{rings: map[string]int{}}, log: &output{}}
	sab.died = func() { w.door.close() }
	w.door = &door{boards: w.boards}
	atWork.Store(sab)
	w.start()
	return w
}

// trial is a play that goes on.
type trial struct {
	*testing.T
	path   string
	sab    *saboteur
	boards *boards
	log    *output

	door    *door
	calls   *script.Wire
	kept    *watchedStore
	house   *house
	said    int
	replies []string
	waited  time.Duration
}

// trialThread is where everything is said.
var trialThread = core.Thread{Platform: "stage", Account: "default", Channel: "t1", Parent: "lobby", Kind: core.KindThread}

// start starts the process, again and again until it runs, as whoever watches
// over it does.
func (w *trial) start() {
	for range 1000 {
		if err := w.try(); err == nil {
			return
		} else if w.sab.isDead() && w.sab.died != nil {
			w.revive()
		}
		time.Sleep(5 * time.Second)
	}
	w.Fatalf("it does not start; it said\n%s", w.log)
}

func (w *trial) try() error {
	st, err := store.Open(context.Background(), store.Options{Path: w.path, Exclusive: true, Driver: sabotaged})
	if err != nil {
		return err
	}
	c, err := parseConfig("understudy.jsonc", fmt.Appendf(nil, `{
		"agents": {"defaults": {"model": {"primary": %q, "fallbacks": [%q]}, "tools": ["ring"]}},
	}`, leadModel, standInModel), "ring")
	if err != nil {
		w.Fatal(err)
	}
	w.door, w.kept = &door{boards: w.boards}, &watchedStore{stores: st}
	w.sab.mu.Lock()
	door, dead := w.door, w.sab.dead
	w.sab.died = door.close
	w.sab.mu.Unlock()
	if dead {
		door.close()
	}
	w.calls = (&script.Script{Default: recite}).Wire()
	always := func(string) bool { return true }
	h, err := build(parts{
		config: c, store: w.kept, platform: func(t core.Thread) (core.Platform, bool) { return door, t == trialThread },
		client: func(d auth.Declared, _ core.Secret) (llm.Client, error) { return w.calls.Client(d.Provider, d.ID), nil },
		known:  always, keyless: always, bare: always, unknown: func(llm.Ref) string { return "" },
		tools: []tool.Tool{ringer{door}}, log: slog.New(slog.NewTextHandler(w.log, nil)),
	})
	if err != nil {
		w.Fatal(err)
	}
	if err := h.open(context.Background()); err != nil {
		return err
	}
	w.house = h
	synctest.Wait()
	return nil
}

// leave ends the process without a goodbye.
func (w *trial) leave() {
	if w.house == nil {
		return
	}
	w.door.close()
	w.calls.Cut()
	w.house.store.Close()
	w.house.bot.Stop(0)
	w.house.cancel()
	<-w.house.done
	w.house = nil
	synctest.Wait()
}

// revive lets the next process work undisturbed.
func (w *trial) revive() {
	w.sab.mu.Lock()
	defer w.sab.mu.Unlock()
	w.sab.dead = false
}

// mourn starts the next process if this one is gone, and reports that.
func (w *trial) mourn() bool {
	if !w.sab.isDead() {
		return false
	}
	w.leave()
	w.revive()
	w.start()
	return true
}

// do does something until it was taken, as platforms and people do.
func (w *trial) do(d deed) {
	w.said++
	id := fmt.Sprintf("m%d", w.said)
	target := core.Target{Thread: trialThread, ReplyTo: id}
	who := core.Author{ID: "ann", Name: "Ann"}
	began, before := time.Now(), len(w.answers())
	for {
		var err error
		if d.native {
			word, args, _ := strings.Cut(d.text, " ")
			var r core.Reply
			r, err = w.house.bot.Command(context.Background(), core.Invocation{ID: id, Author: who, Target: target, Name: word, Args: args, Native: true})
			if err == nil && !w.sab.isDead() {
				w.replies = append(w.replies, r.Text)
			}
		} else {
			err = w.house.bot.Message(context.Background(), core.Message{ID: id, Author: who, Text: d.text, Addressed: true, At: time.Now(), Target: target})
		}
		dead := w.mourn()
		if err == nil && !dead {
			break
		}
		if time.Since(began) > time.Hour {
			w.Fatalf("%q is not taken: %v; it said\n%s", d.text, err, w.log)
		}
		time.Sleep(2 * time.Second)
	}
	if d.native { // it had an answer each time: that it failed
		before = -1
	}
	if !d.hasty {
		w.await(began, before)
	}
}

// await waits for what was said to be answered, as people do before they go on.
// before is how many posts there were, -1 if no other is expected.
func (w *trial) await(began time.Time, before int) {
	for range 200 {
		time.Sleep(5 * time.Second)
		w.mourn()
		if len(w.answers()) == before {
			w.waited = max(w.waited, time.Since(began))
		}
		waiting, err := w.kept.Waiting(context.Background())
		rows, failed := w.kept.Outgoing(context.Background())
		if err == nil && failed == nil && len(waiting)+len(rows) == 0 {
			return
		}
	}
}

// rest lets time pass.
func (w *trial) rest(d time.Duration) {
	for range 10 {
		time.Sleep(d / 10)
		w.mourn()
	}
}
