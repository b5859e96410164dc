package main

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestCrashes kills the program over and over, as often as UNDERSTUDY_CRASHES
// says, at instants of every kind, while people talk with it in many threads of
// both platforms. Platforms and providers are a process of their own, which
// lives on. In the end every message must have been answered once, in its
// thread and in order, or, where a tool had started, the thread must have been
// told once; every notice must stand there once, no tool may have run twice,
// and the store must be whole, with nothing left to do.
//
// UNDERSTUDY_CRASHES_SEED repeats what people say and how the program is
// killed, as far as chance and the machine's speed allow it.
// UNDERSTUDY_CRASHES_RACE=1 lets a third of the processes run with the race
// detector.
func TestCrashes(t *testing.T) {
	want, err := strconv.Atoi(os.Getenv("UNDERSTUDY_CRASHES"))
	if err != nil || want <= 0 {
		t.Skip("NOT TESTED: whether the program loses or repeats anything when it is killed; UNDERSTUDY_CRASHES=60 kills it sixty times")
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("UNDERSTUDY_CRASHES_SEED"), strconv.FormatInt(time.Now().UnixMilli()%1_000_000, 10)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d", seed)
	s := &crashes{T: t, seed: seed, want: want, luck: rand.New(rand.NewPCG(seed, 0)), spoke: make(chan string, 1), over: make(chan struct{}),
		modes: map[string]int{}, phases: map[string]int{}}
	s.build()
	s.openWorld()
	s.populate()

	var people sync.WaitGroup
	for _, k := range s.threads {
		if k.direct {
			s.met.Add(1)
		}
		people.Go(k.talk)
	}
	began := time.Now()
	s.meet()
	s.reap()
	s.settle(&people)
	s.check()
	s.report(time.Since(began))
}

// crashes is the program amid the killing.
type crashes struct {
	*testing.T
	seed uint64
	want int // kills
	luck *rand.Rand

	programs []string
	dir      string
	store    string // the file, "" for one in dir; its disk may be filled
	fakes    fakes
	env      []string
	http     string // address of the health check

	cmd  *exec.Cmd
	gone chan error // what the process ended with
	err  output     // of all processes, one after the other

	threads []*crashThread
	met     sync.WaitGroup // those who write directly and were not answered yet
	spoke   chan string    // the platform on which somebody just spoke
	over    chan struct{}  // closed when nobody speaks any more

	kills, stops, seconds int
	held                  int             // kills during a block that had to be stored, counted by block
	starts                []time.Duration // until the program was ready
	modes                 map[string]int  // kills by how the instant was chosen
	phases                map[string]int  // kills by what was under way
	notices, interrupted  int
	answers               atomic.Int64
}

// build builds the program as it is, once more with a bell as its tool, and
// the fakes.
func (s *crashes) build() {
	s.Helper()
	dir := s.TempDir()
	builds := [][]string{{"-o", filepath.Join(dir, "plain"), "."}, {"-tags", "bell", "-o", filepath.Join(dir, "bell"), "."}}
	if os.Getenv("UNDERSTUDY_CRASHES_RACE") != "" {
		builds = append(builds, []string{"-race", "-tags", "bell", "-o", filepath.Join(dir, "race"), "."})
	}
	for _, args := range append(builds, []string{"-o", filepath.Join(dir, "fakes"), "../understudy-fakes"}) {
		if out, err := exec.Command("go", append([]string{"build"}, args...)...).CombinedOutput(); err != nil {
			if errors.Is(err, exec.ErrNotFound) {
				s.Skip("NOT TESTED: there is no go tool to build the program with")
			}
			s.Fatalf("go build %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for _, b := range builds {
		s.programs = append(s.programs, b[len(b)-2])
	}
	s.fakes.program = filepath.Join(dir, "fakes")
}

// lullEvery is how many kills there are, at most, until the program is left
// alone for a while: an answer that takes seconds needs that.
const lullEvery = 14

// meet lets the program hear of everybody who writes to it directly before it is
// killed: no platform tells a bot of direct messages that it missed, and the
// program reads only conversations that it knows.
func (s *crashes) meet() {
	s.Helper()
	s.start()
	s.ready()
	s.met.Wait()
	s.kill("met")
}

// reap starts the program and kills it until it was killed often enough.
func (s *crashes) reap() {
	s.Helper()
	end, limited := s.Deadline()
	for lull := 0; s.kills < s.want; lull-- {
		if s.Failed() {
			return
		}
		if limited && time.Until(end) < crashPatience+10*time.Second {
			s.Logf("the time of the test is nearly over: %d kills of %d", s.kills, s.want)
			return
		}
		m := s.pick()
		s.start()
		if m.wait == nil {
			s.pause(1, 300)
			s.kill(m.name)
			continue
		}
		s.ready()
		if lull <= 0 {
			lull = 1 + s.luck.IntN(lullEvery)
			s.lull()
		}
		m.wait(s)
		s.kill(m.name)
	}
}

// lull leaves the program alone; sometimes a connection ends.
func (s *crashes) lull() {
	breaks := []struct{ platform, how string }{
		{"discord", "drop"}, {"discord", "invalidate"}, {"discord", "resume"}, {"discord", "reconnect"}, {"slack", "warning"}, {}, {}, {},
	}
	if b := breaks[s.luck.IntN(len(breaks))]; b.how != "" {
		s.fakes.order(s.T, "/"+b.platform+"/break", map[string]string{"how": b.how}, nil)
	}
	time.Sleep(2500*time.Millisecond + time.Duration(s.luck.IntN(1500))*time.Millisecond)
}

// start starts one of the programs.
func (s *crashes) start() {
	s.Helper()
	c := exec.Command(s.programs[s.luck.IntN(len(s.programs))], "run")
	c.Dir, c.Env, c.Stderr = s.dir, s.env, &s.err
	if err := c.Start(); err != nil {
		s.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- c.Wait() }()
	s.cmd, s.gone = c, gone
	s.Cleanup(func() { _ = c.Process.Kill() }) // an error says that it is gone already
	s.remark("started %s as %d", filepath.Base(c.Path), c.Process.Pid)
}

// remark writes into the log of the program.
func (s *crashes) remark(format string, args ...any) {
	fmt.Fprintf(&s.err, "== %s %s\n", time.Now().UTC().Format("15:04:05.000000"), fmt.Sprintf(format, args...))
}

// ready waits until the program says that it can do its job.
func (s *crashes) ready() {
	s.Helper()
	began := time.Now()
	for time.Since(began) < patience {
		if httpStatus("http://"+s.http+"/readyz") == 200 {
			s.starts = append(s.starts, time.Since(began))
			return
		}
		select {
		case err := <-s.gone:
			s.Fatalf("the program ended by itself with %v; it said\n%s", err, tail(s.err.String(), 40))
		case <-time.After(3 * time.Millisecond):
		}
	}
	s.Fatalf("the program is not ready after %v; it said\n%s", patience, tail(s.err.String(), 60))
}

// signal asks the program to stop.
func (s *crashes) signal() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
}

// kill ends the program without a chance to do anything, unless it has ended
// as it was told to, and looks at what it left.
func (s *crashes) kill(how string) {
	s.Helper()
	select {
	case err := <-s.gone:
		s.ended(how, err)
	default:
		_ = s.cmd.Process.Kill() // an error says that it is gone already
		err := <-s.gone
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			s.ended(how, err)
			break
		}
		s.kills++
		s.modes[how]++
		s.autopsy()
	}
	s.remark("gone: %s", how)
	s.fakes.order(s.T, "/drop", struct{}{}, nil)
}

// ended notes an end that was no kill.
func (s *crashes) ended(how string, err error) {
	s.Helper()
	var exit *exec.ExitError
	switch {
	case how == "stopping" && err == nil:
		s.stops++
	case how == "second signal" && (err == nil || errors.As(err, &exit) && exit.ExitCode() == 1):
		s.seconds++
	default:
		s.Errorf("the program ended by itself (%s) with %v; it said\n%s", how, err, tail(s.err.String(), 40))
	}
}

// settle lets everybody hear the answers they wait for, and stops the program.
func (s *crashes) settle(people *sync.WaitGroup) {
	s.Helper()
	s.start()
	s.ready()
	close(s.over)
	people.Wait()
	s.blocked()
	s.signal()
	select {
	case err := <-s.gone:
		if err != nil {
			s.Errorf("the last process ended with %v", err)
		}
	case <-time.After(patience):
		s.Error("the last process does not end")
	}
}

// blocked kills the program a few times when it has just been told to leave the
// lead alone, while nobody else speaks, and wants that to be known afterwards.
func (s *crashes) blocked() {
	s.Helper()
	k := &crashThread{s: s, number: len(s.threads), platform: "discord", channel: "1000"}
	s.threads = append(s.threads, k)
	for range 3 {
		time.Sleep(leadAway) // what was said about the lead before is over
		held := make(chan struct{})
		go func() {
			defer close(held)
			s.hold("", "second")
		}()
		time.Sleep(patienceOfModes / 8) // it has to be told first
		k.say(s.luck, ", the lead is away")
		<-held
		s.kill("blocked")
		s.start()
		s.ready()
		if !k.heard() {
			return
		}
	}
	if s.held == 0 && !s.Failed() {
		s.Error("no kill hit while the lead wanted to be left alone")
	}
}

// leadAway is how long a lead that was away is to be left alone.
const leadAway = 2 * time.Second

// report tells what was done and seen.
func (s *crashes) report(took time.Duration) {
	slices.Sort(s.starts)
	at := func(q float64) time.Duration {
		return s.starts[int(q*float64(len(s.starts)-1))].Round(time.Millisecond)
	}
	said := 0
	for _, k := range s.threads {
		said += len(k.said)
	}
	s.Logf("seed %d: %d kills in %v, %d stops that came first, %d ends by a second signal; %d messages in %d threads, %d answers, %d notices, %d told of an interruption, %d blocks found stored; ready after %v (p50), %v (p99)",
		s.seed, s.kills, took.Round(time.Second), s.stops, s.seconds, said, len(s.threads), s.answers.Load(), s.notices, s.interrupted, s.held, at(0.5), at(0.99))
	s.Logf("how the instants were chosen: %v", s.modes)
	s.Logf("kills that hit, at least once: %v", s.phases)
}

// tail is the end of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
