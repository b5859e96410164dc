package slacktest

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// conn is one socket. Frames are queued, so that no one who holds the server's
// lock ever waits for a reader.
type conn struct {
	ws    *websocket.Conn
	mu    sync.Mutex
	queue [][]byte // nil closes
	wake  chan struct{}
}

func (c *conn) put(frame []byte) {
	c.mu.Lock()
	c.queue = append(c.queue, frame)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *conn) close() { _ = c.ws.NetConn().Close() }

// serveSocket runs one socket until either side ends it.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	ticket := r.URL.Query().Get("ticket")
	valid := s.tickets[ticket]
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if !valid {
		http.Error(w, "no such ticket", http.StatusForbidden)
		return
	}
	// Clients send Slack's own origin, which is not this host.
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &conn{ws: ws, wake: make(chan struct{}, 1)}
	s.attach(c)
	gone := make(chan struct{})
	s.wg.Go(func() { s.write(c, gone) })
	s.read(c)
	close(gone)
	c.close()
	s.detach(c)
}

// attach greets a connection and gives it what still waits for one.
func (s *Server) attach(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	s.opened++
	switch {
	case s.refuse != "":
		c.put(goodbye(s.refuse))
		c.put(nil)
		return
	case len(s.conns) >= maxConns:
		c.put(goodbye("too_many_websockets"))
		c.put(nil)
		return
	case s.closed:
		c.put(nil)
		return
	}
	s.conns = append(s.conns, c)
	hello, _ := json.Marshal(map[string]any{
		"type": "hello", "num_connections": len(s.conns), "connection_info": map[string]any{"app_id": App},
		"debug_info": map[string]any{"host": "slacktest", "approximate_connection_time": 3600},
	})
	c.put(hello)
	for _, e := range s.envelopes {
		if e.attempts > 0 && e.conn == nil && !e.http {
			s.deliver(e, "timeout")
		}
	}
}

// detach forgets a connection and passes its unacknowledged envelopes on.
func (s *Server) detach(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	s.conns = slices.DeleteFunc(s.conns, func(o *conn) bool { return o == c })
	for _, e := range s.envelopes {
		if e.conn == c && len(e.acked) == 0 {
			e.stop()
			e.conn = nil
			s.deliver(e, "timeout")
		}
	}
}

// write sends queued frames and pings.
func (s *Server) write(c *conn, gone <-chan struct{}) {
	ping := time.NewTicker(s.cfg.PingEvery)
	defer ping.Stop()
	for {
		select {
		case <-gone:
			return
		case <-ping.C:
			s.mu.Lock()
			mute := s.mute
			s.mu.Unlock()
			if !mute {
				_ = c.ws.WriteControl(websocket.PingMessage, []byte("ping"), time.Now().Add(time.Second))
			}
		case <-c.wake:
			c.mu.Lock()
			frames := c.queue
			c.queue = nil
			c.mu.Unlock()
			for _, f := range frames {
				if f == nil {
					_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
					c.close()
					return
				}
				if c.ws.WriteMessage(websocket.TextMessage, f) != nil {
					return
				}
			}
		}
	}
}

// read takes acknowledgements until the socket ends.
func (s *Server) read(c *conn) {
	for {
		_, frame, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		var ack struct {
			ID      string          `json:"envelope_id"`
			Payload json.RawMessage `json:"payload"`
		}
		if json.Unmarshal(frame, &ack) == nil && ack.ID != "" {
			s.ack(c, ack.ID, ack.Payload)
		}
	}
}
