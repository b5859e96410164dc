package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/core/llm"
)

// command runs a command line and returns what it printed and its exit code.
func command(t *testing.T, in string, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), console{strings.NewReader(in), &o, &e}, args)
	return o.String(), e.String(), code
}

func TestClassifyIsRightOnEveryKnownCase(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "core", "llm", "testdata", "classify.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := command(t, string(data), "classify")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	cases := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != len(cases) {
		t.Fatalf("%d verdicts for %d cases", len(lines), len(cases))
	}
	for i, line := range lines {
		var got verdict
		var want struct {
			ID       string     `json:"id"`
			Expected llm.Reason `json:"expected"`
			Status   int        `json:"status"`
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(cases[i]), &want); err != nil {
			t.Fatal(err)
		}
		plain := want.Status >= 500 && (got.Reason == llm.ServerError || got.Reason == llm.Timeout) &&
			(want.Expected == llm.ServerError || want.Expected == llm.Timeout)
		if got.ID != want.ID || got.Reason != want.Expected && !plain {
			t.Errorf("%s is %s (%s), want %s", want.ID, got.Reason, got.Evidence, want.Expected)
		}
	}
}

func TestClassifyTellsTheStatedWait(t *testing.T) {
	out, _, _ := command(t, `{"id":"x","provider":"groq","status":429,"headers":{"Retry-After":"90"},"body":{"error":{"message":"Rate limit reached"}}}`, "classify")
	var v verdict
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	if v.RetryAfter == nil || *v.RetryAfter != 90 || v.ResetAt == nil || time.Until(*v.ResetAt) > 90*time.Second {
		t.Fatalf("%s", out)
	}
}

func TestClassifyReadsWhatSomebodyPastes(t *testing.T) {
	for in, want := range map[string]llm.Reason{
		"\n  529 overloaded_error: Overloaded":                                                     llm.Overloaded,
		`{"error":{"type":"overloaded_error","message":"Overloaded"}}`:                             llm.Overloaded,
		"{\n  \"error\": {\n    \"message\": \"Insufficient credits\",\n    \"code\": 402\n  }\n}": llm.Billing,
	} {
		out, errs, code := command(t, in, "classify", "--provider", "openrouter")
		if code != 0 || !strings.Contains(out, `"reason":"`+string(want)+`"`) {
			t.Errorf("%q: exit %d, %s%s", in, code, out, errs)
		}
	}
	if _, errs, code := command(t, " \n", "classify"); code != 2 || !strings.Contains(errs, "nothing on standard input") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, errs, code := command(t, "{\"id\":\"a\",\"status\":429}\nnonsense\n", "classify"); code != 2 || !strings.Contains(errs, "line 2") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
