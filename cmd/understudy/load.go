package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"

	"understudy/core"
	"understudy/core/auth"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/llm/anthropic"
	"understudy/core/llm/chat"
	"understudy/core/llm/script"
)

// setup is the environment and the configuration of one start.
type setup struct {
	env    *environment
	config *config
	keys   map[string][]core.Secret
	log    *slog.Logger // what the store says while it is opened; nil is nobody
}

// load reads the environment and the configuration file. Every error is one of
// whoever wrote them.
func load(configPath string) (*setup, error) {
	env, err := readEnv()
	if err != nil {
		return nil, misuse("%v", err)
	}
	c := defaultConfig()
	if path := cmp.Or(configPath, env.Config); path != "" {
		if c, err = loadConfig(path); err != nil {
			return nil, misuse("%v", err)
		}
	}
	env.applyTo(c)
	s := &setup{env: env, config: c, keys: env.keys(c)}
	if c.Agents.Defaults.Model.Zero() {
		c.Agents.Defaults.Model = modelsFor(s.keys)
	}
	return s, nil
}

// firstModels are the models to start with where nobody named one: the first
// with a key is the primary, those of the other keys stand behind it.
var firstModels = []llm.Ref{
	{Provider: "anthropic", Model: "claude-sonnet-4-5"},
	{Provider: "openai", Model: "gpt-5"},
	{Provider: "openrouter", Model: "openrouter/auto"},
	{Provider: "groq", Model: "llama-3.3-70b-versatile"},
	{Provider: "mistral", Model: "mistral-large-latest"},
	{Provider: "deepseek", Model: "deepseek-chat"},
	{Provider: "xai", Model: "grok-4"},
}

func modelsFor(keys map[string][]core.Secret) failover.Models {
	var list []llm.Ref
	for _, r := range firstModels {
		if len(keys[r.Provider]) > 0 {
			list = append(list, r)
		}
	}
	if list == nil {
		return failover.Models{}
	}
	return failover.Models{Primary: list[0], Fallbacks: list[1:]}
}

// The cast of the scripted provider.
var cast = []string{"lead", "stand-in", "prompter"}

// useCast is the chain of a try-out without any key.
func useCast(c *config) {
	c.Agents.Defaults.Model = failover.Models{
		Primary:   llm.Ref{Provider: "script", Model: cast[0]},
		Fallbacks: []llm.Ref{{Provider: "script", Model: cast[1]}},
	}
	p := c.Models.Providers["script"]
	for _, name := range cast {
		p.Models = append(p.Models, modelConfig{ID: name, Input: []string{"text", "image"}})
	}
	if c.Models.Providers == nil {
		c.Models.Providers = map[string]providerConfig{}
	}
	c.Models.Providers["script"] = p
}

// unknown says why there cannot be such a model, or "". What a provider with an
// address of its own offers, only its server knows.
func (c *config) unknown(r llm.Ref) string {
	p, ok := c.provider(r.Provider)
	if !ok {
		return "the provider " + r.Provider + " is not configured"
	}
	if p.API != "script" {
		return ""
	}
	if _, listed := c.model(r); !listed && !slices.Contains(cast, r.Model) && !slices.Contains(c.candidates(), r) {
		return "the scripted provider has no such model"
	}
	return ""
}

// clients makes the real clients of all providers.
func (c *config) clients(transport *llm.Transport, s *script.Script) func(auth.Declared, core.Secret) (llm.Client, error) {
	return func(d auth.Declared, key core.Secret) (llm.Client, error) {
		p, ok := c.provider(d.Provider)
		if !ok {
			return nil, fmt.Errorf("the provider %s is not configured", d.Provider)
		}
		switch p.API {
		case "script":
			return script.New(s, d.Provider, d.ID), nil
		case "anthropic":
			return anthropic.New(anthropic.Config{
				Provider: p.ID, BaseURL: p.BaseURL, Key: key, Bearer: d.Type == failover.Token,
				Header: p.Header, Transport: transport,
			})
		}
		return chat.New(chat.Config{Provider: p.ID, BaseURL: p.BaseURL, Key: key, Header: p.Header, Transport: transport})
	}
}

// providerKnown and providerKeyless are what the book of profiles asks.
func (c *config) providerKnown(id string) bool {
	_, ok := c.provider(id)
	return ok
}

func (c *config) providerKeyless(id string) bool {
	p, ok := c.provider(id)
	return ok && !p.NeedsKey
}
