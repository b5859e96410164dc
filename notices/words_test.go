package notices

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/core/failover"
	"understudy/core/llm"
)

var update = flag.Bool("update", false, "write the golden files anew")

var t0 = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

var (
	a1 = llm.Ref{Provider: "a", Model: "m1"}
	b2 = llm.Ref{Provider: "b", Model: "m2"}
)

var reasons = []llm.Reason{
	llm.Auth, llm.AuthPermanent, llm.Billing, llm.RateLimit, llm.Overloaded, llm.Timeout, llm.ServerError, llm.ModelNotFound,
	llm.Format, llm.ContextOverflow, llm.Refusal, llm.Abort, llm.EmptyResponse, llm.NoErrorDetails, llm.Unclassified,
	llm.Cooldown, llm.MissingAuth, llm.UnknownProvider,
}

// lasting are the reasons that a turn can be left with in the end: the others
// end it at once, or stand for the one behind them.
var lasting = slices.DeleteFunc(slices.Clone(reasons), func(r llm.Reason) bool {
	return slices.Contains([]llm.Reason{llm.Format, llm.ContextOverflow, llm.Refusal, llm.Abort, llm.Cooldown}, r)
})

// lost is a turn in which every candidate failed for its reason. What a
// provider said about it must not come through.
func lost(source failover.Source, reasons ...llm.Reason) *failover.SummaryError {
	e := &failover.SummaryError{Started: t0.Add(-10 * time.Second), Ended: t0}
	e.Plan.Source = source
	for i, r := range reasons {
		ref := []llm.Ref{a1, b2}[i]
		e.Plan.Chain = append(e.Plan.Chain, ref)
		e.Attempts = append(e.Attempts, failover.Attempt{
			Model: ref, Profile: ref.Provider + ":key", Pass: 1, Reason: r, Status: 418, Code: "vendor_code", At: t0,
			Detail:  `see https://api.example.com/help, request req_011CSHoEeqs5C35K2UUqR7Fy: {"error": {"message": "sk-secret"}}`,
			Skipped: r == llm.MissingAuth || r == llm.UnknownProvider,
		})
	}
	return e
}

// shelf collects sentences under headings.
type shelf struct{ strings.Builder }

func (s *shelf) head(format string, args ...any) { fmt.Fprintf(s, "\n# "+format+"\n", args...) }

func (s *shelf) put(label, sentence string) { fmt.Fprintf(s, "%s: %s\n", label, sentence) }

// Every sentence that this room can say, for reading.
func TestWords(t *testing.T) {
	var s shelf
	s.head("notices")
	s.put("status", StillTrying)
	for _, r := range append(reasons, "") {
		s.put("moved "+string(r), Moved(b2, a1, r))
	}
	s.put("cleared", Cleared(a1, b2))

	for _, source := range []failover.Source{failover.FromDefault, failover.FromAgent, failover.FromUser, failover.FromLegacy, failover.FromCLI} {
		s.head("one model, %s", source)
		for _, r := range lasting {
			s.put(string(r), Failure(lost(source, r), t0))
		}
	}
	s.head("two models")
	for _, r := range lasting {
		s.put("both "+string(r), Failure(lost(failover.FromDefault, r, r), t0))
	}
	for _, r := range lasting {
		s.put("then rate_limit: "+string(r), Failure(lost(failover.FromDefault, r, llm.RateLimit), t0))
	}
	s.head("failures that end a turn at once")
	for _, r := range append([]llm.Reason{llm.Unclassified}, llm.Format, llm.ContextOverflow, llm.Refusal) {
		e := lost(failover.FromDefault, llm.RateLimit, r)
		e.Final = &llm.Error{Reason: r, Final: true, Detail: e.Attempts[0].Detail}
		s.put(string(r), Failure(e, t0))
	}
	s.head("too long")
	for label, e := range tooLongs() {
		s.put(label, Failure(e, t0))
	}
	s.head("a summary that nobody wrote")
	for _, r := range lasting {
		s.put("both "+string(r), Summary(lost(failover.FromDefault, r, r), t0))
	}
	s.put("a fault", Summary(&failover.SummaryError{Plan: lost(failover.FromDefault, llm.Timeout).Plan, Local: errors.New("no store")}, t0))
	s.head("an answer that broke off")
	for _, r := range reasons {
		if r == llm.Abort || r == llm.Cooldown || r == llm.MissingAuth || r == llm.UnknownProvider {
			continue // nothing was shown then, or nobody is told
		}
		e := lost(failover.FromDefault, r)
		e.Shown, e.Final = true, &llm.Error{Reason: r}
		s.put(string(r), Failure(e, t0))
	}
	s.head("circumstances")
	for label, e := range circumstances() {
		s.put(label, Failure(e, t0))
	}
	s.head("about")
	for _, d := range []time.Duration{-time.Hour, 0, 1, time.Second, 1001 * time.Millisecond, 89 * time.Second, 90*time.Second - 1, 90 * time.Second, 2 * time.Minute,
		89*time.Minute + 29*time.Second, 90*time.Minute - 1, 90 * time.Minute, 35 * time.Hour, 36*time.Hour - 1, 36 * time.Hour, 32 * 24 * time.Hour} {
		s.put(d.String(), About(d))
	}
	s.head("why")
	for _, l := range Why(story()) {
		s.put("•", l)
	}
	golden(t, s.String())
}

// tooLongs are the requests that no summary made short enough.
func tooLongs() func(func(string, *failover.SummaryError) bool) {
	return func(yield func(string, *failover.SummaryError) bool) {
		e := func(size, window int, alone bool, why error) *failover.SummaryError {
			e := lost(failover.FromDefault, llm.ContextOverflow)
			e.Final = &llm.Error{Reason: llm.ContextOverflow}
			e.Size, e.Window, e.Alone, e.Unsummarised = size, window, alone, why
			return e
		}
		_ = yield("summarised", e(150_000, 100_000, false, nil)) &&
			yield("less than the window, by an estimate", e(90_000, 100_000, false, nil)) &&
			yield("not summarised", e(150_000, 100_000, false, errors.New("overloaded"))) &&
			yield("alone", e(150_000, 100_000, true, nil))
	}
}

// circumstances are what else a failure's text depends on. (A list of pairs, so
// that the order is kept.)
func circumstances() func(func(string, *failover.SummaryError) bool) {
	return func(yield func(string, *failover.SummaryError) bool) {
		e := lost(failover.FromDefault, llm.RateLimit, llm.RateLimit)
		e.Soonest = t0.Add(4 * time.Minute)
		_ = yield("until then", e)
		e = lost(failover.FromDefault, llm.RateLimit, llm.RateLimit)
		e.Soonest = t0
		_ = yield("usable now", e)
		e = lost(failover.FromUser, llm.Billing)
		e.Soonest = t0.Add(5 * time.Hour)
		_ = yield("waiting does not help", e)
		e = lost(failover.FromUser, llm.ModelNotFound)
		e.Soonest = t0.Add(30 * time.Second)
		_ = yield("nor here", e)
		e = lost(failover.FromUser, llm.Overloaded)
		for pass := 2; pass <= 11; pass++ {
			again := e.Attempts[0]
			again.Pass = pass
			e.Attempts = append(e.Attempts, again)
		}
		e.Started = t0.Add(-220 * time.Second)
		_ = yield("after eleven passes", e)
		e = lost(failover.FromUser, llm.Auth)
		e.Plan.Lock = "a:key"
		_ = yield("one profile", e)
		e = lost(failover.FromUser, llm.Auth)
		e.Plan.Lock = "b:key"
		_ = yield("a profile of another provider", e)
		e = lost(failover.FromDefault, llm.Timeout, llm.Timeout)
		e.Tool = true
		_ = yield("after a tool", e)
		e = lost(failover.FromDefault, llm.Cooldown, llm.Cooldown)
		for i, r := range []llm.Reason{llm.RateLimit, llm.Billing} {
			e.Attempts[i].Skipped, e.Attempts[i].Behind = true, r
		}
		_ = yield("blocked before", e)
		e = lost(failover.FromDefault, llm.RateLimit)
		e.Local = fmt.Errorf("disk full at /var/lib/understudy: %w", os.ErrInvalid)
		_ = yield("a fault of the program", e)
		e = lost(failover.FromDefault, llm.RateLimit)
		e.TooManySwitches = true
		_ = yield("too many switches", e)
		_ = yield("no model", &failover.SummaryError{})
	}
}

// story is a turn with every kind of attempt.
func story() []failover.Attempt {
	list := lost(failover.FromDefault, llm.RateLimit, llm.Billing).Attempts
	list[0].Status, list[1].Status, list[1].Probe = 429, 402, true
	until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, r := range reasons {
		list = append(list, failover.Attempt{Model: a1, Profile: "a:key", Reason: r})
	}
	return append(list,
		failover.Attempt{Model: a1, Skipped: true, Reason: llm.Cooldown, Behind: llm.Timeout, Until: until},
		failover.Attempt{Model: a1, Skipped: true, Reason: llm.Cooldown, Behind: llm.Auth},
		failover.Attempt{Model: b2, Skipped: true, Reason: llm.UnknownProvider},
		failover.Attempt{Model: a1, Switched: true},
		failover.Attempt{Model: b2, Profile: "b:key", Won: true, Probe: true},
		failover.Attempt{Model: b2, Profile: "b:key", Won: true},
	)
}

// leaks are what no sentence for people may hold.
var leaks = regexp.MustCompile(`https?://|req_|[{}\[\]]|sk-|vendor_code|/var/|%!|  |\n\n\n|<|>|418`)

func golden(t *testing.T, got string) {
	t.Helper()
	for line := range strings.Lines(got) {
		if bad := leaks.FindString(strings.TrimPrefix(line, "• ")); bad != "" && !strings.Contains(line, "(status ") {
			t.Errorf("%q shows in: %s", bad, line)
		}
		if !strings.HasPrefix(line, "#") && strings.Count(line, ". .")+strings.Count(line, "..") > 0 {
			t.Errorf("two full stops: %s", line)
		}
	}
	path := filepath.Join("testdata", "words.golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		wants := strings.Split(string(want), "\n")
		for i, line := range strings.Split(got, "\n") {
			if i >= len(wants) || line != wants[i] {
				t.Fatalf("line %d of %s changed; if that is meant: go test -update, and read what it says\nnow: %s", i+1, path, line)
			}
		}
		t.Fatalf("%s holds more lines than there are sentences", path)
	}
}
