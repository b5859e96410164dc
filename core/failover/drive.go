package failover

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"understudy/core/llm"
)

// Hooks are how a turn asks its owner. All are optional.
type Hooks struct {
	// Discard drops output that nobody has seen, and reports false when
	// something was shown: then nobody else may be asked.
	Discard func() bool
	// Pending is a choice of the user that this turn has not taken up, and
	// Taken clears it, comparing ids. Changed is signalled when there is one;
	// without a signal nobody asks.
	Pending func(context.Context) (Switch, bool, error)
	Taken   func(ctx context.Context, id string) error
	Changed <-chan struct{}
	// Stopping is closed when the program stops: no wait outlasts it, while a
	// request that is under way may still end well.
	Stopping <-chan struct{}
	// Status sends the status notice. It has 5 s.
	Status func(context.Context)
	// Mend changes the request so that what a provider refused it for is gone,
	// and reports whether it could: then the same candidate is asked once more.
	Mend func(*llm.Error) bool
	// Shrink makes the conversation shorter after a candidate could not hold it,
	// and reports whether it could: then the same candidate is asked once more.
	// No slot is held meanwhile. An error ends the call: it is a fault of the
	// program, or that of the cancelled context.
	Shrink func(context.Context, *llm.Error) (bool, error)
	// Held hears that the turn waits since the store is in trouble, once that
	// has lasted for some seconds. It must not block.
	Held func()
	// Attempted is told of every attempt once its outcome is known.
	Attempted func(Attempt)
}

// ErrStopping is what a turn ends with whose wait was cut short because the
// program stops. Nothing failed; the turn is to be run again.
var ErrStopping = errors.New("the program is stopping")

// Switch is a choice of model made while a turn runs.
type Switch struct {
	ID    string
	Model llm.Ref
	Lock  string
	// Chain and its Source are set where the choice is no model by name: the
	// default was asked for, or another profile only. Otherwise Model is asked
	// alone.
	Chain  []llm.Ref
	Source Source
}

// Turn drives the run of one turn in time. End must be called.
type Turn struct {
	e     *Engine
	run   *Run
	hooks Hooks
	told  int // attempts that were reported
	// changed: the user chose since Pending was asked last.
	changed bool
	// said: the request under way has given output.
	said bool
	// tooLong is the answer of a candidate that is asked again if the
	// conversation can be made shorter.
	tooLong *llm.Error

	mu     sync.Mutex
	status struct {
		due       time.Time
		suspended bool // output has begun
		sent      bool
		armed     bool
	}
	ctx    context.Context // of the status notice
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// Begin starts a turn. The context bounds the turn's status notice, not its
// calls.
func (e *Engine) Begin(ctx context.Context, plan Plan, hooks Hooks) *Turn {
	t := &Turn{e: e, run: NewRun(plan, e.Rules, e.throttles, e.Skips), hooks: hooks}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// Plan is the plan as it stands.
func (t *Turn) Plan() Plan { return t.run.Plan() }

// Attempts are all attempts so far.
func (t *Turn) Attempts() []Attempt { return t.run.Attempts() }

// Answer tells who answered a call.
type Answer struct {
	Model   llm.Ref
	Profile string
	// Pin: the session may be pinned to Profile.
	Pin bool
}

// Call makes one model call of the turn: it asks candidate after candidate
// until one answers. ask makes the request; its error is an *llm.Error for a
// failure of the provider, anything else is a fault of the program. The error
// of Call is a *SummaryError.
func (t *Turn) Call(ctx context.Context, ask func(context.Context, llm.Client, llm.Ref) error) (Answer, error) {
	answer, err := t.call(ctx, ask)
	var lost *SummaryError
	if !t.run.plan.Aside && (err == nil || errors.As(err, &lost)) {
		t.e.Called(t.run.Plan(), lost)
	}
	return answer, err
}

func (t *Turn) call(ctx context.Context, ask func(context.Context, llm.Client, llm.Ref) error) (Answer, error) {
	defer t.report(ctx, false)
	for {
		if err := t.takeSwitch(ctx); err != nil {
			return t.broke(err)
		}
		release, err := t.e.Acquire(ctx, t.run.Plan().Person)
		if err != nil {
			return t.stopped(err)
		}
		step, answer, done, err := t.step(ctx, release, ask)
		switch {
		case done:
			return answer, err
		case t.tooLong != nil:
			if err := t.shrink(ctx); err != nil {
				return t.broke(err)
			}
		case step.Kind == Wait:
			t.report(ctx, false)
			t.armStatus()
			if err := t.wait(ctx, step.Until); err != nil {
				return t.stopped(err)
			}
		}
	}
}

// step does the next step of the run, except for its waits, and gives the slot
// back, also when ask panics. done is false when the run must be asked again.
func (t *Turn) step(ctx context.Context, release func(), ask func(context.Context, llm.Client, llm.Ref) error) (step Step, answer Answer, done bool, err error) {
	defer release()
	var v View
	err = t.insist(ctx, func() (err error) {
		v, err = t.view(ctx)
		return err
	})
	if err != nil {
		answer, err = t.broke(err)
		return step, answer, true, err
	}
	step = t.run.Next(v)
	if step.Kind == GaveUp {
		return step, Answer{}, true, step.Err
	}
	t.resumeStatus()
	if step.Kind == Ask {
		answer, done, err = t.ask(ctx, v, step, ask)
	}
	return step, answer, done, err
}

// ask makes one request and books its outcome. done is false when the run must
// be asked again. What it decides then rests on the view that the step was
// decided on, since nothing but the time matters to it.
func (t *Turn) ask(ctx context.Context, v View, step Step, ask func(context.Context, llm.Client, llm.Ref) error) (Answer, bool, error) {
	if ctx.Err() != nil {
		t.run.Unasked()
		a, err := t.stopped(ctx.Err())
		return a, true, err
	}
	var failure *llm.Error
	ref := step.Attempt.Model
	client, err := step.Profile.Client(ctx)
	switch {
	case err == nil:
		t.said = false
		err = ask(ctx, client, ref)
	case !errors.As(err, &failure):
		t.run.Unasked()
		a, err := t.broke(err)
		return a, true, err
	}
	v.Now = t.e.Now()
	switch {
	case err == nil:
		b, pin := t.run.Won(v)
		t.withdraw()
		if err := t.book(ctx, b); err != nil {
			t.e.Log.ErrorContext(ctx, "the answer could not be booked", "profile", b.Profile, "err", err)
		}
		t.report(ctx, true)
		return Answer{Model: ref, Profile: step.Profile.ID, Pin: pin}, true, nil
	case errors.As(err, &failure) && t.mend(v.Now, failure):
		t.report(ctx, false)
		return Answer{}, false, nil
	case errors.As(err, &failure) && !t.said && t.canShrink(v.Now, failure):
		// The candidate goes on with what it said before a tool ran.
		t.report(ctx, false)
		return Answer{}, false, nil
	case errors.As(err, &failure):
		shown := t.hooks.Discard != nil && !t.hooks.Discard()
		if !shown && t.canShrink(v.Now, failure) {
			t.report(ctx, false)
			return Answer{}, false, nil
		}
		b := t.run.Failed(v, failure, shown)
		if failure.Reason != llm.Abort {
			if err := t.insist(ctx, func() error { return t.book(ctx, b) }); err != nil {
				a, err := t.broke(err)
				return a, true, err
			}
		}
		t.report(ctx, false)
		return Answer{}, false, nil
	}
	a, err := t.broke(err)
	return a, true, err
}

// mend asks the owner to mend a refused request.
func (t *Turn) mend(now time.Time, e *llm.Error) bool {
	return e.Reason == llm.Format && t.hooks.Mend != nil && !t.run.mended && t.hooks.Mend(e) && t.run.Mended(now, e)
}

// canShrink reports whether the owner is to make the conversation shorter.
func (t *Turn) canShrink(now time.Time, e *llm.Error) bool {
	if e.Reason != llm.ContextOverflow || t.hooks.Shrink == nil || !t.run.Shrunk(now, e) {
		return false
	}
	t.tooLong = e
	return true
}

// shrink asks the owner to make the conversation shorter, and ends the run if
// that cannot be done.
func (t *Turn) shrink(ctx context.Context) error {
	e := t.tooLong
	t.tooLong = nil
	shorter, err := t.hooks.Shrink(ctx, e)
	if err != nil || shorter {
		return err
	}
	v, err := t.view(ctx)
	if err == nil {
		t.run.TooLong(v, e)
	}
	return err
}

// view reads what the run decides on.
func (t *Turn) view(ctx context.Context) (View, error) {
	plan := t.run.Plan()
	states, err := t.e.Store.States(ctx, plan.Agent)
	if err != nil {
		return View{}, fmt.Errorf("reading the profile states: %w", err)
	}
	profiles := map[string]Profiles{}
	for _, ref := range plan.Chain {
		if _, ok := profiles[ref.Provider]; ok {
			continue
		}
		ps, err := t.e.Profiles(ctx, plan.Agent, ref.Provider)
		if err != nil {
			return View{}, fmt.Errorf("reading the profiles of %s: %w", ref.Provider, err)
		}
		profiles[ref.Provider] = ps
	}
	return View{Now: t.e.Now(), States: states, Profiles: func(p string) Profiles { return profiles[p] }}, nil
}

// book writes an outcome to the store, also when the turn was cancelled
// meanwhile: it happened.
func (t *Turn) book(ctx context.Context, b Booking) error {
	ctx = context.WithoutCancel(ctx)
	var after State
	err := t.e.Store.UpdateState(ctx, t.run.Plan().Agent, b.Profile, func(s State) State {
		s = t.e.Rules.Clamp(s, b.At)
		if b.Error == nil {
			after = Succeed(s, b.Model, b.At)
		} else {
			after = t.e.Rules.Fail(s, b.Profile, b.Model, b.Error, b.At)
		}
		return after
	})
	if err != nil {
		return fmt.Errorf("booking the outcome on %s: %w", b.Profile, err)
	}
	t.run.Booked(b, after)
	return nil
}

func (t *Turn) wait(ctx context.Context, until time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.e.After(until.Sub(t.e.Now())):
	case <-t.hooks.Changed:
		t.changed = true
	case <-t.hooks.Stopping:
		return ErrStopping
	}
	return nil
}

// takeSwitch takes up what the user chose since the last request.
func (t *Turn) takeSwitch(ctx context.Context) error {
	select {
	case <-t.hooks.Changed:
		t.changed = true
	default:
	}
	if t.hooks.Pending == nil || !t.changed || t.run.lost != nil {
		return nil
	}
	t.changed = false
	var s Switch
	var v View
	pending := false
	err := t.insist(ctx, func() (err error) {
		if s, pending, err = t.hooks.Pending(ctx); err != nil || !pending {
			return err
		}
		v, err = t.view(ctx)
		return err
	})
	if err != nil || !pending {
		return err
	}
	t.run.Switch(v, s)
	return t.insist(ctx, func() error { return t.hooks.Taken(ctx, s.ID) })
}

func (t *Turn) stopped(err error) (Answer, error) {
	e := &llm.Error{Reason: llm.Abort, Err: err}
	plan := t.run.Plan()
	return Answer{}, &SummaryError{Plan: plan, Attempts: t.run.Attempts(), Final: e}
}

func (t *Turn) broke(err error) (Answer, error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, ErrStopping) {
		return t.stopped(err)
	}
	t.run.Broke(View{Now: t.e.Now()}, err)
	return Answer{}, t.run.lost
}

// report hands new attempts to the hook and new decisions to the log.
func (t *Turn) report(ctx context.Context, settle bool) {
	if t.hooks.Attempted != nil {
		for ; t.told < len(t.run.attempts); t.told++ {
			t.hooks.Attempted(t.run.attempts[t.told])
		}
	}
	for _, d := range t.run.Decisions(settle) {
		logDecision(ctx, t.e.Log, t.run.Plan(), d)
	}
}
