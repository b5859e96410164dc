package main

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// provider is what is known about a provider: the built-in table with what the
// configuration says on top.
type provider struct {
	ID string
	// API is the dialect: "chat", "anthropic" or "script".
	API string
	// BaseURL is with the version for "chat", without it for "anthropic", and
	// empty where nobody said it.
	BaseURL string
	Header  http.Header
	// NeedsKey: no request is made without a key.
	NeedsKey bool
	// Help says where a key comes from.
	Help string
}

// providers is the built-in table. Those on this machine listen where their own
// documentation puts them.
var providers = []provider{
	{ID: "anthropic", API: "anthropic", BaseURL: "https://api.anthropic.com", NeedsKey: true, Help: "create a key at https://console.anthropic.com under API keys"},
	{ID: "openai", API: "chat", BaseURL: "https://api.openai.com/v1", NeedsKey: true, Help: "create a key at https://platform.openai.com/api-keys"},
	{ID: "openrouter", API: "chat", BaseURL: "https://openrouter.ai/api/v1", NeedsKey: true, Help: "create a key at https://openrouter.ai/keys"},
	{ID: "groq", API: "chat", BaseURL: "https://api.groq.com/openai/v1", NeedsKey: true, Help: "create a key at https://console.groq.com/keys"},
	{ID: "mistral", API: "chat", BaseURL: "https://api.mistral.ai/v1", NeedsKey: true, Help: "create a key at https://console.mistral.ai under API keys"},
	{ID: "deepseek", API: "chat", BaseURL: "https://api.deepseek.com/v1", NeedsKey: true, Help: "create a key at https://platform.deepseek.com under API keys"},
	{ID: "xai", API: "chat", BaseURL: "https://api.x.ai/v1", NeedsKey: true, Help: "create a key at https://console.x.ai under API keys"},
	{ID: "ollama", API: "chat", BaseURL: "http://127.0.0.1:11434/v1", Help: "needs no key; start it with: ollama serve"},
	{ID: "lmstudio", API: "chat", BaseURL: "http://127.0.0.1:1234/v1", Help: "needs no key; start its local server"},
	{ID: "vllm", API: "chat", BaseURL: "http://127.0.0.1:8000/v1", Help: "needs no key; start it with: vllm serve"},
	{ID: "llamacpp", API: "chat", BaseURL: "http://127.0.0.1:8080/v1", Help: "needs no key; start it with: llama-server"},
	{ID: "script", API: "script", Help: "built in; answers by script, without any network"},
}

// builtinProviders are the ids of the table.
func builtinProviders() []string {
	ids := make([]string, len(providers))
	for i, p := range providers {
		ids[i] = p.ID
	}
	return ids
}

// providerIDs are those of the table and those of the configuration.
func (c *config) providerIDs() []string {
	return slices.AppendSeq(builtinProviders(), maps.Keys(c.Models.Providers))
}

// provider is what is known about a provider; ok is false for one that is
// neither built in nor configured. One that only the configuration knows may
// work without a key: whether it does is for its server to say.
func (c *config) provider(id string) (p provider, ok bool) {
	for _, b := range providers {
		if b.ID == id {
			p, ok = b, true
		}
	}
	set, configured := c.Models.Providers[id]
	if !ok && !configured {
		return provider{}, false
	}
	p.ID = id
	p.API = cmp.Or(set.API, p.API, "chat")
	if set.BaseURL != "" {
		p.BaseURL = strings.TrimRight(set.BaseURL, "/")
	}
	p.Header = set.header()
	p.Help = cmp.Or(p.Help, "set "+keyName(id)+" if its server wants a key")
	return p, true
}

// keyName is the environment variable with the first API key of a provider.
func keyName(provider string) string {
	name := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, strings.ToUpper(provider))
	return name + "_API_KEY"
}
