package discord_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"

	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

// A part of a message that discordgo does not know: its handler gets a message
// without an author. The adapter hears what was said.
func TestTrapUnknownComponent(t *testing.T) {
	h := alone(t)
	s := h.library()
	seen := make(chan *discordgo.MessageCreate, 10)
	s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { seen <- m })
	h.beside(s)
	h.fake.Say("100", "700", "<@800> hi", discordtest.With("components", []map[string]any{{"type": 99}}))
	if m := <-seen; m.Message == nil || m.Author != nil || m.ID != "" {
		t.Errorf("discordgo: %+v", m.Message)
	}
	if m := h.heard(1); m.Text != "hi" || m.Author.ID != "700" {
		t.Errorf("the adapter: %+v", m)
	}
}

// The same with the message that a button stands in: its handler gets an empty
// interaction, which cannot be answered. The adapter answers it.
func TestTrapUnknownComponentOfAButton(t *testing.T) {
	h := alone(t)
	s := h.library()
	seen := make(chan *discordgo.InteractionCreate, 10)
	s.AddHandler(func(_ *discordgo.Session, i *discordgo.InteractionCreate) { seen <- i })
	h.beside(s)
	id := h.fake.Interact(discordtest.Interaction{Type: discordtest.ComponentInteraction, Channel: "100", User: "700",
		CustomID: "pick:token value", Raw: map[string]any{"message": map[string]any{"id": "600", "channel_id": "100",
			"components": []map[string]any{{"type": 99}}}}})
	if i := <-seen; i.Interaction != nil && i.ID != "" {
		t.Errorf("discordgo: %+v", i.Interaction)
	}
	h.await("answer", func() bool { return h.fake.Answer(id).Callback != 0 })
}

// Events one after the other: discordgo gives each to its handlers in a goroutine
// of its own, where a later one may be first. The adapter hands one message over
// at a time, in order.
func TestTrapOrderOfEvents(t *testing.T) {
	h := alone(t)
	s := h.library()
	s.SyncEvents = false
	s.Identify.Intents |= discordgo.IntentMessageContent
	second, overtaken := make(chan struct{}), make(chan bool, 1)
	s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) {
		if m.Content == "two" {
			close(second)
			return
		}
		select {
		case <-second:
			overtaken <- true
		case <-time.After(30 * time.Second):
			overtaken <- false
		}
	})
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h.fake.Say("100", "700", "one")
	h.fake.Say("100", "700", "two")
	if !<-overtaken {
		t.Error("discordgo keeps the order: it did not before")
	}

	inBubble(t, func(t *testing.T) {
		ours := bubbleHouse(t)
		w := &waiting{guests: ours.guests, free: make(chan struct{})}
		ours.startWith(w)
		ours.await("connection", ours.Ready)
		dm := ours.fake.Direct("700")
		for _, text := range []string{"one", "two", "three"} {
			ours.fake.Say(dm, "700", text)
		}
		synctest.Wait()
		if n := w.inside.Load(); n != 1 {
			t.Errorf("the adapter hands %d messages over at a time", n)
		}
		close(w.free)
		if got := ours.texts(); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("the adapter: %q", got)
		}
	})
}

// waiting is a handler that takes its time until it is free.
type waiting struct {
	*guests
	inside atomic.Int32
	free   chan struct{}
}

func (w *waiting) Message(ctx context.Context, m core.Message) error {
	w.inside.Add(1)
	<-w.free
	return w.guests.Message(ctx, m)
}

// A handler that panics: discordgo lets the process end. The adapter says so in
// the log and goes on.
func TestTrapHandlerThatPanics(t *testing.T) {
	if inChild() {
		h := newHouse(t)
		s := h.library()
		s.AddHandler(func(*discordgo.Session, *discordgo.MessageCreate) { panic("a slip of a handler") })
		if err := s.Open(); err != nil {
			t.Fatal(err)
		}
		h.fake.Say("100", "700", "hi")
		time.Sleep(30 * time.Second)
		return
	}
	t.Parallel()
	if said := child(t); !strings.Contains(said, "panic: a slip of a handler") {
		t.Errorf("discordgo lives: it did not before: %s", said)
	}
	h := newHouse(t)
	h.guests.command = func(core.Invocation) (core.Reply, error) { panic("a slip in a command") }
	h.startWith(slipping{h.guests})
	h.await("connection", h.Ready)
	dm := h.fake.Direct("700")
	h.fake.Say(dm, "700", "slip")
	h.fake.Say(dm, "700", "go on")
	if m := h.heard(1); m.Text != "go on" {
		t.Errorf("the adapter hands over %q", m.Text)
	}
	h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "help"})
	h.await("two reports", func() bool { return h.lines("please report it") == 2 })
	if log := h.log.String(); !strings.Contains(log, "a slip of a handler") || !strings.Contains(log, "a slip in a command") || !h.Ready() {
		t.Errorf("the adapter is ready: %v, and says %s", h.Ready(), log)
	}
}

// slipping is a handler with a fault.
type slipping struct{ *guests }

func (s slipping) Message(ctx context.Context, m core.Message) error {
	if m.Text == "slip" {
		panic("a slip of a handler")
	}
	return s.guests.Message(ctx, m)
}

// A form with a part that discordgo does not know: what is filled in cannot be
// read without a panic. The adapter, which makes no forms, answers it.
func TestTrapFormWithALabel(t *testing.T) {
	h := alone(t)
	s := h.library()
	read := make(chan any, 1)
	s.AddHandler(func(_ *discordgo.Session, i *discordgo.InteractionCreate) {
		defer func() { read <- recover() }()
		_ = i.ModalSubmitData()
	})
	h.beside(s)
	id := h.fake.Interact(discordtest.Interaction{Type: discordtest.ModalInteraction, Channel: "100", User: "700", Raw: map[string]any{
		"data": map[string]any{"custom_id": "form", "components": []map[string]any{
			{"type": 18, "component": map[string]any{"type": 4, "custom_id": "text", "value": "hi"}}}}}})
	if <-read == nil {
		t.Error("discordgo reads it: it did not before")
	}
	if a := h.answered(id); a.Callback != 4 || !a.Ephemeral || !strings.Contains(a.Content, "out of date") {
		t.Errorf("the adapter: %+v", a)
	}
}

// Who did it stands in one of two places, and where it happened nowhere in
// discordgo. The adapter knows both, and need not ask.
func TestTrapWhoAndWhere(t *testing.T) {
	h := alone(t)
	s := h.library()
	seen := make(chan *discordgo.InteractionCreate, 2)
	s.AddHandler(func(_ *discordgo.Session, i *discordgo.InteractionCreate) { seen <- i })
	h.beside(s)
	h.fake.AddQuietly(discordtest.Channel{ID: "500", Guild: "900", Parent: "100", Type: discordtest.PublicThread})
	h.answered(h.fake.Interact(discordtest.Interaction{Channel: "500", User: "700", Command: "help"}))
	h.answered(h.fake.Interact(discordtest.Interaction{Channel: h.fake.Direct("700"), User: "700", Command: "help"}))
	if guild, direct := <-seen, <-seen; guild.User != nil || guild.Member == nil || direct.User == nil || direct.Member != nil {
		t.Errorf("discordgo: %+v and %+v", guild.Interaction, direct.Interaction)
	}
	for _, name := range []string{"Channel", "AttachmentSizeLimit"} {
		if _, ok := reflect.TypeFor[discordgo.Interaction]().FieldByName(name); ok {
			t.Errorf("discordgo knows the %s: it did not before", name)
		}
	}
	for _, i := range h.called() {
		if i.Author.ID != "700" || i.Author.Name == "" {
			t.Errorf("the adapter: %+v", i)
		}
	}
	if n := len(h.fake.Requests("GET", "/channels/500")); len(h.called()) != 2 || n != 0 {
		t.Errorf("the adapter: %d commands, and it asked for the thread %d times", len(h.called()), n)
	}
}

// A handler for one event: discordgo may call it for a second one, since it is
// forgotten only once it has returned. The adapter has no such handlers.
func TestTrapHandlerForOneEvent(t *testing.T) {
	h := alone(t)
	h.fake.Inject(discordtest.Fault{Method: "POST", Path: "/channels/*/messages", Status: 429, RetryAfter: time.Millisecond, Times: 2})
	s := h.library()
	var calls atomic.Int32
	first, second, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.AddHandlerOnce(func(*discordgo.Session, *discordgo.RateLimit) {
		if calls.Add(1) == 1 {
			close(first)
			select {
			case <-second:
			case <-time.After(30 * time.Second):
			}
			return
		}
		close(second)
		<-answered
	})
	var all sync.WaitGroup
	all.Go(func() {
		_, _ = s.ChannelMessageSendComplex("100", silent("x"))
		close(answered)
	})
	<-first
	_, _ = s.ChannelMessageSendComplex("110", silent("x"))
	all.Wait()
	if n := calls.Load(); n != 2 {
		t.Errorf("discordgo calls it %d times: it did so twice before", n)
	}
}

// beside opens a session of the library, and starts the adapter beside it.
func (h *house) beside(s *discordgo.Session) {
	h.t.Helper()
	if err := s.Open(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { s.Close() })
	h.start()
	h.await("connections", func() bool { return h.fake.Connected() == 2 })
}
