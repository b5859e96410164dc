package main

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDisk runs the program with its store in the folder that UNDERSTUDY_DISK
// names, a small file system of its own, while people talk on both platforms,
// and fills that file system. While nothing can be stored the program must say
// so: to its health check and to people. Once there is space again it must go on
// by itself: whatever it had taken is answered once and in order.
func TestDisk(t *testing.T) {
	disk := os.Getenv("UNDERSTUDY_DISK")
	if disk == "" {
		t.Skip("NOT TESTED: what happens on a full disk; UNDERSTUDY_DISK names the folder of a small file system to fill, as .ci/run disk does")
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(disk, &fs); err != nil {
		t.Fatal(err)
	}
	if size := int64(fs.Blocks) * fs.Bsize; size > 1<<28 {
		t.Fatalf("%s has %d bytes; a disk of more than 256 MiB is not filled", disk, size)
	}
	s := &crashes{T: t, seed: 1, luck: rand.New(rand.NewPCG(1, 0)), spoke: make(chan string, 1), modes: map[string]int{}, phases: map[string]int{}}
	s.build()
	s.openWorld()
	s.store = filepath.Join(disk, "understudy.db")
	s.env = append(s.env, "UNDERSTUDY_STORE="+s.store)
	s.populate()
	s.start()
	s.ready()
	s.everybody("")
	s.hear()

	s.everybody(", slowly")
	time.Sleep(500 * time.Millisecond) // taken, and on their way
	release := fill(t, filepath.Join(disk, "ballast"))
	began := time.Now()
	s.everybody("")
	text := s.health(http.StatusServiceUnavailable)
	if !strings.Contains(text, "store: ") || strings.Count(text, "\n") > 0 {
		t.Errorf("its health is %q; only the store is to blame", text)
	}
	// How long nothing goes depends on the room that its journal still has: for
	// whom it lasts is told, and whoever is refused for good must have been.
	time.Sleep(15 * time.Second)
	told := len(s.told())

	release()
	full := time.Since(began)
	began = time.Now()
	s.health(http.StatusOK)
	back := time.Since(began)
	s.everybody("")
	lost := s.missing()
	s.hear()
	s.signal()
	if err := <-s.gone; err != nil {
		t.Errorf("the program ended with %v", err)
	}
	s.check()
	t.Logf("%d threads, a full disk for %v: %d channels told, %d messages refused for good, ready again after %v, %d answers",
		len(s.threads), full.Round(time.Millisecond), told, lost, back.Round(time.Millisecond), s.answers.Load())
}

// fill takes all space of a file system until the returned function is called.
func fill(t *testing.T, path string) (release func()) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	release = func() {
		if err := errors.Join(f.Close(), os.Remove(path)); err != nil {
			t.Error(err)
		}
	}
	for size := 1 << 16; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			release()
			t.Fatal(err)
		}
	}
	return release
}

// everybody lets one line be said in each thread.
func (s *crashes) everybody(how string) {
	s.Helper()
	for _, k := range s.threads {
		k.say(s.luck, how)
	}
}

// hear waits until everything is answered.
func (s *crashes) hear() {
	s.Helper()
	for _, k := range s.threads {
		if !k.heard() {
			s.Errorf("%s: %s", k.name(), k.walk(k.posts()).wrong)
		}
	}
}

// health waits for a status of the health check and returns what it says.
func (s *crashes) health(want int) (text string) {
	s.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		resp, err := probe().Get("http://" + s.http + "/readyz")
		if err != nil {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if text = strings.TrimSpace(string(body)); err == nil && resp.StatusCode == want {
			return text
		}
	}
	s.Fatalf("its health is %q after %v; it said\n%s", text, patience, tail(s.err.String(), 40))
	return ""
}

// told are the places in which the program said that nothing can be stored: once
// for all threads of a channel.
func (s *crashes) told() map[string]bool {
	told := map[string]bool{}
	for _, k := range s.threads {
		if len(k.troubles()) > 0 {
			told[k.place()] = true
		}
	}
	return told
}

func (k *crashThread) place() string { return k.platform + " " + k.channel }

// missing waits for the line that was said last in each thread, and forgives
// that the one before it has no answer where its thread was told so.
func (s *crashes) missing() (n int) {
	s.Helper()
	for _, k := range s.threads {
		last, before := k.said[len(k.said)-1], k.said[len(k.said)-2]
		has := func(l *crashLine) bool {
			for _, text := range k.posts() {
				if m := crashAnswer.FindStringSubmatch(text); m != nil && m[1] == l.number {
					return true
				}
			}
			return false
		}
		for end := time.Now().Add(crashPatience); !has(last) && time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		}
		if has(before) {
			continue
		}
		n++
		before.deleted = true
		if !s.told()[k.place()] {
			s.Errorf("%s: %s has no answer, and nobody was told", k.name(), before.number)
		}
	}
	return n
}

// crashTroubles are what the program says while nothing can be stored.
var crashTroubles = []string{"I cannot take your message right now: ", "Nothing can be stored right now, "}

// troubles are what the program said in a thread about its store.
func (k *crashThread) troubles() (texts []string) {
	for _, text := range k.allPosts() {
		if isTrouble(text) {
			texts = append(texts, text)
		}
	}
	return texts
}

func isTrouble(text string) bool {
	for _, head := range crashTroubles {
		if strings.HasPrefix(text, head) {
			return true
		}
	}
	return false
}
