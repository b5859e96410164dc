package slacktest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"understudy/adapters/slack/slacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server.
func serve(t *testing.T, cfg slacktest.Config) *slacktest.Server {
	t.Helper()
	s := slacktest.New(cfg)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// call is a call of the Web API with the bot's token in the form.
func call(t *testing.T, s *slacktest.Server, method string, pairs ...string) map[string]any {
	t.Helper()
	form := url.Values{"token": {slacktest.BotToken}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	resp, err := http.PostForm(s.APIURL()+method, form)
	if err != nil {
		t.Fatal(err)
	}
	return answer(t, resp)
}

func answer(t *testing.T, resp *http.Response) map[string]any {
	t.Helper()
	defer resp.Body.Close()
	var out map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	if retry := resp.Header.Get("Retry-After"); retry != "" {
		out["retry_after"] = retry
	}
	return out
}

func code(out map[string]any) string {
	code, _ := out["error"].(string)
	return code
}

// socket is a client of Socket Mode.
type socket struct {
	*testing.T
	ws *websocket.Conn
}

func open(t *testing.T, s *slacktest.Server) socket {
	t.Helper()
	req, _ := http.NewRequest(http.MethodPost, s.APIURL()+"apps.connections.open", nil)
	req.Header.Set("Authorization", "Bearer "+slacktest.AppToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	address, _ := answer(t, resp)["url"].(string)
	ws, resp, err := websocket.DefaultDialer.Dial(address, http.Header{"Origin": {"https://api.slack.com"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	t.Cleanup(func() { _ = ws.Close() })
	_ = ws.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, resp, err := websocket.DefaultDialer.Dial(address, nil); err == nil {
		t.Error("a ticket is good for a second socket")
	} else {
		_ = resp.Body.Close()
	}
	return socket{t, ws}
}

func (c socket) next() map[string]any {
	c.Helper()
	var frame map[string]any
	if err := c.ws.ReadJSON(&frame); err != nil {
		c.Fatal(err)
	}
	return frame
}

func (c socket) ack(frame map[string]any) {
	c.Helper()
	if err := c.ws.WriteJSON(map[string]any{"envelope_id": frame["envelope_id"], "payload": map[string]any{"text": "x"}}); err != nil {
		c.Fatal(err)
	}
}

// inner is the event in a frame.
func inner(frame map[string]any) map[string]any {
	payload, _ := frame["payload"].(map[string]any)
	ev, _ := payload["event"].(map[string]any)
	return ev
}

func TestLimits(t *testing.T) {
	s := serve(t, slacktest.Config{})
	root := s.Say(slacktest.Channel, slacktest.User, "root")
	reply := s.Say(slacktest.Channel, slacktest.User, "reply", slacktest.In(root))
	own, _ := call(t, s, "chat.postMessage", "channel", slacktest.Channel, "text", "own")["ts"].(string)
	s.AddPlace("C0OLD", "channel", "old")
	s.Archive("C0OLD")
	s.AddPlace("C0OUT", "channel", "out")
	s.Expel("C0OUT")
	long := func(n int) string { return strings.Repeat("x", n) }
	block := func(kind, text string) string {
		b, _ := json.Marshal([]any{map[string]any{"type": kind, "text": text}})
		return string(b)
	}
	section := func(n int) string {
		b, _ := json.Marshal(map[string]any{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": long(n)}})
		return string(b)
	}
	for _, c := range []struct{ method, args, want string }{
		{"chat.postMessage", "channel=C0CHAN text=" + long(40000), ""},
		{"chat.postMessage", "channel=C0CHAN text=" + long(40001), "msg_too_long"},
		{"chat.postMessage", "channel=C0CHAN", "no_text"},
		{"chat.postMessage", "channel=C0NONE text=x", "channel_not_found"},
		{"chat.postMessage", "channel=C0OLD text=x", "is_archived"},
		{"chat.postMessage", "channel=C0OUT text=x", "not_in_channel"},
		{"chat.postMessage", "channel=C0CHAN text=x thread_ts=" + root, ""},
		{"chat.postMessage", "channel=C0CHAN text=x thread_ts=" + reply, "thread_not_found"},
		{"chat.postMessage", "channel=C0CHAN text=x thread_ts=1.0", "thread_not_found"},
		{"chat.postMessage", "channel=C0CHAN text=x blocks=" + block("markdown", long(12000)), ""},
		{"chat.postMessage", "channel=C0CHAN text=x blocks=" + block("markdown", long(12001)), "msg_blocks_too_long"},
		{"chat.postMessage", "channel=C0CHAN text=x blocks=[" + section(3000) + "]", ""},
		{"chat.postMessage", "channel=C0CHAN text=x blocks=[" + section(3001) + "]", "invalid_blocks"},
		{"chat.postMessage", "channel=C0CHAN text=x blocks=[" + strings.Repeat(section(2700)+",", 4) + section(2700) + "]", "msg_blocks_too_long"},
		{"chat.postMessage", "channel=C0CHAN text=x blocks=[" + strings.Repeat(section(1)+",", 50) + section(1) + "]", "invalid_blocks_format"},
		{"chat.postMessage", "channel=C0CHAN text=x metadata={}", "invalid_metadata_format"},
		{"chat.update", "channel=C0CHAN text=" + long(4000) + " ts=" + own, ""},
		{"chat.update", "channel=C0CHAN text=" + long(4001) + " ts=" + own, "msg_too_long"},
		{"chat.update", "channel=C0CHAN text=x ts=" + root, "cant_update_message"},
		{"chat.update", "channel=C0CHAN text=x ts=1.0", "message_not_found"},
		{"chat.delete", "channel=C0CHAN ts=" + root, "cant_delete_message"},
		{"chat.delete", "channel=C0CHAN ts=" + own, ""},
		{"chat.delete", "channel=C0CHAN ts=" + own, "message_not_found"},
		{"conversations.replies", "channel=C0CHAN ts=1.0", "thread_not_found"},
		{"users.info", "user=U0NOBODY", "user_not_found"},
		{"reactions.add", "channel=C0CHAN timestamp=" + root + " name=eyes", ""},
		{"rtm.start", "", "unknown_method"},
	} {
		var pairs []string
		for _, f := range strings.Fields(c.args) {
			k, v, _ := strings.Cut(f, "=")
			pairs = append(pairs, k, v)
		}
		if got := code(call(t, s, c.method, pairs...)); got != c.want {
			t.Errorf("%s %.60s: %q, want %q", c.method, c.args, got, c.want)
		}
	}
}

func TestTokens(t *testing.T) {
	s := serve(t, slacktest.Config{Scopes: []string{"users:read"}})
	for _, c := range []struct{ method, token, want string }{
		{"auth.test", slacktest.BotToken, ""},
		{"auth.test", "xoxb-other", "invalid_auth"},
		{"auth.test", "", "not_authed"},
		{"auth.test", slacktest.AppToken, "not_allowed_token_type"},
		{"apps.connections.open", slacktest.BotToken, "not_allowed_token_type"},
		{"apps.connections.open", "xapp-other", "invalid_auth"},
		{"chat.delete", slacktest.BotToken, "missing_scope"},
	} {
		for _, where := range []string{"form", "header", "json"} {
			req, _ := http.NewRequest(http.MethodPost, s.APIURL()+c.method, nil)
			switch where {
			case "form":
				req, _ = http.NewRequest(http.MethodPost, s.APIURL()+c.method, strings.NewReader(url.Values{"token": {c.token}}.Encode()))
				req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			case "json":
				req, _ = http.NewRequest(http.MethodPost, s.APIURL()+c.method, strings.NewReader(`{"x":{"y":1}}`))
				req.Header.Set("Content-Type", "application/json; charset=utf-8")
				fallthrough
			case "header":
				req.Header.Set("Authorization", "Bearer "+c.token)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if got := code(answer(t, resp)); got != c.want {
				t.Errorf("%s with %q in the %s: %q, want %q", c.method, c.token, where, got, c.want)
			}
		}
	}
	for _, c := range s.Calls() {
		for _, v := range c.Args {
			if strings.HasPrefix(v, "xoxb-") || strings.HasPrefix(v, "xapp-") {
				t.Errorf("a token is in the log: %+v", c)
			}
		}
	}
}

func TestEnvelopes(t *testing.T) {
	s := serve(t, slacktest.Config{AckWithin: 50 * time.Millisecond})
	s.Say(slacktest.DM, slacktest.User, "nobody listens")
	if s.Missed() != 1 {
		t.Errorf("%d missed", s.Missed())
	}
	c := open(t, s)
	if hello := c.next(); hello["type"] != "hello" {
		t.Fatalf("greeted with %v", hello)
	}
	ts := s.Say(slacktest.Channel, slacktest.User, "<@U0BOT> hi")
	message := c.next()
	mention := c.next()
	c.ack(message)
	if m, a := inner(message), inner(mention); m["type"] != "message" || a["type"] != "app_mention" || m["ts"] != ts || a["ts"] != ts || a["channel_type"] != nil {
		t.Errorf("events are %v and %v", m, a)
	}
	again := c.next()
	if again["envelope_id"] != mention["envelope_id"] || again["retry_attempt"] != 1.0 || again["retry_reason"] != "timeout" {
		t.Errorf("repeated with %v", again)
	}
	// The repeat of a socket that dies goes to the next one.
	_ = c.ws.NetConn().Close()
	d := open(t, s)
	d.next()
	third := d.next()
	if third["envelope_id"] != mention["envelope_id"] {
		t.Errorf("the other socket got %v", third)
	}
	d.ack(third)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := s.Wait(ctx, "acknowledgements", func() bool { return len(s.Unacked()) == 0 }); err != nil {
		t.Error(err)
	}
	id, _ := mention["envelope_id"].(string)
	if times, payload := s.Acks(id); len(times) != 1 || string(payload) != `{"text":"x"}` {
		t.Errorf("acknowledged %d times with %s", len(times), payload)
	}
}

func TestLostAcks(t *testing.T) {
	s := serve(t, slacktest.Config{AckWithin: 50 * time.Millisecond})
	c := open(t, s)
	c.next()
	ts := s.Say(slacktest.DM, slacktest.User, "hello")
	s.LoseAcks(1)
	first := c.next()
	c.ack(first)
	again := c.next()
	if again["envelope_id"] != first["envelope_id"] || again["retry_attempt"] != 1.0 {
		t.Errorf("after a lost acknowledgement came %v", again)
	}
	c.ack(again)
	s.Repeat(slacktest.DM, ts)
	repeat := c.next()
	if repeat["envelope_id"] == first["envelope_id"] || inner(repeat)["ts"] != ts || inner(repeat)["text"] != "hello" {
		t.Errorf("told of again with %v", repeat)
	}
}

func TestEachEnvelopeGoesToOneSocket(t *testing.T) {
	s := serve(t, slacktest.Config{})
	a, b := open(t, s), open(t, s)
	a.next()
	b.next()
	for range 4 {
		s.Say(slacktest.DM, slacktest.User, "hi")
	}
	got := map[any]bool{}
	for _, c := range []socket{a, b} {
		for range 2 {
			f := c.next()
			c.ack(f)
			got[f["envelope_id"]] = true
		}
	}
	if len(got) != 4 {
		t.Errorf("envelopes: %v", got)
	}
}

func TestTooManySockets(t *testing.T) {
	s := serve(t, slacktest.Config{})
	for range 10 {
		open(t, s).next()
	}
	if f := open(t, s).next(); f["reason"] != "too_many_websockets" {
		t.Errorf("the eleventh is told %v", f)
	}
	s.Disconnect("warning")
	if s.Connected() != 10 {
		t.Errorf("%d sockets", s.Connected())
	}
}

func TestOwnMessagesComeBackAsEvents(t *testing.T) {
	s := serve(t, slacktest.Config{})
	c := open(t, s)
	c.next()
	ts, _ := call(t, s, "chat.postMessage", "channel", slacktest.Channel, "text", "one")["ts"].(string)
	call(t, s, "chat.update", "channel", slacktest.Channel, "ts", ts, "text", "two")
	call(t, s, "chat.delete", "channel", slacktest.Channel, "ts", ts)
	for i, want := range []string{"", "message_changed", "message_deleted"} {
		f := c.next()
		c.ack(f)
		got, _ := inner(f)["subtype"].(string)
		if got != want {
			t.Errorf("event %d is %v", i, f)
		}
	}
}

func TestDeletedRoot(t *testing.T) {
	s := serve(t, slacktest.Config{})
	root := s.Say(slacktest.Channel, slacktest.User, "root")
	s.Remove(slacktest.Channel, root)
	out := call(t, s, "chat.postMessage", "channel", slacktest.Channel, "text", "x", "thread_ts", root)
	m, _ := out["message"].(map[string]any)
	if out["ok"] != true || m["thread_ts"] != nil {
		t.Errorf("answered with %v", out)
	}
}

func TestStatusGoesWithAPost(t *testing.T) {
	s := serve(t, slacktest.Config{})
	root := s.Say(slacktest.Channel, slacktest.User, "root")
	set := func(status string) {
		if out := call(t, s, "assistant.threads.setStatus", "channel_id", slacktest.Channel, "thread_ts", root, "status", status); out["ok"] != true {
			t.Fatalf("answered with %v", out)
		}
	}
	set("thinking")
	if s.Status(slacktest.Channel, root) != "thinking" {
		t.Error("no status")
	}
	call(t, s, "chat.postMessage", "channel", slacktest.Channel, "text", "x", "thread_ts", root)
	if s.Status(slacktest.Channel, root) != "" {
		t.Error("the status stays")
	}
	set("thinking")
	set("")
	if s.Status(slacktest.Channel, root) != "" {
		t.Error("the status stays")
	}
}

func TestReads(t *testing.T) {
	s := serve(t, slacktest.Config{})
	root := s.Say(slacktest.Channel, slacktest.User, "root")
	var stamps []string
	for i := range 5 {
		out := call(t, s, "chat.postMessage", "channel", slacktest.Channel, "text", fmt.Sprint(i), "thread_ts", root, "metadata", fmt.Sprintf(`{"event_type":"t","event_payload":{"n":%d}}`, i))
		ts, _ := out["ts"].(string)
		stamps = append(stamps, ts)
	}
	list := func(out map[string]any) (texts []string, next string) {
		messages, _ := out["messages"].([]any)
		for _, m := range messages {
			v := m.(map[string]any)
			texts = append(texts, v["text"].(string))
		}
		meta, _ := out["response_metadata"].(map[string]any)
		next, _ = meta["next_cursor"].(string)
		return texts, next
	}
	first, next := list(call(t, s, "conversations.replies", "channel", slacktest.Channel, "ts", root, "limit", "4"))
	rest, end := list(call(t, s, "conversations.replies", "channel", slacktest.Channel, "ts", root, "limit", "4", "cursor", next))
	if got := strings.Join(append(first, rest...), " "); got != "root 0 1 2 3 4" || end != "" {
		t.Errorf("replies are %s, then %q", got, end)
	}
	late, _ := list(call(t, s, "conversations.replies", "channel", slacktest.Channel, "ts", root, "oldest", stamps[2]))
	if got := strings.Join(late, " "); got != "root 3 4" {
		t.Errorf("later replies are %s", got)
	}
	if all, _ := list(call(t, s, "conversations.history", "channel", slacktest.Channel)); strings.Join(all, " ") != "root" {
		t.Errorf("history is %v", all)
	}
	if one, _ := list(call(t, s, "conversations.replies", "channel", slacktest.Channel, "ts", stamps[1])); strings.Join(one, " ") != "1" {
		t.Errorf("a reply alone is %v", one)
	}
	for all, want := range map[string]int{"0": 0, "1": 5} {
		b, _ := json.Marshal(call(t, s, "conversations.replies", "channel", slacktest.Channel, "ts", root, "include_all_metadata", all))
		if got := strings.Count(string(b), `"event_payload"`); got != want {
			t.Errorf("%d messages with metadata, want %d", got, want)
		}
	}
}

func TestPostRate(t *testing.T) {
	s := serve(t, slacktest.Config{PostsPerSecond: 2})
	limited := 0
	for range 5 {
		out := call(t, s, "chat.postMessage", "channel", slacktest.Channel, "text", "x")
		if code(out) == "ratelimited" && out["retry_after"] != "" {
			limited++
		}
	}
	if limited == 0 {
		t.Error("five posts at once passed a limit of two a second")
	}
	if out := call(t, s, "chat.postMessage", "channel", slacktest.Channel2, "text", "x"); out["ok"] != true {
		t.Errorf("another channel: %v", out)
	}
}

func TestResponseURLWearsOut(t *testing.T) {
	s := serve(t, slacktest.Config{})
	hook := s.Hook(slacktest.Channel, slacktest.User)
	for i := range 6 {
		resp, err := http.Post(hook, "application/json", strings.NewReader(`{"text":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if (resp.StatusCode == http.StatusOK) != (i < 5) {
			t.Errorf("use %d: %s", i+1, resp.Status)
		}
	}
	if n := len(s.Responses()); n != 5 {
		t.Errorf("%d responses", n)
	}
}

func TestFaults(t *testing.T) {
	s := serve(t, slacktest.Config{})
	hold, reached := make(chan struct{}), make(chan struct{})
	s.Fail("chat.postMessage",
		slacktest.Fault{Error: "fatal_error", Perform: true},
		slacktest.Fault{Error: "fatal_error"},
		slacktest.Fault{RetryAfter: 3},
		slacktest.Fault{Hold: hold, Reached: reached})
	post := func() map[string]any {
		return call(t, s, "chat.postMessage", "channel", slacktest.Channel, "text", "x")
	}
	standing := func() int { return len(s.Posts(slacktest.Channel, "")) }
	if out := post(); code(out) != "fatal_error" || standing() != 1 {
		t.Errorf("%v, %d posts", out, standing())
	}
	if out := post(); code(out) != "fatal_error" || standing() != 1 {
		t.Errorf("%v, %d posts", out, standing())
	}
	if out := post(); out["retry_after"] != "3" || standing() != 1 {
		t.Errorf("%v, %d posts", out, standing())
	}
	done := make(chan map[string]any)
	go func() { done <- post() }()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	select {
	case <-reached:
	case <-ctx.Done():
		t.Fatal("the post was not reached")
	}
	if n := standing(); n != 2 {
		t.Errorf("%d posts when the answer is held back", n)
	}
	select {
	case out := <-done:
		t.Errorf("answered with %v before it was let go", out)
	default:
	}
	close(hold)
	if out := <-done; out["ok"] != true {
		t.Errorf("answered with %v", out)
	}
	if out := post(); out["ok"] != true {
		t.Errorf("a fault was used twice: %v", out)
	}
	s.Fail("chat.postMessage", slacktest.Fault{Drop: true})
	if _, err := http.PostForm(s.APIURL()+"chat.postMessage", url.Values{}); err == nil {
		t.Error("an answer came over a cut connection")
	}
}
