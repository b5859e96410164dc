package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"understudy/core"
)

// Person is somebody on a platform.
type Person struct{ Platform, User string }

// Address names the person as the configuration does.
func (p Person) Address() string { return p.Platform + ":" + p.User }

// Traces are what is stored about a person, or was deleted of it.
type Traces struct {
	Messages int // that the person wrote, in shared places and directly
	Shared   int // conversations with others that hold some of them
	// Summaries are those of other conversations with others in which the person
	// was heard: they may tell of what is not stored any more.
	Summaries int
	Private   int // conversations that are the person's alone
	Replies   int // what was answered there, tool calls and their results included
	Waiting   int // messages without an answer yet
	Guest     bool
	Counted   bool // what the person used on some day is counted
}

// Memories find and delete what is stored about people.
type Memories interface {
	// Traces counts what Forget would delete.
	Traces(context.Context, Person) (Traces, error)
	// Forget deletes what is stored about a person: what the person wrote, in
	// all transcripts; conversations that are the person's alone, as a whole;
	// messages that wait; where the person was heard, and whether the person may
	// write directly; and what the person used. It returns what it deleted.
	// Where that is much it takes several changes, so that turns of others get
	// in between; what leads to the rest goes with the last one, so that after
	// an error or a crash the next call deletes what is left.
	Forget(context.Context, Oblivion) (Traces, error)
	// Unsay takes one message out of the transcripts, by its inbox key, and
	// marks it as deleted where its turn still runs. It reports whether there
	// was something to do. mend is as for [Oblivion]. Where no transcript holds
	// the message, it is given the record of the session that took it up, from
	// math.MaxInt64, if that has a summary of which the beginning is not known.
	Unsay(ctx context.Context, inbox string, mend func(s Session, from int64) Session) (bool, error)
}

// Oblivion says who is to be forgotten.
type Oblivion struct {
	Person
	Keep  string // the day of which the use stays counted, as in "2026-01-31"; "" is none
	Spare string // the inbox key of a message that still waits for its answer; "" is none
	// Mend is given the record of every session with others that loses
	// something, or has a summary and heard the person, perhaps more than once,
	// and returns what is stored in its place; from is the Seq of the first entry
	// that its running transcript loses then, 0 where it loses none that is known,
	// and math.MaxInt64 where another transcript does.
	Mend func(s Session, from int64) Session
}

// Private reports whether the session in which somebody was heard is that
// person's alone.
func (h Heard) Private() bool {
	return h.Thread.Kind == core.KindDirect || h.Session.Thread == h.Thread.KeyFor(h.Author)
}

// Blank is what stays of a session that was one person's alone. It says that
// earlier messages are not to be read from the platform again.
func Blank(k core.Key) Session { return Session{Key: k, Seeded: true} }

// Unsaid is the record of a session of whose transcript something was deleted,
// from that Seq on: a summary that tells of it goes as well, also one that is
// being made. One of which the beginning is not known may tell of anything.
func Unsaid(s Session, from int64) Session {
	if sum := s.Summary; sum != nil && (from <= sum.Through || sum.From == 0) {
		s.Summary = nil
	}
	s.Unsaid++
	return s
}

// cmdForget tells what is stored about the caller, and deletes it once that is
// confirmed.
func cmdForget(c *call) (func(ChoiceTx) core.Reply, error) {
	p := Person{c.inv.Target.Thread.Platform, c.inv.Author.ID}
	switch {
	case strings.EqualFold(c.inv.Args, "yes"):
		return c.forget(p)
	case c.inv.Args != "":
		return say(forgetUsageText), nil
	}
	found, err := c.b.Store.Traces(c.ctx, p)
	if err != nil {
		return nil, fmt.Errorf("counting what is stored about somebody: %w", err)
	}
	found.Waiting = max(0, found.Waiting-c.waits())
	limited := c.set.Quotas.User != (Quota{})
	if found == (Traces{}) || limited && found == (Traces{Counted: true}) { // the counts of today stay
		return say(nothingStoredText), nil
	}
	k := c.newPage(step{to: forgetCaller})
	k.steps = []step{{to: forgetCaller}}
	r := core.Reply{Buttons: []core.Button{{Label: "Forget me", Value: "0", Danger: true}}}
	return c.withButtons(k, r, forgetAskText(found, limited)), nil
}

// forget ends what is being done for a person, and deletes what is stored.
func (c *call) forget(p Person) (func(ChoiceTx) core.Reply, error) {
	limited := c.set.Quotas.User != (Quota{})
	keep := ""
	if limited {
		keep = c.set.Quotas.day(c.b.Now())
	}
	runs := c.b.dropOf(p)
	// The command itself is answered yet: a crash before that leads here again.
	o := Oblivion{Person: p, Keep: keep, Spare: c.from.Key, Mend: Unsaid}
	gone, err := c.b.Store.Forget(c.ctx, o)
	if err == nil && len(runs) > 0 {
		// Only now, since whoever comes next begins once they have ended. What
		// they stored meanwhile goes, too.
		c.b.cutOff(c.ctx, runs)
		var late Traces
		late, err = c.b.Store.Forget(c.ctx, o)
		gone.Messages += late.Messages
	}
	if err != nil {
		return nil, fmt.Errorf("deleting what is stored about somebody: %w", err)
	}
	c.sess = Session{} // it may have been one of those that went
	c.after = func() {
		c.b.Log.Info("a person was forgotten", "user", p.Address(), "messages", gone.Messages, "shared", gone.Shared, "private", gone.Private)
		c.b.alert(core.Alert{Kind: "forgotten", Key: p.Address() + " " + c.inv.ID, Text: forgottenAdminText(p, gone)})
	}
	return func(ChoiceTx) core.Reply { return core.Reply{Text: forgottenText(gone, limited), Done: true} }, nil
}

// waits is 1 for a command that is a message of the inbox itself.
func (c *call) waits() int {
	if c.inv.Native {
		return 0
	}
	return 1
}

// dropOf takes what waits of a person out of the lanes, and returns what runs.
func (b *Bot) dropOf(p Person) []*running {
	theirs := func(in Inbound) bool {
		return in.Message.Author.ID == p.User && in.Message.Thread().Platform == p.Platform
	}
	b.mu.Lock()
	for _, l := range b.lanes {
		l.queue = slices.DeleteFunc(l.queue, func(w waiting) bool {
			if theirs(w.Inbound) {
				b.rest(w)
				return true
			}
			return false
		})
		b.weigh(l)
	}
	b.mu.Unlock()
	return b.runs(func(r *running) bool { return theirs(r.in) })
}

// cutOff ends running turns and waits for that, for a while.
func (b *Bot) cutOff(ctx context.Context, runs []*running) {
	for _, r := range runs {
		r.cancel(errReset)
	}
	patience := b.After(resetPatience)
	for _, r := range runs {
		select {
		case <-r.done:
		case <-patience:
			return
		case <-ctx.Done():
			return
		}
	}
}

// unsay handles a message that was deleted on its platform after its turn had
// begun.
func (b *Bot) unsay(ctx context.Context, inbox string) error {
	if _, err := b.Store.Unsay(ctx, inbox, Unsaid); err != nil {
		return fmt.Errorf("taking a deleted message out of the transcript: %w", err)
	}
	return nil
}

// kept leaves out what was deleted before it could be stored.
func (t *turn) kept(entries []Entry) []Entry {
	if !t.run.deleted.Load() {
		return entries
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Inbox == t.in.Key })
}

// forgetAskText tells what would go.
func forgetAskText(t Traces, limited bool) string {
	text := "I would delete " + tracesText(t) + "."
	text += " What stands on the platform stays there; delete your messages there yourself."
	if t.Shared > 0 {
		text += " My answers in conversations with others stay, since they are theirs as well."
	}
	if t.Guest {
		text += " You would have to ask an admin again before you can write to me directly."
	}
	if limited {
		text += " How much you used today stays counted."
	}
	return text + " Press the button or write `/forget yes` to do it; it cannot be undone."
}

// forgottenText confirms it.
func forgottenText(t Traces, limited bool) string {
	if t == (Traces{}) {
		return nothingStoredText
	}
	text := "Deleted: " + tracesText(t) + ". What stands on the platform is still there."
	if limited {
		text += " How much you used today stays counted until the day is over."
	}
	return text
}

// forgottenAdminText is for operators.
func forgottenAdminText(p Person, t Traces) string {
	return fmt.Sprintf("%s had me delete what I had stored about them: %s, %s with others and %s as a whole.", p.Address(),
		messagesText(t.Messages), conversationsText(t.Shared), conversationsText(t.Private))
}

func conversationsText(n int) string {
	if n == 1 {
		return "1 conversation"
	}
	return fmt.Sprintf("%d conversations", n)
}

// tracesText counts what is stored.
func tracesText(t Traces) string {
	var parts []string
	add := func(n int, one, more string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, more))
		}
	}
	add(t.Messages, "message that you wrote", "messages that you wrote")
	add(t.Waiting, "message that still waits for an answer", "messages that still wait for an answer")
	add(t.Summaries, "summary of a conversation that you took part in", "summaries of conversations that you took part in")
	add(t.Private, "conversation with you alone as a whole", "conversations with you alone as a whole")
	if t.Guest {
		parts = append(parts, "the note that you may write to me directly")
	}
	if t.Counted {
		parts = append(parts, "the counts of what you used")
	}
	switch n := len(parts); n {
	case 0:
		return "where you were heard last"
	case 1:
		return parts[0]
	default:
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
}
