package slack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"understudy/core/rescue"
)

// pace is how hard the adapter tries to reach Slack.
type pace struct {
	// pauses before the next attempt, by failures in a row; the last repeats.
	// The first is also the least time between two connections.
	pauses []time.Duration
	// settled is how long a connection must have lived for the pauses to begin
	// anew. Without it a Slack that hangs up at once would be called every
	// second.
	settled time.Duration
	// silence is how long a connection may go without a ping or a frame.
	silence time.Duration
	// farewell is how long a connection that Slack is about to close is still
	// read while its successor is open.
	farewell time.Duration
	// audit is the time between two looks for direct messages that Slack has
	// not told of, and grace how old such a one must be.
	audit, grace time.Duration
	// answer is the time in which a request of Slack is answered. Slack waits
	// for three seconds.
	answer time.Duration
}

var defaultPace = pace{
	pauses:   []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second},
	settled:  time.Minute,
	silence:  30 * time.Second,
	farewell: 30 * time.Second,
	audit:    10 * time.Minute,
	grace:    time.Minute,
	answer:   2500 * time.Millisecond,
}

func (p pace) pause(failures int) time.Duration { return p.pauses[min(failures, len(p.pauses)-1)] }

const (
	openTimeout  = 15 * time.Second // for the address and the handshake
	writeTimeout = 5 * time.Second
	maxFrame     = 4 << 20 // bytes; Slack's largest events are far below
)

// taker handles one frame, and calls ack with the envelope's id once Slack need
// not send it again.
type taker func(frame []byte, ack func(id string))

// connect keeps a socket to Slack open until ctx ends or Slack refuses for
// good. When Slack announces that it will close one, the next is opened first.
func (a *Adapter) connect(ctx context.Context, take taker) error {
	var links sync.WaitGroup
	defer links.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for failures := 0; ; {
		started := time.Now()
		l, err := a.dial(ctx)
		if err == nil {
			links.Go(func() {
				defer l.want(rescue.Err) // unless it has said why another one is wanted
				defer rescue.Panic(a.log, "reading the socket to Slack")
				a.read(ctx, l, take)
			})
			err = l.wait()
		}
		if ctx.Err() != nil {
			return nil
		}
		if fatal := refusal(err, appTokenPlace); fatal != nil {
			return fatal
		}
		if time.Since(started) >= a.pace.settled {
			failures = 0
			if errors.Is(err, errRefresh) {
				continue
			}
		}
		if !a.rest(ctx, failures, err) {
			return nil
		}
		failures++
	}
}

// dial opens one socket.
func (a *Adapter) dial(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	_, address, err := a.api.StartSocketModeContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking for a socket: %w", err)
	}
	d := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: openTimeout}
	ws, resp, err := d.DialContext(ctx, address, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("opening the socket: %w", clean(err))
	}
	return newLink(ws, a.pace), nil
}

// link is one socket. It has a single reader; writes may come from anywhere.
type link struct {
	ws    *websocket.Conn
	pace  pace
	write sync.Mutex

	leave   sync.Once
	leaving chan struct{} // closed when another link is wanted
	why     error         // set before leaving is closed
}

func newLink(ws *websocket.Conn, p pace) *link {
	l := &link{ws: ws, pace: p, leaving: make(chan struct{})}
	ws.SetReadLimit(maxFrame)
	ws.SetPingHandler(func(data string) error {
		l.alive()
		// A pong that cannot be written shows in the next read.
		_ = ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writeTimeout))
		return nil
	})
	l.alive()
	return l
}

// alive gives the other side another while to say something.
func (l *link) alive() { _ = l.ws.SetReadDeadline(time.Now().Add(l.pace.silence)) }

// errRefresh: Slack will close the socket in the course of things.
var errRefresh = errors.New("asked by Slack for a fresh socket")

// wait returns when another link is wanted, and why: errRefresh, or what ended
// this one.
func (l *link) wait() error {
	<-l.leaving
	return l.why
}

func (l *link) want(why error) {
	l.leave.Do(func() {
		l.why = why
		close(l.leaving)
	})
}

// ack tells Slack that an envelope was taken. A failure is not reported: the
// socket is then broken, and Slack sends the envelope again.
func (l *link) ack(id string) {
	l.write.Lock()
	defer l.write.Unlock()
	_ = l.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
	_ = l.ws.WriteJSON(map[string]string{"envelope_id": id})
}

// read passes frames on until the socket ends. The account is connected from
// Slack's greeting on: a socket that is closed in place of one never was.
func (a *Adapter) read(ctx context.Context, l *link, take taker) {
	stop := context.AfterFunc(ctx, l.close)
	defer stop()
	defer l.close()
	greeted := false
	defer func() {
		if greeted {
			a.stand.hung()
		}
	}()
	for {
		kind, frame, err := l.ws.ReadMessage()
		if err != nil {
			l.want(fmt.Errorf("the socket ended: %w", err))
			return
		}
		l.alive()
		if kind != websocket.TextMessage {
			continue
		}
		switch kind, reason := control(frame); kind {
		case "hello":
			if !greeted {
				greeted = true
				a.listening(ctx)
			}
		case "disconnect":
			if !l.part(reason) {
				return
			}
		default:
			take(frame, l.ack)
		}
	}
}

// part handles a disconnect notice. It returns whether to go on reading.
func (l *link) part(reason string) bool {
	switch reason {
	case "warning", "refresh_requested":
		// Events may still come on this socket until Slack closes it.
		time.AfterFunc(l.pace.farewell, func() { _ = l.ws.NetConn().Close() })
		l.want(errRefresh)
		return true
	}
	l.close() // before the next one is opened: an app may have ten
	l.want(&disconnected{reason})
	return false
}

func (l *link) close() {
	_ = l.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	_ = l.ws.Close()
}

// control reads the kind of a frame, and the reason of a disconnect notice.
func control(frame []byte) (kind, reason string) {
	e, err := decode[struct{ Type, Reason string }](frame)
	if err != nil {
		return "", ""
	}
	return e.Type, e.Reason
}
