package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// note keeps the newest message of a channel, from which on it is read after a
// gap.
func (r *run) note(channel, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.seen.get(channel); !ok || number(old) < number(message) {
		r.seen.put(channel, message)
	}
}

func (r *run) lastSeen() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.seen.all)
}

// backfillLimit is how many messages of one conversation are read after a gap.
const backfillLimit = 100

// backfill reads what was said in conversations since the message that was seen
// last, and takes it as if it had just come.
func (r *run) backfill(ctx context.Context, since map[string]string) {
	for _, channel := range slices.Sorted(maps.Keys(since)) {
		missed, err := r.missed(ctx, channel, since[channel])
		if err != nil {
			r.log.Warn("what was said during the gap cannot be read", "channel", channel, "error", err)
		}
		for again := true; again; again = len(missed) > 0 {
			for _, m := range missed {
				r.message(m)
			}
			missed = r.release(channel)
		}
	}
}

// live takes a message of the gateway. While its channel is still to be read,
// the message waits, since older ones come first.
func (r *run) live(m wireMessage) {
	r.mu.Lock()
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
func (r *run) hold(channels map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for channel := range channels {
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
func (r *run) missed(ctx context.Context, channel, after string) ([]wireMessage, error) {
	path := fmt.Sprintf("%s?limit=%d&after=%s", messagesPath(channel), backfillLimit, after)
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
			all = append(all, m)
		}
	}
	return all, nil
}
