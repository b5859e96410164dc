package discord

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
)

// intents are what the bot needs to hear: guilds and their threads, messages
// there and in private, and what they say.
const intents = discordgo.IntentGuilds | discordgo.IntentGuildMessages |
	discordgo.IntentDirectMessages | discordgo.IntentMessageContent

// connect keeps the account connected until the context ends or Discord refuses
// it for good. discordgo opens and reads the connection; when to open it, when
// to give it up and how long to wait is decided here, since left alone it
// connects again for ever, whatever the reason was.
func (r *run) connect(ctx context.Context) error {
	var l *link
	for failures := 0; ; {
		if l == nil {
			l = r.newLink(ctx)
		}
		started := time.Now()
		err := l.open(ctx, r.pace.open)
		if err == nil {
			r.ready.Store(true)
			err = l.stay(ctx, r.pace)
		}
		r.ready.Store(false)
		if ctx.Err() != nil {
			l.close()
			return nil
		}
		if f := fatal(err); f != nil {
			l.abandon()
			return f
		}
		if time.Since(started) > r.pace.healthy {
			failures = 0
		}
		wait := r.pace.retry[min(failures, len(r.pace.retry)-1)]
		failures++
		wait += rand.N(wait/4 + 1)
		r.log.Warn("the connection to Discord ended; connecting again", "error", err, "wait", wait)
		if errors.Is(err, errStuck) || failures > 3 {
			l.abandon()
			l = nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			if l != nil {
				l.abandon()
			}
			return nil
		}
	}
}

var (
	errStuck = errors.New("the connection does not get anywhere")
	errEnded = errors.New("the connection was closed")
)

// link is one discordgo session: a connection, and after its end the knowledge
// to resume it.
type link struct {
	session *discordgo.Session
	down    chan struct{} // the connection ended
	up      chan struct{} // Discord greeted it, as new or as resumed

	left atomic.Bool // another one has taken its place

	mu   sync.Mutex
	conn net.Conn
}

func (r *run) newLink(ctx context.Context) *link {
	l := &link{down: make(chan struct{}, 1), up: make(chan struct{}, 1)}
	s, _ := discordgo.New("Bot " + r.config.Token.Reveal()) // it has no way to fail
	s.ShouldReconnectOnError = false
	s.SyncEvents = true    // order is kept only so
	s.StateEnabled = false // places keeps what is needed
	s.Compress = false
	s.LogLevel = quiet
	s.Identify.Intents = intents
	s.Client = &http.Client{Timeout: requestTimeout, Transport: gatewayLookup{r.rest, r.config.GatewayURL}}
	s.Dialer = &websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: r.pace.open,
		NetDialContext: func(_ context.Context, network, address string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, address)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.conn = conn
			return conn, err
		}}
	// The raw event is all that is listened to: discordgo empties events that
	// hold something it does not know.
	s.AddHandler(func(_ *discordgo.Session, e *discordgo.Event) {
		if l.left.Load() {
			return
		}
		switch e.Type {
		case "READY", "RESUMED":
			signal(l.up)
		}
		r.event(e.Type, e.RawData)
	})
	s.AddHandler(func(*discordgo.Session, *discordgo.Disconnect) { signal(l.down) })
	l.session = s
	return l
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// open connects and waits for Discord's greeting. It returns although discordgo
// may not: a request to reconnect in place of the greeting deadlocks it.
func (l *link) open(ctx context.Context, limit time.Duration) error {
	drain(l.down)
	drain(l.up)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- l.session.Open() }()
	select {
	case err := <-done:
		if errors.Is(err, discordgo.ErrWSAlreadyOpen) {
			return nil // the end that was reported was that of an older connection
		}
		if err != nil {
			return fmt.Errorf("connect to Discord: %w", withoutURL(err))
		}
	case <-ctx.Done():
		l.cut()
		return errStuck
	}
	select {
	case <-l.up:
		return nil
	case <-l.down:
		return errEnded
	case <-ctx.Done():
		return errStuck
	}
}

// stay returns when the connection ended or is dead.
func (l *link) stay(ctx context.Context, p pacing) error {
	ticker := time.NewTicker(p.look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.down:
			return errEnded
		case <-ticker.C:
			if l.silent() > p.silence {
				l.cut() // discordgo notices by itself and keeps what it needs to resume
				select {
				case <-l.down:
					return errEnded
				case <-time.After(p.open):
					return errStuck
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
	}
}

// silent is how long Discord has not acknowledged a heartbeat.
func (l *link) silent() time.Duration {
	if !l.session.TryRLock() {
		return 0 // it is being closed or opened
	}
	defer l.session.RUnlock()
	return time.Since(l.session.LastHeartbeatAck)
}

// cut ends the connection without a word. Whatever waits for it goes on.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close() // it may be closed already
	}
}

// abandon gives the session up, whatever it may still be doing.
func (l *link) abandon() {
	l.left.Store(true)
	l.cut()
}

// closeLimit bounds the polite end of a connection; discordgo takes a second.
const closeLimit = 3 * time.Second

// close says goodbye, so that Discord shows the bot as offline at once.
func (l *link) close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.session.Close() // it never fails
	}()
	select {
	case <-done:
	case <-time.After(closeLimit):
	}
	l.cut()
}
