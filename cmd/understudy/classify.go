package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"understudy/core/llm"
)

// maxPaste is the most that is read of a pasted text, and of one line, in
// bytes.
const maxPaste = 1 << 20

// failedAnswer is one line of input: what a client saw of a failed call.
type failedAnswer struct {
	ID        string            `json:"id"`
	Provider  string            `json:"provider"`
	Model     string            `json:"model"`
	Status    int               `json:"status"` // null or 0 without an answer
	Headers   map[string]string `json:"headers"`
	Body      json.RawMessage   `json:"body"` // a text, or JSON as it is
	Stream    bool              `json:"stream"`
	Cancelled bool              `json:"caller_cancelled"`
}

// verdict is one line of output.
type verdict struct {
	ID     string     `json:"id,omitempty"`
	Reason llm.Reason `json:"reason"`
	Scope  llm.Scope  `json:"scope"`
	// RetryAfter is the stated wait in seconds, and ResetAt its end.
	RetryAfter *float64   `json:"retryAfter"`
	ResetAt    *time.Time `json:"resetAt"`
	Status     int        `json:"status,omitempty"`
	Code       string     `json:"code,omitempty"`
	Detail     string     `json:"detail,omitempty"`
	Evidence   string     `json:"evidence"`
}

// classify is "understudy classify": what a failed answer is put down to.
func classify(_ context.Context, c console, args []string) error {
	f := flags(c, "classify")
	provider := f.String("provider", "", "whose error it is, for a pasted text")
	text := f.Bool("text", false, "take the whole input as one pasted text, also when it looks like lines of JSON")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return misuse("the error is read from standard input, not from the command line")
	}
	in := bufio.NewReader(io.LimitReader(c.in, 1<<30))
	first, err := in.Peek(1)
	for err == nil && strings.ContainsRune(" \t\r\n", rune(first[0])) {
		in.ReadByte()
		first, err = in.Peek(1)
	}
	if errors.Is(err, io.EOF) {
		return misuse("there is nothing on standard input: give lines of JSON, or paste an error")
	}
	if *text || err != nil || first[0] != '{' {
		return classifyText(c.out, in, *provider)
	}
	return classifyLines(c.out, in, *provider)
}

// classifyText judges one pasted text.
func classifyText(out io.Writer, in io.Reader, provider string) error {
	b, err := io.ReadAll(io.LimitReader(in, maxPaste))
	if err != nil {
		return fmt.Errorf("reading the pasted text: %w", err)
	}
	now := time.Now().UTC()
	return printVerdict(out, "", llm.ClassifyText(provider, string(b), now), now)
}

// classifyLines judges line by line. A JSON object that is no description of an
// answer is an error body that somebody pasted.
func classifyLines(out io.Writer, in io.Reader, provider string) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxPaste)
	var pasted bytes.Buffer
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var a failedAnswer
		d := json.NewDecoder(bytes.NewReader(line))
		err := d.Decode(&a)
		if pasted.Len() > 0 || err != nil || a.Body == nil && a.Status == 0 && a.Provider == "" && !a.Cancelled {
			if n > 1 && pasted.Len() == 0 {
				return misuse("line %d is no JSON object with id, provider, status, headers, body, stream, caller_cancelled: %v", n, err)
			}
			pasted.Write(line)
			pasted.WriteByte('\n')
			continue
		}
		now := time.Now().UTC()
		if err := printVerdict(out, a.ID, llm.Classify(a.failure(now)), now); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading lines of at most %d bytes: %w", maxPaste, err)
	}
	if pasted.Len() > 0 {
		return classifyText(out, &pasted, provider)
	}
	return nil
}

func (a failedAnswer) failure(now time.Time) llm.Failure {
	h := http.Header{}
	for k, v := range a.Headers {
		h.Set(k, v)
	}
	body := []byte(a.Body)
	var text string
	if json.Unmarshal(a.Body, &text) == nil {
		body = []byte(text)
	}
	return llm.Failure{
		Provider: a.Provider, Model: a.Model, Status: a.Status, Header: h, Body: body,
		Stream: a.Stream, Cancelled: a.Cancelled, Now: now,
	}
}

func printVerdict(out io.Writer, id string, e *llm.Error, now time.Time) error {
	v := verdict{ID: id, Reason: e.Reason, Scope: e.Scope, Status: e.Status, Code: e.Code, Detail: e.Detail, Evidence: e.Evidence}
	if !e.ResetAt.IsZero() {
		at, wait := e.ResetAt.UTC(), e.ResetAt.Sub(now).Seconds()
		v.ResetAt, v.RetryAfter = &at, &wait
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
