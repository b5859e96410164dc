package slack

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"understudy/core"
)

// FuzzFrames: whatever Slack sends, nothing panics, and a well-formed envelope
// is acknowledged exactly once.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"type":"hello","num_connections":1}`,
		`{"type":"disconnect","reason":"warning"}`,
		`{"envelope_id":"E1","type":"events_api","payload":{"team_id":"T1","event":{"type":"message","channel":"C1","user":"U1","text":"<@U0BOT> hi <@U2|x> <!here> <https://e.invalid|y>","ts":"1.000001","thread_ts":"1.000000"}}}`,
		`{"envelope_id":"E1","type":"events_api","payload":{"event":{"type":"app_mention","channel":"D1","user":"U1","ts":1.5,"files":[{"name":"a","size":"big"}]}}}`,
		`{"envelope_id":"E1","type":"events_api","payload":{"authorizations":[null],"event":{"type":"message","subtype":"message_changed","channel":"C1","message":{"user":"U1","ts":"1.0","text":"a","edited":{}},"previous_message":null}}}`,
		`{"envelope_id":"E1","type":"events_api","payload":{"event":{"type":"message","subtype":"message_deleted","channel":"C1","deleted_ts":"1.0"}}}`,
		`{"envelope_id":"E1","type":"slash_commands","payload":{"command":"/model","text":"x","user_id":"U1","channel_id":"C1","team_id":"T1","trigger_id":"t"}}`,
		`{"envelope_id":"E1","type":"interactive","payload":{"type":"block_actions","user":{"id":"U1"},"channel":{"id":"C1"},"actions":[{"action_id":"command:model"}]}}`,
		`{"envelope_id":"E1","type":"else"}`,
		`{"envelope_id" : "E1", "type":`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		a := fuzzed(t, quiet{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		in := newIntake(ctx, a)
		var mu sync.Mutex
		acks := map[string]int{}
		in.take(frame, func(id string) {
			mu.Lock()
			defer mu.Unlock()
			acks[id]++
		})
		in.wait()
		a.names.stop()
		var e struct {
			ID   *string `json:"envelope_id"`
			Type string
		}
		if json.Unmarshal(frame, &e) == nil && e.ID != nil && acks[*e.ID] != 1 {
			t.Errorf("acknowledged: %v", acks)
		}
		for id, n := range acks {
			if n > 1 {
				t.Errorf("%q was acknowledged %d times", id, n)
			}
		}
		_, _ = control(frame)
	})
}

// fuzzed is an adapter without a network, signed in.
func fuzzed(t testing.TB, h core.Handler) *Adapter {
	t.Helper()
	a, err := New(Config{Account: "main", Log: slog.New(noPanics{t}), BotToken: core.NewSecret("xoxb-1"), AppToken: core.NewSecret("xapp-1"), Allow: []string{Everybody}, DM: DMOpen,
		SigningSecret: core.NewSecret("sign"), HTTP: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no network") })}})
	if err != nil {
		t.Fatal(err)
	}
	a.me, a.handler = &identity{user: "U0BOT", bot: "B0BOT", team: "T1", name: "understudy"}, h
	return a
}

// noPanics is a log in which no fault of ours may stand.
type noPanics struct{ testing.TB }

func (noPanics) Enabled(context.Context, slog.Level) bool { return true }
func (n noPanics) WithAttrs([]slog.Attr) slog.Handler     { return n }
func (n noPanics) WithGroup(string) slog.Handler          { return n }

func (n noPanics) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "panic" {
			n.Errorf("%s: %v", r.Message, r)
		}
		return true
	})
	return nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// quiet is a bot that takes everything and has nothing to say, so that nobody
// is called back.
type quiet struct{}

func (quiet) Message(context.Context, core.Message) error { return nil }

func (quiet) Change(context.Context, core.Change) error { return nil }

func (quiet) Command(context.Context, core.Invocation) (core.Reply, error) { return core.Reply{}, nil }

func (quiet) Complete(context.Context, core.Invocation) ([]core.Choice, error) { return nil, nil }

// FuzzMrkdwn: no text makes the converter panic or ring.
func FuzzMrkdwn(f *testing.F) {
	for _, seed := range []string{"", "**a** _b_ `c`", "```\nx\n```", "| a |\n|---|\n| <!here> |", "[a](https://e.invalid) <@U1>", "# h\n> q\n- l", "\\", "a\\", "\xff*\xfe*", "&amp;&lt;"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if out := mrkdwn(s); rings(out) {
			t.Errorf("%q became %q", s, out)
		}
		if c, bad := render("answer", s); bad == nil && (blank(c.text) || units(c.text) > maxText) {
			t.Errorf("%q became %q", s, c.text)
		}
	})
}

// FuzzPlain: no text of an event makes the reader panic or grow.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"<@U0BOT> hi", "<@U0BOT|x", "<>", "<|>", "<@>", "<!subteam^>", "<!date^1^x>", "&amp;lt;", "<https://e.invalid|", "<<a>>"} {
		f.Add(seed)
	}
	a := &Adapter{me: &identity{user: "U0BOT", name: "understudy"}}
	f.Fuzz(func(t *testing.T, s string) {
		a.names = newNames(func(context.Context, string) (person, error) { return person{}, nil })
		defer a.names.stop()
		out := a.plain(t.Context(), "T1", s)
		if len(out) > len(s)+len("@understudy")*(1+strings.Count(s, "<")) {
			t.Errorf("%q became %q", s, out)
		}
	})
}

func (quiet) Press(context.Context, core.Press) (core.Reply, error)         { return core.Reply{}, nil }
func (quiet) Known(context.Context, core.Thread, core.Author) (bool, error) { return false, nil }
func (quiet) Knock(context.Context, core.Message) (string, error)           { return "", nil }
