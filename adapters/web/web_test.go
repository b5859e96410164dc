package web

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
)

func TestProbes(t *testing.T) {
	var broken atomic.Bool
	s, err := Listen(Config{Addr: "127.0.0.1:0", Ready: func(context.Context) []string {
		if broken.Load() {
			return []string{"slack: the token was refused"}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	if text, err := Check(t.Context(), s.Addr(), "/readyz"); err != nil || text != "ready" {
		t.Fatalf("%q %v", text, err)
	}
	broken.Store(true)
	if _, err := Check(t.Context(), s.Addr(), "/readyz"); err == nil || !strings.Contains(err.Error(), "the token was refused") {
		t.Fatalf("ready while broken: %v", err)
	}
	if text, err := Check(t.Context(), s.Addr(), "/healthz"); err != nil || text != "ok" {
		t.Fatalf("%q %v", text, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := Check(t.Context(), s.Addr(), "/healthz"); err == nil {
		t.Fatal("answers after its end")
	}
}
