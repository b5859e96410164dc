package main

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/core"
	"understudy/sessions"
	"understudy/store"
)

// outcome is what is left of a play.
type outcome struct {
	shows   []string // what people see
	replies []string // to native commands
	entries []string // of all transcripts
	choice  string
	counted int // messages
	rings   map[string]int
	waited  time.Duration // how long a message had no answer, at most
	told    int           // of that
	log     string
}

// answers are what people see, but for the word that nothing can be stored.
func (w *trial) answers() []string {
	return slices.DeleteFunc(w.boards.shows(), func(s string) bool {
		return strings.HasPrefix(s, "error: I cannot take your message right now") || strings.HasPrefix(s, "error: Nothing can be stored right now")
	})
}

// outcome looks at what is there.
func (w *trial) outcome() outcome {
	atWork.Store(nil) // what is read now is no part of the play
	o := outcome{shows: w.answers(), told: len(w.boards.shows()) - len(w.answers()), replies: w.replies, rings: w.boards.rings, waited: w.waited}
	for _, list := range [][]string{o.shows, o.replies} {
		for i, s := range list { // a second try finds less
			if strings.Contains(s, "Deleted: ") || strings.Contains(s, "I have stored nothing about you.") {
				list[i] = "forgotten"
			}
		}
	}
	ok := func(err error) {
		w.Helper()
		if err != nil {
			w.Error(err)
		}
	}
	ctx := context.Background()
	waiting, err := w.kept.Waiting(ctx)
	ok(err)
	rows, err := w.kept.Outgoing(ctx)
	ok(err)
	if len(waiting) > 0 || len(rows) > 0 {
		w.Errorf("left in the inbox are %+v, and to be sent %+v", waiting, rows)
	}
	if list := unready(ctx, w.kept, nil); len(list) > 0 {
		w.Errorf("it is not ready: %q", list)
	}
	ok(w.kept.stores.(*store.Store).Check(ctx))
	key := core.Key{Agent: mainAgent, Thread: trialThread.Key()}
	ids, err := w.kept.Transcripts(ctx, key)
	ok(err)
	for _, id := range ids {
		list, err := w.kept.Transcript(ctx, key, id, 100)
		ok(err)
		for _, e := range list {
			line, err := json.Marshal(e.Message)
			ok(err)
			o.entries = append(o.entries, string(line))
		}
		o.entries = append(o.entries, "--")
	}
	s, err := w.kept.Session(ctx, key)
	ok(err)
	o.choice = s.Choice.Model.String()
	bill, err := w.kept.Spent(ctx, time.Now().UTC().Format(time.DateOnly), sessions.Account{Kind: sessions.TotalAccount})
	ok(err)
	o.counted = bill.Sum().Messages
	o.log = w.log.String()
	return o
}

// compareTrials wants a play to have ended as one without a strike does.
func compareTrials(t *testing.T, sab *saboteur, got, want outcome) {
	t.Helper()
	if sab.hit == "" {
		t.Skip("there were fewer statements this time")
	}
	if i := slices.IndexFunc(got.shows, func(s string) bool { return strings.Contains(s, crashBroken) }); i >= 0 && sab.how.crash() && len(want.rings) > 0 {
		// A tool had started, so that is what its thread is told, and no answer
		// is in the transcript.
		want.shows = slices.Clone(want.shows)
		want.shows[i], want.entries, got.entries = got.shows[i], nil, nil
		want.counted, got.counted = 0, 0
		want.rings = got.rings
	}
	for _, n := range got.rings {
		if n > 1 {
			t.Errorf("the tool ran %d times", n)
		}
	}
	same := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v, want\n%+v", what, got, want)
		}
	}
	same("people see", got.shows, want.shows)
	same("replies", got.replies, want.replies)
	same("the transcript holds", got.entries, want.entries)
	same("the choice", got.choice, want.choice)
	same("messages counted", got.counted, want.counted)
	same("the tool ran", got.rings, want.rings)
	if got.waited > 20*time.Second && got.told == 0 {
		t.Errorf("nobody was told although a message had no answer for %v", got.waited)
	}
	if t.Failed() {
		t.Logf("struck at %s\nthe log:\n%s", sab.hit, got.log)
	}
}
