// Package discordtest is a Discord that runs on loopback: the REST interface
// (v9 and v10, under /api) and the gateway, as far as a chat bot meets them.
//
// It behaves and does not expect: messages exist once they were posted, threads
// made from a message have that message's id, a nonce is enforced, what the
// platform would refuse is refused with the platform's own error, and events
// missed by a connection are replayed to a resumed one. A test looks at what is
// there afterwards ([Server.Posts], [Server.Answer]) or at the ordered log of
// requests ([Server.Requests]).
//
// Faults are scripted: [Server.Inject] spoils the answer to a coming request,
// [Server.Hold] performs it and keeps its answer back, and the methods in
// gateway.go break connections in every way the real ones break.
//
// Nothing here needs a *testing.T, so that a process of its own can host a
// Server. All methods are safe for concurrent use.
package discordtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The bot account of every server.
const (
	BotID         = "800"
	ApplicationID = "801"
	BotRole       = "802" // the role that Discord makes for a bot
	DefaultToken  = "token-of-the-fake-bot"
)

// Options are the settings of a [Server]; the zero value is fine.
type Options struct {
	Addr string // where to listen; "127.0.0.1:0" if empty
	// Listener listens in place of Addr. One in memory lets a test run in a
	// bubble of testing/synctest, in which no time is lost and none is short.
	Listener net.Listener
	Token    string // the only accepted bot token; [DefaultToken] if empty
	// Inert refuses every text that does not switch all mentions off, which the
	// platform itself would take.
	Inert bool
	// RespondWithin is how long the first response to an interaction is waited
	// for; the platform's three seconds if zero.
	RespondWithin time.Duration
}

// Server is a fake Discord with one bot account, one guild "900" with the text
// channels "100" and "110", and the people "700" (ann) and "701" (bob).
type Server struct {
	// URL is the base of the REST interface, such as http://127.0.0.1:4711/api.
	URL string

	token   string
	gateway string
	http    *http.Server
	done    sync.WaitGroup

	mu           sync.Mutex
	changed      chan struct{} // closed and replaced whenever something happened
	closed       bool
	lastID       int64
	guilds       []string
	users        map[string]*User
	channels     map[string]*Channel
	messages     map[string][]*Message // by channel, oldest first
	stored       map[string]File       // files by id
	boosts       map[string]int        // by guild
	inert        bool
	patience     time.Duration // for first responses
	nonces       map[string]*Message
	requests     []*Request
	faults       []*fault
	held         []*Held
	rate         rate
	interactions map[string]*interaction
	commands     map[string][]json.RawMessage // by guild; "" are those for all
	creates      map[string]int               // of commands, today, by guild
	application  application
	starts       starts
	beats, late  int
	sessions     map[string]*session
	open         map[*socket]bool
	conduct      conduct
	identifies   []Identify
	connections  atomic.Int64 // so far
}

// Start makes a server and listens.
func Start(o Options) (*Server, error) {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Token == "" {
		o.Token = DefaultToken
	}
	listener, err := o.Listener, error(nil)
	if listener == nil {
		listener, err = net.Listen("tcp", o.Addr)
	}
	if err != nil {
		return nil, fmt.Errorf("fake Discord: %w", err)
	}
	s := &Server{
		URL:          "http://" + listener.Addr().String() + "/api",
		gateway:      "ws://" + listener.Addr().String() + "/gateway",
		token:        o.Token,
		changed:      make(chan struct{}),
		users:        map[string]*User{},
		channels:     map[string]*Channel{},
		messages:     map[string][]*Message{},
		stored:       map[string]File{},
		boosts:       map[string]int{},
		inert:        o.Inert,
		patience:     cmp.Or(o.RespondWithin, respondWithin),
		nonces:       map[string]*Message{},
		rate:         rate{windows: map[string]*window{}},
		interactions: map[string]*interaction{},
		commands:     map[string][]json.RawMessage{},
		creates:      map[string]int{},
		sessions:     map[string]*session{},
		open:         map[*socket]bool{},
	}
	s.populate()
	mux := http.NewServeMux()
	mux.HandleFunc("/gateway", s.serveGateway)
	mux.HandleFunc("/gateway/", s.serveGateway)
	mux.HandleFunc("GET /attachments/{channel}/{id}/{name}", s.serveFile)
	mux.Handle("/api/", s.api())
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	s.done.Go(func() { _ = s.http.Serve(listener) })
	return s, nil
}

// Close ends all connections and waits until everything has stopped.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for _, h := range s.held {
		h.Drop()
	}
	sockets := s.sockets()
	s.happened()
	s.mu.Unlock()
	for _, c := range sockets {
		c.drop()
	}
	_ = s.http.Close()
	s.done.Wait()
}

// Await returns once ok reports true; it is asked again after everything that
// happens at the server. The error is the context's.
func (s *Server) Await(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// happened wakes everybody who waits in Await. The lock is held.
func (s *Server) happened() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// discordEpoch is the first millisecond of Discord's ids.
const discordEpoch = 1420070400000

// newID makes a snowflake that is larger than all before it. The lock is held.
func (s *Server) newID() string {
	id := (time.Now().UnixMilli() - discordEpoch) << 22
	if id <= s.lastID {
		id = s.lastID + 1
	}
	s.lastID = id
	return strconv.FormatInt(id, 10)
}
