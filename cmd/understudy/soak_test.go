package main

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"understudy/core/llm/llmtest"
)

// soakRate is how many messages people write in a second, over all threads of
// both platforms. It leaves the limits that platforms set to one bot room for
// what chaos makes it do again.
const soakRate = 8

// TestSoak runs the program for as long as UNDERSTUDY_SOAK says, while people
// talk in many threads of both platforms at once, providers fail, connections
// end in every way, requests are limited or lose their answers, and events
// come twice. In the end every message must have one answer, in its thread and
// in order; and what the program holds must not have grown.
func TestSoak(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("UNDERSTUDY_SOAK"))
	if err != nil || lasts <= 0 {
		t.Skip("NOT TESTED: whether the program holds out; UNDERSTUDY_SOAK=10m runs it for ten minutes")
	}
	program := filepath.Join(t.TempDir(), "understudy")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip("NOT TESTED: there is no go tool to build the program with")
		}
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	lead, double := httptest.NewServer(&parrot{dialect: llmtest.Messages, failsEach: 40}), httptest.NewServer(&parrot{dialect: llmtest.Chat})
	t.Cleanup(lead.Close)
	t.Cleanup(double.Close)
	s := &soak{machine: &machine{stand: newStandAt(t, lead.URL, double.URL, newDiscordTown(t), newSlackTown(t)), program: program}}
	s.env = append(s.env, "UNDERSTUDY_LOG=info")
	s.people(min(200, max(20, int(lasts.Seconds()))))

	s.start()
	memory := watchMemory(s.cmd.Process.Pid)
	s.talk(lasts)
	samples := memory()
	after := s.goroutines()
	s.start() // again, with the same conversations, and nobody has said a word
	before := s.goroutines()

	said := s.check()
	slope := leastSquares(samples[len(samples)/2:])
	t.Logf("%d messages in %d threads, %d notices, %d things went wrong; goroutines at rest: %d after a start, %d after the traffic; anonymous memory %s, in the second half %+.0f KiB a minute",
		said, len(s.threads), s.notices, s.wrongs, before, after, span(samples), slope*60/1024)
	if after > before+10 {
		t.Errorf("%d goroutines are left at rest, a fresh start has %d", after, before)
	}
	if limit := 1 << 20; lasts >= 5*time.Minute && slope*60 > float64(limit) {
		t.Errorf("anonymous memory grows by %.0f KiB a minute, at most %d are allowed", slope*60/1024, limit>>10)
	}
}

// soak is the program amid the traffic.
type soak struct {
	*machine
	threads []*soakThread
	streets [2]sync.RWMutex // of Discord and Slack
	notices int
	wrongs  int
}

// people makes the threads, half of them on each platform, in ten channels
// each.
func (s *soak) people(threads int) {
	d, l := s.towns[0].(discordTown), s.towns[1].(slackTown)
	var stages []soakPlace
	for n := range 10 {
		stages = append(stages, discordStage(d, n), slackStage(l, n))
	}
	for n := range threads {
		s.threads = append(s.threads, &soakThread{number: n, place: stages[n%len(stages)], street: &s.streets[n%2]})
	}
}

// talk lets everybody talk for that long, and waits for the last answers.
func (s *soak) talk(lasts time.Duration) {
	s.Helper()
	over := time.Now().Add(lasts)
	pause := time.Duration(len(s.threads)) * time.Second / soakRate
	var group sync.WaitGroup
	for _, k := range s.threads {
		group.Go(func() { k.talk(over, pause) })
	}
	s.chaos(over)
	group.Wait()
}

// goroutines ends the program by asking it what it is doing, and counts that,
// without idle connections and what the runtime does for itself. The traffic is
// over by then.
func (s *soak) goroutines() int {
	s.Helper()
	known := len(s.err.String())
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		s.Fatal(err)
	}
	_ = s.cmd.Wait() // it does not end well: it shows its stacks
	s.cmd = nil
	s.connected(0)
	_, stacks, _ := strings.Cut(s.err.String()[known:], "SIGQUIT: quit\n")
	n := 0
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		idle := strings.Contains(stack, "net/http.(*Transport).dialConn") // how many of those there may be is limited
		if strings.HasPrefix(stack, "goroutine ") && !idle && !strings.Contains(stack, "created by runtime.") {
			n++
		}
	}
	return n
}

// check holds what stands in the threads against what was said there.
func (s *soak) check() (said int) {
	s.Helper()
	for _, k := range s.threads {
		said += len(k.said)
		answers, notices, strange := k.read()
		s.notices += notices
		if got, want := strings.Join(answers, " "), strings.Join(k.said, " "); got != want {
			s.Errorf("%s %s: the answers are to\n%s, said was\n%s; the log has\n%s", k.place.name, k.id, got, want, s.about(k.id))
		}
		for _, text := range strange {
			s.Errorf("%s %s: nobody expects %.300q; the log has\n%s", k.place.name, k.id, text, s.about(k.id))
		}
	}
	return said
}

// about is what the program logged about a thread, and its warnings.
func (s *soak) about(thread string) string {
	var b strings.Builder
	for line := range strings.Lines(s.err.String()) {
		if strings.Contains(line, thread) || strings.Contains(line, "level=WARN") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// level is how much anonymous memory the program had when.
type level struct {
	at    time.Time
	bytes float64
}

// watchMemory samples a process every second until the returned function is
// called, which returns the samples. Only Linux tells them.
func watchMemory(pid int) (stop func() []level) {
	end, all := make(chan struct{}), make(chan []level)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		var taken []level
		for {
			select {
			case at := <-tick.C:
				if n, ok := anonymous(pid); ok {
					taken = append(taken, level{at, n})
				}
			case <-end:
				all <- taken
				return
			}
		}
	}()
	return func() []level {
		close(end)
		return <-all
	}
}

// anonymous is RssAnon: what the process has in memory that no file backs.
func anonymous(pid int) (bytes float64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "RssAnon: %f kB", &kib); n == 1 {
			return kib * 1024, true
		}
	}
	return 0, false
}

// leastSquares is the slope of the line through the samples, in bytes a second.
func leastSquares(all []level) float64 {
	if len(all) < 2 {
		return 0
	}
	var x, y, xx, xy float64
	for _, s := range all {
		at := s.at.Sub(all[0].at).Seconds()
		x, y, xx, xy = x+at, y+s.bytes, xx+at*at, xy+at*s.bytes
	}
	n := float64(len(all))
	return (n*xy - x*y) / (n*xx - x*x)
}

func span(all []level) string {
	if len(all) == 0 {
		return "was not told here"
	}
	low, high := all[0].bytes, all[0].bytes
	for _, s := range all {
		low, high = min(low, s.bytes), max(high, s.bytes)
	}
	return fmt.Sprintf("%.1f to %.1f MiB", low/(1<<20), high/(1<<20))
}
