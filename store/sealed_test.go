package store

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/core"
	"understudy/core/seal"
	"understudy/sessions"
)

const (
	plantedCode = "QWERTYXZ"
	plantedURL  = "https://cdn.example/a.png?ex=1&hm=0123456789abcdef0123456789abcdef"
)

// keep stores a code and a message with two files.
func keep(t *testing.T, s *Store, user string) {
	t.Helper()
	if err := s.UpdateGuest(t.Context(), "discord", "main", user, func(g sessions.Guest) sessions.Guest {
		g.Code = plantedCode
		return g
	}); err != nil {
		t.Fatal(err)
	}
	in := sessions.Inbound{Key: "in:" + user, Session: key, Message: core.Message{ID: user, Attachments: []core.Attachment{
		{Name: "none"}, {Name: "a.png", URL: plantedURL}, {Name: "b.png", URL: plantedURL + user},
	}}}
	if row, _, err := s.Admit(t.Context(), in); err != nil || row.Message.Attachments[2].URL != plantedURL+user {
		t.Fatalf("%+v, %v", row, err)
	}
	if in.Message.Attachments[1].URL != plantedURL {
		t.Error("the caller's message was changed")
	}
}

// kept reads them again.
func kept(t *testing.T, s *Store, user string) (code string, urls []string) {
	t.Helper()
	g, err := s.Guest(t.Context(), "discord", "main", user)
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := s.Waiting(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range waiting {
		if in.Key == "in:"+user {
			for _, a := range in.Message.Attachments {
				urls = append(urls, a.URL)
			}
		}
	}
	return g.Code, urls
}

func wantKept(t *testing.T, s *Store, user string) {
	t.Helper()
	code, urls := kept(t, s, user)
	if want := fmt.Sprint([]string{"", plantedURL, plantedURL + user}); code != plantedCode || fmt.Sprint(urls) != want {
		t.Errorf("%s: the code is %q, the addresses are %q", user, code, urls)
	}
}

// wantNothingPlain looks for the secrets in every file beside the database.
func wantNothingPlain(t *testing.T, path string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("the folder holds %v, %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{plantedCode, "hm=0123456789abcdef"} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s shows %s", filepath.Base(f), secret)
			}
		}
	}
}

func TestSecretsAreSealed(t *testing.T) {
	path := at(t)
	s := mustOpen(t, Options{Path: path, Exclusive: true})
	keep(t, s, "u1")
	wantKept(t, s, "u1")
	wantNothingPlain(t, path)
	wantKept(t, mustOpen(t, Options{Path: path}), "u1") // another process, with the same file of a key
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantNothingPlain(t, path)
	// A sealed secret of one row is worth nothing in another.
	c := raw(t, path)
	mustExec(t, c, "INSERT INTO guests SELECT platform, account, 'u2', guest FROM guests")
	if code, _ := kept(t, mustOpen(t, Options{Path: path}), "u2"); code != "" {
		t.Errorf("a copied code reads as %q", code)
	}
}

// What an older version kept as plain text is read, and sealed at the next
// start; what cannot be read as a document is left alone.
func TestPlainSecretsAreSealedAtTheStart(t *testing.T) {
	path := at(t)
	if err := mustOpen(t, Options{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	c := raw(t, path)
	mustExec(t, c, "INSERT INTO guests (platform, account, user, guest) VALUES ('discord', 'main', 'u1', json_object('code', ?)), ('discord', 'main', 'odd', 'no document')", plantedCode)
	mustExec(t, c, `INSERT INTO inbox (key, agent, thread, message) VALUES ('in:u1', 'a', 't', json_object('id', '1', 'attachments',
		json_array(json_object('name', 'none'), json_object('url', ?1), json_object('url', ?1 || 'u1'))))`, plantedURL)
	wantRead := mustOpen(t, Options{Path: path})
	wantKept(t, wantRead, "u1") // not sealed yet: only the process that runs the bot does that
	if err := wantRead.Close(); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, Options{Path: path, Exclusive: true})
	wantKept(t, s, "u1")
	var doc, message string
	if _, err := c.get([]any{&doc}, "SELECT guest FROM guests WHERE user = 'u1'"); err != nil || strings.Contains(doc, plantedCode) {
		t.Errorf("it is kept as %s, %v", doc, err)
	}
	if _, err := c.get([]any{&message}, "SELECT message FROM inbox"); err != nil || strings.Contains(message, "hm=") || strings.Count(message, "sealed:") != 2 {
		t.Errorf("it is kept as %s, %v", message, err)
	}
}

func keys(current, old string) seal.Keys {
	return seal.Keys{Current: core.NewSecret(current), Old: core.NewSecret(old)}
}

// A change of the key: with both keys everything is sealed anew at the start,
// and then the old one is not needed any more.
func TestKeyRotation(t *testing.T) {
	path := at(t)
	before, now := strings.Repeat("old", 20), strings.Repeat("new", 20)
	with := func(current, old string) (*Store, *strings.Builder) {
		said := &strings.Builder{}
		return mustOpen(t, Options{Path: path, Exclusive: true, Keys: keys(current, old), Log: slog.New(slog.NewTextHandler(said, nil))}), said
	}
	s, _ := with(before, "")
	keep(t, s, "u1")
	s.Close()
	s, said := with(now, before)
	wantKept(t, s, "u1")
	if !strings.Contains(said.String(), "sealed with the present key") || !strings.Contains(said.String(), "count=3") {
		t.Errorf("the log says %q", said)
	}
	s.Close()
	s, said = with(now, "")
	wantKept(t, s, "u1")
	if said.Len() > 0 {
		t.Errorf("there was nothing to say, and the log says %q", said)
	}
}

// Without the old key the bot starts all the same: what is lost reads as empty,
// the log says what that means, and with the key it is there again.
func TestALostKeyIsNoEnd(t *testing.T) {
	path := at(t)
	before, now := strings.Repeat("old", 20), strings.Repeat("new", 20)
	s := mustOpen(t, Options{Path: path, Exclusive: true, Keys: keys(before, "")})
	keep(t, s, "u1")
	s.Close()
	for range 2 { // the word about it comes at each start
		said := &strings.Builder{}
		s = mustOpen(t, Options{Path: path, Exclusive: true, Keys: keys(now, ""), Log: slog.New(slog.NewTextHandler(said, nil))})
		if code, urls := kept(t, s, "u1"); code != "" || fmt.Sprint(urls) != "[  ]" {
			t.Errorf("they read as %q and %q", code, urls)
		}
		for _, want := range []string{"level=ERROR", "UNDERSTUDY_SECRET_KEY_OLD", "understudy.key.old", "asks again", "codes=1", "files=2"} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("the log lacks %q: %s", want, said)
			}
		}
		s.Close()
	}
	s = mustOpen(t, Options{Path: path, Exclusive: true, Keys: keys(now, before)})
	wantKept(t, s, "u1")
}

// A file of a key that is none stops the start with a word on what to do.
func TestABadKeyFile(t *testing.T) {
	path := at(t)
	if err := mustOpen(t, Options{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), seal.FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Path: path, Exclusive: true}); err == nil || !strings.Contains(err.Error(), "holds no key") {
		t.Errorf("it says %v", err)
	}
	var locked *LockedError
	if _, err := Open(t.Context(), Options{Path: path, Exclusive: true}); errors.As(err, &locked) {
		t.Error("the lock was kept")
	}
}
