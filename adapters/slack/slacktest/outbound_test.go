package slacktest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
)

func TestStreams(t *testing.T) {
	s := serve(t, slacktest.Config{})
	root := s.Say(slacktest.DM, slacktest.User, "root")
	shared := s.Say(slacktest.Channel, slacktest.User, "root")
	long := strings.Repeat("x", 12001)
	start := func(pairs ...string) map[string]any { return call(t, s, "chat.startStream", pairs...) }
	for _, c := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"channel", slacktest.DM, "markdown_text", "x"}, "invalid_arguments"},
		{[]string{"channel", slacktest.DM, "thread_ts", "1.0"}, "thread_not_found"},
		{[]string{"channel", slacktest.DM, "thread_ts", root, "markdown_text", long}, "msg_too_long"},
		{[]string{"channel", slacktest.Channel, "thread_ts", shared}, "missing_recipient_user_id"},
		{[]string{"channel", slacktest.Channel, "thread_ts", shared, "recipient_user_id", slacktest.User}, "missing_recipient_team_id"},
		{[]string{"channel", slacktest.Channel, "thread_ts", shared, "recipient_user_id", slacktest.BotUser, "recipient_team_id", slacktest.Team}, "user_not_found"},
		{[]string{"channel", slacktest.Channel, "thread_ts", shared, "recipient_user_id", slacktest.User, "recipient_team_id", slacktest.Team}, ""},
	} {
		if got := code(start(c.pairs...)); got != c.want {
			t.Errorf("%.80v: %q, want %q", c.pairs, got, c.want)
		}
	}

	call(t, s, "assistant.threads.setStatus", "channel_id", slacktest.DM, "thread_ts", root, "status", "busy")
	ts, _ := start("channel", slacktest.DM, "thread_ts", root, "markdown_text", "one")["ts"].(string)
	if s.Status(slacktest.DM, root) != "" {
		t.Error("the status stays beside a stream")
	}
	on := func(method string, pairs ...string) string {
		return code(call(t, s, method, append([]string{"channel", slacktest.DM, "ts", ts}, pairs...)...))
	}
	for _, c := range []struct{ method, text, want string }{
		{"chat.appendStream", " two", ""},
		{"chat.appendStream", "", "no_text"},
		{"chat.appendStream", long, "msg_too_long"},
		{"chat.update", "else", "streaming_state_conflict"},
		{"chat.delete", "", "cant_delete_message"},
		{"chat.stopStream", " three", ""},
		{"chat.stopStream", "", "message_not_in_streaming_state"},
		{"chat.appendStream", "more", "message_not_in_streaming_state"},
	} {
		if got := on(c.method, "markdown_text", c.text, "text", c.text); got != c.want {
			t.Errorf("%s %.20q: %q, want %q", c.method, c.text, got, c.want)
		}
	}
	if own := s.Posts(slacktest.DM, root); len(own) != 1 || own[0].Text != "one two three" {
		t.Errorf("the stream shows %+v", own)
	}
	if got := on("chat.update", "text", "else"); got != "" {
		t.Errorf("edit of a stopped stream: %s", got)
	}
}

func TestStreamsEndByThemselves(t *testing.T) {
	s := serve(t, slacktest.Config{})
	root := s.Say(slacktest.DM, slacktest.User, "root")
	ts, _ := call(t, s, "chat.startStream", "channel", slacktest.DM, "thread_ts", root, "markdown_text", "one")["ts"].(string)
	s.Advance(299 * time.Second)
	if got := code(call(t, s, "chat.appendStream", "channel", slacktest.DM, "ts", ts, "markdown_text", "two")); got != "" || !s.Streaming(slacktest.DM, ts) {
		t.Errorf("within its life: %q", got)
	}
	s.Advance(2 * time.Second)
	for _, method := range []string{"chat.appendStream", "chat.stopStream"} {
		if got := code(call(t, s, method, "channel", slacktest.DM, "ts", ts, "markdown_text", "three")); got != "message_not_in_streaming_state" {
			t.Errorf("%s after its life: %q", method, got)
		}
	}
	if got := code(call(t, s, "chat.update", "channel", slacktest.DM, "ts", ts, "text", "three")); got != "" {
		t.Errorf("edit after its life: %q", got)
	}
}

func TestStopSaysTheLastWord(t *testing.T) {
	s := serve(t, slacktest.Config{})
	root := s.Say(slacktest.DM, slacktest.User, "root")
	ts, _ := call(t, s, "chat.startStream", "channel", slacktest.DM, "thread_ts", root, "markdown_text", "one")["ts"].(string)
	button := `[{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"plain_text","text":"Go"}}]}]`
	if got := code(call(t, s, "chat.stopStream", "channel", slacktest.DM, "ts", ts, "blocks", button, "metadata", `{"event_type":"x","event_payload":{"n":1}}`)); got != "" {
		t.Fatal(got)
	}
	m := s.Posts(slacktest.DM, root)[0]
	if !strings.Contains(string(m.Blocks), `"one"`) || !strings.Contains(string(m.Blocks), `"Go"`) || !strings.Contains(string(m.Metadata), `"n"`) {
		t.Errorf("the message is %s %s", m.Blocks, m.Metadata)
	}
}

func TestFilesInThreeSteps(t *testing.T) {
	s := serve(t, slacktest.Config{})
	root := s.Say(slacktest.Channel, slacktest.User, "root")
	if got := code(call(t, s, "files.getUploadURLExternal", "filename", "a.md")); got != "missing_argument" {
		t.Errorf("without a length: %q", got)
	}
	out := call(t, s, "files.getUploadURLExternal", "filename", "a.md", "length", "5")
	id, _ := out["file_id"].(string)
	address, _ := out["upload_url"].(string)
	complete := func() string {
		return code(call(t, s, "files.completeUploadExternal", "files", fmt.Sprintf(`[{"id":%q,"title":"a.md"}]`, id), "channel_id", slacktest.Channel, "thread_ts", root))
	}
	if got := complete(); got != "file_not_found" {
		t.Errorf("before the bytes came: %q", got)
	}
	for _, c := range []struct {
		body   string
		status int
	}{{"too long", 400}, {"bytes", 200}} {
		resp, err := http.Post(address, "text/plain", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%q: %d", c.body, resp.StatusCode)
		}
	}
	for _, want := range []string{"", "file_not_found"} { // it is shared once
		if got := complete(); got != want {
			t.Errorf("completed with %q, want %q", got, want)
		}
	}
	own := s.Posts(slacktest.Channel, root)
	if len(own) != 1 || own[0].Files[0]["name"] != "a.md" || string(s.Uploaded(id)) != "bytes" {
		t.Errorf("posts: %+v", own)
	}
}

func TestBlocks(t *testing.T) {
	s := serve(t, slacktest.Config{})
	text := func(n int) map[string]any {
		return map[string]any{"type": "plain_text", "text": strings.Repeat("x", n)}
	}
	button := func(id string, label, value int) map[string]any {
		return map[string]any{"type": "button", "action_id": id, "text": text(label), "value": strings.Repeat("v", value)}
	}
	menu := func(options, label, value int) map[string]any {
		var list []any
		for range options {
			list = append(list, map[string]any{"text": text(label), "value": strings.Repeat("v", value)})
		}
		return map[string]any{"type": "static_select", "action_id": "m", "placeholder": text(10), "options": list}
	}
	actions := func(elements ...any) map[string]any {
		return map[string]any{"type": "actions", "elements": elements}
	}
	var buttons []any
	for i := range 26 {
		buttons = append(buttons, button(fmt.Sprint(i), 1, 1))
	}
	stranger := menu(1, 1, 1)
	stranger["initial_option"] = map[string]any{"text": text(2), "value": "w"}
	for name, c := range map[string]struct {
		block any
		ok    bool
	}{
		"buttons":           {actions(buttons[:25]...), true},
		"one button more":   {actions(buttons...), false},
		"same ids":          {actions(button("a", 1, 1), button("a", 1, 1)), false},
		"long label":        {actions(button("a", 76, 1)), false},
		"long value":        {actions(button("a", 1, 2001)), false},
		"long id":           {actions(button(strings.Repeat("a", 256), 1, 1)), false},
		"options":           {actions(menu(100, 75, 75)), true},
		"one option more":   {actions(menu(101, 1, 1)), false},
		"no options":        {actions(menu(0, 1, 1)), false},
		"long option":       {actions(menu(1, 76, 1)), false},
		"long option value": {actions(menu(1, 1, 76)), false},
		"no option value":   {actions(menu(1, 1, 0)), false},
		"initial stranger":  {actions(stranger), false},
		"no elements":       {actions(), false},
		"empty section":     {map[string]any{"type": "section", "text": text(0)}, false},
		"header":            {map[string]any{"type": "header", "text": text(150)}, true},
		"long header":       {map[string]any{"type": "header", "text": text(151)}, false},
		"no type":           {map[string]any{}, false},
	} {
		b, _ := json.Marshal([]any{c.block})
		want := map[bool]string{true: "", false: "invalid_blocks"}[c.ok]
		if got := code(call(t, s, "chat.postMessage", "channel", slacktest.Channel, "text", "x", "blocks", string(b))); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestViews(t *testing.T) {
	s := serve(t, slacktest.Config{})
	c := open(t, s)
	c.next() // hello
	view := func(title string) string {
		return fmt.Sprintf(`{"type":"modal","title":{"type":"plain_text","text":%q},"private_metadata":"m","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"x"}}]}`, title)
	}
	trigger := func() string {
		id, _ := s.Slash(slacktest.Channel, slacktest.User, "/model", "")
		c.ack(c.next())
		return id
	}
	spent := trigger()
	out := call(t, s, "views.open", "trigger_id", spent, "view", view("Title"))
	shown, _ := out["view"].(map[string]any)
	id, _ := shown["id"].(string)
	hash, _ := shown["hash"].(string)
	late := trigger()
	s.Advance(4 * time.Second)
	for _, c := range []struct{ trigger, title, want string }{
		{spent, "Title", "exchanged_trigger_id"},
		{late, "Title", "expired_trigger_id"},
		{"none", "Title", "invalid_trigger_id"},
		{trigger(), strings.Repeat("x", 25), "invalid_arguments"},
	} {
		if got := code(call(t, s, "views.open", "trigger_id", c.trigger, "view", view(c.title))); got != c.want {
			t.Errorf("open: %q, want %q", got, c.want)
		}
	}
	for _, c := range []struct{ id, hash, want string }{{id, hash, ""}, {id, hash, "hash_conflict"}, {id, "", ""}, {"V0", "", "not_found"}} {
		if got := code(call(t, s, "views.update", "view_id", c.id, "hash", c.hash, "view", view("Other"))); got != c.want {
			t.Errorf("update: %q, want %q", got, c.want)
		}
	}
	if v := s.Views(); len(v) != 1 || v[0].Title != "Other" || v[0].Updates != 2 || v[0].User != slacktest.User || v[0].Private != "m" {
		t.Errorf("views: %+v", v)
	}
}

func TestAssistantThreads(t *testing.T) {
	s := serve(t, slacktest.Config{})
	root := s.Say(slacktest.DM, slacktest.User, "root")
	prompts := func(n int) string {
		b, _ := json.Marshal(make([]map[string]string, n))
		return strings.ReplaceAll(string(b), "null", `{"title":"t","message":"m"}`)
	}
	for _, c := range []struct{ method, key, value, want string }{
		{"setTitle", "title", "x", ""},
		{"setTitle", "title", "", "invalid_arguments"},
		{"setSuggestedPrompts", "prompts", prompts(4), ""},
		{"setSuggestedPrompts", "prompts", prompts(5), "invalid_arguments"},
		{"setSuggestedPrompts", "prompts", `[{"title":"t"}]`, "invalid_arguments"},
	} {
		if got := code(call(t, s, "assistant.threads."+c.method, "channel_id", slacktest.DM, "thread_ts", root, c.key, c.value)); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.method, c.value, got, c.want)
		}
	}
	call(t, s, "assistant.threads.setStatus", "channel_id", slacktest.DM, "thread_ts", root, "status", "busy")
	s.Advance(121 * time.Second)
	if got := s.Status(slacktest.DM, root); got != "" {
		t.Errorf("after two minutes: %q", got)
	}
}
