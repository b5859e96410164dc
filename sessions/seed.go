package sessions

import (
	"context"
	"errors"
	"strings"
	"time"

	"understudy/core"
	"understudy/core/llm"
)

const (
	// maxSeeds is the most that is read of what was said before, in bytes, and
	// maxSeed the most of one message.
	maxSeeds = 32 << 10
	maxSeed  = 4 << 10
	// seedPatience is how long a turn waits for it.
	seedPatience = 10 * time.Second
)

// seeds are what was said in the thread before the first message that the bot
// answers there. Nobody else's conversation is read: not that of the channel.
// What cannot be read is missing, and the turn goes on.
func (t *turn) seeds(ctx context.Context) []Entry {
	m := t.in.Message
	if t.set.SeedMessages <= 0 || t.sess.Seeded || len(t.history) > 0 || !joins(m) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, seedPatience)
	defer cancel()
	earlier, err := t.b.Sender.Earlier(ctx, m.Target, m.ID, t.set.SeedMessages)
	if err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.b.Log.WarnContext(ctx, "what was said in a thread before could not be read", "turn", t.id, "err", err)
		}
		return nil
	}
	return t.seedEntries(bounded(speech(earlier, m.ID, t.past())))
}

// joins reports whether a message was said in a thread that was there before
// it.
func joins(m core.Message) bool {
	switch t := m.Thread(); {
	case m.Target.Opens != "":
		return false
	case t.Root != "":
		return m.ID != t.Root
	default:
		return t.Kind == core.KindThread && m.ID != t.Channel
	}
}

// speech leaves out messages that say nothing, those from before a moment, and
// the one that is answered. Files are named.
func speech(list []core.Message, answered string, past time.Time) []core.Message {
	var said []core.Message
	for _, m := range list {
		for _, a := range m.Attachments {
			m.Text += "\n[attachment " + label(a.Name) + "]"
		}
		m.Text = shorten(strings.TrimSpace(m.Text), maxSeed)
		if m.Text != "" && m.ID != answered && !tooOld(m.At, past) {
			said = append(said, m)
		}
	}
	return said
}

// bounded keeps the first message, which the thread is about, and the newest
// ones that fit.
func bounded(list []core.Message) []core.Message {
	if len(list) == 0 {
		return nil
	}
	left := maxSeeds - len(list[0].Text)
	from := len(list)
	for from > 1 && left >= len(list[from-1].Text) {
		from--
		left -= len(list[from].Text)
	}
	return append(list[:1:1], list[from:]...)
}

// seedBegins stands before a conversation that the bot began: providers want
// the first word from a user.
const seedBegins = "[This thread begins with a message of yours.]"

// seedEntries are the entries of earlier messages.
func (t *turn) seedEntries(list []core.Message) []Entry {
	var entries []Entry
	for _, m := range list {
		e := Entry{Turn: t.id, Message: llm.TextMessage(llm.User, m.Text), Seed: true, At: m.At}
		if m.Author.Self {
			e.Message.Role = llm.Assistant
			if len(entries) == 0 {
				entries = append(entries, Entry{Turn: t.id, Message: llm.TextMessage(llm.User, seedBegins), At: m.At})
			}
		} else {
			m.Target = t.in.Message.Target
			e.Speaker, e.Author, e.Inbox = t.speaker(m.Author), addressOf(m), earlierKey(m)
		}
		entries = append(entries, e)
	}
	return entries
}

// earlierKey is the inbox key of a message that was said in a thread earlier.
// On Discord the first one has the id of the thread, and stands in the channel
// that holds it.
func earlierKey(m core.Message) string {
	m.Target.Opens = ""
	if t := m.Thread(); t.Platform == "discord" && t.Channel == m.ID {
		m.Target.Opens = m.ID
	}
	return m.InboxKey()
}

// speaker is the name that a message is told apart by, where several people
// talk.
func (t *turn) speaker(a core.Author) string {
	switch {
	case !t.in.Message.Thread().Shared():
		return ""
	case a.Name == "":
		return shorten(a.ID, maxLabel)
	}
	return shorten(a.Name, maxLabel)
}

// shorten cuts a text to at most n bytes, between two characters.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
