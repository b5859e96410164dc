package main

import (
	"reflect"

	"github.com/tailscale/hujson"
)

// channelsConfig has one account of each platform.
type channelsConfig struct {
	Discord discordAccount `json:"discord"`
	Slack   slackAccount   `json:"slack"`
}

// accountConfig is what the accounts of all platforms have in common. Where
// RequireMention or ReplyTo is not written, it is that of the whole file. Places
// are what differs in a thread, channel, category, guild or workspace.
type accountConfig struct {
	AllowBots      botRule                `json:"allowBots"`
	DMPolicy       string                 `json:"dmPolicy" words:"pairing|allowlist|open|off"`
	APIURL         string                 `json:"apiUrl" form:"httpURL"`
	RequireMention byKind                 `json:"requireMention" words:"always|until-engaged|never"`
	ReplyTo        byKind                 `json:"replyTo" words:"off|first|all"`
	Places         map[string]placeConfig `json:"places" keys:"platformID"`
}

// placeConfig is what differs in a place and in what lies in it.
type placeConfig struct {
	RequireMention byKind `json:"requireMention" words:"always|until-engaged|never"`
	ReplyTo        byKind `json:"replyTo" words:"off|first|all"`
	Notices        byKind `json:"notices" words:"reply|log|off"`
	Streaming      string `json:"streaming" words:"on|off"`
}

type discordAccount struct {
	Allow []string `json:"allow" form:"discordAllowed"`
	accountConfig
	GatewayURL    string   `json:"gatewayUrl" form:"wsURL"`
	EveryoneWakes bool     `json:"everyoneWakes"`
	MentionRoles  []string `json:"mentionRoles" form:"platformID"`
}

type slackAccount struct {
	Allow []string `json:"allow" form:"slackAllowed"`
	accountConfig
	External        bool   `json:"external"`
	NativeStreaming string `json:"nativeStreaming" words:"auto|on|off"`
}

// botRule is which bots are heard, in the words of the adapters: "named" is
// written as false, "all" as true, and "mentions" as it is.
type botRule string

// decodeConfig reads false, true or "mentions".
func (b *botRule) decodeConfig(d *configDecoder, v *hujson.Value, path string, _ reflect.StructTag) {
	lit, _ := v.Value.(hujson.Literal)
	switch {
	case lit.Kind() == 'f':
		*b = "named"
	case lit.Kind() == 't':
		*b = "all"
	case lit.Kind() == '"' && lit.String() == "mentions":
		*b = "mentions"
	default:
		d.mismatch(v, path, `false, true or "mentions"`)
	}
}
