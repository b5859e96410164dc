package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"understudy/core"
)

var _ core.Historian = (*Adapter)(nil)

const (
	// earlierPages are read at most of a long thread. Slack gives the oldest
	// messages first, and the newest are wanted.
	earlierPages = 6
	earlierNames = 2 * time.Second // for all names that are not known yet
)

// span is a part of a conversation.
type span struct {
	after, before stamp // neither is part of it; empty is open
	limit         int
	cursor        string
}

// messages reads a part of a conversation, oldest first: of a thread with its
// first message and from its beginning, of a channel its newest. A thread that
// is gone has none.
func (a *Adapter) messages(ctx context.Context, t core.Thread, s span) (list []event, next string, err error) {
	method, args := "conversations.history", url.Values{"channel": {t.Channel}, "limit": {strconv.Itoa(s.limit)}}
	if t.Root != "" {
		method = "conversations.replies"
		args.Set("ts", t.Root)
	}
	for key, value := range map[string]string{"oldest": string(s.after), "latest": string(s.before), "cursor": s.cursor} {
		if value != "" {
			args.Set(key, value)
		}
	}
	var answer struct {
		Messages []json.RawMessage `json:"messages"`
		Meta     struct {
			Next string `json:"next_cursor"`
		} `json:"response_metadata"`
	}
	if err := a.ask(ctx, method, args, &answer); err != nil {
		if saidCode(err, "thread_not_found") {
			return nil, "", nil
		}
		return nil, "", fmt.Errorf("%s: %w", method, err)
	}
	for _, raw := range answer.Messages {
		if ev, err := decode[event](raw); err == nil && ev.TS != "" {
			ev.Channel = t.Channel
			list = append(list, ev)
		}
	}
	if t.Root == "" {
		slices.Reverse(list)
	}
	return list, answer.Meta.Next, nil
}

// speech reports whether a message is something that somebody said: not what
// Slack says about joins, pins and names, nor what a later Slack may say.
func (ev event) speech() bool {
	switch ev.Subtype {
	case "", "file_share", "thread_broadcast", "me_message", "bot_message":
		return !ev.Hidden
	}
	return false
}

// Earlier reads what was said in the target's thread before a message. Outside
// of a thread nothing belongs together, and nothing is read.
func (a *Adapter) Earlier(ctx context.Context, to core.Target, before string, limit int) ([]core.Message, error) {
	t := to.Thread
	if t.Root == "" || t.Root == before || limit <= 0 {
		return nil, nil
	}
	if _, err := a.identify(ctx); err != nil {
		return nil, fmt.Errorf("slack: reading a thread: %w", clean(err))
	}
	var list []event
	part := span{before: stamp(before), limit: limit}
	for range earlierPages {
		page, next, err := a.messages(ctx, t, part)
		if err != nil {
			return nil, fmt.Errorf("slack: reading a thread: %w", clean(err))
		}
		list = keepNewest(append(list, spoken(page, stamp(before))...), limit)
		if next == "" {
			break
		}
		part.cursor, part.limit = next, recallMessages
	}
	return a.retell(ctx, t, list), nil
}

// spoken are the messages of a page that are speech, before one of them.
func spoken(page []event, before stamp) []event {
	return slices.DeleteFunc(page, func(ev event) bool {
		return !ev.speech() || before != "" && !ev.TS.time().Before(before.time())
	})
}

// keepNewest shortens a thread to its first message and the newest ones.
func keepNewest(list []event, limit int) []event {
	if len(list) <= limit {
		return list
	}
	return append(list[:1:1], list[len(list)-limit+1:]...)
}

// retell makes messages out of what was said earlier.
func (a *Adapter) retell(ctx context.Context, t core.Thread, list []event) []core.Message {
	ctx, cancel := context.WithTimeout(ctx, earlierNames)
	defer cancel()
	var told []core.Message
	for _, ev := range list {
		who := author(ev)
		who.Self = a.own(payload{}, ev)
		if who.Self {
			who.Name = a.me.name
		}
		if who.Name == "" {
			who.Name = a.names.get(ctx, who.Team, who.ID)
		}
		told = append(told, core.Message{
			ID: string(ev.TS), Author: who, Target: core.Target{Thread: t}, At: ev.TS.time(),
			Text: a.words(ctx, t.Workspace, ev), Attachments: attachments(ev.files()),
		})
	}
	return told
}
