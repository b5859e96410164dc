package core

import (
	"context"
	"fmt"
	"time"
)

// PostKind says what a post is. Only an answer may take the reply link.
type PostKind string

// The kinds of posts. Every post of the bot has exactly one.
const (
	PostAnswer  PostKind = "answer"  // what a model said
	PostNotice  PostKind = "notice"  // another model stepped in, or the selected one is back
	PostStatus  PostKind = "status"  // the bot is still trying
	PostError   PostKind = "error"   // there will be no answer, and why
	PostCommand PostKind = "command" // the reply to a command
	PostAdmin   PostKind = "admin"   // for operators, in the admin channel
)

// Post is one message that the bot sends. Text is Markdown and must fit the
// platform's [Limits]; the adapter renders it for the place.
type Post struct {
	Target Target   `json:"target"`
	Kind   PostKind `json:"kind"`
	Text   string   `json:"text"`
	// Link asks for the native reply link to Target.ReplyTo. It can only be
	// given when a message is created, never added later.
	Link bool `json:"link,omitempty"`
	// Nonce identifies the post for the platform, at most 25 bytes; posting
	// the same nonce again must not make a second message where the platform
	// can prevent it.
	Nonce string `json:"nonce"`
}

// Posted is the platform's confirmation of a post.
type Posted struct {
	ID string // the platform's message id
	// Linked is true when the platform confirmed that the message carries the
	// reply link (on Slack: that it is in the root's thread).
	Linked bool
}

// Limits are what a platform allows, with the source beside each constant in
// the adapter.
type Limits struct {
	// MaxText is the most that one post may hold, as Count counts it.
	MaxText int
	// Count measures text the way the platform does.
	Count func(string) int
	// MaxParts is the number of posts an answer may be split into; the rest is
	// attached as a file or cut with a remark.
	MaxParts int
	// FirstPreview is how long after the first text a preview is posted, and
	// EditEvery the least time between two edits of it. Zero EditEvery means
	// that the platform cannot stream.
	FirstPreview, EditEvery time.Duration
}

// Platform is the outbound half of an adapter, one value per account.
// Methods are safe for concurrent use and listen to their context.
type Platform interface {
	Limits() Limits
	// Post sends one message. The error is a *SendError.
	Post(context.Context, Post) (Posted, error)
	// Edit replaces the text of a message of ours. The error is a *SendError.
	Edit(ctx context.Context, id string, p Post) error
	// Delete takes a message of ours away; one that is gone is no error.
	Delete(ctx context.Context, t Target, id string) error
	// Working shows or refreshes the typing indicator, or ends it. It is best
	// effort. Refreshing is asked for every few seconds.
	Working(ctx context.Context, t Target, on bool) error
}

// Finder is implemented by platforms on which a post can be looked up by its
// nonce after its outcome was lost (a crash, a cut connection).
type Finder interface {
	// Find reads the conversation of p, back to since, for a message of ours
	// with p's nonce.
	Find(ctx context.Context, p Post, since time.Time) (Posted, bool, error)
}

// SendError says why a post or an edit was not confirmed.
type SendError struct {
	// Permanent: sending the same again cannot work (no access, gone channel).
	Permanent bool
	// Unknown: the post may have happened; settle it by its nonce before
	// anything is sent again.
	Unknown bool
	// Unsent: the post has not left the process, since it would have had to
	// wait too long for a limit of our own.
	Unsent bool
	// Unreached: the platform could not be reached, or somebody in front of it
	// answered in its place. It has not refused the post.
	Unreached bool
	// TooLong: the platform counts the text as too long.
	TooLong bool
	// RetryAfter is how long the platform asks to wait; zero if it does not say.
	RetryAfter time.Duration
	// Help tells the operator which switch to turn, where that is known.
	Help string
	Err  error
}

func (e *SendError) Error() string {
	switch {
	case e.Unknown:
		return fmt.Sprintf("outcome of the post is unknown: %v", e.Err)
	case e.Help != "":
		return fmt.Sprintf("%v (%s)", e.Err, e.Help)
	}
	return fmt.Sprint(e.Err)
}

func (e *SendError) Unwrap() error { return e.Err }

// Refused reports whether the platform looked at the post and said no. A post
// that was put off or lost on its way was not refused.
func (e *SendError) Refused() bool {
	return !e.Unsent && !e.Unreached && !e.Unknown && e.RetryAfter == 0
}

// Handler is the inbound half of the socket. Adapters have authorised the
// author before they call it.
type Handler interface {
	// Message admits a message: it returns nil once the message is stored or
	// known, or is knowingly passed over; only then may the adapter
	// acknowledge it. One that was passed over because it was not addressed is
	// not known by that: it may come again, addressed.
	Message(context.Context, Message) error
	// Change updates or drops a message that still waits.
	Change(context.Context, Change) error
	// Command runs a native command and returns what its caller alone sees.
	Command(context.Context, Invocation) (Reply, error)
	// Complete offers values for a command's argument.
	Complete(context.Context, Invocation) ([]Choice, error)
}

// Invocation is a command given through the platform's own interface (a slash
// command, a button, a pick from a menu) or parsed from text.
type Invocation struct {
	ID     string // the platform's interaction id, for deduplication
	Author Author
	Target Target
	Name   string // without a slash
	Args   string // everything after the name, trimmed
	// Native is true when the reply goes to the caller alone.
	Native bool
}

// Reply is the answer to a native command.
type Reply struct {
	Text   string
	Menu   *Menu
	Public bool // everybody in the place may see it
}

// Menu is a list to pick from. Picking an option invokes Command with the
// option's value as arguments.
type Menu struct {
	Command     string
	Placeholder string
	Options     []Choice
}

// Choice is one option of a menu or a completion.
type Choice struct {
	Label string // what people read
	Value string // what the command gets
	Note  string // small print, such as "rate limited for 3 minutes"
	// Disabled options are shown but cannot be picked, where the platform
	// knows such a thing; elsewhere the note says so.
	Disabled bool
}
