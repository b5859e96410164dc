package sessions_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// A native /new with words that it does not take changes nothing: the answer
// that is being written goes on, and so does what waits behind it.
func TestNativeResetThatIsNone(t *testing.T) {
	for _, line := range []string{"new please", "reset default", "reset everything"} {
		inHouse(t, func(h *house) {
			h.open()
			h.model("a/m1", `slow 10s text "late"`, `text "second"`)
			h.say("t1", "one")
			h.say("t1", "two")
			before := h.session("t1").Transcript
			if r := h.command("t1", line, "ann"); !strings.HasPrefix(r.Text, "Write ") {
				t.Errorf("%s: the reply is %+v", line, r)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := h.asked(); len(got) != 2 || h.session("t1").Transcript != before {
				t.Errorf("%s: asked %q", line, got)
			}
			if posts := strings.Join(h.place.all(), "\n"); !strings.Contains(posts, "late") || !strings.Contains(posts, "second") {
				t.Errorf("%s: the posts are %q", line, posts)
			}
		})
	}
}

// Nobody but an admin lets people in or stops what others asked for, whatever
// way the command takes: typed, native, by the button of an admin's message, or
// by one that somebody made up.
func TestCommandsOfAdminsByOthers(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		code := strings.Trim(strings.SplitN(h.knock("eve"), "`", 3)[1], "`")
		h.model("a/m1", `slow 1m text "late"`)
		h.say("t2", "something of Ann's")
		press := func(token, value string) core.Reply {
			r, err := h.bot.Press(context.Background(), core.Press{ID: "x" + token, Author: core.Author{ID: "mallory"}, Target: lobby, Token: token, Value: value})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		for _, r := range []core.Reply{
			h.native(lobby, "approve "+code, "mallory"), h.native(lobby, "stop all", "mallory"),
			press("/approve", code), press("/approve "+code, ""), press("/stop all", ""), press("/stop", "all"),
		} {
			if !strings.Contains(r.Text, "admins") || r.Done {
				t.Errorf("the reply is %+v", r)
			}
		}
		m := h.message("t3", "/approve "+code)
		m.Author.ID = "mallory"
		if err := h.bot.Message(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		for _, forged := range []string{"/nothing", "/", "/model", "0", "../approve"} {
			press(forged, code)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if h.known("eve") {
			t.Error("eve was let in")
		}
		if !strings.Contains(strings.Join(h.place.all(), "\n"), "late") {
			t.Error("Ann's answer was stopped")
		}
	})
}

// Whoever asks for access chose his own name; operators read it plainly.
func TestNamesOfStrangersAreNoMarkup(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		m := h.direct("eve", "hello")
		m.Author.Name = "[Approve](https://evil.invalid)\n**Admin**\u202e `code` <!channel> " + strings.Repeat("x", 300)
		if _, err := h.bot.Knock(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		got := h.alerts()[0]
		if strings.ContainsAny(strings.ReplaceAll(got, "`/approve", ""), "[]<>*\n\u202e") || strings.Contains(got, "://") || len(got) > 300 {
			t.Errorf("operators read %q", got)
		}
		if !strings.Contains(got, "(fake:eve)") {
			t.Errorf("the id is missing in %q", got)
		}
	})
}

// A model is not told more of a name than there is room for.
func TestLongNames(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		m := h.message("t1", "hello")
		m.Author.Name = strings.Repeat("ä", 10_000)
		if err := h.bot.Message(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := h.lastAsked()[0].Text; !strings.HasPrefix(got, `{"speaker":"ää`) || len(got) > 150 {
			t.Errorf("the model is told %d bytes of the name", len(got))
		}
	})
}
