package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/llm"
	"understudy/core/llm/llmtest"
	"understudy/core/llm/script"
	"understudy/store/memory"
)

// TestConversation runs the product against both platforms at once: a fallback
// with its notice, the way back, a strict choice, and a repeated event.
func TestConversation(t *testing.T) {
	for name, newTown := range towns {
		t.Run(name, func(t *testing.T) {
			town := newTown(t)
			s := newStand(t, town)
			stop, log := s.runHere()
			s.limit("1")
			s.standIn.Queue("double", llmtest.Text("I stand in."), llmtest.Text("I still stand in."))

			// The lead fails: the answer, then the notice, both in the thread.
			k := s.open(town, "good evening")
			k.next("I stand in.")
			if notice := k.next(movedText); notice.reply != "" {
				t.Errorf("the notice took the reply link: %+v", notice)
			}
			k.say("still there?")
			k.next("I still stand in.") // and no second notice: the next post is checked below

			// The limit is over when the provider said so.
			_, states := s.record(town, k.thread)
			<-time.After(time.Until(states[leadProfile].Models["actor"].Until))
			s.lead.Queue("actor", llmtest.Text("I am back."))
			k.say("and the lead?")
			k.next("I am back.")
			k.next(clearedText)

			// A repeated event is no second message. Events of one thread keep
			// their order, so the repeat is over when the next answer is there.
			s.lead.Queue("actor", llmtest.Text("Once more."))
			town.again(k.thread, k.last)
			k.say("once")
			k.next("Once more.")

			// A model that somebody chose is asked alone.
			before := asked(s.standIn)
			k.say(town.command("/model " + leadModel))
			k.next(leadModel)
			s.limit("1")
			k.say("only you")
			k.next("strict")

			if n := asked(s.standIn) - before; n != 0 {
				t.Errorf("the stand-in was asked %d times in spite of the choice", n)
			}
			if code := stop(); code != 0 {
				t.Errorf("run ended with %d", code)
			}
			k.nothingElse()
			if said := log.String(); strings.Contains(said, "key-of-the") || strings.Contains(said, discordtest.DefaultToken) || strings.Contains(said, slacktest.BotToken) {
				t.Error("the log shows a credential")
			}
		})
	}
}

// TestReplyLink: in a thread that exists, the answer is a reply to the message
// and nothing else is.
func TestReplyLink(t *testing.T) {
	town := newDiscordTown(t).(discordTown)
	town.AddChannel(discordtest.Channel{ID: "120", Parent: discordSquare, Name: "green room", Type: discordtest.PublicThread})
	s := newStand(t, town)
	stop, _ := s.runHere()
	s.limit("60")
	s.standIn.Queue("double", llmtest.Text("I stand in."), llmtest.Text("Again."))

	k := &talk{stand: s, town: town, thread: "120"}
	k.say(town.command("hello"))
	if answer := k.next("I stand in."); answer.reply != k.last {
		t.Errorf("the answer replies to %q, want %q", answer.reply, k.last)
	}
	if notice := k.next(movedText); notice.reply != "" {
		t.Errorf("the notice took the reply link: %+v", notice)
	}
	k.say("and now?")
	if answer := k.next("Again."); answer.reply != k.last {
		t.Errorf("the second answer replies to %q, want %q", answer.reply, k.last)
	}
	stop()
	k.nothingElse()
	if bad := town.Careless(); len(bad) > 0 {
		t.Errorf("posts that may ping somebody: %+v", bad)
	}
}

// TestSlashCommand: a choice through Discord's own command holds in the thread.
func TestSlashCommand(t *testing.T) {
	town := newDiscordTown(t).(discordTown)
	s := newStand(t, town)
	s.runHere()
	s.lead.Queue("actor", llmtest.Text("Good evening."))
	k := s.open(town, "hello")
	k.next("Good evening.")

	id := town.Interact(discordtest.Interaction{Channel: k.thread, User: "700", Command: "model", Options: map[string]string{"model": standInModel}})
	s.until(town, "the answer to the command", func() bool { return town.Answer(id).Content != "" })
	if a := town.Answer(id); !strings.Contains(a.Content, standInModel) || !a.Ephemeral {
		t.Errorf("the command was answered with %+v", a)
	}
	before := asked(s.lead)
	s.standIn.Queue("double", llmtest.Failure(429, "rate_limit_exceeded", "slow down").With("Retry-After", "1"))
	k.say("only you")
	k.next("strict")
	if n := asked(s.lead) - before; n != 0 {
		t.Errorf("the lead was asked %d times in spite of the choice", n)
	}
}

// TestBothPlatforms: one process serves both, and what one of them learns about
// a provider counts for the other.
func TestBothPlatforms(t *testing.T) {
	s := newStand(t, newDiscordTown(t), newSlackTown(t))
	s.runHere()
	s.limit("600")
	s.standIn.Queue("double", llmtest.Text("I stand in."))
	for _, town := range s.towns {
		k := s.open(town, "hello")
		k.next("I stand in.")
		k.next(movedText)
	}
	if n := asked(s.lead); n != 1 {
		t.Errorf("the lead was asked %d times, want once: it said to wait ten minutes", n)
	}
	for _, p := range []struct {
		server *llmtest.Server
		wire   string
		key    string
	}{{s.lead, "messages", "key-of-the-lead"}, {s.standIn, "chat", "key-of-the-second"}} {
		for _, r := range p.server.Requests() {
			if r.Wire != p.wire || r.Key != p.key {
				t.Errorf("%s was asked as %s with key %q", r.Model, r.Wire, r.Key)
			}
		}
	}
}

// TestRunRefuses: a start that cannot work says why, and what to do.
func TestRunRefuses(t *testing.T) {
	write := func(t *testing.T, text string) string {
		path := filepath.Join(t.TempDir(), "understudy.jsonc")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	discord := func(t *testing.T) []string { return newDiscordTown(t).env() }
	slack := func(t *testing.T) []string { return newSlackTown(t).env() }
	for _, c := range []struct {
		name string
		env  func(*testing.T) []string
		more []string // of the environment
		file string   // the configuration, if any
		code int
		want []string // in the text, in any order
		not  []string // in the text
	}{
		{name: "nothing set", code: 2,
			want: []string{"run: a platform and a model are missing", "UNDERSTUDY_DISCORD_TOKEN", "UNDERSTUDY_SLACK_BOT_TOKEN", "ANTHROPIC_API_KEY", "understudy chat"}},
		{name: "no model", env: discord, code: 2,
			want: []string{"run: a model is missing", "UNDERSTUDY_MODEL", "ANTHROPIC_API_KEY"}, not: []string{"DISCORD", "SLACK"}},
		{name: "no platform", more: []string{"ANTHROPIC_API_KEY=k"}, code: 2,
			want: []string{"run: a platform is missing", "UNDERSTUDY_DISCORD_TOKEN", "UNDERSTUDY_SLACK_BOT_TOKEN"}, not: []string{"API_KEY", "UNDERSTUDY_MODEL"}},
		{name: "no key", env: discord, more: []string{"UNDERSTUDY_MODEL=openai/gpt-5"}, code: 2,
			want: []string{"openai/gpt-5", "OPENAI_API_KEY"}, not: []string{"UNDERSTUDY_DISCORD_TOKEN"}},
		{name: "no key for any", env: discord, more: []string{"UNDERSTUDY_MODEL=openai/gpt-5", "UNDERSTUDY_FALLBACKS=openai/gpt-5-mini,groq/llama-3.3-70b-versatile"}, code: 2,
			want: []string{"openai/gpt-5", "OPENAI_API_KEY", "groq/", "GROQ_API_KEY"}, not: []string{"gpt-5-mini"}},
		{name: "no such provider", env: discord, more: []string{"UNDERSTUDY_MODEL=antropic/claude-sonnet-4-5"}, code: 2,
			want: []string{`no provider "antropic"`, "anthropic", "UNDERSTUDY_MODEL", "models.providers"}},
		{name: "wrong Discord token", env: discord, more: []string{"UNDERSTUDY_DISCORD_TOKEN=wrong", "UNDERSTUDY_MODEL=script/lead"},
			code: 1, want: []string{"does not accept the bot token", "Reset Token", "UNDERSTUDY_DISCORD_TOKEN"}},
		{name: "wrong Slack bot token", env: slack, more: []string{"UNDERSTUDY_SLACK_BOT_TOKEN=xoxb-wrong", "UNDERSTUDY_MODEL=script/lead"},
			code: 1, want: []string{"invalid_auth", "xoxb-", "OAuth & Permissions", "UNDERSTUDY_SLACK_BOT_TOKEN"}},
		{name: "wrong Slack app token", env: slack, more: []string{"UNDERSTUDY_SLACK_APP_TOKEN=xapp-wrong", "UNDERSTUDY_MODEL=script/lead"},
			code: 1, want: []string{"invalid_auth", "xapp-", "App-Level Tokens"}},
		{name: "Slack tokens changed places", env: slack, more: []string{"UNDERSTUDY_SLACK_BOT_TOKEN=xapp-1", "UNDERSTUDY_SLACK_APP_TOKEN=xoxb-1", "UNDERSTUDY_MODEL=script/lead"},
			code: 2, want: []string{"run: slack account", "have changed places", "UNDERSTUDY_SLACK_BOT_TOKEN", "UNDERSTUDY_SLACK_APP_TOKEN"}},
		{name: "no Slack app token", env: slack, more: []string{"UNDERSTUDY_SLACK_APP_TOKEN=", "UNDERSTUDY_MODEL=script/lead"},
			code: 2, want: []string{"UNDERSTUDY_SLACK_APP_TOKEN is missing", "App-Level Tokens", "UNDERSTUDY_SLACK_SIGNING_SECRET"}},
		{name: "quotation marks", env: slack, more: []string{`UNDERSTUDY_SLACK_BOT_TOKEN="xoxb-1"`, `ANTHROPIC_API_KEY='sk-1'`}, code: 2,
			want: []string{"UNDERSTUDY_SLACK_BOT_TOKEN has quotation marks", "ANTHROPIC_API_KEY has quotation marks", "leave them out"}, not: []string{"xoxb-1", "sk-1"}},
		{name: "a store where none can be", env: discord, more: []string{"UNDERSTUDY_MODEL=script/lead", "UNDERSTUDY_STORE=/dev/null/x/understudy.db"}, code: 2,
			want: []string{"cannot be made", "UNDERSTUDY_STORE"}},
		{name: "bad model", env: discord, more: []string{"UNDERSTUDY_MODEL=gpt-5"}, code: 2, want: []string{"UNDERSTUDY_MODEL", "provider/model"}},
		{name: "bad model in the file", env: discord, file: "{\n  \"agents\": {\"defaults\": {\"model\": \"gpt-5\"}},\n}", code: 2,
			want: []string{"understudy.jsonc:2", "provider/model"}},
		{name: "broken file", env: discord, file: "{\n  \"agents\": {\n    \"defaults\": [,\n}", code: 2, want: []string{"understudy.jsonc:3"}},
		{name: "unknown key", env: discord, file: "{\n  \"agent\": {}\n}", code: 2, want: []string{"understudy.jsonc:2", "agents"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var env []string
			if c.env != nil {
				env = c.env(t)
			}
			if c.file != "" {
				env = append(env, "UNDERSTUDY_CONFIG="+write(t, c.file))
			}
			setEnv(t, append(append(env, "UNDERSTUDY_HTTP=off", "UNDERSTUDY_LOG=error"), c.more...)...)
			out := &output{}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			code := run(ctx, console{strings.NewReader(""), out, out}, []string{"run"})
			text := out.String()
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("the text lacks %q", want)
				}
			}
			for _, not := range c.not {
				if strings.Contains(text, not) {
					t.Errorf("the text holds %q", not)
				}
			}
			if lines := strings.Count(strings.TrimSpace(text), "\n") + 1; lines > 15 {
				t.Errorf("the text has %d lines", lines)
			}
			if trace.MatchString(text) {
				t.Error("the text holds a stack trace")
			}
			if t.Failed() {
				t.Logf("it says:\n%s", text)
			}
		})
	}
}

// trace is how Go shows where a program was.
var trace = regexp.MustCompile(`goroutine \d+|\.go:\d+`)

// slowOutbox is a store that is asked for the open posts a second time, by the
// sender, and does not answer before it is given up.
type slowOutbox struct {
	stores
	reads atomic.Int32
}

func (s *slowOutbox) Outgoing(ctx context.Context) ([]delivery.Row, error) {
	if s.reads.Add(1) == 1 {
		return nil, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestStopDuringStart: a stop that comes before all is up is no failure.
func TestStopDuringStart(t *testing.T) {
	c := defaultConfig()
	useCast(c)
	h, err := build(parts{
		config: c, store: &slowOutbox{stores: memory.New().Open(memory.Options{})},
		platform: func(core.Thread) (core.Platform, bool) { return nil, false },
		client:   c.clients(llm.NewTransport(nil, c.Timeouts.request()), &script.Script{}),
		known:    c.providerKnown, keyless: c.providerKeyless, unknown: c.unknown,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.shut(0); err != nil {
		t.Errorf("the stop failed: %v", err)
	}
}
