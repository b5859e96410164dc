package llmtest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"understudy/core/llm"
)

// models: a client lists the models of its provider, as itself; where there is
// no list it says so, without the answer and the key.
func (s suite) models(t *testing.T) {
	w := s.wire(t)
	c, ok := s.newClient(w).(llm.Lister)
	if !ok {
		t.Fatal("the client does not list models")
	}
	if list, err := c.Models(t.Context()); err == nil || len(list) > 0 || strings.Contains(err.Error(), Key) || !strings.Contains(err.Error(), "404") {
		t.Errorf("without a list: %q, %v", list, err)
	}
	want := []string{Model, "vendor/another:free"}
	w.Server.Offer(want...)
	if list, err := c.Models(t.Context()); err != nil || !slices.Equal(list, want) {
		t.Errorf("listed %q, %v", list, err)
	}
	if got := w.Server.Listings(); !slices.Equal(got, []string{Key, Key}) {
		t.Errorf("it was asked as %q", got)
	}
	w.Server.Offer()
	if list, err := c.Models(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("of nothing: %q, %v", list, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Models(ctx); err == nil || strings.Contains(err.Error(), Key) {
		t.Errorf("after the end: %v", err)
	}
	if asked, _, _ := w.Server.Counts(); asked != 0 {
		t.Errorf("%d models were called", asked)
	}
}
