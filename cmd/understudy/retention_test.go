package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/sessions"
	"understudy/store/memory"
)

func TestParseAge(t *testing.T) {
	for s, want := range map[string]time.Duration{"off": 0, "0": 0, "1d": day, "365d": 365 * day, "36h": 36 * time.Hour} {
		if got, ok := parseAge(s); !ok || got != want {
			t.Errorf("%s is %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "d", "0d", "-1d", "-5h", "30", "1w", "999999d", "1d12h"} {
		if got, ok := parseAge(s); ok {
			t.Errorf("%q was taken as %v", s, got)
		}
	}
}

func TestRetentionSettings(t *testing.T) {
	c := mustParse(t, `{"retention": {"transcripts": "30d", "notices": "off"}}`).Retention
	if want := (retentionConfig{Transcripts: "30d", Notices: "off", Inbox: "30d"}); c != want {
		t.Errorf("it is %+v", c)
	}
	now := time.Unix(1_800_000_000, 0)
	if got, want := c.before(now), (sessions.Retention{Transcripts: now.Add(-30 * day), Inbox: now.Add(-30 * day), Spent: "2027-01-08"}); got != want {
		t.Errorf("before %+v, want %+v", got, want)
	}
	// A message whose key is gone would be answered again.
	for _, bad := range []string{`{"inbox": "6d"}`, `{"transcripts": "1h"}`, `{"notices": "soon"}`} {
		if _, err := parseConfig("c", []byte(`{"retention": `+bad+`}`)); err == nil || !strings.Contains(err.Error(), `"off"`) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A large store is tidied in portions with pauses between them, and again
// every hour.
func TestTidy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var prunes atomic.Int32
		st := memory.New().Open(memory.Options{Fault: func(op string) error {
			if op == "prune" {
				prunes.Add(1)
			}
			return nil
		}})
		settled := func(n int, at time.Time) {
			t.Helper()
			for i := range n {
				k := core.Key{Agent: mainAgent, Thread: "x"}
				in := sessions.Inbound{Key: fmt.Sprint(at, i), Session: k, At: at}
				if _, _, err := st.Admit(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				if err := st.Commit(t.Context(), k, 0, func(tx sessions.Tx) error {
					tx.Settle(in.Key)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		known := func(at time.Time) bool {
			t.Helper()
			_, fresh, err := st.Admit(t.Context(), sessions.Inbound{Key: fmt.Sprint(at, 0), Session: core.Key{Agent: mainAgent, Thread: "y"}, At: at})
			if err != nil {
				t.Fatal(err)
			}
			return !fresh
		}
		old, soon := time.Now().Add(-31*day), time.Now().Add(-30*day+30*time.Minute)
		settled(2*tidyAtOnce+1, old)
		settled(1, soon)

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			defaultConfig().Retention.tidy(ctx, st, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		if n := prunes.Load(); n != 1 {
			t.Errorf("%d portions at once", n)
		}
		time.Sleep(time.Minute)
		if n := prunes.Load(); n != 4 || known(old) || !known(soon) {
			t.Errorf("after %d portions: the old one is known: %v, the younger one: %v", n, known(old), known(soon))
		}
		time.Sleep(tidyEvery)
		if known(soon) {
			t.Error("an hour later it is still known")
		}
		cancel()
		<-done
	})
}
