package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/llm"
	"understudy/sessions"
	"understudy/store"
)

// The command line lists and exports conversations, and forgets people, beside
// a process that has the store for itself.
func TestSessionsCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.db")
	const secret = "plainwordsthatareakey"
	setEnv(t, "UNDERSTUDY_STORE="+path, "UNDERSTUDY_MODEL=anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY="+secret)
	run := func(want int, args ...string) string {
		t.Helper()
		out, errs, code := command(t, "", append([]string{"sessions"}, args...)...)
		if code != want {
			t.Fatalf("sessions %s: exit %d, %s%s; want %d", strings.Join(args, " "), code, out, errs, want)
		}
		return out + errs
	}
	says := func(want int, text string, args ...string) {
		t.Helper()
		if out := run(want, args...); !strings.Contains(out, text) {
			t.Errorf("sessions %s says %s; want %q", strings.Join(args, " "), out, text)
		}
	}
	says(2, "there is no store", "list")
	st, err := store.Open(t.Context(), store.Options{Path: path, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	says(0, "there are no sessions", "list")
	place := core.Thread{Platform: "discord", Account: "default", Workspace: "900", Channel: "7", Kind: core.KindThread}
	key := core.Key{Agent: "main", Thread: place.Key()}
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	sonnet := llm.Ref{Provider: "anthropic", Model: "claude-sonnet-4-5"}
	err = st.Commit(t.Context(), key, 0, func(tx sessions.Tx) error {
		s := sessions.Session{Transcript: "now", LastActive: at, Active: sonnet}
		s.Summary = &sessions.Summary{Text: "Ann said hello.\n### root: " + secret, Through: 2, Said: at, Model: sonnet, At: at}
		s.Spent.All = sessions.Bill{sonnet: {Messages: 1, Usage: llm.Usage{In: 1900, Out: 100}, Cost: llm.Dollars(0.0072)}}
		tx.SetSession(s)
		tx.Append("before", sessions.Entry{Message: llm.TextMessage(llm.User, "long ago"), Author: "discord:8", At: at})
		tx.Append("now",
			sessions.Entry{Message: llm.TextMessage(llm.User, "hello\n### root, 2026-01-01\nkey: "+secret+" and sk-ant-api03-"+strings.Repeat("Ab1", 30)), Speaker: "Ann\n# x", Author: "discord:7", At: at},
			sessions.Entry{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.Call{ID: "1", Name: "look", Args: json.RawMessage(`{"q":"` + secret + `"}`)}}}}, Model: sonnet, At: at},
			sessions.Entry{Message: llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.Result{ID: "1", Text: "found " + secret}}}}, At: at},
			sessions.Entry{Message: llm.TextMessage(llm.Assistant, "there"), Model: sonnet, Profile: "anthropic:env", Usage: llm.Usage{In: 1900, Out: 100}, Cost: llm.Dollars(0.0072), Priced: true, At: at})
		for i := range 2 * exportPage {
			tx.Append("now", sessions.Entry{Message: llm.TextMessage(llm.User, fmt.Sprintf("line %d", i)), At: at})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	says(0, key.String()+"  1005 entries  anthropic/claude-sonnet-4-5  2026-01-01 12:00Z", "list")
	var listed []listedSession
	if err := json.Unmarshal([]byte(run(0, "list", "-json")), &listed); err != nil || len(listed) != 1 || listed[0].Key != key.String() || listed[0].Tokens != 2000 || listed[0].USD != 0.0072 {
		t.Errorf("the list is %+v, %v", listed, err)
	}

	md := run(0, "export", key.String())
	for _, want := range []string{
		"# " + key.String() + "\n\nTranscript now, last answered by anthropic/claude-sonnet-4-5.",
		"\n### Ann # x, 2026-01-01 12:00:00Z\n\n> hello\n> ### root, 2026-01-01\n> key: [secret] and ",
		"> Calls the tool look with {\"q\":\"[secret]\"}\n", "\n### A tool, 2026-01-01 12:00:00Z\n\n> found [secret]\n",
		"\n### anthropic/claude-sonnet-4-5 with anthropic:env, 2026-01-01 12:00:00Z (1,900 tokens in, 100 out, $0.0072)\n\n> there\n",
		fmt.Sprintf("> line %d\n", 2*exportPage-1),
		"Summarised by anthropic/claude-sonnet-4-5, up to what was said at 2026-01-01 12:00:00Z:\n\n> Ann said hello.\n> ### root: [",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("the export lacks %q", want)
		}
	}
	text := run(0, "export", "-format", "json", key.String())
	var x struct {
		Key     string
		Session sessions.Session
		Entries []exportedEntry
	}
	if err := json.Unmarshal([]byte(text), &x); err != nil || x.Key != key.String() || x.Session.Active != sonnet || len(x.Entries) != 4+2*exportPage || x.Session.Summary == nil || !strings.HasPrefix(x.Session.Summary.Text, "Ann said hello.") {
		t.Fatalf("the JSON has %d entries of %s, %v", len(x.Entries), x.Key, err)
	}
	if e := x.Entries[3]; e.USD == nil || *e.USD != 0.0072 || e.Profile != "anthropic:env" || x.Entries[0].USD != nil {
		t.Errorf("an entry is %+v", e)
	}
	for i := range 2 * exportPage {
		if got := x.Entries[4+i].Message.Text(); got != fmt.Sprintf("line %d", i) {
			t.Fatalf("entry %d is %q", i, got)
		}
	}
	for _, out := range []string{md, text} {
		if strings.Contains(out, secret) || strings.Contains(out, "Ab1Ab1") {
			t.Error("a secret is in the export")
		}
	}
	says(0, "> long ago", "export", "-transcript", "before", key.String())
	says(2, "it has: before, now", "export", "-transcript", "never", key.String())
	says(2, "there is no session", "export", "main/nowhere")
	says(2, "found the key", "export", "nonsense")
	says(2, "want json or markdown", "export", "-format", "xml", key.String())
	says(2, "write: understudy sessions list", "frobnicate")
	says(2, "want a person", "forget", "channel:7")

	says(0, "discord:7: messages 1, conversations with others 1,", "forget", "discord:7")
	says(0, "hello", "export", key.String())
	says(0, "deleted: discord:7: messages 1,", "forget", "-yes", "discord:7")
	if strings.Contains(run(0, "export", key.String()), "hello") {
		t.Error("a message is still there")
	}
}

// What nobody knows the price of is told once, as /usage does it.
func TestExportOfUnknownPrices(t *testing.T) {
	for want, spent := range map[string]sessions.Tally{
		"Used: 12 tokens, price not known.\n":                              {Usage: llm.Usage{In: 7, Out: 5}, Unpriced: 12},
		"Used: 12 tokens, $0.01.\n":                                        {Usage: llm.Usage{In: 7, Out: 5}, Cost: 10_000_000},
		"Used: 24 tokens, $0.01 and 12 tokens whose price is not known.\n": {Usage: llm.Usage{In: 14, Out: 10}, Unpriced: 12, Cost: 10_000_000},
	} {
		var s sessions.Session
		s.Spent.Since = sessions.Bill{{Provider: "a", Model: "m1"}: spent}
		var out strings.Builder
		x := &exporter{Writer: &out}
		x.beginMarkdown(s, "T")
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
