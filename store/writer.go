package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"understudy/core/rescue"
)

// maxBatch bounds how many changes share a transaction, and so how long the
// first of them waits for the last.
const maxBatch = 128

// write is one change on its way to the writer and back.
type write struct {
	op   string
	run  func(*conn) error
	took atomic.Bool   // by the writer, which runs it, or by its caller, who left
	own  error         // what run returned
	died *died         // how run panicked
	done chan struct{} // closed when err is final
	err  error
}

// claim decides who has the change; the first to ask gets it.
func (w *write) claim() bool { return w.took.CompareAndSwap(false, true) }

func (w *write) finish(err error) {
	w.err = err
	close(w.done)
}

// died is a panic in a change, on its way to the goroutine that asked for it.
type died struct {
	value any
	stack []byte
}

func (d *died) Error() string {
	return fmt.Sprintf("%v\n\nin a change of the store:\n%s", d.value, d.stack)
}

// errPanic makes a transaction roll back what a change did before it panicked.
var errPanic = errors.New("the change panicked")

// errAbandoned is all that can be said after a change ended the writer's
// goroutine, as runtime.Goexit does.
var errAbandoned = errors.New("store: a change ended the writer; open the store again")

// write has the writer run a change and returns once it is committed, or is
// known not to be.
func (s *Store) write(ctx context.Context, op string, run func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &write{op: op, run: run, done: make(chan struct{}), err: errAbandoned}
	select {
	case s.writes <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.quit:
		return ErrClosed
	case <-s.stopped:
		return cmp.Or(s.closed(), errAbandoned)
	}
	select {
	case <-w.done:
	case <-s.stopped:
	case <-ctx.Done():
		if w.claim() {
			return ctx.Err()
		}
		select {
		case <-w.done:
		case <-s.stopped:
		}
	}
	if w.died != nil {
		panic(w.died)
	}
	return w.err
}

// loop is the writer.
func (s *Store) loop() {
	defer close(s.stopped)
	defer rescue.Panic(s.log, "writing into the store")
	for {
		select {
		case w := <-s.writes:
			s.commit(s.gather(w))
		case <-s.quit:
			return
		}
	}
}

// gather takes the changes that wait at this moment; it waits for none.
func (s *Store) gather(first *write) []*write {
	waiting := []*write{first}
	for len(waiting) < maxBatch {
		select {
		case w := <-s.writes:
			waiting = append(waiting, w)
			continue
		default:
		}
		break
	}
	if s.fault != nil {
		waiting = s.afflict(waiting)
	}
	batch := waiting[:0]
	for _, w := range waiting {
		if w.claim() {
			batch = append(batch, w)
		}
	}
	return batch
}

// afflict lets the test hook delay and fail changes, none of which is claimed
// yet, so that their callers may still leave.
func (s *Store) afflict(waiting []*write) []*write {
	spared := waiting[:0]
	for _, w := range waiting {
		err := s.fault(w.op)
		if err == nil {
			err = s.closed()
		}
		if err == nil {
			spared = append(spared, w)
		} else if w.claim() {
			w.finish(err)
		}
	}
	return spared
}

// commit makes one transaction of the batch. If that fails as a whole, each
// change gets a transaction of its own, so that the one at fault fails alone.
func (s *Store) commit(batch []*write) {
	if len(batch) == 0 {
		return
	}
	if err := s.begin(); err != nil {
		for _, w := range batch {
			w.finish(err)
		}
		return
	}
	err := s.transact(batch)
	if err != nil {
		// SQLite may have rolled back by itself; then this one fails, rightly.
		s.conn.exec("ROLLBACK")
	}
	switch {
	case err == nil:
		for _, w := range batch {
			w.finish(w.own)
		}
	case len(batch) == 1:
		batch[0].finish(err)
	default:
		for _, w := range batch {
			w.own, w.died = nil, nil
			s.commit([]*write{w})
		}
	}
}

// begin opens a transaction. One that could not be rolled back, since nothing
// could be done with the file then, still stands, and gives way.
func (s *Store) begin() error {
	_, err := s.conn.exec("BEGIN IMMEDIATE")
	if err == nil {
		return nil
	}
	if _, stood := s.conn.exec("ROLLBACK"); stood != nil {
		return err
	}
	_, err = s.conn.exec("BEGIN IMMEDIATE")
	return err
}

// transact runs the batch in the open transaction and commits it. What a change
// itself returns is kept with it; an error of transact is that of the
// transaction.
func (s *Store) transact(batch []*write) error {
	for _, w := range batch {
		if _, err := s.conn.exec("SAVEPOINT change"); err != nil {
			return err
		}
		if w.own = w.call(s.conn); w.own != nil {
			if _, err := s.conn.exec("ROLLBACK TO change"); err != nil {
				return w.own // it was bad enough to end the transaction
			}
		}
		if _, err := s.conn.exec("RELEASE change"); err != nil {
			return err
		}
	}
	_, err := s.conn.exec("COMMIT")
	return err
}

// call runs the change and catches its panic.
func (w *write) call(c *conn) (err error) {
	defer func() {
		if v := recover(); v != nil {
			w.died = &died{v, debug.Stack()}
			err = errPanic
		}
	}()
	return w.run(c)
}
