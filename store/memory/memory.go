// Package memory is a store that lives in the process: for tests, scenarios and
// trials. It keeps every promise of the SQLite store but the one to outlive the
// process, and passes the same suite.
//
// A [Memory] holds the data, a [Store] is a handle to it. A handle that is
// closed refuses everything from then on, while the data stays for the next
// one: that is how a test kills a process and starts it again.
//
// Changes run one at a time, on the goroutines of their callers, and are seen
// by nobody before they are whole. Functions given to the store must not write
// to it. The error of a context means that nothing was stored. Waits are on
// channels only, so that a testing/synctest bubble knows them as idle.
package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/sessions"
)

// ErrClosed is returned by every call to a handle after its Close.
var ErrClosed = errors.New("the store is closed")

// Memory is the data. Values go in and out as documents, so that nobody shares
// memory with it.
type Memory struct {
	writer chan struct{} // holds a token while somebody writes

	mu   sync.RWMutex // guards what data points to; held for reading or to put a whole change in
	data data
}

type data struct {
	sessions    map[core.Key]record
	inbox       map[string]message
	transcripts map[transcript][]entry
	turns       map[string]string
	rows        map[int64]delivery.Row
	rowsOf      map[string][]int64 // by turn
	states      map[profile]string
	heard       map[ear]sound
	guests      map[guest]string
	spent       map[purse]sessions.Bill
	counters    counters
}

type (
	record struct{ choice, rest string }

	message struct {
		sessions.Inbound // without its Message
		doc              string
		settled          bool
	}

	transcript struct {
		key core.Key
		id  string
	}

	entry struct {
		seq           int64
		author, inbox string
		doc           string
	}

	profile struct{ agent, id string }

	ear struct {
		session core.Key
		author  string
	}

	// sound is what was heard, with the holder's key and the place as a document.
	sound struct {
		sessions.Heard // without its Thread
		platform       string
		account        string
		holder, place  string
	}

	guest struct{ platform, account, user string }

	// purse is an account on one day. A bill is never changed but replaced.
	purse struct {
		account sessions.Account
		day     string
	}

	// counters are the last numbers given out.
	counters struct{ inbox, entry, row int64 }
)

// New makes an empty store.
func New() *Memory {
	return &Memory{
		writer: make(chan struct{}, 1),
		data: data{
			sessions:    map[core.Key]record{},
			inbox:       map[string]message{},
			transcripts: map[transcript][]entry{},
			turns:       map[string]string{},
			rows:        map[int64]delivery.Row{},
			rowsOf:      map[string][]int64{},
			states:      map[profile]string{},
			heard:       map[ear]sound{},
			guests:      map[guest]string{},
			spent:       map[purse]sessions.Bill{},
		},
	}
}

// Options are what a test may ask of a handle.
type Options struct {
	// Fault, if set, is called before each change with the name of the
	// operation (admit, change, tool, commit, choice, queue, mark, giveup, prune, guest,
	// forget, unsay or state), one call at a time; its error fails that change, and the time it
	// takes delays all that come after.
	Fault func(op string) error
}

// Store is a handle to the data. Its methods are safe for concurrent use.
type Store struct {
	m     *Memory
	fault func(string) error
	once  sync.Once
	quit  chan struct{}
}

var (
	_ sessions.Store  = (*Store)(nil)
	_ delivery.Store  = (*Store)(nil)
	_ failover.Store  = (*Store)(nil)
	_ sessions.Keeper = (*Store)(nil)
)

// Open makes a handle. Any number may be open at once.
func (m *Memory) Open(o Options) *Store {
	return &Store{m: m, fault: o.Fault, quit: make(chan struct{})}
}

// Close makes the handle refuse everything from now on, a change that has begun
// too. It always returns nil.
func (s *Store) Close() error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.once.Do(func() { close(s.quit) })
	return nil
}

func (s *Store) closed() error {
	select {
	case <-s.quit:
		return ErrClosed
	default:
		return nil
	}
}

// write runs a change and puts it in whole, or not at all.
func (s *Store) write(ctx context.Context, op string, run func(*change) error) error {
	if err := s.enter(ctx, op); err != nil {
		return err
	}
	defer s.leave()
	c := newChange(&s.m.data)
	if err := run(c); err != nil {
		return err
	}
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if err := s.closed(); err != nil {
		return err
	}
	c.apply()
	return nil
}

// enter waits for the turn to write, and for what the test hook does with it.
func (s *Store) enter(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.closed(); err != nil {
		return err
	}
	select {
	case s.m.writer <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.quit:
		return ErrClosed
	}
	if s.fault == nil {
		return nil
	}
	hook := make(chan error, 1)
	go func() { hook <- s.fault(op) }()
	select {
	case err := <-hook:
		if err != nil {
			s.leave()
		}
		return err
	case <-ctx.Done():
		go func() {
			<-hook
			s.leave()
		}()
		return ctx.Err()
	}
}

func (s *Store) leave() { <-s.m.writer }

// read looks at the data while nobody changes it.
func (s *Store) read(ctx context.Context, look func(*data) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.m.mu.RLock()
	defer s.m.mu.RUnlock()
	if err := s.closed(); err != nil {
		return err
	}
	return look(&s.m.data)
}

// layer is a map with the changes of one writer over it.
type layer[K comparable, V any] struct {
	base, over map[K]V
	gone       map[K]bool
}

func over[K comparable, V any](base map[K]V) layer[K, V] {
	return layer[K, V]{base, map[K]V{}, map[K]bool{}}
}

func (l layer[K, V]) get(k K) (V, bool) {
	if v, ok := l.over[k]; ok {
		return v, true
	}
	if l.gone[k] {
		var none V
		return none, false
	}
	v, ok := l.base[k]
	return v, ok
}

func (l layer[K, V]) set(k K, v V) { l.over[k] = v }

func (l layer[K, V]) drop(k K) {
	delete(l.over, k)
	l.gone[k] = true
}

func (l layer[K, V]) apply() {
	for k := range l.gone {
		delete(l.base, k)
	}
	maps.Copy(l.base, l.over)
}

// change is what one writer is about to do. Only the writer changes the data,
// so it reads them without the lock.
type change struct {
	data        *data
	sessions    layer[core.Key, record]
	inbox       layer[string, message]
	transcripts layer[transcript, []entry]
	turns       layer[string, string]
	rows        layer[int64, delivery.Row]
	rowsOf      layer[string, []int64]
	states      layer[profile, string]
	heard       layer[ear, sound]
	guests      layer[guest, string]
	spent       layer[purse, sessions.Bill]
	counters    counters
}

func newChange(d *data) *change {
	return &change{
		data:        d,
		sessions:    over(d.sessions),
		inbox:       over(d.inbox),
		transcripts: over(d.transcripts),
		turns:       over(d.turns),
		rows:        over(d.rows),
		rowsOf:      over(d.rowsOf),
		states:      over(d.states),
		heard:       over(d.heard),
		guests:      over(d.guests),
		spent:       over(d.spent),
		counters:    d.counters,
	}
}

func (c *change) apply() {
	c.sessions.apply()
	c.inbox.apply()
	c.transcripts.apply()
	c.turns.apply()
	c.rows.apply()
	c.rowsOf.apply()
	c.states.apply()
	c.heard.apply()
	c.guests.apply()
	c.spent.apply()
	c.data.counters = c.counters
}

// encode makes the stored form of a value, and the value as it will be read
// back; one that could not be read back is refused.
func encode[T any](v T) (doc string, back T, err error) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	if err != nil {
		return "", back, fmt.Errorf("store: a %T cannot be stored: %w", v, err)
	}
	return string(b), back, nil
}

// decode reads what encode wrote; an empty document is the zero value.
func decode[T any](doc string) (v T, err error) {
	if doc == "" {
		return v, nil
	}
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		return v, fmt.Errorf("store: a stored %T cannot be read: %w", v, err)
	}
	return v, nil
}

// missing says that a change was asked for something that is not there.
func missing(what string, id any) error {
	return fmt.Errorf("store: there is no %s %v", what, id)
}
