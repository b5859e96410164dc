package discord

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"understudy/core"
)

const (
	historyPages = 5 // that are read at most to find what is wanted
	historyPage  = 100
)

// Earlier reads what was said in a thread before a message. A thread that was
// opened from a message begins with that one, which stands in its channel.
func (a *Adapter) Earlier(ctx context.Context, t core.Target, before string, limit int) ([]core.Message, error) {
	if limit <= 0 || t.Opens != "" {
		return nil, nil // what is still to be opened is empty
	}
	me, err := a.self(ctx)
	if err != nil {
		return nil, err
	}
	said, err := a.before(ctx, t.Thread.Channel, before, me, limit)
	if err != nil {
		return nil, err
	}
	if first, ok := a.starter(ctx, t.Thread, before, said); ok {
		said = append(said[:min(len(said), limit-1)], first)
	}
	all := make([]core.Message, 0, len(said))
	for _, m := range slices.Backward(said) {
		all = append(all, a.earlier(m, t, me))
	}
	return all, nil
}

// before are up to limit messages of a channel in which something was said
// before a message, newest first.
func (a *Adapter) before(ctx context.Context, channel, before, me string, limit int) ([]wireMessage, error) {
	var said []wireMessage
	for range historyPages {
		path := fmt.Sprintf("%s?limit=%d", messagesPath(channel), historyPage)
		if before != "" {
			path += "&before=" + before
		}
		got, err := a.request(ctx, channel, routeRead, urgentFirst, http.MethodGet, path, nil)
		if err != nil {
			return nil, fmt.Errorf("read what was said before in %s: %w", channel, err)
		}
		page, err := read[[]wireMessage](got)
		if err != nil {
			return nil, fmt.Errorf("read what was said before in %s: %w", channel, err)
		}
		for _, m := range page {
			if m.worthReading(me) {
				said = append(said, m)
			}
			if len(said) == limit {
				return said, nil
			}
			before = m.ID
		}
		if len(page) < historyPage {
			break
		}
	}
	return said, nil
}

// starter is the message that a thread began with, unless it is among those
// that were read, or all of them came before it.
func (a *Adapter) starter(ctx context.Context, t core.Thread, before string, said []wireMessage) (wireMessage, bool) {
	is := func(m wireMessage) bool { return m.ID == t.Channel }
	if t.Kind != core.KindThread || before == t.Channel || slices.ContainsFunc(said, is) {
		return wireMessage{}, false
	}
	// In a post of a forum the message is in the thread itself.
	places := []string{t.Parent, t.Channel}
	if parent, ok := a.places.known(t.Parent); ok && (parent.Type == typeForum || parent.Type == typeMedia) {
		places = []string{t.Channel}
	}
	for _, place := range places {
		got, err := a.request(ctx, place, routeRead, urgentFirst, http.MethodGet, messagePath(place, t.Channel), nil)
		if err != nil {
			if !refusedWith(err, codeUnknownMessage, codeUnknownChannel) {
				a.log.Warn("the first message of a thread cannot be read", "thread", t.Channel, "error", err)
			}
			continue
		}
		if m, err := read[wireMessage](got); err == nil && m.speech() && is(m) {
			return m, true
		}
	}
	return wireMessage{}, false
}

// worthReading reports whether a message belongs to a conversation. Of what the
// bot itself wrote, notices and the answers to commands do not.
func (m wireMessage) worthReading(me string) bool {
	return m.speech() && (m.Author.ID != me || m.Flags&flagSilent == 0 && m.WebhookID == "")
}

func (a *Adapter) earlier(m wireMessage, t core.Target, me string) core.Message {
	t.ReplyTo, t.Recipient = m.ID, m.Author.ID
	who := m.author()
	who.Self = who.ID == me
	return core.Message{ID: m.ID, Author: who, Target: t, Text: a.withForwards(m), At: when(m.Timestamp), Attachments: m.files()}
}
