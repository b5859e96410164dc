package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"understudy/core/llm/llmtest"
)

// TestProcess runs the program as a process of its own and treats it as the
// world does: kill -9 at the worst moments, SIGTERM, a second start. The
// platforms and providers live on in the test.
func TestProcess(t *testing.T) {
	program := filepath.Join(t.TempDir(), "understudy")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip("NOT TESTED: there is no go tool to build the program with, so nothing is known about crashes")
		}
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	for name, newTown := range towns {
		for _, c := range []struct {
			name string
			test func(*testing.T, *machine)
		}{
			{"killed between turns", killedBetweenTurns},
			{"killed while streaming", killedWhileStreaming},
			{"p084", killedBetweenOneAnswerAndTheNext},
			{"killed before the post is noted", killedBeforeNoted},
			{"killed long before the start", killedLongBefore},
			{"killed and the preview gone", killedPreviewGone},
			{"killed and the preview fixed", killedPreviewFixed},
			{"killed and then locked", killedThenLocked},
			{"killed before the answer", killedBeforeAnswer},
			{"p152", killedWithAStatus},
			{"killed after a tool", killedAfterTool},
			{"killed with a queue", killedWithQueue},
			{"killed at every step", killedAtEveryStep},
			{"cleared from outside", clearedFromOutside},
			{"second start", secondStart},
			{"stopped", stopped},
			{"stopped without an answer", stoppedWithoutAnswer},
			{"stopped alone", stoppedAlone},
			{"stopped at once", stoppedAtOnce},
		} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				c.test(t, &machine{stand: newStand(t, newTown(t)), program: program})
			})
		}
	}
}

// machine is a stand where the bot is a process.
type machine struct {
	*stand
	program string
	cmd     *exec.Cmd
	err     output // of all processes, one after the other
}

// command is the program with an environment that holds nothing but what the
// stand wants.
func (m *machine) command(args ...string) *exec.Cmd {
	c := exec.Command(m.program, args...)
	c.Dir = m.dir
	c.Env = append([]string{"HOME=" + m.dir, "PATH=" + os.Getenv("PATH")}, m.env...)
	return c
}

// start starts the bot and waits until it is connected.
func (m *machine) start() {
	m.Helper()
	m.cmd = m.command("run")
	m.cmd.Stderr = &m.err
	if err := m.cmd.Start(); err != nil {
		m.Fatal(err)
	}
	cmd := m.cmd
	m.Cleanup(func() {
		_ = cmd.Process.Kill() // an error says that it is gone already
		_ = cmd.Wait()
		if m.Failed() && cmd == m.cmd {
			m.Logf("the bot said:\n%s", &m.err)
		}
	})
	m.connected(1)
}

// kill ends the bot without a chance to do anything.
func (m *machine) kill() {
	m.Helper()
	if err := m.cmd.Process.Kill(); err != nil {
		m.Fatal(err)
	}
	_ = m.cmd.Wait() // it was killed
	m.connected(0)
}

// terminate asks the bot to stop.
func (m *machine) terminate() {
	m.Helper()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		m.Fatal(err)
	}
}

// ended waits for the end of the bot, which must be a clean one.
func (m *machine) ended() {
	m.Helper()
	end := make(chan error, 1)
	go func() { end <- m.cmd.Wait() }()
	select {
	case err := <-end:
		if err != nil {
			m.Errorf("the bot ended with %v", err)
		}
	case <-time.After(patience):
		m.Fatal("the bot does not end")
	}
	m.connected(0)
}

// run runs another command of the program and returns what it says.
func (m *machine) run(args ...string) (code int, text string) {
	m.Helper()
	out, err := m.command(args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return code, string(out)
}

// killedBetweenTurns: what was learned in the first turn holds in the second.
func killedBetweenTurns(t *testing.T, m *machine) {
	m.limit("600")
	m.standIn.Queue("double", llmtest.Text("I stand in."), llmtest.Text("I still stand in."))
	m.start()
	k := m.open(m.towns[0], "good evening")
	k.next("I stand in.")
	k.next(movedText)
	m.kill()
	session, states := m.record(k.town, k.thread)
	if !session.Notice.Moved() || len(states[leadProfile].Models) == 0 {
		t.Fatalf("the first turn left %+v and %+v", session.Notice, states)
	}

	m.start()
	if s, now := m.record(k.town, k.thread); !same(s, session) || !same(now, states) {
		t.Errorf("the restart changed the session\n%+v to\n%+v, or the profiles\n%+v to\n%+v", session, s, states, now)
	}
	k.say("still there?")
	k.next("I still stand in.")
	if n := asked(m.lead); n != 1 {
		t.Errorf("the lead was asked %d times, want once: its cooldown holds", n)
	}
	if got, want := k.heard(m.standIn), "good evening\nassistant: I stand in.\n"; !strings.Contains(got, want) || !strings.Contains(got, "still there?") {
		t.Errorf("the conversation did not go on; the model heard\n%s", got)
	}
	m.terminate()
	m.ended()
	k.nothingElse()
	after, _ := m.record(k.town, k.thread)
	if !same(after.Notice, session.Notice) {
		t.Errorf("the notice state went from %+v to %+v", session.Notice, after.Notice)
	}
}

// killedWhileStreaming: the answer that people saw half of is finished in the
// same message.
func killedWhileStreaming(t *testing.T, m *machine) {
	m.lead.Queue("actor", llmtest.Stream(llmtest.Say("To be, or"), llmtest.Gate("never")))
	m.start()
	k := m.open(m.towns[0], "the monologue, please")
	preview := k.next("To be, or")
	m.kill()

	m.lead.Queue("actor", llmtest.Text("To be, or not to be."), llmtest.Text("That is the question."))
	m.start()
	k.seen = 0
	if answer := k.next("not to be."); answer.id != preview.id {
		t.Errorf("the answer is message %s, the preview was %s", answer.id, preview.id)
	}
	k.say("and then?")
	k.next("That is the question.")
	if got := k.heard(m.lead); strings.Count(got, "the monologue, please") != 1 || strings.Count(got, "To be, or") != 1 {
		t.Errorf("the conversation did not go on as if nothing had been; the model heard\n%s", got)
	}
	m.terminate()
	m.ended()
	k.nothingElse()
}

// killedBetweenOneAnswerAndTheNext: what is read again at the start, since it was
// said around the end, holds a message that was answered, which is not answered
// again, and one that was answered half, which is answered once, in its preview.
func killedBetweenOneAnswerAndTheNext(t *testing.T, m *machine) {
	m.lead.Queue("actor", llmtest.Text("To the first."), llmtest.Stream(llmtest.Say("To the se"), llmtest.Gate("never")))
	m.start()
	k := m.open(m.towns[0], "a first line")
	k.next("To the first.")
	k.say("a second line")
	preview := k.next("To the se")
	m.kill()

	m.lead.Queue("actor", llmtest.Text("To the second."), llmtest.Text("To the third."))
	m.start()
	k.seen--
	if answer := k.next("To the second."); answer.id != preview.id {
		t.Errorf("the answer is message %s, the preview was %s", answer.id, preview.id)
	}
	k.say("a third line")
	k.next("To the third.")
	m.terminate()
	m.ended()
	k.nothingElse()
	if n := asked(m.lead); n != 4 {
		t.Errorf("the lead was asked %d times, want 4", n)
	}
}

// killedBeforeNoted: a post that was made, and of which the bot never heard, is
// not made again; first the answer, then the notice.
func killedBeforeNoted(t *testing.T, m *machine) {
	m.limit("600")
	m.standIn.Queue("double", llmtest.Text("I stand in."), llmtest.Text("I still stand in."))
	m.start()
	answerMade, dropAnswer := m.towns[0].hold()
	k := m.open(m.towns[0], "good evening")
	m.wait("the answer", answerMade)
	m.kill()
	dropAnswer()

	noticeMade, dropNotice := m.towns[0].hold()
	m.start()
	m.wait("the notice", noticeMade)
	m.kill()
	dropNotice()
	session, states := m.record(k.town, k.thread)

	m.start()
	k.next("I stand in.")
	k.next(movedText)
	k.say("still there?")
	k.next("I still stand in.")
	m.terminate()
	m.ended()
	k.nothingElse()
	after, now := m.record(k.town, k.thread)
	if !same(after.Notice, session.Notice) || !same(now[leadProfile], states[leadProfile]) {
		t.Errorf("the crashes changed the notice state\n%+v to\n%+v, or the lead's\n%+v to\n%+v", session.Notice, after.Notice, states, now)
	}
	if n := asked(m.lead); n != 1 {
		t.Errorf("the lead was asked %d times, want once", n)
	}
}

// killedBeforeAnswer: a message that was taken and not answered is answered.
func killedBeforeAnswer(t *testing.T, m *machine) {
	m.lead.Queue("actor", llmtest.Stream(llmtest.Hang()))
	m.start()
	k := m.open(m.towns[0], "anybody there?")
	m.asked(1)
	m.kill()
	m.lead.Queue("actor", llmtest.Text("Always."), llmtest.Text("Still."))
	m.start()
	k.next("Always.")
	k.say("really?")
	k.next("Still.")
	if got := k.heard(m.lead); strings.Count(got, "anybody there?") != 1 {
		t.Errorf("the message should be in the conversation once; the model heard\n%s", got)
	}
	m.terminate()
	m.ended()
	k.nothingElse()
}

// killedAtEveryStep kills the bot after the first, second, … request of a turn
// to the platform. Each turn ends with one answer and one notice all the same.
func killedAtEveryStep(t *testing.T, m *machine) {
	m.limit("600")
	m.standIn.Queue("double", llmtest.Text("I stand in."))
	m.start()
	town := m.towns[0]
	var threads []*talk
	for step := 1; step <= 5; step++ {
		k := m.open(town, fmt.Sprintf("line %d, please", step))
		threads = append(threads, k)
		m.until(town, "the next step", func() bool {
			return town.requests(k.thread) >= step || len(town.posts(k.thread)) == 2
		})
		m.kill()
		m.start()
		k.next("I stand in.")
		k.next(movedText)
	}
	m.terminate()
	m.ended()
	for _, k := range threads {
		k.nothingElse()
	}
}

// clearedFromOutside: a block that another process lifts counts at the next
// attempt of the running one.
func clearedFromOutside(t *testing.T, m *machine) {
	m.limit("600")
	m.standIn.Queue("double", llmtest.Text("I stand in."))
	m.start()
	k := m.open(m.towns[0], "good evening")
	k.next("I stand in.")
	k.next(movedText)
	if code, text := m.run("auth", "clear", "leed:env"); code != 2 || !strings.Contains(text, leadProfile) {
		t.Errorf("a misspelt profile: exit code %d, %s", code, text)
	}
	if code, text := m.run("auth", "clear", leadProfile); code != 0 {
		t.Fatalf("auth clear: exit code %d, %s", code, text)
	}
	m.lead.Queue("actor", llmtest.Text("I am back."))
	k.say("and the lead?")
	k.next("I am back.")
	k.next(clearedText)
}

// secondStart: two bots on one store would answer everything twice.
func secondStart(t *testing.T, m *machine) {
	m.start()
	code, text := m.run("run")
	if want := fmt.Sprint(m.cmd.Process.Pid); code != 2 || !strings.Contains(text, want) {
		t.Errorf("exit code %d, want 2 and process %s in the text: %s", code, want, text)
	}
	m.lead.Queue("actor", llmtest.Text("I am still here."))
	k := m.open(m.towns[0], "hello")
	k.next("I am still here.")
}

// asked waits until the lead has got that many requests.
func (m *machine) asked(n int) {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Context(), patience)
	defer cancel()
	if err := m.lead.Await(ctx, n, 0); err != nil {
		m.Fatal(err)
	}
}

func (m *machine) wait(what string, done <-chan struct{}) {
	m.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		m.Fatalf("waited in vain for %s", what)
	}
}
