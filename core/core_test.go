package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func drawThread(t *rapid.T) Thread {
	id := rapid.SampledFrom([]string{"1", "2", "a", "a:b", ":", "%", "%3A", "t", "c", "1700000001.000100", ""})
	th := Thread{
		Platform: rapid.SampledFrom([]string{"discord", "slack", "terminal"}).Draw(t, "platform"),
		Account:  id.Draw(t, "account"),
		Channel:  id.Draw(t, "channel"),
		Kind:     rapid.SampledFrom([]Kind{KindDirect, KindGroup, KindChannel, KindThread}).Draw(t, "kind"),
	}
	switch th.Platform {
	case "discord":
		if th.Kind == KindChannel || th.Kind == KindThread {
			th.Workspace = id.Draw(t, "workspace")
		}
	case "slack":
		th.Workspace, th.Root = id.Draw(t, "workspace"), id.Draw(t, "root")
	default:
		th.Root = id.Draw(t, "root")
	}
	return th
}

// apart is what a key must tell apart.
func apart(t Thread) Thread {
	if t.Platform != "discord" || t.Kind != KindDirect && t.Kind != KindGroup {
		t.Kind = ""
	}
	t.Parent = ""
	return t
}

func TestThreadsHaveTheSameKeyOnlyIfTheyAreTheSamePlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawThread(t), drawThread(t)
		if (a.Key() == b.Key()) != (apart(a) == apart(b)) {
			t.Fatalf("%+v has key %q, %+v has key %q", a, a.Key(), b, b.Key())
		}
	})
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		thread Thread
		want   string
	}{
		{Thread{Platform: "discord", Account: "main", Workspace: "900", Channel: "501", Parent: "100", Kind: KindThread}, "discord:main:g:900:c:501"},
		{Thread{Platform: "discord", Account: "main", Workspace: "900", Channel: "501", Kind: KindChannel}, "discord:main:g:900:c:501"},
		{Thread{Platform: "discord", Account: "main", Channel: "7", Kind: KindDirect}, "discord:main:dm:7"},
		{Thread{Platform: "slack", Account: "main", Workspace: "T0", Channel: "C0", Root: "1700000001.000100", Kind: KindThread}, "slack:main:T0:C0:t:1700000001.000100"},
		{Thread{Platform: "slack", Account: "main", Workspace: "T0", Channel: "D0", Kind: KindDirect}, "slack:main:T0:D0"},
		{Thread{Platform: "terminal", Account: "main", Channel: "c", Kind: KindDirect}, "terminal:main:c"},
	} {
		if got := c.thread.Key(); got != c.want {
			t.Errorf("%+v has key %q, want %q", c.thread, got, c.want)
		}
	}
}

func TestHolder(t *testing.T) {
	for _, c := range []struct{ thread, want Thread }{
		{Thread{Platform: "discord", Channel: "501", Parent: "100", Kind: KindThread}, Thread{Platform: "discord", Channel: "100", Kind: KindChannel}},
		{Thread{Platform: "slack", Channel: "C0", Root: "1.2", Kind: KindThread}, Thread{Platform: "slack", Channel: "C0", Kind: KindChannel}},
		{Thread{Platform: "slack", Channel: "D0", Root: "1.2", Kind: KindDirect}, Thread{Platform: "slack", Channel: "D0", Kind: KindDirect}},
		{Thread{Platform: "discord", Channel: "100", Kind: KindChannel}, Thread{Platform: "discord", Channel: "100", Kind: KindChannel}},
	} {
		if got := c.thread.Holder(); got != c.want {
			t.Errorf("%+v is held by %+v, want %+v", c.thread, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if once := drawThread(t).Holder(); once.Holder() != once {
			t.Fatalf("%+v is held by %+v", once, once.Holder())
		}
	})
}

// A message has the same inbox key however it arrives: in the channel, where a
// thread will be opened from it, or in a thread of the channel.
func TestInboxKey(t *testing.T) {
	opener := Message{ID: "501", Target: Target{Thread: Thread{Platform: "discord", Account: "main", Workspace: "900", Channel: "501", Parent: "100", Kind: KindThread}, Opens: "501"}}
	plain := Message{ID: "501", Target: Target{Thread: Thread{Platform: "discord", Account: "main", Workspace: "900", Channel: "100", Kind: KindChannel}}}
	if opener.InboxKey() != plain.InboxKey() {
		t.Errorf("Discord: %q as an opener, %q in the channel", opener.InboxKey(), plain.InboxKey())
	}
	threaded := Message{ID: "1.2", Target: Target{Thread: Thread{Platform: "slack", Account: "main", Workspace: "T0", Channel: "C0", Root: "1.2"}}}
	flat := threaded
	flat.Target.Thread.Root = ""
	if threaded.InboxKey() != flat.InboxKey() {
		t.Errorf("Slack: %q in a thread, %q in the channel", threaded.InboxKey(), flat.InboxKey())
	}
	other := threaded
	other.ID = "1.3"
	if threaded.InboxKey() == other.InboxKey() {
		t.Errorf("two messages have the key %q", other.InboxKey())
	}
}

func TestSecretsNeverPrint(t *testing.T) {
	const value = "sk-live-0123456789"
	s := NewSecret(value)
	holder := struct {
		Token Secret `json:"token"`
		Ptr   *Secret
		inner Secret
	}{s, &s, s}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", s, "holder", holder, "error", fmt.Errorf("refused %v", s))
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "token", s, "holder", holder)
	doc, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{
		fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s, s), fmt.Sprintf("%v %+v %#v", holder, holder, holder),
		fmt.Sprintf("%x", s), string(doc), log.String(), errors.Join(fmt.Errorf("%v", holder)).Error(),
	} {
		if strings.Contains(out, value) || strings.Contains(out, fmt.Sprintf("%x", value)) {
			t.Errorf("the secret shows in %q", out)
		}
	}
	if s.Reveal() != value || !s.Set() {
		t.Errorf("the secret reveals %q", s.Reveal())
	}
	var unset Secret
	if unset.Set() || unset.String() != "" {
		t.Errorf("an unset secret prints %q", unset)
	}
	if err := unset.Decode(value); err != nil || unset.Reveal() != value {
		t.Errorf("decoding gave %v", err)
	}
}

func TestSendErrorsSayWhatHappened(t *testing.T) {
	cause := errors.New("403 Missing Access")
	for _, c := range []struct {
		err  SendError
		want string
	}{
		{SendError{Err: cause}, "403 Missing Access"},
		{SendError{Err: cause, Permanent: true, Help: "give the bot the Send Messages permission"}, "403 Missing Access (give the bot the Send Messages permission)"},
		{SendError{Err: cause, Unknown: true, RetryAfter: time.Second}, "outcome of the post is unknown: 403 Missing Access"},
	} {
		if got := c.err.Error(); got != c.want || !errors.Is(&c.err, cause) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestImages(t *testing.T) {
	for mime, want := range map[string]bool{"image/png": true, "image/webp": true, "image/svg+xml": false, "text/plain": false, "": false} {
		if got := (Attachment{MIME: mime}).Image(); got != want {
			t.Errorf("%q is an image: %v, want %v", mime, got, want)
		}
	}
}
