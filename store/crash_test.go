package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/sessions"
)

// victimPath is set for the process that a crash test kills.
const victimPath = "UNDERSTUDY_STORE_TEST_VICTIM"

// victim commits without end, from several goroutines, and prints the id of
// every commit that returned.
func victim(path string) {
	s, err := Open(context.Background(), Options{Path: path, Exclusive: true})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			k := core.Key{Agent: "main", Thread: strconv.Itoa(g)}
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d-%d", os.Getpid(), g, i)
				err := s.Commit(context.Background(), k, 0, func(tx sessions.Tx) error {
					r := tx.Session()
					r.Compactions++
					tx.SetSession(r)
					tx.SaveTurn(sessions.Turn{ID: id})
					tx.Append("tr", sessions.Entry{Turn: id})
					tx.Queue(delivery.Row{Turn: id, Post: core.Post{Kind: core.PostAnswer, Text: strings.Repeat("x", 500)}})
					return nil
				})
				mu.Lock()
				if err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				fmt.Println(id)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// A process is killed over and over on the same file; whatever it was told is
// stored, is stored, and every commit is there whole or not at all.
func TestKilled(t *testing.T) {
	path := at(t)
	told := map[string]bool{}
	for round := range 4 {
		killAfter(t, path, 20+round*37, told)

		s := mustOpen(t, Options{Path: path, Exclusive: true}) // the lock went with its holder
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		compare(t, s, told)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killAfter runs the victim until it has told of n commits.
func killAfter(t *testing.T, path string, n int, told map[string]bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimPath+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	lines := bufio.NewScanner(out)
	for seen := 0; lines.Scan(); seen++ {
		if strings.HasPrefix(lines.Text(), "error") {
			t.Error(lines.Text())
		}
		told[lines.Text()] = true
		if seen == n { // what it still managed to print is read as well
			var locked *LockedError
			if _, err := Open(t.Context(), Options{Path: path, Exclusive: true}); !errors.As(err, &locked) || locked.PID != cmd.Process.Pid {
				t.Errorf("beside the running process: %v", err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	cmd.Wait() // it was killed, and says so
}

// compare looks for everything that was told, and for halves.
func compare(t *testing.T, s *Store, told map[string]bool) {
	t.Helper()
	stored := 0
	for g := range 8 {
		k := core.Key{Agent: "main", Thread: strconv.Itoa(g)}
		entries, err := s.Transcript(t.Context(), k, "tr", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Session(t.Context(), k)
		if err != nil || r.Compactions != len(entries) {
			t.Errorf("session %d counts %d commits and has %d entries (%v)", g, r.Compactions, len(entries), err)
		}
		stored += len(entries)
	}
	rows, err := s.Outgoing(t.Context())
	if err != nil || len(rows) != stored {
		t.Errorf("%d rows for %d commits (%v)", len(rows), stored, err)
	}
	for id := range told {
		if _, ok, err := s.Turn(t.Context(), id); !ok || err != nil {
			t.Fatalf("commit %s was lost (%v)", id, err)
		}
	}
}
