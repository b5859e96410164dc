package sessions

import (
	"context"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
)

// Choice is the model that a session is set to. Only commands, imports and the
// repair of impossible choices write it; a turn cannot, since the Tx it commits
// through has no method for it.
type Choice struct {
	// Model is zero when the session follows its agent.
	Model  llm.Ref         `json:"model,omitzero"`
	Source failover.Source `json:"source,omitempty"` // of Model: user, legacy or auto
	Since  time.Time       `json:"since,omitzero"`
	// Lock is a profile id that a user tied the session to; it may stand
	// without a Model.
	Lock string `json:"lock,omitempty"`
	// Origin and Probed belong to an auto choice of imported data: the model
	// it stands in for, and when that was last tried.
	Origin llm.Ref   `json:"origin,omitzero"`
	Probed time.Time `json:"probed,omitzero"`
	// Broken is what imported data held in place of a model, when it was only
	// half of one; the next turn says so and goes on without it.
	Broken string `json:"broken,omitempty"`
}

// Pending marks a choice that a running turn has not taken up yet. ID tells
// one mark from the next, so that clearing an old one leaves a new one alone.
type Pending struct {
	ID    string  `json:"id"`
	Model llm.Ref `json:"model"`
	Lock  string  `json:"lock,omitempty"`
}

// Session is the record of one thread with one agent.
type Session struct {
	Key    core.Key `json:"key"`
	Choice Choice   `json:"choice,omitzero"`

	// The rest may be written by turns.

	Pending *Pending `json:"pending,omitempty"`
	// Fresh: no turn has begun since a user chose the model.
	Fresh bool `json:"fresh,omitempty"`
	// Pins are the profiles, by provider, that answered first here.
	Pins map[string]string `json:"pins,omitempty"`
	// PinnedUnder is the operator's order of the provider's profiles that held
	// when its pin was set, "" where they took turns.
	PinnedUnder map[string]string `json:"pinnedUnder,omitempty"`
	Notice      notices.State     `json:"notice,omitzero"`
	// ImageNotice is the same for turns that ran on the image chain.
	ImageNotice notices.State `json:"imageNotice,omitzero"`
	// Summary stands for the older part of the transcript, in what models are
	// given; Compactions counts how often one was made.
	Summary     *Summary `json:"summary,omitempty"`
	Compactions int      `json:"compactions,omitempty"`
	// Uncompacted is when a summary was to be made by itself and could not be;
	// zero once one was made.
	Uncompacted time.Time `json:"uncompacted,omitzero"`
	// Unsaid counts how often something was taken out of the transcript.
	Unsaid int `json:"unsaid,omitempty"`

	Usage llm.Usage `json:"usage,omitzero"` // of the answers since the last reset
	Spent Spending  `json:"spent,omitzero"` // of everything, failed calls too
	// Transcript is the id of the running transcript; a reset starts a new one.
	Transcript string `json:"transcript,omitempty"`
	// Seeded: what was said in the place before the bot came has been read into
	// the transcript, or is not to be read any more.
	Seeded bool `json:"seeded,omitempty"`
	// Engaged: somebody addressed the bot here, so that what follows is meant
	// for it, too.
	Engaged bool `json:"engaged,omitempty"`
	// Bots are the inbox keys of the bots' messages that were taken up since a
	// person spoke last.
	Bots       []string    `json:"bots,omitempty"`
	Active     llm.Ref     `json:"active,omitzero"` // who answered the last turn
	LastActive time.Time   `json:"lastActive,omitzero"`
	LastTurn   string      `json:"lastTurn,omitempty"`
	Target     core.Target `json:"target,omitzero"` // of the last turn
}

// Summary tells what was said in the older part of a transcript, which stays
// stored. It may have been made of the one before it and what was said since;
// it then tells of what that told of, too.
type Summary struct {
	Text string `json:"text"`
	// From is the Seq of the first entry that it tells of; 0 where that is not
	// known, since the summary is older than the field: it may tell of entries
	// that are not stored any more.
	From    int64     `json:"from,omitempty"`
	Through int64     `json:"through"`        // Seq of the last entry that it tells of
	Since   time.Time `json:"since,omitzero"` // when the oldest of what it tells of was said, in UTC
	Said    time.Time `json:"said"`           // when the last was
	Model   llm.Ref   `json:"model"`          // who wrote it
	At      time.Time `json:"at"`
}

// TakeBack is the record without what a turn told about models, for an answer
// that never arrived; ok is false when that turn told nothing.
func (s Session) TakeBack(turn string) (_ Session, ok bool) {
	if s.Notice.Turn != turn && s.ImageNotice.Turn != turn {
		return s, false
	}
	s.Notice, s.ImageNotice = s.Notice.Undo(turn), s.ImageNotice.Undo(turn)
	return s, true
}

// Inbound is a message in the inbox.
type Inbound struct {
	Seq     int64        `json:"seq"` // assigned by the store; rises in order of admission
	Key     string       `json:"key"` // core.Message.InboxKey
	Session core.Key     `json:"session"`
	Message core.Message `json:"message"`
	At      time.Time    `json:"at"` // when it was admitted
	// Turn is set once a turn has begun for it. Tool is set before the first
	// tool of that turn starts: such a turn is not run again by itself.
	Turn string `json:"turn,omitempty"`
	Tool bool   `json:"tool,omitempty"`
}

// Entry is one step of a transcript. Notices and errors are never part of it.
type Entry struct {
	Seq     int64       `json:"seq"` // assigned by the store, rising
	Turn    string      `json:"turn"`
	Message llm.Message `json:"message"`
	Speaker string      `json:"speaker,omitempty"` // display name, for user messages
	// Author is the address of who wrote a user message, as a [Person] has it,
	// and Inbox the key of that message.
	Author string `json:"author,omitempty"`
	Inbox  string `json:"inbox,omitempty"`
	// Seed: it was said in the thread before the bot came. Again: it answers a
	// message that was answered before.
	Seed    bool      `json:"seed,omitempty"`
	Again   bool      `json:"again,omitempty"`
	Model   llm.Ref   `json:"model,omitzero"` // who said it, for answers
	Profile string    `json:"profile,omitempty"`
	Usage   llm.Usage `json:"usage,omitzero"`
	// Cost is what that call cost when it was made, if Priced; else the price
	// of the model was not known.
	Cost   llm.Money `json:"cost,omitempty"`
	Priced bool      `json:"priced,omitempty"`
	At     time.Time `json:"at"`
}

// Turn is what is kept about one turn for "/status why" and "explain".
type Turn struct {
	ID       string             `json:"id"`
	Session  core.Key           `json:"session"`
	Inbox    string             `json:"inbox"` // the message it answers
	Started  time.Time          `json:"started"`
	Ended    time.Time          `json:"ended,omitzero"`
	Selected llm.Ref            `json:"selected"`
	Source   failover.Source    `json:"source"`
	Active   llm.Ref            `json:"active,omitzero"` // zero when nobody answered
	Chain    []llm.Ref          `json:"chain,omitempty"`
	Attempts []failover.Attempt `json:"attempts,omitempty"`
	// Summary are the attempts at a summary of what was said before.
	Summary []failover.Attempt `json:"summary,omitempty"`
	Outcome string             `json:"outcome,omitempty"` // answered, failed, stopped, silent, interrupted, summarised
	Error   string             `json:"error,omitempty"`   // what the thread was told
}

// Tx is a change to one session and what belongs to it, made whole or not at
// all. A function given to Commit may run more than once; it must change
// nothing but through the Tx.
type Tx interface {
	// Session is the record as stored now; the zero record with its Key set
	// when there is none yet.
	Session() Session
	// SetSession stores everything but the Choice, which it leaves as it is
	// in the store.
	SetSession(Session)
	// Append adds to the transcript with the given id.
	Append(transcript string, entries ...Entry)
	// Queue adds delivery rows and returns them with IDs. A row whose turn,
	// kind and part exist already replaces that row's Post, if it is open, and
	// keeps its ID, State and PlatformID.
	Queue(...delivery.Row) []delivery.Row
	// Withdraw marks the open rows of a turn and kind as withdrawn.
	Withdraw(turn string, kind core.PostKind, now time.Time)
	// Begin notes that a turn has begun for an inbox row, and Settle that
	// nothing is left to do for it.
	Begin(inbox, turn string)
	Settle(inbox string)
	// SaveTurn stores the record of a turn, replacing an earlier one with the
	// same ID.
	SaveTurn(Turn)
	// Spend adds to what an account used on a day, and Spent is that, as this
	// change sees it.
	Spend(day string, a Account, used Bill)
	Spent(day string, a Account) Bill
}

// ChoiceTx is a Tx that may also write the choice.
type ChoiceTx interface {
	Tx
	SetChoice(Choice)
}

// Inbox keeps messages from before they are acknowledged until they are
// settled.
type Inbox interface {
	// Admit stores a message; fresh is false, and nothing changes, when its
	// key is known, settled or not.
	Admit(context.Context, Inbound) (row Inbound, fresh bool, err error)
	// Change edits or drops a message for which no turn has begun; it reports
	// whether it found one.
	Change(context.Context, core.Change) (bool, error)
	// Waiting are all unsettled rows, in order of Seq.
	Waiting(context.Context) ([]Inbound, error)
	// MarkTool sets Tool on an inbox row, durably.
	MarkTool(ctx context.Context, inbox string) error
}

// Records keeps sessions. Lease is the fencing number of the holder; stores of
// one process ignore it.
type Records interface {
	// Session is the record as stored, or the zero record with its Key set.
	Session(context.Context, core.Key) (Session, error)
	// Commit runs the change and returns once it is durable. An error of the
	// function is returned as it is, and nothing is stored.
	Commit(ctx context.Context, k core.Key, lease int64, change func(Tx) error) error
	// CommitChoice is Commit for those who may write the choice.
	CommitChoice(ctx context.Context, k core.Key, lease int64, change func(ChoiceTx) error) error
}

// HistoryBytes is about the most of a transcript that is read into memory at once.
// Text never comes near; pictures do.
const HistoryBytes = 32 << 20

// Enough reports whether a transcript that is read from its end has been read far
// enough: bytes of it, back to an entry.
func Enough(bytes int, e Entry) bool {
	return bytes >= HistoryBytes && e.Message.Role == llm.User
}

// History reads what was said and decided.
type History interface {
	// Transcript is the newest limit entries of a transcript, oldest first; fewer
	// where those hold more than HistoryBytes, as they are stored, but all from
	// the last user message on, and that first.
	Transcript(ctx context.Context, k core.Key, transcript string, limit int) ([]Entry, error)
	// Turn is the record of a turn; ok is false for an unknown id.
	Turn(ctx context.Context, id string) (t Turn, ok bool, err error)
}

// Kept is a session as a list shows it.
type Kept struct {
	Session
	Entries int // in all of its transcripts
}

// Archive reads what is kept as a whole.
type Archive interface {
	// Sessions are all sessions, by agent and thread.
	Sessions(context.Context) ([]Kept, error)
	// Transcripts are the ids of a session's transcripts that hold something,
	// the oldest first.
	Transcripts(context.Context, core.Key) ([]string, error)
	// Following are the entries of a transcript after one with that Seq, oldest
	// first and at most limit, or about HistoryBytes; none only where no more
	// follow. 0 is the beginning.
	Following(ctx context.Context, k core.Key, transcript string, after int64, limit int) ([]Entry, error)
}

// Heard is the last time that somebody said something in a session.
type Heard struct {
	Session core.Key
	Author  string // of the platform, an id
	Thread  core.Thread
	At      time.Time // when it was admitted
}

// Where narrows what was heard; an empty field is any.
type Where struct {
	Platform, Account string
	Holder            string // key of the place that holds the thread, see core.Thread.Holder
	Author            string
}

// Ears remember where something was heard. Admit writes that down.
type Ears interface {
	// Heard is where something was said last, newest first: at most limit
	// sessions, each once.
	Heard(ctx context.Context, w Where, limit int) ([]Heard, error)
}

// Guest is somebody who wrote to the bot directly and is named nowhere in the
// configuration.
type Guest struct {
	Platform string `json:"platform"`
	Account  string `json:"account"`
	User     string `json:"user"`

	Name   string      `json:"name,omitempty"` // as the person is called
	Target core.Target `json:"target,omitzero"`
	// Code is what an admin approves, Asked when it was made.
	Code  string    `json:"code,omitempty"`
	Asked time.Time `json:"asked,omitzero"`
	// Approved is zero for somebody who only asked. By names the admin.
	Approved time.Time `json:"approved,omitzero"`
	By       string    `json:"by,omitempty"`
	// Told: the person has heard of the approval.
	Told bool `json:"told,omitempty"`
}

// Guests keep who asked to talk to the bot and who may.
type Guests interface {
	// Guest is the record as stored, or one with nothing but the three ids.
	Guest(ctx context.Context, platform, account, user string) (Guest, error)
	// Guests are all records, by platform, account and user.
	Guests(context.Context) ([]Guest, error)
	// UpdateGuest replaces one record. The ids stay; a record that has nothing
	// else is forgotten.
	UpdateGuest(ctx context.Context, platform, account, user string, change func(Guest) Guest) error
}

// Store is everything that the sessions need from a store.
type Store interface {
	Inbox
	Records
	History
	Ears
	Guests
	Ledger
	Memories
	Archive
}
