package main

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
)

// config is the configuration file, understudy.jsonc. It holds no secrets but
// those that somebody puts into a provider's headers.
//
// The tags say what the decoder allows: json is the key, words the values of an
// enumeration, min and max the range of a number or duration, form the shape of
// a text and keys that of a map's keys. Tags of a list or map hold for what is
// in it.
//
// A config made by [parseConfig] or [defaultConfig] is whole: defaults are in
// place, aliases are resolved, agents of the older list are among the entries.
// It is read-only from then on.
type config struct {
	Agents          agentsConfig        `json:"agents"`
	Bindings        []bindingConfig     `json:"bindings"`
	Models          modelsConfig        `json:"models"`
	ModelPolicy     modelPolicyConfig   `json:"modelPolicy"`
	Auth            authConfig          `json:"auth"`
	Notices         noticesConfig       `json:"notices"`
	Timeouts        timeoutsConfig      `json:"timeouts"`
	ReplyTo         byKind              `json:"replyTo" words:"off|first|all"`
	Streaming       string              `json:"streaming" words:"on|off"`
	StreamingRepost time.Duration       `json:"streamingRepost" min:"0s" max:"1h"`
	RequireMention  byKind              `json:"requireMention" words:"always|until-engaged|never"`
	Session         sessionConfig       `json:"session"`
	Thread          threadConfig        `json:"thread"`
	Attachments     attachmentsConfig   `json:"attachments"`
	Transcription   transcriptionConfig `json:"transcription"`
	Transcript      transcriptConfig    `json:"transcript"`
	Compaction      compactionConfig    `json:"compaction"`
	MaxToolRounds   int                 `json:"maxToolRounds" min:"1" max:"1000"`
	Quotas          quotasConfig        `json:"quotas"`
	Admin           adminConfig         `json:"admin"`
	Store           storeConfig         `json:"store"`
	Retention       retentionConfig     `json:"retention"`
	Channels        channelsConfig      `json:"channels"`
}

// agentsConfig are the agents. List is the older form; its agents are moved to
// Entries when the file is read.
type agentsConfig struct {
	Defaults agentConfig            `json:"defaults"`
	Entries  map[string]agentConfig `json:"entries" keys:"id"`
	List     []listedAgent          `json:"list"`
}

// agentConfig is what is written about one agent; what is left out comes from
// the defaults. Tools is nil where no list was written.
type agentConfig struct {
	Model        failover.Models `json:"model"`
	ImageModel   failover.Models `json:"imageModel"`
	SystemPrompt promptConfig    `json:"systemPrompt"`
	Temperature  *float64        `json:"temperature" min:"0" max:"2"`
	MaxTokens    int             `json:"maxTokens" min:"1" max:"10000000"`
	Tools        []string        `json:"tools" form:"tool"`
	ModelPolicy  picksConfig     `json:"modelPolicy"`
}

// picksConfig is what people may pick where one agent talks, as in
// modelPolicyConfig; nil is as elsewhere.
type picksConfig struct {
	Allow []string `json:"allow" form:"modelPattern"`
}

type listedAgent struct {
	ID string `json:"id" form:"id"`
	agentConfig
}

// promptConfig is a text. File is where it came from, if it has a file of its
// own, relative to the configuration file.
type promptConfig struct {
	Text string
	File string
	set  bool
}

// bindingConfig gives the places and people that it describes to an agent. All
// of its criteria must hold; an empty one always does.
type bindingConfig struct {
	Agent     string `json:"agent" form:"id"`
	Platform  string `json:"platform" words:"discord|slack|terminal"`
	Account   string `json:"account" form:"id"`
	Guild     string `json:"guild" form:"platformID"`
	Workspace string `json:"workspace" form:"platformID"`
	Channel   string `json:"channel" form:"platformID"`
	Category  string `json:"category" form:"platformID"`
	Role      string `json:"role" form:"platformID"`
	User      string `json:"user" form:"platformID"`
}

type modelsConfig struct {
	Providers map[string]providerConfig `json:"providers" keys:"provider"`
	Aliases   map[string]llm.Ref        `json:"aliases" keys:"alias"` // by name in lower case
}

// providerConfig is what is written about a provider; what is left out comes
// from the built-in table, if the provider is there.
type providerConfig struct {
	BaseURL string                 `json:"baseUrl" form:"httpURL"`
	API     string                 `json:"api" words:"chat|anthropic"`
	Headers map[string]core.Secret `json:"headers" keys:"header"`
	Models  []modelConfig          `json:"models"`
}

// modelConfig describes a model. Input is nil and ContextWindow zero where
// nothing was written.
type modelConfig struct {
	ID            string      `json:"id" form:"model"`
	Input         []string    `json:"input" words:"text|image|pdf"`
	ContextWindow int         `json:"contextWindow" min:"1" max:"100000000"` // tokens
	Cost          *costConfig `json:"cost"`
}

// costConfig is what a model costs, in US dollars per million tokens.
type costConfig struct {
	Input      float64  `json:"input" min:"0" max:"1000000"`
	Output     float64  `json:"output" min:"0" max:"1000000"`
	CacheRead  *float64 `json:"cacheRead" min:"0" max:"1000000"`
	CacheWrite *float64 `json:"cacheWrite" min:"0" max:"1000000"`
}

// modelPolicyConfig limits what people may pick. Allow holds full refs, and
// beginnings of refs that end in "*"; empty allows everything.
type modelPolicyConfig struct {
	Allow      []string `json:"allow" form:"modelPattern"`
	AdminsOnly bool     `json:"adminsOnly"`
}

// authConfig is what is known about credentials besides their secrets.
type authConfig struct {
	Profiles  profilesConfig      `json:"profiles"` // in written order
	Order     map[string][]string `json:"order" keys:"provider" form:"profile"`
	Cooldowns cooldownsConfig     `json:"cooldowns"`
}

type profilesConfig []profileConfig

// profileConfig describes one credential; its key in the file is the ID.
type profileConfig struct {
	ID       string
	Provider string                  `json:"provider" form:"provider"`
	Mode     failover.CredentialType `json:"mode" words:"api_key|oauth|token"`
	Email    string                  `json:"email"`
}

type cooldownsConfig struct {
	BillingBackoffHours           float64            `json:"billingBackoffHours" min:"0.01" max:"768"`
	BillingBackoffHoursByProvider map[string]float64 `json:"billingBackoffHoursByProvider" keys:"provider" min:"0.01" max:"768"`
	BillingMaxHours               float64            `json:"billingMaxHours" min:"0.01" max:"768"`
	BillingProbeMinutes           float64            `json:"billingProbeMinutes" min:"0.1" max:"46080"`
	AuthPermanentBackoffMinutes   float64            `json:"authPermanentBackoffMinutes" min:"0.1" max:"46080"`
	AuthPermanentMaxMinutes       float64            `json:"authPermanentMaxMinutes" min:"0.1" max:"46080"`
	FailureWindowHours            float64            `json:"failureWindowHours" min:"0.01" max:"768"`
	OverloadedProfileRotations    int                `json:"overloadedProfileRotations" min:"0" max:"100"`
	OverloadedBackoffMs           int                `json:"overloadedBackoffMs" min:"0" max:"60000"`
	RateLimitedProfileRotations   int                `json:"rateLimitedProfileRotations" min:"0" max:"100"`
}

type noticesConfig struct {
	Fallback byKind `json:"fallback" words:"reply|log|off"`
}

type timeoutsConfig struct {
	Connect   time.Duration `json:"connect" min:"10ms" max:"10m"`
	FirstByte time.Duration `json:"firstByte" min:"10ms" max:"1h"`
	Idle      time.Duration `json:"idle" min:"10ms" max:"1h"`
	Attempt   time.Duration `json:"attempt" min:"10ms" max:"24h"`
	Turn      time.Duration `json:"turn" min:"10ms" max:"24h"`
	Tool      time.Duration `json:"tool" min:"10ms" max:"24h"`
	Compact   time.Duration `json:"compaction" min:"10ms" max:"24h"`
}

type threadConfig struct {
	Auto         bool `json:"auto"`
	SeedMessages int  `json:"seedMessages" min:"0" max:"200"`
}

// sessionConfig says who shares a session: all in a thread, or nobody.
type sessionConfig struct {
	Scope string `json:"scope" words:"thread|user"`
}

type attachmentsConfig struct {
	MaxBytes int `json:"maxBytes" min:"1" max:"1000000000"`
}

// transcriptionConfig is who writes down what is said in voice messages; a zero
// Model is nobody.
type transcriptionConfig struct {
	Model llm.Ref `json:"model"`
}

// compactionConfig is who summarises what no longer fits into a window; a zero
// Model is the chain of the session.
type compactionConfig struct {
	Model llm.Ref `json:"model"`
}

// quotasConfig is how much may be used in a day, which begins and ends at
// midnight in TimeZone.
type quotasConfig struct {
	User         quotaConfig `json:"user"`
	Place        quotaConfig `json:"place"`
	Total        quotaConfig `json:"total"`
	TimeZone     string      `json:"timezone" form:"timeZone"`
	ExemptAdmins bool        `json:"exemptAdmins"`
}

// quotaConfig is what one person, one place or all together may use; zero is no
// limit.
type quotaConfig struct {
	Messages int     `json:"messages" min:"1" max:"1000000000"`
	Tokens   int     `json:"tokens" min:"1" max:"1000000000000"`
	USD      float64 `json:"usd" min:"0.000001" max:"1000000000"`
}

// transcriptConfig says what becomes of messages that are deleted on their
// platform after they were answered.
type transcriptConfig struct {
	Deleted string `json:"deleted" words:"remove|keep"`
}

// adminConfig is who runs the bot, and where they read what needs them: at most
// a post every Every, after a silence Burst at once.
type adminConfig struct {
	Users   []address     `json:"users"`
	Channel address       `json:"channel"`
	Every   time.Duration `json:"every" min:"1s" max:"24h"`
	Burst   int           `json:"burst" min:"1" max:"100"`
}

type storeConfig struct {
	// Path is the SQLite file, relative to the configuration file; empty leaves
	// it to the environment.
	Path        string `json:"path"`
	Synchronous string `json:"synchronous" words:"normal|full"`
}

// retentionConfig is how long things are kept, as [parseAge] reads it.
type retentionConfig struct {
	Transcripts string `json:"transcripts" form:"age"`
	Notices     string `json:"notices" form:"age"`
	Inbox       string `json:"inbox" form:"keyAge"`
}

// defaultConfig is what an empty file says.
func defaultConfig() *config {
	account := accountConfig{DMPolicy: "pairing"}
	return &config{
		Auth: authConfig{Cooldowns: cooldownsConfig{
			BillingBackoffHours:         5,
			BillingMaxHours:             24,
			BillingProbeMinutes:         10,
			AuthPermanentBackoffMinutes: 10,
			AuthPermanentMaxMinutes:     60,
			FailureWindowHours:          24,
			OverloadedProfileRotations:  1,
			RateLimitedProfileRotations: 1,
		}},
		Notices: noticesConfig{Fallback: byKind{Default: "reply"}},
		Timeouts: timeoutsConfig{
			Connect:   10 * time.Second,
			FirstByte: 120 * time.Second,
			Idle:      60 * time.Second,
			Attempt:   10 * time.Minute,
			Turn:      30 * time.Minute,
			Tool:      60 * time.Second,
			Compact:   180 * time.Second,
		},
		ReplyTo:        byKind{Default: "first"},
		Streaming:      "on",
		RequireMention: byKind{Default: "until-engaged"},
		Session:        sessionConfig{Scope: "thread"},
		Thread:         threadConfig{Auto: true, SeedMessages: 20},
		Attachments:    attachmentsConfig{MaxBytes: 20 << 20},
		Transcript:     transcriptConfig{Deleted: "remove"},
		MaxToolRounds:  25,
		Quotas:         quotasConfig{TimeZone: "UTC"},
		Admin:          adminConfig{Every: 10 * time.Second, Burst: 5},
		Store:          storeConfig{Synchronous: "normal"},
		Retention:      retentionConfig{Transcripts: "off", Notices: "90d", Inbox: "30d"},
		Channels: channelsConfig{
			Discord: discordAccount{accountConfig: account},
			Slack:   slackAccount{accountConfig: account, NativeStreaming: "auto"},
		},
	}
}

// mainAgent is the agent of every place without a binding. It exists whether or
// not the file describes it.
const mainAgent = "main"

// agentIDs are all agents, sorted.
func (c *config) agentIDs() []string {
	ids := slices.AppendSeq([]string{mainAgent}, maps.Keys(c.Agents.Entries))
	slices.Sort(ids)
	return slices.Compact(ids)
}

// agent is an agent with the defaults filled in. Its Model stays its own, zero
// if it has none; [config.policy] sets it beside that of the defaults.
func (c *config) agent(id string) agentConfig {
	a, d := c.Agents.Entries[id], c.Agents.Defaults
	if a.ImageModel.Zero() {
		a.ImageModel = d.ImageModel
	}
	if !a.SystemPrompt.set {
		a.SystemPrompt = d.SystemPrompt
	}
	if a.Temperature == nil {
		a.Temperature = d.Temperature
	}
	if a.Tools == nil {
		a.Tools = d.Tools
	}
	a.MaxTokens = cmp.Or(a.MaxTokens, d.MaxTokens)
	return a
}

// policy is the models of an agent beside those of the defaults. An agent that
// writes fallbacks alone has them behind the primary of the defaults.
func (c *config) policy(id string) failover.Policy {
	p := failover.Policy{Defaults: c.Agents.Defaults.Model, Agent: c.Agents.Entries[id].Model}
	if p.Agent.Fallbacks != nil && p.Agent.Primary == (llm.Ref{}) {
		p.Agent.Primary = p.Defaults.Primary
	}
	return p
}

// model is what the file says about a model; ok is false if that is nothing.
func (c *config) model(r llm.Ref) (m modelConfig, ok bool) {
	for _, m := range c.Models.Providers[r.Provider].Models {
		if m.ID == r.Model {
			return m, true
		}
	}
	return modelConfig{}, false
}

// header are the headers of every request to the provider.
func (p providerConfig) header() http.Header {
	if len(p.Headers) == 0 {
		return nil
	}
	h := http.Header{}
	for name, value := range p.Headers {
		h.Set(name, value.Reveal())
	}
	return h
}

// rules are the settings in the form that the failover engine wants.
func (c cooldownsConfig) rules() failover.Rules {
	var byProvider map[string]time.Duration
	if len(c.BillingBackoffHoursByProvider) > 0 {
		byProvider = map[string]time.Duration{}
		for id, hours := range c.BillingBackoffHoursByProvider {
			byProvider[id] = times(hours, time.Hour)
		}
	}
	return failover.Rules{
		BillingBackoff:           times(c.BillingBackoffHours, time.Hour),
		BillingBackoffByProvider: byProvider,
		BillingMax:               times(c.BillingMaxHours, time.Hour),
		BillingProbe:             times(c.BillingProbeMinutes, time.Minute),
		PermanentBackoff:         times(c.AuthPermanentBackoffMinutes, time.Minute),
		PermanentMax:             times(c.AuthPermanentMaxMinutes, time.Minute),
		FailureWindow:            times(c.FailureWindowHours, time.Hour),
		OverloadedRotations:      c.OverloadedProfileRotations,
		OverloadedBackoff:        times(float64(c.OverloadedBackoffMs), time.Millisecond),
		RateLimitedRotations:     c.RateLimitedProfileRotations,
	}
}

func times(n float64, unit time.Duration) time.Duration { return time.Duration(n * float64(unit)) }

// request are the time-outs of one request to a provider.
func (t timeoutsConfig) request() llm.Timeouts {
	return llm.Timeouts{Connect: t.Connect, FirstByte: t.FirstByte, Idle: t.Idle, Attempt: t.Attempt}
}
