package discord_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

// longAgo is before everything in a test.
var longAgo = time.Now().Add(-time.Hour)

func withFiles(text string, files ...core.File) core.Post {
	p := answer(text, "n1")
	p.Files = files
	return p
}

func TestFilesGoOut(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	data := bytes.Repeat([]byte{0, 1, '\r', '\n', '-', '-'}, 1000)
	p := withFiles("here", core.File{Name: `../an "odd"` + "\nname.md", MIME: "text/markdown", Data: data}, core.File{Name: "..", Data: []byte("x")})
	p.Buttons = []core.Button{{Label: "Yes", Token: "t", Value: "y"}}
	for range 2 { // the nonce holds with files, too
		if _, err := h.Post(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	posts := h.fake.Posts("100")
	if len(posts) != 1 || len(posts[0].Files) != 2 || len(posts[0].Components) != 1 {
		t.Fatalf("posts %+v", posts)
	}
	if f := posts[0].Files; f[0].Name != ".._an _odd__name.md" || !bytes.Equal(f[0].Data, data) || f[0].MIME != "text/markdown" || f[1].Name != "file" {
		t.Errorf("files %q and %q", f[0].Name, f[1].Name)
	}
	// A post may consist of files alone, and an edit leaves them.
	p = withFiles("", core.File{Name: "a.txt", Data: []byte("a")})
	p.Nonce = "n2"
	posted, err := h.Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Edit(t.Context(), posted.ID, answer("with a text", "")); err != nil {
		t.Error(err)
	}
	if m := h.fake.Posts("100")[1]; m.Content != "with a text" || len(m.Files) != 1 {
		t.Errorf("after the edit %+v", m)
	}
}

func TestFilesThatDiscordDoesNotTake(t *testing.T) {
	t.Parallel()
	h := open(t)
	large := core.File{Name: "large.bin", Data: make([]byte, h.Limits(in("100").Thread).MaxFile+1)}
	refusal := func(p core.Post) *core.SendError {
		t.Helper()
		_, err := h.Post(t.Context(), p)
		return sendError(t, err)
	}
	if failed := refusal(withFiles("x", large)); !failed.Permanent || !strings.Contains(failed.Error(), "large.bin") {
		t.Errorf("a file that is too large: %v", failed)
	}
	if failed := refusal(withFiles("x", make([]core.File, 11)...)); !failed.Permanent {
		t.Errorf("too many files: %v", failed)
	}
	if n := len(h.sent("100")); n != 0 {
		t.Errorf("%d requests for what cannot work", n)
	}
	h.fake.Inject(discordtest.Fault{Method: "POST", Path: "/channels/100/messages", Status: 413, Code: 40005, Message: "Request entity too large"})
	if failed := refusal(withFiles("x", core.File{Name: "a"})); !failed.Permanent {
		t.Errorf("a file that Discord finds too large: %v", failed)
	}
	h.fake.Boost("900", 2)
	h.await("larger limit", func() bool { return h.Limits(in("100").Thread).MaxFile > len(large.Data) })
	h.fake.Boost("900", 0)
	h.await("usual limit", func() bool { return h.Limits(in("100").Thread).MaxFile < len(large.Data) })
}

func TestLostFilesAreFound(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := withFiles("the same text", core.File{Name: "a.txt", Data: []byte("a")})
	h.post(in("100"), core.PostAnswer, p.Text, "other", false)
	if _, found, err := h.Find(t.Context(), p, longAgo); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	posted, err := h.Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	h.fake.ForgetNonces()
	if got, found, err := h.Find(t.Context(), p, longAgo); !found || got.ID != posted.ID || err != nil {
		t.Errorf("found %v, %v, %v; posted %v", got, found, err, posted)
	}
}

func TestFilesComeIn(t *testing.T) {
	t.Parallel()
	h := open(t)
	dm := h.fake.Direct("700")
	id := h.fake.Say(dm, "700", "look", discordtest.WithFile("notes.txt", "text/plain", []byte("some notes")))
	m := h.heard(1)
	fetch := func() (core.Attachment, error) {
		return h.Fetch(t.Context(), m.Thread(), m.Attachments[0], 1000)
	}
	f, err := fetch()
	if err != nil || string(f.Data) != "some notes" || f.Name != "notes.txt" || f.Note != "" || f.ID == "" {
		t.Errorf("fetched %+v, %v", f, err)
	}
	if f, err := h.Fetch(t.Context(), m.Thread(), m.Attachments[0], 4); err != nil || f.Note == "" || len(f.Data) != 0 {
		t.Errorf("with a limit: %+v, %v", f, err)
	}
	// An address that has run out is exchanged. The message was read again, as
	// after a restart, from where it was stored meanwhile.
	h.fake.Expire(dm, id)
	m.Attachments[0].URL = h.fake.Messages(dm)[0].Files[0].URL
	if f, err := fetch(); err != nil || string(f.Data) != "some notes" {
		t.Errorf("after a day: %+v, %v", f, err)
	}
	h.fake.Inject(discordtest.Fault{Method: "POST", Path: "/attachments/refresh-urls", Status: 500})
	if f, err := fetch(); f.Note == "" || len(f.Data) != 0 {
		t.Errorf("without a new address: %+v, %v", f, err)
	}
	m.Attachments[0].URL = "https://example.org/a.png"
	if f, _ := fetch(); f.Note == "" {
		t.Errorf("from elsewhere: %+v", f)
	}
}

func TestVoiceMessages(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.fake.Say(h.fake.Direct("700"), "700", "", func(m *discordtest.Message) { m.Flags = 1 << 13 },
		discordtest.With("attachments", []any{map[string]any{"id": "1", "filename": "voice-message.ogg", "size": 9}}))
	if f := h.heard(1).Attachments; len(f) != 1 || f[0].MIME != "audio/ogg" {
		t.Errorf("files %+v", f)
	}
}

func TestButtons(t *testing.T) {
	t.Parallel()
	h := open(t)
	p := answer("Somebody wants in.", "n1")
	for i := range 7 {
		p.Buttons = append(p.Buttons, core.Button{Label: strings.Repeat("x", 100), Token: "same", Value: "same", Danger: i == 0})
	}
	posted, err := h.Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	rows := h.fake.Posts("100")[0].Components
	if len(rows) != 2 || len(rows[0].Components) != 5 || rows[0].Components[0].Style != 4 || rows[1].Components[1].Style != 2 {
		t.Fatalf("rows %+v", rows)
	}
	press := func(user string) discordtest.Answer {
		return h.answered(h.fake.Interact(discordtest.Interaction{Type: discordtest.ComponentInteraction, Channel: "100", User: user,
			CustomID: rows[1].Components[1].CustomID, Message: posted.ID}))
	}
	h.guests.press = func(p core.Press) (core.Reply, error) {
		if p.Author.ID == "701" {
			return core.Reply{}, errors.New("a secret")
		}
		return core.Reply{Text: "Approved.", Buttons: []core.Button{{Label: "Undo", Token: "t2"}}}, nil
	}
	if a := press("700"); a.Callback != 6 || a.Content != "Approved." || len(a.Components) != 1 {
		t.Errorf("answer %+v", a)
	}
	if m := h.fake.Posts("100")[0]; m.Content != "Approved." || m.Components[0].Components[0].Label != "Undo" {
		t.Errorf("the message shows %+v", m)
	}
	if p := h.pressed()[0]; p.Token != "same" || p.Value != "same" || p.Author.ID != "700" || p.Target.Thread.Channel != "100" {
		t.Errorf("press %+v", p)
	}
	// An edit without buttons takes them away.
	if err := h.Edit(t.Context(), posted.ID, answer("It is over.", "")); err != nil {
		t.Error(err)
	}
	if m := h.fake.Posts("100")[0]; len(m.Components) != 0 {
		t.Errorf("the message shows %+v", m)
	}
}

func TestAsides(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.guests.press = func(p core.Press) (core.Reply, error) {
		if p.Value == "broken" {
			return core.Reply{}, errors.New("a secret")
		}
		return core.Reply{Text: "This menu is somebody else's.", Aside: true}, nil
	}
	p := answer("pick one", "n1")
	p.Buttons = []core.Button{{Label: "a", Token: "t", Value: "a"}, {Label: "b", Token: "t", Value: "broken"}}
	posted, err := h.Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"somebody else's", "did not work"} {
		id := h.fake.Interact(discordtest.Interaction{Type: discordtest.ComponentInteraction, Channel: "100", User: "701",
			CustomID: h.fake.Posts("100")[0].Components[0].Components[i].CustomID, Message: posted.ID})
		h.await("aside", func() bool { return len(h.fake.Answer(id).FollowUps) == 1 })
		a := h.fake.Answer(id)
		if f := a.FollowUps[0]; !f.Ephemeral || !strings.Contains(f.Content, want) || a.Edits != 0 {
			t.Errorf("answer %+v", a)
		}
	}
	if m := h.fake.Posts("100"); len(m) != 1 || m[0].Content != "pick one" || len(m[0].Components) != 1 {
		t.Errorf("the channel shows %+v", m)
	}
}
