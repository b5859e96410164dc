package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// configErrorCases are files with what is wrong in them.
var configErrorCases = []struct {
	name, text string
	want       []string
}{
	{"nothing", ``, []string{`c.jsonc:1:1: the file is empty; write {} for no settings, or leave the file out`}},
	{"white space", " \n\t", []string{`c.jsonc:1:1: the file is empty; write {} for no settings, or leave the file out`}},
	{"only a comment", "// nothing yet", []string{`c.jsonc:1:1: the file is empty; write {} for no settings, or leave the file out`}},
	{"not closed", "{\n \"replyTo\": \"off\"", []string{`c.jsonc:2:18: the file ends in the middle of something: a bracket, quote or comment is not closed`}},
	{"syntax", "{\n \"ä\": 1 \"b\": 2}", []string{`c.jsonc:2:9: this is not JSON with comments: invalid character '"' after object value (expecting ',' or '}')`}},
	{"literal", `{"thread": {"auto": True}}`, []string{`c.jsonc:1:21: this is not JSON with comments: invalid literal: True`}},
	{"no object", `[]`, []string{`c.jsonc:1:1: found a list; want an object`}},
	{"null", `{"thread": {"auto": null}}`, []string{`c.jsonc:1:21: thread.auto: found null; leave the key out instead`}},
	{
		"all at once", "{\n\t\"agnts\": {},\n\t\"replyTo\": \"frist\",\n\t// ü\n\t/* ü */ \"maxToolRounds\": 0,\n\t\"streaming\": true,\n\t\"thread\": {\"auto\": \"yes\"},\n}",
		[]string{
			`c.jsonc:2:2: agnts: unknown key; did you mean "agents"?; allowed here: agents, bindings, models, modelPolicy, auth, notices, timeouts, replyTo, streaming, streamingRepost, requireMention, session, thread, attachments, transcription, transcript, compaction, maxToolRounds, quotas, admin, store, retention, channels`,
			`c.jsonc:3:13: replyTo: found "frist"; want one of off, first, all; did you mean "first"?`,
			`c.jsonc:5:27: maxToolRounds: found the number 0; want a whole number from 1 to 1000`,
			`c.jsonc:6:15: streaming: found true; want a text in quotes`,
			`c.jsonc:7:21: thread.auto: found "yes"; want true or false`,
		},
	},
	{"duplicate key", "{\"replyTo\": \"off\",\n \"replyTo\": \"all\"}", []string{`c.jsonc:2:2: replyTo: the key is there twice; it was first written at line 1, column 2`}},
	{
		"models", `{"models": {"aliases": {"fast": "a/m1", "7": "a/m1", "FAST": "b/m1", "slow": "fats"}},
 "agents": {"defaults": {"model": "fsat", "imageModel": {"fallbacks": ["a/m1", "a/", "x y/z"]}},
 "entries": {"x": {"model": {"primay": "a/m1"}}, "y": {"model": 5}}}}`,
		[]string{
			`c.jsonc:1:41: models.aliases.7: found the name "7"; want letters, digits, '.', '_' and '-', not a number alone and not "default"`,
			`c.jsonc:1:54: models.aliases.FAST: the name is there twice; upper and lower case are the same here`,
			`c.jsonc:1:78: models.aliases.slow: found "fats"; want a model as provider/model, for example anthropic/claude-sonnet-4-5, or an alias; did you mean "fast"?`,
			`c.jsonc:2:35: agents.defaults.model: found "fsat"; want a model as provider/model, for example anthropic/claude-sonnet-4-5, or an alias; did you mean "fast"?`,
			`c.jsonc:2:57: agents.defaults.imageModel: primary is missing`,
			`c.jsonc:2:80: agents.defaults.imageModel.fallbacks[1]: found "a/"; want a model as provider/model, for example anthropic/claude-sonnet-4-5, or an alias`,
			`c.jsonc:2:86: agents.defaults.imageModel.fallbacks[2]: found "x y/z"; want a model as provider/model, for example anthropic/claude-sonnet-4-5, or an alias`,
			`c.jsonc:3:30: agents.entries.x.model.primay: unknown key; did you mean "primary"?; allowed here: primary, fallbacks`,
			`c.jsonc:3:65: agents.entries.y.model: found the number 5; want a model as provider/model, or an object with primary and fallbacks`,
		},
	},
	{
		"agents", `{"agents": {"entries": {"a b": {}, "x": {"tools": ["sesion_status", 3]}},
 "list": [{"id": "x"}, {"id": "y"}, {"id": "y"}, {}, {"id": ""}]}}`,
		[]string{
			`c.jsonc:1:25: agents.entries["a b"]: found the name "a b"; want a name of letters, digits, '.', '_' and '-'`,
			`c.jsonc:1:52: agents.entries.x.tools[0]: there is no tool "sesion_status"; did you mean "session_status"?; there are: session_status`,
			`c.jsonc:1:69: agents.entries.x.tools[1]: found the number 3; want a text in quotes, as in "3"`,
			`c.jsonc:2:11: agents.list[0]: the agent "x" is at agents.entries.x (line 1, column 41) already; keep one of the two`,
			`c.jsonc:2:37: agents.list[2]: the agent "y" is at agents.list[1] (line 2, column 24) already; keep one of the two`,
			`c.jsonc:2:50: agents.list[3]: id is missing`,
			`c.jsonc:2:61: agents.list[4].id: found ""; want a name of letters, digits, '.', '_' and '-'`,
		},
	},
	{
		"bindings", `{"agents": {"entries": {"support": {}}}, "bindings": [
 {"agent": "suport", "guild": 123456789012345678},
 {"platform": "slack", "guild": "1", "user": "@ann"},
 {"agent": "main", "platform": "discord", "workspace": "T1"}]}`,
		[]string{
			`c.jsonc:2:12: bindings[0].agent: there is no agent "suport"; did you mean "support"?; there are: main, support`,
			`c.jsonc:2:31: bindings[0].guild: found the number 123456789012345678; want a text in quotes, as in "123456789012345678"`,
			`c.jsonc:3:2: bindings[1]: agent is missing`,
			`c.jsonc:3:33: bindings[1].guild: only discord has this, but the binding is for slack; it would never match`,
			`c.jsonc:3:46: bindings[1].user: found "@ann"; want an id of the platform, not a name or mention`,
			`c.jsonc:4:56: bindings[2].workspace: only slack has this, but the binding is for discord; it would never match`,
		},
	},
	{
		"auth", `{"auth": {"profiles": {"main": {}, "openai:x": {"provider": "openrouter", "mode": "apikey"}, "Openai:y": {}},
 "order": {"openai": ["x", "groq:x", "openai:x", "openai:x"], "antropic": ["antropic:x"], "groq": []},
 "cooldowns": {"billingBackoffHours": 0, "overloadedProfileRotations": -1, "billingMaxHour": 3, "failureWindowHours": 1e999,
 "billingBackoffHoursByProvider": {"openai": "5"}}}}`,
		[]string{
			`c.jsonc:1:24: auth.profiles.main: found the id "main"; want a profile as "provider:name"`,
			`c.jsonc:1:61: auth.profiles["openai:x"].provider: found "openrouter"; the id says "openai"`,
			`c.jsonc:1:83: auth.profiles["openai:x"].mode: found "apikey"; want one of api_key, oauth, token; did you mean "api_key"?`,
			`c.jsonc:1:94: auth.profiles["Openai:y"]: found the id "Openai:y"; want a profile as "provider:name"`,
			`c.jsonc:2:23: auth.order.openai[0]: found "x"; want a profile as "provider:name"`,
			`c.jsonc:2:28: auth.order.openai[1]: found "groq:x"; want a profile of this provider, "openai:name"`,
			`c.jsonc:2:50: auth.order.openai[3]: found "openai:x" for the second time`,
			`c.jsonc:2:75: auth.order.antropic: nothing else names a provider "antropic"; did you mean "anthropic"?`,
			`c.jsonc:2:99: auth.order.groq: the list is empty, so that no profile could ever be used; leave the key out to use all`,
			`c.jsonc:3:39: auth.cooldowns.billingBackoffHours: found the number 0; want a number from 0.01 to 768`,
			`c.jsonc:3:72: auth.cooldowns.overloadedProfileRotations: found the number -1; want a whole number from 0 to 100`,
			`c.jsonc:3:76: auth.cooldowns.billingMaxHour: unknown key; did you mean "billingMaxHours"?; allowed here: billingBackoffHours, billingBackoffHoursByProvider, billingMaxHours, billingProbeMinutes, authPermanentBackoffMinutes, authPermanentMaxMinutes, failureWindowHours, overloadedProfileRotations, overloadedBackoffMs, rateLimitedProfileRotations`,
			`c.jsonc:3:119: auth.cooldowns.failureWindowHours: found the number 1e999; want a number from 0.01 to 768`,
			`c.jsonc:4:46: auth.cooldowns.billingBackoffHoursByProvider.openai: found "5"; want a number from 0.01 to 768`,
		},
	},
	{
		"providers", `{"models": {"providers": {"My": {}, "gw": {"baseUrl": "gw.example.com", "api": "responses", "apiKey": "sk-0123456789abcdef0123",
 "headers": {"a b": "x", "X-Key": "one\ntwo", "X-N": 5}, "models": [{"id": "m"}, {"id": "m"}, {"input": ["audio"]}, {"contextWindow": "big", "id": "n"}]}}},
 "modelPolicy": {"allow": ["a/m1", "a/*", "*", "m1", "a/*x"], "adminsOnly": 1}}`,
		[]string{
			`c.jsonc:1:27: models.providers.My: found the name "My"; want a provider in lower case: letters, digits, '.', '_' and '-'`,
			`c.jsonc:1:55: models.providers.gw.baseUrl: found "gw.example.com"; want an address that begins with http:// or https://, without a user name`,
			`c.jsonc:1:80: models.providers.gw.api: found "responses"; want one of chat, anthropic`,
			`c.jsonc:1:93: models.providers.gw.apiKey: unknown key; secrets do not belong in this file, set them in the environment (see .env.example)`,
			`c.jsonc:2:14: models.providers.gw.headers["a b"]: found the name "a b"; want the name of an HTTP header`,
			`c.jsonc:2:35: models.providers.gw.headers.X-Key: want a text without line breaks and control characters`,
			`c.jsonc:2:54: models.providers.gw.headers.X-N: want a text without line breaks and control characters`,
			`c.jsonc:2:82: models.providers.gw.models[1]: the model "m" is in the list already`,
			`c.jsonc:2:95: models.providers.gw.models[2]: id is missing`,
			`c.jsonc:2:106: models.providers.gw.models[2].input[0]: found "audio"; want one of text, image, pdf`,
			`c.jsonc:2:135: models.providers.gw.models[3].contextWindow: found "big"; want a whole number from 1 to 100000000`,
			`c.jsonc:3:48: modelPolicy.allow[3]: found "m1"; want a full model as provider/model, or the beginning of one with a "*" at the end`,
			`c.jsonc:3:54: modelPolicy.allow[4]: found "a/*x"; want a full model as provider/model, or the beginning of one with a "*" at the end`,
			`c.jsonc:3:77: modelPolicy.adminsOnly: found the number 1; want true or false`,
		},
	},
	{
		"times and places", `{"timeouts": {"connect": "10", "idle": -1, "turn": "25h", "tool": 1e300, "attempt": []},
 "notices": {"fallback": "loud"}, "admin": {"users": ["ann", "channel:x", "discord:<@1>"]},
 "channels": {"discord": {"allow": ["#general"], "dmPolicy": "friends", "gatewayUrl": "https://x", "apiUrl": "http://a:b@c"}, "slack": {"gatewayUrl": "wss://x"}},
 "store": {"path": " ", "synchronous": "off"}}`,
		[]string{
			`c.jsonc:1:26: timeouts.connect: found "10"; want a duration from 10ms to 10m, as "90s", "5m" or a number of seconds`,
			`c.jsonc:1:40: timeouts.idle: found the number -1; want a duration from 10ms to 1h, as "90s", "5m" or a number of seconds`,
			`c.jsonc:1:52: timeouts.turn: found "25h"; want a duration from 10ms to 24h, as "90s", "5m" or a number of seconds`,
			`c.jsonc:1:67: timeouts.tool: found the number 1e300; want a duration from 10ms to 24h, as "90s", "5m" or a number of seconds`,
			`c.jsonc:1:85: timeouts.attempt: found a list; want a duration from 10ms to 24h, as "90s", "5m" or a number of seconds`,
			`c.jsonc:2:26: notices.fallback: found "loud"; want one of reply, log, off; did you mean "log"?`,
			`c.jsonc:2:55: admin.users[0]: found "ann"; want "discord:" or "slack:" and an id`,
			`c.jsonc:2:62: admin.users[1]: found "channel:x"; want a person, "discord:" or "slack:" and a user id`,
			`c.jsonc:2:75: admin.users[2]: found "discord:<@1>"; want "discord:" or "slack:" and an id`,
			`c.jsonc:3:37: channels.discord.allow[0]: found "#general"; want "*" for everybody, "user:<id>", "role:<id>", or a Discord id, a number, not a name or mention (switch on Developer Mode under Settings, Advanced; then it is in the menu of what it belongs to, as Copy ID)`,
			`c.jsonc:3:62: channels.discord.dmPolicy: found "friends"; want one of pairing, allowlist, open, off`,
			`c.jsonc:3:87: channels.discord.gatewayUrl: found "https://x"; want an address that begins with ws:// or wss://, without a user name`,
			`c.jsonc:3:110: channels.discord.apiUrl: found "http://[secret]"; want an address that begins with http:// or https://, without a user name`,
			`c.jsonc:3:137: channels.slack.gatewayUrl: unknown key; allowed here: allow, allowBots, dmPolicy, apiUrl, requireMention, replyTo, places, external, nativeStreaming`,
			`c.jsonc:4:20: store.path: found " "; want a text that is not empty`,
			`c.jsonc:4:40: store.synchronous: found "off"; want one of normal, full`,
		},
	},
	{
		"names in place of ids", `{"admin": {"users": ["discord:ann", "slack:U1", "slack:ann"], "channel": "slack:general"},
 "channels": {"discord": {"allow": ["ann"], "allowBots": "yes", "places": {"general": {}, "1": {}}},
 "slack": {"allow": ["C1", "#general", "role:S1"], "allowBots": 1, "places": {"T1": {}, "1700000000.000100": {}, "general": {}}}},
 "bindings": [{"agent": "main", "guild": "home", "category": "x", "role": "1"}, {"agent": "main", "platform": "slack", "user": "ann", "channel": "C1", "workspace": "acme"}, {"agent": "main", "user": "ann"}]}`,
		[]string{
			`c.jsonc:1:22: admin.users[0]: found "discord:ann"; want a Discord user id, a number, not a name or mention (switch on Developer Mode under Settings, Advanced; then it is in the menu of what it belongs to, as Copy ID)`,
			`c.jsonc:1:49: admin.users[2]: found "slack:ann"; want a Slack member id such as U0123ABCD, not a name or mention (in the menu of a profile: Copy member ID; at the end of a channel's details: Channel ID)`,
			`c.jsonc:1:74: admin.channel: found "slack:general"; want a Slack channel id such as C0123ABCD, not a name or mention (in the menu of a profile: Copy member ID; at the end of a channel's details: Channel ID)`,
			`c.jsonc:2:37: channels.discord.allow[0]: found "ann"; want "*" for everybody, "user:<id>", "role:<id>", or a Discord id, a number, not a name or mention (switch on Developer Mode under Settings, Advanced; then it is in the menu of what it belongs to, as Copy ID)`,
			`c.jsonc:2:58: channels.discord.allowBots: found "yes"; want false, true or "mentions"`,
			`c.jsonc:2:87: channels.discord.places.general: there is no such place; want a Discord id, a number, not a name or mention (switch on Developer Mode under Settings, Advanced; then it is in the menu of what it belongs to, as Copy ID)`,
			`c.jsonc:3:28: channels.slack.allow[1]: found "#general"; want "*" for everybody, "user:<id>", or a Slack id such as T0123ABCD, C0123ABCD or U0123ABCD, not a name or mention (in the menu of a profile: Copy member ID; at the end of a channel's details: Channel ID)`,
			`c.jsonc:3:40: channels.slack.allow[2]: found "role:S1"; want "*" for everybody, "user:<id>", or a Slack id such as T0123ABCD, C0123ABCD or U0123ABCD, not a name or mention (in the menu of a profile: Copy member ID; at the end of a channel's details: Channel ID)`,
			`c.jsonc:3:65: channels.slack.allowBots: found the number 1; want false, true or "mentions"`,
			`c.jsonc:3:125: channels.slack.places.general: there is no such place; want a Slack id such as T0123ABCD or C0123ABCD, not a name, or the ts of a thread`,
			`c.jsonc:4:42: bindings[0].guild: found "home"; want a Discord id, a number, not a name or mention (switch on Developer Mode under Settings, Advanced; then it is in the menu of what it belongs to, as Copy ID)`,
			`c.jsonc:4:62: bindings[0].category: found "x"; want a Discord id, a number, not a name or mention (switch on Developer Mode under Settings, Advanced; then it is in the menu of what it belongs to, as Copy ID)`,
			`c.jsonc:4:128: bindings[1].user: found "ann"; want a Slack member id such as U0123ABCD, not a name or mention (in the menu of a profile: Copy member ID; at the end of a channel's details: Channel ID)`,
			`c.jsonc:4:165: bindings[1].workspace: found "acme"; want a Slack workspace id such as T0123ABCD, not its name`,
		},
	},
	{
		"secrets in the wrong places", `{"replyTo": "sk-ant-api03-0123456789abcdefghijklmnop", "thread": {"sk-ant-api03-0123456789abcdefghijklmnop": 1}}`,
		[]string{
			`c.jsonc:1:13: replyTo: found "[secret]"; want one of off, first, all`,
			`c.jsonc:1:67: thread["[secret]"]: unknown key; allowed here: auto, seedMessages`,
		},
	},
	{"not UTF-8", "{\"replyTo\": \"\xfc\"}", []string{`c.jsonc:1:14: the file is not in UTF-8 here`}},
	{"prompt", `{"agents": {"defaults": {"systemPrompt": {}}, "entries": {"x": {"systemPrompt": {"path": "a"}}, "y": {"systemPrompt": 1}}}}`, []string{
		`c.jsonc:1:42: agents.defaults.systemPrompt: file is missing`,
		`c.jsonc:1:82: agents.entries.x.systemPrompt.path: unknown key; allowed here: file`,
		`c.jsonc:1:119: agents.entries.y.systemPrompt: found the number 1; want a text, or {"file": "path"}`,
	}},
}

func TestConfigErrors(t *testing.T) {
	for _, c := range configErrorCases {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseConfig("c.jsonc", []byte(c.text))
			wantErrors(t, err, c.want)
			var all *configErrors
			if !errors.As(err, &all) {
				t.Fatalf("it is a %T", err)
			}
			for _, e := range all.List {
				if m := foundValue.FindStringSubmatch(e.Text); m != nil && !strings.HasPrefix(c.text[e.offset:], m[1]) {
					t.Errorf("%v\nbut there stands %s", e, shortened(c.text[e.offset:], 20))
				}
			}
		})
	}
}

// foundValue is a value that an error quotes from the file as it stands there.
var foundValue = regexp.MustCompile(`found (?:the (?:number|name|id) )?("[^"\[]*"|[-0-9.e]+);`)

func TestNearestWord(t *testing.T) {
	words := []string{"default", "first", "fallbacks", "api_key"}
	for word, want := range map[string]string{
		"frist": "first", "First": "first", "fallback": "fallbacks", "apikey": "api_key", "defaults": "default", "zebra": "", "": "", "f": "",
	} {
		if got := nearestWord(word, words); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

// Editors do not always end the last line.
func TestConfigEndsInAComment(t *testing.T) {
	for _, text := range []string{"{} // all as it is", "{\n\t\"replyTo\": \"off\",\n}\n// done", "\ufeff{}\r\n//"} {
		if _, err := parseConfig("c.jsonc", []byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
