package main

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// spaceless is whether SQLite may make its files larger, for the driver under
// sabotage.
var spaceless atomic.Bool

// ration tells a connection that is about to write how much space there is.
func ration(c driver.Conn, query string) error {
	if query != "BEGIN IMMEDIATE" {
		return nil
	}
	pages := 1 << 30
	if spaceless.Load() {
		pages = 1 // no more than there are
	}
	_, err := c.(driver.ExecerContext).ExecContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil)
	return err
}

// TestFullDisk takes all space from the store amid a conversation and gives it
// back an hour later. What was taken before is answered then, in order; what came
// meanwhile was refused until then, and people and the health check were told.
// The program is not started again.
func TestFullDisk(t *testing.T) {
	registerSabotaged()
	empty := emptyStore(t)
	synctest.Test(t, func(t *testing.T) {
		w := newTrial(t, empty, &saboteur{})
		spaceless.Store(false)
		defer spaceless.Store(false)
		defer func() { w.leave() }()
		long := strings.Repeat("and so on ", 2000)
		w.do(deed{text: "one " + long})
		w.do(deed{text: "two slowly " + long, hasty: true}) // it takes 6 s
		synctest.Wait()
		spaceless.Store(true)
		message := core.Message{ID: "late", Author: core.Author{ID: "ann", Name: "Ann"}, Text: "three " + long, Addressed: true, At: time.Now(), Target: core.Target{Thread: trialThread}}
		say := func() error { return w.house.bot.Message(context.Background(), message) }
		refused := 0
		for end := time.Now().Add(time.Hour); time.Now().Before(end); time.Sleep(time.Minute) {
			if err := say(); err == nil {
				t.Fatal("a message was taken that cannot be stored")
			}
			refused++
			if list := unready(context.Background(), w.kept, nil); len(list) != 1 || !strings.Contains(list[0], "the disk is full") {
				t.Fatalf("its health is %q", list)
			}
		}
		preview := "answer: heard two (lead). And on."
		if got := w.answers(); len(got) != 2 || !strings.HasPrefix(preview, strings.TrimSuffix(got[1], "…")) {
			t.Errorf("while the disk is full people see %q", got)
		}
		if told := len(w.boards.shows()) - 2; told < 6 || told > 14 { // twice in ten minutes at most, as there are two places
			t.Errorf("they were told %d times in an hour", told)
		}

		spaceless.Store(false)
		time.Sleep(20 * time.Second)
		if err := say(); err != nil {
			t.Fatal(err)
		}
		w.rest(time.Minute)
		o := w.outcome()
		want := []string{"answer: heard one (lead).", preview, "answer: heard three (lead)."}
		if got := strings.Join(o.shows, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("people see\n%s, want\n%s", got, strings.Join(want, "\n"))
		}
		if len(o.entries) != 7 || o.counted != 3 {
			t.Errorf("the transcript has %d lines, and %d messages were counted", len(o.entries)-1, o.counted)
		}
	})
}
