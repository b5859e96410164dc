package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/sessions"
	"understudy/store"
)

// stores is everything that is kept.
type stores interface {
	sessions.Store
	delivery.Store
	failover.Store
	Close() error
}

// openStore opens the SQLite file. That there cannot be one at its path, or that
// it is in use, is for whoever named it to change.
func (s *setup) openStore(ctx context.Context, path string, exclusive bool) (*store.Store, error) {
	st, err := store.Open(ctx, store.Options{Path: path, Exclusive: exclusive, Full: s.config.Store.Synchronous == "full"})
	var (
		locked *store.LockedError
		place  *fs.PathError
		bad    *store.Error
	)
	switch {
	case err == nil:
		return st, nil
	case errors.As(err, &locked), errors.As(err, &place), errors.As(err, &bad) && slices.Contains(unusable, bad.Problem):
		return nil, misuse("%v", err)
	}
	return nil, err
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

func (s ownStore) owns(t core.Thread) bool {
	_, ok := s.platform(t)
	return ok
}
