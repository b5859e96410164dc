// Package auth holds the credentials of the providers and hands them to the
// failover engine as profiles.
//
// A profile is one credential of one provider, with an id "provider:name".
// Keys from the environment are the profiles "provider:env", "provider:env-2"
// and so on; a provider that needs no key has one profile, "provider:default".
// Secrets leave this package only through the factory that makes clients; no
// error and no profile shows them.
//
// A [Book] does not change and is safe for concurrent use.
package auth

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
)

// Declared is a profile that the configuration names. Its secret is elsewhere.
type Declared struct {
	ID       string
	Provider string
	Type     failover.CredentialType
}

// Config is what a [Book] is made of.
type Config struct {
	// Keys are API keys by provider, in order.
	Keys map[string][]core.Secret
	// Declared are the profiles of the configuration, in written order. One
	// whose id is that of a key in Keys describes that key.
	Declared []Declared
	// Order fixes the profiles of a provider: exactly these, in this order.
	Order map[string][]string
	// Known reports whether a provider is configured, and Keyless whether it
	// works without a credential.
	Known, Keyless func(provider string) bool
	// Bare lets declared profiles work without a secret, for providers that
	// ask for none (scripted ones).
	Bare func(provider string) bool
	// Client makes the client of a profile.
	Client func(p Declared, key core.Secret) (llm.Client, error)
}

// Book is the list of profiles.
type Book struct {
	c Config

	mu       sync.Mutex
	clients  map[string]llm.Client
	profiles map[string]failover.Profiles // of the providers that were asked for
}

// New makes a book.
func New(c Config) *Book {
	return &Book{c: c, clients: map[string]llm.Client{}, profiles: map[string]failover.Profiles{}}
}

// EnvID is the id of the n-th key (from 0) of a provider in the environment.
func EnvID(provider string, n int) string {
	if n == 0 {
		return provider + ":env"
	}
	return fmt.Sprintf("%s:env-%d", provider, n+1)
}

// entry is a profile with its secret.
type entry struct {
	Declared
	key core.Secret
}

// Profiles are those of a provider, in the order that the rules ask for: the
// operator's order exactly; else the declared ones; else all that there are.
// Their list is made once and shared; nobody may change it.
func (b *Book) Profiles(_ context.Context, _, provider string) (failover.Profiles, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ps, made := b.profiles[provider]; made {
		return ps, nil
	}
	ps := failover.Profiles{Known: b.c.Known(provider)}
	if !ps.Known {
		return ps, nil
	}
	for _, e := range b.entries(provider) {
		ps.List = append(ps.List, failover.Profile{
			ID: e.ID, Provider: provider, Type: e.Type,
			Client: func(context.Context) (llm.Client, error) { return b.client(e) },
		})
	}
	_, ps.Ordered = b.c.Order[provider]
	ps.List = slices.Clip(ps.List) // what somebody appends is theirs
	b.profiles[provider] = ps
	return ps, nil
}

// List is Profiles for those who have no context at hand; nothing blocks.
func (b *Book) List(agent, provider string) (failover.Profiles, error) {
	return b.Profiles(context.Background(), agent, provider)
}

// entries are the usable profiles of a provider in their configured order.
func (b *Book) entries(provider string) []entry {
	have := map[string]entry{}
	var stored []string
	add := func(e entry) {
		if _, dup := have[e.ID]; !dup {
			stored = append(stored, e.ID)
		}
		have[e.ID] = e
	}
	for i, k := range b.c.Keys[provider] {
		add(entry{Declared{EnvID(provider, i), provider, failover.APIKey}, k})
	}
	if b.c.Keyless(provider) && len(stored) == 0 {
		add(entry{Declared: Declared{provider + ":default", provider, failover.APIKey}})
	}
	var declared []string
	for _, d := range b.c.Declared {
		if d.Provider != provider {
			continue
		}
		if e, ok := have[d.ID]; ok {
			e.Type = d.Type
			have[d.ID] = e
		} else if b.c.Bare != nil && b.c.Bare(provider) {
			have[d.ID] = entry{Declared: d}
		} else {
			continue // named, but there is no secret for it
		}
		declared = append(declared, d.ID)
	}
	ids := stored
	if len(declared) > 0 {
		ids = declared
	}
	if order, ok := b.c.Order[provider]; ok {
		ids = slices.DeleteFunc(slices.Clone(order), func(id string) bool { _, ok := have[id]; return !ok })
	}
	list := make([]entry, len(ids))
	for i, id := range ids {
		list[i] = have[id]
	}
	return list
}

func (b *Book) client(e entry) (llm.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.clients[e.ID]; c != nil {
		return c, nil
	}
	c, err := b.c.Client(e.Declared, e.key)
	if err != nil {
		return nil, fmt.Errorf("making the client of %s: %w", e.ID, err)
	}
	b.clients[e.ID] = c
	return c, nil
}

// Missing are the declared or ordered profiles that have no secret, for a
// warning at start.
func (b *Book) Missing() []string {
	var list []string
	usable := map[string]bool{}
	providers := map[string]bool{}
	for _, d := range b.c.Declared {
		providers[d.Provider] = true
	}
	for p := range b.c.Order {
		providers[p] = true
	}
	for p := range providers {
		for _, e := range b.entries(p) {
			usable[e.ID] = true
		}
	}
	for _, d := range b.c.Declared {
		if !usable[d.ID] && b.c.Order[d.Provider] == nil {
			list = append(list, d.ID)
		}
	}
	for _, order := range b.c.Order {
		for _, id := range order {
			if !usable[id] {
				list = append(list, id)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
