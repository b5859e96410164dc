package slack

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// withFiles is an answer with a file for each name.
func withFiles(t core.Target, names ...string) core.Post {
	p := post(t, "see the file")
	for _, name := range names {
		p.Files = append(p.Files, core.File{Name: name, MIME: "text/markdown", Data: []byte("what is in " + name)})
	}
	return p
}

// attached are the names of the bot's files in the thread, each checked for what
// is in it.
func (r *rig) attached(t core.Target) (names []string) {
	r.Helper()
	for _, m := range r.slack.Posts(t.Thread.Channel, t.Thread.Root) {
		for _, f := range m.Files {
			name, id := f["name"].(string), f["id"].(string)
			if got := string(r.slack.Uploaded(id)); got != "what is in "+name {
				r.Errorf("%s holds %q", name, got)
			}
			names = append(names, name)
		}
	}
	return names
}

func TestFilesFollowTheirText(t *testing.T) {
	r, target := asked(t)
	r.working(target, true)
	posted, err := r.a.Post(t.Context(), withFiles(target, "answer.md", "b.txt"))
	if err != nil || !posted.Linked {
		t.Fatalf("posted %+v, %v", posted, err)
	}
	own := r.slack.Posts(slacktest.Channel, target.Thread.Root)
	if len(own) != 3 || own[0].TS != posted.ID || own[0].Text != "see the file" {
		t.Errorf("posts: %+v", own)
	}
	if got := strings.Join(r.attached(target), " "); got != "answer.md b.txt" {
		t.Errorf("files: %s", got)
	}
	r.working(target, true) // Slack took the status away
	if r.status(target) == "" {
		t.Error("no status after the files")
	}
}

// TestFilesThatFail: whatever step goes wrong, the text stands once, and the
// thread is told which file is missing.
func TestFilesThatFail(t *testing.T) {
	const first, second, third = "files.getUploadURLExternal", "upload", "files.completeUploadExternal"
	for _, c := range []struct {
		step   string
		fault  slacktest.Fault
		remark string // empty where the file comes all the same
	}{
		{first, slacktest.Fault{Error: "missing_scope", Fields: map[string]any{"needed": "files:write"}}, "files:write"},
		{first, slacktest.Fault{Error: "file_uploads_disabled"}, "an admin can allow them"},
		{first, slacktest.Fault{Status: 503}, "could not be attached"},
		{first, slacktest.Fault{RetryAfter: 1}, ""},
		{first, slacktest.Fault{Error: "evil", Perform: true}, "could not be attached"},
		{second, slacktest.Fault{Status: 500}, "could not be attached"},
		{second, slacktest.Fault{Drop: true}, "could not be attached"},
		{second, slacktest.Fault{RetryAfter: 1}, ""},
		{third, slacktest.Fault{Error: "not_in_channel"}, "/invite"},
		{third, slacktest.Fault{Error: "something_new"}, "could not be attached"},
		{third, slacktest.Fault{Status: 502}, "may not have been attached"},
		{third, slacktest.Fault{RetryAfter: 1}, ""},
	} {
		t.Run(c.step+" "+c.fault.Error, func(t *testing.T) {
			r, target := asked(t)
			r.slack.Fail(c.step, c.fault)
			if _, err := r.a.Post(t.Context(), withFiles(target, "a`b.md")); err != nil {
				t.Fatal(err)
			}
			texts := r.shows(target)
			if c.remark == "" {
				if got := r.attached(target); len(got) != 1 || len(texts) != 2 {
					t.Errorf("files %v beside %q", got, texts)
				}
				return
			}
			if len(texts) != 2 || texts[0] != "see the file" || !strings.Contains(texts[1], "`a'b.md`") || !strings.Contains(texts[1], c.remark) {
				t.Errorf("the thread shows %q", texts)
			}
		})
	}
}

func TestFilesThatCannotBe(t *testing.T) {
	r, target := asked(t)
	p := post(target, "see the file")
	p.Files = []core.File{{Name: "empty.md"}, {Name: "large.md", Data: make([]byte, r.a.Limits(target.Thread).MaxFile+1)}}
	if _, err := r.a.Post(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if texts := r.shows(target); len(texts) != 3 || !strings.Contains(texts[1], "it is empty") || !strings.Contains(texts[2], "it is too large") {
		t.Errorf("the thread shows %q", texts)
	}
	if n := len(r.slack.Calls("files.getUploadURLExternal")); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// TestFileGoesToSlackOnly: the token goes with the file, so that an address that
// is not Slack's gets neither.
func TestFileGoesToSlackOnly(t *testing.T) {
	for _, host := range []string{"http://files.evil.invalid", "https://slack.com.evil.invalid", "https://evilslack.com", "http://slack.com"} {
		r, target := asked(t)
		var outside []string
		api := strings.TrimSuffix(r.slack.APIURL(), "/api/")
		r.a.http.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			if !strings.HasPrefix(req.URL.String(), api) {
				outside = append(outside, req.URL.String())
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil || !strings.HasSuffix(req.URL.Path, "/files.getUploadURLExternal") {
				return resp, err
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			resp.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(body, []byte(api), []byte(host))))
			return resp, err
		})
		if _, err := r.a.Post(t.Context(), withFiles(target, "a.md")); err != nil {
			t.Fatal(err)
		}
		if len(outside) > 0 || len(r.attached(target)) > 0 || len(r.shows(target)) != 2 {
			t.Errorf("%s: requests to %v; the thread shows %q", host, outside, r.shows(target))
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestFilesOfAKilledProcess: a text is found by its nonce, and what did not
// follow it is sent, once.
func TestFilesOfAKilledProcess(t *testing.T) {
	for name, target := range map[string]func(*rig, core.Target) core.Target{
		"thread":  func(_ *rig, t core.Target) core.Target { return t },
		"channel": func(_ *rig, t core.Target) core.Target { t.Thread.Root = ""; return t },
	} {
		t.Run(name, func(t *testing.T) {
			r, asked := asked(t)
			began, where := time.Now(), target(r, asked)
			// The same name has stood there before.
			other := withFiles(where, "answer.md")
			other.Nonce = "turn0-0"
			if _, err := r.a.Post(t.Context(), other); err != nil {
				t.Fatal(err)
			}
			p := withFiles(where, "answer.md", "b.txt")
			r.slack.Fail("chat.postMessage", slacktest.Fault{Drop: true, Perform: true})
			if _, err := r.a.Post(t.Context(), p); !sendErr(t, err).Unknown {
				t.Fatal(err)
			}
			for range 2 {
				if posted, ok, err := r.a.Find(t.Context(), p, began); !ok || err != nil || posted.ID == "" {
					t.Fatalf("found %+v, %v, %v", posted, ok, err)
				}
				if got := strings.Join(r.attached(where), " "); got != "answer.md answer.md b.txt" {
					t.Errorf("files: %s", got)
				}
			}
		})
	}
}
