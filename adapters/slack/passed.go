package slack

import "sync"

// tally counts what was passed over, by cause.
type tally struct {
	mu    sync.Mutex
	times map[string]int
}

func newTally() *tally { return &tally{times: map[string]int{}} }

// add counts one more, and returns how many there were.
func (t *tally) add(cause string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times[cause]++
	return t.times[cause]
}

// passOver notes something from Slack that nobody can use: a frame, an event or
// an interaction that does not parse, or a kind of event or envelope that is not
// known. It was, or will be, acknowledged, since Slack would repeat it to the
// end. The line says how often there was such a thing since the start; later
// ones have a line in a hundred.
func (a *Adapter) passOver(cause string, about ...any) {
	if n := a.passed.add(cause); n <= 10 || n%100 == 0 {
		a.log.Warn("something from Slack could not be used and was passed over", append([]any{"cause", cause, "times", n}, about...)...)
	}
}
