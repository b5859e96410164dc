// Package anthropic is the client for Anthropic's Messages API, and for the
// gateways and other vendors that speak it, on the vendor's own SDK.
//
// The SDK's retries, environment defaults and telemetry are off, and its errors
// stay in here: what failed is told from what the transport saw. The vendor's
// own host is spoken to in the current version of the API, every other one in
// the version that the rest of the world implements (2023-06-01, key in
// x-api-key).
//
// The terminal event is message_stop. Signed reasoning is kept in the reply, in
// its place between text and tool calls, and is given back to the model that
// made it. Usage.In counts the whole prompt, cached parts included.
//
// A client is safe for concurrent use and keeps no state besides its
// configuration.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"understudy/core"
	"understudy/core/llm"
)

// DefaultBaseURL is the vendor's own address.
const DefaultBaseURL = "https://api.anthropic.com"

// DefaultMaxTokens is the output limit of a request that names none: the API
// insists on one, and every current model takes this.
const DefaultMaxTokens = 8192

const (
	// commonVersion is the API version of everybody but the vendor.
	commonVersion = "2023-06-01"
	// fallbackBeta names the beta in which the vendor answers a refused request
	// with another model of its own.
	fallbackBeta = "server-side-fallback-2026-07-01"
)

// Config says whom a client speaks to, and as whom.
type Config struct {
	Provider  string      // id of the provider; empty is "anthropic"
	BaseURL   string      // without the version, as "https://host"; empty is the vendor's own
	Key       core.Secret // an API key, or a bearer token
	Bearer    bool        // Key is a bearer token, as gateways want it
	Header    http.Header // further headers of every request
	Transport *llm.Transport
	Now       func() time.Time // nil is time.Now
	// NoRefusalFallback keeps the vendor from answering with another model what
	// the asked one declined. It counts for API keys at the vendor's own host;
	// nobody else is asked for it.
	NoRefusalFallback bool
}

type client struct {
	cfg      Config
	vendor   bool // speaks to the vendor's own host
	messages sdk.MessageService
	models   sdk.ModelService
	options  []option.RequestOption // of every request
}

// New checks the configuration and makes a client.
func New(cfg Config) (llm.Client, error) {
	if cfg.Provider == "" {
		cfg.Provider = "anthropic"
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
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
	vendor, _ := url.Parse(DefaultBaseURL)
	c := &client{cfg: cfg, vendor: base.Host == vendor.Host}
	// NewMessageService, unlike NewClient, reads nothing from the environment.
	general := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(strings.TrimSuffix(base.String(), "/"), "/v1") + "/"),
		option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(),
	}
	c.messages, c.models = sdk.NewMessageService(general...), sdk.NewModelService(general...)
	c.options = c.identify()
	return c, nil
}

// identify gives the options that carry credential, version and headers.
func (c *client) identify() []option.RequestOption {
	var opts []option.RequestOption
	if !c.vendor {
		opts = append(opts, option.WithHeader("anthropic-version", commonVersion))
	}
	switch {
	case !c.cfg.Key.Set():
	case c.vendor, c.cfg.Bearer:
		opts = append(opts, option.WithHeader("authorization", "Bearer "+c.cfg.Key.Reveal()))
	default:
		opts = append(opts, option.WithHeader("x-api-key", c.cfg.Key.Reveal()))
	}
	for name, values := range c.cfg.Header {
		opts = append(opts, option.WithHeaderDel(name))
		for _, v := range values {
			opts = append(opts, option.WithHeaderAdd(name, v))
		}
	}
	return opts
}

// Stream sends the request and yields the answer.
func (c *client) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		attempt := c.cfg.Transport.Attempt(llm.Secrets(c.cfg.Key.Reveal(), c.cfg.Header)...)
		defer attempt.Close()
		fail := func(f llm.Failure) {
			f.Provider, f.Model, f.Now = c.cfg.Provider, req.Model, c.cfg.Now()
			yield(llm.Event{}, llm.Classify(f))
		}
		w := &wire{attempt: attempt}
		stream := c.messages.NewStreaming(ctx, c.encode(req), c.optionsFor(w, req)...)
		defer stream.Close()
		if !attempt.Streaming() && !w.whole {
			fail(attempt.Failure(ctx, transportError(stream.Err())))
			return
		}
		r := reader{origin: llm.Ref{Provider: c.cfg.Provider, Model: req.Model}, attempt: attempt}
		open, failure := r.read(ctx, stream, yield)
		switch {
		case !open:
		case failure != nil:
			failure.Usage = r.usage.sum()
			fail(*failure)
		default:
			r.finish(yield)
		}
	}
}

func (c *client) optionsFor(w *wire, req llm.Request) []option.RequestOption {
	opts := []option.RequestOption{option.WithHTTPClient(w)}
	if c.vendor && !c.cfg.Bearer && !c.cfg.NoRefusalFallback {
		opts = append(opts,
			option.WithHeaderAdd("anthropic-beta", fallbackBeta),
			option.WithJSONSet("fallbacks", "default"))
	}
	opts = append(opts, c.options...)
	if req.Temperature != nil && !c.vendor { // the current version of the API refuses it
		opts = append(opts, option.WithJSONSet("temperature", *req.Temperature))
	}
	return opts
}

// transportError is err without the SDK's own type: that only repeats what the
// transport saw, and its text holds address and body.
func transportError(err error) error {
	var answered *sdk.Error
	if errors.As(err, &answered) {
		return nil
	}
	return err
}
