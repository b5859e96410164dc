package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// start runs the program in this process and returns what it printed.
func start(t *testing.T, flags ...string) hint {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, write, io.Discard, append(flags, "-dir", t.TempDir())) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	var h hint
	if err := json.NewDecoder(read).Decode(&h); err != nil {
		t.Fatal(err)
	}
	return h
}

// order gives an order and reads the answer into out, unless that is nil.
func (h hint) order(t *testing.T, method, path, body string, out any) (status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, h.Control+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			t.Fatalf("%s %s answers %d %s", method, path, resp.StatusCode, text)
		}
	}
	return resp.StatusCode
}

// TestConversation starts the real bot with the environment as it was written,
// and talks to it on both platforms.
func TestConversation(t *testing.T) {
	program := filepath.Join(t.TempDir(), "understudy")
	if out, err := exec.Command("go", "build", "-o", program, "../understudy").CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip("NOT TESTED: there is no go tool to build the bot with")
		}
		t.Fatalf("building the bot: %v\n%s", err, out)
	}
	h := start(t)
	runBot(t, program, h)

	h.order(t, "POST", "/lead/queue", `{"model": "actor", "answers": [{"status": 429, "header": {"Retry-After": "600"}, "code": "rate_limit_error", "message": "slow down"}]}`, nil)
	h.order(t, "POST", "/second/queue", `{"model": "double", "answers": [{"steps": [{"do": "say", "text": "I stand in."}]}]}`, nil)
	h.order(t, "POST", "/fault", `{"platform": "slack", "request": "chat.postMessage", "drop": true}`, nil)
	h.order(t, "POST", "/fault", `{"platform": "discord", "request": "POST /channels/*/messages", "status": 503, "perform": true}`, nil)
	for _, platform := range []string{"discord", "slack"} {
		var at said
		h.order(t, "POST", "/say", `{"platform": "`+platform+`", "text": "@understudy hello"}`, &at)
		if at.ID == "" || at.Thread != at.ID {
			t.Fatalf("what was said went to %+v", at)
		}
		posts := h.posts(t, platform, at.Thread, 2)
		if posts[0].Text != "I stand in." || !strings.Contains(posts[1].Text, "second/double") {
			t.Errorf("%s shows %+v", platform, posts)
		}
	}
	var requests []json.RawMessage
	if h.order(t, "GET", "/requests?platform=slack", "", &requests); len(requests) == 0 {
		t.Error("Slack was asked nothing")
	}
}

// runBot starts the bot with the variables of the file that a shell reads.
func runBot(t *testing.T, program string, h hint) {
	t.Helper()
	dir := filepath.Dir(h.Env["UNDERSTUDY_CONFIG"])
	bot := exec.Command("/bin/sh", "-c", `set -a; . "$0"; set +a; exec "$1" run`, filepath.Join(dir, "env"), program)
	bot.Dir = dir
	bot.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "UNDERSTUDY_HTTP=off"}
	var said strings.Builder
	bot.Stderr = &said
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bot.Process.Kill() // what it kept is thrown away
		_ = bot.Wait()
		if t.Failed() {
			t.Logf("the bot said:\n%s", said.String())
		}
	})
}

// posts waits until the thread shows so many posts.
func (h hint) posts(t *testing.T, platform, thread string, want int) []post {
	t.Helper()
	query := fmt.Sprintf("/posts?platform=%s&thread=%s&atLeast=%d", platform, thread, want)
	var all []post
	if h.order(t, "GET", query, "", &all); len(all) < want {
		t.Fatalf("the thread shows %+v, want %d posts", all, want)
	}
	return all
}

// What people do in crash runs, and what can be seen of it.
func TestPeople(t *testing.T) {
	h := start(t)
	for _, platform := range []string{"discord", "slack"} {
		channel := map[string]string{"discord": "1000", "slack": "C1"}[platform]
		at := fmt.Sprintf(`"platform": %q, "channel": %q`, platform, channel)
		h.order(t, "POST", "/place", `{`+at+`}`, nil)
		var kept, gone said
		h.order(t, "POST", "/say", `{`+at+`, "text": "one", "now": true}`, &kept)
		h.order(t, "POST", "/say", `{`+at+`, "text": "two", "now": true}`, &gone)
		h.order(t, "POST", "/edit", `{`+at+`, "id": "`+kept.ID+`", "text": "changed"}`, nil)
		h.order(t, "POST", "/delete", `{`+at+`, "id": "`+gone.ID+`"}`, nil)
		if status := h.order(t, "POST", "/again", `{`+at+`, "id": "`+gone.ID+`"}`, nil); status != http.StatusBadRequest {
			t.Errorf("telling again of what is gone is answered with %d", status)
		}
		if status := h.order(t, "POST", "/again", `{`+at+`, "id": "`+kept.ID+`"}`, nil); status != http.StatusOK {
			t.Errorf("telling of a message again is answered with %d", status)
		}
		var all stands
		h.order(t, "GET", "/everything", "", &all)
		var here []standing
		for _, m := range all.Messages {
			if m.Platform == platform && m.Channel == channel {
				here = append(here, m)
			}
		}
		if len(here) != 1 || here[0].ID != kept.ID || here[0].Text != "changed" || here[0].Bot {
			t.Errorf("on %s there stands %+v", platform, here)
		}
	}
	var place struct{ Channel string }
	h.order(t, "POST", "/place", `{"platform": "discord", "user": "710"}`, &place)
	if h.order(t, "POST", "/say", `{"platform": "discord", "channel": "`+place.Channel+`", "user": "710", "text": "hello", "now": true}`, nil) != http.StatusOK {
		t.Errorf("nobody can speak in %q", place.Channel)
	}
}

// recited asks a provider and returns its answer as it goes over the wire.
func (h hint) recited(t *testing.T, wire, model, text string) (int, string) {
	t.Helper()
	address := h.Lead + "/v1/messages"
	if wire == "chat" {
		address = h.Second + "/v1/chat/completions"
	}
	body := fmt.Sprintf(`{"model": %q, "messages": [{"role": "user", "content": %q}]}`, model, text)
	resp, err := http.Post(address, "application/json", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(all)
}

// The providers do what the newest message says, and can be held.
func TestRecital(t *testing.T) {
	h := start(t, "-recite")
	if _, text := h.recited(t, "messages", "actor", "line 1 please. line 2 please"); !strings.Contains(text, "heard 2 (lead).") {
		t.Errorf("the lead says %s", text)
	}
	if status, text := h.recited(t, "messages", "actor", "line 3 please, the lead is away"); status != http.StatusTooManyRequests {
		t.Errorf("the lead is away and says %d %s", status, text)
	}
	if _, text := h.recited(t, "chat", "double", "line 3 please, the lead is away"); !strings.Contains(text, "heard 3 (second).") {
		t.Errorf("the second says %s", text)
	}
	if _, text := h.recited(t, "chat", "double", "line 4 please, ring"); !strings.Contains(text, "session_status") {
		t.Errorf("asked for a tool that it does not have, the second says %s", text)
	}

	var none, got caught
	h.order(t, "POST", "/hold", `{"request": "ending", "within": 1}`, &none)
	if _, text := h.recited(t, "messages", "actor", "line 5 please"); none.Reached || !strings.Contains(text, "heard 5 (lead).") {
		t.Errorf("what nobody waits for is held: %+v, %s", none, text)
	}
	held, ended := make(chan caught, 1), make(chan string, 1)
	go func() {
		var c caught
		h.order(t, "POST", "/hold", `{"request": "second", "within": 30000}`, &c)
		held <- c
	}()
	for got == (caught{}) { // one of these is held
		go func() {
			_, text := h.recited(t, "chat", "double", "line 7 please")
			ended <- text
		}()
		select {
		case got = <-held:
		case <-ended:
		}
	}
	if !got.Reached || got.What != "7" {
		t.Errorf("held is %+v", got)
	}
	h.order(t, "POST", "/drop", `{}`, nil)
	if text := <-ended; !strings.Contains(text, "heard 7 (second).") {
		t.Errorf("after the drop it says %s", text)
	}
}

func TestBadOrders(t *testing.T) {
	h := start(t)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/say", `{"platform": "irc", "text": "hello"}`},
		{"POST", "/say", `{"platform": "slack"}`},
		{"POST", "/say", `{"platform": "slack", "text": "hello", "channel": "C1"}`},
		{"POST", "/say", `{"platform": "discord", "text": "hello", "thread": "1"}`},
		{"POST", "/say", `{"platform": "slack", "text": "hello", "txet": ""}`},
		{"POST", "/fault", `{"platform": "slack", "request": "chat.update"}`},
		{"POST", "/fault", `{"platform": "slack", "status": 500}`},
		{"POST", "/fault", `{"platform": "discord", "request": "POST /x", "error": "ratelimited"}`},
		{"POST", "/fault", `{"platform": "discord", "request": "typing", "status": 500}`},
		{"GET", "/posts?platform=irc", ""},
		{"GET", "/posts?platform=discord&channel=1", ""},
		{"GET", "/posts?platform=discord&atLeast=two", ""},
		{"GET", "/requests", ""},
		{"POST", "/lead/queue", `{"modle": "actor"}`},
		{"POST", "/discord/interact", `{"channel": "1", "user": "700", "command": "status"}`},
		{"POST", "/discord/interact", `{"channel": "100", "user": "700", "type": "wave"}`},
		{"POST", "/discord/break", `{"how": "gently"}`},
		{"POST", "/discord/break", `{"how": "drop", "meanwhile": {"text": "hello", "channel": "1"}}`},
		{"POST", "/discord/refuse", `{"channel": "1", "lacks": "post"}`},
		{"POST", "/discord/refuse", `{"channel": "100", "lacks": "money"}`},
		{"POST", "/hold", `{"platform": "irc", "request": "PRIVMSG"}`},
		{"POST", "/hold", `{"platform": "discord", "request": "typing"}`},
		{"POST", "/place", `{"platform": "slack"}`},
		{"POST", "/edit", `{"platform": "slack", "channel": "C1", "id": "1.2"}`},
		{"POST", "/delete", `{"platform": "discord", "channel": "100", "id": "1"}`},
		{"GET", "/played", ""},
		{"POST", "/slack/slash", `{"channel": "C1", "command": "/model"}`},
		{"POST", "/slack/press", `{"channel": "C1", "action": "a"}`},
		{"POST", "/slack/press", `{"channel": "C0CHAN", "message": "1.000001", "action": "a"}`},
		{"POST", "/slack/shortcut", `{"channel": "C0CHAN", "message": "1.000001", "callback": "status"}`},
		{"POST", "/slack/submit", `{"view": "V1"}`},
		{"POST", "/slack/suggest", `{"channel": "C1"}`},
		{"POST", "/slack/assistant", `{"channel": "C1"}`},
		{"POST", "/slack/events", `{"events": "http://127.0.0.1:1/"}`},
		{"POST", "/slack/refuse", `{"channel": "C1"}`},
		{"POST", "/slack/break", `{"how": "gently"}`},
	} {
		if status := h.order(t, c.method, c.path, c.body, nil); status != http.StatusBadRequest {
			t.Errorf("%s %s %s is answered with %d", c.method, c.path, c.body, status)
		}
	}
}
