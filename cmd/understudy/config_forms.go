package main

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"understudy/core/llm"
	"understudy/core/seal"
)

// form is the shape of a text in the configuration.
type form struct {
	fits func(string) bool
	want string // for error texts
	fold bool   // of map keys: upper and lower case are the same
}

func matching(pattern string) func(string) bool {
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString
}

// The names that people give to agents and accounts, and providers to
// themselves.
const (
	idPattern       = `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`
	providerPattern = `[a-z0-9][a-z0-9._-]{0,63}`
	platformPattern = `[A-Za-z0-9][A-Za-z0-9_.-]{0,63}` // of whichever platform
	discordPattern  = `[0-9]{1,20}`
)

// What ids are, and where people find them.
const (
	discordShape = ", a number, not a name or mention (switch on Developer Mode under Settings, Advanced; then it is in the menu of what it belongs to, as Copy ID)"
	slackShape   = ", not a name or mention (in the menu of a profile: Copy member ID; at the end of a channel's details: Channel ID)"
)

// slackPattern is an id whose first letter, which says what it is the id of, is
// one of the given.
func slackPattern(first string) string { return `[` + first + `][A-Z0-9]{1,63}` }

// forms are the shapes of texts by the name that the form tag gives.
var forms = map[string]form{
	"text":         {fits: func(s string) bool { return strings.TrimSpace(s) != "" }, want: "a text that is not empty"},
	"id":           {fits: matching(idPattern), want: "a name of letters, digits, '.', '_' and '-'"},
	"tool":         {fits: matching(`[A-Za-z0-9_-]{1,64}`), want: "the name of a tool: letters, digits, '_' and '-'"},
	"provider":     {fits: isProvider, want: "a provider in lower case: letters, digits, '.', '_' and '-'"},
	"model":        {fits: isModel, want: "a model as its provider writes it, without the provider"},
	"modelPattern": {fits: isModelPattern, want: `a full model as provider/model, or the beginning of one with a "*" at the end`},
	"profile":      {fits: isProfile, want: `a profile as "provider:name"`},
	"platformID":   {fits: matching(platformPattern), want: "an id of the platform, not a name or mention"},

	"discordID":      {fits: matching(discordPattern), want: "a Discord id" + discordShape},
	"discordUser":    {fits: matching(discordPattern), want: "a Discord user id" + discordShape},
	"discordChannel": {fits: matching(discordPattern), want: "a Discord channel id" + discordShape},
	"discordAllowed": {fits: matching(`(?:(?:user|role):)?` + discordPattern + `|\*`), want: `"*" for everybody, "user:<id>", "role:<id>", or a Discord id` + discordShape},
	"slackPlace":     {fits: matching(slackPattern("ETCGD") + `|[0-9]+\.[0-9]+`), want: "a Slack id such as T0123ABCD or C0123ABCD, not a name, or the ts of a thread"},
	"slackWorkspace": {fits: matching(slackPattern("ET")), want: "a Slack workspace id such as T0123ABCD, not its name"},
	"slackUser":      {fits: matching(slackPattern("UWB")), want: "a Slack member id such as U0123ABCD" + slackShape},
	"slackChannel":   {fits: matching(slackPattern("CGD")), want: "a Slack channel id such as C0123ABCD" + slackShape},
	"slackAllowed":   {fits: matching(slackPattern("ETCGDUWB") + `|user:` + slackPattern("UWB") + `|\*`), want: `"*" for everybody, "user:<id>", or a Slack id such as T0123ABCD, C0123ABCD or U0123ABCD` + slackShape},

	"timeZone": {fits: isTimeZone, want: `a time zone as "UTC" or "Europe/Berlin"`},
	"age":      {fits: isAge(day), want: `an age of a day or more, as "30d" or "36h", or "off" to keep everything`},
	"keyAge":   {fits: isAge(keysAtLeast), want: `an age of 7 days or more, as "30d", or "off" to keep everything`},
	"httpURL":  {fits: isURL("http", "https"), want: "an address that begins with http:// or https://, without a user name"},
	"sealKey":  {fits: func(s string) bool { return len(s) >= seal.MinKey }, want: "a secret of at least 32 visible characters, as from: openssl rand -base64 32"},
	"wsURL":    {fits: isURL("ws", "wss"), want: "an address that begins with ws:// or wss://, without a user name"},
}

// keyForms are the shapes of names in maps by the name that the keys tag gives.
var keyForms = map[string]form{
	"id":         forms["id"],
	"provider":   forms["provider"],
	"platformID": forms["platformID"],
	"header":     {fits: matching(`[A-Za-z0-9!#$%&'*+.^_|~-]{1,100}`), want: "the name of an HTTP header", fold: true},
	"alias":      {fits: isAlias, want: `letters, digits, '.', '_' and '-', not a number alone and not "default"`, fold: true},
}

var (
	isID       = matching(idPattern)
	isProvider = matching(providerPattern)
)

// isAlias keeps to what /model can tell from a number in its list and from its
// own words.
func isAlias(s string) bool {
	return isID(s) && !strings.EqualFold(s, "default") && strings.ContainsFunc(s, func(c rune) bool { return c < '0' || c > '9' })
}

func isModel(s string) bool {
	return s != "" && len(s) <= 200 && !strings.ContainsFunc(s, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) })
}

func isModelPattern(s string) bool {
	if prefix, ok := strings.CutSuffix(s, "*"); ok {
		return !strings.Contains(prefix, "*") && (prefix == "" || isModel(prefix))
	}
	_, ok := llm.ParseRef(s)
	return ok && !strings.Contains(s, "*")
}

// isProfile takes whatever stands behind the provider: names are mostly
// e-mail addresses.
func isProfile(s string) bool {
	provider, name, ok := strings.Cut(s, ":")
	return ok && isProvider(provider) && isModel(name)
}

func isURL(schemes ...string) func(string) bool {
	return func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && slices.Contains(schemes, u.Scheme) && u.Hostname() != "" && u.User == nil
	}
}

// isTimeZone wants a name that means the same on every machine.
func isTimeZone(s string) bool {
	_, err := time.LoadLocation(s)
	return err == nil && s != "" && s != "Local"
}

func sortedNames[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
