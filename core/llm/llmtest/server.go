package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// logLimit is how many requests the log keeps; older ones are only counted.
const logLimit = 10_000

// Server is a scripted provider. It is safe for concurrent use.
type Server struct {
	// URL is the address without a path; "" until it listens. Chat Completions
	// are at URL/v1/chat/completions, Messages at URL/v1/messages.
	URL string

	http     *http.Server
	mu       sync.Mutex
	queues   map[queueKey]*queue
	gates    map[string]chan struct{}
	recite   func(context.Context, Asked) Response
	log      []Request
	asked    int // requests since the start
	gone     int // requests whose client left before the answer ended
	conns    int // connections since the start
	changed  chan struct{}
	open     context.Context // until Close, for requests without a socket
	shut     context.CancelFunc
	inMemory sync.WaitGroup
	models   []string // that are listed; nil is no list
	listings []string // with which credentials they were listed
}

// Request is one entry of the log.
type Request struct {
	Time   time.Time
	Wire   string // the dialect's name
	Path   string
	Model  string
	Key    string // the credential it came with
	Header http.Header
	Body   []byte
}

// Asked takes the request apart.
func (r Request) Asked() (Asked, error) {
	for _, d := range dialects {
		if d.Name() == r.Wire {
			return d.Read(r.Body)
		}
	}
	return Asked{}, fmt.Errorf("no dialect %q", r.Wire)
}

type queueKey struct{ model, key string }

// queue holds what comes next; the last response repeats until another is
// queued behind it.
type queue struct {
	next []Response
	used bool // the last one was given at least once
}

func (q *queue) add(more []Response) {
	if len(q.next) == 1 && q.used {
		q.next = nil
	}
	q.next, q.used = append(q.next, more...), false
}

func (q *queue) take() Response {
	r := q.next[0]
	if len(q.next) > 1 {
		q.next = q.next[1:]
	} else {
		q.used = true
	}
	return r
}

// NewMemory makes a Server that does not listen: use it as a RoundTripper or
// as a handler. Its URL is a name that nobody resolves.
func NewMemory() *Server {
	open, shut := context.WithCancel(context.Background())
	return &Server{
		URL:     "http://provider.test",
		queues:  map[queueKey]*queue{},
		gates:   map[string]chan struct{}{},
		changed: make(chan struct{}),
		open:    open,
		shut:    shut,
	}
}

// NewServer makes a Server that listens on a loopback port. Close stops it.
func NewServer() *Server {
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("llmtest: %v", err)) // no loopback, no test
	}
	return s
}

// Listen makes a Server that listens on an address of the caller's choice.
func Listen(addr string) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for the scripted provider: %w", err)
	}
	s := NewMemory()
	s.URL = "http://" + l.Addr().String()
	s.http = &http.Server{
		Handler: s,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.note(func() { s.conns++ })
			}
		},
	}
	go s.http.Serve(l) //nolint:errcheck // it ends with Close
	return s, nil
}

// Close ends everything that still runs.
func (s *Server) Close() {
	s.shut()
	if s.http != nil {
		_ = s.http.Close()
	}
	s.inMemory.Wait()
}

// Queue appends answers for a model. They are given in order; the last one
// repeats until more are queued. A model without a queue takes the answers of
// model "", else a short text.
func (s *Server) Queue(model string, answers ...Response) { s.QueueFor(model, "", answers...) }

// QueueFor is Queue for requests with that credential alone; such a queue goes
// before the model's own.
func (s *Server) QueueFor(model, key string, answers ...Response) {
	if len(answers) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := queueKey{model, key}
	if s.queues[k] == nil {
		s.queues[k] = &queue{}
	}
	s.queues[k].add(answers)
}

// Offer makes the server list these models. Without it there is no list, as with
// many servers. Asking for it is no request that is counted or logged.
func (s *Server) Offer(models ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = append([]string{}, models...)
}

// Listings are the credentials that the list of models was asked for with.
func (s *Server) Listings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.listings...)
}

// list answers with the models in the form that all dialects share.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.listings = append(s.listings, credential(r.Header))
	models := s.models
	s.mu.Unlock()
	if models == nil {
		http.NotFound(w, r)
		return
	}
	data := []object{}
	for _, m := range models {
		data = append(data, object{"id": m, "object": "model", "type": "model", "display_name": m, "created": 1, "created_at": "2026-01-01T00:00:00Z"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"object": "list", "data": data, "has_more": false}) // who left is told by nobody here
}

// Recite makes answers up: f gives them for requests for which nothing is
// queued. Its context ends when the client leaves; f may wait.
func (s *Server) Recite(f func(context.Context, Asked) Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recite = f
}

// Open opens a gate for everybody who waits at it, now or later.
func (s *Server) Open(gate string) {
	c := s.gate(gate)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

func (s *Server) gate(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[name] == nil {
		s.gates[name] = make(chan struct{})
	}
	return s.gates[name]
}

// Requests is a copy of the log, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.log...)
}

// Counts tells how many requests came since the start, how many clients left
// before their answer ended, and how many connections were made.
func (s *Server) Counts() (asked, gone, conns int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, s.gone, s.conns
}

// Await waits until the counts are at least these.
func (s *Server) Await(ctx context.Context, asked, gone int) error {
	for {
		s.mu.Lock()
		a, g, changed := s.asked, s.gone, s.changed
		s.mu.Unlock()
		if a >= asked && g >= gone {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the provider saw %d requests of %d and %d clients of %d leave: %w", a, asked, g, gone, ctx.Err())
		}
	}
}

// note changes what Await looks at.
func (s *Server) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, d := range dialects {
		if strings.HasSuffix(r.URL.Path, d.Path()) {
			s.serve(w, r, d)
			return
		}
	}
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/v1/models") {
		s.list(w, r)
		return
	}
	http.NotFound(w, r)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, d Dialect) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.note(func() { s.gone++ })
		return
	}
	var named struct{ Model string }
	_ = json.Unmarshal(body, &named)
	entry := Request{
		Time: time.Now(), Wire: d.Name(), Path: r.URL.Path, Model: named.Model,
		Key: credential(r.Header), Header: r.Header.Clone(), Body: body,
	}
	s.mu.Lock()
	answer, queued := s.choose(entry.Model, entry.Key)
	recite := s.recite
	s.mu.Unlock()
	s.note(func() {
		s.asked++
		s.log = append(s.log, entry)
		if len(s.log) > logLimit {
			s.log = s.log[len(s.log)-logLimit:]
		}
	})
	if !queued && recite != nil {
		asked, err := d.Read(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer = recite(r.Context(), asked)
	}
	p := player{s: s, w: w, ctx: r.Context(), dialect: d, answer: d.Open(entry.Model)}
	if !p.play(answer) {
		s.note(func() { s.gone++ })
	}
}

// choose takes what is queued; queued is false where nothing is.
func (s *Server) choose(model, key string) (_ Response, queued bool) {
	for _, k := range []queueKey{{model, key}, {model, ""}, {"", ""}} {
		if q := s.queues[k]; q != nil {
			return q.take(), true
		}
	}
	return Text("ok"), false
}

// credential is the key or token of a request.
func credential(h http.Header) string {
	if bearer, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer "); ok {
		return bearer
	}
	return h.Get("X-Api-Key")
}
