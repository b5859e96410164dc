package slack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"understudy/adapters/slack/slacktest"
)

// An answer of Slack is not read beyond its limit, whoever reads it.
func TestAnswersOfSlackAreBounded(t *testing.T) {
	a, err := New(config(serve(t, slacktest.Config{})))
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() error{
		"slack-go": func() error { _, err := a.api.AuthTestContext(t.Context()); return err },
		"ours":     func() error { return a.ask(t.Context(), "auth.test", nil, &struct{}{}) },
	} {
		body := &endless{}
		a.http.Transport = roundTrip(func(q *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body), Request: q}, nil
		})
		if err := ask(); err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
			t.Errorf("%s: %v", name, err)
		}
		if body.read > maxAnswer+1 {
			t.Errorf("%s: %d bytes were read", name, body.read)
		}
	}
}

// endless is an answer without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, spaces)
	e.read += n
	return n, nil
}

var spaces = strings.Repeat(" ", 1<<20)

// A frame that is larger than any of Slack's ends the socket, and no more: on the
// next one the bot hears what is said.
func TestAFrameThatIsTooLarge(t *testing.T) {
	r := plainly(t)
	r.slack.SendFrame("E1", []byte(`{"envelope_id":"E1","type":"events_api","payload":"`+strings.Repeat("x", maxFrame)+`"}`))
	r.wait("another socket alone", func() bool { return r.slack.Opened() > 1 && r.slack.Connected() == 1 })
	r.slack.Say(slacktest.DM, slacktest.User, "still there?")
	if m := r.bot.next(t, 0); m.Text != "still there?" {
		t.Errorf("heard %+v", m)
	}
}

// Of names no more are remembered than there is room for.
func TestNamesAreBounded(t *testing.T) {
	n := newNames(func(_ context.Context, user string) (person, error) { return person{name: "called " + user}, nil })
	defer n.stop()
	for i := range maxNames + 100 {
		if got := n.get(t.Context(), "T1", fmt.Sprint("U", i)); got != fmt.Sprint("called U", i) {
			t.Fatalf("user %d is called %q", i, got)
		}
	}
	if len(n.known) != maxNames {
		t.Errorf("%d names are remembered", len(n.known))
	}
}
