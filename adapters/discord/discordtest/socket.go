package discordtest

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// socket is one gateway connection. Sending never blocks: frames wait in a
// queue for the writer.
type socket struct {
	ws     *websocket.Conn
	number int
	path   string
	wake   chan struct{}
	gone   chan struct{}
	once   sync.Once

	interval time.Duration // of heartbeats
	known    bool          // identified or resumed
	sends    []time.Time   // of the last minute

	mu     sync.Mutex
	queue  []outgoing
	closed bool // by the server
}

type outgoing struct {
	data  []byte
	close int // a close code instead of data
}

func (c *socket) push(o outgoing) {
	c.mu.Lock()
	c.queue = append(c.queue, o)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *socket) send(op int, d any) {
	raw, _ := json.Marshal(object{"op": op, "d": d})
	c.push(outgoing{data: raw})
}

func (c *socket) dispatch(e event) {
	raw, _ := json.Marshal(frame{Op: opDispatch, D: e.data, S: &e.seq, T: e.name})
	c.push(outgoing{data: raw})
}

// tooMany counts a frame of the bot and reports whether it sent more of them
// than it may in a minute. Only the reader calls it.
func (c *socket) tooMany() bool {
	now := time.Now()
	c.sends = slices.DeleteFunc(append(c.sends, now), func(t time.Time) bool { return now.Sub(t) > time.Minute })
	return len(c.sends) > maxSends
}

// close ends the connection politely, after what is queued already.
func (c *socket) close(code int) {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.push(outgoing{close: code})
}

// ending reports whether the server closes the connection, so that a close of
// the bot is an answer to that.
func (c *socket) ending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// drop ends the connection at once.
func (c *socket) drop() {
	c.once.Do(func() {
		close(c.gone)
		_ = c.ws.NetConn().Close()
	})
}

// write sends what is queued until the connection is gone.
func (c *socket) write() {
	for {
		select {
		case <-c.wake:
		case <-c.gone:
			return
		}
		c.mu.Lock()
		queue := c.queue
		c.queue = nil
		c.mu.Unlock()
		for _, o := range queue {
			if o.close != 0 {
				_ = c.ws.WriteControl(websocket.CloseMessage,
					websocket.FormatCloseMessage(o.close, ""), time.Now().Add(time.Second))
				return
			}
			if c.ws.WriteMessage(websocket.TextMessage, o.data) != nil {
				return
			}
		}
	}
}
