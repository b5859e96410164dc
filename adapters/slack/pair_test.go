package slack

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/gorilla/websocket"
)

// pair is a socket between us and Slack without a network, so that it can stand
// in a bubble of fake time. Neither side has a buffer.
func pair(t *testing.T) (ours, slacks *websocket.Conn) {
	t.Helper()
	near, far := net.Pipe()
	greeted := make(chan *websocket.Conn, 1)
	go func() {
		buffered := bufio.NewReadWriter(bufio.NewReader(far), bufio.NewWriter(far))
		req, err := http.ReadRequest(buffered.Reader)
		if err != nil {
			t.Error(err)
		}
		ws, err := new(websocket.Upgrader).Upgrade(hijacked{far, buffered}, req, nil)
		if err != nil {
			t.Error(err)
		}
		greeted <- ws
	}()
	d := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
	ours, resp, err := d.DialContext(t.Context(), "ws://slack.invalid", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	slacks = <-greeted
	t.Cleanup(func() {
		_ = ours.NetConn().Close()
		_ = slacks.NetConn().Close()
	})
	return ours, slacks
}

// hijacked is a request whose connection is taken over at once.
type hijacked struct {
	net.Conn
	buffered *bufio.ReadWriter
}

func (h hijacked) Header() http.Header                          { return http.Header{} }
func (h hijacked) WriteHeader(int)                              {}
func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.Conn, h.buffered, nil }

// reading is an adapter that reads a socket, whose other side takes what it is
// sent. ended is closed when it reads no more.
func reading(t *testing.T, take taker) (a *Adapter, l *link, slacks *websocket.Conn, ended <-chan struct{}) {
	t.Helper()
	ours, slacks := pair(t)
	go func() {
		for {
			if _, _, err := slacks.ReadMessage(); err != nil {
				return
			}
		}
	}()
	a = fuzzed(t, quiet{})
	a.pace = defaultPace
	l = newLink(ours, a.pace)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.read(ctx, l, take)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		a.names.stop()
	})
	return a, l, slacks, done
}

// send is Slack saying something.
func send(t *testing.T, slacks *websocket.Conn, frame string) {
	t.Helper()
	if err := slacks.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
		t.Fatal(err)
	}
}
