package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"understudy/core"
)

// What is read after a gap, at most. A gap is a matter of seconds or minutes;
// after a day nobody waits for an answer any more.
const (
	backfillAge     = 24 * time.Hour
	backfillPage    = 50               // messages of a channel at a time, by turns with the others
	backfillEach    = 500              // messages of one channel
	backfillAll     = 5000             // messages at a time over all channels
	backfillMost    = 200              // channels of all guilds of a shard
	backfillAtATime = 8                // requests at a time
	backfillTime    = 2 * time.Minute  // for all of a guild's, since new messages wait meanwhile
	backfillOverlap = 10 * time.Second // what is read twice, since channels are not in step
)

// gaps is what the gateway will not tell: everything said since a message, in
// the guilds of which the state is still to come. The state says for every
// channel which message is its last, and so which channels are to be read.
type gaps struct {
	newest map[int]uint64      // by shard, the newest message
	since  map[string]uint64   // by guild, until its state came
	named  map[string][]string // by guild, threads that earlier processes knew
	left   map[int]int         // by shard, channels that may still be read
}

func newGaps() gaps {
	return gaps{newest: map[int]uint64{}, since: map[string]uint64{}, named: map[string][]string{}, left: map[int]int{}}
}

// recall takes what earlier processes knew of the account. It is read as the
// first gap.
func (r *run) recall(ctx context.Context) {
	if r.config.Seen == nil {
		return
	}
	seen, err := r.config.Seen(ctx)
	if err != nil {
		r.log.Error("what was seen before the start cannot be read; what was said meanwhile is not answered", "error", err)
		return
	}
	if seen.At.IsZero() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps.newest[0] = snowflake(seen.At)
	for _, t := range seen.Threads[:min(len(seen.Threads), backfillMost)] {
		switch {
		case t.Platform != "discord" || t.Account != r.config.Account:
		case t.Kind == core.KindDirect:
			r.direct.put(t.Channel, struct{}{})
		default:
			r.gaps.named[t.Workspace] = append(r.gaps.named[t.Workspace], t.Channel)
		}
	}
}

// reshard lets a number of shards begin where those before them ended. The lock
// is not held.
func (r *run) reshard(count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var oldest uint64
	for _, id := range r.gaps.newest {
		if oldest == 0 || id < oldest {
			oldest = id
		}
	}
	clear(r.gaps.newest)
	for shard := range count {
		r.gaps.newest[shard] = oldest
	}
	r.count = count
}

// shardOf is the shard that tells what happens in a guild. Direct messages are
// told by the first.
func (r *run) shardOf(guild string) int {
	return int(number(guild) >> 22 % uint64(max(r.count, 1)))
}

// missing notes that a connection begins without knowing what was said before
// it, and reads the direct messages that were active.
func (r *run) missing(ready greeting) {
	shard, _ := ready.shard()
	r.mu.Lock()
	since := r.gaps.newest[shard]
	if overlap := uint64(backfillOverlap.Milliseconds()) << 22; since > overlap {
		since = max(since-overlap, snowflake(time.Now().Add(-backfillAge)))
	}
	r.gaps.newest[shard] = max(r.gaps.newest[shard], snowflake(time.Now()))
	r.gaps.left[shard] = backfillMost
	for _, g := range ready.Guilds {
		if since > 0 {
			r.gaps.since[string(g.ID)] = since
		}
	}
	var direct []*unread
	if shard == 0 {
		for id := range r.direct.all {
			direct = append(direct, &unread{channel: id, after: since})
		}
	}
	r.mu.Unlock()
	if since > 0 {
		r.readAll(direct)
	}
}

// missedIn reads the threads of a guild that earlier processes knew, archived or
// not, and then the channels in which something was said meanwhile, those where
// it was last first.
func (r *run) missedIn(g wireGuild) {
	r.mu.Lock()
	since, due := r.gaps.since[g.ID]
	named := r.gaps.named[g.ID]
	delete(r.gaps.since, g.ID)
	delete(r.gaps.named, g.ID)
	r.mu.Unlock()
	if !due {
		return
	}
	last := map[string]uint64{}
	active := slices.Concat(g.Channels, g.Threads)
	for _, c := range active {
		last[c.ID] = number(c.LastMessageID)
	}
	slices.SortFunc(active, func(a, b wireChannel) int { return cmp.Compare(last[b.ID], last[a.ID]) })
	var list []*unread
	add := func(id string) { list = append(list, &unread{channel: id, guild: g.ID, after: since}) }
	for _, id := range named {
		if newest, listed := last[id]; !listed || newest > since {
			add(id)
		}
	}
	for _, c := range active {
		if c.talks() && last[c.ID] > since && !slices.Contains(named, c.ID) && r.mayHear(g.ID, c.ID) {
			add(c.ID)
		}
	}
	r.readAll(r.ration(g.ID, list))
}

// ration are as many of a guild's channels as may still be read after a gap.
func (r *run) ration(guild string, list []*unread) []*unread {
	r.mu.Lock()
	defer r.mu.Unlock()
	shard := r.shardOf(guild)
	n := min(len(list), r.gaps.left[shard])
	r.gaps.left[shard] -= n
	if n < len(list) {
		r.log.Warn("too much was said during a gap; some channels are not read", "guild", guild, "channels", len(list), "read", n)
	}
	return list[:n]
}

// mayHear reports whether anybody may talk to the bot in a channel.
func (r *run) mayHear(guild, channel string) bool {
	chain, err := r.places.chain(r.ctx, channel)
	if err != nil {
		return false
	}
	if r.rules.place(placeIDs(guild, chain)) {
		return true
	}
	for id := range r.rules.ids {
		if _, place := r.places.known(id); !place {
			return true // it may be somebody who may talk everywhere
		}
	}
	return false
}

// unread is a channel that is read after a gap, from a message on.
type unread struct {
	channel, guild string
	after          uint64
	read, last     int // messages, in all and of the last page
}

// readAll reads channels and takes what was said as if it had just come. Live
// messages of a channel wait until it is read.
func (r *run) readAll(list []*unread) {
	if len(list) == 0 {
		return
	}
	r.hold(list)
	r.spawn("reading of missed messages", func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, backfillTime)
		defer cancel()
		for left := backfillAll; len(list) > 0; {
			more := r.round(ctx, list)
			for _, u := range list {
				left -= u.last
			}
			if left <= 0 || ctx.Err() != nil {
				for _, u := range more {
					r.giveUp(u)
				}
				return
			}
			list = more
		}
	})
}

// round reads a page of every channel, so that a busy one does not keep the
// others waiting. It returns those of which there is more.
func (r *run) round(ctx context.Context, list []*unread) []*unread {
	var group errgroup.Group
	group.SetLimit(backfillAtATime)
	for _, u := range list {
		group.Go(func() error {
			defer r.survive("missed messages")
			r.page(ctx, u)
			return nil
		})
	}
	_ = group.Wait() // what failed is in the log
	return slices.DeleteFunc(slices.Clone(list), func(u *unread) bool { return u.last < backfillPage })
}

// page reads a page of a channel and takes it; after the last, also what was
// said meanwhile.
func (r *run) page(ctx context.Context, u *unread) {
	messages, err := r.missed(ctx, u)
	if err != nil && !refusedWith(err, codeUnknownChannel) {
		r.log.Warn("what was said during the gap cannot be read", "channel", u.channel, "error", err)
	}
	for _, m := range messages {
		r.message(m)
	}
	switch {
	case u.last < backfillPage:
		r.letIn(u.channel)
	case u.read >= backfillEach:
		u.last = 0
		r.giveUp(u)
	}
}

// giveUp leaves the rest of a channel unread.
func (r *run) giveUp(u *unread) {
	r.log.Warn("more was said during the gap than is read; the rest is passed over", "channel", u.channel, "read", u.read)
	r.letIn(u.channel)
}

// letIn takes the messages that waited for a channel to be read.
func (r *run) letIn(channel string) {
	for messages := r.release(channel); len(messages) > 0; messages = r.release(channel) {
		for _, m := range messages {
			r.message(m)
		}
	}
}

// maxHeld is how many messages of one channel wait for older ones; more are taken
// before those.
const maxHeld = 1000

// live takes a message of the gateway. While its channel is still to be read,
// the message waits, since older ones come first.
func (r *run) live(m wireMessage) {
	r.mu.Lock()
	shard := r.shardOf(m.GuildID)
	r.gaps.newest[shard] = max(r.gaps.newest[shard], number(m.ID))
	if m.GuildID == "" {
		r.direct.put(m.ChannelID, struct{}{})
	}
	list, waits := r.held[m.ChannelID]
	if waits = waits && len(list) < maxHeld; waits {
		r.held[m.ChannelID] = append(list, m)
	}
	r.mu.Unlock()
	if !waits {
		r.message(m)
	}
}

// hold lets the messages of some channels wait until they are released.
func (r *run) hold(list []*unread) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range list {
		if r.held[u.channel] == nil {
			r.held[u.channel] = []wireMessage{}
		}
	}
}

// release gives the messages that came meanwhile, or, when there is none, lets
// those to come pass.
func (r *run) release(channel string) []wireMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.held[channel]
	if len(list) == 0 {
		delete(r.held, channel)
		return nil
	}
	r.held[channel] = []wireMessage{}
	return list
}

// missed are the next messages of a channel, oldest first.
func (r *run) missed(ctx context.Context, u *unread) ([]wireMessage, error) {
	u.last = 0
	path := fmt.Sprintf("%s?limit=%d&after=%d", messagesPath(u.channel), backfillPage, u.after)
	got, err := r.request(ctx, u.channel, routeRead, whenFree, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	var page []json.RawMessage
	if err := json.Unmarshal(got, &page); err != nil {
		return nil, fmt.Errorf("read the messages of %s: %w", u.channel, err)
	}
	before := u.after
	var all []wireMessage
	for _, raw := range slices.Backward(page) { // Discord lists the newest first
		if m, ok := decode[wireMessage](r, "missed message", raw); ok {
			u.after = max(u.after, number(m.ID))
			m.GuildID = u.guild // only the gateway tells
			r.addMember(ctx, &m)
			all = append(all, m)
		}
	}
	if u.after > before {
		u.last = len(page) // else it would be the same page again
	}
	u.read += len(page)
	return all, nil
}

// addMember asks for the roles of an author, which only the gateway tells with
// a message, when he may talk because of them at most.
func (r *run) addMember(ctx context.Context, m *wireMessage) {
	if m.GuildID == "" || m.Author == nil || m.machine() {
		return
	}
	if _, ok := r.permits(ctx, m.GuildID, m.ChannelID, m.speaker()); ok {
		return
	}
	path := "guilds/" + m.GuildID + "/members/" + m.Author.ID
	got, err := r.request(ctx, "guilds/"+m.GuildID, routeRead, whenFree, http.MethodGet, path, nil)
	if err != nil {
		return // he left, or is treated as if he had no roles
	}
	if member, ok := decode[wireMember](r, "member", got); ok {
		m.Member = &member
	}
}
