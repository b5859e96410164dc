package sessions_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// Bots that answer each other are cut off after three turns, until a person
// speaks.
func TestBotLoop(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		robot := func(text string) core.Message {
			t.Helper()
			m := h.message("t1", text)
			m.Author = core.Author{ID: "robot", Name: "Robot", Bot: true}
			if err := h.bot.Message(context.Background(), m); err != nil {
				t.Fatal(err)
			}
			return m
		}
		first := robot("one")
		for _, text := range []string{"two", "three", "four", "five"} {
			robot(text)
		}
		h.expectAsked("a/m1: one", "a/m1: two", "a/m1: three")
		if err := h.bot.Message(context.Background(), first); err != nil { // delivered again
			t.Fatal(err)
		}
		h.stop(time.Second)
		h.open()
		robot("six")
		h.expectAsked("a/m1: one", "a/m1: two", "a/m1: three")
		h.say("t1", "stop it, you two")
		robot("seven")
		h.expectAsked("a/m1: one", "a/m1: two", "a/m1: three", "a/m1: stop it, you two", "a/m1: seven")
	})
}

// Where every message begins a thread of its own, a bot is cut off by how often
// it was answered in the channel; other bots, channels and people are not.
func TestBotLoopOverManyThreads(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		said := 0
		answered := func(who string, in string, bot bool) bool {
			t.Helper()
			said++
			m := h.message(fmt.Sprint("thread", said), fmt.Sprint("message ", said))
			m.Author, m.Target.Thread.Parent = core.Author{ID: who, Name: who, Bot: bot}, in
			before := len(h.asked())
			for range 2 { // as platforms do
				if err := h.bot.Message(context.Background(), m); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			return len(h.asked()) == before+1
		}
		for i := range 20 {
			if !answered("robot", "lobby", true) {
				t.Fatalf("message %d of the bot got no answer", i+1)
			}
		}
		time.Sleep(time.Hour - time.Second)
		if answered("robot", "lobby", true) {
			t.Error("the bot was answered once too often within an hour")
		}
		for _, other := range []struct {
			who, in string
			bot     bool
		}{{"another", "lobby", true}, {"robot", "hall", true}, {"ann", "lobby", false}} {
			if !answered(other.who, other.in, other.bot) {
				t.Errorf("%s in %s got no answer", other.who, other.in)
			}
		}
		time.Sleep(time.Second)
		if !answered("robot", "lobby", true) {
			t.Error("after an hour the bot still got no answer")
		}
	})
}

// In a channel that opens threads a native command that is about a conversation
// offers the caller's threads.
func TestCommandsForOneOfTheThreads(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.Threads = func(core.Thread) bool { return true }
		h.open()
		if r := h.native(lobby, "new", "ann"); r.Text != "Conversations are held in threads here, and you have none. Give /new in the thread that it is for." {
			t.Fatalf("without a thread: %+v", r)
		}
		h.say("t1", "the first  *thing*")
		time.Sleep(time.Second)
		h.say("t2", "another thing that has so many words that nobody wants to read them all")
		m := h.message("t3", "somebody else's")
		m.Author.ID = "bob"
		if err := h.bot.Message(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		before1, before2 := h.session("t1").Transcript, h.session("t2").Transcript
		h.pressed = lobby
		r := h.native(lobby, "new", "ann")
		expect(t, "threads", append([]string{r.Text}, shows(r)...), []string{
			"Conversations are held in threads here. Which one is /new for?",
			"[“another thing that has so many words th…”]", "[“the first thing”]",
		})
		if h.session("t1").Transcript != before1 {
			t.Fatal("it did not wait for an answer")
		}
		if r := h.click(r, "“the first thing”", "ann"); r.Text != "A new conversation begins here." {
			t.Fatalf("the reply is %+v", r)
		}
		if h.session("t1").Transcript == before1 || h.session("t2").Transcript != before2 {
			t.Fatal("the wrong conversation was ended")
		}
		asked := len(h.asked())
		h.click(h.native(lobby, "retry", "ann"), "“another thing that has so many words th…”", "ann")
		if got := h.asked(); len(got) != asked+1 || !strings.HasPrefix(got[asked], "a/m1: another thing") {
			t.Fatalf("requests:\n%s", strings.Join(got, "\n"))
		}
		if r := h.native(lobby, "model b/m2", "ann"); !strings.HasPrefix(r.Text, "This channel, and every new thread in it, now uses b/m2.") {
			t.Fatalf("the model of a channel: %+v", r)
		}
	})
}

// A command that opens a thread acts on the place that holds it: on Discord it
// is answered there, and no thread is opened.
func TestACommandOpensNoConversation(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.Threads = func(core.Thread) bool { return true }
		h.open()
		channel := core.Thread{Platform: "discord", Account: "main", Workspace: "9", Channel: "100", Kind: core.KindChannel}
		discord := h.message("501", "/model b/m2")
		discord.ID = "501"
		discord.Target = core.Target{Thread: core.Thread{Platform: "discord", Account: "main", Workspace: "9", Channel: "501", Parent: "100", Kind: core.KindThread}, Opens: "501", ReplyTo: "501"}
		slack := h.message("C1", "!model c/m3")
		slack.ID = "1.1"
		slack.Target = core.Target{Thread: core.Thread{Platform: "slack", Account: "main", Workspace: "T", Channel: "C1", Root: "1.1", Kind: core.KindThread}, ReplyTo: "1.1"}
		for _, m := range []core.Message{discord, slack} {
			if err := h.bot.Message(context.Background(), m); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		h.expectPosts("100 command: This channel, and every new thread in it, now uses b/m2. …", "C1 command: This channel, and every new thread in it, now uses c/m3. …")
		if p := h.place.sent()[0].Target; p.Opens != "" || p.Thread != channel {
			t.Fatalf("on Discord it was answered at %+v", p)
		}
		if p := h.place.sent()[1].Target; p.Thread.Root != "1.1" {
			t.Fatalf("on Slack it was answered at %+v", p)
		}
		slack.ID, slack.Text, slack.Target.ReplyTo = "1.2", "hello", "1.2" // in the thread of the command
		if err := h.bot.Message(context.Background(), slack); err != nil {
			t.Fatal(err)
		}
		h.expectAsked("c/m3: hello")
	})
}

// A retry that opens a thread is for one of the caller's threads, as text too.
func TestRetryAsAnOpener(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.Threads = func(core.Thread) bool { return true }
		h.open()
		slack := func(id, text string) {
			t.Helper()
			m := h.message("C1", text)
			m.ID = id
			m.Target = core.Target{Thread: core.Thread{Platform: "slack", Account: "main", Workspace: "T", Channel: "C1", Root: id, Kind: core.KindThread}, ReplyTo: id}
			if err := h.bot.Message(context.Background(), m); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		slack("1.1", "what is it?")
		slack("2.2", "!retry")
		posts := h.place.sent()
		last := posts[len(posts)-1]
		expect(t, "the reply", []string{last.Text, last.Buttons[0].Label}, []string{"Conversations are held in threads here. Which one is /retry for?", "“what is it?”"})
		h.pressed = last.Target
		if r := h.press(last.Buttons[0].Token, last.Buttons[0].Value, "ann"); r.Text != "I’ll answer the last message again." {
			t.Fatalf("the press says %+v", r)
		}
		h.expectAsked("a/m1: what is it?", "a/m1: what is it?")
		posts = h.place.sent()
		if last := posts[len(posts)-1]; last.Kind != core.PostAnswer || last.Target.Thread.Root != "1.1" {
			t.Fatalf("it was answered as %+v", last)
		}
	})
}

// Under a strict failure stands the way out.
func TestButtonOfAStrictFailure(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.command("t1", "model c/m3", "ann")
		h.model("c/m3", broke, broke)
		h.say("t1", "hi")
		posts := h.place.sent()
		if len(posts) != 1 || len(posts[0].Buttons) != 1 {
			t.Fatalf("there is %+v", posts)
		}
		b := posts[0].Buttons[0]
		if r := h.press(b.Token, b.Value, "bob"); b.Label != "Use the default" || !r.Aside || r.Text != "This thread uses the default model again: a/m1." {
			t.Fatalf("%+v leads to %+v", b, r)
		}
		h.model("a/m1", broke, broke)
		h.model("b/m2", broke, broke)
		h.say("t1", "hi")
		if posts := h.place.sent(); len(posts) != 2 || len(posts[1].Buttons) != 0 {
			t.Fatalf("without a choice there is %+v", posts)
		}
	})
}
