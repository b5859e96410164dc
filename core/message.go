package core

import "time"

// Author is a person or bot that speaks on a platform.
type Author struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"` // display name, for people
	Team  string   `json:"team,omitempty"`
	Bot   bool     `json:"bot,omitempty"`
	Roles []string `json:"roles,omitempty"`
	// Self is the bot itself. It is only met in what was said earlier.
	Self bool `json:"self,omitempty"`
}

// Attachment is a file that came with a message. Adapters name it; what it
// holds is read later, by [Fetcher]. Note says, in words for the person who
// sent it, why it cannot be used.
type Attachment struct {
	Name string `json:"name"`
	MIME string `json:"mime"` // as the platform states it; once there is Data, as it is
	// ID and URL are how the platform knows it. The URL may need the account's
	// token and is for no one else.
	ID   string `json:"id,omitempty"`
	URL  string `json:"url,omitempty"`
	Size int64  `json:"size"` // bytes, as the platform states it
	Data []byte `json:"data,omitempty"`
	Note string `json:"note,omitempty"`
}

// Image reports whether the attachment is a picture that models can read.
func (a Attachment) Image() bool {
	switch a.MIME {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// Message is something that somebody said to the bot. Adapters have removed
// the mention of the bot from Text and resolved the platform's own escapes;
// otherwise Text is what the person wrote.
type Message struct {
	ID          string       `json:"id"` // the platform's id of the message, unique in its conversation
	Author      Author       `json:"author"`
	Target      Target       `json:"target"` // where the answer goes
	Text        string       `json:"text"`
	Attachments []Attachment `json:"attachments,omitempty"`
	At          time.Time    `json:"at"` // when the platform says it was said
	// Addressed is true when the bot was mentioned by hand, replied to by a
	// person, or written to directly. Whether an unaddressed message in a
	// thread is answered is decided by the sessions.
	Addressed bool `json:"addressed,omitempty"`
	// Deleted: it was deleted on the platform while it was being answered, so
	// that it is not kept. Adapters leave it alone.
	Deleted bool `json:"deleted,omitempty"`
}

// Thread is the conversation in which the message is answered.
func (m Message) Thread() Thread { return m.Target.Thread }

// InboxKey identifies the message for deduplication: a second delivery of the
// same message has the same key, whatever envelope it comes in. On Slack the
// conversation is the channel, not the thread, since a message is unique there.
func (m Message) InboxKey() string {
	t := m.Target.Thread
	ch := t.Channel
	if t.Platform == "discord" && m.Target.Opens != "" {
		ch = t.Parent
	}
	return join(t.Platform, t.Account, t.Workspace, ch, m.ID)
}

// Change is an edit or a deletion of an earlier message. An edit matters only
// while that message still waits for its turn; what was deleted later leaves the
// transcript.
type Change struct {
	InboxKey string // of the changed message
	Text     string // the new text; ignored for a deletion
	Deleted  bool
}
