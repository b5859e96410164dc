package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"
)

// maxAnswer bounds what is read of an answer of the Web API, in bytes.
const maxAnswer = 16 << 20

var errLargeAnswer = fmt.Errorf("an answer of Slack has more than %d MiB and was not read to its end", maxAnswer>>20)

// boundedClient is an HTTP client for slack-go, which reads answers of any size.
type boundedClient struct{ *http.Client }

func (c boundedClient) Do(req *http.Request) (*http.Response, error) {
	resp, err := c.Client.Do(req)
	if err == nil {
		resp.Body = &boundedBody{ReadCloser: resp.Body}
	}
	return resp, err
}

// boundedBody fails once more than maxAnswer bytes were read.
type boundedBody struct {
	io.ReadCloser
	read int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), maxAnswer+1-b.read)])
	if b.read += int64(n); b.read > maxAnswer {
		return n, errLargeAnswer
	}
	return n, err
}

// ask calls a method of the Web API whose answer slack-go does not give in full.
// The errors are those of slack-go.
func (a *Adapter) ask(ctx context.Context, method string, args url.Values, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.APIURL+method, strings.NewReader(args.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+a.cfg.BotToken.Reveal())
	resp, err := boundedClient{a.http}.Do(req)
	if err != nil {
		return clean(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return &slackgo.RateLimitedError{RetryAfter: time.Duration(max(seconds, 1)) * time.Second}
	case resp.StatusCode != http.StatusOK:
		return slackgo.StatusCodeError{Code: resp.StatusCode, Status: resp.Status}
	case err != nil:
		return fmt.Errorf("reading the answer to %s: %w", method, err)
	}
	said, err := decode[struct {
		OK            bool
		Error, Needed string
	}](body)
	if err != nil {
		return fmt.Errorf("reading the answer to %s: %w", method, err)
	}
	if !said.OK {
		return slackgo.SlackErrorResponse{Err: first(said.Error, "no_reason"), Needed: said.Needed}
	}
	var wrongType *json.UnmarshalTypeError
	if err := json.Unmarshal(body, into); err != nil && !errors.As(err, &wrongType) {
		return fmt.Errorf("reading the answer to %s: %w", method, err)
	}
	return nil
}

// saidCode reports whether Slack refused a call with one of the codes.
func saidCode(err error, codes ...string) bool {
	var refused slackgo.SlackErrorResponse
	if !errors.As(err, &refused) {
		return false
	}
	for _, c := range codes {
		if refused.Err == c {
			return true
		}
	}
	return false
}
