package discord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

// silent is a message of discordgo that mentions nobody.
func silent(text string) *discordgo.MessageSend {
	return &discordgo.MessageSend{Content: text,
		AllowedMentions: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}}
}

// Time that is up: discordgo sleeps through a 429 whatever its context says, so
// that whoever gave up and sends it again may have it twice.
func TestTrapContextAnd429(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		h := bubbleHouse(t)
		limited := discordtest.Fault{Method: "POST", Path: "/channels/*/messages", Status: 429, RetryAfter: 40 * time.Second}
		h.fake.Inject(limited)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := h.library().ChannelMessageSendComplex("100", silent("x"), discordgo.WithContext(ctx))
		if took := time.Since(began); took < 40*time.Second {
			t.Errorf("discordgo returned after %v, with %v: it slept before", took, err)
		}

		h.fake.Inject(limited)
		began = time.Now()
		_, err = h.Post(t.Context(), answer("x", "n1"))
		if failed := sendError(t, err); failed.RetryAfter != 40*time.Second || time.Since(began) != 0 {
			t.Errorf("the adapter: %+v after %v", failed, time.Since(began))
		}
	})
}

// A bucket that is used up: the same.
func TestTrapContextAndBuckets(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		h := bubbleHouse(t)
		h.fake.Limit(1, 40*time.Second)
		s := h.library()
		if _, err := s.ChannelMessageSendComplex("100", silent("x")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, _ = s.ChannelMessageSendComplex("100", silent("x"), discordgo.WithContext(ctx)) // with its time up it may fail, but only afterwards
		if took := time.Since(began); took < 39*time.Second {
			t.Errorf("discordgo returned after %v: it slept before", took)
		}

		h.post(in("110"), core.PostAnswer, "x", "n1", false)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		_, err := h.Post(ctx, core.Post{Target: in("110"), Kind: core.PostAnswer, Text: "x", Nonce: "n2"})
		if failed := sendError(t, err); !failed.Unsent || time.Since(began) > time.Second {
			t.Errorf("the adapter: %+v after %v", failed, time.Since(began))
		}
	})
}

// A 502: discordgo sends a message again that may have arrived.
func TestTrap502(t *testing.T) {
	h := alone(t)
	lost := discordtest.Fault{Method: "POST", Path: "/channels/*/messages", Status: 502, Performed: true}
	h.fake.Inject(lost)
	_, err := h.library().ChannelMessageSendComplex("100", silent("x"))
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
	_, err := h.library().ChannelMessageSendComplex("100", silent("x"))
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
	if err != nil || strings.Contains(string(send), "nonce") || strings.Contains(string(send), "allowed_mentions") ||
		!strings.Contains(string(send), `"embeds":null`) || !strings.Contains(string(send), `"components":null`) {
		t.Errorf("discordgo: %s, %v", send, err)
	}
	unflagged, err := json.Marshal(&discordgo.MessageEdit{Flags: 0})
	if err != nil || strings.Contains(string(unflagged), "flags") {
		t.Errorf("discordgo can take a flag away: %s, %v", unflagged, err)
	}
	reply, err := json.Marshal(&discordgo.MessageSend{AllowedMentions: &discordgo.MessageAllowedMentions{}})
	if err != nil || !strings.Contains(string(reply), `"replied_user":false`) {
		t.Errorf("discordgo: %s, %v", reply, err)
	}

	h := newHouse(t)
	p := h.post(in("100"), core.PostAnswer, "x", "n1", false)
	if err := h.Edit(t.Context(), p.ID, answer("y", "n1")); err != nil {
		t.Fatal(err)
	}
	for _, r := range h.fake.Requests("", "") {
		if got := fmt.Sprint(r.Field("allowed_mentions")); got != "map[parse:[] replied_user:false]" || r.Field("ID") != nil || r.Field("Channel") != nil ||
			strings.Contains(string(r.Body), ":null") {
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
		_, err := s.ChannelMessageSendComplex("100", silent("x"), discordgo.WithContext(ctx))
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

// Other failures of Discord: discordgo returns them at once. For the adapter it
// is not known whether the message is there.
func TestTrap5xx(t *testing.T) {
	h := alone(t)
	for i, status := range []int{500, 503, 504} {
		fault := discordtest.Fault{Method: "POST", Path: "/channels/*/messages", Status: status}
		h.fake.Inject(fault)
		_, err := h.library().ChannelMessageSendComplex("100", silent("x"))
		var failed *discordgo.RESTError
		if !errors.As(err, &failed) || failed.Response.StatusCode != status || len(h.fake.Requests("POST", "")) != 2*i+1 {
			t.Errorf("discordgo, %d: %v after %d requests", status, err, len(h.fake.Requests("POST", "")))
		}
		h.fake.Inject(fault)
		_, err = h.Post(t.Context(), answer("x", fmt.Sprint("n", i)))
		if failed := sendError(t, err); !failed.Unknown || failed.Permanent || len(h.fake.Requests("POST", "")) != 2*i+2 {
			t.Errorf("the adapter, %d: %+v after %d requests", status, failed, len(h.fake.Requests("POST", "")))
		}
	}
}

// A 202, which says that the request was taken: for discordgo it is an error.
// For the adapter it is not known whether the message is there; it looks.
func TestTrap202(t *testing.T) {
	h := alone(t)
	taken := discordtest.Fault{Method: "POST", Path: "/channels/*/messages", Status: 202, Performed: true}
	h.fake.Inject(taken)
	_, err := h.library().ChannelMessageSendComplex("100", silent("x"))
	var failed *discordgo.RESTError
	if !errors.As(err, &failed) || len(h.fake.Posts("100")) != 1 {
		t.Errorf("discordgo: %v, and %d messages: it was an error before", err, len(h.fake.Posts("100")))
	}
	h.fake.Inject(taken)
	p := core.Post{Target: in("110"), Kind: core.PostAnswer, Text: "x", Nonce: "n1"}
	began := time.Now()
	_, err = h.Post(t.Context(), p)
	if failed := sendError(t, err); !failed.Unknown || failed.Permanent {
		t.Errorf("the adapter: %+v", failed)
	}
	if _, found, err := h.Find(t.Context(), p, began.Add(-time.Minute)); !found || err != nil || len(h.fake.Posts("110")) != 1 {
		t.Errorf("the adapter finds it: %v, %v, among %d messages", found, err, len(h.fake.Posts("110")))
	}
}

// Answers to interactions: discordgo holds all of them back while one is on its
// way, in whatever channel and of whatever user. The adapter does not.
func TestTrapOneBucketForAllInteractions(t *testing.T) {
	h := alone(t)
	s := h.library()
	ask := func(h *house, channel string) *discordgo.Interaction {
		id := h.fake.Interact(discordtest.Interaction{Channel: channel, User: "700", Command: "help"})
		return &discordgo.Interaction{ID: id, Token: "itok-" + id, AppID: discordtest.ApplicationID}
	}
	text := "done"
	edit := func(i *discordgo.Interaction) {
		if _, err := s.InteractionResponseEdit(i, &discordgo.WebhookEdit{Content: &text,
			AllowedMentions: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}}); err != nil {
			t.Error(err)
		}
	}
	here, there := ask(h, "100"), ask(h, "110")
	for _, i := range []*discordgo.Interaction{here, there} {
		if err := s.InteractionRespond(i, &discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredChannelMessageWithSource}); err != nil {
			t.Fatal(err)
		}
	}
	original := func(i *discordgo.Interaction) string { return "/webhooks/*/" + i.Token + "/messages/@original" }
	held := h.fake.Hold("PATCH", original(here))
	var all sync.WaitGroup
	all.Go(func() { edit(here) })
	<-held.Reached
	all.Go(func() { edit(there) })
	time.Sleep(300 * time.Millisecond)
	if n := len(h.fake.Requests("PATCH", original(there))); n != 0 {
		t.Error("discordgo answers another interaction meanwhile: it did not before")
	}
	held.Release()
	all.Wait()

	ours := open(t)
	first := discordtest.Interaction{ID: "301", Channel: "100", User: "700", Command: "help"}
	held = ours.fake.Hold("PATCH", "/webhooks/*/itok-301/messages/@original")
	ours.fake.Interact(first)
	<-held.Reached
	if a := ours.answered(ours.fake.Interact(discordtest.Interaction{ID: "302", Channel: "110", User: "701", Command: "help"})); a.Content == "" {
		t.Errorf("the adapter: %+v", a)
	}
	held.Release()
}

// Edits and deletions in one channel: discordgo holds one back while the other
// is on its way, whatever its context says. The adapter does so as well, for as
// long as the context lasts.
func TestTrapEditsAndDeletionsShareABucket(t *testing.T) {
	h := alone(t)
	s := h.library()
	var ids []string
	for i := range 2 {
		ids = append(ids, h.post(in("100"), core.PostAnswer, "x", fmt.Sprint("n", i), false).ID)
	}
	held := h.fake.Hold("PATCH", "/channels/100/messages/*")
	var all sync.WaitGroup
	all.Go(func() {
		edit := discordgo.NewMessageEdit("100", h.fake.Posts("100")[0].ID).SetContent("y")
		edit.AllowedMentions = silent("").AllowedMentions
		if _, err := s.ChannelMessageEditComplex(edit); err != nil {
			t.Error(err)
		}
	})
	<-held.Reached
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	gone := make(chan struct{})
	all.Go(func() {
		_ = s.ChannelMessageDelete("100", h.fake.Posts("100")[1].ID, discordgo.WithContext(ctx)) // its time is up by then
		close(gone)
	})
	select {
	case <-gone:
		t.Error("discordgo gives up when its time is up: it did not before")
	case <-time.After(300 * time.Millisecond):
	}
	held.Release()
	all.Wait()

	held = h.fake.Hold("PATCH", "/channels/100/messages/*")
	all.Go(func() {
		if err := h.Edit(t.Context(), ids[0], answer("z", "n0")); err != nil {
			t.Error(err)
		}
	})
	<-held.Reached
	if failed := sendError(t, h.Delete(ctx, in("100"), ids[1])); !failed.Unsent {
		t.Errorf("the adapter: %+v", failed)
	}
	held.Release()
	all.Wait()
}

// Routes that share a limit, as the name of their bucket says: discordgo does not
// look at that name. The adapter's part is TestLanesShareABucket.
func TestTrapNamesOfBuckets(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s, err := discordgo.New("Bot x")
		if err != nil {
			t.Fatal(err)
		}
		s.Client = &http.Client{Transport: answering(func(*http.Request) *http.Response {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("{}")), Header: http.Header{
				"X-Ratelimit-Bucket": {"shared"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset-After": {"40"}}}
		})}
		began := time.Now()
		if _, err := s.ChannelMessageSendComplex("100", silent("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ChannelMessageEditComplex(discordgo.NewMessageEdit("100", "1").SetContent("x")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("discordgo waits %v for the limit of another route: it did not before", took)
		}
	})
}

// Threads: discordgo says of each that not everybody may invite others to it,
// which Discord takes for private ones only. The adapter says nothing of it.
func TestTrapThreadsOfOthers(t *testing.T) {
	h := alone(t)
	s := h.library()
	if _, err := s.ThreadStart("100", "a thread", discordgo.ChannelTypeGuildPublicThread, 60); err != nil {
		t.Fatal(err)
	}
	if r := h.fake.Requests("POST", "/channels/100/threads"); len(r) != 1 || r[0].Field("invitable") != false {
		t.Errorf("discordgo: %+v", r)
	}
	ours := open(t)
	ours.fake.Say("100", "700", "<@800> hi")
	ours.post(ours.heard(1).Target, core.PostAnswer, "hello", "n1", false)
	if r := ours.fake.Requests("POST", "/channels/100/messages/*/threads"); len(r) != 1 || r[0].Field("invitable") != nil {
		t.Errorf("the adapter: %+v", r)
	}
}
