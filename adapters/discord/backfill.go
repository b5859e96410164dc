package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	backfillLimit   = 100              // messages of one conversation that are read after a gap
	backfillAtATime = 8                // conversations that are read at a time
	backfillTime    = 30 * time.Second // for all of a guild's, since new messages wait meanwhile
	backfillOverlap = 10 * time.Second // what is read twice, since channels are not in step
)

// gap is what the gateway will not tell: everything said since a message, in
// the guilds of which the state is still to come. The state says for every
// channel which message is its last, and so which channels are to be read.
type gap struct {
	since  uint64 // the id of a message; zero when nothing was missed
	guilds map[string]bool
}

// missing notes that a connection begins without knowing what was said before
// it, and reads the direct messages that were active.
func (r *run) missing(ready wireReady) {
	r.mu.Lock()
	since := snowflake(r.config.Since)
	if r.newest != 0 {
		since = r.newest - uint64(backfillOverlap.Milliseconds())<<22
	}
	r.newest = max(r.newest, snowflake(time.Now()))
	r.gap = gap{since: since, guilds: map[string]bool{}}
	for _, g := range ready.Guilds {
		r.gap.guilds[g.ID] = true
	}
	var direct []string
	for id := range r.direct.all {
		direct = append(direct, id)
	}
	r.mu.Unlock()
	r.readAll(direct, since)
}

// missedIn reads the channels of a guild in which something was said meanwhile.
func (r *run) missedIn(g wireGuild) {
	r.mu.Lock()
	since, due := r.gap.since, r.gap.guilds[g.ID]
	delete(r.gap.guilds, g.ID)
	r.mu.Unlock()
	if !due {
		return
	}
	var active []string
	for _, c := range slices.Concat(g.Channels, g.Threads) {
		if c.talks() && number(c.LastMessageID) > since && r.mayHear(g.ID, c.ID) {
			active = append(active, c.ID)
		}
	}
	r.readAll(active, since)
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

// readAll reads channels from a message on, and takes what was said as if it
// had just come. Messages that come meanwhile wait until their channel is read.
func (r *run) readAll(channels []string, since uint64) {
	if since == 0 || len(channels) == 0 {
		return
	}
	r.hold(channels)
	r.spawn("reading of missed messages", func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, backfillTime)
		defer cancel()
		var group errgroup.Group
		group.SetLimit(backfillAtATime)
		for _, channel := range channels {
			group.Go(func() error {
				defer r.survive("missed messages")
				r.read(ctx, channel, since)
				return nil
			})
		}
		_ = group.Wait() // what failed is in the log
	})
}

func (r *run) read(ctx context.Context, channel string, since uint64) {
	messages, err := r.missed(ctx, channel, since)
	if err != nil {
		r.log.Warn("what was said during the gap cannot be read", "channel", channel, "error", err)
	}
	for again := true; again; again = len(messages) > 0 {
		for _, m := range messages {
			r.message(m)
		}
		messages = r.release(channel)
	}
}

// live takes a message of the gateway. While its channel is still to be read,
// the message waits, since older ones come first.
func (r *run) live(m wireMessage) {
	r.mu.Lock()
	r.newest = max(r.newest, number(m.ID))
	if m.GuildID == "" {
		r.direct.put(m.ChannelID, struct{}{})
	}
	list, waits := r.held[m.ChannelID]
	if waits {
		r.held[m.ChannelID] = append(list, m)
	}
	r.mu.Unlock()
	if !waits {
		r.message(m)
	}
}

// hold lets the messages of some channels wait until they are released.
func (r *run) hold(channels []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, channel := range channels {
		if r.held[channel] == nil {
			r.held[channel] = []wireMessage{}
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

// missed are the messages of a channel after one of them, oldest first.
func (r *run) missed(ctx context.Context, channel string, since uint64) ([]wireMessage, error) {
	path := messagesPath(channel) + "?limit=" + strconv.Itoa(backfillLimit) + "&after=" + strconv.FormatUint(since, 10)
	got, err := r.request(ctx, channel, routeRead, whenFree, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	var page []json.RawMessage
	if err := json.Unmarshal(got, &page); err != nil {
		return nil, fmt.Errorf("read the messages of %s: %w", channel, err)
	}
	here, _ := r.places.known(channel)
	var all []wireMessage
	for _, raw := range slices.Backward(page) { // Discord lists the newest first
		if m, ok := decode[wireMessage](r, "missed message", raw); ok {
			m.GuildID = here.GuildID // only the gateway tells
			r.addMember(ctx, &m)
			all = append(all, m)
		}
	}
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
