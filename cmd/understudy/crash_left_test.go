package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
	"understudy/core/llm"
	"understudy/core/llm/llmtest"
)

// killedAfterTool: what people saw of a turn that is not run again gives way to
// the word that it was interrupted.
func killedAfterTool(t *testing.T, m *machine) {
	status := llm.Call{ID: "call-1", Name: "session_status", Args: json.RawMessage(`{}`)}
	m.lead.Queue("actor", llmtest.Stream(llmtest.Say("One moment."), llmtest.Gate("shown"), llmtest.Use(status)), llmtest.Stream(llmtest.Hang()))
	m.start()
	k := m.open(m.towns[0], "how are you?")
	preview := k.next("One moment.")
	m.lead.Open("shown")
	m.asked(2)
	m.kill()

	m.start()
	k.seen = 0
	if told := k.next("I was interrupted"); told.id != preview.id || strings.Contains(told.text, "One moment.") {
		t.Errorf("the preview was %+v, the thread is told with %+v", preview, told)
	}
	m.lead.Queue("actor", llmtest.Text("Well."))
	k.say(k.town.command("/retry"))
	k.next("Well.")
	m.terminate()
	m.ended()
	k.nothingElse()
	if n := asked(m.lead); n != 3 {
		t.Errorf("the lead was asked %d times, want three: the turn was run again by itself", n)
	}
}

// killedWithQueue: what waited for its turn is answered in order.
func killedWithQueue(t *testing.T, m *machine) {
	m.lead.Queue("actor", llmtest.Stream(llmtest.Hang()))
	m.start()
	k := m.open(m.towns[0], "first")
	m.asked(1)
	for _, text := range []string{"second", "third", "fourth"} {
		k.say(text)
	}
	m.until(k.town, "the queue", func() bool { return strings.Count(m.err.String(), "message admitted") == 4 })
	m.kill()
	m.lead.Queue("actor", llmtest.Text("One."), llmtest.Text("Two."), llmtest.Text("Three."), llmtest.Text("Four."))
	m.start()
	for _, want := range []string{"One.", "Two.", "Three.", "Four."} {
		k.next(want)
	}
	m.terminate()
	m.ended()
	k.nothingElse()
	if got := k.heard(m.lead); !inOrder(got, "first", "One.", "second", "Two.", "third", "Three.", "fourth") {
		t.Errorf("the model heard\n%s", got)
	}
}

// inOrder reports whether a text has all of them, one after the other.
func inOrder(text string, all ...string) bool {
	for _, s := range all {
		_, after, found := strings.Cut(text, s)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// killedLongBefore: the bot finds what it posted also when the platform does not
// know its key any more.
func killedLongBefore(t *testing.T, m *machine) {
	m.lead.Queue("actor", llmtest.Text("Here I am."), llmtest.Text("Still."))
	m.start()
	made, drop := m.towns[0].hold()
	k := m.open(m.towns[0], "anybody there?")
	m.wait("the answer", made)
	m.kill()
	drop()
	if d, ok := m.towns[0].(discordTown); ok {
		d.ForgetNonces()
	}
	m.start()
	k.next("Here I am.")
	k.say("really?")
	k.next("Still.")
	m.terminate()
	m.ended()
	k.nothingElse()
}

// killedAmid lets the program be killed while a preview of its answer shows.
func (m *machine) killedAmid() (k *talk, preview shown) {
	m.lead.Queue("actor", llmtest.Stream(llmtest.Say("To be, or"), llmtest.Gate("never")))
	m.start()
	k = m.open(m.towns[0], "the monologue, please")
	preview = k.next("To be, or")
	m.kill()
	return k, preview
}

// killedPreviewGone: an answer whose preview cannot be edited any more is
// posted anew, once.
func killedPreviewGone(t *testing.T, m *machine) {
	k, preview := m.killedAmid()
	switch town := m.towns[0].(type) {
	case discordTown:
		town.Remove(k.thread, preview.id)
	case slackTown:
		town.Remove(slacktest.Channel, preview.id)
	}
	k.seen = 0
	m.lead.Queue("actor", llmtest.Text("To be, or not to be."))
	m.start()
	if answer := k.next("not to be."); answer.id == preview.id {
		t.Error("the answer is in a message that is gone")
	}
	m.terminate()
	m.ended()
	k.nothingElse()
}

// killedPreviewFixed: a preview that can neither be edited nor taken away is
// marked as interrupted, and its reader is offered a retry.
func killedPreviewFixed(t *testing.T, m *machine) {
	k, preview := m.killedAmid()
	switch town := m.towns[0].(type) {
	case discordTown:
		for _, method := range []string{"PATCH", "DELETE"} {
			town.Inject(discordtest.Fault{Method: method, Path: "/channels/*/messages/*", Times: 100, Status: 403, Code: 50013, Message: "Missing Permissions"})
		}
	case slackTown:
		for range 20 {
			town.Fail("chat.update", slacktest.Fault{Error: "cant_update_message"})
			town.Fail("chat.delete", slacktest.Fault{Error: "cant_delete_message"})
		}
	}
	m.lead.Queue("actor", llmtest.Text("To be, or not to be."), llmtest.Text("To be, again."))
	m.start()
	if answer := k.next("not to be."); answer.id == preview.id {
		t.Error("the answer is in the message that cannot be edited")
	}
	k.next("An answer above was interrupted and cannot be changed any more")
	k.say(k.town.command("/retry"))
	k.next("To be, again.")
	m.terminate()
	m.ended()
	k.nothingElse()
}

// killedThenLocked: where nothing can be said or changed in the thread any more,
// the channel that holds it is told, and the retry that it is told of works.
func killedThenLocked(t *testing.T, m *machine) {
	town, ok := m.towns[0].(discordTown)
	if !ok {
		return // threads of Slack are not locked; an archived channel takes nothing at all
	}
	k, _ := m.killedAmid()
	town.Change(k.thread, func(c *discordtest.Channel) { c.Archived, c.Locked = true, true })
	m.lead.Queue("actor", llmtest.Text("To be, or not to be."), llmtest.Text("To be, again."))
	m.start()
	square := &talk{stand: m.stand, town: town, thread: discordSquare}
	if told := square.next("I cannot answer in the thread <#" + k.thread + ">: the thread is locked"); !strings.HasSuffix(told.text, "Then send /retry there.") {
		t.Errorf("the channel is told %q", told.text)
	}
	m.until(town, "the end of that answer", func() bool { return strings.Contains(m.err.String(), "a post was given up") })
	town.Change(k.thread, func(c *discordtest.Channel) { c.Archived, c.Locked = false, false })
	k.say(k.town.command("/retry"))
	k.next("To be, again.")
	m.terminate()
	m.ended()
	k.nothingElse()
	square.nothingElse()
}

// stopped: SIGTERM lets a turn finish.
func stopped(t *testing.T, m *machine) {
	m.lead.Queue("actor", llmtest.Stream(llmtest.Gate("curtain"), llmtest.Say("The end.")))
	m.start()
	k := m.open(m.towns[0], "the last line, please")
	m.asked(1)
	m.terminate()
	m.connected(0) // it takes no more messages
	m.lead.Open("curtain")
	m.ended()
	k.next("The end.")
	k.nothingElse()
}

// stoppedWithoutAnswer: a turn that does not finish within the grace is
// answered after the next start, once.
func stoppedWithoutAnswer(t *testing.T, m *machine) {
	m.env = append(m.env, "UNDERSTUDY_SHUTDOWN_GRACE=50ms")
	m.lead.Queue("actor", llmtest.Stream(llmtest.Hang()))
	m.start()
	k := m.open(m.towns[0], "the last line, please")
	m.asked(1)
	m.terminate()
	m.ended()
	k.nothingElse()
	_, states := m.record(k.town, k.thread)
	if len(states[leadProfile].Models) > 0 {
		t.Errorf("the stop was blamed on the model: %+v", states)
	}

	m.lead.Queue("actor", llmtest.Text("The end."))
	m.start()
	k.next("The end.")
	m.terminate()
	m.ended()
	k.nothingElse()
}

// stoppedAlone: a platform that is gone does not hold up the end.
func stoppedAlone(t *testing.T, m *machine) {
	m.start()
	m.towns[0].Close()
	m.terminate()
	m.ended()
}

// stoppedAtOnce: a second signal ends the bot though it has time left, and what
// it was doing is done by the next one.
func stoppedAtOnce(t *testing.T, m *machine) {
	m.env = append(m.env, "UNDERSTUDY_SHUTDOWN_GRACE=1h")
	m.lead.Queue("actor", llmtest.Stream(llmtest.Hang()))
	m.start()
	k := m.open(m.towns[0], "the last line, please")
	m.asked(1)
	m.terminate()
	m.connected(0) // it has heard the first
	m.terminate()
	err := m.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("at a second signal the bot ended with %v", err)
	}
	k.nothingElse()

	m.lead.Queue("actor", llmtest.Text("The end."))
	m.start()
	k.next("The end.")
	m.terminate()
	m.ended()
	k.nothingElse()
}
