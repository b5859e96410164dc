package terminal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"understudy/core"
)

// Every event is a line of JSON of its own; an answer and an error tell who was
// asked last.
func TestJSON(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	j := NewJSON(&out, func() time.Time { return at })
	post := func(kind core.PostKind, text string) {
		t.Helper()
		if _, err := j.Post(t.Context(), core.Post{Kind: kind, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	j.Attempt(Event{Time: at, Model: "a/m1", Profile: "a:key", Reason: "rate_limit"})
	j.Attempt(Event{Time: at, Model: "b/m2", Profile: "b:key"})
	post(core.PostStatus, "still trying")
	if j.Answered() || j.Failed() {
		t.Fatal("answered before there was an answer")
	}
	post(core.PostAnswer, "1 < 2\nand \"so\" on")
	post(core.PostNotice, "↪️ moved")
	if !j.Answered() || j.Failed() {
		t.Fatal("the answer does not count")
	}
	j.Attempt(Event{Time: at, Model: "c/m3", Reason: "cooldown", Skipped: true})
	post(core.PostError, "no answer")
	post(core.PostCommand, "Stopped.")
	if j.Answered() || !j.Failed() {
		t.Fatal("the error does not count")
	}
	want := `{"event":"attempt","time":"2026-01-01T12:00:00Z","model":"a/m1","profile":"a:key","reason":"rate_limit"}
{"event":"attempt","time":"2026-01-01T12:00:00Z","model":"b/m2","profile":"b:key"}
{"event":"status","time":"2026-01-01T12:00:00Z","text":"still trying"}
{"event":"answer","time":"2026-01-01T12:00:00Z","model":"b/m2","profile":"b:key","text":"1 < 2\nand \"so\" on"}
{"event":"notice","time":"2026-01-01T12:00:00Z","text":"↪️ moved"}
{"event":"attempt","time":"2026-01-01T12:00:00Z","model":"c/m3","reason":"cooldown","skipped":true}
{"event":"error","time":"2026-01-01T12:00:00Z","model":"c/m3","reason":"cooldown","text":"no answer"}
{"event":"command","time":"2026-01-01T12:00:00Z","text":"Stopped."}
`
	if got := out.String(); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	if j.Limits(core.Thread{}).EditEvery != 0 {
		t.Error("a line of JSON cannot grow")
	}
}
