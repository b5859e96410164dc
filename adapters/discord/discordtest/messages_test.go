package discordtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/adapters/discord/discordtest"
)

func repeat[T any](n int, item func(int) T) (list []T) {
	for i := range n {
		list = append(list, item(i))
	}
	return list
}

func row(components ...object) object { return object{"type": 1, "components": components} }

func button(id, label string) object {
	return object{"type": 2, "style": 1, "custom_id": id, "label": label}
}

func menu(options ...object) object {
	return object{"type": 3, "custom_id": "m", "options": options}
}

func option(value string) object { return object{"label": "x", "value": value} }

// Components are held to the platform's limits, and the error leads to the
// field that is wrong.
func TestComponentsThatAreWrong(t *testing.T) {
	c := start(t)
	for want, rows := range map[string][]object{
		"":                                  {row(button("a", "x"), button("b", "x")), row(menu(option("1"), option("2")))},
		"components":                        repeat(6, func(i int) object { return row(button(fmt.Sprint(i), "x")) }),
		"components.0.type":                 {button("a", "x")},
		"components.0.components":           {row(repeat(6, func(i int) object { return button(fmt.Sprint(i), "x") })...)},
		"components.1.components.0":         {row(button("a", "x")), row(menu(option("1")), button("b", "x"))},
		"components.0.components.1":         {row(button("a", "x"), menu(option("1")))},
		"components.0.components.0.type":    {row(object{"type": 77})},
		"components.0.components.0.style":   {row(object{"type": 2, "custom_id": "a", "label": "x"})},
		"components.0.components.0.label":   {row(button("a", ""))},
		"components.0.components.2.label":   {row(button("a", "x"), button("b", "x"), button("c", strings.Repeat("x", 81)))},
		"components.1.components.0.label":   {row(button("a", "x")), row(object{"type": 2, "style": 5, "url": "https://example.org"})},
		"components.0.components.0.url":     {row(object{"type": 2, "style": 5, "label": "x"})},
		"components.0.components.0.options": {row(menu())},
		"components.1.components.0.options": {row(button("a", "x")), row(menu(repeat(26, func(i int) object { return option(fmt.Sprint(i)) })...))},
		"components.2.components.0.options": {row(button("a", "x")), row(button("b", "x")),
			row(menu(object{"label": "x", "value": "1", "default": true}, object{"label": "x", "value": "2", "default": true}))},
		"components.0.components.0.custom_id":       {row(button(strings.Repeat("x", 101), "x"))},
		"components.0.components.1.custom_id":       {row(button("a", "x"), button("a", "x"))},
		"components.0.components.0.placeholder":     {row(object{"type": 3, "custom_id": "m", "placeholder": strings.Repeat("x", 151), "options": []object{option("1")}})},
		"components.0.components.0.options.0.label": {row(menu(object{"value": "1"}))},
		"components.0.components.0.options.0.value": {row(menu(object{"label": "x", "value": strings.Repeat("x", 101)}))},
		"components.0.components.0.options.1.value": {row(menu(option("1"), option("1")))},
	} {
		status, body := c.raw("POST", "/channels/100/messages", object{"content": "x", "components": rows})
		var got struct {
			Code   int
			Errors map[string]any
		}
		_ = json.Unmarshal(body, &got)
		if want == "" {
			if status != 200 {
				t.Errorf("%+v: %d %s", rows, status, body)
			}
			continue
		}
		if status != 400 || got.Code != 50035 || path(got.Errors) != want {
			t.Errorf("%s: %d %s", want, status, body)
		}
	}
}

// path is the way to the first error of a tree.
func path(tree map[string]any) string {
	for name, below := range tree {
		if name == "_errors" {
			return ""
		}
		rest := path(below.(map[string]any))
		return strings.TrimSuffix(name+"."+rest, ".")
	}
	return ""
}

// raw is do with the whole body of the answer.
func (c client) raw(method, path string, body any) (int, []byte) {
	c.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		c.Fatal(err)
	}
	return c.send(method, path, "application/json", raw)
}

func (c client) send(method, path, kind string, raw []byte) (int, []byte) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.URL+"/v10"+path, bytes.NewReader(raw))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Authorization", "Bot "+c.token)
	r.Header.Set("Content-Type", kind)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		c.Fatal(err)
	}
	return response.StatusCode, answer
}

// upload posts files in the platform's form.
func (c client) upload(path string, body object, files map[string]string) (int, []byte) {
	c.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	raw, err := json.Marshal(body)
	if err != nil {
		c.Fatal(err)
	}
	_ = form.WriteField("payload_json", string(raw))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		part, _ := form.CreateFormFile(name, name+".txt")
		_, _ = io.WriteString(part, files[name])
	}
	_ = form.Close()
	return c.send("POST", path, form.FormDataContentType(), b.Bytes())
}

func TestFiles(t *testing.T) {
	c := start(t)
	status, body := c.upload("/channels/100/messages", object{"content": "two", "attachments": []object{{"id": 0, "filename": "a.md"}, {"id": 1, "filename": "b.md"}}},
		map[string]string{"files[0]": "first", "files[1]": "second"})
	var m struct {
		ID          string
		Attachments []struct {
			ID, Filename, URL string
			Size              int
		}
	}
	if err := json.Unmarshal(body, &m); err != nil || status != 200 || len(m.Attachments) != 2 {
		t.Fatalf("%d %s", status, body)
	}
	for _, f := range m.Attachments {
		if want := map[string]string{"a.md": "first", "b.md": "second"}[f.Filename]; want == "" || f.Size != len(want) || get(t, f.URL) != want {
			t.Errorf("file %+v holds %q", f, get(t, f.URL))
		}
	}
	// One file stays when the list names it alone.
	c.do("PATCH", "/channels/100/messages/"+m.ID, object{"attachments": []object{{"id": m.Attachments[1].ID}}})
	if left := c.Posts("100")[0].Files; len(left) != 1 || left[0].ID != m.Attachments[1].ID {
		t.Errorf("files left: %+v", left)
	}
	c.Expire("100", m.ID)
	old := c.Posts("100")[0].Files[0].URL
	if got := get(t, old); strings.Contains(got, "second") {
		t.Error("an address holds for ever")
	}
	_, body = c.raw("POST", "/attachments/refresh-urls", object{"attachment_urls": []string{old}})
	var fresh struct {
		URLs []struct{ Original, Refreshed string } `json:"refreshed_urls"`
	}
	if err := json.Unmarshal(body, &fresh); err != nil || len(fresh.URLs) != 1 || fresh.URLs[0].Original != old || get(t, fresh.URLs[0].Refreshed) != "second" {
		t.Errorf("new addresses: %s", body)
	}
	if got := get(t, strings.Replace(fresh.URLs[0].Refreshed, "hm=", "hm=0", 1)); strings.Contains(got, "second") {
		t.Error("the signature of an address does not matter")
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestRefusalsOfMessages(t *testing.T) {
	c := start(t)
	c.AddUser(discordtest.User{ID: "703", Name: "shy", NoDirect: true})
	c.AddChannel(discordtest.Channel{ID: "140", Type: discordtest.Forum, NeedsTag: true})
	c.AddChannel(discordtest.Channel{ID: "500", Parent: "100", Type: discordtest.PublicThread, Archived: true})
	c.AddChannel(discordtest.Channel{ID: "150", NoFiles: true})
	inside := c.do("POST", "/channels/100/messages", object{"content": "x"}).ID
	large := strings.Repeat("x", 10<<20+1)
	many := map[string]string{}
	for i := range 11 {
		many[fmt.Sprintf("files[%d]", i)] = "x"
	}
	message := object{"content": "x"}
	for _, x := range []struct {
		name, method, path string
		body               object
		files              map[string]string
		status, code       int
	}{
		{"white space", "POST", "/channels/100/messages", object{"content": " \n "}, nil, 400, 50006},
		{"eleven embeds", "POST", "/channels/100/messages", object{"embeds": repeat(11, func(int) object { return object{"title": "x"} })}, nil, 400, 50035},
		{"a long embed", "POST", "/channels/100/messages", object{"embeds": []object{{"description": strings.Repeat("x", 4097)}}}, nil, 400, 50035},
		{"too much in embeds", "POST", "/channels/100/messages", object{"embeds": repeat(2, func(int) object { return object{"description": strings.Repeat("x", 3001)} })}, nil, 400, 50035},
		{"an embed", "POST", "/channels/100/messages", object{"embeds": []object{{"title": "x", "fields": []object{{"name": "a", "value": "b"}}}}}, nil, 200, 0},
		{"old fields beside new components", "POST", "/channels/100/messages", object{"content": "x", "flags": 1 << 15}, nil, 400, 50035},
		{"an edit to nothing", "PATCH", "/channels/100/messages/" + inside, object{"content": ""}, nil, 400, 50006},
		{"eleven files", "POST", "/channels/100/messages", message, many, 400, 50035},
		{"a large file", "POST", "/channels/100/messages", message, map[string]string{"files[0]": large}, 413, 40005},
		{"a file that is not there", "POST", "/channels/100/messages", object{"content": "x", "attachments": []object{{"id": 3}}}, map[string]string{"files[0]": "x"}, 400, 50035},
		{"files are not allowed", "POST", "/channels/150/messages", message, map[string]string{"files[0]": "x"}, 403, 50013},
		{"somebody who takes no messages", "POST", "/channels/6703/messages", message, nil, 403, 50007},
		{"nobody to write to", "POST", "/users/@me/channels", object{"recipient_id": "1"}, nil, 400, 50033},
		{"somebody to write to", "POST", "/users/@me/channels", object{"recipient_id": "701"}, nil, 200, 0},
		{"a post without a message", "POST", "/channels/140/threads", object{"name": "x"}, nil, 400, 50035},
		{"a post without a tag", "POST", "/channels/140/threads", object{"name": "x", "message": message}, nil, 400, 40067},
		{"a post", "POST", "/channels/140/threads", object{"name": "x", "message": message, "applied_tags": []string{"1"}}, nil, 201, 0},
		{"a long name", "POST", "/channels/100/threads", object{"name": strings.Repeat("x", 101), "type": 11}, nil, 400, 50035},
		{"an odd duration", "POST", "/channels/100/threads", object{"name": "x", "type": 11, "auto_archive_duration": 61}, nil, 400, 50035},
		{"a thread without a message", "POST", "/channels/100/threads", object{"name": "x", "type": 12}, nil, 201, 0},
		{"joining what sleeps", "PUT", "/channels/500/thread-members/@me", nil, nil, 400, 50083},
		{"joining a channel", "PUT", "/channels/100/thread-members/@me", nil, nil, 400, 50024},
		{"a reaction", "PUT", "/channels/100/messages/" + inside + "/reactions/%F0%9F%91%80/@me", nil, nil, 204, 0},
		{"a lock", "PATCH", "/channels/500", object{"locked": true}, nil, 403, 50013},
		{"a user", "GET", "/users/700", nil, nil, 200, 0},
		{"nobody", "GET", "/users/1", nil, nil, 404, 10013},
		{"a guild", "GET", "/guilds/900", nil, nil, 200, 0},
		{"no guild", "GET", "/guilds/1", nil, nil, 404, 10004},
		{"its channels", "GET", "/guilds/900/channels", nil, nil, 200, 0},
		{"threads that sleep", "GET", "/channels/100/threads/archived/public", nil, nil, 200, 0},
		{"deletion of a channel", "DELETE", "/channels/150", nil, nil, 403, 50013},
		{"deletion of a thread", "DELETE", "/channels/500", nil, nil, 200, 0},
		{"deletion of it again", "DELETE", "/channels/500", nil, nil, 404, 10003},
		{"deletion of one message in bulk", "POST", "/channels/100/messages/bulk-delete", object{"messages": []string{"1"}}, nil, 400, 50016},
		{"who reacted", "GET", "/channels/100/messages/" + inside + "/reactions/%F0%9F%91%80", nil, nil, 200, 0},
		{"what is around a message", "GET", "/channels/100/messages?around=" + inside, nil, nil, 200, 0},
		{"a reaction to nothing", "PUT", "/channels/100/messages/1/reactions/%F0%9F%91%80/@me", nil, nil, 404, 10008},
	} {
		c.Direct("703")
		var status int
		var body []byte
		if x.files != nil {
			status, body = c.upload(x.path, x.body, x.files)
		} else {
			status, body = c.raw(x.method, x.path, x.body)
		}
		var got struct{ Code int }
		_ = json.Unmarshal(body, &got)
		if status != x.status || got.Code != x.code {
			t.Errorf("%s: %d %.300s, want %d with %d", x.name, status, body, x.status, x.code)
		}
	}
	if r := c.Posts("100")[0].Reactions; len(r) != 1 {
		t.Errorf("reactions %q", r)
	}
}

func TestAServerThatWantsMentionsOff(t *testing.T) {
	s, err := discordtest.Start(discordtest.Options{Inert: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c := client{t, s, discordtest.DefaultToken}
	for status, mentions := range map[int]any{200: object{"parse": []string{}}, 400: object{"parse": []string{"users"}}} {
		if a := c.do("POST", "/channels/100/messages", object{"content": "x", "allowed_mentions": mentions}); a.status != status {
			t.Errorf("with %v: %d", mentions, a.status)
		}
	}
	if a := c.do("POST", "/channels/100/messages", object{"content": "x"}); a.status != 400 {
		t.Errorf("without a word about mentions: %d", a.status)
	}
}

func TestResponsesThatComeTooLate(t *testing.T) {
	s, err := discordtest.Start(discordtest.Options{RespondWithin: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c := client{t, s, discordtest.DefaultToken}
	id := c.Interact(discordtest.Interaction{Channel: "100", User: "700", Command: "ask"})
	if a := c.do("POST", "/interactions/"+id+"/itok-"+id+"/callback", object{"type": 5}); a.Code != 10062 {
		t.Errorf("answer %+v", a)
	}
}

// What answers an interaction is a message of the channel, unless its user
// alone sees it.
func TestAnswersAreMessages(t *testing.T) {
	c := start(t)
	begin := func(kind int, more discordtest.Interaction) (id, hook string, respond func(object) answer) {
		more.Type, more.Channel, more.User = kind, "100", "700"
		id = c.Interact(more)
		return id, "/webhooks/" + discordtest.ApplicationID + "/itok-" + id, func(body object) answer {
			return c.do("POST", "/interactions/"+id+"/itok-"+id+"/callback", body)
		}
	}
	id, hook, respond := begin(discordtest.CommandInteraction, discordtest.Interaction{Command: "ask"})
	respond(object{"type": 5})
	if m := c.Messages("100"); len(m) != 1 || m[0].Flags&(1<<7) == 0 {
		t.Errorf("while the bot thinks: %+v", m)
	}
	c.do("PATCH", hook+"/messages/@original", object{"content": "the answer", "components": []object{row(button("b", "x"))}})
	shown := c.Messages("100")[0]
	if shown.Content != "the answer" || shown.Flags != 0 || shown.Type != 20 {
		t.Errorf("the channel shows %+v", shown)
	}
	more := c.do("POST", hook, object{"content": "and more", "flags": 64})
	if a := c.do("PATCH", hook+"/messages/"+more.ID, object{"content": "and even more"}); a.status != 200 {
		t.Errorf("edit of a follow-up: %+v", a)
	}
	if a := c.Answer(id); a.Ephemeral || len(a.FollowUps) != 1 || a.FollowUps[0].Content != "and even more" || len(c.Messages("100")) != 1 {
		t.Errorf("answer %+v", a)
	}
	press, _, respond := begin(discordtest.ComponentInteraction, discordtest.Interaction{CustomID: "b", Message: shown.ID})
	if a := respond(object{"type": 7, "data": object{"content": "pressed", "components": []object{}}}); a.status != 204 {
		t.Errorf("update: %+v", a)
	}
	if m := c.Messages("100")[0]; m.Content != "pressed" || len(m.Components) != 0 || c.Answer(press).Content != "pressed" {
		t.Errorf("after the update %+v", m)
	}
	c.Spend(id)
	if a := c.do("PATCH", hook+"/messages/@original", object{"content": "too late"}); a.status != 401 || a.Code != 50027 {
		t.Errorf("with a token that ran out: %+v", a)
	}
	late, _, respond := begin(discordtest.CommandInteraction, discordtest.Interaction{Command: "ask"})
	c.Spend(late)
	if a := respond(object{"type": 5}); a.Code != 10062 {
		t.Errorf("too late: %+v", a)
	}
	if left := c.Unanswered(); len(left) != 1 || left[0].ID != late {
		t.Errorf("without an answer: %+v", left)
	}
	_, _, respond = begin(discordtest.ModalInteraction, discordtest.Interaction{CustomID: "form"})
	if a := respond(object{"type": 9, "data": object{"custom_id": "x", "title": "x", "components": []object{{}}}}); a.Code != 50035 {
		t.Errorf("a form in answer to a form: %+v", a)
	}
	_, _, respond = begin(discordtest.CommandInteraction, discordtest.Interaction{Command: "ask"})
	if a := respond(object{"type": 9, "data": object{"custom_id": "x", "title": strings.Repeat("x", 46), "components": []object{{}}}}); a.Code != 50035 {
		t.Errorf("a form with a long title: %+v", a)
	}
}
