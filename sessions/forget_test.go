package sessions_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"understudy/core"
)

// transcript is what is stored of a thread, as "user: hi".
func (h *house) transcript(name string) []string {
	h.t.Helper()
	return h.stored(key(name))
}

func (h *house) stored(k core.Key) []string {
	h.t.Helper()
	s, err := h.store.Session(context.Background(), k)
	if err != nil {
		h.t.Fatal(err)
	}
	entries, err := h.store.Transcript(context.Background(), k, s.Transcript, 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	list := []string{}
	for _, e := range entries {
		list = append(list, fmt.Sprintf("%s: %s", e.Message.Role, e.Message.Text()))
	}
	return list
}

// The button is for whoever asked: an admin who presses it is not forgotten,
// and forgets nobody.
func TestForgetByButton(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.say("t1", "my pin is 1234")
		asked := h.command("t1", "forget", "ann")
		if !strings.HasPrefix(asked.Text, "I would delete 1 message that you wrote") {
			t.Fatal(asked.Text)
		}
		for _, who := range []string{"bob", "root"} {
			if r := h.click(asked, "Forget me", who); !r.Aside || !strings.Contains(r.Text, "somebody else") {
				t.Errorf("%s was told: %+v", who, r)
			}
		}
		expect(t, "transcript", h.transcript("t1"), []string{"user: my pin is 1234", "assistant: ok"})
		if r := h.click(asked, "Forget me", "ann"); !strings.HasPrefix(r.Text, "Deleted: 1 message that you wrote") {
			t.Errorf("ann was told: %+v", r)
		}
		expect(t, "transcript", h.transcript("t1"), []string{"assistant: ok"})
		if log := h.logged.String(); !strings.Contains(log, `"a person was forgotten" user=fake:ann messages=1`) || strings.Contains(log, "1234") {
			t.Errorf("the log says: %s", log)
		}
		h.click(asked, "Forget me", "ann")
		if r := h.command("t1", "forget", "ann"); r.Text != "I have stored nothing about you." || len(r.Buttons) > 0 {
			t.Errorf("afterwards: %+v", r)
		}
	})
}

// What was read from the platform belongs to whoever said it, and is not read
// again after it was forgotten.
func TestSeedsAreForgotten(t *testing.T) {
	inHouse(t, func(h *house) {
		asked := 0
		h.history(&asked, said("1", "bob", "the pin is 1234"), said("2", "bob", "5678, I mean"), said("3", "cat", "hm"))
		h.open()
		h.inSlack("1", "4", "explain")
		expect(t, "input", h.told(0), []string{
			`user: {"speaker":"bob"}|the pin is 1234||5678, I mean`, `user: {"speaker":"cat"}|hm`, "user: " + talk + "explain"})
		place := core.Thread{Platform: "slack", Account: "main", Workspace: "T", Channel: "C", Root: "1", Kind: core.KindThread}
		k := core.Key{Agent: "main", Thread: place.Key()}

		deleted := core.Message{ID: "2", Target: core.Target{Thread: place}}
		if err := h.bot.Change(context.Background(), core.Change{InboxKey: deleted.InboxKey(), Deleted: true}); err != nil {
			t.Fatal(err)
		}
		expect(t, "without the deleted one", h.stored(k), []string{"user: the pin is 1234", "user: hm", "user: explain", "assistant: ok"})
		h.native(core.Target{Thread: place}, "forget yes", "bob")
		expect(t, "without bob", h.stored(k), []string{"user: hm", "user: explain", "assistant: ok"})
		h.inSlack("1", "9", "more")
		expect(t, "second input", h.told(1), []string{`user: {"speaker":"cat"}|hm`, "user: " + talk + "explain", "assistant: ok", "user: " + talk + "more"})
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// A message that is deleted after its turn began, but before it was stored, is
// answered and not kept.
func TestDeletedBeforeItIsStored(t *testing.T) {
	inHouse(t, func(h *house) {
		m := h.message("t1", "the pin is 1234")
		m.Attachments = []core.Attachment{{Name: "a.txt", MIME: "text/plain", Size: 2}}
		h.place.fetch = func(a core.Attachment, _ int64) (core.Attachment, error) {
			if err := h.bot.Change(context.Background(), core.Change{InboxKey: m.InboxKey(), Deleted: true}); err != nil {
				t.Error(err)
			}
			a.Data = []byte("hi")
			return a, nil
		}
		h.open()
		if err := h.bot.Message(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		h.expectPosts("t1 answer: ok")
		expect(t, "transcript", h.transcript("t1"), []string{"assistant: ok"})
	})
}

// A reset keeps what was said before it, so forgetting finds that as well.
func TestForgetReachesBehindAReset(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.say("t1", "my pin is 1234")
		before := h.session("t1").Transcript
		h.say("t1", "/reset")
		h.command("t1", "forget yes", "ann")
		entries, err := h.store.Transcript(context.Background(), key("t1"), before, 9)
		if err != nil || len(entries) != 1 {
			t.Errorf("the transcript before the reset holds %+v, %v", entries, err)
		}
	})
}
