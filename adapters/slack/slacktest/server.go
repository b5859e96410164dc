// Package slacktest is a Slack that runs on loopback: the Web API under /api/,
// Socket Mode, signed HTTP requests ([Server.Subscribe]), response URLs, files,
// and a small world of people, channels, threads and messages behind them. It needs no testing.T, so that a program can host
// it as well as a test can.
//
// It behaves rather than expects. What a person does goes in through [Server.Say]
// and its neighbours and comes out as the envelopes that Slack would send; what
// the bot does is checked against Slack's limits, answered with Slack's own
// error codes, changes the world, and is echoed back as events. Promises:
//
//   - Each envelope goes to exactly one connection. One that is not acknowledged
//     in time, or whose connection dies first, is sent again, at most three
//     times, with its retry fields set. With no connection at all an event is
//     lost, as on Slack; [Server.Missed] counts those.
//   - Timestamps are unique and rise, over all channels.
//   - Every request is in [Server.Calls], in the order of arrival, with its
//     decoded body; tokens are left out.
//   - A fault set with [Server.Fail] is used up by one request.
//
// Methods are safe for concurrent use. Time limits are real time, which
// [Server.Advance] moves ahead for all but the three seconds of an
// acknowledgement.
package slacktest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The people and places that every server knows from the start.
const (
	Team      = "T0TEAM"
	App       = "A0APP"
	BotUser   = "U0BOT"
	BotID     = "B0BOT"
	User      = "U0USER"  // Ann
	OtherUser = "U0OTHER" // Ben
	OtherBot  = "U0ALERT" // a bot of somebody else, posting as B0ALERT
	Channel   = "C0CHAN"
	Channel2  = "C0TWO"
	DM        = "D0DM" // Ann and the bot
	Group     = "G0GROUP"

	BotToken = "xoxb-fake-bot-token"
	AppToken = "xapp-fake-app-token"

	SigningSecret = "fake-signing-secret"
)

// Config changes how a server behaves. The zero value is a well-behaved Slack.
type Config struct {
	// BotToken and AppToken are the tokens that are accepted.
	BotToken, AppToken string
	// BotUser and BotID are who the bot is there; the constants if empty.
	BotUser, BotID string
	// SigningSecret signs what is sent over HTTP.
	SigningSecret string
	// RetryAfter are the times after which an event is sent again over HTTP: at
	// once, after one minute and after five, if nil.
	RetryAfter []time.Duration
	// Organisation is the id of an Enterprise Grid that the workspace is part
	// of. OrgWide: the app was installed in all of it.
	Organisation string
	OrgWide      bool
	// Scopes of the bot token; nil means all that an app for conversations needs.
	Scopes []string
	// PingEvery is the time between two WebSocket pings, 5 s if zero.
	PingEvery time.Duration
	// AckWithin is how long an envelope waits for its acknowledgement, 3 s if
	// zero.
	AckWithin time.Duration
	// PostsPerSecond limits chat.postMessage in one channel, with a burst of
	// one second; zero means no limit.
	PostsPerSecond float64
}

// Server is one fake workspace.
type Server struct {
	cfg Config

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced whenever anything changes
	closed   bool
	calls    []Call
	faults   map[string][]Fault
	users    map[string]*Person
	places   map[string]*place
	statuses map[statusKey]status
	limits   map[string]time.Time // until when the rate is used up
	lastTS   int64
	serial   int
	ahead    time.Duration // of the real clock

	streams map[messageKey]*stream
	uploads map[string]*upload
	views   map[string]*view

	reactions map[reactionKey]bool // of the bot

	conns     []*conn
	tickets   map[string]bool
	next      int // whose turn it is among conns
	envelopes []*envelope
	missed    int
	deaf      int    // acknowledgements that are still to be lost
	refuse    string // reason of the disconnect that greets new connections
	mute      bool   // no pings
	opened    int

	hooks     map[string]*hook
	responses []Response
	hosted    map[string]HostedFile
	revoked   string // why the tokens are good for nothing

	endpoints *Endpoints // nil: everything goes through sockets
	client    *http.Client

	listener net.Listener
	http     *http.Server
	done     chan struct{}
	wg       sync.WaitGroup
}

// New makes a server; [Server.Start] or [Server.Listen] makes it reachable.
func New(cfg Config) *Server {
	if cfg.BotToken == "" {
		cfg.BotToken = BotToken
	}
	if cfg.AppToken == "" {
		cfg.AppToken = AppToken
	}
	cfg.BotUser, cfg.BotID = either(cfg.BotUser, BotUser), either(cfg.BotID, BotID)
	if cfg.SigningSecret == "" {
		cfg.SigningSecret = SigningSecret
	}
	if cfg.RetryAfter == nil {
		cfg.RetryAfter = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
	if cfg.Scopes == nil {
		cfg.Scopes = allScopes()
	}
	if cfg.PingEvery == 0 {
		cfg.PingEvery = 5 * time.Second
	}
	if cfg.AckWithin == 0 {
		cfg.AckWithin = 3 * time.Second
	}
	s := &Server{
		cfg:       cfg,
		changed:   make(chan struct{}),
		faults:    map[string][]Fault{},
		users:     map[string]*Person{},
		places:    map[string]*place{},
		statuses:  map[statusKey]status{},
		limits:    map[string]time.Time{},
		tickets:   map[string]bool{},
		hooks:     map[string]*hook{},
		hosted:    map[string]HostedFile{},
		client:    &http.Client{Transport: &http.Transport{}},
		streams:   map[messageKey]*stream{},
		uploads:   map[string]*upload{},
		reactions: map[reactionKey]bool{},
		views:     map[string]*view{},
		done:      make(chan struct{}),
	}
	s.settle()
	return s
}

// settle makes the people and places that every server knows.
func (s *Server) settle() {
	s.AddPerson(Person{ID: s.cfg.BotUser, Name: "understudy", Bot: true, BotID: s.cfg.BotID})
	s.AddPerson(Person{ID: User, Name: "Ann"})
	s.AddPerson(Person{ID: OtherUser, Name: "Ben"})
	s.AddPerson(Person{ID: OtherBot, Name: "alerts", Bot: true, BotID: "B0ALERT"})
	s.AddPlace(Channel, "channel", "general")
	s.AddPlace(Channel2, "channel", "random")
	s.AddPlace(DM, "im", "")
	s.AddPlace(Group, "mpim", "mpdm-ann--ben--understudy-1")
}

// Start listens on a free port of the loopback interface.
func (s *Server) Start() error { return s.Listen("127.0.0.1:0") }

// Listen serves on addr until Close.
func (s *Server) Listen(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("slacktest: cannot listen on %s: %w", addr, err)
	}
	s.listener = l
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.wg.Go(func() { _ = s.http.Serve(l) })
	return nil
}

// URL is the base address, without a slash at its end.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// APIURL is what a client takes as the address of the Web API.
func (s *Server) APIURL() string { return s.URL() + "/api/" }

// Close cuts every connection and waits for what was started.
func (s *Server) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	close(s.done)
	for _, e := range s.envelopes {
		e.stop()
	}
	for _, c := range s.conns {
		c.close()
	}
	s.mu.Unlock()
	if s.http != nil {
		_ = s.http.Close()
	}
	s.wg.Wait()
	s.client.CloseIdleConnections()
}

// ServeHTTP routes to the Web API, the sockets and the response URLs.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	s.wg.Add(1) // hijacked connections are no longer the http.Server's
	s.mu.Unlock()
	defer s.wg.Done()
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/"):
		s.serveAPI(w, r)
	case r.URL.Path == "/link":
		s.serveSocket(w, r)
	case strings.HasPrefix(r.URL.Path, "/response/"):
		s.serveResponse(w, r)
	case strings.HasPrefix(r.URL.Path, "/files-pri/"):
		s.serveFile(w, r)
	case strings.HasPrefix(r.URL.Path, "/upload/"):
		s.serveUpload(w, r)
	default:
		http.NotFound(w, r)
	}
}

// touch wakes everybody in Wait. The lock is held.
func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Wait returns once ok does, asking again after every change; what names the
// condition for the error that ends the wait with ctx.
func (s *Server) Wait(ctx context.Context, what string, ok func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return nil
		}
		select {
		case <-changed:
		case <-s.done:
			return errors.New("slacktest: closed while waiting for " + what)
		case <-ctx.Done():
			return fmt.Errorf("slacktest: waited in vain for %s: %w", what, ctx.Err())
		}
	}
}

// id makes an identifier that no other call returns. The lock is held.
func (s *Server) id(prefix string) string {
	s.serial++
	return fmt.Sprintf("%s%08d", prefix, s.serial)
}

// stamp makes the next timestamp. The lock is held.
func (s *Server) stamp() string {
	now := time.Now().UnixMicro()
	if now <= s.lastTS {
		now = s.lastTS + 1
	}
	s.lastTS = now
	return fmt.Sprintf("%d.%06d", now/1e6, now%1e6)
}
