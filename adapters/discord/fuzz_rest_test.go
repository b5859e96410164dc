package discord

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// parrot answers every request with the same.
type parrot struct {
	status int
	head   http.Header
	body   string
}

func (p parrot) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: p.status, Status: http.StatusText(p.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: p.head, Body: io.NopCloser(strings.NewReader(p.body)), Request: r}, nil
}

// Whatever is answered to a request, nothing fails and nothing hangs, and the
// error of a post says what became of it.
func FuzzAnswer(f *testing.F) {
	for _, c := range []struct {
		status int
		body   string
	}{
		{200, `{"id":"1","content":"x","nonce":7,"author":{"id":800},"message_reference":null,"attachments":null}`},
		{200, `{"id":1,"channel_id":2,"type":"0"}`},
		{200, `[{"id":"5","type":0,"content":null,"author":{"id":"700"},"referenced_message":{"author":null}},null,7]`},
		{200, `null`}, {200, `[]`}, {200, ``}, {200, `<html>`}, {204, ``}, {202, `{}`},
		{400, `{"code":50035,"message":"Invalid Form Body","errors":{"content":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH"}]}}}`},
		{400, `{"code":"50035","errors":[]}`}, {400, `{"code":160004}`}, {400, `{"code":50083}`},
		{429, `{"retry_after":1e300,"global":true}`}, {429, `{"retry_after":-1}`}, {429, `<html>slow down`}, {500, ``}, {403, `no`},
	} {
		f.Add(c.status, c.body, "")
	}
	f.Add(429, ``, "3")
	f.Fuzz(func(t *testing.T, status int, body, wait string) {
		if status < 200 || status > 599 {
			return
		}
		head := http.Header{"Content-Type": {"application/json"}}
		if wait != "" {
			head.Set("Retry-After", wait)
			head.Set("X-RateLimit-Remaining", "0")
			head.Set("X-RateLimit-Reset-After", wait)
		}
		synctest.Test(t, func(t *testing.T) { askEverything(t, parrot{status, head, body}) })
	})
}

func askEverything(t *testing.T, p parrot) {
	client := &http.Client{Transport: p}
	fresh := func() *Adapter {
		a, err := New(Config{Token: core.NewSecret("x"), Allow: []string{"*"}, DM: DMOpen, HTTP: client,
			Log: slog.New(alarm{slog.DiscardHandler, t})})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	thread := core.Thread{Platform: "discord", Account: "default", Workspace: "900", Channel: "500", Parent: "100", Kind: core.KindThread}
	post := core.Post{Target: core.Target{Thread: thread, Opens: "500", Title: "t"}, Kind: core.PostAnswer, Text: "x", Nonce: "n", Link: true}
	var failed *core.SendError
	if _, err := fresh().Post(ctx, post); err != nil && !errors.As(err, &failed) {
		t.Errorf("the error of a post is %v", err)
	}
	post.Target.Opens, post.Files = "", []core.File{{Name: "a"}}
	if _, err := fresh().Post(ctx, post); err != nil && !errors.As(err, &failed) {
		t.Errorf("the error of a post is %v", err)
	}
	if err := fresh().Edit(ctx, "1", post); err != nil && !errors.As(err, &failed) {
		t.Errorf("the error of an edit is %v", err)
	}
	_ = fresh().Delete(ctx, post.Target, "1")
	_ = fresh().Working(ctx, post.Target, true)
	_, _, _ = fresh().Find(ctx, post, time.Now())
	if said, err := fresh().Earlier(ctx, post.Target, "9", 20); err == nil && len(said) > 20 {
		t.Errorf("%d messages", len(said))
	}
	expired := core.Attachment{ID: "1", URL: "https://cdn.discordapp.com/a?ex=1"}
	_, _ = fresh().refreshed(ctx, expired.URL)

	r := newRun(ctx, fresh(), deaf{})
	r.identify("800", "801")
	r.event("INTERACTION_CREATE", []byte(`{"id":"1","type":2,"token":"t","channel_id":"100","guild_id":"900","member":{"user":{"id":"700"}},"data":{"name":"status"}}`))
	r.event("MESSAGE_CREATE", []byte(`{"id":"1","channel_id":"100","guild_id":"900","content":"<@800> hi","author":{"id":"700"}}`))
	r.wait()
}

// hung is a Discord that does not answer.
type hung struct{}

func (hung) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A request is cut off after some seconds; files have more time.
func TestP029(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := New(Config{Token: core.NewSecret("x"), Allow: []string{"*"}, HTTP: &http.Client{Transport: hung{}}})
		if err != nil {
			t.Fatal(err)
		}
		r := newRun(t.Context(), a, deaf{})
		began := time.Now()
		_, err = r.reply(t.Context(), wireInteraction{ID: "301", AppID: "801", Token: "itok-301"}, core.Reply{Text: "an answer"})
		if took := time.Since(began); err == nil || took > 10*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		post := core.Post{Target: core.Target{Thread: core.Thread{Channel: "100"}}, Text: "x", Files: []core.File{{Name: "a"}}}
		began = time.Now()
		var failed *core.SendError
		if _, err := a.Post(t.Context(), post); !errors.As(err, &failed) || !failed.Unknown || time.Since(began) != uploadTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
