package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxBody = 1 << 20         // bytes of a request; Slack's largest are far below
	maxSkew = 5 * time.Minute // between Slack's clock and ours
)

// Handler takes what Slack sends over HTTP: events, slash commands and
// interactions, at any of its three paths. It needs Config.SigningSecret, and
// answers with an error while [Adapter.Run] is not running.
//
// A request is looked at only after its signature proved right. It is answered
// with success only once what it holds was stored; otherwise Slack sends it
// again.
func (a *Adapter) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/slack/events", "/slack/commands", "/slack/interactions"} {
		mux.HandleFunc("POST "+path, a.request)
	}
	return mux
}

func (a *Adapter) request(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	case !a.signed(r.Header, body, time.Now()):
		if a.forged.due() { // anybody can make one
			a.log.Warn("requests that Slack has not signed are refused: if they are Slack's, copy the signing secret into UNDERSTUDY_SLACK_SIGNING_SECRET again, and check the clock", "path", r.URL.Path)
		}
		http.Error(w, "not signed by Slack", http.StatusUnauthorized)
		return
	}
	e, answer, ok := envelopeOf(r.Header, body)
	if !ok {
		if answer == "" {
			a.log.Warn("a request from Slack could not be read and was passed over", "path", r.URL.Path, "bytes", len(body))
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, answer)
		return
	}
	if err := a.deliver(r.Context(), e); err != nil {
		http.Error(w, "not taken, send it again", http.StatusServiceUnavailable)
	}
}

// forgedEvery is how often requests that are not Slack's are worth a line.
const forgedEvery = time.Minute

// seldom lets something happen once in a while.
type seldom struct {
	every time.Duration
	mu    sync.Mutex
	last  time.Time
}

// due reports whether it may happen, and notes that it does.
func (s *seldom) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.last.IsZero() || now.Sub(s.last) >= s.every {
		s.last = now
		return true
	}
	return false
}

// signed checks Slack's signature of a request, in constant time. A request
// that is older than five minutes may be one that somebody has recorded.
func (a *Adapter) signed(h http.Header, body []byte, now time.Time) bool {
	at := h.Get("X-Slack-Request-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !a.cfg.SigningSecret.Set() {
		return false
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > maxSkew || age < -maxSkew {
		return false
	}
	given, err := hex.DecodeString(strings.TrimPrefix(h.Get("X-Slack-Signature"), "v0="))
	if err != nil || !strings.HasPrefix(h.Get("X-Slack-Signature"), "v0=") {
		return false
	}
	mac := hmac.New(sha256.New, []byte(a.cfg.SigningSecret.Reveal()))
	mac.Write([]byte("v0:" + at + ":"))
	mac.Write(body)
	return hmac.Equal(given, mac.Sum(nil))
}

// envelopeOf reads a request as the envelope that a socket would have brought.
// Without one, ok is false, and answer is what Slack wants to hear.
func envelopeOf(h http.Header, body []byte) (e envelope, answer string, ok bool) {
	e.Attempt, _ = strconv.Atoi(h.Get("X-Slack-Retry-Num"))
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if kind != "application/x-www-form-urlencoded" {
		p, err := decode[struct{ Type, Challenge string }](body)
		if err != nil || p.Type == "url_verification" {
			return e, p.Challenge, false
		}
		e.Type, e.Payload = "events_api", body
		return e, "", true
	}
	form, err := url.ParseQuery(string(body))
	switch {
	case err != nil:
		return e, "", false
	case form.Get("ssl_check") == "1": // of the certificate; nothing is asked for
		return e, "ok", false
	case form.Has("payload"):
		e.Type, e.Payload = "interactive", json.RawMessage(form.Get("payload"))
		return e, "", json.Valid(e.Payload)
	case form.Has("command"):
		fields := map[string]string{}
		for key := range form {
			fields[key] = form.Get(key)
		}
		e.Type = "slash_commands"
		e.Payload, err = json.Marshal(fields)
		return e, "", err == nil
	}
	return e, "", false
}

// deliver hands an envelope over and waits until it is settled, for as long as
// Slack does.
func (a *Adapter) deliver(ctx context.Context, e envelope) error {
	in := a.intake.Load()
	if in == nil {
		return errEnding
	}
	ctx, cancel := context.WithTimeout(ctx, a.pace.answer)
	defer cancel()
	settled := make(chan error, 1)
	in.accept(e, func(err error) {
		select {
		case settled <- err:
		default: // settled already
		}
	})
	select {
	case err := <-settled:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
