package admin

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/store/memory"
)

// What is known to be a credential is hidden before operators see it.
func TestTheFeedHidesWhatIsKnown(t *testing.T) {
	run(t, func(d *desk) {
		d.Hide = func(s string) string { return strings.ReplaceAll(s, "plain words", "[secret]") }
		d.hear(Fault, "x", "it said plain words and sk-proj-abc123DEF456ghi789")
		if got := strings.Join(d.texts(), "\n"); strings.Contains(got, "plain words") || strings.Contains(got, "abc123DEF") || strings.Count(got, "[secret]") != 2 {
			t.Errorf("the channel shows %s", got)
		}
	})
}

// stumbling is a channel whose adapter makes a mistake, once.
type stumbling struct {
	*board
	stumbled bool
}

func (s *stumbling) Post(ctx context.Context, p core.Post) (core.Posted, error) {
	if !s.stumbled {
		s.stumbled = true
		panic("a mistake")
	}
	return s.board.Post(ctx, p)
}

// A mistake of the channel's adapter does not silence the feed.
func TestAPanicOfTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &board{}
		f := New(nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		s := &stumbling{board: b}
		go func() {
			defer close(done)
			f.Run(ctx, Config{Store: memory.New().Open(memory.Options{}), Platform: func(core.Thread) (core.Platform, bool) { return s, true }, Channel: func() (core.Thread, bool) { return channel, true }})
		}()
		f.Hear(core.Alert{Kind: Fault, Key: "x", Text: "something happened"})
		time.Sleep(time.Hour)
		cancel()
		<-done
		if got := b.texts(); len(got) != 1 || !strings.Contains(got[0], "something happened") {
			t.Errorf("the channel shows %q", got)
		}
	})
}
