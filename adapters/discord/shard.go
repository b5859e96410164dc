package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"understudy/core/rescue"
)

const (
	writeLimit     = 10 * time.Second // for one frame
	farewellLimit  = 200 * time.Millisecond
	maxFrame       = 32 << 20 // a guild with all its channels and threads
	usualBeat      = 41250 * time.Millisecond
	slowestBeat    = 10 * time.Minute
	quickestBeat   = 10 * time.Millisecond
	resumeTries    = 3 // resumes that came to nothing, until a new session is begun
	closeBadToken  = 4004
	closeUnknown   = 4007
	closeTimedOut  = 4009
	closeSharding  = 4011
	gatewayVersion = "10"
)

// Why a connection ended, when Discord did not simply close it.
var (
	errAsked       = errors.New("a request of Discord to connect again")
	errInvalidated = errors.New("the session was ended by Discord")
	errSilent      = errors.New("a heartbeat was not acknowledged by Discord")
)

// shard is one connection of the account, and after its end the knowledge to
// resume it.
type shard struct {
	*run
	id, count int

	session string       // empty: there is nothing to resume
	resume  string       // where
	seq     atomic.Int64 // of the newest event
	vain    int          // resumes that came to nothing, one after another
	lost    int          // dials of the resume address that came to nothing
}

// keep keeps the shard connected until the context ends, which is no error, or
// Discord refuses it.
func (s *shard) keep(ctx context.Context) error {
	for failures := 0; ; failures++ {
		began := time.Now()
		s.stand.trying(s.id)
		err := s.connection(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if closedWith(err, closeSharding) {
			return fmt.Errorf("%w: %w", errReshard, err)
		}
		if f := fatal(err); f != nil {
			return f
		}
		if time.Since(began) > s.pace.healthy {
			failures = 0
		}
		wait := s.pace.before(failures)
		if errors.Is(err, errInvalidated) && s.session == "" {
			wait = max(wait, s.pace.invalid+rand.N(4*s.pace.invalid+1))
		}
		if !s.pause(ctx, s.id, wait, err) {
			return nil
		}
	}
}

// connection connects, as new or as a resumption, and stays until the end.
func (s *shard) connection(ctx context.Context) error {
	address, done, err := s.permission(ctx)
	if err != nil {
		return err
	}
	defer done(false)
	conn, err := s.open(ctx, address)
	if err != nil {
		return err
	}
	here, cancel := context.WithCancelCause(ctx)
	l := &link{shard: s, done: done, conn: conn, ctx: here, cancel: cancel, send: writer(conn)}
	l.acked.Store(true)
	l.work.Go(func() {
		defer rescue.Panic(s.log, "hanging up on Discord")
		<-here.Done()
		hangUp(conn, ctx.Err() != nil)
	})
	err = l.read()
	if cause := context.Cause(here); cause != nil {
		err = cause
	}
	cancel(nil)
	l.work.Wait()
	s.judge(l)
	if closedWith(err, closeUnknown, closeTimedOut) {
		s.forget()
	}
	return err
}

// permission is where to connect to. A new session has to wait for its turn,
// which ends with done; a resumption does not.
func (s *shard) permission(ctx context.Context) (address string, done func(sent bool), err error) {
	if s.session == "" {
		return s.starts.enter(ctx, s.id)
	}
	if address = s.resume; address == "" || s.config.GatewayURL != "" {
		address, err = s.starts.address(ctx)
	}
	return address, func(bool) {}, err
}

func (s *shard) open(ctx context.Context, address string) (*websocket.Conn, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("connect to Discord: the address of the gateway cannot be read: %w", withoutURL(err))
	}
	u.RawQuery = url.Values{"v": {gatewayVersion}, "encoding": {"json"}}.Encode()
	if u.Path == "" {
		u.Path = "/"
	}
	ctx, cancel := context.WithTimeout(ctx, s.pace.open)
	defer cancel()
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: s.pace.open, NetDialContext: s.dial}
	conn, response, err := dialer.DialContext(ctx, u.String(), nil)
	if response != nil && response.Body != nil {
		_ = response.Body.Close() // what it holds explains nothing
	}
	if err != nil {
		if s.lost++; s.lost >= resumeTries {
			s.resume = "" // another address may still know the session
		}
		return nil, fmt.Errorf("connect to Discord: %w", withoutURL(err))
	}
	s.lost = 0
	conn.SetReadLimit(maxFrame)
	// Answered in kind, a close might be taken for our goodbye, which ends the
	// session.
	conn.SetCloseHandler(func(int, string) error { return nil })
	return conn, nil
}

// judge gives the session up when resuming it came to nothing too often.
func (s *shard) judge(l *link) {
	switch {
	case l.greeted.Load():
		s.vain = 0
	case l.resumed:
		if s.vain++; s.vain >= resumeTries {
			s.forget()
		}
	}
}

func (s *shard) forget() {
	s.session, s.resume, s.vain = "", "", 0
	s.seq.Store(0)
}

// link is one connection of a shard while it lasts.
type link struct {
	*shard
	done    func(sent bool)
	conn    *websocket.Conn
	ctx     context.Context
	cancel  context.CancelCauseFunc
	send    func(op int, d any) error
	work    sync.WaitGroup
	beating bool
	resumed bool        // tried to be
	greeted atomic.Bool // as new or as resumed
	idle    atomic.Bool // everything that has arrived was taken
	acked   atomic.Bool // the last heartbeat
}

// writer sends frames one at a time.
func writer(conn *websocket.Conn) func(int, any) error {
	var mu sync.Mutex
	return func(op int, d any) error {
		mu.Lock()
		defer mu.Unlock()
		_ = conn.SetWriteDeadline(time.Now().Add(writeLimit)) // it has no way to fail
		if err := conn.WriteJSON(object{"op": op, "d": d}); err != nil {
			return fmt.Errorf("write to Discord: %w", err)
		}
		return nil
	}
}

// hangUp ends a connection. With a goodbye Discord shows the bot as offline at
// once; without, the session can be resumed.
func hangUp(conn *websocket.Conn, goodbye bool) {
	if goodbye {
		bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(farewellLimit)) // it ends anyway
	}
	_ = conn.Close() // it may be closed already
}

// read takes what Discord sends until the connection ends.
func (l *link) read() (err error) {
	defer rescue.Error(&err, l.log, "the connection to Discord")
	for {
		if !l.greeted.Load() {
			_ = l.conn.SetReadDeadline(time.Now().Add(l.pace.open)) // it has no way to fail
		}
		l.idle.Store(true)
		_, raw, err := l.conn.ReadMessage()
		l.idle.Store(false)
		if err != nil {
			return fmt.Errorf("the connection to Discord ended: %w", err)
		}
		if err := l.take(raw); err != nil {
			return err
		}
		if l.greeted.Load() {
			_ = l.conn.SetReadDeadline(time.Time{}) // heartbeats watch over it now
		}
	}
}

// take does what one frame asks for. An error ends the connection; what cannot
// be understood is passed over.
func (l *link) take(raw []byte) error {
	var f frame
	if err := json.Unmarshal(raw, &f); err != nil {
		l.log.Debug("a frame of Discord cannot be read", "error", err)
		return nil
	}
	switch f.Op {
	case opDispatch:
		l.dispatch(f)
	case opHeartbeat:
		return l.beat()
	case opReconnect:
		return errAsked
	case opInvalid:
		if string(f.D) != "true" {
			l.forget()
		}
		return errInvalidated
	case opHello:
		return l.hello(f.D)
	case opAck:
		l.acked.Store(true)
	}
	return nil
}

func (l *link) dispatch(f frame) {
	l.seq.Store(max(l.seq.Load(), int64(f.S)))
	if f.T == "READY" {
		var w welcome
		_ = json.Unmarshal(f.D, &w) // a session without an id cannot be resumed, nothing else
		l.session, l.resume = string(w.Session), string(w.Resume)
		l.seq.Store(max(int64(f.S), 0))
	}
	if f.T != "" {
		l.event(string(f.T), f.D)
	}
	if f.T == "READY" || f.T == "RESUMED" {
		l.greeted.Store(true)
		l.stand.up(l.id)
	}
}

// hello answers Discord's first frame: it says who is there, and begins to send
// heartbeats.
func (l *link) hello(raw json.RawMessage) error {
	var d struct {
		Interval whole `json:"heartbeat_interval"`
	}
	_ = json.Unmarshal(raw, &d) // what is missing is as usual
	every := time.Duration(d.Interval) * time.Millisecond
	if every < quickestBeat || every > slowestBeat {
		every = usualBeat
	}
	if !l.beating {
		l.beating = true
		l.work.Go(func() {
			defer rescue.Panic(l.log, "the heartbeats to Discord") // which hangs up without them
			l.heartbeats(every)
		})
	}
	token := l.config.Token.Reveal()
	if l.session != "" {
		l.resumed = true
		return l.send(opResume, object{"token": token, "session_id": l.session, "seq": l.seq.Load()})
	}
	defer l.done(true)
	return l.send(opIdentify, object{"token": token, "intents": intents, "shard": [2]int{l.id, l.count},
		"properties": object{"os": runtime.GOOS, "browser": "understudy", "device": "understudy"}})
}

// heartbeats are sent until the connection ends. One that is not acknowledged
// before the next ends it, unless what has arrived was not looked at yet.
func (l *link) heartbeats(every time.Duration) {
	next := time.NewTimer(rand.N(every))
	defer next.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-next.C:
		}
		if !l.acked.Load() && l.idle.Load() {
			l.cancel(errSilent)
			return
		}
		l.acked.Store(false)
		if err := l.beat(); err != nil {
			l.cancel(err)
			return
		}
		next.Reset(every)
	}
}

func (l *link) beat() error {
	if seq := l.seq.Load(); seq > 0 {
		return l.send(opHeartbeat, seq)
	}
	return l.send(opHeartbeat, nil)
}

// closedWith reports whether Discord closed the connection with one of the
// codes.
func closedWith(err error, codes ...int) bool {
	var closed *websocket.CloseError
	return errors.As(err, &closed) && websocket.IsCloseError(closed, codes...)
}
