package core

import "strings"

// Kind says what sort of place a thread is.
type Kind string

// The kinds of places. A group conversation (Discord group DM, Slack mpim) is a
// shared place for every rule about who may see what.
const (
	KindDirect  Kind = "direct"
	KindGroup   Kind = "group"
	KindChannel Kind = "channel"
	KindThread  Kind = "thread"
)

// Thread is the address of a conversation. The zero value addresses nothing.
//
// Channel is where posts are sent to: on Discord the channel or thread id, on
// Slack the channel id, with Root holding the thread's root timestamp as exact
// text. Parent is the place that holds the thread: on Discord the channel a
// thread was opened in, elsewhere empty. Category is the Discord category above
// that. Neither these nor Kind are part of the key.
type Thread struct {
	Platform  string `json:"platform"`            // "discord", "slack", "terminal"
	Account   string `json:"account"`             // which bot account of that platform
	Workspace string `json:"workspace,omitempty"` // Discord guild id or Slack team id
	Channel   string `json:"channel"`
	Root      string `json:"root,omitempty"`
	Parent    string `json:"parent,omitempty"`
	Category  string `json:"category,omitempty"`
	Kind      Kind   `json:"kind"`
}

// Shared reports whether other people than the speaker can read the place.
func (t Thread) Shared() bool { return t.Kind != KindDirect }

// Key is the identity of the thread's session within an agent. The opener of a
// thread and all its replies have the same key. Different threads have
// different keys, whatever characters their ids hold.
func (t Thread) Key() string {
	switch t.Platform {
	case "discord":
		switch t.Kind {
		case KindDirect:
			return join(t.Platform, t.Account, "dm", t.Channel)
		case KindGroup:
			return join(t.Platform, t.Account, "gdm", t.Channel)
		}
		return join(t.Platform, t.Account, "g", t.Workspace, "c", t.Channel)
	case "slack":
		if t.Root != "" {
			return join(t.Platform, t.Account, t.Workspace, t.Channel, "t", t.Root)
		}
		return join(t.Platform, t.Account, t.Workspace, t.Channel)
	}
	if t.Root != "" {
		return join(t.Platform, t.Account, t.Channel, "t", t.Root)
	}
	return join(t.Platform, t.Account, t.Channel)
}

// KeyFor is the identity of the session that one person has in the thread, where
// people do not share one.
func (t Thread) KeyFor(user string) string { return t.Key() + ":" + join("u", user) }

// Holder is the place that holds the thread: the channel whose model selection
// a new thread inherits. For a place that is no thread it is the place itself.
func (t Thread) Holder() Thread {
	switch {
	case t.Root != "":
		t.Root = ""
	case t.Parent != "":
		t.Channel, t.Parent = t.Parent, ""
	default:
		return t
	}
	if t.Kind == KindThread {
		t.Kind = KindChannel
	}
	return t
}

// join makes one key out of parts; it is the only place where ids are joined.
// A separator inside a part is escaped, so that different parts never make the
// same key.
func join(parts ...string) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte(':')
		}
		for j := 0; j < len(p); j++ {
			switch p[j] {
			case ':':
				b.WriteString("%3A")
			case '%':
				b.WriteString("%25")
			default:
				b.WriteByte(p[j])
			}
		}
	}
	return b.String()
}

// Key identifies a session: which agent speaks, in which thread.
type Key struct {
	Agent  string `json:"agent"`
	Thread string `json:"thread"` // a [Thread.Key]
}

// String is for logs only.
func (k Key) String() string { return k.Agent + "/" + k.Thread }

// Target says where the posts of one turn go. It is fixed when the turn starts
// and travels with it; nothing looks up "the last thread" at sending time.
type Target struct {
	Thread Thread `json:"thread"`
	// ReplyTo is the message that the first part of the answer links to.
	ReplyTo string `json:"replyTo,omitempty"`
	// Opens is the message from which the thread must be opened before the
	// first post, when the thread does not exist yet (Discord); empty when it
	// does. Title names the thread to be.
	Opens string `json:"opens,omitempty"`
	Title string `json:"title,omitempty"`
	// Recipient and RecipientTeam are the person who is answered; Slack's
	// native streams need them outside of direct messages.
	Recipient     string `json:"recipient,omitempty"`
	RecipientTeam string `json:"recipientTeam,omitempty"`
}
