package discord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

// The tests of this file show where discordgo does something else than one would
// think, and what the adapter does in the same place. When one fails after an
// update of the library, a fence of the adapter may have become needless.

// library is a session of discordgo that talks to the fake.
func (h *house) library() *discordgo.Session {
	s, err := discordgo.New("Bot " + discordtest.DefaultToken)
	if err != nil {
		h.t.Fatal(err)
	}
	base, err := url.Parse(h.fake.URL)
	if err != nil {
		h.t.Fatal(err)
	}
	transport := &http.Transport{}
	h.t.Cleanup(transport.CloseIdleConnections)
	s.Client = &http.Client{Timeout: 10 * time.Second, Transport: redirected{transport, base.Host}}
	s.LogLevel = discordgo.LogError - 1
	s.SyncEvents = true
	return s
}

// redirected sends everything to another host.
type redirected struct {
	next http.RoundTripper
	host string
}

func (r redirected) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.URL.Scheme, q.URL.Host = "http", r.host
	return r.next.RoundTrip(q)
}

// opened is a session that is connected and closed at the end.
func (h *house) opened() *discordgo.Session {
	s := h.library()
	if err := s.Open(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = s.Close() })
	return s
}

// alone is a house for the library, whose adapter is not started.
func alone(t *testing.T) *house {
	t.Parallel()
	return newHouse(t)
}

// A request to connect again in place of the greeting: discordgo's Open never
// returns. The adapter connects again (TestReconnectInPlaceOfGreeting).
func TestTrapReconnectFirst(t *testing.T) {
	h := alone(t)
	h.fake.ReconnectFirst(1)
	s := h.library()
	done := make(chan error, 1)
	go func() { done <- s.Open() }()
	h.await("attempt", func() bool { return len(h.fake.Identifies()) == 1 })
	select {
	case err := <-done:
		t.Errorf("Open returns, with %v: it did not before", err)
	case <-time.After(300 * time.Millisecond):
	}
	h.start()
	h.await("connection", h.Ready)
}

// A token that is taken away: discordgo connects again for ever, and Close does
// not stop it. The adapter stops at once.
func TestTrapTokenThatIsTakenAway(t *testing.T) {
	h := alone(t)
	s := h.opened()
	h.fake.Refuse(4004)
	h.fake.CloseAll(4004)
	h.await("attempts", func() bool { return len(h.fake.Identifies()) >= 2 })
	_ = s.Close()
	s.ShouldReconnectOnError = false
	h.await("more attempts", func() bool { return len(h.fake.Identifies()) >= 3 })

	ours := newHouse(t)
	ended := make(chan error, 1)
	go func() { ended <- ours.Run(t.Context(), ours.guests) }()
	ours.await("connection", ours.Ready)
	ours.fake.Refuse(4004)
	ours.fake.CloseAll(4004)
	if err := <-ended; err == nil || len(ours.fake.Identifies()) > 2 {
		t.Errorf("the adapter: %v after %d attempts", err, len(ours.fake.Identifies()))
	}
}

// A switch that is off is one that discordgo tells as it is, at first.
func TestTrapSwitchThatIsOff(t *testing.T) {
	h := alone(t)
	h.fake.Switch(discordtest.IntentMessageContent, false)
	s := h.library()
	s.Identify.Intents |= discordgo.IntentMessageContent
	var closed *websocket.CloseError
	if err := s.Open(); !errors.As(err, &closed) || closed.Code != 4014 {
		t.Errorf("discordgo: %v", err)
	}
	if err := h.Run(t.Context(), h.guests); err == nil || !strings.Contains(err.Error(), "Message Content Intent") {
		t.Errorf("the adapter: %v", err)
	}
}

// A session that Discord ended: discordgo begins another one on the same
// connection at once, where it has to wait.
func TestTrapInvalidSession(t *testing.T) {
	h := alone(t)
	h.opened()
	began := time.Now()
	h.fake.Invalidate(false)
	h.await("new session", func() bool { return len(h.fake.Identifies()) == 2 })
	if waited := h.fake.Identifies()[1].At.Sub(began); waited >= time.Second {
		t.Errorf("discordgo waits %v: it did not before", waited)
	}
	// The adapter's wait is that of TestWaitAfterAnInvalidSession.
}

// The address to resume at: discordgo does not know it.
func TestTrapResumeAddress(t *testing.T) {
	h := alone(t)
	h.opened()
	h.fake.CloseAll(4000)
	h.await("resumption", func() bool { return len(h.fake.Identifies()) == 2 })
	if id := h.fake.Identifies()[1]; !id.Resume || strings.HasSuffix(id.Path, "/resume") {
		t.Errorf("discordgo: %+v", id)
	}
	// The adapter's address is looked at in TestWhatEndsASession.
}

// Events that are replayed: discordgo's handler gets a message twice. So does
// the adapter's, with the same key.
func TestTrapReplay(t *testing.T) {
	h := alone(t)
	s := h.library()
	seen := make(chan string, 10)
	s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { seen <- m.ID })
	s.Identify.Intents |= discordgo.IntentMessageContent
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id := h.fake.Say("100", "700", "<@800> hi")
	if first := <-seen; first != id {
		t.Errorf("first %s", first)
	}
	h.fake.ReplayMore(1)
	h.fake.CloseAll(4000)
	select {
	case again := <-seen:
		if again != id {
			t.Errorf("then %s", again)
		}
	case <-time.After(5 * time.Second):
		t.Errorf("discordgo tells a replayed message once: it told it twice before: %+v", h.fake.Identifies())
	}
	// The adapter's part is TestResume, "replays too much".
}

// A part of a message that discordgo does not know: its handler gets a message
// without an author. The adapter hears what was said.
func TestTrapUnknownComponent(t *testing.T) {
	h := alone(t)
	s := h.library()
	seen := make(chan *discordgo.MessageCreate, 10)
	s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { seen <- m })
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h.start()
	h.await("connections", func() bool { return h.fake.Connected() == 2 })
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
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h.start()
	h.await("connections", func() bool { return h.fake.Connected() == 2 })
	id := h.fake.Interact(discordtest.Interaction{Type: discordtest.ComponentInteraction, Channel: "100", User: "700",
		CustomID: "pick:token value", Raw: map[string]any{"message": map[string]any{"id": "600", "channel_id": "100",
			"components": []map[string]any{{"type": 99}}}}})
	if i := <-seen; i.Interaction != nil && i.ID != "" {
		t.Errorf("discordgo: %+v", i.Interaction)
	}
	h.await("answer", func() bool { return h.fake.Answer(id).Callback != 0 })
}

// A connection that says nothing any more: discordgo waits for five heartbeats,
// the adapter for one (TestResume, "goes silent").
func TestTrapSilence(t *testing.T) {
	h := alone(t)
	h.fake.Heartbeat(100 * time.Millisecond)
	h.opened()
	began := time.Now()
	h.fake.Mute(true)
	h.await("end of the connection", func() bool { return h.fake.Connected() == 0 })
	if took := time.Since(began); took < 400*time.Millisecond {
		t.Errorf("discordgo notices after %v: it took five heartbeats before", took)
	}
	h.fake.Mute(false)
}

// Time that is up: discordgo sleeps through a 429 whatever its context says, and
// then succeeds, so that whoever gave up and sent it again has it twice.
func TestTrapContextAnd429(t *testing.T) {
	h := alone(t)
	limited := discordtest.Fault{Method: "POST", Path: "/channels/*/messages", Status: 429, RetryAfter: 400 * time.Millisecond}
	h.fake.Inject(limited)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := h.library().ChannelMessageSendComplex("100", &discordgo.MessageSend{Content: "x",
		AllowedMentions: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}}, discordgo.WithContext(ctx))
	if took := time.Since(began); took < 400*time.Millisecond {
		t.Errorf("discordgo returned after %v, with %v: it slept before", took, err)
	}

	h.fake.Inject(limited)
	began = time.Now()
	_, err = h.Post(t.Context(), answer("x", "n1"))
	if failed := sendError(t, err); failed.RetryAfter != 400*time.Millisecond || time.Since(began) > 300*time.Millisecond {
		t.Errorf("the adapter: %+v after %v", failed, time.Since(began))
	}
}

// A bucket that is used up: the same.
func TestTrapContextAndBuckets(t *testing.T) {
	h := alone(t)
	h.fake.Limit(1, 800*time.Millisecond)
	s := h.library()
	send := func(ctx context.Context) error {
		_, err := s.ChannelMessageSendComplex("100", &discordgo.MessageSend{Content: "x",
			AllowedMentions: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}}, discordgo.WithContext(ctx))
		return err
	}
	if err := send(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_ = send(ctx) // with its time up it may fail, but only afterwards
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("discordgo returned after %v: it slept before", took)
	}

	h.post(in("110"), core.PostAnswer, "x", "n1", false)
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began = time.Now()
	_, err := h.Post(ctx, core.Post{Target: in("110"), Kind: core.PostAnswer, Text: "x", Nonce: "n2"})
	if failed := sendError(t, err); !failed.Unsent || time.Since(began) > 300*time.Millisecond {
		t.Errorf("the adapter: %+v after %v", failed, time.Since(began))
	}
}

// A 502: discordgo sends a message again that may have arrived.
func TestTrap502(t *testing.T) {
	h := alone(t)
	lost := discordtest.Fault{Method: "POST", Path: "/channels/*/messages", Status: 502, Performed: true}
	h.fake.Inject(lost)
	_, err := h.library().ChannelMessageSendComplex("100", &discordgo.MessageSend{Content: "x",
		AllowedMentions: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}})
	if err != nil || len(h.fake.Posts("100")) != 2 {
		t.Errorf("discordgo: %v, and %d messages: there were two before", err, len(h.fake.Posts("100")))
	}

	h.fake.Inject(lost)
	_, err = h.Post(t.Context(), core.Post{Target: in("110"), Kind: core.PostAnswer, Text: "x", Nonce: "n1"})
	if failed := sendError(t, err); !failed.Unknown || len(h.fake.Posts("110")) != 1 {
		t.Errorf("the adapter: %+v, and %d messages", failed, len(h.fake.Posts("110")))
	}
}

// A limit in front of Discord answers with a page: for discordgo that is
// broken JSON.
func TestTrapPageInPlaceOfJSON(t *testing.T) {
	h := alone(t)
	page := discordtest.Fault{Method: "POST", Path: "/channels/*/messages", Status: 429, Body: "<html>slow down</html>", RetryAfter: 7 * time.Second}
	h.fake.Inject(page)
	_, err := h.library().ChannelMessageSendComplex("100", &discordgo.MessageSend{Content: "x",
		AllowedMentions: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}})
	var limited *discordgo.RateLimitError
	if err == nil || errors.As(err, &limited) {
		t.Errorf("discordgo: %v", err)
	}
	h.fake.Inject(page)
	_, err = h.Post(t.Context(), answer("x", "n1"))
	if failed := sendError(t, err); failed.RetryAfter != 7*time.Second || failed.Permanent {
		t.Errorf("the adapter: %+v", failed)
	}
}

// The zero value of what may be mentioned is no list, and what leaves an edit
// has keys that Discord does not know.
func TestTrapShapes(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(&discordgo.MessageAllowedMentions{})
	if err != nil || !strings.Contains(string(raw), `"parse":null`) {
		t.Errorf("discordgo: %s, %v", raw, err)
	}
	edit, err := json.Marshal(discordgo.NewMessageEdit("100", "600").SetContent("x"))
	if err != nil || !strings.Contains(string(edit), `"ID":"600"`) {
		t.Errorf("discordgo: %s, %v", edit, err)
	}
	send, err := json.Marshal(&discordgo.MessageSend{Content: "x"})
	if err != nil || strings.Contains(string(send), "nonce") || strings.Contains(string(send), "allowed_mentions") {
		t.Errorf("discordgo: %s, %v", send, err)
	}

	h := newHouse(t)
	p := h.post(in("100"), core.PostAnswer, "x", "n1", false)
	if err := h.Edit(t.Context(), p.ID, answer("y", "n1")); err != nil {
		t.Fatal(err)
	}
	for _, r := range h.fake.Requests("", "") {
		if got := fmt.Sprint(r.Field("allowed_mentions")); got != "map[parse:[] replied_user:false]" || r.Field("ID") != nil || r.Field("Channel") != nil {
			t.Errorf("the adapter: %s %s %s", r.Method, r.Path, r.Body)
		}
	}
}

// discordgo keeps a bucket for every address that was ever asked, those of
// interactions with their tokens included. What the adapter keeps is looked at
// in TestP159.
func TestTrapBucketsByAddress(t *testing.T) {
	h := alone(t)
	s := h.library()
	for range 20 {
		id := h.fake.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "help"})
		if err := s.InteractionRespond(&discordgo.Interaction{ID: id, Token: "itok-" + id},
			&discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredChannelMessageWithSource}); err != nil {
			t.Fatal(err)
		}
	}
	if n := reflect.ValueOf(s.Ratelimiter).Elem().FieldByName("buckets").Len(); n < 20 {
		t.Errorf("discordgo keeps %d buckets: it kept one for each before", n)
	}
}

// Requests to one channel: discordgo holds all of them back while one is on its
// way, also those of another kind only if they share an address; a slow upload
// blocks the typing of nobody, but every other message. The adapter sends one
// message of a conversation at a time as well, and lets no wait outlive its
// context.
func TestTrapSlowRequestInTheWay(t *testing.T) {
	h := alone(t)
	s := h.library()
	send := func(ctx context.Context) error {
		_, err := s.ChannelMessageSendComplex("100", &discordgo.MessageSend{Content: "x",
			AllowedMentions: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}}, discordgo.WithContext(ctx))
		return err
	}
	held := h.fake.Hold("POST", "/channels/100/messages")
	var all sync.WaitGroup
	all.Go(func() { _ = send(t.Context()) })
	<-held.Reached
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	second := make(chan error, 1)
	all.Go(func() { second <- send(ctx) })
	select {
	case err := <-second:
		t.Errorf("discordgo gives up when its time is up, with %v: it did not before", err)
	case <-time.After(300 * time.Millisecond):
	}
	held.Release()
	all.Wait()

	held = h.fake.Hold("POST", "/channels/100/messages")
	all.Go(func() { _, _ = h.Post(t.Context(), answer("x", "n1")) })
	<-held.Reached
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := h.Post(ctx, answer("y", "n2"))
	if failed := sendError(t, err); !failed.Unsent {
		t.Errorf("the adapter: %+v", failed)
	}
	held.Release()
	all.Wait()
}

// Closing: discordgo takes a second for it.
func TestTrapSlowEnd(t *testing.T) {
	h := alone(t)
	s := h.library()
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_ = s.Close()
	if took := time.Since(began); took < 900*time.Millisecond {
		t.Errorf("discordgo takes %v: it took a second before", took)
	}
	// The adapter's end is timed in TestEndOfRun.
}
