package main

import (
	"cmp"
	"reflect"

	"github.com/tailscale/hujson"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/notices"
	"understudy/sessions"
)

// byKind is a setting that is written as one value for all places, or as an
// object of values by kind of place. Its words are those of its own tag.
type byKind struct {
	Default string `json:"default"`
	Direct  string `json:"direct"`
	Group   string `json:"group"`
	Thread  string `json:"thread"`
	Channel string `json:"channel"`
}

// of is the value for a kind of place, or "". A group is a shared place like a
// channel.
func (b byKind) of(k core.Kind) string {
	switch k {
	case core.KindDirect:
		return cmp.Or(b.Direct, b.Default)
	case core.KindGroup:
		return cmp.Or(b.Group, b.Channel, b.Default)
	case core.KindThread:
		return cmp.Or(b.Thread, b.Default)
	case core.KindChannel:
		return cmp.Or(b.Channel, b.Default)
	}
	return b.Default
}

// decodeConfig reads one value, or an object of values.
func (b *byKind) decodeConfig(d *configDecoder, v *hujson.Value, path string, tag reflect.StructTag) {
	if v.Value.Kind() != '{' {
		if s, ok := d.text(v, path, tag); ok {
			*b = byKind{Default: s}
		}
		return
	}
	into, fields := reflect.ValueOf(b).Elem(), configFields(reflect.TypeFor[byKind]())
	for _, m := range d.members(v, path) {
		f, ok := fieldOf(fields, keyOf(m))
		if !ok {
			d.unknownKey(m, path, fields)
			continue
		}
		d.value(&m.Value, subPath(path, f.name), into.FieldByIndex(f.index), tag)
	}
}

// account is what the file says about the account of a platform.
func (c *config) account(platform string) accountConfig {
	switch platform {
	case "discord":
		return c.Channels.Discord.accountConfig
	case "slack":
		return c.Channels.Slack.accountConfig
	}
	return accountConfig{}
}

// rule is the value of a setting in a place: of the thread, channel, category
// and guild the first that says something about its kind, else of the account,
// else of the file.
func (a accountConfig) rule(t core.Thread, of func(placeConfig) byKind, account, file byKind) string {
	for _, id := range []string{t.Root, t.Channel, t.Parent, t.Category, t.Workspace} {
		if v := of(a.Places[id]).of(t.Kind); id != "" && v != "" {
			return v
		}
	}
	return cmp.Or(account.of(t.Kind), file.of(t.Kind))
}

// requireMention says which messages of a place are answered.
func (c *config) requireMention(t core.Thread) string {
	a := c.account(t.Platform)
	return a.rule(t, func(p placeConfig) byKind { return p.RequireMention }, a.RequireMention, c.RequireMention)
}

// replyTo says which posts in a place carry a reply link.
func (c *config) replyTo(t core.Thread) string {
	a := c.account(t.Platform)
	return a.rule(t, func(p placeConfig) byKind { return p.ReplyTo }, a.ReplyTo, c.ReplyTo)
}

// manner is how the bot behaves in a place.
func (c *config) manner(t core.Thread) sessions.Manner {
	a := c.account(t.Platform)
	streaming := a.rule(t, func(p placeConfig) byKind { return byKind{Default: p.Streaming} }, byKind{}, byKind{Default: c.Streaming}) == "on"
	return sessions.Manner{
		Answer:    sessions.Engagement(c.requireMention(t)),
		ReplyTo:   delivery.Mode(c.replyTo(t)),
		Notices:   notices.Policy(a.rule(t, func(p placeConfig) byKind { return p.Notices }, byKind{}, c.Notices.Fallback)),
		Streaming: &streaming,
	}
}

// opensThreads reports whether messages in a shared place are answered in
// threads.
func (c *config) opensThreads(t core.Thread) bool {
	switch t.Platform {
	case "discord":
		return c.Thread.Auto && t.Kind == core.KindChannel
	case "slack":
		return c.replyTo(t) != "off"
	}
	return false
}
