// Package chat is the client for every provider that speaks OpenAI's Chat
// Completions: OpenRouter, Groq, Mistral, DeepSeek, Ollama, vLLM, LM Studio and
// whatever else is configured with a base URL.
//
// The dialect is spoken by hand, because these servers agree on it only
// roughly; only the event-stream decoder is the vendor SDK's. What is taken as
// what:
//
//   - The terminal event is a finish reason. Token counts may follow it and are
//     waited for briefly; [DONE] alone ends nothing.
//   - A JSON member "error" that holds something is a failure in whatever event
//     it stands; null, false and empty ones are not.
//   - An answer that is no event stream is a failure, whatever its status.
//   - Reasoning comes out as thinking events. In a turn that calls tools it is
//     also kept in the reply, and given back to the same model only: some
//     models refuse to go on without it.
//   - Usage.In counts the whole prompt, cached parts included.
//
// A client is safe for concurrent use and keeps no state besides its
// configuration.
package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"

	"understudy/core"
	"understudy/core/llm"
)

// Config says whom a client speaks to, and as whom.
type Config struct {
	Provider  string      // id of the provider, which also chooses known oddities
	BaseURL   string      // up to and with the version, as "https://host/v1"; empty takes the provider's known one
	Key       core.Secret // sent as bearer token; unset sends none
	Header    http.Header // further headers of every request
	Transport *llm.Transport
	Now       func() time.Time // nil is time.Now
}

type client struct {
	cfg    Config
	house  house
	target string
	listed string // where the list of models is
}

// New checks the configuration and makes a client.
func New(cfg Config) (llm.Client, error) {
	h := houses[cfg.Provider]
	if cfg.BaseURL == "" {
		cfg.BaseURL = h.baseURL
	}
	if cfg.BaseURL == "" {
		return nil, fmt.Errorf("provider %q has no known address: set its baseUrl", cfg.Provider)
	}
	base, err := llm.ParseBaseURL(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("provider %q: %w", cfg.Provider, err)
	}
	if cfg.Transport == nil {
		return nil, fmt.Errorf("provider %q: no transport was given", cfg.Provider)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &client{cfg: cfg, house: h, target: target(base), listed: base.JoinPath("models").String()}, nil
}

func target(base *url.URL) string { return base.JoinPath("chat", "completions").String() }

// Stream sends the request and yields the answer.
func (c *client) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		attempt := c.cfg.Transport.Attempt(llm.Secrets(c.cfg.Key.Reveal(), c.cfg.Header)...)
		defer attempt.Close()
		fail := func(f llm.Failure) {
			f.Provider, f.Model, f.Now = c.cfg.Provider, req.Model, c.cfg.Now()
			yield(llm.Event{}, llm.Classify(f))
		}
		resp, err := c.send(ctx, attempt, req)
		if err != nil {
			fail(attempt.Failure(ctx, err))
			return
		}
		defer resp.Body.Close()
		r := reader{origin: llm.Ref{Provider: c.cfg.Provider, Model: req.Model}, attempt: attempt}
		take := r.read
		if !attempt.Streaming() {
			take = r.readWhole
		}
		open, failure := take(ctx, resp, yield)
		switch {
		case !open:
		case failure != nil:
			failure.Usage = r.usage
			fail(*failure)
		default:
			r.finish(yield)
		}
	}
}

func (c *client) send(ctx context.Context, attempt *llm.Attempt, req llm.Request) (*http.Response, error) {
	body, err := json.Marshal(c.encode(req))
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	c.identify(r)
	return attempt.Do(r)
}

// identify says who asks.
func (c *client) identify(r *http.Request) {
	r.Header.Set("User-Agent", "understudy")
	if c.cfg.Key.Set() {
		r.Header.Set("Authorization", "Bearer "+c.cfg.Key.Reveal())
	}
	for name, values := range c.cfg.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
}
