package storetest

import (
	"context"
	"errors"
	"sync"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/sessions"
)

// armed is a hook that can be told what to do with the next change.
type armed struct {
	mu   sync.Mutex
	next func() error
}

func (a *armed) arm(f func() error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = f
}

func (a *armed) hook(string) error {
	a.mu.Lock()
	f := a.next
	a.next = nil
	a.mu.Unlock()
	if f == nil {
		return nil
	}
	return f()
}

func fail() error { return errOwn }

// faulty makes the suite's store one with a hook.
func (s *suite) faulty() *armed {
	var a armed
	s.Store = s.openFaulty(a.hook)
	return &a
}

func faultFails(s *suite) {
	in, r := s.admit("m1"), s.queue(row("t1", core.PostAnswer, 0))[0]
	a := s.faulty()
	writes := map[string]bool{}
	a.arm(fail)
	for name, err := range s.calls(s.Context(), everyWriteFails{s.Store, a}) {
		writes[name] = errors.Is(err, errOwn)
	}
	s.same("failed", writes, map[string]bool{
		"Admit": true, "Change": true, "MarkTool": true, "Commit": true, "CommitChoice": true, "Queue": true,
		"Mark": true, "GiveUp": true, "UpdateState": true, "UpdateGuest": true, "Prune": true,
		"Heard": false, "Guest": false, "Guests": false, "Waiting": false, "Session": false, "Transcript": false, "Turn": false, "Outgoing": false, "States": false,
	})
	a.arm(nil)
	s.untouched(in, r)
	s.commit(func(tx sessions.Tx) { tx.SetSession(full()) })
	s.same("the next one", s.session(), full())
}

// everyWriteFails arms the hook again before each change.
type everyWriteFails struct {
	Store
	a *armed
}

func (e everyWriteFails) Admit(ctx context.Context, in sessions.Inbound) (sessions.Inbound, bool, error) {
	e.a.arm(fail)
	return e.Store.Admit(ctx, in)
}

func (e everyWriteFails) Change(ctx context.Context, c core.Change) (bool, error) {
	e.a.arm(fail)
	return e.Store.Change(ctx, c)
}

func (e everyWriteFails) UpdateGuest(ctx context.Context, platform, account, user string, change func(sessions.Guest) sessions.Guest) error {
	e.a.arm(fail)
	return e.Store.UpdateGuest(ctx, platform, account, user, change)
}

func (e everyWriteFails) Prune(ctx context.Context, r sessions.Retention, limit int) (int, error) {
	e.a.arm(fail)
	return e.Store.Prune(ctx, r, limit)
}

func (e everyWriteFails) MarkTool(ctx context.Context, inbox string) error {
	e.a.arm(fail)
	return e.Store.MarkTool(ctx, inbox)
}

func (e everyWriteFails) Commit(ctx context.Context, k core.Key, lease int64, f func(sessions.Tx) error) error {
	e.a.arm(fail)
	return e.Store.Commit(ctx, k, lease, f)
}

func (e everyWriteFails) CommitChoice(ctx context.Context, k core.Key, lease int64, f func(sessions.ChoiceTx) error) error {
	e.a.arm(fail)
	return e.Store.CommitChoice(ctx, k, lease, f)
}

func (e everyWriteFails) Queue(ctx context.Context, rows ...delivery.Row) ([]delivery.Row, error) {
	e.a.arm(fail)
	return e.Store.Queue(ctx, rows...)
}

func (e everyWriteFails) Mark(ctx context.Context, id int64, f func(delivery.Row) delivery.Row) error {
	e.a.arm(fail)
	return e.Store.Mark(ctx, id, f)
}

func (e everyWriteFails) GiveUp(ctx context.Context, id int64, why string, now time.Time) error {
	e.a.arm(fail)
	return e.Store.GiveUp(ctx, id, why, now)
}

func (e everyWriteFails) UpdateState(ctx context.Context, agent, p string, f func(failover.State) failover.State) error {
	e.a.arm(fail)
	return e.Store.UpdateState(ctx, agent, p, f)
}

func faultAmongMany(s *suite) {
	a := s.faulty()
	a.arm(fail)
	var mu sync.Mutex
	failed := 0
	fifty(func(int) {
		err := s.UpdateState(s.Context(), "main", "a:1", func(st failover.State) failover.State {
			st.Auth.Count++
			return st
		})
		mu.Lock()
		defer mu.Unlock()
		switch {
		case errors.Is(err, errOwn):
			failed++
		case err != nil:
			s.Error(err)
		}
	})
	if n := s.states("main")["a:1"].Auth.Count; failed != 1 || n != 49 {
		s.Errorf("%d failed and %d were kept", failed, n)
	}
}

func slowStore(s *suite) {
	a := s.faulty()
	a.arm(func() error {
		time.Sleep(8 * time.Second)
		return nil
	})
	ctx, cancel := context.WithTimeout(s.Context(), 3*time.Second)
	defer cancel()
	began := time.Now()
	_, _, err := s.Admit(ctx, inbound("m1"))
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second {
		s.Errorf("after %v: %v", took, err)
	}
	s.same("read meanwhile", s.waiting(), []sessions.Inbound{})
	s.admit("m2") // waits for the slow one
	if took := time.Since(began); took != 8*time.Second {
		s.Errorf("the next one took until %v", took)
	}
	if rows := s.waiting(); len(rows) != 1 || rows[0].Key != "m2" {
		s.Errorf("waiting are %+v", rows)
	}
}

func slowQueue(s *suite) {
	a := s.faulty()
	a.arm(func() error {
		time.Sleep(8 * time.Second)
		return nil
	})
	began := time.Now()
	var wg sync.WaitGroup
	for _, id := range []string{"m1", "m2", "m3"} {
		wg.Go(func() {
			if _, _, err := s.Admit(s.Context(), inbound(id)); err != nil {
				s.Error(err)
			}
		})
	}
	synctest.Wait()
	wg.Wait()
	if took := time.Since(began); took != 8*time.Second || len(s.waiting()) != 3 {
		s.Errorf("%d rows after %v", len(s.waiting()), took)
	}
}
