package slack

import (
	"context"
	"sync"
	"time"
)

const (
	// nameWait is how long one message may wait for the names in it. Whoever
	// is not known by then goes by id, this once.
	nameWait = 400 * time.Millisecond
	// nameLookup bounds a look-up, which goes on when nobody waits for it.
	nameLookup = 10 * time.Second
	nameLife   = time.Hour
	nameRetry  = time.Minute // after a look-up that failed
	maxNames   = 10000
)

// names are the display names of people, looked up once and kept for a while.
// Only one look-up runs per person.
type names struct {
	fetch   func(ctx context.Context, user string) (string, error)
	ctx     context.Context // of the look-ups, which outlive those who ask
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	known map[nameKey]*name
}

// nameKey holds the workspace, since an app of an organisation meets the same
// ids in several.
type nameKey struct{ team, user string }

type name struct {
	done  chan struct{} // closed when text and until are set
	text  string
	until time.Time
}

func newNames(fetch func(context.Context, string) (string, error)) *names {
	ctx, cancel := context.WithCancel(context.Background())
	return &names{fetch: fetch, ctx: ctx, cancel: cancel, known: map[nameKey]*name{}}
}

// stop ends what is being looked up. Nobody may ask any more.
func (n *names) stop() {
	n.cancel()
	n.running.Wait()
}

// get is the display name of a user, or the id if none is known when ctx ends.
func (n *names) get(ctx context.Context, team, user string) string {
	if user == "" {
		return ""
	}
	e := n.entry(nameKey{team, user})
	select {
	case <-e.done:
		return first(e.text, user)
	case <-ctx.Done():
		return user
	}
}

// entry is the one for the key; a new or stale one is being looked up.
func (n *names) entry(k nameKey) *name {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.known[k]; e != nil {
		select {
		case <-e.done:
			if time.Now().Before(e.until) {
				return e
			}
		default:
			return e
		}
	}
	for old := range n.known { // any will do
		if len(n.known) < maxNames {
			break
		}
		delete(n.known, old)
	}
	e := &name{done: make(chan struct{})}
	n.known[k] = e
	n.running.Go(func() {
		defer close(e.done)
		ctx, cancel := context.WithTimeout(n.ctx, nameLookup)
		defer cancel()
		text, err := n.fetch(ctx, k.user)
		e.text, e.until = text, time.Now().Add(nameLife)
		if err != nil {
			e.until = time.Now().Add(nameRetry)
		}
	})
	return e
}

// fetchName asks Slack for a display name.
func (a *Adapter) fetchName(ctx context.Context, user string) (string, error) {
	u, err := a.api.GetUserInfoContext(ctx, user)
	if err != nil {
		a.log.Debug("a name is not known", "user", user, "error", clean(err))
		return "", err
	}
	return first(u.Profile.DisplayName, u.Profile.RealName, u.RealName, u.Name), nil
}
