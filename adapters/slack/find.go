package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

const (
	findPage  = 200 // messages; docs.slack.dev asks for at most this many
	findPages = 50  // that are read at most: 10,000 messages since a post was tried
	// findSlack is added to the time that is searched: Slack's clock is not
	// ours.
	findSlack = time.Minute
)

// Find looks for a message of ours with p's nonce in the conversation of p,
// back to since. If there is none, a stream that was begun for p and cut off is
// it. Files of p that did not follow its text are sent.
func (a *Adapter) Find(ctx context.Context, p core.Post, since time.Time) (core.Posted, bool, error) {
	if p.Nonce == "" {
		return core.Posted{}, false, errors.New("slack: a post without a nonce cannot be found")
	}
	me, err := a.identify(ctx)
	if err != nil {
		return core.Posted{}, false, fmt.Errorf("slack: looking for a post: %w", clean(err))
	}
	made := since
	since = since.Add(-findSlack)
	oldest := fmt.Sprintf("%d.%06d", since.Unix(), since.Nanosecond()/1000)
	t := p.Target.Thread
	cursor := ""
	var found, left core.Posted
	var shared []slackgo.Message
	for range findPages {
		var messages []slackgo.Message
		messages, cursor, err = a.page(ctx, t, oldest, cursor)
		if err != nil {
			return core.Posted{}, false, fmt.Errorf("slack: looking for a post: %w", clean(err))
		}
		for _, m := range messages {
			if m.BotID != me.bot {
				continue
			}
			posted := core.Posted{ID: m.Timestamp, Linked: t.Root != "" && m.ThreadTimestamp == t.Root}
			switch {
			case m.Metadata.EventType == metadataType && m.Metadata.EventPayload["nonce"] == p.Nonce:
				if found = posted; len(p.Files) == 0 {
					return found, true, nil
				}
			case left.ID == "" && a.left(p, m, made):
				left = posted
			}
			if len(m.Files) > 0 {
				shared = append(shared, m)
			}
		}
		if cursor != "" {
			continue
		}
		if found.ID == "" {
			return left, left.ID != "", nil
		}
		p.Files = missing(p.Files, found.ID, shared)
		a.attach(ctx, p)
		return found, true, nil
	}
	return core.Posted{}, false, fmt.Errorf("slack: looking for a post: more than %d messages since %s", findPage*findPages, since.Format(time.RFC3339))
}

// missing are those files that did not follow the message with that timestamp.
func missing(files []core.File, after string, shared []slackgo.Message) []core.File {
	there := map[string]int{}
	for _, m := range shared {
		if !stamp(m.Timestamp).time().After(stamp(after).time()) {
			continue
		}
		for _, f := range m.Files {
			there[f.Name]++
		}
	}
	return slices.DeleteFunc(slices.Clone(files), func(f core.File) bool {
		there[f.Name]--
		return there[f.Name] >= 0
	})
}

// page reads one page of a thread, or of a channel outside of threads. A thread
// that is gone has no messages.
func (a *Adapter) page(ctx context.Context, t core.Thread, oldest, cursor string) ([]slackgo.Message, string, error) {
	if t.Root == "" {
		h, err := a.api.GetConversationHistoryContext(ctx, &slackgo.GetConversationHistoryParameters{
			ChannelID: t.Channel, Oldest: oldest, Cursor: cursor, Limit: findPage, IncludeAllMetadata: true,
		})
		if err != nil {
			return nil, "", err
		}
		return h.Messages, h.ResponseMetaData.NextCursor, nil
	}
	messages, _, next, err := a.api.GetConversationRepliesContext(ctx, &slackgo.GetConversationRepliesParameters{
		ChannelID: t.Channel, Timestamp: t.Root, Oldest: oldest, Cursor: cursor, Limit: findPage, IncludeAllMetadata: true,
	})
	var refused slackgo.SlackErrorResponse
	if errors.As(err, &refused) && refused.Err == "thread_not_found" {
		return nil, "", nil
	}
	return messages, next, err
}
