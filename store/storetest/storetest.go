// Package storetest is the suite that every store passes. It proves what the
// comments of sessions.Store, delivery.Store and failover.Store promise, first
// with the clock of the machine and then inside a testing/synctest bubble.
package storetest

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/sessions"
)

// Store is everything that the rooms ask of a store.
type Store interface {
	sessions.Store
	delivery.Store
	failover.Store
	sessions.Keeper
	Close() error
}

// Opener opens a store over the same data each time. The fault hook may be nil.
type Opener func(t testing.TB, fault func(op string) error) Store

type test struct {
	name string
	run  func(*suite)
}

var tests = []test{
	{"admit keeps a message once", admitOnce},
	{"admit keeps one of many at once", admitRace},
	{"waiting rows come in order", waitingOrder},
	{"a change reaches only what waits", changeWaiting},
	{"a tool mark belongs to its turn", toolMark},
	{"an unknown session is zero", unknownSession},
	{"a commit is whole", commitWhole},
	{"a failed commit leaves nothing", commitFails},
	{"a commit shows its own changes", commitSees},
	{"a panic is rolled back and passed on", commitPanics},
	{"a turn never writes the choice", choiceApart},
	{"fifty writers of one session", sessionRace},
	{"values are not shared", noSharing},
	{"what cannot be read back is refused", unreadable},
	{"queue gives rising ids", queueIDs},
	{"a turn queues a part once", queueReplaces},
	{"queue outside of a turn keeps the first", queueKeeps},
	{"a row needs a turn", queueNeedsTurn},
	{"outgoing rows are the open ones", outgoing},
	{"withdraw closes open rows of a kind", withdraw},
	{"mark replaces a row", markRow},
	{"fifty writers of one row", markRace},
	{"give up takes the notice back", giveUp},
	{"give up leaves the notice of others", giveUpOthers},
	{"give up leaves what is settled", giveUpSettled},
	{"a transcript ends with the newest", transcriptLimit},
	{"transcripts are apart", transcriptsApart},
	{"turns are kept by id", turns},
	{"states of profiles", states},
	{"where something was heard", heard},
	{"a second delivery is not heard", heardOnce},
	{"guests", guests},
	{"fifty writers of one guest", guestRace},
	{"what was spent adds up by day", spent},
	{"fifty who spend at once", spentRace},
	{"a person is forgotten", forgotten},
	{"much is forgotten in parts", forgottenInParts},
	{"a deleted message leaves the transcripts", unsaid},
	{"a summary that may tell of anything is mended", unsaidBlurred},
	{"what is kept can be read as a whole", archive},
	{"what is too old is forgotten", prunes},
	{"a summary is forgotten with the oldest that it tells of", prunesSummaries},
	{"a summary is forgotten before what it tells of", prunesSummariesFirst},
	{"what is at work is kept", prunesNothingAtWork},
	{"old days are forgotten", prunesDays},
	{"little is forgotten at a time", prunesByPortions},
	{"handles see each other", handles},
	{"instants come back", instants},
	{"text comes back", texts},
	{"a new handle finds everything", reopen},
	{"a closed store refuses", closed},
	{"an ended context stores nothing", endedContext},
	{"a fault fails the next change alone", faultFails},
	{"a fault of one leaves the others", faultAmongMany},
}

// timed tests let time pass, so they run in a bubble only.
var timed = []test{
	{"a slow store is left in time", slowStore},
	{"a slow store delays those behind it", slowQueue},
}

// crowded tests run anywhere, but two handles that write at once may wait for
// each other on the clock.
var crowded = []test{
	{"fifty writers of one state through two handles", stateRace},
}

// Run proves a store. place is called once for each test and makes a new,
// empty place; what it returns opens handles to that place.
func Run(t *testing.T, place func(*testing.T) Opener) {
	for _, tc := range slices.Concat(tests, crowded) {
		t.Run(tc.name, func(t *testing.T) { tc.run(newSuite(t, place(t))) })
	}
	for _, tc := range timed {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tc.run(newSuite(t, place(t))) })
		})
	}
	for _, tc := range tests {
		t.Run("in a bubble/"+tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				tc.run(newSuite(t, place(t)))
				synctest.Wait()
				if took := time.Since(began); took > 0 {
					t.Errorf("the clock moved by %v", took)
				}
			})
		})
	}
}

// suite is one test over one place.
type suite struct {
	*testing.T
	opener Opener
	Store
}

func newSuite(t *testing.T, o Opener) *suite {
	s := &suite{T: t, opener: o}
	s.Store = s.open()
	return s
}

// open makes another handle, closed when the test ends.
func (s *suite) open() Store { return s.openFaulty(nil) }

func (s *suite) openFaulty(fault func(string) error) Store {
	s.Helper()
	st := s.opener(s.T, fault)
	s.Cleanup(func() {
		if err := st.Close(); err != nil {
			s.Errorf("close: %v", err)
		}
	})
	return st
}

// ok fails the test at once when err is set.
func (s *suite) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// same compares two values; nil and empty slices and maps are alike.
func (s *suite) same(what string, got, want any) {
	s.Helper()
	if g, w := reflect.ValueOf(got), reflect.ValueOf(want); g.IsValid() && w.IsValid() && g.Type() == w.Type() &&
		(g.Kind() == reflect.Slice || g.Kind() == reflect.Map) && g.Len() == 0 && w.Len() == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		s.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

var (
	key   = core.Key{Agent: "main", Thread: "discord:1:g:2:c:3"}
	other = core.Key{Agent: "main", Thread: "slack:1:T:C:t:1.2"}
	noon  = time.Date(2026, 3, 29, 12, 0, 0, 123456789, time.UTC)
)

var errOwn = errors.New("an error of the change")

func inbound(id string) sessions.Inbound {
	return sessions.Inbound{
		Key:     id,
		Session: key,
		At:      noon,
		Message: core.Message{
			ID: id, Text: "hello " + id, At: noon.Add(-time.Second), Addressed: true,
			Author:      core.Author{ID: "u1", Name: "Ann", Roles: []string{"a", "b"}},
			Target:      core.Target{Thread: core.Thread{Platform: "discord", Account: "1", Workspace: "2", Channel: "3", Kind: core.KindThread}},
			Attachments: []core.Attachment{{Name: "a.png", MIME: "image/png", Size: 3, Data: []byte{0, 1, 0xff}}},
		},
	}
}

func row(turn string, kind core.PostKind, part int) delivery.Row {
	return delivery.Row{
		Session: key, Turn: turn, Part: part, State: delivery.Queued, Created: noon,
		Post: core.Post{Kind: kind, Text: "some text", Nonce: turn},
	}
}

func (s *suite) admit(id string) sessions.Inbound {
	s.Helper()
	in, fresh, err := s.Admit(s.Context(), inbound(id))
	s.ok(err)
	if !fresh {
		s.Fatalf("%s was known", id)
	}
	return in
}

// commit runs a change that must succeed.
func (s *suite) commit(change func(sessions.Tx)) {
	s.Helper()
	s.ok(s.Commit(s.Context(), key, 0, func(tx sessions.Tx) error {
		change(tx)
		return nil
	}))
}

func (s *suite) session() sessions.Session {
	s.Helper()
	r, err := s.Session(s.Context(), key)
	s.ok(err)
	return r
}

func (s *suite) waiting() []sessions.Inbound {
	s.Helper()
	rows, err := s.Waiting(s.Context())
	s.ok(err)
	return rows
}

func (s *suite) outgoing() []delivery.Row {
	s.Helper()
	rows, err := s.Outgoing(s.Context())
	s.ok(err)
	return rows
}

// stored is a row as the store has it, open or not.
func (s *suite) stored(turn string, kind core.PostKind, part int) delivery.Row {
	s.Helper()
	rows, err := s.Queue(s.Context(), delivery.Row{Turn: turn, Part: part, Post: core.Post{Kind: kind, Text: "must not be stored"}})
	s.ok(err)
	if rows[0].Post.Text == "must not be stored" {
		s.Fatalf("there was no row %s %s %d", turn, kind, part)
	}
	return rows[0]
}

func (s *suite) states(agent string) map[string]failover.State {
	s.Helper()
	all, err := s.States(s.Context(), agent)
	s.ok(err)
	return all
}

// fifty runs f in fifty goroutines at once.
func fifty(f func(i int)) {
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
