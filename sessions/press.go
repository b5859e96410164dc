package sessions

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"
	"time"

	"understudy/core"
)

const (
	// pickerLife is how long a menu can be picked from.
	pickerLife = 30 * time.Minute
	// maxPickers are kept at most; the oldest go first.
	maxPickers = 1000
)

// picker is what stands behind a menu: the values that its options had when it
// was shown, whatever has changed since.
type picker struct {
	command string
	values  []string
	owner   string // who may pick
	made    time.Time
}

// pickers are the menus that can be picked from. After a restart there are
// none, and the menus of before say that they are out of date.
type pickers struct {
	mu    sync.Mutex
	list  map[string]picker
	order []string
}

func (p *pickers) keep(k picker) (token string) {
	token = rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list == nil {
		p.list = map[string]picker{}
	}
	if len(p.order) >= maxPickers {
		delete(p.list, p.order[0])
		p.order = p.order[1:]
	}
	p.list[token] = k
	p.order = append(p.order, token)
	return token
}

func (p *pickers) find(token string, now time.Time) (picker, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, ok := p.list[token]
	return k, ok && now.Sub(k.made) < pickerLife
}

// Press carries out a pick from a menu; see [core.Handler].
func (b *Bot) Press(ctx context.Context, p core.Press) (core.Reply, error) {
	k, ok := b.pickers.find(p.Token, b.Now())
	n, err := strconv.Atoi(p.Value)
	switch {
	case !ok || err != nil || n < 0 || n >= len(k.values):
		return core.Reply{Text: oldMenuText}, nil
	case k.owner != p.Author.ID:
		return core.Reply{Text: notYoursText, Aside: true}, nil
	}
	return b.Command(ctx, core.Invocation{ID: p.ID, Author: p.Author, Target: p.Target, Name: k.command, Args: k.values[n], Native: true})
}

// Known and Knock decide about people who write directly; see [core.Handler].
func (b *Bot) Known(_ context.Context, t core.Thread, who core.Author) (bool, error) {
	set := b.Settings()
	return set.Admin != nil && set.Admin(t.Platform, who), nil
}

// Knock answers somebody who is not known; see [core.Handler].
func (b *Bot) Knock(context.Context, core.Message) (string, error) { return "", nil }
