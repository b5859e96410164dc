package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
	"understudy/core/llm"
	"understudy/core/llm/llmtest"
)

// TestDiscordCases plays reported failures of Discord that need everything
// wired, by the number of the report.
func TestDiscordCases(t *testing.T) {
	for _, c := range []struct {
		id   string
		play func(*street)
	}{
		{"p028", anAnswerToALockedThreadIsKept},
		{"p043", aCommandInAThreadHasTheChannelsModel},
		{"p062", adminsAreNoExceptionFromWhoMayTalk},
		{"p083", whatIsSeenAgainIsAnsweredOnce},
		{"p120", everyModelCanBeReached},
	} {
		t.Run(c.id, func(t *testing.T) { c.play(newStreet(t, newDiscordTown(t))) })
	}
}

// TestBrokenAndChanged plays reported failures around answers that break off and
// messages that change, on each platform.
func TestBrokenAndChanged(t *testing.T) {
	for _, c := range []struct {
		id   string
		play func(*street)
	}{
		{"p053", aBrokenAnswerIsNoSecondAnswer},
		{"p081", aDeletedMessageThatIsAnsweredKeepsItsAnswer},
		{"p099", aChangedMessageIsNoMessage},
	} {
		for name, newTown := range towns {
			t.Run(c.id+"/"+name, func(t *testing.T) { c.play(newStreet(t, newTown(t))) })
		}
	}
}

// edit changes a message of a person.
func (s *street) edit(thread, id, text string) {
	switch p := s.town.(type) {
	case discordTown:
		p.Edit(thread, id, text)
	case slackTown:
		p.Edit(slacktest.Channel, id, text)
	}
}

// operatorsRead waits until one message for operators holds a text, whatever
// else they are told.
func (s *street) operatorsRead(want string) {
	s.Helper()
	s.until(s.town, "operators to read "+want, func() bool {
		return slices.ContainsFunc(s.told(), func(m shown) bool { return strings.Contains(m.text, want) })
	})
}

// A thread that is locked while it is answered: its channel is told once and
// without the answer, operators as well, and the answer is part of the
// conversation when that goes on.
func anAnswerToALockedThreadIsKept(s *street) {
	d := s.town.(discordTown)
	s.run(s.operators())
	s.lead.Queue("actor", llmtest.Stream(llmtest.Say("To be, "), llmtest.Gate("slow"), llmtest.Say("or not.")), llmtest.Text("As I said."))
	k := s.open(d, "the monologue, please")
	k.next("To be,")
	d.Change(k.thread, func(c *discordtest.Channel) { c.Archived, c.Locked = true, true })
	s.lead.Open("slow")
	s.until(d, "a word in the channel", func() bool { return len(d.posts(discordSquare)) == 1 })
	if text := d.posts(discordSquare)[0].text; !strings.Contains(text, "thread") || !strings.Contains(text, "locked") || strings.Contains(text, "or not") {
		k.Errorf("the channel is told %q", text)
	}
	s.operatorsRead("nothing can be said in the thread " + k.thread)
	s.operatorsRead("A post (answer) in discord channel " + k.thread + " was given up")
	if lost := lines(s.said.String(), "a post was given up"); len(lost) != 1 || !strings.Contains(lost[0], "turn=") {
		k.Errorf("the log says %q", lost)
	}

	d.Change(k.thread, func(c *discordtest.Channel) { c.Archived, c.Locked = false, false })
	k.say("what did you say?")
	k.next("As I said.")
	if heard := k.heard(s.lead); !strings.Contains(heard, "assistant: To be, or not.") {
		k.Errorf("the answer is not part of the conversation:\n%s", heard)
	}
	s.operatorsRead("something can be said in " + k.thread + " again")
	s.stop()
	k.nothingElse()
	if posts := d.posts(discordSquare); len(posts) != 1 {
		k.Errorf("the channel shows %+v", posts)
	}
}

func aCommandInAThreadHasTheChannelsModel(s *street) {
	d := s.town.(discordTown)
	s.run(`"agents": {"defaults": {"model": "` + leadModel + `"}, "entries": {"support": {"model": "` + standInModel + `"}}},
		"bindings": [{"agent": "support", "platform": "discord", "channel": "` + discordSquare + `"}],`)
	k := s.elsewhere()
	id := d.Interact(discordtest.Interaction{Channel: k.thread, User: "700", Command: "status", Raw: map[string]any{"channel": nil}})
	s.until(d, "the status", func() bool { return d.Answer(id).Content != "" })
	if text := d.Answer(id).Content; !strings.HasPrefix(text, "Selected: "+standInModel) {
		k.Errorf("the status is\n%s", text)
	}
	s.standIn.Queue("double", llmtest.Text("At your service."))
	k.say(d.command("hello"))
	k.next("At your service.")
	if n := asked(s.lead); n != 0 {
		k.Errorf("the lead was asked %d times", n)
	}
}

// Who may talk is one table: the place must be allowed and, where people are
// named, the person as well. Being an admin changes nothing about it.
func adminsAreNoExceptionFromWhoMayTalk(s *street) {
	for _, c := range []struct {
		people string // beside the channel in the list of who may talk
		in     bool   // whether 701 is answered in the channel that is listed; elsewhere nobody is
	}{{"", true}, {",user:701", true}, {",user:700", false}} {
		for _, admin := range []bool{false, true} {
			s.Run(fmt.Sprintf("%s admin=%v", strings.TrimPrefix(c.people, ","), admin), func(t *testing.T) {
				s := newStreet(t, newDiscordTown(t))
				d := s.town.(discordTown)
				s.env = append(s.env, "UNDERSTUDY_DISCORD_ALLOW="+discordSquare+c.people)
				more := `"thread": {"auto": false},`
				if admin {
					more += `"admin": {"users": ["discord:701"]},`
				}
				s.lead.Queue("actor", llmtest.Text("Good evening."))
				s.run(more)
				for channel, may := range map[string]bool{discordSquare: c.in, "110": false} {
					id := d.Interact(discordtest.Interaction{Channel: channel, User: "701", Command: "new"})
					s.until(d, "a response", func() bool { return d.Answer(id).Callback != 0 })
					if a := d.Answer(id); (a.Callback == 5) != may || !may && (a.Callback != 4 || !a.Ephemeral) {
						t.Errorf("the command in %s is answered with %+v", channel, a)
					}
					if may { // else it may come after the message, and take that away
						s.until(d, "the answer to the command", func() bool { return d.Answer(id).Content != "" })
					}
					d.Say(channel, "701", d.command("hello"))
				}
				want := 0
				if c.in { // the answer to the command, and that to the message
					want = 2
				}
				s.until(d, "the answers", func() bool { return len(d.posts(discordSquare)) == want })
				s.stop()
				if n := len(d.posts(discordSquare)); n != want || len(d.posts("110")) != 0 {
					t.Errorf("%d posts where it is allowed, %+v elsewhere", n, d.posts("110"))
				}
			})
		}
	}
}

// A message that a resumed connection repeats, and one that is read once more
// after a connection that could not be resumed, has one turn.
func whatIsSeenAgainIsAnsweredOnce(s *street) {
	d := s.town.(discordTown)
	s.run("")
	s.lead.Queue("actor", llmtest.Text("Good evening."))
	k := s.open(d, "hello")
	k.next("Good evening.")
	again := func(text string) {
		before := len(d.Identifies())
		d.DropAll()
		s.until(d, "another connection", func() bool { return len(d.Identifies()) > before && d.Connected() == 1 })
		k.say(text)
		k.next("Good evening.")
	}
	d.ReplayMore(3)
	again("after a replay")
	d.ForgetSessions()
	again("after a gap")
	s.stop()
	k.nothingElse()
	if n := asked(s.lead); n != 3 {
		k.Errorf("the lead was asked %d times, want 3", n)
	}
}

// Of any number of models each can be picked, and named with completions.
func everyModelCanBeReached(s *street) {
	for _, n := range []int{0, 25, 61, 200} {
		s.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newStreet(t, newDiscordTown(t))
			p, k := s.withModels(n)
			press := func(custom string, values ...string) discordtest.Answer {
				id := p.Interact(discordtest.Interaction{Type: discordtest.ComponentInteraction, Channel: k.thread, User: "700", CustomID: custom, Values: values, Message: "510"})
				s.until(p, "an answer", func() bool { return p.Answer(id).Edits > 0 })
				return p.Answer(id)
			}
			first := p.Interact(discordtest.Interaction{Channel: k.thread, User: "700", Command: "models"})
			s.until(p, "the list", func() bool { return p.Answer(first).Content != "" })
			a := p.Answer(first)
			if n == 0 {
				if a.Content != "No model can be chosen here." || len(a.Components) != 0 {
					t.Errorf("without a model it says %+v", a)
				}
				return
			}
			seen, last := map[string]bool{}, discordtest.Component{}
			for {
				if !strings.Contains(a.Content, fmt.Sprint(n)) {
					t.Errorf("the text does not tell how many there are: %q", a.Content)
				}
				more := ""
				for _, row := range a.Components {
					for _, c := range row.Components {
						if len(c.Options) > 0 {
							last = c
						}
						for _, o := range c.Options {
							seen[o.Label] = true
						}
						if c.Label == "More" {
							more = c.CustomID
						}
					}
				}
				if more == "" {
					break
				}
				a = press(more)
			}
			if len(seen) != n {
				t.Errorf("%d of %d models are shown", len(seen), n)
			}
			picked := last.Options[len(last.Options)-1]
			press(last.CustomID, picked.Value)
			if got, want := s.chosen(k.thread), (llm.Ref{Provider: "lead", Model: picked.Label}); got != want {
				t.Errorf("picked %v, stored %v", want, got)
			}
			name := fmt.Sprintf("lead/model-%03d", n-1)
			typed := p.Interact(discordtest.Interaction{Type: discordtest.CompleteInteraction, Channel: k.thread, User: "700", Command: "model", Options: map[string]string{"model": name}})
			s.until(p, "completions", func() bool { return p.Answer(typed).Callback == 8 })
			if c := p.Answer(typed).Choices; len(c) == 0 || c[0].Value != name {
				t.Errorf("for %s it offers %+v", name, c)
			}
		})
	}
}

// withModels is a thread in which the bot has answered, with so many models to
// choose from.
func (s *street) withModels(n int) (discordTown, *talk) {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"id": "model-%03d"}`, i))
	}
	s.run(fmt.Sprintf(`"modelPolicy": {"allow": ["lead/model-*"]}, "models": {"providers": {
		"lead": {"baseUrl": %q, "api": "anthropic", "models": [%s]}, "second": {"baseUrl": %q, "api": "chat"},
	}},`, s.lead.URL, strings.Join(all, ", "), s.standIn.URL+"/v1"))
	return s.discordTalk()
}

// An answer of which people saw the beginning ends there, with an error; no
// other model begins another one.
func aBrokenAnswerIsNoSecondAnswer(s *street) {
	s.run("")
	s.lead.Queue("actor", llmtest.Stream(llmtest.Say("Hello wor"), llmtest.Gate("shown"), llmtest.Drop()))
	s.standIn.Queue("double", llmtest.Text("Hello world!"))
	k := s.open(s.town, "hello")
	answer := k.next("Hello wor")
	s.lead.Open("shown")
	k.next("broke off")
	s.stop()
	k.nothingElse()
	if posts := s.town.posts(k.thread); posts[0].id != answer.id || !strings.HasPrefix(posts[0].text, "Hello wor") || strings.Contains(posts[0].text, "world") {
		k.Errorf("the answer is %+v", posts[0])
	}
	if n := asked(s.standIn); n != 0 {
		k.Errorf("the stand-in was asked %d times", n)
	}
}

// A message that is deleted while it is answered: the answer comes, as a reply
// to nothing, and what was deleted is not said to a model again.
func aDeletedMessageThatIsAnsweredKeepsItsAnswer(s *street) {
	s.run("")
	s.lead.Queue("actor", llmtest.Text("Good evening."))
	k := s.open(s.town, "hello")
	k.next("Good evening.")
	s.lead.Queue("actor", llmtest.Stream(llmtest.Gate("slow"), llmtest.Say("It is done.")), llmtest.Text("Nothing new."))
	k.say("the pin is 1234")
	s.until(s.town, "the request", func() bool { return asked(s.lead) == 2 })
	s.remove(k.thread, k.last)
	// Changes are handed over in the order of what is said.
	k.say("any news?")
	s.until(s.town, "the next message to be admitted", func() bool { return strings.Count(s.said.String(), "message admitted") == 3 })
	s.lead.Open("slow")
	if answer := k.next("It is done."); answer.reply != "" {
		k.Errorf("the answer replies to %s", answer.reply)
	}
	k.next("Nothing new.")
	s.stop()
	k.nothingElse()
	if heard := k.heard(s.lead); strings.Contains(heard, "1234") || !strings.Contains(heard, "It is done.") {
		k.Errorf("the next message was asked with\n%s", heard)
	}
}

// A message that is changed after it was answered is no other message, and stays
// what it was in the conversation; one that is deleted is taken out of it.
func aChangedMessageIsNoMessage(s *street) {
	s.run("")
	s.lead.Queue("actor", llmtest.Text("As you say."))
	k := s.open(s.town, "hello")
	k.next("As you say.")
	k.say("v1 text")
	k.next("As you say.")
	changed := k.last
	s.edit(k.thread, changed, "v2 text")
	k.say("continue")
	k.next("As you say.")
	if heard := k.heard(s.lead); !strings.Contains(heard, "v1 text") || strings.Contains(heard, "v2 text") {
		k.Errorf("after the change it was asked with\n%s", heard)
	}
	s.remove(k.thread, changed)
	k.say("and on")
	k.next("As you say.")
	if heard := k.heard(s.lead); strings.Contains(heard, "v1 text") || strings.Contains(heard, "v2 text") || !strings.Contains(heard, "continue") {
		k.Errorf("after the deletion it was asked with\n%s", heard)
	}
	s.stop()
	k.nothingElse()
	if n := asked(s.lead); n != 4 {
		k.Errorf("the lead was asked %d times, want 4", n)
	}
}

// A token that is revoked ends its own account: the operator is told once, where
// he still can be, the other platform goes on, and the end takes no time.
func TestP085(t *testing.T) {
	d, l := newDiscordTown(t).(discordTown), newSlackTown(t).(slackTown)
	l.AddPlace("C0OPS", "channel", "ops")
	s := newStand(t, d, l)
	s.configure(`"admin": {"channel": "slack:C0OPS", "every": "1s"},`)
	stop, said := s.runHere()
	d.Refuse(4004)
	d.CloseAll(4004)
	told := func() []slacktest.Message { return l.Posts("C0OPS", "") }
	s.until(l, "a word to the operator", func() bool { return len(told()) > 0 })
	s.lead.Queue("actor", llmtest.Text("Good evening."))
	k := s.open(l, "hello")
	k.next("Good evening.")
	if n := len(d.Identifies()); n > 2 {
		t.Errorf("%d attempts to connect", n)
	}
	if code := stop(); code != 0 {
		t.Errorf("run ended with %d", code)
	}
	if all := told(); len(all) != 1 || !strings.Contains(all[0].Text, "Reset Token") {
		t.Errorf("the operator is told %+v", all)
	}
	if ended := lines(said.String(), "an account stopped"); len(ended) != 1 || !strings.Contains(ended[0], "account=discord") {
		t.Errorf("the log says %q", ended)
	}
}
