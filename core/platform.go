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
	// Files go with the message. Only a new message can carry them, and only
	// where Limits.MaxFile says so.
	Files []File `json:"files,omitempty"`
	// Buttons stand under the text, where the platform has such a thing.
	Buttons []Button `json:"buttons,omitempty"`
	// Live marks a preview: more text follows, by edits of the same message
	// that are Live as well, and at the end by one that is not. A platform may
	// show it in another way than a finished message.
	Live bool `json:"live,omitempty"`
}

// File is a file that the bot sends.
type File struct {
	Name string `json:"name"` // with an extension, without a path
	MIME string `json:"mime"`
	Data []byte `json:"data"`
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
	// Rotate is how long a preview may go on in one message; after it the
	// answer continues in a new one. Zero is for ever, and means that a preview
	// looks like a finished message.
	Rotate time.Duration
	// MaxFile is the size of the largest file that a post can carry, in bytes.
	// Zero means that it can carry none.
	MaxFile int
}

// Platform is the outbound half of an adapter, one value per account.
// Methods are safe for concurrent use and listen to their context.
type Platform interface {
	// Limits are those of a place.
	Limits(Thread) Limits
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
	// Press takes a pick from a menu or a click on a button of ours, and
	// returns what its message shows from then on.
	Press(context.Context, Press) (Reply, error)
	// Known reports whether somebody may write to the bot directly under the
	// policy "pairing": an admin approved it, or the person is an admin.
	Known(ctx context.Context, t Thread, who Author) (bool, error)
	// Knock is called in place of Message for a direct message of somebody who
	// is not known. The text is for that person; it is empty when nothing is to
	// be said, as after the first time. The message itself is not kept.
	Knock(context.Context, Message) (text string, err error)
}

// Fetcher is implemented by platforms from which attachments can be read.
type Fetcher interface {
	// Fetch reads an attachment of a message of this account, of at most limit
	// bytes, only from hosts of the platform. It returns the attachment with
	// Data and the MIME type that the data really has. The error is for the
	// log; an attachment that cannot be used is no error but has a Note.
	Fetch(ctx context.Context, t Thread, a Attachment, limit int64) (Attachment, error)
}

// Historian is implemented by platforms on which one can read what was said in
// a thread before.
type Historian interface {
	// Earlier reads what was said in the target's thread before a message, its
	// first message included, oldest first and at most limit messages. Messages
	// that are no speech (joins, pins) are left out. Those of this account have
	// Author.Self.
	Earlier(ctx context.Context, t Target, before string, limit int) ([]Message, error)
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

// Press is a pick from a menu or a click on a button.
type Press struct {
	ID     string // the platform's interaction id, for deduplication
	Author Author
	Target Target // the conversation that the message with the button stands in
	Token  string // of the Menu or Button
	Value  string // of the Choice or Button
}

// Reply is the answer to a native command, or what a message shows after a
// Press.
type Reply struct {
	Text    string
	Menus   []Menu
	Buttons []Button
	Public  bool // everybody in the place may see it
	// Aside is the answer to a Press that leaves the message as it is: the text
	// is shown to the presser alone.
	Aside bool
	// Done: the command did what it was given for, so that a button that offers
	// it has served.
	Done bool
}

// Menu is a list to pick from. Picking an option calls Press with the token of
// the menu and the value of the option. Platforms show long menus in several
// pieces.
type Menu struct {
	Token       string // at most 60 bytes, without spaces; opaque to platforms
	Placeholder string
	Options     []Choice
}

// Button is something to click on, which calls Press.
type Button struct {
	Label  string `json:"label"`
	Token  string `json:"token"` // as that of a Menu, at most 60 bytes
	Value  string `json:"value,omitempty"`
	Danger bool   `json:"danger,omitempty"` // shown as such
}

// Choice is one option of a menu or a completion.
type Choice struct {
	Label string // what people read
	// Value is what Press or the command gets. In a menu it has at most 20
	// bytes, without spaces.
	Value string
	Note  string // small print, such as "rate limited for 3 minutes"
	// Disabled options are shown but cannot be picked, where the platform
	// knows such a thing; elsewhere the note says so.
	Disabled bool
	// Selected is the option that the menu shows as picked. At most one is.
	Selected bool
}
