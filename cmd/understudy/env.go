package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kelseyhightower/envconfig"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
)

// environment is everything that the program reads from environment variables:
// secrets, places, and how it runs. Nothing else reads them.
//
// A variable that is empty counts as not set. The tags say what is allowed:
// words the values, min and max the range, want the rest, for error texts.
// Errors name variables and never show a value.
type environment struct {
	Config string `envconfig:"UNDERSTUDY_CONFIG" want:"the path of a configuration file"` // empty: there is none
	Home   string `envconfig:"UNDERSTUDY_HOME" want:"the path of a folder"`
	Store  string `envconfig:"UNDERSTUDY_STORE" want:"the path of an SQLite file"` // empty: the configuration's, or in Home

	Model     llm.Ref   `envconfig:"UNDERSTUDY_MODEL" want:"a model as provider/model, for example anthropic/claude-sonnet-4-5"`
	Fallbacks []llm.Ref `envconfig:"UNDERSTUDY_FALLBACKS" want:"models as provider/model, with commas between them"`

	MaxTurns      int           `envconfig:"UNDERSTUDY_MAX_TURNS" min:"1" max:"10000" want:"a whole number from 1 to 10000"`
	ShutdownGrace time.Duration `envconfig:"UNDERSTUDY_SHUTDOWN_GRACE" min:"0s" max:"1h" want:"a duration from 0s to 1h, such as 20s"`
	Log           string        `envconfig:"UNDERSTUDY_LOG" words:"debug|info|warn|error"`
	LogFormat     string        `envconfig:"UNDERSTUDY_LOG_FORMAT" words:"text|json"`
	HTTP          listenAddress `envconfig:"UNDERSTUDY_HTTP" want:"an address such as 127.0.0.1:8484, or off"` // empty: off
	NoColor       presence      `envconfig:"NO_COLOR"`

	DiscordToken      core.Secret   `envconfig:"UNDERSTUDY_DISCORD_TOKEN"`
	DiscordAllow      []string      `envconfig:"UNDERSTUDY_DISCORD_ALLOW" form:"discordAllowed"`
	DiscordAPIURL     string        `envconfig:"UNDERSTUDY_DISCORD_API_URL" form:"httpURL"`
	DiscordGatewayURL string        `envconfig:"UNDERSTUDY_DISCORD_GATEWAY_URL" form:"wsURL"`
	SlackBotToken     core.Secret   `envconfig:"UNDERSTUDY_SLACK_BOT_TOKEN"`
	SlackAppToken     core.Secret   `envconfig:"UNDERSTUDY_SLACK_APP_TOKEN"`
	SlackSecret       core.Secret   `envconfig:"UNDERSTUDY_SLACK_SIGNING_SECRET"`
	SlackHTTP         listenAddress `envconfig:"UNDERSTUDY_SLACK_HTTP" want:"an address such as 127.0.0.1:8485"` // empty: off
	SlackAllow        []string      `envconfig:"UNDERSTUDY_SLACK_ALLOW" form:"slackAllowed"`
	SlackAPIURL       string        `envconfig:"UNDERSTUDY_SLACK_API_URL" form:"httpURL"`
	SecretKey         core.Secret   `envconfig:"UNDERSTUDY_SECRET_KEY" form:"sealKey"`
	OldSecretKey      core.Secret   `envconfig:"UNDERSTUDY_SECRET_KEY_OLD" form:"sealKey"`
	Admins            []address     `envconfig:"UNDERSTUDY_ADMINS" want:"people as discord:<user id> or slack:<user id>, with commas between them"`

	// SkipTTL is how long the auth skip cache remembers; zero is off. SDKWait
	// caps the waits of an SDK that retries by itself; zero is no cap. Each has
	// a second name, which counts where the first is not set.
	SkipTTL      milliseconds `envconfig:"UNDERSTUDY_FALLBACK_SKIP_TTL_MS" want:"a whole number of milliseconds; 0 is off"`
	SkipTTLAlias milliseconds `envconfig:"OPENCLAW_FALLBACK_SKIP_TTL_MS" want:"a whole number of milliseconds; 0 is off"`
	SDKWait      waitCap      `envconfig:"UNDERSTUDY_SDK_RETRY_MAX_WAIT_SECONDS" want:"a number of seconds up to 86400; 0 or off is no limit"`
	SDKWaitAlias waitCap      `envconfig:"OPENCLAW_SDK_RETRY_MAX_WAIT_SECONDS" want:"a number of seconds up to 86400; 0 or off is no limit"`

	// APIKeys are every …_API_KEY and …_API_KEY_n, by name; keys sorts them.
	APIKeys map[string]core.Secret
}

// defaultSDKWait is the cap where nothing is set.
const defaultSDKWait = 60 * time.Second

// readEnv reads the environment of the process. It returns all errors at once.
func readEnv() (*environment, error) {
	e := &environment{
		MaxTurns:      64,
		ShutdownGrace: 20 * time.Second,
		Log:           "info",
		LogFormat:     "text",
		HTTP:          "127.0.0.1:8484",
		SDKWait:       waitCap(defaultSDKWait),
		SDKWaitAlias:  waitCap(defaultSDKWait),
		APIKeys:       map[string]core.Secret{},
	}
	var errs []error
	spec := reflect.ValueOf(e).Elem()
	for _, f := range envFields() {
		if os.Getenv(f.name) == "" {
			continue // an empty number or word would be an error to envconfig
		}
		if err := readVariable(f, spec.FieldByIndex(f.index)); err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, e.readKeys()...)
	errs = append(errs, unknownVariables()...)
	if e.Fallbacks != nil && e.Model == (llm.Ref{}) && os.Getenv("UNDERSTUDY_MODEL") == "" {
		errs = append(errs, errors.New("UNDERSTUDY_FALLBACKS is set without UNDERSTUDY_MODEL; set both, or write the models into the configuration file"))
	}
	if e.SlackSecret.Set() != (e.SlackHTTP != "") {
		errs = append(errs, errors.New("UNDERSTUDY_SLACK_SIGNING_SECRET and UNDERSTUDY_SLACK_HTTP belong together; set both for events over HTTP, or none for Socket Mode"))
	}
	if os.Getenv("UNDERSTUDY_FALLBACK_SKIP_TTL_MS") == "" {
		e.SkipTTL = e.SkipTTLAlias
	}
	if os.Getenv("UNDERSTUDY_SDK_RETRY_MAX_WAIT_SECONDS") == "" {
		e.SDKWait = e.SDKWaitAlias
	}
	errs = append(errs, e.findPlaces())
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return e, nil
}

// secretsInEnv are the values of all variables that hold a credential, also
// those that cannot be used. They are what no output may show.
func secretsInEnv() []string {
	var list []string
	for _, f := range envFields() {
		if reflect.TypeFor[environment]().FieldByIndex(f.index).Type == reflect.TypeFor[core.Secret]() {
			list = append(list, strings.TrimSpace(os.Getenv(f.name)))
		}
	}
	for _, name := range variableNames() {
		if keyVariable.MatchString(name) {
			list = append(list, strings.TrimSpace(os.Getenv(name)))
		}
	}
	return list
}

// envField is a variable and the field that holds it.
type envField struct {
	name  string
	index []int
	tag   reflect.StructTag
}

func envFields() []envField {
	var list []envField
	for _, f := range reflect.VisibleFields(reflect.TypeFor[environment]()) {
		if name := f.Tag.Get("envconfig"); name != "" {
			list = append(list, envField{name, f.Index, f.Tag})
		}
	}
	return list
}

// readVariable reads one variable. Each goes through envconfig alone, since that
// stops at the first error, and its error text would show the value.
func readVariable(f envField, into reflect.Value) error {
	if inQuotes(os.Getenv(f.name)) {
		return errQuoted(f.name)
	}
	one := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "Value", Type: into.Type(), Tag: f.tag}}))
	if err := envconfig.Process("", one.Interface()); err != nil {
		return badVariable(f)
	}
	v := one.Elem().Field(0)
	tidy(v)
	if !inRange(v, f.tag) {
		return badVariable(f)
	}
	into.Set(v)
	return nil
}

// inQuotes reports whether a value stands in quotation marks. A shell takes them
// away; Docker, reading a file of variables, does not.
func inQuotes(value string) bool {
	value = strings.TrimSpace(value)
	return len(value) > 1 && strings.IndexByte("\"'", value[0]) >= 0 && value[len(value)-1] == value[0]
}

func errQuoted(name string) error {
	return fmt.Errorf("%s has quotation marks around its value; leave them out (docker --env-file keeps them)", name)
}

// badVariable says what a variable may hold, and nothing of what it does hold.
func badVariable(f envField) error {
	want := f.tag.Get("want")
	if words := f.tag.Get("words"); words != "" {
		want = "one of " + strings.ReplaceAll(words, "|", ", ")
	}
	if form, ok := forms[f.tag.Get("form")]; ok {
		want = form.want
		if strings.HasSuffix(f.tag.Get("form"), "Allowed") {
			want += ", with commas between several"
		}
	}
	if f.name == "UNDERSTUDY_ADMINS" {
		want += "; such an id is " + forms["discordUser"].want + ", or " + forms["slackUser"].want
	}
	if want == "" {
		want = "a secret of visible characters, without spaces and line breaks"
	}
	return fmt.Errorf("%s cannot be used; want %s", f.name, want)
}

var keyVariable = regexp.MustCompile(`^([A-Z0-9_]+_API_KEY)(?:_([0-9]{1,3}))?$`)

// readKeys collects every variable that looks like the API key of a provider.
// Whose they are is only known once the configuration is read.
func (e *environment) readKeys() (errs []error) {
	for _, name := range variableNames() {
		value := strings.TrimSpace(os.Getenv(name))
		if value == "" || strings.HasPrefix(name, "UNDERSTUDY_") || !keyVariable.MatchString(name) {
			continue
		}
		e.APIKeys[name] = core.NewSecret(value)
	}
	for _, id := range builtinProviders() {
		for _, name := range e.keyNames(id) {
			if inQuotes(e.APIKeys[name].Reveal()) {
				errs = append(errs, errQuoted(name))
			} else if !isSecretText(e.APIKeys[name].Reveal()) {
				errs = append(errs, badVariable(envField{name: name}))
			}
		}
	}
	return errs
}

// keys are the API keys of all providers, built in or configured, by provider
// and in order: NAME_API_KEY, NAME_API_KEY_2, and so on, whatever numbers are
// left out.
func (e *environment) keys(c *config) map[string][]core.Secret {
	all := map[string][]core.Secret{}
	for _, id := range c.providerIDs() {
		var list []core.Secret
		for _, name := range e.keyNames(id) {
			list = append(list, e.APIKeys[name])
		}
		if list != nil {
			all[id] = list
		}
	}
	return all
}

// keyNames are the variables that hold keys of a provider, in order.
func (e *environment) keyNames(provider string) []string {
	number := map[string]int{}
	for name := range e.APIKeys {
		if m := keyVariable.FindStringSubmatch(name); m != nil && m[1] == keyName(provider) {
			number[name], _ = strconv.Atoi(m[2])
		}
	}
	names := sortedNames(number)
	slices.SortStableFunc(names, func(a, b string) int { return number[a] - number[b] })
	return names
}

// unknownVariables finds names with the program's prefix that it does not know.
// Those of its tests are let through.
func unknownVariables() (errs []error) {
	const prefix = "UNDERSTUDY_"
	var known []string
	for _, f := range envFields() {
		if rest, ok := strings.CutPrefix(f.name, prefix); ok {
			known = append(known, rest)
		}
	}
	for _, name := range variableNames() {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || strings.HasPrefix(rest, "TEST_") || slices.Contains(known, rest) {
			continue
		}
		hint := ""
		if near := nearestWord(rest, known); near != "" {
			hint = "; did you mean " + prefix + near + "?"
		}
		errs = append(errs, fmt.Errorf("%s is no variable of this program%s", name, hint))
	}
	return errs
}

// variableNames are the names of all variables, sorted.
func variableNames() []string {
	var names []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// findPlaces settles where the files are.
func (e *environment) findPlaces() error {
	if strings.Contains(e.Store, "://") {
		return errors.New("UNDERSTUDY_STORE cannot be used; want the path of an SQLite file")
	}
	if e.Home == "" && e.Store != "" {
		e.Home = filepath.Dir(e.Store)
	}
	e.Home = cmp.Or(e.Home, filepath.Join("~", ".understudy"))
	for _, p := range []*string{&e.Home, &e.Store, &e.Config} {
		path, err := withoutTilde(*p)
		if err != nil {
			return fmt.Errorf("the folder of the program's files is not known (%w); set UNDERSTUDY_HOME", err)
		}
		*p = path
	}
	if e.Config == "" {
		if _, err := os.Stat(defaultConfigFile); err == nil {
			e.Config = defaultConfigFile
		}
	}
	return nil
}

// defaultConfigFile is read where it exists and no other is named.
const defaultConfigFile = "understudy.jsonc"

// withoutTilde puts the user's folder in the place of a leading "~", as a shell
// does; files with variables know no shell.
func withoutTilde(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && !os.IsPathSeparator(rest[0]) {
		return path, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, rest), err
}

// applyTo puts the variables into the configuration. Secrets stay outside.
// Places and people in the environment replace those of the file; models are
// taken only where the file has none.
func (e *environment) applyTo(c *config) {
	if m := &c.Agents.Defaults.Model; m.Zero() && e.Model != (llm.Ref{}) {
		*m = failover.Models{Primary: e.Model, Fallbacks: e.Fallbacks}
	}
	replace(&c.Channels.Discord.Allow, e.DiscordAllow)
	replace(&c.Channels.Slack.Allow, e.SlackAllow)
	replace(&c.Admin.Users, e.Admins)
	for _, s := range []struct {
		into  *string
		value string
	}{
		{&c.Channels.Discord.APIURL, e.DiscordAPIURL},
		{&c.Channels.Discord.GatewayURL, e.DiscordGatewayURL},
		{&c.Channels.Slack.APIURL, e.SlackAPIURL},
		{&c.Store.Path, e.Store},
	} {
		if s.value != "" {
			*s.into = s.value
		}
	}
	if c.Store.Path == "" {
		c.Store.Path = filepath.Join(e.Home, "understudy.db")
	}
}

func replace[T any](into *[]T, value []T) {
	if value != nil {
		*into = value
	}
}
