package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// places knows the channels and threads that the bot can see. What the gateway
// did not tell is asked for.
type places struct {
	rest *rest

	mu       sync.Mutex
	channels map[string]wireChannel         // of all guilds, without threads
	threads  *bounded[wireChannel]          // and direct messages: those used lately
	missing  *bounded[time.Time]            // asked for in vain, until then
	byGuild  map[string]map[string]struct{} // channels by guild, to forget them with it
	ownRoles map[string]bool                // roles that Discord made for the bot
	boosts   map[string]int                 // levels of guilds
	patience time.Duration                  // with a look-up
}

const (
	lookupLimit = 2 * time.Second  // Discord wants interactions answered in three
	missingFor  = 30 * time.Second // a channel that Discord does not show is not asked for again
	failedFor   = 2 * time.Second  // one for which it could not be asked just now is not either
	manyMissing = 1000
)

func newPlaces(r *rest) *places {
	return &places{rest: r, channels: map[string]wireChannel{}, threads: newBounded[wireChannel](manyPlaces),
		missing: newBounded[time.Time](manyMissing), byGuild: map[string]map[string]struct{}{}, ownRoles: map[string]bool{},
		boosts: map[string]int{}, patience: lookupLimit}
}

func (p *places) learn(c wireChannel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(c)
}

// hint notes a thread that came with something else, if it is not known yet.
func (p *places) hint(guild string, c wireChannel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.threads.get(c.ID); !known && c.thread() && c.ParentID != "" {
		c.GuildID = guild
		p.put(c)
	}
}

// put notes a channel. The lock is held.
func (p *places) put(c wireChannel) {
	if c.ID == "" {
		return
	}
	if c.thread() || c.private() {
		p.threads.put(c.ID, c)
		return
	}
	p.channels[c.ID] = c
	if p.byGuild[c.GuildID] == nil {
		p.byGuild[c.GuildID] = map[string]struct{}{}
	}
	p.byGuild[c.GuildID][c.ID] = struct{}{}
}

// learnGuild notes the channels and threads of a guild, and the role that was
// made for the bot.
func (p *places) learnGuild(g wireGuild, bot string) {
	id := g.ID
	if id == "" {
		id = g.GuildID
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if g.Boosts != nil {
		p.boosts[id] = *g.Boosts
	}
	for _, role := range g.Roles {
		if bot != "" && role.Tags.BotID == bot {
			p.ownRoles[role.ID] = true
		}
	}
	for _, list := range [][]wireChannel{g.Channels, g.Threads} {
		for _, c := range list {
			c.GuildID = id // not told within a guild
			p.put(c)
		}
	}
}

func (p *places) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.channels[id]; ok {
		delete(p.byGuild[c.GuildID], id)
		delete(p.channels, id)
	}
	p.threads.drop(id)
}

func (p *places) forgetGuild(guild string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.byGuild[guild] {
		delete(p.channels, id)
	}
	delete(p.byGuild, guild)
	delete(p.boosts, guild)
}

// maxFile is the size of the largest file that a guild takes.
func (p *places) maxFile(guild string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if most, ok := boosted[p.boosts[guild]]; ok {
		return most
	}
	return maxFile
}

// ownRole reports whether a role is the one that was made for the bot.
func (p *places) ownRole(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ownRoles[id]
}

func (p *places) known(id string) (wireChannel, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.channels[id]; ok {
		return c, true
	}
	return p.threads.get(id)
}

// find looks a channel up and asks for it if it is not known.
func (p *places) find(ctx context.Context, id string) (wireChannel, error) {
	if c, ok := p.known(id); ok {
		return c, nil
	}
	p.mu.Lock()
	until, missing := p.missing.get(id)
	p.mu.Unlock()
	if missing && time.Now().Before(until) {
		return wireChannel{}, fmt.Errorf("channel %s could not be looked up a moment ago", id)
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	got, err := p.rest.ask(ctx, urgentFirst, http.MethodGet, "channels/"+id, nil)
	var c wireChannel
	if err == nil {
		c, err = read[wireChannel](got.body)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || c.ID != id {
		p.missing.put(id, time.Now().Add(closedFor(err)))
		return wireChannel{}, fmt.Errorf("look up channel %s: %w", id, err)
	}
	p.put(c)
	return c, nil
}

// closedFor is how long a channel stays closed that could not be looked up: a
// failure of Discord's passes sooner than a refusal.
func closedFor(err error) time.Duration {
	var r *refusal
	refused := errors.As(err, &r) && r.status >= 400 && r.status < 500 && r.status != http.StatusTooManyRequests
	if err == nil || refused {
		return missingFor
	}
	return failedFor
}

// private is a channel that is said to belong to no guild, and whether that is
// so. Whether it is a group Discord often does not say; if it cannot be asked
// either, it is none: bots are hardly ever in one.
func (p *places) private(ctx context.Context, here wireChannel) (wireChannel, bool) {
	if here.private() {
		return here, true
	}
	if c, err := p.find(ctx, here.ID); err == nil {
		return c, c.private()
	}
	return wireChannel{ID: here.ID, Type: typeDirect}, true
}

// chain is a channel followed by what holds it: a thread's channel, and the
// channel's category, of which only the id matters.
func (p *places) chain(ctx context.Context, id string) ([]wireChannel, error) {
	c, err := p.find(ctx, id)
	if err != nil {
		return nil, err
	}
	all := []wireChannel{c}
	if c.thread() {
		if c, err = p.find(ctx, c.ParentID); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if c.ParentID != "" {
		all = append(all, wireChannel{ID: c.ParentID})
	}
	return all, nil
}
