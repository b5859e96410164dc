package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"understudy/core/llm"
)

// Transcriber turns speech into text, by the endpoint for it that goes with
// the dialect. It is safe for concurrent use.
type Transcriber struct {
	c     *client
	model string
}

// NewTranscriber checks the configuration and makes a Transcriber that asks
// that model.
func NewTranscriber(cfg Config, model string) (*Transcriber, error) {
	made, err := New(cfg)
	if err != nil {
		return nil, err
	}
	c := made.(*client)
	base, err := url.Parse(c.target)
	if err != nil {
		return nil, fmt.Errorf("provider %q: %w", cfg.Provider, err)
	}
	c.target = base.JoinPath("..", "..", "audio", "transcriptions").String()
	return &Transcriber{c, model}, nil
}

// Transcribe makes one request and returns what was said. Every error is an
// *[llm.Error].
func (t *Transcriber) Transcribe(ctx context.Context, name, mime string, audio []byte) (string, error) {
	attempt := t.c.cfg.Transport.Attempt(t.c.cfg.Key.Reveal())
	defer attempt.Close()
	text, f := t.ask(ctx, attempt, name, mime, audio)
	if f != nil {
		f.Provider, f.Model, f.Now = t.c.cfg.Provider, t.model, t.c.cfg.Now()
		return "", llm.Classify(*f)
	}
	return text, nil
}

func (t *Transcriber) ask(ctx context.Context, attempt *llm.Attempt, name, mime string, audio []byte) (string, *llm.Failure) {
	failed := func(err error) *llm.Failure {
		f := attempt.Failure(ctx, err)
		return &f
	}
	req, err := t.request(ctx, name, mime, audio)
	if err != nil {
		return "", failed(err)
	}
	resp, err := attempt.Do(req)
	if err != nil {
		return "", failed(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return "", failed(err)
	}
	var out struct{ Text *string }
	if err := json.Unmarshal(raw, &out); err != nil || out.Text == nil {
		return "", failed(nil)
	}
	text := strings.TrimSpace(*out.Text)
	if text == "" {
		f := failed(nil)
		f.Empty = true
		return "", f
	}
	return text, nil
}

// request is a form with the sound and the model.
func (t *Transcriber) request(ctx context.Context, name, mime string, audio []byte) (*http.Request, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", multipart.FileContentDisposition("file", name))
	head.Set("Content-Type", mime)
	part, err := form.CreatePart(head)
	if err == nil {
		_, err = part.Write(audio)
	}
	for _, field := range [][2]string{{"model", t.model}, {"response_format", "json"}} {
		if err == nil {
			err = form.WriteField(field[0], field[1])
		}
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("writing the form: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.c.target, &body)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Accept", "application/json")
	t.c.identify(req)
	return req, nil
}
