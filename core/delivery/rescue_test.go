package delivery

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// broken is a platform whose adapter makes mistakes: the first post panics,
// before or after it was made, and so does every look at the indicator.
type broken struct {
	*fake
	late  bool
	posts int
}

func (b *broken) Post(ctx context.Context, p core.Post) (core.Posted, error) {
	if b.posts++; b.posts > 1 {
		return b.fake.Post(ctx, p)
	}
	if b.late {
		b.fake.Post(ctx, p)
	}
	panic("a mistake with xoxb-123456789012-abcdef")
}

func (b *broken) Working(context.Context, core.Target, bool) error { panic("a mistake, too") }

// A mistake of an adapter costs nothing but a line in the log: the post is made,
// once, and so is what follows it.
func TestAPanicInAnAdapter(t *testing.T) {
	for name, late := range map[string]bool{"before the post": false, "after the post": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said := &strings.Builder{}
				f := newFake()
				w := start(t, &memory{}, &broken{fake: f, late: late})
				defer w.stop()
				w.c.Log = slog.New(slog.NewTextHandler(said, nil))
				stop := w.Working(row("c", "t1", core.PostAnswer, 0, "").Post.Target)
				w.say(row("c", "t1", core.PostAnswer, 0, "answer"), row("c", "t2", core.PostAnswer, 0, "the next one"))
				w.flush()
				stop()
				if got := f.texts("c"); !slices.Equal(got, []string{"answer", "the next one"}) {
					t.Errorf("there is %q", got)
				}
				if n := strings.Count(said.String(), "a mistake of this program"); n < 2 || !strings.Contains(said.String(), `in="sending a post"`) {
					t.Errorf("the log says %s", said)
				}
			})
		})
	}
}

// What is kept of an error says nothing that is hidden.
func TestWhatIsKeptOfAnErrorIsHidden(t *testing.T) {
	for name, refusal := range map[string]*core.SendError{
		"given up":  {Permanent: true, Err: errors.New("not for plain words")},
		"put off":   {Err: errors.New("not now for plain words")},
		"not known": {Unknown: true, Err: errors.New("what of plain words")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.script(func(string, core.Post) fault { return fault{err: refusal} })
				w := startWith(t, &memory{}, f, func(c *Config) {
					c.Hide = func(s string) string { return strings.ReplaceAll(s, "plain words", "[secret]") }
				})
				w.say(row("c", "t1", core.PostAnswer, 0, "answer"))
				time.Sleep(2 * time.Second)
				w.stop()
				kept := w.rows[0].Error
				if strings.Contains(kept, "plain words") || !strings.Contains(kept, "[secret]") {
					t.Errorf("%q is kept", kept)
				}
				for _, r := range w.gaveUp {
					if strings.Contains(r.Error, "plain words") {
						t.Errorf("operators are told %q", r.Error)
					}
				}
			})
		})
	}
}

// A mistake outside of a request loses what waits in its lane until the next
// start, and no other; what is said later goes out.
func TestAPanicInALane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.script(func(op string, p core.Post) fault {
			if p.Text == "refused" {
				return fault{err: &core.SendError{Permanent: true, Err: errors.New("no")}}
			}
			return fault{}
		})
		w := start(t, &memory{}, f)
		defer w.stop()
		w.c.GaveUp = func(Row) { panic("whoever hears of it makes a mistake") }
		w.say(row("c", "t1", core.PostAnswer, 0, "refused"))
		w.flush()
		w.say(row("c", "t2", core.PostAnswer, 0, "the next one"), row("d", "t3", core.PostAnswer, 0, "elsewhere"))
		w.flush()
		w.expect("c", "the next one")
		w.expect("d", "elsewhere")
	})
}
