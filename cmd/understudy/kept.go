package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/seal"
	"understudy/sessions"
	"understudy/store"
)

// stores is everything that is kept.
type stores interface {
	sessions.Store
	delivery.Store
	failover.Store
	sessions.Keeper
	Close() error
}

// openStore opens the SQLite file. That there cannot be one at its path, or that
// it is in use, is for whoever named it to change.
func (s *setup) openStore(ctx context.Context, path string, exclusive bool) (*store.Store, error) {
	st, err := store.Open(ctx, store.Options{
		Path: path, Exclusive: exclusive, Full: s.config.Store.Synchronous == "full",
		Keys: seal.Keys{Current: s.env.SecretKey, Old: s.env.OldSecretKey}, Log: s.log,
	})
	var (
		badKey *seal.FileError
		locked *store.LockedError
		place  *fs.PathError
		bad    *store.Error
	)
	switch {
	case err == nil:
		return st, nil
	case errors.As(err, &badKey):
		return nil, misuse("%v", err)
	case errors.As(err, &place):
		return nil, misuse("%v; let this user write there, or name another file with UNDERSTUDY_STORE", err)
	case errors.As(err, &locked), errors.As(err, &bad) && slices.Contains(unusable, bad.Problem):
		return nil, misuse("%v", err)
	}
	return nil, err
}

// openKept loads the settings and opens the store that a bot with them has made
// already, beside a bot that may run.
func openKept(ctx context.Context, c console, configPath string) (*setup, *store.Store, error) {
	s, err := loadFor(c, configPath)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(s.config.Store.Path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, misuse("there is no store at %s; set UNDERSTUDY_STORE to the one that the bot uses", s.config.Store.Path)
	}
	st, err := s.openStore(ctx, s.config.Store.Path, false)
	return s, st, err
}

// unusable are the problems of a wrong path; with the others it was right once.
var unusable = []store.Problem{store.NotDatabase, store.Denied, store.ReadOnly, store.Unsuitable}

// ownStore is a store as one of several programs on it sees it: what an earlier
// process left to be answered and sent is there only for conversations in which
// this one can speak. The rest stays for whoever can: the bot does not answer for
// a talk in the terminal, nor that for the bot, nor anybody for a platform that
// is switched off for now.
type ownStore struct {
	stores
	platform func(core.Thread) (core.Platform, bool)
}

// Waiting are the messages that this process can answer.
func (s ownStore) Waiting(ctx context.Context) ([]sessions.Inbound, error) {
	list, err := s.stores.Waiting(ctx)
	return slices.DeleteFunc(list, func(in sessions.Inbound) bool { return !s.owns(in.Message.Thread()) }), err
}

// Outgoing are the posts that this process can send.
func (s ownStore) Outgoing(ctx context.Context) ([]delivery.Row, error) {
	list, err := s.stores.Outgoing(ctx)
	return slices.DeleteFunc(list, func(r delivery.Row) bool { return !s.owns(r.Post.Target.Thread) }), err
}

// Guests are the people whom this process can tell something.
func (s ownStore) Guests(ctx context.Context) ([]sessions.Guest, error) {
	list, err := s.stores.Guests(ctx)
	return slices.DeleteFunc(list, func(g sessions.Guest) bool { return !s.owns(g.Target.Thread) }), err
}

func (s ownStore) owns(t core.Thread) bool {
	_, ok := s.platform(t)
	return ok
}

// watchedStore remembers whether the store takes what is written. Only trouble
// of the store counts, not what a change itself returned.
type watchedStore struct {
	stores

	mu     sync.Mutex
	failed error     // of the last write, nil when it was taken
	probed time.Time // when that was last looked into

	// turned hears of trouble when it begins, and nil when it is over.
	turned func(error)
}

// probeEvery is how often a store that failed is tried.
const probeEvery = 5 * time.Second

// probeText is what is written then: as much as a long message, since a little
// may still go into a file for which there is no more space.
var probeText = strings.Repeat("x", 64<<10)

// trouble is why nothing can be written, or nil. Where nobody writes, nobody
// would find out that it is over, so from time to time it writes itself.
func (s *watchedStore) trouble(ctx context.Context) error {
	s.mu.Lock()
	failed := s.failed
	due := failed != nil && time.Since(s.probed) >= probeEvery
	if due {
		s.probed = time.Now()
	}
	s.mu.Unlock()
	if !due {
		return failed
	}
	for _, state := range []failover.State{{Models: map[string]failover.Window{probeText: {Until: time.Now()}}}, {}} {
		err := s.UpdateState(ctx, "", "probe", func(failover.State) failover.State { return state })
		if err != nil {
			return err
		}
	}
	return nil
}

// saw notes how a write went and gives its error back. One that had nothing to
// change shows nothing.
func (s *watchedStore) saw(err error, changed bool) error {
	before, after := s.note(err, changed)
	if s.turned != nil && (before == nil) != (after == nil) {
		s.turned(after)
	}
	return err
}

// note keeps how a write went, and says what was wrong before and is now.
func (s *watchedStore) note(err error, changed bool) (before, after error) {
	var trouble *store.Error
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.failed
	switch {
	case err == nil && changed:
		s.failed = nil
	case errors.As(err, &trouble):
		if s.failed == nil {
			s.probed = time.Now()
		}
		s.failed = err
	}
	return before, s.failed
}

// Admit watches over that of the store, as all that follow do.
func (s *watchedStore) Admit(ctx context.Context, in sessions.Inbound) (sessions.Inbound, bool, error) {
	row, fresh, err := s.stores.Admit(ctx, in)
	return row, fresh, s.saw(err, fresh)
}

// Change is watched.
func (s *watchedStore) Change(ctx context.Context, c core.Change) (bool, error) {
	found, err := s.stores.Change(ctx, c)
	return found, s.saw(err, found)
}

// MarkTool is watched.
func (s *watchedStore) MarkTool(ctx context.Context, inbox string) error {
	return s.saw(s.stores.MarkTool(ctx, inbox), true)
}

// Commit is watched.
func (s *watchedStore) Commit(ctx context.Context, k core.Key, lease int64, change func(sessions.Tx) error) error {
	return s.saw(s.stores.Commit(ctx, k, lease, change), true)
}

// CommitChoice is watched.
func (s *watchedStore) CommitChoice(ctx context.Context, k core.Key, lease int64, change func(sessions.ChoiceTx) error) error {
	return s.saw(s.stores.CommitChoice(ctx, k, lease, change), true)
}

// Prune is watched.
func (s *watchedStore) Prune(ctx context.Context, r sessions.Retention, limit int) (int, error) {
	n, err := s.stores.Prune(ctx, r, limit)
	return n, s.saw(err, n > 0)
}

// Queue is watched.
func (s *watchedStore) Queue(ctx context.Context, rows ...delivery.Row) ([]delivery.Row, error) {
	stored, err := s.stores.Queue(ctx, rows...)
	return stored, s.saw(err, len(rows) > 0)
}

// Mark is watched.
func (s *watchedStore) Mark(ctx context.Context, id int64, change func(delivery.Row) delivery.Row) error {
	return s.saw(s.stores.Mark(ctx, id, change), true)
}

// GiveUp is watched.
func (s *watchedStore) GiveUp(ctx context.Context, id int64, why string, now time.Time) error {
	return s.saw(s.stores.GiveUp(ctx, id, why, now), true)
}

// UpdateState is watched.
func (s *watchedStore) UpdateState(ctx context.Context, agent, profile string, change func(failover.State) failover.State) error {
	return s.saw(s.stores.UpdateState(ctx, agent, profile, change), true)
}

// Forget is watched.
func (s *watchedStore) Forget(ctx context.Context, o sessions.Oblivion) (sessions.Traces, error) {
	gone, err := s.stores.Forget(ctx, o)
	return gone, s.saw(err, gone != sessions.Traces{})
}

// Unsay is watched.
func (s *watchedStore) Unsay(ctx context.Context, inbox string, mend func(s sessions.Session, from int64) sessions.Session) (bool, error) {
	found, err := s.stores.Unsay(ctx, inbox, mend)
	return found, s.saw(err, found)
}

// UpdateGuest is watched.
func (s *watchedStore) UpdateGuest(ctx context.Context, platform, account, user string, change func(sessions.Guest) sessions.Guest) error {
	return s.saw(s.stores.UpdateGuest(ctx, platform, account, user, change), true)
}
