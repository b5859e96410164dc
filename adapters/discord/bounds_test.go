package discord

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"understudy/core"
)

// counting counts the messages that it is given.
type counting struct {
	deaf
	messages atomic.Int64
}

func (c *counting) Message(context.Context, core.Message) error {
	c.messages.Add(1)
	return nil
}

// A flood into a channel that is still to be read does not pile up: what is too
// much is taken at once, and nothing is lost.
func TestHeldMessagesAreBounded(t *testing.T) {
	a, err := New(Config{Token: core.NewSecret("x"), Allow: []string{"*"}, DM: DMOpen, HTTP: &http.Client{Transport: nobody{}}})
	if err != nil {
		t.Fatal(err)
	}
	a.identify("800", "801")
	heard := &counting{}
	r := newRun(t.Context(), a, heard)
	defer r.wait()
	r.hold([]*unread{{channel: "5"}})
	text := "hello"
	for i := range maxHeld + 5 {
		r.live(wireMessage{ID: fmt.Sprint(1000 + i), ChannelID: "5", Content: &text, Author: &wireUser{ID: "700"}})
	}
	if n := len(r.held["5"]); n != maxHeld {
		t.Errorf("%d messages are held", n)
	}
	if n := heard.messages.Load(); n != 5 {
		t.Errorf("%d messages were taken at once", n)
	}
}

// While nothing can be stored, no more messages wait for that than there is room
// for; what is too much is in the log.
func TestLateMessagesAreBounded(t *testing.T) {
	a, err := New(Config{Token: core.NewSecret("x"), Allow: []string{"*"}, DM: DMOpen, HTTP: &http.Client{Transport: nobody{}}})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	a.log = slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing catches up
	r := newRun(ctx, a, deaf{})
	defer r.wait()
	r.inbox.late = append(r.inbox.late, entry{what: "the first"})
	for i := range maxLate + 1 {
		r.inbox.admit(entry{what: fmt.Sprint("m", i), do: func(context.Context) error { return nil }})
	}
	if n := len(r.inbox.late); n != maxLate {
		t.Errorf("%d messages wait", n)
	}
	if n := strings.Count(log.String(), "too many messages wait to be stored; one is lost"); n != 2 {
		t.Errorf("%d losses are in the log", n)
	}
}

// An answer of Discord is not read beyond its limit.
func TestAnswersOfDiscordAreBounded(t *testing.T) {
	body := &endless{}
	a, err := New(Config{Token: core.NewSecret("x"), Allow: []string{"*"}, HTTP: &http.Client{Transport: answering{body}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.before(t.Context(), "5", "", "800", 1)
	if err == nil {
		t.Error("no error")
	}
	if body.read > maxAnswer+1<<20 {
		t.Errorf("%d bytes were read", body.read)
	}
}

// endless is a body without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, spaces)
	e.read += n
	return n, nil
}

var spaces = strings.Repeat(" ", 1<<20)

func (e *endless) Close() error { return nil }

// answering answers every request with one body.
type answering struct{ body *endless }

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: a.body, Request: r}, nil
}

// No more interactions are carried out at a time than there is room for. Discord
// tells the others' users that nobody answered.
func TestInteractionsAreBounded(t *testing.T) {
	a, err := New(Config{Token: core.NewSecret("x"), Allow: []string{"*"}, DM: DMOpen, HTTP: &http.Client{Transport: nobody{}}})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	a.log = slog.New(slog.NewTextHandler(&log, nil))
	r := newRun(t.Context(), a, deaf{})
	defer r.wait()
	for range maxInteractions {
		r.slots <- struct{}{}
	}
	r.interaction(wireInteraction{ID: "1", Token: "t"})
	if !strings.Contains(log.String(), "too many interactions at a time") {
		t.Errorf("the log holds %q", log.String())
	}
}
