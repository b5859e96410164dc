package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
)

func mustParse(t *testing.T, text string, tools ...string) *config {
	t.Helper()
	c, err := parseConfig("c.jsonc", []byte(text), tools...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func refs(names ...string) []llm.Ref {
	list := []llm.Ref{}
	for _, n := range names {
		r, ok := llm.ParseRef(n)
		if !ok {
			panic("no ref: " + n)
		}
		list = append(list, r)
	}
	return list
}

func TestConfigEmptyFileIsDefaults(t *testing.T) {
	for _, text := range []string{`{}`, "\ufeff// nothing\n{ /* at all */ }"} {
		if c := mustParse(t, text); !reflect.DeepEqual(c, defaultConfig()) {
			t.Errorf("%q gives %+v, not the defaults", text, c)
		}
	}
	c, err := loadConfig("")
	if err != nil || !reflect.DeepEqual(c, defaultConfig()) {
		t.Errorf("no file gives %+v, %v", c, err)
	}
	if got, want := c.Auth.Cooldowns.rules(), failover.DefaultRules(); !reflect.DeepEqual(got, want) {
		t.Errorf("rules are %+v, want %+v", got, want)
	}
	if s, d := (core.Thread{Platform: "slack"}), (core.Thread{Platform: "discord"}); c.replyTo(s) != "first" || c.requireMention(d) != "until-engaged" {
		t.Errorf("the rules are %s and %s", c.replyTo(s), c.requireMention(d))
	}
}

func TestConfigModels(t *testing.T) {
	c := mustParse(t, `{
		"models": {"aliases": {"Fast": "openrouter/moonshotai/kimi-k2"}},
		"agents": {
			"defaults": {"model": {"primary": "Anthropic/m1", "fallbacks": ["fast", "b/m2"]}, "imageModel": "a/eyes"},
			"entries": {
				"strict": {"model": "a/m3"},
				"said": {"model": {"primary": "a/m3", "fallbacks": []}},
				"own": {"model": {"primary": "FAST", "fallbacks": ["b/m2"]}, "imageModel": {"primary": "b/eyes", "fallbacks": ["c/eyes"]}},
				"list": {"model": {"fallbacks": ["c/m4"]}},
			},
		},
	}`)
	kimi := llm.Ref{Provider: "openrouter", Model: "moonshotai/kimi-k2"}
	defaults := failover.Models{Primary: llm.Ref{Provider: "anthropic", Model: "m1"}, Fallbacks: append([]llm.Ref{kimi}, refs("b/m2")...)}
	for id, want := range map[string]failover.Models{
		"main":   {},
		"strict": {Primary: refs("a/m3")[0]},
		"said":   {Primary: refs("a/m3")[0], Fallbacks: []llm.Ref{}},
		"own":    {Primary: kimi, Fallbacks: refs("b/m2")},
		"list":   {Primary: defaults.Primary, Fallbacks: refs("c/m4")},
	} {
		if got := c.policy(id); !reflect.DeepEqual(got, failover.Policy{Defaults: defaults, Agent: want}) {
			t.Errorf("policy of %s is %#v", id, got)
		}
	}
	if got := c.agent("strict").ImageModel; !reflect.DeepEqual(got, failover.Models{Primary: refs("a/eyes")[0]}) {
		t.Errorf("image model of an agent without one is %v", got)
	}
	if got := c.agent("own").ImageModel; !reflect.DeepEqual(got, failover.Models{Primary: refs("b/eyes")[0], Fallbacks: refs("c/eyes")}) {
		t.Errorf("image model of an agent with one is %v", got)
	}
	if got := c.agentIDs(); !slices.Equal(got, []string{"list", "main", "own", "said", "strict"}) {
		t.Errorf("agents are %v", got)
	}
	if got := c.Models.Aliases; !reflect.DeepEqual(got, map[string]llm.Ref{"fast": kimi}) {
		t.Errorf("aliases are %v", got)
	}
}

func TestConfigAgentsInherit(t *testing.T) {
	c := mustParse(t, `{"agents": {
		"defaults": {"systemPrompt": "Be kind.", "temperature": 0.5, "maxTokens": 100, "tools": ["session_status"]},
		"entries": {"cold": {"systemPrompt": "", "temperature": 0, "maxTokens": 5, "tools": []}},
		"list": [{"id": "old", "model": "a/m1", "tools": ["echo"]}],
	}}`, "echo")
	half, zero := 0.5, 0.0
	for id, want := range map[string]agentConfig{
		"main": {SystemPrompt: promptConfig{Text: "Be kind.", set: true}, Temperature: &half, MaxTokens: 100, Tools: []string{"session_status"}},
		"cold": {SystemPrompt: promptConfig{set: true}, Temperature: &zero, MaxTokens: 5, Tools: []string{}},
		"old": {
			Model: failover.Models{Primary: refs("a/m1")[0]}, SystemPrompt: promptConfig{Text: "Be kind.", set: true},
			Temperature: &half, MaxTokens: 100, Tools: []string{"echo"},
		},
	} {
		if got := c.agent(id); !reflect.DeepEqual(got, want) {
			t.Errorf("agent %s is %+v, want %+v", id, got, want)
		}
	}
}

func TestConfigAuth(t *testing.T) {
	c := mustParse(t, `{"auth": {
		"profiles": {
			"openai:zoe@example.com": {"provider": "openai", "mode": "oauth", "email": "zoe@example.com"},
			"openai:backup": {"provider": "openai", "mode": "api_key"},
			"a:p1": {},
		},
		"order": {"openai": ["openai:backup", "openai:env-2"]},
		"cooldowns": {"billingBackoffHours": 0.5, "billingBackoffHoursByProvider": {"openai": 2}, "billingMaxHours": 12, "billingProbeMinutes": 5,
			"authPermanentBackoffMinutes": 3, "authPermanentMaxMinutes": 30, "failureWindowHours": 6, "overloadedProfileRotations": 0,
			"overloadedBackoffMs": 1500, "rateLimitedProfileRotations": 4},
	}}`)
	if want := (profilesConfig{
		{ID: "openai:zoe@example.com", Provider: "openai", Mode: failover.OAuth, Email: "zoe@example.com"},
		{ID: "openai:backup", Provider: "openai", Mode: failover.APIKey},
		{ID: "a:p1", Provider: "a", Mode: failover.APIKey},
	}); !reflect.DeepEqual(c.Auth.Profiles, want) {
		t.Errorf("profiles are %+v, want %+v", c.Auth.Profiles, want)
	}
	if got := c.Auth.Order["openai"]; !slices.Equal(got, []string{"openai:backup", "openai:env-2"}) {
		t.Errorf("order is %v", got)
	}
	if got, want := c.Auth.Cooldowns.rules(), (failover.Rules{
		BillingBackoff: 30 * time.Minute, BillingBackoffByProvider: map[string]time.Duration{"openai": 2 * time.Hour},
		BillingMax: 12 * time.Hour, BillingProbe: 5 * time.Minute, PermanentBackoff: 3 * time.Minute, PermanentMax: 30 * time.Minute,
		FailureWindow: 6 * time.Hour, OverloadedBackoff: 1500 * time.Millisecond, RateLimitedRotations: 4,
	}); !reflect.DeepEqual(got, want) {
		t.Errorf("rules are %+v, want %+v", got, want)
	}
}

func TestConfigPlaces(t *testing.T) {
	c := mustParse(t, `{
		"replyTo": "all",
		"requireMention": "never",
		"notices": {"fallback": {"direct": "off", "channel": "log"}},
		"timeouts": {"connect": "1500ms", "idle": 0.25, "turn": 90},
		"admin": {"users": ["discord:1", "slack:U1"]},
		"channels": {
			"discord": {"allow": ["123", "*"], "dmPolicy": "open", "replyTo": "off", "gatewayUrl": "ws://127.0.0.1:1"},
			"slack": {"requireMention": "always"},
		},
		"bindings": [{"agent": "main", "platform": "discord", "guild": "1", "role": "2"}],
		"store": {"path": "data/bot.db"},
	}`)
	discord, slack := core.Thread{Platform: "discord", Kind: core.KindThread}, core.Thread{Platform: "slack", Kind: core.KindChannel}
	if got := c.Channels.Discord; c.replyTo(discord) != "off" || c.requireMention(discord) != "never" || got.DMPolicy != "open" ||
		!slices.Equal(got.Allow, []string{"123", "*"}) || got.GatewayURL != "ws://127.0.0.1:1" {
		t.Errorf("discord is %+v", got)
	}
	if got := c.Channels.Slack; c.replyTo(slack) != "all" || c.requireMention(slack) != "always" || got.DMPolicy != "pairing" {
		t.Errorf("slack is %+v", got)
	}
	if got := c.Timeouts; got.Connect != 1500*time.Millisecond || got.Idle != 250*time.Millisecond || got.Turn != 90*time.Second || got.Tool != time.Minute {
		t.Errorf("time-outs are %+v", got)
	}
	for kind, want := range map[core.Kind]notices.Policy{core.KindDirect: notices.Off, core.KindChannel: notices.Log, core.KindGroup: notices.Log, core.KindThread: notices.Reply} {
		if got := c.manner(core.Thread{Platform: "slack", Kind: kind}).Notices; got != want {
			t.Errorf("notices in a %s: %s, want %s", kind, got, want)
		}
	}
	if got := mustParse(t, `{"notices": {"fallback": "log"}}`).manner(core.Thread{Kind: core.KindThread}).Notices; got != notices.Log {
		t.Errorf("one policy for all places is %s in a thread", got)
	}
	if got := fmt.Sprint(c.Admin.Users); got != "[discord:1 slack:U1]" {
		t.Errorf("admins are %s", got)
	}
	if got := mustParse(t, `{"store": {"path": "/abs/bot.db"}}`).Store.Path; got != "/abs/bot.db" || c.Store.Path != filepath.Join("data", "bot.db") {
		t.Errorf("stores are %s and %s", got, c.Store.Path)
	}
}

func TestConfigProviders(t *testing.T) {
	c := mustParse(t, `{"models": {"providers": {
		"my-gw": {"baseUrl": "https://gw.example.com/v1/", "headers": {"X-Team": "blue", "authorization": "Bearer 123456"},
			"models": [{"id": "big/one", "input": ["text", "image"], "contextWindow": 32000}]},
		"openai": {"baseUrl": "http://127.0.0.1:9/v1"},
	}}}`)
	gw, ok := c.provider("my-gw")
	if !ok || gw.API != "chat" || gw.BaseURL != "https://gw.example.com/v1" || gw.NeedsKey ||
		gw.Header.Get("X-Team") != "blue" || gw.Header.Get("Authorization") != "Bearer 123456" {
		t.Errorf("my-gw is %+v, %v", gw, ok)
	}
	if p, ok := c.provider("openai"); !ok || p.BaseURL != "http://127.0.0.1:9/v1" || !p.NeedsKey || p.Header != nil {
		t.Errorf("openai is %+v, %v", p, ok)
	}
	if p, ok := c.provider("anthropic"); !ok || p.API != "anthropic" || p.BaseURL == "" {
		t.Errorf("anthropic is %+v, %v", p, ok)
	}
	if p, ok := c.provider("nobody"); ok {
		t.Errorf("an unknown provider is %+v", p)
	}
	if m, ok := c.model(refs("my-gw/big/one")[0]); !ok || m.ContextWindow != 32000 || !slices.Equal(m.Input, []string{"text", "image"}) {
		t.Errorf("the model is %+v, %v", m, ok)
	}
	if m, ok := c.model(refs("my-gw/other")[0]); ok {
		t.Errorf("an unknown model is %+v", m)
	}
	if s := fmt.Sprintf("%+v", c.Models); strings.Contains(s, "123456") {
		t.Errorf("a header shows when the configuration is printed: %s", s)
	}
}

// folder is an empty one, and what writes a file there and names it.
func folder(t *testing.T) (dir string, write func(name, text string) string) {
	dir = t.TempDir()
	return dir, func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
}

func TestConfigPromptFile(t *testing.T) {
	dir, write := folder(t)
	write("kind.md", "Be kind.")
	write("binary", "\xff\xfe")
	path := write("good.jsonc", `{"agents": {"defaults": {"systemPrompt": {"file": "kind.md"}}, "list": [{"id": "x", "systemPrompt": {"file": "./kind.md"}}]}}`)
	c, err := loadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.agent("main").SystemPrompt.Text != "Be kind." || c.agent("x").SystemPrompt.Text != "Be kind." {
		t.Errorf("prompts are %+v", c.Agents)
	}
	path = write("bad.jsonc", `{"agents": {"defaults": {"systemPrompt": {"file": "none.md"}},
 "entries": {"x": {"systemPrompt": {"file": "binary"}}},
 "list": [{"id": "y", "systemPrompt": {"file": "/dev/null"}}]}}`)
	_, err = loadConfig(path)
	wantErrors(t, err, []string{
		path + ":1:51: agents.defaults.systemPrompt.file: there is no file " + filepath.Join(dir, "none.md"),
		path + ":2:45: agents.entries.x.systemPrompt.file: the file is not in UTF-8",
		path + ":3:48: agents.list[0].systemPrompt.file: /dev/null is no ordinary file",
	})
	if _, err := loadConfig(filepath.Join(dir, "missing.jsonc")); err == nil || !strings.Contains(err.Error(), "there is no file") {
		t.Errorf("a missing file: %v", err)
	}
	c, err = parseConfig(path, []byte(`{"agents": {"defaults": {"systemPrompt": {"file": "none.md"}}}}`))
	if err != nil || c.Agents.Defaults.SystemPrompt.File != "none.md" {
		t.Errorf("from memory no file is read, but: %v", err)
	}
}

func wantErrors(t *testing.T, err error, want []string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", want)
		return
	}
	got := strings.Split(err.Error(), "\n")
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("missing: %s", want[i])
		case i >= len(want):
			t.Errorf("too much: %s", got[i])
		case got[i] != want[i]:
			t.Errorf("error %d is\n%s\nwant\n%s", i, got[i], want[i])
		}
	}
}

func TestConfigTooMuch(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "%c\"zzz%d\": 1", ",{"[min(1, 1-min(i, 1))], i)
	}
	_, err := parseConfig("c.jsonc", []byte(b.String()+"}"))
	var all *configErrors
	if !errors.As(err, &all) || len(all.List) != 20 || all.More != 10 || !strings.HasSuffix(err.Error(), "\nand at least 10 more") {
		t.Errorf("30 errors give %v", err)
	}
	_, err = parseConfig("c.jsonc", []byte(`{"bindings": [`+strings.Repeat("1,", 1<<14)+`]}`))
	if !errors.As(err, &all) || len(all.List) != 20 || all.More != mostCollected-20 || all.List[0].Key != "bindings[0]" {
		t.Errorf("a file that is wrong all over gives %v", err)
	}
	_, err = parseConfig("c.jsonc", []byte(b.String()+"}"))
	var one *configError
	if !errors.As(err, &one) || one.Key != "zzz0" || one.Line != 1 || one.Column != 2 {
		t.Errorf("the first is %+v", one)
	}
	for name, data := range map[string][]byte{
		"deep lists":    bytes.Repeat([]byte("["), 1<<20),
		"deep objects":  bytes.Repeat([]byte(`{"a":`), 1<<17),
		"large":         append([]byte("{}"), bytes.Repeat([]byte(" "), 1<<20)...),
		"deep in depth": []byte(`{"a": "[[", /* [ */ "b": ` + strings.Repeat("[", 100) + `"\"[" // [`),
	} {
		if _, err := parseConfig("c.jsonc", data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	brackets := strings.Repeat("[", 500)
	c := mustParse(t, `{"agents": {"defaults": {"systemPrompt": "`+brackets+`\"`+brackets+`"}} /*`+brackets+`*/ // `+brackets+"\n}")
	if got := c.Agents.Defaults.SystemPrompt.Text; got != brackets+`"`+brackets {
		t.Errorf("brackets in texts and comments count: %q", got)
	}
}

func FuzzConfig(f *testing.F) {
	for _, c := range configErrorCases {
		f.Add([]byte(c.text))
	}
	if doc, err := os.ReadFile(configDoc); err == nil {
		f.Add([]byte(exampleOf(string(doc))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseConfig("c.jsonc", data)
		if err == nil {
			checkWords(t, reflect.ValueOf(c).Elem())
			return
		}
		var all *configErrors
		if c != nil || !errors.As(err, &all) || len(all.List) == 0 || len(all.List) > mostConfigErrors {
			t.Fatalf("config %v with error %v", c, err)
		}
		lines := bytes.Split(data, []byte("\n"))
		for i, e := range all.List {
			if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > len(lines[e.Line-1])+1 {
				t.Errorf("no such place: %v", e)
			}
			if strings.ContainsAny(e.Error(), "\n\r") {
				t.Errorf("more than one line: %q", e.Error())
			}
			if i > 0 && all.List[i-1].offset > e.offset {
				t.Errorf("not by position: %v", err)
			}
		}
	})
}

// checkWords looks for values that no enumeration has.
func checkWords(t *testing.T, v reflect.Value) {
	for _, f := range configFields(v.Type()) {
		field := v.FieldByIndex(f.index)
		switch field.Kind() {
		case reflect.Struct:
			checkWords(t, field)
		case reflect.String:
			if words := f.tag.Get("words"); words != "" && field.String() != "" && !slices.Contains(strings.Split(words, "|"), field.String()) {
				t.Errorf("%s is %q", f.name, field)
			}
		}
	}
}

// A configuration, or a system prompt in a file, is not read at any size.
func TestConfigFilesThatAreTooLarge(t *testing.T) {
	_, write := folder(t)
	large := write("large.jsonc", "{}"+strings.Repeat(" ", largestConfig-1))
	if _, err := loadConfig(large); err == nil || err.Error() != "reading the configuration: "+large+" is larger than 1024 KiB" {
		t.Errorf("a large file gives %v", err)
	}
	if _, err := loadConfig(write("fits.jsonc", "{}"+strings.Repeat(" ", largestConfig-2))); err != nil {
		t.Errorf("a file that is just small enough gives %v", err)
	}
	prompt := write("prompt.md", strings.Repeat("x", largestPrompt+1))
	_, err := loadConfig(write("c.jsonc", `{"agents": {"defaults": {"systemPrompt": {"file": "prompt.md"}}}}`))
	if err == nil || !strings.Contains(err.Error(), prompt+" is larger than 256 KiB") {
		t.Errorf("a large prompt gives %v", err)
	}
}
