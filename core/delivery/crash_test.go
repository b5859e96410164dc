package delivery

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"understudy/core"
)

// wire is the platform as one process reaches it. Once it is cut, nothing of
// that process arrives any more.
type wire struct {
	core.Platform
	cut *atomic.Bool
}

var errCut = &core.SendError{Unknown: true, Err: errDead}

func (w wire) Post(ctx context.Context, p core.Post) (core.Posted, error) {
	if w.cut.Load() {
		return core.Posted{}, errCut
	}
	return w.Platform.Post(ctx, p)
}

func (w wire) Edit(ctx context.Context, id string, p core.Post) error {
	if w.cut.Load() {
		return errCut
	}
	return w.Platform.Edit(ctx, id, p)
}

func (w wire) Delete(ctx context.Context, t core.Target, id string) error {
	if w.cut.Load() {
		return errCut
	}
	return w.Platform.Delete(ctx, t, id)
}

// findingWire is a wire to a platform that can look for messages.
type findingWire struct {
	wire
	core.Finder
}

// plan is what happens in one run of the property below.
type plan struct {
	find   bool
	long   bool // the platform takes less than it says
	rotate bool // a message may be a live one for some seconds
	repost bool // slow answers are posted anew
	gone   bool // no message can be edited
	turns  []string
	faults []string
	kills  []int // milliseconds between the deaths of the process
}

func drawPlan(t *rapid.T) plan {
	find := rapid.Bool().Draw(t, "find")
	kinds := []string{"quick", "slow", "longer"}
	if find { // else what the final text does not need cannot always be found
		kinds = append(kinds, "changed")
	}
	return plan{
		find:   find,
		long:   rapid.Bool().Draw(t, "long"),
		rotate: rapid.Bool().Draw(t, "rotate"),
		repost: rapid.Bool().Draw(t, "repost"),
		gone:   rapid.IntRange(0, 3).Draw(t, "gone") == 0,
		turns:  rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 5).Draw(t, "turns"),
		faults: rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "", "busy", "lost", "done", "slow", "stuck"}), 0, 30).Draw(t, "faults"),
		kills:  rapid.SliceOfN(rapid.IntRange(0, 4000), 0, 6).Draw(t, "kills"),
	}
}

// answers are the text that a turn streams and the one it ends with.
func answers(turn, kind string) (streamed, final string) {
	switch kind {
	case "longer":
		final = strings.Repeat(turn+" has many words to say. ", 12)
		return final, final
	case "changed":
		return strings.Repeat(turn+" thinks about it. ", 12), turn + " is done."
	}
	return turn + " says a few words.", turn + " says a few words."
}

// run is the turns of one conversation as a session runs them: one after the
// other, again if the process died before the commit.
func (p plan) run(ctx context.Context, w *world, turns int) (done int) {
	for done = turns; done < len(p.turns); done++ {
		turn := fmt.Sprintf("t%d", done)
		streamed, final := answers(turn, p.turns[done])
		open, err := w.Outgoing(ctx)
		if err != nil {
			return done
		}
		var left []Row
		for _, r := range open {
			if r.Turn == turn {
				left = append(left, r)
			}
		}
		c := WriterConfig{Turn: turn, Target: target("c"), ReplyTo: ModeFirst, Streaming: true, Preview: left}
		if p.repost {
			c.Repost = 4 * time.Second
		}
		a := w.Writer(c)
		if p.turns[done] != "quick" {
			for words := range strings.SplitSeq(streamed, " ") {
				a.Text(words + " ")
				if !w.pause(ctx, 200*time.Millisecond) {
					a.Close()
					return done
				}
			}
		}
		rows := append(a.Finish(final), row("c", turn, core.PostNotice, 0, turn+" has a notice."))
		if w.dying() {
			a.Close()
			return done
		}
		w.say(rows...)
		a.Close()
	}
	return done
}

func (w *world) dying() bool {
	w.handle.mu.Lock()
	defer w.handle.mu.Unlock()
	return w.handle.dead
}

// fault is the platform's behaviour under the plan.
func (p plan) fault() func(string, core.Post) fault {
	faults := p.faults
	return func(op string, post core.Post) fault {
		if op == "working" || op == "find" || op == "delete" {
			return fault{}
		}
		if p.long && len(post.Text) > 60 {
			return fault{err: errLong}
		}
		if p.gone && op == "edit" {
			return fault{err: errGone}
		}
		if len(faults) == 0 {
			return fault{}
		}
		f := faults[0]
		faults = faults[1:]
		switch f {
		case "busy":
			return fault{err: errBusy}
		case "lost":
			return fault{err: errLost}
		case "done":
			return fault{err: errLost, done: true}
		case "slow":
			return fault{delay: 700 * time.Millisecond}
		case "stuck":
			return fault{delay: time.Hour}
		}
		return fault{}
	}
}

// play runs the plan and returns what the platform shows in the end.
func (p plan) play(t *testing.T) (f *fake, rows []Row) {
	f = newFake()
	f.limits.MaxText = 100
	if p.rotate {
		f.limits.Rotate = 3 * time.Second
	}
	f.loose = p.find
	f.script(p.fault())
	m := &memory{}
	done := 0
	for life := 0; ; life++ {
		cut := &atomic.Bool{}
		var platform core.Platform = wire{f, cut}
		if p.find {
			platform = findingWire{wire{f, cut}, &finder{fake: f}}
		}
		w := start(t, m, platform)
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan int, 1)
		go func() { ran <- p.run(ctx, w, done) }()
		if life < len(p.kills) {
			time.Sleep(time.Duration(p.kills[life]) * time.Millisecond)
			cut.Store(true)
			w.handle.mu.Lock()
			w.handle.dead = true
			w.handle.mu.Unlock()
			cancel()
			w.stop()
			done = <-ran
			continue
		}
		done = <-ran
		w.flush()
		cancel()
		w.stop()
		return f, m.rows
	}
}

// Whatever fails and whenever the process dies, each part of each answer is
// there once, in order, with the final text, and the notice after it.
func TestEveryPartIsThereOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		var f *fake
		var got []message
		var rows []Row
		synctest.Test(t, func(t *testing.T) {
			f, rows = p.play(t)
			got = f.all()
		})
		failed := map[string]bool{}
		for _, r := range rows {
			if r.State == Failed {
				failed[r.Turn] = true
			}
			if r.State.Open() {
				rt.Fatalf("row %+v is still open", r)
			}
		}
		var shown strings.Builder
		nonces := map[string]bool{}
		for _, m := range got {
			if m.deleted {
				continue
			}
			if nonces[m.nonce] {
				rt.Fatalf("two messages have the nonce %q", m.nonce)
			}
			nonces[m.nonce] = true
			shown.WriteString(m.text)
			if m.live && p.rotate {
				rt.Fatalf("message %q is still live", m.text)
			}
		}
		if len(failed) > 0 {
			return // what is given up is not there; other tests hold that
		}
		var want strings.Builder
		for i, kind := range p.turns {
			turn := fmt.Sprintf("t%d", i)
			_, final := answers(turn, kind)
			want.WriteString(final + turn + " has a notice.")
		}
		if len(f.links()) != len(p.turns) {
			rt.Fatalf("the link is on %q in %d turns", f.links(), len(p.turns))
		}
		if shown.String() != want.String() {
			rt.Fatalf("the platform shows %q\nwant %q", shown.String(), want.String())
		}
	})
}
