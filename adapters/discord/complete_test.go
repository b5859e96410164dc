package discord

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// slow offers completions only when it is too late.
type slow struct{ deaf }

func (slow) Complete(ctx context.Context, _ core.Invocation) ([]core.Choice, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// scribe takes every request and keeps its body.
type scribe struct {
	mu     sync.Mutex
	bodies []string
}

func (s *scribe) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, string(raw))
	return parrot{status: http.StatusNoContent, head: http.Header{}}.RoundTrip(r)
}

// Discord waits three seconds for completions.
func TestCompletionsComeInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent scribe
		a, err := New(Config{Token: core.NewSecret("x"), Allow: []string{"*"}, HTTP: &http.Client{Transport: &sent}})
		if err != nil {
			t.Fatal(err)
		}
		a.identify("800", "801")
		r := newRun(t.Context(), a, slow{})
		r.event("GUILD_CREATE", []byte(`{"id":"900","channels":[{"id":"100"}]}`))
		began := time.Now()
		r.event("INTERACTION_CREATE", []byte(`{"id":"301","type":4,"token":"t","channel_id":"100","guild_id":"900",
			"member":{"user":{"id":"700"}},"data":{"name":"model","options":[{"value":"g","focused":true}]}}`))
		r.wait()
		if took := time.Since(began); took > 2500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if len(sent.bodies) != 1 || !strings.Contains(sent.bodies[0], `"choices":[]`) || !strings.Contains(sent.bodies[0], `"type":8`) {
			t.Errorf("sent %q", sent.bodies)
		}
	})
}
