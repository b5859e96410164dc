package media

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"understudy/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "xoxb-token-of-the-account"

const (
	png    = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	pdf    = "%PDF-1.7\n%\xe2\xe3\n"
	m4a    = "\x00\x00\x00\x20ftypM4A \x00\x00\x02\x00"
	mp4    = "\x00\x00\x00\x20ftypisom\x00\x00\x02\x00"
	signIn = "<!doctype html><html><title>Sign in</title>"
)

// server is a host that remembers who asked, with which token.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func serve(t *testing.T, answer http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path+" "+r.Header.Get("Authorization"))
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		s.Close()
	})
	return s
}

func (s *server) host() string { return strings.TrimPrefix(s.URL, "http://") }

func (s *server) visits() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// sends is a handler that sends a body of a type.
func sends(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(body))
	}
}

func fetch(t *testing.T, s *server, a core.Attachment) core.Attachment {
	t.Helper()
	if a.URL == "" {
		a.URL = s.URL + "/file"
	}
	got, err := Source{Hosts: []string{s.host()}, Token: core.NewSecret(token)}.Fetch(t.Context(), a, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if (got.Note == "") != (got.Data != nil) {
		t.Fatalf("note %q with %d bytes", got.Note, len(got.Data))
	}
	return got
}

// The token goes along on every hop between named hosts, and never to another.
func TestP126(t *testing.T) {
	other := serve(t, sends("application/pdf", pdf))
	var s *server
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/r/a.pdf":
			http.Redirect(w, r, s.URL+"/real/a.pdf", http.StatusFound)
		case "/away.pdf":
			http.Redirect(w, r, other.URL+"/x", http.StatusFound)
		case "/circle":
			http.Redirect(w, r, "/circle", http.StatusFound)
		case "/real/a.pdf":
			if r.Header.Get("Authorization") != "Bearer "+token {
				sends("text/html", signIn)(w, r)
				return
			}
			sends("application/pdf", pdf)(w, r)
		}
	})
	get := func(path string) core.Attachment {
		return fetch(t, s, core.Attachment{Name: "a.pdf", MIME: "application/pdf", URL: s.URL + path})
	}
	if got := get("/r/a.pdf"); string(got.Data) != pdf || got.MIME != "application/pdf" || got.Size != int64(len(pdf)) {
		t.Errorf("got %+v", got)
	}
	if got := get("/away.pdf"); got.Note != noteElsewhere {
		t.Errorf("the note is %q", got.Note)
	}
	if got := other.visits(); got != nil {
		t.Errorf("a host that is not named was asked: %q", got)
	}
	before := len(s.visits())
	if got := get("/circle"); got.Note != noteHops {
		t.Errorf("the note is %q", got.Note)
	}
	if got := len(s.visits()) - before; got != maxHops+1 {
		t.Errorf("%d requests on a circle", got)
	}
}

// A sign-in page with any type in place of a file is refused; the file itself
// with the same type is not.
func TestP190(t *testing.T) {
	for name, c := range map[string]struct {
		a          core.Attachment
		kind, body string
		note, mime string
	}{
		"page as octet-stream":    {core.Attachment{Name: "v.m4a", MIME: "audio/mp4"}, "application/octet-stream", signIn, notePage, ""},
		"page as page":            {core.Attachment{Name: "v.m4a", MIME: "audio/mp4"}, "text/html; charset=utf-8", signIn, notePage, ""},
		"page as the sound":       {core.Attachment{Name: "v.m4a", MIME: "audio/mp4"}, "audio/mp4", " \n<!-- hi -->\n<HTML>", notePage, ""},
		"page after a mark":       {core.Attachment{Name: "n.txt", MIME: "text/plain"}, "text/plain", "\ufeff<!DOCTYPE HTML>", notePage, ""},
		"page as XML":             {core.Attachment{Name: "n.txt", MIME: "text/plain"}, "text/plain", `<?xml version="1.0"?><!DOCTYPE html>`, notePage, ""},
		"text served as page":     {core.Attachment{Name: "n.txt", MIME: "text/plain"}, "text/html", "please sign in", notePage, ""},
		"page for a page":         {core.Attachment{Name: "p.html", MIME: "text/html", Size: 7}, "text/plain", signIn, notePage, ""},
		"page itself":             {core.Attachment{Name: "p.html", MIME: "text/html", Size: int64(len(signIn))}, "text/plain", signIn, "", "text/html"},
		"sound":                   {core.Attachment{Name: "v.m4a", MIME: "audio/mp4"}, "application/octet-stream", m4a, "", "audio/mp4"},
		"sound of another brand":  {core.Attachment{Name: "v.m4a", MIME: "audio/mp4"}, "application/octet-stream", mp4, "", "audio/mp4"},
		"sound by its name":       {core.Attachment{Name: "v.m4a"}, "application/octet-stream", mp4, "", "audio/mp4"},
		"film":                    {core.Attachment{Name: "v.mp4", MIME: "video/mp4"}, "video/mp4", mp4, noteKind, ""},
		"error in place of sound": {core.Attachment{Name: "v.m4a", MIME: "audio/mp4"}, "audio/mp4", `{"error":"no"}`, noteOther, ""},
		"page in Markdown":        {core.Attachment{Name: "r.md", MIME: "text/markdown"}, "text/plain", "<p align=center>hello</p>\n<html>", "", "text/markdown"},
		"picture of another type": {core.Attachment{Name: "p.jpg", MIME: "image/jpeg"}, "image/jpeg", png, "", "image/png"},
		"drawing":                 {core.Attachment{Name: "d.svg", MIME: "image/svg+xml"}, "image/svg+xml", "<svg></svg>", "", "text/plain"},
		"program":                 {core.Attachment{Name: "a.txt", MIME: "text/plain"}, "text/plain", "MZ\x90\x00\x03", noteKind, ""},
		"nothing":                 {core.Attachment{Name: "a.txt", MIME: "text/plain"}, "text/plain", "", noteEmpty, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := fetch(t, serve(t, sends(c.kind, c.body)), c.a)
			if got.Note != c.note || c.note == "" && (got.MIME != c.mime || string(got.Data) != c.body) {
				t.Errorf("note %q, type %q", got.Note, got.MIME)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	body := strings.Repeat("x", 1000)
	whole := serve(t, sends("text/plain", body))
	stream := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for range 1000 {
			if _, err := w.Write([]byte(body)); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	})
	for name, c := range map[string]struct {
		s           *server
		size, limit int64
		note        string
		asks        int
	}{
		"exactly":               {whole, 1000, 1000, "", 1},
		"stated to be larger":   {whole, 1001, 1000, "it is larger than 1000 bytes", 0},
		"larger than stated":    {whole, 10, 999, "it is larger than 999 bytes", 1},
		"larger, of no length":  {stream, 0, 2000, "it is larger than 2000 bytes", 1},
		"larger than megabytes": {whole, 30 << 20, 20 << 20, "it is larger than 20 MiB", 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(c.s.visits())
			got, err := Source{Hosts: []string{c.s.host()}}.Fetch(t.Context(), core.Attachment{Name: "a", URL: c.s.URL, Size: c.size}, c.limit)
			if err != nil || got.Note != c.note || (got.Data != nil) != (c.note == "") {
				t.Errorf("note %q, %d bytes, error %v", got.Note, len(got.Data), err)
			}
			if asked := len(c.s.visits()) - before; asked != c.asks {
				t.Errorf("%d requests, want %d", asked, c.asks)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	for status, note := range map[int]string{
		401: noteDenied, 403: noteDenied, 404: noteGone, 410: noteGone, 500: "", 429: "", 302: "", 206: "",
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		got, err := Source{Hosts: []string{s.host()}}.Fetch(t.Context(), core.Attachment{URL: s.URL + "/f?t=secret"}, 10)
		if got.Note != note || (err != nil) != (note == "") || got.Data != nil {
			t.Errorf("%d: note %q, error %v", status, got.Note, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%d: the error holds the address: %v", status, err)
		}
	}
}

// What goes wrong on the way is an error without the address.
func TestErrorsHoldNoAddress(t *testing.T) {
	s := serve(t, nil)
	s.Close()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	slow := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for name, try := range map[string]func() error{
		"nobody there": func() error {
			_, err := Source{Hosts: []string{s.host()}}.Fetch(t.Context(), core.Attachment{URL: s.URL + "/secret"}, 10)
			return err
		},
		"cancelled": func() error {
			_, err := Source{Hosts: []string{slow.host()}}.Fetch(cancelled, core.Attachment{URL: slow.URL + "/secret"}, 10)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
			return err
		},
		"too slow": func() error {
			source := Source{HTTP: &http.Client{Timeout: 50 * time.Millisecond}, Hosts: []string{slow.host()}}
			_, err := source.Fetch(t.Context(), core.Attachment{URL: slow.URL + "/secret"}, 10)
			return err
		},
	} {
		if err := try(); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamedHosts(t *testing.T) {
	s := Source{Hosts: []string{"files.slack.com", ".example.org", "127.0.0.1:9000", "localhost:9001", "[::1]:9002", "192.0.2.1:80"}}
	for at, want := range map[string]bool{
		"https://files.slack.com/x":             true,
		"https://FILES.slack.com:443/x":         true,
		"https://files.slack.com:8443/x":        false,
		"http://files.slack.com/x":              false,
		"https://files.slack.com.evil.test/x":   false,
		"https://files.slack.com@evil.test/x":   false,
		"https://evil.test@files.slack.com/x":   false,
		"https://files.slack.com./x":            false,
		"https://cdn.example.org/x":             true,
		"https://a.b.example.org/x":             true,
		"https://example.org/x":                 false,
		"https://.example.org/x":                false,
		"https://badexample.org/x":              false,
		"http://127.0.0.1:9000/x":               true,
		"http://127.0.0.1:9001/x":               false,
		"http://127.0.0.1/x":                    false,
		"http://localhost:9001/x":               true,
		"http://[::1]:9002/x":                   true,
		"http://192.0.2.1:80/x":                 false,
		"ftp://files.slack.com/x":               false,
		"file:///etc/passwd":                    false,
		"/x":                                    false,
		"https:files.slack.com":                 false,
		"https://169.254.169.254/latest/":       false,
		"https://xn--fles-slack.com/x":          false,
		"https://files.slack.com%2eevil.test/x": false,
	} {
		u, err := url.Parse(at)
		if got := err == nil && s.named(u); got != want {
			t.Errorf("%s: %v", at, got)
		}
	}
	for _, at := range []string{"", "https://elsewhere.test/x", "://", "https://files.slack.com/\x7f"} {
		got, err := s.Fetch(t.Context(), core.Attachment{URL: at}, 10)
		if err != nil || got.Note == "" || got.Data != nil {
			t.Errorf("%q: %+v, %v", at, got, err)
		}
	}
}

func TestSniff(t *testing.T) {
	for _, c := range []struct{ data, stated, ext, want string }{
		{png, "", "", "image/png"},
		{"\xff\xd8\xff\xe0", "", "", "image/jpeg"},
		{"GIF89a..", "", "", "image/gif"},
		{"RIFF\x10\x00\x00\x00WEBPVP8 ", "", "", "image/webp"},
		{"RIFF\x10\x00\x00\x00WAVEfmt ", "", "", "audio/wav"},
		{"RIFF\x10\x00\x00\x00AVI LIST", "", "", ""},
		{"ID3\x04", "", "", "audio/mpeg"},
		{"\xff\xfb\x90\x64", "", "", "audio/mpeg"},
		{"\xff\xf1\x50\x80", "", "", "audio/aac"},
		{"\xff\xfe\x00\x41", "", "", ""},
		{"\xff\xff\xff\xff", "", "", ""},
		{"fLaC", "", "", "audio/flac"},
		{"OggS\x00\x02\x00\x00OpusHead", "", "", "audio/ogg"},
		{"OggS\x00\x02\x00\x00\x80theora", "video/ogg", "", ""},
		{"\x1a\x45\xdf\xa3\x01", "audio/webm", "", "audio/webm"},
		{"\x1a\x45\xdf\xa3\x01", "video/webm", "", ""},
		{"\x00\x00\x00\x18ftypheic", "image/heic", "", ""},
		{pdf, "", "", "application/pdf"},
		{"häuser", "", "", "text/plain"},
		{"a,b", "text/csv", "", "text/csv"},
		{"a\x00b", "text/plain", "", ""},
		{"h\xe4user", "text/plain", "", ""},
		{"PK\x03\x04\x14\x00", "application/zip", ".zip", ""},
	} {
		if got := sniff([]byte(c.data), c.stated, c.ext); got != c.want {
			t.Errorf("%q as %q is %q, want %q", c.data, c.stated, got, c.want)
		}
	}
}

func FuzzSniff(f *testing.F) {
	for _, s := range []string{png, pdf, m4a, mp4, signIn, "\ufeff<!-- --><?xml", "OggS", "\xff\xfb", "text", "RIFF....WAVE"} {
		f.Add([]byte(s), "audio/mp4", "v.m4a", "text/html; x")
	}
	f.Fuzz(func(t *testing.T, data []byte, stated, name, served string) {
		a := core.Attachment{Name: name, MIME: stated, Size: -1}
		kind, err := judge(a, data, served)
		if (kind == "") == (err == nil) {
			t.Fatalf("type %q with error %v", kind, err)
		}
		if strings.HasPrefix(kind, "text/") && (html(data) || plainType(served) == "text/html") {
			t.Fatalf("a page passes as %s", kind)
		}
		var no refusal
		if err != nil && !errors.As(err, &no) {
			t.Fatalf("a refusal without words: %v", err)
		}
		if again, _ := judge(a, data, served); again != kind {
			t.Fatalf("two answers: %q and %q", kind, again)
		}
	})
}
