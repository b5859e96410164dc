package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"understudy/adapters/slack/slacktest"
	"understudy/core/llm"
	"understudy/core/llm/llmtest"
	"understudy/sessions"
	"understudy/store"
)

// TestSlackCases plays, with everything wired, reported failures that are
// Slack's own, or whose other half is played elsewhere.
func TestSlackCases(t *testing.T) {
	for id, play := range map[string]func(*street, slackTown){
		"p013": theRootIsKnownFromTheFirstTurn,
		"p021": anOpenerKnowsNothingOfItsChannel,
		"p033": theQuestionIsDeleted,
		"p039": postsMakeNoSessions,
		"p112": stopIsHeardAtOnce,
		"p116": commandsInAThread,
		"p134": answersThatShowNothing,
		"p152": stopClearsTheStatus,
		"p176": twoMessagesAtWork,
		"p186": aPickIsOfTheListItStoodIn,
		"p188": aListOfAnEarlierProcess,
		"p194": takingPartOutlivesARestart,
	} {
		t.Run(id, func(t *testing.T) {
			s := newStreet(t, newSlackTown(t))
			play(s, s.town.(slackTown))
		})
	}
}

// stored reads from the store, as another process may at any time.
func stored[T any](s *street, read func(*store.Store) (T, error)) T {
	s.Helper()
	st, err := store.Open(s.Context(), store.Options{Path: s.storePath()})
	if err != nil {
		s.Fatal(err)
	}
	defer st.Close()
	v, err := read(st)
	if err != nil {
		s.Fatal(err)
	}
	return v
}

// heardIn are the keys of the sessions in which somebody was heard.
func (s *street) heardIn() []string {
	s.Helper()
	heard := stored(s, func(st *store.Store) ([]sessions.Heard, error) { return st.Heard(s.Context(), sessions.Where{}, 99) })
	var keys []string
	for _, h := range heard {
		keys = append(keys, h.Session.Thread)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// statuses are the texts that the status line of a thread was set to.
func (p slackTown) statuses(thread string) (texts []string) {
	for _, c := range p.Calls("assistant.threads.setStatus") {
		if c.Args["thread_ts"] == thread {
			texts = append(texts, c.Args["status"])
		}
	}
	return texts
}

func theRootIsKnownFromTheFirstTurn(s *street, p slackTown) {
	s.run(`"replyTo": "all",`)
	s.lead.Queue("actor", llmtest.Text("Begun."), llmtest.Text("Followed."))
	k := s.open(p, "start")
	k.next("Begun.")
	first, _ := s.record(p, k.thread)
	if to := first.Target; to.Thread.Root != k.thread || to.Thread.Key() != first.Key.Thread {
		k.Errorf("after the first turn the session answers at %+v", to)
	}
	k.say("follow-up")
	k.next("Followed.")
	if second, _ := s.record(p, k.thread); second.Target.Thread != first.Target.Thread || second.Transcript != first.Transcript {
		k.Errorf("the reply is of another conversation: %+v", second)
	}
	if keys := s.heardIn(); len(keys) != 1 {
		k.Errorf("sessions are %q", keys)
	}
}

func anOpenerKnowsNothingOfItsChannel(s *street, p slackTown) {
	s.run(`"replyTo": "off",`)
	s.lead.Queue("actor", llmtest.Text("As you say."))
	square, _ := s.square()
	for range 3 {
		square.say(p.command("an old topic"))
		square.next("As you say.")
	}
	s.stop()
	s.run(`"replyTo": "all",`)
	s.lead.Queue("actor", llmtest.Text("Something new."))
	k := s.open(p, "new topic")
	k.next("Something new.")
	if heard := k.heard(s.lead); strings.Contains(heard, "old topic") || !strings.Contains(heard, "new topic") {
		k.Errorf("the opener was asked with\n%s", heard)
	}
	if session, _ := s.record(p, k.thread); session.Target.Thread.Root != k.thread {
		k.Errorf("the first turn ran in %+v", session.Target.Thread)
	}
}

// theQuestionIsDeleted while it is answered: Slack would show the answer to the
// whole channel. It is taken away, nothing more is sent there, and the session
// keeps it.
func theQuestionIsDeleted(s *street, p slackTown) {
	s.run("")
	s.lead.Queue("actor", llmtest.Stream(llmtest.Gate("slow"), llmtest.Say("For your eyes.")))
	k := s.open(p, "a secret")
	s.until(p, "the request", func() bool { return asked(s.lead) == 1 })
	p.Remove(slacktest.Channel, k.last)
	s.lead.Open("slow")
	s.until(p, "the answer to be taken away", func() bool { return len(p.Calls("chat.delete")) == 1 })
	s.stop()
	for _, m := range p.Messages(slacktest.Channel) {
		k.Errorf("in the channel stands %+v", m)
	}
	if n := len(p.Calls("chat.postMessage")); n != 1 {
		k.Errorf("%d posts", n)
	}
	session, _ := s.record(p, k.thread)
	entries := stored(s, func(st *store.Store) ([]sessions.Entry, error) {
		return st.Transcript(s.Context(), session.Key, session.Transcript, 9)
	})
	if len(entries) == 0 || entries[len(entries)-1].Message.Text() != "For your eyes." {
		k.Errorf("the session keeps %+v", entries)
	}
}

func postsMakeNoSessions(s *street, p slackTown) {
	s.run(`"replyTo": "all",`)
	var long strings.Builder
	for n := range 1200 {
		fmt.Fprintf(&long, "line %d of it\n", n)
	}
	s.lead.Queue("actor", llmtest.Text(long.String()), llmtest.Text("The end."))
	k := s.open(p, "hi")
	s.until(p, "all of it", func() bool {
		posts := p.posts(k.thread)
		return len(posts) > 4 && strings.Contains(posts[len(posts)-1].text, "line 1199")
	})
	k.seen = len(p.posts(k.thread))
	k.say("and?")
	k.next("The end.")
	if keys, want := s.heardIn(), p.key(k.thread).Thread; !slices.Equal(keys, []string{want}) {
		k.Errorf("sessions are %q, want %q alone", keys, want)
	}
}

func stopIsHeardAtOnce(s *street, p slackTown) {
	s.run("")
	s.lead.Queue("actor", llmtest.Stream(llmtest.Gate("never")), llmtest.Text("As you wish."))
	k := s.open(p, "long")
	s.until(p, "the request", func() bool { return asked(s.lead) == 1 })
	k.say(" /stop")
	k.next("Stopped.")
	k.say("please stop saying that")
	k.next("As you wish.")
	if heard := k.heard(s.lead); strings.Contains(heard, "/stop") || !strings.Contains(heard, "please stop saying that") {
		k.Errorf("the model was asked with\n%s", heard)
	}
	s.stop()
	k.nothingElse()
}

func commandsInAThread(s *street, p slackTown) {
	s.run("")
	s.lead.Queue("actor", llmtest.Text("Good evening."))
	s.standIn.Queue("double", llmtest.Text("I am the double."))
	k := s.open(p, "hello")
	k.next("Good evening.")
	picked := llm.Ref{Provider: "second", Model: "double"}
	for _, text := range []string{"!model " + standInModel, p.command("/model " + standInModel)} {
		k.say(text)
		k.next(standInModel)
		if got := s.chosen(k.thread); got != picked {
			k.Errorf("%q stored %v", text, got)
		}
		k.say("!model default")
		k.next(leadModel)
	}
	k.say("!model " + standInModel)
	k.next(standInModel)
	for _, text := range []string{"!great job", "`!model lead/actor`"} {
		k.say(text)
		k.next("I am the double.")
		if heard := k.heard(s.standIn); !strings.Contains(heard, text) {
			k.Errorf("%q was no input:\n%s", text, heard)
		}
	}
	if got := s.chosen(k.thread); got != picked {
		k.Errorf("code changed the choice to %v", got)
	}
	if channel := s.chosen(""); channel != (llm.Ref{}) {
		k.Errorf("the channel uses %v", channel)
	}
}

// answersThatShowNothing: nobody is sent a blank message. A model that says
// nothing at all has failed, and that is told once; one that has nothing to say
// is silent. What only looks like nothing is shown.
func answersThatShowNothing(s *street, p slackTown) {
	s.run("")
	s.lead.Queue("actor", llmtest.Text("   \n"))
	s.standIn.Queue("double", llmtest.Text("   \n"))
	k := s.open(p, "x")
	k.next("empty")
	s.lead.Queue("actor", llmtest.Text("[[reply_to_current]]"))
	n := asked(s.lead)
	k.say("y")
	s.until(p, "the request", func() bool { return asked(s.lead) > n })
	s.lead.Queue("actor", llmtest.Text("<b></b>"))
	k.say("z")
	k.next("&lt;b&gt;&lt;/b&gt;")
	s.stop()
	k.nothingElse()
	for _, c := range p.Calls("chat.postMessage") {
		if strings.TrimSpace(c.Args["text"]) == "" || c.Error != "" || c.Args["thread_ts"] != k.thread {
			k.Errorf("posted with %v: %s", c.Args, c.Error)
		}
	}
}

func stopClearsTheStatus(s *street, p slackTown) {
	s.run("")
	s.lead.Queue("actor", llmtest.Text("Good evening."))
	k := s.open(p, "hello")
	k.next("Good evening.")
	s.until(p, "the end of the status", func() bool { return p.Status(slacktest.Channel, k.thread) == "" })
	// Another process may have left one, of which nobody here knows. A turn may
	// take a moment to end after its answer is there.
	before := 0
	for said := ""; !strings.Contains(said, "Nothing is running here."); {
		before = len(p.statuses(k.thread))
		k.say("!stop")
		said = k.next("").text
	}
	s.until(p, "another end of the status", func() bool {
		texts := p.statuses(k.thread)
		return len(texts) > before && texts[len(texts)-1] == ""
	})
}

// killedWithAStatus: the status that a killed process left on Slack, which keeps
// people from writing, is taken away by the next one.
func killedWithAStatus(t *testing.T, m *machine) {
	p, ok := m.towns[0].(slackTown)
	if !ok {
		return // elsewhere it goes by itself
	}
	m.lead.Queue("actor", llmtest.Stream(llmtest.Hang()))
	m.start()
	k := m.open(p, "anybody there?")
	m.until(p, "the status", func() bool { return p.Status(slacktest.Channel, k.thread) != "" })
	m.asked(1)
	m.kill()
	if p.Status(slacktest.Channel, k.thread) == "" {
		t.Fatal("the status went with the process")
	}
	m.lead.Queue("actor", llmtest.Text("Always."))
	m.start()
	k.next("Always.")
	m.terminate()
	m.ended()
	if texts := p.statuses(k.thread); texts[len(texts)-1] != "" || p.Status(slacktest.Channel, k.thread) != "" {
		t.Errorf("the status was set to %q", texts)
	}
}

// twoMessagesAtWork: while the second waits and is answered, the thread shows
// that somebody is at work, whatever ends before.
func twoMessagesAtWork(s *street, p slackTown) {
	s.run("")
	s.lead.Queue("actor", llmtest.Stream(llmtest.Gate("first"), llmtest.Say("One.")), llmtest.Stream(llmtest.Gate("second"), llmtest.Say("Two.")))
	k := s.open(p, "one")
	s.until(p, "the first request", func() bool { return asked(s.lead) == 1 })
	k.say("two")
	s.until(p, "the second message to be admitted", func() bool { return strings.Count(s.said.String(), "message admitted") == 2 })
	s.lead.Open("first")
	k.next("One.")
	s.until(p, "the second request", func() bool { return asked(s.lead) == 2 })
	s.until(p, "the status", func() bool { return p.Status(slacktest.Channel, k.thread) != "" })
	if texts := p.statuses(k.thread); slices.Contains(texts, "") {
		k.Errorf("while the second is at work the status was set to %q", texts)
	}
	s.lead.Open("second")
	k.next("Two.")
	s.stop()
	texts := p.statuses(k.thread)
	if ends := len(slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s != "" })); ends != 1 || texts[len(texts)-1] != "" || p.Status(slacktest.Channel, k.thread) != "" {
		k.Errorf("the status was set to %q", texts)
	}
}

// takingPartOutlivesARestart: in a thread in which the bot answered it need not
// be mentioned again, unless somebody else is spoken to, or the rule says so.
func takingPartOutlivesARestart(s *street, p slackTown) {
	s.run("")
	s.lead.Queue("actor", llmtest.Text("X it is."))
	k := s.open(p, "what of X?")
	k.next("X it is.")
	s.stop()
	s.again()
	s.lead.Queue("actor", llmtest.Text("Y is fine."), llmtest.Text("So is Z."))
	k.say("what about Y?")
	k.next("Y is fine.")
	k.say("<@" + slacktest.OtherUser + "> your view?")
	k.say("and Z?")
	k.next("So is Z.")
	s.stop()
	s.run(`"requireMention": "always",`)
	s.lead.Queue("actor", llmtest.Text("V, too."))
	k.say("what about W?")
	k.say("<@" + slacktest.OtherUser + "> and yours?")
	k.say(p.command("and V?"))
	k.next("V, too.")
	s.stop()
	k.nothingElse()
	if heard := k.heard(s.lead); strings.Contains(heard, "view") || strings.Contains(heard, "W?") || strings.Contains(heard, "yours") {
		k.Errorf("the model was asked with\n%s", heard)
	}
}
