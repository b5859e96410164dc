package slacktest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Endpoints are the addresses at which an app takes what Slack sends over HTTP.
// Commands and Interactions may be empty: then Events takes all.
type Endpoints struct{ Events, Commands, Interactions string }

// Subscribe sends everything to these addresses from now on, signed, and nothing
// through sockets, as Slack does for an app without Socket Mode. It first asks
// the address of events to repeat a challenge.
//
// An event is repeated when it is not answered with success within three
// seconds: at once, after a minute and after five, unless the answer says not
// to. Commands and interactions are sent once.
func (s *Server) Subscribe(ctx context.Context, e Endpoints) error {
	s.mu.Lock()
	challenge := s.id("challenge-")
	s.mu.Unlock()
	body, _ := json.Marshal(map[string]any{"type": "url_verification", "token": "unused", "challenge": challenge})
	a := s.request(ctx, e.Events, "application/json", body, nil)
	if a.failure != "" {
		return errors.New("slacktest: the address of events did not answer the challenge: " + a.failure)
	}
	var told struct{ Challenge string }
	if _ = json.Unmarshal(a.body, &told); told.Challenge != challenge && string(bytes.TrimSpace(a.body)) != challenge {
		return fmt.Errorf("slacktest: the address of events did not repeat the challenge but said %.80q", a.body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endpoints = &e
	return nil
}

// httpAnswer is what an app answered. failure is Slack's word for what was wrong
// with it, empty for success.
type httpAnswer struct {
	failure string
	header  http.Header
	body    []byte
}

// request posts one signed body.
func (s *Server) request(ctx context.Context, address, kind string, body []byte, retry *envelope) httpAnswer {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.AckWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return httpAnswer{failure: "connection_failed"}
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
	if retry != nil {
		req.Header.Set("X-Slack-Retry-Num", strconv.Itoa(retry.attempts-1))
		req.Header.Set("X-Slack-Retry-Reason", retry.reason)
	}
	s.Sign(req, body, time.Now())
	resp, err := s.client.Do(req)
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		return httpAnswer{failure: "connection_failed"}
	case errors.Is(err, context.DeadlineExceeded):
		return httpAnswer{failure: "http_timeout"}
	case err != nil:
		return httpAnswer{failure: "unknown_error"}
	}
	defer resp.Body.Close()
	a := httpAnswer{header: resp.Header}
	a.body, _ = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		a.failure = "http_error"
	}
	return a
}

// Sign signs a request as Slack does.
func (s *Server) Sign(r *http.Request, body []byte, at time.Time) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(s.cfg.SigningSecret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
}

// form is an envelope as a request: where it goes, and what it holds.
func (e *envelope) form(at Endpoints) (address, kind string, body []byte) {
	payload := e.raw
	if payload == nil {
		payload, _ = json.Marshal(e.payload)
	}
	const form = "application/x-www-form-urlencoded"
	switch e.kind {
	case "slash_commands":
		values := url.Values{}
		fields, _ := e.payload.(map[string]any)
		for k, v := range fields {
			values.Set(k, fmt.Sprint(v))
		}
		return either(at.Commands, at.Events), form, []byte(values.Encode())
	case "interactive":
		return either(at.Interactions, at.Events), form, []byte(url.Values{"payload": {string(payload)}}.Encode())
	}
	return at.Events, "application/json", payload
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// post delivers an envelope over HTTP, again and again if need be.
func (s *Server) post(e *envelope, at Endpoints) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	s.wg.Go(func() {
		select {
		case <-s.done:
			cancel()
		case <-stop:
		}
	})
	address, kind, body := e.form(at)
	for try := 0; ; try++ {
		s.mu.Lock()
		e.attempts++
		again := e
		if e.attempts == 1 {
			again = nil
		}
		s.mu.Unlock()
		a := s.request(ctx, address, kind, body, again)
		if s.answered(e, a) || e.kind != "events_api" || try >= len(s.cfg.RetryAfter) || a.header.Get("X-Slack-No-Retry") == "1" {
			return
		}
		select {
		case <-time.After(s.cfg.RetryAfter[try]):
		case <-ctx.Done():
			return
		}
	}
}

// answered notes the answer to an envelope, and whether it was a success.
func (s *Server) answered(e *envelope, a httpAnswer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	e.reason = a.failure
	if a.failure != "" {
		return false
	}
	e.acked = append(e.acked, time.Now())
	if json.Valid(a.body) {
		e.ackBody = a.body
	}
	return true
}
