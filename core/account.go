package core

import (
	"fmt"
	"time"
)

// Link is where the connection of an account to its platform stands.
type Link string

// The states of a connection.
const (
	Connecting   Link = "connecting"   // not connected yet
	Connected    Link = "connected"    //
	Reconnecting Link = "reconnecting" // was connected, and will be again
	Refused      Link = "refused"      // the platform refused the account for good
)

// Connection is how an account stands, for readiness and for operators.
type Connection struct {
	State Link
	Since time.Time // of this state
	// Attempt counts the attempts since the connection was lost, and Next is
	// when the next one is made; both are zero while connected.
	Attempt int
	Next    time.Time
	Error   string // why it is not connected, with the switch to turn where that is known
}

// String says what is wrong, or "" while all is well.
func (c Connection) String() string {
	text := string(c.State)
	switch {
	case c.State == Connected:
		return ""
	case c.Attempt > 0 && !c.Next.IsZero():
		text += fmt.Sprintf(", attempt %d at %s", c.Attempt, c.Next.UTC().Format(time.TimeOnly+"Z"))
	case c.Attempt > 0:
		text += fmt.Sprintf(", attempt %d", c.Attempt)
	}
	if c.Error != "" {
		text += ": " + c.Error
	}
	return text
}

// Alert is something that an operator should know.
type Alert struct {
	// Kind and Key tell what it is about; an alert with the same two is the
	// same event. Kind is a short word such as "connection" or "stranger", Key
	// the account, profile or person.
	Kind, Key string
	Text      string // one line, without secrets and without texts of providers
	Over      bool   // the event has ended; Text says so
	// Buttons are what can be done about it, where the alert is shown as a post.
	Buttons []Button
}

// Seen is what earlier processes knew of an account's conversations.
type Seen struct {
	At      time.Time // when the newest stored message was admitted; zero if there is none
	Threads []Thread  // in which something was said lately, newest first
}
