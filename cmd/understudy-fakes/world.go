package main

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
	"understudy/core/llm/llmtest"
)

// addresses are where the parts listen.
type addresses struct{ control, discord, slack, lead, second string }

// world is everything that runs.
type world struct {
	discord      *discordtest.Server
	slack        *slacktest.Server
	overHTTP     atomic.Bool // Slack tells what happens by requests
	lead, second *llmtest.Server
	listener     net.Listener
	control      *http.Server
	ended        chan struct{}
	latch        *latch
	stage        *stage // nil unless the providers recite
	mu           sync.Mutex
	more         map[string][]string // channels that were added, by platform
}

// open starts all parts, or none.
func open(at addresses, recites bool) (_ *world, err error) {
	w := &world{slack: slacktest.New(slacktest.Config{}), ended: make(chan struct{}), latch: newLatch(), more: map[string][]string{}}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.discord, err = discordtest.Start(discordtest.Options{Addr: at.discord}); err != nil {
		return nil, err
	}
	if err := w.slack.Listen(at.slack); err != nil {
		return nil, err
	}
	if w.lead, err = llmtest.Listen(at.lead); err != nil {
		return nil, err
	}
	if w.second, err = llmtest.Listen(at.second); err != nil {
		return nil, err
	}
	if w.listener, err = net.Listen("tcp", at.control); err != nil {
		return nil, fmt.Errorf("listening for orders: %w", err)
	}
	if recites {
		w.stage = &stage{latch: w.latch, bell: "http://" + w.listener.Addr().String() + "/ring", rings: map[string]int{}}
		w.lead.Recite(w.stage.recite("lead"))
		w.second.Recite(w.stage.recite("second"))
	}
	w.control = &http.Server{Handler: w.orders(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(w.ended)
		_ = w.control.Serve(w.listener) // it ends with close
	}()
	return w, nil
}

func (w *world) close() {
	if w.control != nil {
		_ = w.control.Close()
		<-w.ended
	}
	if w.discord != nil {
		w.discord.Close()
	}
	w.slack.Close()
	for _, p := range []*llmtest.Server{w.lead, w.second} {
		if p != nil {
			p.Close()
		}
	}
}

// hint is what somebody needs to run understudy here.
type hint struct {
	Control string            `json:"control"`
	Discord string            `json:"discord"`
	Slack   string            `json:"slack"`
	Secret  string            `json:"signingSecret"` // of Slack's events over HTTP
	Lead    string            `json:"lead"`
	Second  string            `json:"second"`
	Env     map[string]string `json:"env"`
}

// describe writes the configuration and the environment into a folder.
func (w *world) describe(dir string) (hint, error) {
	dir, err := folder(dir)
	if err != nil {
		return hint{}, err
	}
	config := filepath.Join(dir, "understudy.jsonc")
	h := hint{
		Control: "http://" + w.listener.Addr().String(),
		Discord: w.discord.URL, Slack: w.slack.APIURL(), Secret: slacktest.SigningSecret, Lead: w.lead.URL, Second: w.second.URL,
		Env: map[string]string{
			"UNDERSTUDY_CONFIG":          config,
			"UNDERSTUDY_STORE":           filepath.Join(dir, "understudy.db"),
			"UNDERSTUDY_DISCORD_TOKEN":   discordtest.DefaultToken,
			"UNDERSTUDY_DISCORD_API_URL": w.discord.URL,
			"UNDERSTUDY_DISCORD_ALLOW":   "*",
			"UNDERSTUDY_SLACK_BOT_TOKEN": slacktest.BotToken,
			"UNDERSTUDY_SLACK_APP_TOKEN": slacktest.AppToken,
			"UNDERSTUDY_SLACK_API_URL":   w.slack.APIURL(),
			"UNDERSTUDY_SLACK_ALLOW":     "*",
			"LEAD_API_KEY":               "key-of-the-lead",
			"SECOND_API_KEY":             "key-of-the-second",
		},
	}
	text := fmt.Sprintf(`// Written by understudy-fakes.
{
	"agents": {"defaults": {"model": {"primary": "lead/actor", "fallbacks": ["second/double"]}}},
	"models": {"providers": {
		"lead": {"baseUrl": %q, "api": "anthropic"},
		"second": {"baseUrl": %q, "api": "chat"},
	}},
}
`, h.Lead, h.Second+"/v1")
	var env strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h.Env)) {
		fmt.Fprintf(&env, "%s='%s'\n", name, h.Env[name])
	}
	fmt.Fprintf(&env, "FAKES_CONTROL='%s'\n", h.Control) // for the shell itself
	err = os.WriteFile(config, []byte(text), 0o600)
	err = cmp.Or(err, os.WriteFile(filepath.Join(dir, "env"), []byte(env.String()), 0o600))
	if err != nil {
		return hint{}, fmt.Errorf("writing what understudy needs: %w", err)
	}
	return h, nil
}

// folder makes the folder and returns its full path.
func folder(dir string) (string, error) {
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "understudy-fakes-")
	} else if dir, err = filepath.Abs(dir); err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("making the folder for understudy's files: %w", err)
	}
	return dir, nil
}
