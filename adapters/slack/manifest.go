package slack

import (
	"bytes"
	"encoding/json"
	"fmt"

	"understudy/core"
)

// botScopes are the scopes of the bot token, each needed for something that the
// adapter does or Slack sends.
var botScopes = []string{
	"app_mentions:read", "assistant:write", "channels:history", "channels:read", "chat:write", "commands", "files:read", "files:write",
	"groups:history", "groups:read", "im:history", "im:read", "im:write", "mpim:history", "mpim:read",
	"reactions:read", "reactions:write", "users:read",
}

var botEvents = []string{
	"agent_session_stopped", "app_home_opened", "app_mention", "app_uninstalled", "assistant_thread_context_changed", "assistant_thread_started",
	"message.channels", "message.groups", "message.im", "message.mpim", "tokens_revoked",
}

// The manifest's own words. Every switch is written out: Slack's defaults
// differ from what a reader of the file would guess.
type manifest struct {
	Metadata struct {
		Major int `json:"major_version"`
	} `json:"_metadata"`
	Display  display  `json:"display_information"`
	Features features `json:"features"`
	OAuth    struct {
		Scopes struct {
			Bot []string `json:"bot"`
		} `json:"scopes"`
	} `json:"oauth_config"`
	Settings settings `json:"settings"`
}

type display struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type features struct {
	AppHome struct {
		Home     bool `json:"home_tab_enabled"`
		Messages bool `json:"messages_tab_enabled"`
		ReadOnly bool `json:"messages_tab_read_only_enabled"`
	} `json:"app_home"`
	BotUser struct {
		Name   string `json:"display_name"`
		Online bool   `json:"always_online"`
	} `json:"bot_user"`
	Assistant struct {
		Description string `json:"assistant_description"`
	} `json:"assistant_view"`
	Shortcuts []messageShortcut `json:"shortcuts"`
	Commands  []slashCommand    `json:"slash_commands"`
}

type messageShortcut struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Callback    string `json:"callback_id"`
	Description string `json:"description"`
}

type slashCommand struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	Usage       string `json:"usage_hint,omitempty"`
	Escape      bool   `json:"should_escape"`
}

type settings struct {
	Events struct {
		Bot []string `json:"bot_events"`
	} `json:"event_subscriptions"`
	Interactivity struct {
		Enabled bool `json:"is_enabled"`
	} `json:"interactivity"`
	OrgDeploy  bool `json:"org_deploy_enabled"`
	SocketMode bool `json:"socket_mode_enabled"`
	Rotation   bool `json:"token_rotation_enabled"`
}

// Manifest is the app manifest, as JSON, from which Slack makes an app that
// this adapter can serve: paste it under "Create New App, From a manifest".
// Commands whose names Slack keeps for itself have another one there, and those
// that are wanted inside threads, where Slack takes no commands, stand in the
// menu of every message as well.
func Manifest(commands []core.Command) ([]byte, error) {
	var m manifest
	m.Metadata.Major = 1
	m.Display = display{Name: "understudy", Description: "Answers, also when its first model cannot"}
	m.Features.AppHome.Messages = true
	m.Features.BotUser.Name, m.Features.BotUser.Online = "understudy", true
	m.Features.Assistant.Description = m.Display.Description
	m.OAuth.Scopes.Bot = botScopes
	m.Settings.Events.Bot = botEvents
	m.Settings.Interactivity.Enabled = true
	m.Settings.SocketMode = true
	for _, c := range commands {
		s := slashCommand{Command: "/" + nativeName(c.Name), Description: c.Help}
		if c.Arg != "" {
			s.Usage = "[" + c.Arg + "]"
		}
		m.Features.Commands = append(m.Features.Commands, s)
		if title, ok := shortcuts[c.Name]; ok {
			m.Features.Shortcuts = append(m.Features.Shortcuts, messageShortcut{Name: title, Type: "message", Callback: c.Name, Description: c.Help})
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return nil, fmt.Errorf("slack: writing the manifest: %w", err)
	}
	return b.Bytes(), nil
}
