package slack

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

var (
	pngData = append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), make([]byte, 64)...)
	pdfData = []byte("%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n")
	m4aData = append([]byte("\x00\x00\x00\x20ftypM4A \x00\x00\x00\x00M4A mp42isom"), make([]byte, 64)...)
)

// shared is the attachment of a message with one hosted file.
func (r *rig) shared(f slacktest.HostedFile) core.Attachment {
	r.Helper()
	r.slack.Host(f)
	n := len(r.bot.heard())
	r.slack.Say(slacktest.DM, slacktest.User, "", r.slack.Attach(f.ID))
	m := r.bot.next(r.T, n)
	if len(m.Attachments) != 1 || m.Attachments[0].ID != f.ID || m.Text != "" {
		r.Fatalf("message is %+v", m)
	}
	return m.Attachments[0]
}

// fetch reads an attachment.
func (r *rig) fetch(at core.Attachment, limit int64) (core.Attachment, error) {
	return r.a.Fetch(r.Context(), place(slacktest.DM, "", core.KindDirect), at, limit)
}

func TestFilesAreRead(t *testing.T) {
	r := plainly(t)
	at := r.shared(slacktest.HostedFile{ID: "F1", Name: "a.png", MIME: "image/png", Data: pngData})
	if at.Name != "a.png" || at.MIME != "image/png" || at.Size != int64(len(pngData)) || at.Note != "" || len(at.Data) > 0 {
		t.Errorf("attachment is %+v", at)
	}
	got, err := r.fetch(at, 1<<20)
	if err != nil || !bytes.Equal(got.Data, pngData) || got.Note != "" || got.MIME != "image/png" {
		t.Errorf("fetched %q %q, %v", got.MIME, got.Note, err)
	}
	if got, err := r.fetch(at, 10); err != nil || got.Note == "" || len(got.Data) > 0 {
		t.Errorf("too large: %+v, %v", got, err)
	}
}

func TestCasesFiles(t *testing.T) {
	t.Run("p126", func(t *testing.T) {
		var stolen []string
		other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { stolen = append(stolen, q.Header.Get("Authorization")) }))
		t.Cleanup(other.Close)
		r := plainly(t)
		r.slack.Host(slacktest.HostedFile{ID: "F2", Name: "real.pdf", MIME: "application/pdf", Data: pdfData})
		here := r.shared(slacktest.HostedFile{ID: "F1", Name: "a.pdf", MIME: "application/pdf", Redirect: r.slack.URL() + "/files-pri/F2/real.pdf"})
		got, err := r.fetch(here, 1<<20)
		if err != nil || !bytes.Equal(got.Data, pdfData) {
			t.Errorf("fetched %+v, %v", got, err)
		}
		for _, c := range r.slack.Calls("file") {
			if c.Args["signed"] != "yes" {
				t.Errorf("asked without the token: %+v", c)
			}
		}
		elsewhere := r.shared(slacktest.HostedFile{ID: "F3", Name: "b.pdf", MIME: "application/pdf", Redirect: other.URL + "/x"})
		if got, err := r.fetch(elsewhere, 1<<20); err == nil && got.Note == "" || len(got.Data) > 0 {
			t.Errorf("fetched %+v, %v", got, err)
		}
		loop := r.shared(slacktest.HostedFile{ID: "F4", Name: "c.pdf", MIME: "application/pdf", Redirect: r.slack.URL() + "/files-pri/F4/c.pdf"})
		if got, err := r.fetch(loop, 1<<20); err == nil && got.Note == "" {
			t.Errorf("fetched %+v, %v", got, err)
		}
		if len(stolen) > 0 {
			t.Errorf("another host was asked, with %q", stolen)
		}
		lying := r.shared(slacktest.HostedFile{ID: "F5", Name: "d.pdf", MIME: "application/pdf", Data: pngData})
		if got, err := r.fetch(lying, 1<<20); err != nil || got.MIME == "application/pdf" && got.Note == "" {
			t.Errorf("a picture is taken for a document: %+v, %v", got.MIME, err)
		}
	})
	t.Run("p127", func(t *testing.T) {
		r := plainly(t)
		at := r.shared(slacktest.HostedFile{ID: "F1", Name: "a.png", MIME: "image/png", Data: pngData, Access: "check_file_info"})
		if at.URL != "" || at.Note != "" {
			t.Errorf("attachment is %+v", at)
		}
		got, err := r.fetch(at, 1<<20)
		if err != nil || !bytes.Equal(got.Data, pngData) || got.Name != "a.png" {
			t.Errorf("fetched %+v, %v", got, err)
		}
		for code, note := range map[string]string{"file_not_found": "deleted", "access_denied": "may not read", "missing_scope": "may not read"} {
			r.slack.Fail("files.info", slacktest.Fault{Error: code})
			if got, _ := r.fetch(at, 1<<20); !strings.Contains(got.Note, note) {
				t.Errorf("%s: %+v", code, got)
			}
		}
		for mode, note := range map[string]string{"tombstone": "deleted", "hidden_by_limit": "plan", "external": "outside"} {
			at := r.shared(slacktest.HostedFile{ID: "F" + strings.ToUpper(mode[:1]), Name: "x", Mode: mode})
			if got, err := r.fetch(at, 1<<20); err != nil || !strings.Contains(got.Note, note) || len(got.Data) > 0 {
				t.Errorf("%s: %+v, %v", mode, got, err)
			}
		}
	})
	t.Run("p129", func(t *testing.T) {
		r := plainly(t)
		r.slack.Host(slacktest.HostedFile{ID: "F1", Name: "a.png", MIME: "image/png", Data: pngData})
		r.slack.Say(slacktest.Channel, slacktest.User, atBot+"analyse this", r.slack.Attach("F1"))
		if m := r.bot.next(t, 0); len(m.Attachments) != 1 || m.Text != "analyse this" {
			t.Errorf("message is %+v", m)
		}
		r.slack.Say(slacktest.DM, slacktest.User, "", r.slack.Attach("F1"))
		if m := r.bot.next(t, 1); len(m.Attachments) != 1 || !m.Addressed {
			t.Errorf("message is %+v", m)
		}
		r.slack.Say(slacktest.Channel, slacktest.User, "", r.slack.Attach("F1"))
		r.settled()
		if n := len(r.bot.heard()); n != 2 {
			t.Errorf("%d messages", n)
		}
	})
	t.Run("p190", func(t *testing.T) {
		r := plainly(t)
		page := r.shared(slacktest.HostedFile{ID: "F1", Name: "v.m4a", MIME: "audio/mp4", Served: "application/octet-stream", Data: []byte("<!doctype html><html>Sign in</html>")})
		if got, err := r.fetch(page, 1<<20); err != nil || got.Note == "" || len(got.Data) > 0 {
			t.Errorf("a page is taken for a voice note: %+v, %v", got, err)
		}
		voice := r.shared(slacktest.HostedFile{ID: "F2", Name: "v.m4a", MIME: "audio/mp4", Served: "application/octet-stream", Data: m4aData})
		if got, err := r.fetch(voice, 1<<20); err != nil || got.Note != "" || !bytes.Equal(got.Data, m4aData) {
			t.Errorf("fetched %+v, %v", got, err)
		}
	})
}

func TestFilesWithoutTheScope(t *testing.T) {
	r := start(t, slacktest.Config{Scopes: []string{"chat:write", "users:read"}}, nil)
	at := r.shared(slacktest.HostedFile{ID: "F1", Name: "a.png", MIME: "image/png", Data: pngData})
	if got, err := r.fetch(at, 1<<20); err != nil || got.Note == "" || len(got.Data) > 0 {
		t.Errorf("the sign-in page is taken: %+v, %v", got, err)
	}
}

func TestOnlySlacksHostsAreAsked(t *testing.T) {
	a := fuzzed(t, quiet{})
	t.Cleanup(a.names.stop)
	for _, address := range []string{"https://files.slack.com.evil.invalid/x", "https://evil.invalid/x", "http://127.0.0.1:1/x", "file:///etc/passwd", "https://files.slack.com@evil.invalid/x", ""} {
		got, err := a.Fetch(t.Context(), core.Thread{}, core.Attachment{Name: "a", URL: address, ID: "F1"}, 100)
		if err == nil && got.Note == "" || len(got.Data) > 0 {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
		if err != nil && address != "" {
			t.Errorf("%s was asked: %v", address, err)
		}
	}
}
