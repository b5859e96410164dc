package sessions

import (
	"strings"

	"understudy/core"
	"understudy/core/llm"
)

func (t *turn) isRetry() bool {
	c, _, ok := core.ParseCommand(t.in.Message.Text)
	return ok && c.Name == "retry"
}

// resume sets the history back to the message of this turn, if an earlier run
// of it has stored that: what was said afterwards is no part of the question.
func (t *turn) resume() bool {
	i := t.ownMessage()
	if i >= 0 {
		t.history, t.resumed = t.history[:i+1], true
	}
	return i >= 0
}

// ownMessage is the place of the message of this turn in the history, or -1.
func (t *turn) ownMessage() int {
	for i := len(t.history) - 1; i >= 0; i-- {
		if e := t.history[i]; e.Turn == t.id && e.Message.Role == llm.User {
			return i
		}
	}
	return -1
}

// retry sets the history back to the last thing that somebody said.
func (t *turn) retry() error {
	for i := len(t.history) - 1; i >= 0; i-- {
		if t.history[i].Message.Role == llm.User {
			t.history = t.history[:i+1]
			return nil
		}
	}
	return &commandReply{nothingToRetryText}
}

// wordless stands for a message in which nothing was written, such as a mention
// of the bot and no more: no provider takes a message of nothing.
const wordless = "(called you without a word)"

// userEntry is the message as the transcript keeps it: the text as it was
// written, and what came with it.
func (t *turn) userEntry(b *brought) Entry {
	m := t.in.Message
	msg := llm.Message{Role: llm.User, Parts: b.parts}
	if text := strings.TrimPrefix(m.Text+b.text.String(), "\n\n"); text != "" {
		msg.Parts = append([]llm.Part{{Text: text}}, msg.Parts...)
	}
	if len(msg.Parts) == 0 {
		msg = llm.TextMessage(llm.User, wordless)
	}
	return Entry{Turn: t.id, Message: msg, Speaker: t.speaker(m.Author), Author: addressOf(m), Inbox: t.in.Key, At: m.At}
}

// addressOf is the address of who wrote a message.
func addressOf(m core.Message) string { return Person{m.Thread().Platform, m.Author.ID}.Address() }

func (t *turn) hasImages() bool {
	if len(t.history) == 0 {
		return false
	}
	for _, p := range t.history[len(t.history)-1].Message.Parts {
		if p.Image != nil {
			return true
		}
	}
	return false
}
