package slack

import (
	"context"
	"sync"
	"time"

	"understudy/core/rescue"
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

// names are the display names and workspaces of people, looked up once and kept
// for a while.
// Only one look-up runs per person.
type names struct {
	fetch   func(ctx context.Context, user string) (person, error)
	ctx     context.Context // of the look-ups, which outlive those who ask
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	known map[nameKey]*name
}

// nameKey holds the workspace, since an app of an organisation meets the same
// ids in several.
type nameKey struct{ team, user string }

// person is what Slack knows of somebody: a display name, and the workspace.
type person struct{ name, home string }

type name struct {
	done  chan struct{} // closed when who and until are set
	who   person
	until time.Time
}

func newNames(fetch func(context.Context, string) (person, error)) *names {
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
	return first(n.person(ctx, team, user).name, user)
}

// home is the workspace of a user, empty if none is known when ctx ends.
func (n *names) home(ctx context.Context, user string) string { return n.person(ctx, "", user).home }

func (n *names) person(ctx context.Context, team, user string) person {
	if user == "" {
		return person{}
	}
	e := n.entry(nameKey{team, user})
	select {
	case <-e.done:
		return e.who
	case <-ctx.Done():
		return person{}
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
		who, err := n.fetch(ctx, k.user)
		e.who, e.until = who, time.Now().Add(nameLife)
		if err != nil {
			e.until = time.Now().Add(nameRetry)
		}
	})
	return e
}

// fetchPerson asks Slack who somebody is.
func (a *Adapter) fetchPerson(ctx context.Context, user string) (_ person, err error) {
	defer rescue.Error(&err, a.log, "asking for a name")
	u, err := a.api.GetUserInfoContext(ctx, user)
	if err != nil {
		a.log.Debug("a name is not known", "user", user, "error", clean(err))
		return person{}, err
	}
	return person{first(u.Profile.DisplayName, u.Profile.RealName, u.RealName, u.Name), u.TeamID}, nil
}
