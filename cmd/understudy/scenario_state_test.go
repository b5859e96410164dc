package main

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/sessions"
)

// storedState is state.json: what the store holds at the start.
type storedState struct {
	Sessions   map[string]storedSession `json:"sessions"`
	UsageStats map[string]storedProfile `json:"usageStats"`
	Profiles   map[string]storedKey     `json:"profiles"`
}

type storedKey struct {
	Type     failover.CredentialType `json:"type"`
	Provider string                  `json:"provider"`
}

type storedSession struct {
	ProviderOverride          string `json:"providerOverride"`
	ModelOverride             string `json:"modelOverride"`
	ModelOverrideSource       string `json:"modelOverrideSource"`
	AuthProfileOverride       string `json:"authProfileOverride"`
	AuthProfileOverrideSource string `json:"authProfileOverrideSource"`
	OriginProvider            string `json:"modelOverrideFallbackOriginProvider"`
	OriginModel               string `json:"modelOverrideFallbackOriginModel"`
}

type storedWindow struct {
	CooldownUntil  moment `json:"cooldownUntil"`
	CooldownReason string `json:"cooldownReason"`
	ErrorCount     int    `json:"errorCount"`
}

type storedProfile struct {
	LastUsed       moment                  `json:"lastUsed"`
	CooldownUntil  moment                  `json:"cooldownUntil"`
	CooldownReason string                  `json:"cooldownReason"`
	CooldownModel  string                  `json:"cooldownModel"`
	ErrorCount     int                     `json:"errorCount"`
	DisabledUntil  moment                  `json:"disabledUntil"`
	DisabledReason string                  `json:"disabledReason"`
	Models         map[string]storedWindow `json:"models"`
}

// moment is a time as "+5m", "-1h" or epoch milliseconds.
type moment struct {
	offset time.Duration
	ms     int64
	set    bool
}

func (m *moment) UnmarshalJSON(b []byte) error {
	m.set = true
	if len(b) > 0 && b[0] != '"' {
		return json.Unmarshal(b, &m.ms)
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	sign := time.Duration(1)
	switch s[:min(1, len(s))] {
	case "+":
		s = s[1:]
	case "-":
		s, sign = s[1:], -1
	}
	d, err := parseSpan(s)
	m.offset = sign * d
	return err
}

func (m moment) at(now time.Time) time.Time {
	switch {
	case !m.set:
		return time.Time{}
	case m.ms != 0:
		return time.UnixMilli(m.ms)
	}
	return now.Add(m.offset)
}

// choice is the stored override; half of one is kept as what it is.
func (x storedSession) choice() sessions.Choice {
	c := sessions.Choice{Model: llm.Ref{Provider: x.ProviderOverride, Model: x.ModelOverride}, Source: failover.Source(x.ModelOverrideSource)}
	if (x.ProviderOverride == "") != (x.ModelOverride == "") {
		return sessions.Choice{Broken: x.ProviderOverride + x.ModelOverride}
	}
	if c.Model == (llm.Ref{}) {
		return sessions.Choice{}
	}
	if c.Source == "" {
		c.Source = failover.FromLegacy
	}
	c.Origin = llm.Ref{Provider: x.OriginProvider, Model: x.OriginModel}
	return c
}

// load puts state.json into the store.
func (p *player) load() {
	p.Helper()
	data, ok := p.s.files["state.json"]
	if !ok {
		return
	}
	var s storedState
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		p.fatalf("state.json: %v", err)
	}
	for _, id := range sortedNames(s.Profiles) {
		k := s.Profiles[id]
		if k.Provider == "" {
			k.Provider = failover.ProviderOf(id)
		}
		known := slices.ContainsFunc(p.config.Auth.Profiles, func(c profileConfig) bool { return c.ID == id })
		if !known {
			p.config.Auth.Profiles = append(p.config.Auth.Profiles, profileConfig{ID: id, Provider: k.Provider, Mode: k.Type})
		}
	}
	ctx, now := context.Background(), p.now()
	for name, x := range s.Sessions {
		c := x.choice()
		pins := map[string]string{}
		if x.AuthProfileOverrideSource == "user" {
			c.Lock = x.AuthProfileOverride
		} else if x.AuthProfileOverride != "" {
			pins[failover.ProviderOf(x.AuthProfileOverride)] = x.AuthProfileOverride
		}
		key := core.Key{Agent: mainAgent, Thread: p.thread(name).Key()}
		err := p.store.CommitChoice(ctx, key, 0, func(tx sessions.ChoiceTx) error {
			r := tx.Session()
			r.Transcript, r.Pins = "from "+name, pins
			tx.SetSession(r)
			tx.SetChoice(c)
			return nil
		})
		if err != nil {
			p.fatalf("state.json: %v", err)
		}
	}
	for id, u := range s.UsageStats {
		state := u.state(now)
		// As it was written, also what no rule could have made: the start mends it.
		err := p.store.UpdateState(ctx, mainAgent, id, func(failover.State) failover.State { return state })
		if err != nil {
			p.fatalf("state.json: %v", err)
		}
	}
}

// state reads one profile as it is written outside.
func (u storedProfile) state(now time.Time) failover.State {
	s := failover.State{LastUsed: u.LastUsed.at(now), Models: map[string]failover.Window{}}
	window := func(until moment, reason string, count int) failover.Window {
		return failover.Window{Reason: llm.Reason(reason), Since: now, Until: until.at(now), Count: max(count, 1), Stated: true}
	}
	for model, w := range u.Models {
		s.Models[model] = window(w.CooldownUntil, w.CooldownReason, w.ErrorCount)
	}
	if u.CooldownUntil.set {
		w := window(u.CooldownUntil, u.CooldownReason, u.ErrorCount)
		switch {
		case w.Reason == llm.Auth:
			s.Auth = w
		case u.CooldownModel == "":
			s.Models[failover.AllModels] = w
		default:
			s.Models[u.CooldownModel] = w
		}
	}
	if u.DisabledUntil.set {
		w := window(u.DisabledUntil, u.DisabledReason, 1)
		w.Stated = false
		if w.Reason == llm.AuthPermanent {
			s.Permanent = w
		} else {
			w.Reason = llm.Billing
			s.Billing = w
		}
	}
	return s
}
