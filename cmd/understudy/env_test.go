package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/core/llm/chat"
)

// setEnv gives the test an environment of its own: these variables, a home
// folder, and nothing else that the program could read. It works in an empty
// folder, which it returns.
func setEnv(t *testing.T, pairs ...string) string {
	t.Helper()
	noEnv(t)
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", filepath.Join(dir, "home"))
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		t.Setenv(name, value)
	}
	return dir
}

// noEnv takes away what the program could read of this machine's environment.
func noEnv(t *testing.T) {
	t.Helper()
	for _, name := range variableNames() {
		if strings.HasPrefix(name, "UNDERSTUDY_") || strings.HasPrefix(name, "OPENCLAW_") || strings.Contains(name, "_API_KEY") || name == "NO_COLOR" {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
}

func mustEnv(t *testing.T) *environment {
	t.Helper()
	e, err := readEnv()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEnvironmentDefaults(t *testing.T) {
	dir := setEnv(t, "UNDERSTUDY_MAX_TURNS=", "UNDERSTUDY_LOG=", "UNDERSTUDY_HTTP=", "UNDERSTUDY_DISCORD_ALLOW=", "ANTHROPIC_API_KEY=", "UNDERSTUDY_TEST_POSTGRES=x")
	e := mustEnv(t)
	if e.MaxTurns != 64 || e.ShutdownGrace != 20*time.Second || e.Log != "info" || e.LogFormat != "text" || e.HTTP != "127.0.0.1:8484" ||
		e.SkipTTL != 0 || time.Duration(e.SDKWait) != time.Minute || bool(e.NoColor) || e.DiscordToken.Set() || e.Config != "" {
		t.Errorf("defaults are %+v", e)
	}
	if want := filepath.Join(dir, "home", ".understudy"); e.Home != want {
		t.Errorf("home is %s, want %s", e.Home, want)
	}
	c := defaultConfig()
	if keys := e.keys(c); len(keys) != 0 {
		t.Errorf("keys are %v", keys)
	}
	e.applyTo(c)
	if want := filepath.Join(e.Home, "understudy.db"); c.Store.Path != want || c.Channels.Discord.Allow != nil || !c.Agents.Defaults.Model.Zero() {
		t.Errorf("configuration is %+v", c)
	}
	if err := os.WriteFile("understudy.jsonc", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := mustEnv(t); e.Config != "understudy.jsonc" {
		t.Errorf("the file that is there is not taken: %q", e.Config)
	}
}

func TestEnvironmentValues(t *testing.T) {
	dir := setEnv(t,
		"UNDERSTUDY_HOME=~/bot", "UNDERSTUDY_CONFIG=~/c.jsonc", "UNDERSTUDY_MODEL= a/m1", "UNDERSTUDY_FALLBACKS=b/m2, openrouter/x/y,", "UNDERSTUDY_MAX_TURNS=3",
		"UNDERSTUDY_SHUTDOWN_GRACE=1m30s", "UNDERSTUDY_LOG=debug", "UNDERSTUDY_LOG_FORMAT=json", "UNDERSTUDY_HTTP=off", "NO_COLOR=1",
		"UNDERSTUDY_DISCORD_TOKEN=d-token ", "UNDERSTUDY_DISCORD_ALLOW= 1 ,, 2", "UNDERSTUDY_SLACK_ALLOW=*", "UNDERSTUDY_SLACK_BOT_TOKEN=xoxb-1", "UNDERSTUDY_SLACK_APP_TOKEN=xapp-1",
		"UNDERSTUDY_DISCORD_API_URL=http://127.0.0.1:1/api", "UNDERSTUDY_DISCORD_GATEWAY_URL=ws://127.0.0.1:1", "UNDERSTUDY_SLACK_API_URL=http://127.0.0.1:2/api/",
		"UNDERSTUDY_ADMINS=discord:1, slack:U1", "UNDERSTUDY_FALLBACK_SKIP_TTL_MS=1500", "OPENCLAW_FALLBACK_SKIP_TTL_MS=9", "OPENCLAW_SDK_RETRY_MAX_WAIT_SECONDS=OFF")
	e := mustEnv(t)
	if e.MaxTurns != 3 || e.ShutdownGrace != 90*time.Second || e.Log != "debug" || e.LogFormat != "json" || e.HTTP != "" || !bool(e.NoColor) ||
		e.DiscordToken.Reveal() != "d-token" || e.SlackBotToken.Reveal() != "xoxb-1" || e.SlackAppToken.Reveal() != "xapp-1" ||
		time.Duration(e.SkipTTL) != 1500*time.Millisecond || e.SDKWait != 0 || e.Config != filepath.Join(dir, "home", "c.jsonc") {
		t.Errorf("it is %+v", e)
	}
	c := mustParse(t, `{"channels": {"discord": {"allow": ["9"]}, "slack": {"apiUrl": "https://old.example.com"}}, "admin": {"users": ["slack:U9"]}}`)
	e.applyTo(c)
	if m := c.Agents.Defaults.Model; m.Primary != refs("a/m1")[0] || !slices.Equal(m.Fallbacks, refs("b/m2", "openrouter/x/y")) {
		t.Errorf("models are %v", m)
	}
	d, s := c.Channels.Discord, c.Channels.Slack
	if !slices.Equal(d.Allow, []string{"1", "2"}) || d.APIURL != "http://127.0.0.1:1/api" || d.GatewayURL != "ws://127.0.0.1:1" ||
		!slices.Equal(s.Allow, []string{"*"}) || s.APIURL != "http://127.0.0.1:2/api/" {
		t.Errorf("channels are %+v", c.Channels)
	}
	if !slices.Equal(c.Admin.Users, []address{{"discord", "1"}, {"slack", "U1"}}) {
		t.Errorf("admins are %v", c.Admin.Users)
	}
	if want := filepath.Join(dir, "home", "bot", "understudy.db"); c.Store.Path != want {
		t.Errorf("store is %s, want %s", c.Store.Path, want)
	}
}

// The file's models stand, and the environment's store.
func TestEnvironmentBesideFile(t *testing.T) {
	setEnv(t, "UNDERSTUDY_MODEL=a/m1", "UNDERSTUDY_STORE=/data/bot.db")
	os.Unsetenv("HOME") // as in a container without users
	e := mustEnv(t)
	c := mustParse(t, `{"agents": {"defaults": {"model": "b/m2"}}, "store": {"path": "other.db"}}`)
	e.applyTo(c)
	if m := c.Agents.Defaults.Model; m.Primary != refs("b/m2")[0] || m.Fallbacks != nil || c.Store.Path != "/data/bot.db" || e.Home != "/data" {
		t.Errorf("models are %v, store is %s, home is %s", m, c.Store.Path, e.Home)
	}
}

func TestEnvironmentKeys(t *testing.T) {
	setEnv(t, "ANTHROPIC_API_KEY_10=k10", "ANTHROPIC_API_KEY=k1", "ANTHROPIC_API_KEY_3= k3\n", "ANTHROPIC_API_KEY_2=", "MY_GW_API_KEY_2=g2", "NOT_OURS_API_KEY=ü x", "MISTRAL_API_KEY_X=no")
	e := mustEnv(t)
	c := mustParse(t, `{"models": {"providers": {"my-gw": {"baseUrl": "http://127.0.0.1:1"}, "openai": {}}}}`)
	got := map[string]string{}
	for id, list := range e.keys(c) {
		for _, k := range list {
			got[id] += k.Reveal() + " "
		}
	}
	if want := map[string]string{"anthropic": "k1 k3 k10 ", "my-gw": "g2 "}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("keys are %v, want %v", got, want)
	}
}

func TestEnvironmentErrors(t *testing.T) {
	const secret = "s3cret-v4lue"
	pairs := []string{
		"UNDERSTUDY_MAX_TURNS=" + secret, "UNDERSTUDY_SHUTDOWN_GRACE=20", "UNDERSTUDY_LOG=" + secret, "UNDERSTUDY_LOG_FORMAT=xml", "UNDERSTUDY_HTTP=" + secret,
		"UNDERSTUDY_FALLBACKS=" + secret, "UNDERSTUDY_DISCORD_TOKEN=" + secret + " " + secret, "UNDERSTUDY_DISCORD_ALLOW=<@" + secret + ">", "UNDERSTUDY_SLACK_API_URL=" + secret,
		"UNDERSTUDY_ADMINS=discord:1," + secret, "UNDERSTUDY_FALLBACK_SKIP_TTL_MS=-1", "OPENCLAW_SDK_RETRY_MAX_WAIT_SECONDS=" + secret, "UNDERSTUDY_DISCORD_TOKN=" + secret,
		"UNDERSTUDY_=" + secret, "OPENAI_API_KEY_2=" + secret + "\u200b", "UNDERSTUDY_STORE=postgres://me:" + secret + "@db/x", "UNDERSTUDY_MODEL=",
		"UNDERSTUDY_SECRET_KEY=" + secret,
	}
	setEnv(t, pairs...)
	_, err := readEnv()
	if err == nil {
		t.Fatal("no error")
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("a value shows: %v", err)
	}
	lines := strings.Split(err.Error(), "\n")
	for _, want := range []string{
		"UNDERSTUDY_MAX_TURNS cannot be used; want a whole number from 1 to 10000",
		"UNDERSTUDY_SHUTDOWN_GRACE cannot be used; want a duration from 0s to 1h, such as 20s",
		"UNDERSTUDY_LOG cannot be used; want one of debug, info, warn, error",
		"UNDERSTUDY_LOG_FORMAT cannot be used; want one of text, json",
		"UNDERSTUDY_HTTP cannot be used; want an address such as 127.0.0.1:8484, or off",
		"UNDERSTUDY_FALLBACKS cannot be used; want models as provider/model, with commas between them",
		"UNDERSTUDY_DISCORD_TOKEN cannot be used; want a secret of visible characters, without spaces and line breaks",
		`UNDERSTUDY_DISCORD_ALLOW cannot be used; want "*" for everybody, "user:<id>", "role:<id>", or a Discord id, a number, not a name or mention (switch on Developer Mode under Settings, Advanced; then it is in the menu of what it belongs to, as Copy ID), with commas between several`,
		"UNDERSTUDY_SLACK_API_URL cannot be used; want an address that begins with http:// or https://, without a user name",
		"UNDERSTUDY_ADMINS cannot be used; want people as discord:<user id> or slack:<user id>, with commas between them; such an id is a Discord user id, a number, not a name or mention (switch on Developer Mode under Settings, Advanced; then it is in the menu of what it belongs to, as Copy ID), or a Slack member id such as U0123ABCD, not a name or mention (in the menu of a profile: Copy member ID; at the end of a channel's details: Channel ID)",
		"UNDERSTUDY_FALLBACK_SKIP_TTL_MS cannot be used; want a whole number of milliseconds; 0 is off",
		"OPENCLAW_SDK_RETRY_MAX_WAIT_SECONDS cannot be used; want a number of seconds up to 86400; 0 or off is no limit",
		`UNDERSTUDY_DISCORD_TOKN is no variable of this program; did you mean UNDERSTUDY_DISCORD_TOKEN?`,
		"OPENAI_API_KEY_2 cannot be used; want a secret of visible characters, without spaces and line breaks",
		"UNDERSTUDY_STORE cannot be used; want the path of an SQLite file",
		"UNDERSTUDY_SECRET_KEY cannot be used; want a secret of at least 32 visible characters, as from: openssl rand -base64 32",
	} {
		if i := slices.Index(lines, want); i >= 0 {
			lines = slices.Delete(lines, i, i+1)
		} else {
			t.Errorf("missing: %s", want)
		}
	}
	if want := []string{"UNDERSTUDY_ is no variable of this program"}; !slices.Equal(lines, want) {
		t.Errorf("left are %q, want %q", lines, want)
	}
}

// Names are no ids: nobody would ever match them.
func TestEnvironmentNamesAreNoIDs(t *testing.T) {
	for _, pair := range []string{
		"UNDERSTUDY_ADMINS=discord:ann", "UNDERSTUDY_ADMINS=discord:1,slack:ann", "UNDERSTUDY_ADMINS=slack:C0123ABCD", "UNDERSTUDY_ADMINS=discord:U0123ABCD",
		"UNDERSTUDY_DISCORD_ALLOW=general", "UNDERSTUDY_DISCORD_ALLOW=C0123ABCD", "UNDERSTUDY_DISCORD_ALLOW=user:ann",
		"UNDERSTUDY_SLACK_ALLOW=general", "UNDERSTUDY_SLACK_ALLOW=123456", "UNDERSTUDY_SLACK_ALLOW=role:S0123ABCD", "UNDERSTUDY_SLACK_ALLOW=user:T0123ABCD",
	} {
		setEnv(t, pair)
		name, _, _ := strings.Cut(pair, "=")
		if _, err := readEnv(); err == nil || !strings.HasPrefix(err.Error(), name+" cannot be used") ||
			!strings.Contains(err.Error(), "Copy ID") && !strings.Contains(err.Error(), "Copy member ID") {
			t.Errorf("%s: %v", pair, err)
		}
	}
	setEnv(t, "UNDERSTUDY_ADMINS=discord:81384788765712384,slack:U0123ABCD,slack:W0123ABCD",
		"UNDERSTUDY_DISCORD_ALLOW=*,1,user:2,role:3", "UNDERSTUDY_SLACK_ALLOW=*,E1,T1,C1,G1,D1,U1,W1,B1,user:U2")
	mustEnv(t)
}

func TestEnvironmentFallbacksAlone(t *testing.T) {
	setEnv(t, "UNDERSTUDY_FALLBACKS=a/m1")
	if _, err := readEnv(); err == nil || !strings.HasPrefix(err.Error(), "UNDERSTUDY_FALLBACKS is set without UNDERSTUDY_MODEL") {
		t.Errorf("fallbacks without a model: %v", err)
	}
}

func TestEnvironmentNeverPrintsSecrets(t *testing.T) {
	setEnv(t, "UNDERSTUDY_DISCORD_TOKEN=s3cret", "GROQ_API_KEY=s3cret")
	e := mustEnv(t)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "env", e, "keys", e.keys(defaultConfig()))
	for _, s := range []string{fmt.Sprintf("%v %+v %#v", e, *e, e.keys(defaultConfig())), log.String()} {
		if strings.Contains(s, "s3cret") {
			t.Errorf("a secret shows: %s", s)
		}
	}
	if got := e.keys(defaultConfig())["groq"]; len(got) != 1 || got[0].Reveal() != "s3cret" {
		t.Errorf("groq has %v", got)
	}
}

func TestProvidersAgreeWithClients(t *testing.T) {
	for _, p := range providers {
		if url, ok := chat.BaseURL(p.ID); ok && (url != p.BaseURL || p.API != "chat") {
			t.Errorf("%s is at %q here, and at %q for its client", p.ID, p.BaseURL, url)
		}
		if p.NeedsKey != strings.HasPrefix(p.BaseURL, "https://") || p.Help == "" || !isProvider(p.ID) {
			t.Errorf("the row %+v", p)
		}
	}
}
