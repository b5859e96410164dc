package discord_test

import (
	"context"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"understudy/adapters/discord"
)

// wires are a network in memory, both its listener and its dialer. Nothing on it
// waits for the kernel, so that it works in a bubble.
type wires struct {
	calls chan net.Conn
	once  sync.Once
	gone  chan struct{}
}

func newWires() *wires { return &wires{calls: make(chan net.Conn), gone: make(chan struct{})} }

func (w *wires) Accept() (net.Conn, error) {
	select {
	case c := <-w.calls:
		return c, nil
	case <-w.gone:
		return nil, net.ErrClosed
	}
}

func (w *wires) Close() error {
	w.once.Do(func() { close(w.gone) })
	return nil
}

func (w *wires) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (w *wires) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case w.calls <- there:
		return here, nil
	case <-w.gone:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: w.Addr(), Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inBubble runs a test in which time passes only while everybody waits for it:
// what it says about times holds on any machine. Its houses are those of
// bubbleHouse.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// Ids hold the time since 2015, and bubbles begin in 2000.
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		test(t)
	})
}

// bubbleHouse is newHouse in memory.
func bubbleHouse(t *testing.T, settings ...func(*discord.Config)) *house {
	t.Helper()
	return newHouseOn(t, newWires(), settings...)
}

// bubbleOpen is open in memory.
func bubbleOpen(t *testing.T, settings ...func(*discord.Config)) *house {
	t.Helper()
	h := bubbleHouse(t, settings...)
	h.start()
	h.await("a connection", func() bool { return h.Ready() && h.fake.Connected() == 1 })
	return h
}
