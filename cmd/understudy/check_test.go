package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/store"
)

// sample is a configuration in docs/samples with the keys that its page speaks
// of.
func sample(t *testing.T, name string) string {
	t.Helper()
	noEnv(t)
	t.Setenv("UNDERSTUDY_HOME", t.TempDir())
	for _, key := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY_2", "ANTHROPIC_API_KEY_3", "OPENAI_API_KEY"} {
		t.Setenv(key, "key-of-a-sample")
	}
	return filepath.Join("..", "..", "docs", "samples", name)
}

// The page shows what the command really prints.
func TestCheckPrintsWhatItsPageShows(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "check.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```console\n\\$ understudy (check|explain) --config docs/samples/(\\S+)([^\n]*)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 4 {
		t.Fatalf("the page shows %d runs", len(blocks))
	}
	for _, b := range blocks {
		t.Run(b[1]+" "+b[2], func(t *testing.T) {
			args := append([]string{b[1], "--config", sample(t, b[2])}, strings.Fields(b[3])...)
			out, errs, code := command(t, "", args...)
			if code != 0 || out != b[4] {
				t.Fatalf("exit %d, %s\nit prints:\n%s\nthe page says:\n%s", code, errs, out, b[4])
			}
		})
	}
}

func TestCheckAsJSON(t *testing.T) {
	out, errs, code := command(t, "", "check", "--json", "--config", sample(t, "strict-agent.jsonc"))
	var r checkReport
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
		t.Fatalf("exit %d, %v, %s", code, err, errs)
	}
	if len(r.Agents) != 3 || r.Agents[0].Agent != "legal" || !r.Agents[0].Chains[0].Strict || len(r.Warnings) != 2 {
		t.Fatalf("%s", out)
	}
}

// A rehearsal makes the requests that the scenario of the same story expects, at
// the same moments and with the same profiles.
func TestExplainMatchesTheScenario(t *testing.T) {
	data, err := os.ReadFile("testdata/scenarios/rehearsed.txtar")
	if err != nil {
		t.Fatal(err)
	}
	s, err := readScenario("rehearsed.txtar", data)
	if err != nil {
		t.Fatal(err)
	}
	path := sample(t, "three-keys.jsonc")
	config, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(config) != string(s.files["config.jsonc"]) {
		t.Fatal("the scenario has another configuration than the sample")
	}
	var want []string
	var at time.Duration
	for _, l := range s.lines {
		switch c := l.cmd.(type) {
		case doWait:
			at += c.d
		case expectRequest:
			want = append(want, "+"+at.String()+" "+c.ref.String()+" with "+c.profile)
		}
	}
	out, errs, code := command(t, "", "explain", "--config", path, "--if", "anthropic=overloaded,openai=overloaded:3")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var got []string
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 3 && f[2] == "with" {
			got = append(got, strings.Join(f[:4], " "))
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("explain says:\n%s\nthe scenario:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExplainTellsAStoredTurn(t *testing.T) {
	noEnv(t)
	t.Setenv("UNDERSTUDY_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "chat.db")
	t.Setenv("UNDERSTUDY_STORE", path)
	if _, errs, code := command(t, "", "chat", "-m", "hello", "--store", path, "--fail", "script/lead=timeout:1"); code != 0 {
		t.Fatal(errs)
	}
	out, _, _ := command(t, "/status why\n", "chat", "--store", path)
	if !strings.Contains(out, "script/lead with script:default did not answer in time") || !strings.Contains(out, "script/stand-in with script:default answered") {
		t.Fatalf("%s", out)
	}
	if _, errs, code := command(t, "", "explain", "no-such-turn"); code != 2 || !strings.Contains(errs, "no turn") {
		t.Fatalf("exit %d: %s", code, errs)
	}
	id := regexp.MustCompile(`Turn (\S+),`).FindStringSubmatch(out)
	if id == nil {
		t.Fatalf("/status why names no turn: %s", out)
	}
	out, errs, code := command(t, "", "explain", id[1])
	if code != 0 || !strings.Contains(out, "script/lead with script:default did not answer in time") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
}

// Blocks belong to an agent: another one's do not show, and do not play a part.
func TestBlocksAreTheAgentsOwn(t *testing.T) {
	path := sample(t, "strict-agent.jsonc")
	db := filepath.Join(t.TempDir(), "bot.db")
	t.Setenv("UNDERSTUDY_STORE", db)
	st, err := store.Open(t.Context(), store.Options{Path: db})
	if err != nil {
		t.Fatal(err)
	}
	err = st.UpdateState(t.Context(), "support", "openai:env", func(s failover.State) failover.State {
		e := &llm.Error{Reason: llm.Billing}
		return failover.DefaultRules().Fail(s, "openai:env", "gpt-5", e, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	out, errs, code := command(t, "", "check", "--json", "--config", path)
	var r checkReport
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
		t.Fatalf("exit %d, %v, %s", code, err, errs)
	}
	for _, a := range r.Agents {
		for _, c := range a.Chains[0].Candidates {
			if blocked := len(c.Profiles) > 0 && c.Profiles[0].Blocked == llm.Billing; blocked != (a.Agent == "support" && c.Model.Provider == "openai") {
				t.Errorf("agent %s, %s: blocked is %v", a.Agent, c.Model, blocked)
			}
		}
	}
	for agent, want := range map[string]string{"support": "openai/gpt-5 was not asked", "legal": "openai/gpt-5 with openai:env answered"} {
		out, errs, code := command(t, "", "explain", "--config", path, "--agent", agent, "--if", "groq=429")
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("agent %s: exit %d, %s%s", agent, code, out, errs)
		}
	}
}

// A list that lets nobody talk is legal, and surely not wanted.
func TestCheckWarnsOfAnEmptyList(t *testing.T) {
	config := filepath.Join(t.TempDir(), "c.jsonc")
	for _, c := range []struct {
		text string
		env  []string
		want []string
	}{
		{`{}`, nil, nil},
		{`{}`, []string{"UNDERSTUDY_DISCORD_TOKEN=x", "UNDERSTUDY_DISCORD_ALLOW=1", "UNDERSTUDY_SLACK_BOT_TOKEN=xoxb-1", "UNDERSTUDY_SLACK_APP_TOKEN=xapp-1", "UNDERSTUDY_SLACK_ALLOW=*"}, nil},
		{`{}`, []string{"UNDERSTUDY_DISCORD_TOKEN=x", "UNDERSTUDY_SLACK_BOT_TOKEN=xoxb-1", "UNDERSTUDY_SLACK_APP_TOKEN=xapp-1"}, []string{
			"warning: discord: nobody may talk to the bot in channels: the list of allowed ids is empty; set UNDERSTUDY_DISCORD_ALLOW or channels.discord.allow",
			"warning: slack: nobody may talk to the bot in channels: the list of allowed ids is empty; set UNDERSTUDY_SLACK_ALLOW or channels.slack.allow",
		}},
		{`{"channels": {"discord": {"dmPolicy": "allowlist"}}}`, []string{"UNDERSTUDY_DISCORD_TOKEN=x"}, []string{
			"warning: discord: nobody may talk to the bot: the list of allowed ids is empty; set UNDERSTUDY_DISCORD_ALLOW or channels.discord.allow",
		}},
	} {
		setEnv(t, append(c.env, "UNDERSTUDY_MODEL=ollama/llama3")...)
		if err := os.WriteFile(config, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, code := command(t, "", "check", "--config", config)
		var got []string
		for line := range strings.Lines(out) {
			if strings.Contains(line, "may talk") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if code != 0 || !slices.Equal(got, c.want) {
			t.Errorf("%s with %q: exit %d, %s, warns %q, want %q", c.text, c.env, code, errs, got, c.want)
		}
	}
}
