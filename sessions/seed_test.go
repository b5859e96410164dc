package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// told is what a model was given in its n-th request, one line a message.
func (h *house) told(n int) []string {
	h.t.Helper()
	var list []string
	for _, m := range h.log.Requests()[n].Request.Messages {
		list = append(list, string(m.Role)+": "+strings.ReplaceAll(m.Text(), "\n", "|"))
	}
	return list
}

// said is an earlier message of somebody; "me" is the bot.
func said(id, who, text string) core.Message {
	return core.Message{ID: id, Author: core.Author{ID: who, Name: who, Self: who == "me", Bot: who == "me" || who == "alarm"}, Text: text}
}

// slackThread is a thread of Slack, in which a message has that id.
func (h *house) inSlack(root, id, text string) {
	h.t.Helper()
	m := core.Message{ID: id, Author: core.Author{ID: "ann", Name: "Ann"}, Text: text, Addressed: true, At: time.Now(),
		Target: core.Target{ReplyTo: id, Thread: core.Thread{Platform: "slack", Account: "main", Workspace: "T", Channel: "C", Root: root, Kind: core.KindThread}}}
	if err := h.bot.Message(context.Background(), m); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
}

// history is a place in whose threads these messages were said; it counts how
// often it is asked.
func (h *house) history(asked *int, list ...core.Message) {
	h.set.SeedMessages = 20
	h.place.earlier = func(before string, limit int) ([]core.Message, error) {
		*asked++
		if limit != 20 {
			h.t.Errorf("asked for %d messages", limit)
		}
		return list, nil
	}
}

const talk = `{"speaker":"Ann"}|`

// The opener of a thread reads nothing, least of all the channel's talk.
func TestP021(t *testing.T) {
	inHouse(t, func(h *house) {
		asked := 0
		h.history(&asked, said("0", "bob", "an older topic"))
		h.open()
		h.inSlack("1700000001.000100", "1700000001.000100", "new topic")
		expect(t, "input", h.told(0), []string{"user: " + talk + "new topic"})
		if asked != 0 {
			t.Error("what was said before the opener was asked for")
		}
	})
}

// A thread under a message of the bot begins with that message, as its own.
func TestP022(t *testing.T) {
	inHouse(t, func(h *house) {
		asked := 0
		h.history(&asked, said("1700000001.000100", "me", "weekly summary: row 3 …"), said("1700000002.000200", "Ann", "why row 3?"))
		h.open()
		h.inSlack("1700000001.000100", "1700000002.000200", "why row 3?")
		h.inSlack("1700000001.000100", "1700000003.000300", "and row 4?")
		expect(t, "input", h.told(0), []string{
			"user: [This thread begins with a message of yours.]", "assistant: weekly summary: row 3 …", "user: " + talk + "why row 3?"})
		expect(t, "second input", h.told(1), []string{
			"user: [This thread begins with a message of yours.]", "assistant: weekly summary: row 3 …", "user: " + talk + "why row 3?",
			"assistant: ok", "user: " + talk + "and row 4?"})
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// A session that has nothing but a choice, a mark or a message of the bot has
// heard nothing yet: its first message reads what was said before.
func TestP022Uninitialised(t *testing.T) {
	inHouse(t, func(h *house) {
		asked := 0
		h.history(&asked, said("1700000001.000100", "me", "weekly summary: row 3 …"))
		h.open()
		h.inSlack("1700000001.000100", "1700000002.000200", "/model b/m2")
		if s, err := h.store.Session(context.Background(), slackKey("1700000001.000100")); err != nil || s.Choice.Model != ref("b/m2") {
			t.Fatalf("the session is %+v, %v", s, err)
		}
		h.inSlack("1700000001.000100", "1700000003.000300", "why row 3?")
		expect(t, "input", h.told(0), []string{
			"user: [This thread begins with a message of yours.]", "assistant: weekly summary: row 3 …", "user: " + talk + "why row 3?"})
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// slackKey is the session of a thread of Slack, see house.inSlack.
func slackKey(root string) core.Key {
	return core.Key{Agent: "main", Thread: core.Thread{Platform: "slack", Account: "main", Workspace: "T", Channel: "C", Root: root}.Key()}
}

// Other bots' messages are part of what was said; what the session holds
// already is not read again.
func TestP023(t *testing.T) {
	inHouse(t, func(h *house) {
		asked := 0
		h.history(&asked,
			said("1", "alarm", "CPU alert 97%"), said("2", "me", "old answer"), said("3", "me", "more of it"),
			said("4", "bob", "hm"), said("5", "bob", "so?"), said("6", "cat", " "),
			core.Message{ID: "7", Author: core.Author{ID: "U9"}, Attachments: []core.Attachment{{Name: "log.txt"}}},
		)
		h.open()
		h.inSlack("1", "8", "explain")
		expect(t, "input", h.told(0), []string{
			`user: {"speaker":"alarm"}|CPU alert 97%`, "assistant: old answer||more of it", `user: {"speaker":"bob"}|hm||so?`,
			`user: {"speaker":"U9"}|[attachment log.txt]`, "user: " + talk + "explain"})
		h.inSlack("1", "9", "more")
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// A thread that is opened reads nothing of its channel.
func TestP027(t *testing.T) {
	inHouse(t, func(h *house) {
		asked := 0
		h.history(&asked, said("1", "bob", "about X"))
		h.open()
		lobby := core.Thread{Platform: "fake", Account: "main", Channel: "lobby", Kind: core.KindChannel}
		m := h.message("t1", "X?")
		m.Target.Thread = lobby
		if err := h.bot.Message(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		m = h.message("t1", "Y?")
		m.Target.Opens = m.ID
		if err := h.bot.Message(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		expect(t, "input", h.told(1), []string{"user: " + talk + "Y?"})
		// Neither does a post of a forum, whose first message opens it.
		m = h.message("f1", "Z?")
		m.ID = "f1"
		if err := h.bot.Message(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		expect(t, "input", h.told(2), []string{"user: " + talk + "Z?"})
		if asked != 0 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// Nothing is read where a conversation was started over, or where it is
// switched off; a failure to read leaves the message as it is.
func TestSeedsAreLeftOut(t *testing.T) {
	for name, change := range map[string]func(*house){
		"after a reset": func(h *house) { h.say("t1", "/new") },
		"switched off":  func(h *house) { h.set.SeedMessages = 0 },
		"not possible":  func(h *house) { h.place.earlier = nil },
		"failing": func(h *house) {
			h.place.earlier = func(string, int) ([]core.Message, error) { return nil, errors.New("missing scope") }
		},
		"empty": func(h *house) { h.place.earlier = func(string, int) ([]core.Message, error) { return nil, nil } },
	} {
		t.Run(name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				asked := 0
				h.history(&asked, said("1", "bob", "before"))
				h.open()
				change(h)
				h.say("t1", "hi")
				expect(t, "input", h.told(0), []string{"user: " + talk + "hi"})
				if asked != 0 {
					t.Errorf("asked %d times", asked)
				}
			})
		})
	}
}

// A run that follows a crash reads from the store what was read before.
func TestSeedsAreReadOnce(t *testing.T) {
	inHouse(t, func(h *house) {
		asked := 0
		h.history(&asked, said("1", "bob", "before"))
		h.open()
		h.model("a/m1", "hang", `text "ok"`)
		h.say("t1", "hi")
		h.stop(time.Second)
		h.open()
		synctest.Wait()
		expect(t, "input", h.told(1), []string{`user: {"speaker":"bob"}|before`, "user: " + talk + "hi"})
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// What is read is bounded: the first message and the newest ones stay.
func TestSeedsAreBounded(t *testing.T) {
	inHouse(t, func(h *house) {
		var list []core.Message
		for i := range 20 {
			list = append(list, said(fmt.Sprint(i), fmt.Sprint("p", i), fmt.Sprint("text ", i, " ", strings.Repeat("é", 3000))))
		}
		asked := 0
		h.history(&asked, list...)
		h.open()
		h.say("t1", "hi")
		input := h.told(0)
		total := 0
		for _, line := range input {
			total += len(line)
			if !strings.HasSuffix(line, "…") && !strings.HasSuffix(line, "hi") || strings.ContainsRune(line, '\uFFFD') {
				t.Errorf("it ends in %q", line[len(line)-10:])
			}
		}
		if total > 34<<10 || len(input) < 7 || !strings.Contains(input[0], "text 0 ") || !strings.Contains(input[len(input)-2], "text 19 ") {
			t.Errorf("%d bytes in %d messages, the first %.30q", total, len(input), input[0])
		}
	})
}
