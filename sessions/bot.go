// Package sessions holds conversations: what is remembered about a thread, the
// lane that answers its messages in order, the commands, and the turn.
//
// Promises:
//
//   - A message is stored before Message returns, under a key that makes a
//     second delivery of it change nothing. What is stored is answered, in
//     order of arrival within its session, also after a restart.
//   - Sessions run in parallel; a lane exists only while it has work. No
//     session waits for another's model, tool or wait. Where there are fewer
//     slots than work, people take turns: see [Slots].
//   - What waits is bounded, in each lane and in all of them. A message that is
//     not taken for that is settled, and its thread told.
//   - Everything that a turn changes is committed at once: the answer and tool
//     results in the transcript, the session, the notice state, the posts to
//     be sent, and the settled message.
//   - A turn cannot change the choice of a model: it commits through a [Tx].
//     Only commands, the tool session_status, imports and repairs write it.
//   - A tool runs at most once for one call. A turn that was cut off after a
//     tool had started is not run again by itself: its thread is told.
//   - Stopping leaves unfinished messages in the inbox for the next start.
package sessions

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/rescue"
)

// Config is what a [Bot] works with; all fields but those with a default named
// are required.
type Config struct {
	Store  Store
	Engine *failover.Engine
	Sender *delivery.Sender
	// Settings gives the settings in force.
	Settings func() *Settings
	// Slots are how many tools and transcriptions may run at once, shared with
	// the requests of the Engine; nil is no limit.
	Slots *Slots
	// Open is how many turns may be open at once, those that wait for a slot or
	// for a provider included: each of them holds its conversation in memory.
	// Zero is no limit.
	Open int
	// Alert tells operators of what they can do something about; nil tells
	// nobody. It must not block.
	Alert func(core.Alert)
	// Attempted is told of every attempt; nil tells nobody.
	Attempted func(core.Key, failover.Attempt)
	// Now and After are the clock; nil is the real one.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
	// NewID makes ids of turns and transcripts; nil makes random ones.
	NewID func() string
	Log   *slog.Logger // nil logs nothing
}

// Bot is the inbound side of the product: it implements [core.Handler].
type Bot struct {
	Config

	mu       sync.Mutex
	lanes    map[core.Key]*lane
	places   *Slots // for open turns
	held     int    // bytes of what waits in the lanes, see waiting.weight
	crowds   crowds
	files    holding
	pages    pages
	refusals refusals
	troubled troubled
	robots   robots
	previews map[string][]delivery.Row // by turn: what an earlier process left of it, answer and status
	knocking sync.Mutex                // held while somebody asks to write to the bot
	watching bool                      // over those who asked
	closed   bool
	stopping chan struct{} // closed by Stop
	active   int           // lanes with something to do, and urgent commands
	idle     chan struct{} // closed while active is 0
	wg       sync.WaitGroup

	base   context.Context // of all turns
	cancel context.CancelCauseFunc
}

// unlimited is more than anything that this program does at once.
const unlimited = 1 << 30

var _ core.Handler = (*Bot)(nil)

// New makes a bot. It answers nothing until Start.
func New(c Config) *Bot {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	if c.NewID == nil {
		c.NewID = rand.Text
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Slots == nil {
		c.Slots = NewSlots(unlimited)
	}
	if c.Open <= 0 {
		c.Open = unlimited
	}
	b := &Bot{Config: c, lanes: map[core.Key]*lane{}, places: NewSlots(c.Open), previews: map[string][]delivery.Row{}, idle: make(chan struct{}), stopping: make(chan struct{})}
	close(b.idle)
	b.base, b.cancel = context.WithCancelCause(context.Background())
	return b
}

// Start takes up what an earlier process left: messages without an answer go
// to their lanes in order of arrival. open are the delivery rows that are
// still open; a turn that was cut off goes on in the messages it had posted.
// What was posted for a turn that is over is taken away.
func (b *Bot) Start(ctx context.Context, open []delivery.Row) error {
	waiting, err := b.Store.Waiting(ctx)
	if err != nil {
		return fmt.Errorf("reading the inbox: %w", err)
	}
	goesOn := map[string]bool{}
	for _, in := range waiting {
		goesOn[in.Turn] = true
	}
	var orphans []delivery.Row
	for _, r := range open {
		switch {
		case r.Post.Kind != core.PostAnswer && r.Post.Kind != core.PostStatus:
		case goesOn[r.Turn]:
			b.previews[r.Turn] = append(b.previews[r.Turn], r)
		case r.Post.Kind == core.PostStatus, r.State == delivery.Preview && r.Post.Text == "":
			// Of a turn that ended otherwise. One with a text was committed
			// as an answer; the Sender completes it.
			orphans = append(orphans, r)
		}
	}
	if len(waiting) > 0 {
		b.Log.InfoContext(ctx, "messages of an earlier process are taken up again", "count", len(waiting))
	}
	for _, in := range waiting {
		b.enqueue(in)
	}
	if len(orphans) > 0 {
		b.mu.Lock()
		b.spawn(func() { b.Sender.Remove(b.base, orphans...) })
		b.mu.Unlock()
	}
	b.startGuests()
	return nil
}

// Stop takes no more messages, ends every wait of a turn, gives requests that
// are under way the grace to finish, then cuts them off and waits until nothing
// runs. What was cut off stays in the inbox. It is called once.
func (b *Bot) Stop(grace time.Duration) {
	b.mu.Lock()
	b.closed = true
	close(b.stopping)
	for _, l := range b.lanes {
		if l.asking { // nobody waits for it any more
			l.asking = false
			b.less()
		}
	}
	b.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		b.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-b.After(grace):
		b.cancel(errShutdown)
		<-idle
	}
	b.cancel(errShutdown)
}

// Idle returns once nothing is being answered.
func (b *Bot) Idle(ctx context.Context) error {
	for {
		b.mu.Lock()
		n, idle := b.active, b.idle
		b.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// spawn runs f as work that Stop waits for. Bot.mu is held.
func (b *Bot) spawn(f func()) {
	b.more()
	b.wg.Go(func() {
		defer func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.less()
		}()
		defer rescue.Panic(b.Log, "the work of the bot")
		f()
	})
}

// more and less count what Idle waits for. Bot.mu is held.
func (b *Bot) more() {
	if b.active++; b.active == 1 {
		b.idle = make(chan struct{})
	}
}

func (b *Bot) less() {
	if b.active--; b.active == 0 {
		close(b.idle)
	}
}

// Message admits a message; see [core.Handler].
func (b *Bot) Message(ctx context.Context, m core.Message) error {
	set := b.Settings()
	key := set.key(m, m.Thread())
	if _, _, isCommand := core.ParseCommand(m.Text); isCommand {
		m = atHolder(m)
		key = set.key(m, placeOf(m))
	}
	ok, err := b.answers(ctx, set, key, m)
	if err == nil && ok {
		ok, err = b.heeds(ctx, key, m)
	}
	switch {
	case err != nil:
		b.tellTrouble(m)
		return err
	case !ok:
		return nil
	}
	in := Inbound{Key: m.InboxKey(), Session: key, Message: m, At: b.Now()}
	in, fresh, err := b.Store.Admit(ctx, in)
	if err != nil {
		b.tellTrouble(m)
		return fmt.Errorf("storing message %s: %w", m.ID, err)
	}
	b.troubled.over()
	if !fresh {
		return nil
	}
	b.Log.InfoContext(ctx, "message admitted", "session", key.String(), "message", m.ID)
	b.take(ctx, in)
	return nil
}

// answers reports whether the message is for the bot at all.
func (b *Bot) answers(ctx context.Context, set *Settings, key core.Key, m core.Message) (bool, error) {
	place := m.Thread()
	if opener(m) {
		place = place.Holder() // the rules are those of where it was said
	}
	answer := set.answer(place)
	if m.Addressed || answer == NeverMention || place.Kind == core.KindDirect {
		return true, nil
	}
	if answer == AlwaysMention || place.Kind != core.KindThread {
		return false, nil
	}
	s, err := b.Store.Session(ctx, key)
	if err != nil {
		return false, fmt.Errorf("reading the session: %w", err)
	}
	return s.Engaged || b.busy(key), nil
}

// busy reports whether something is being answered in a session.
func (b *Bot) busy(key core.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lanes[key] != nil
}

// Change updates or drops a message that still waits, and takes a deleted one
// out of the transcript; see [core.Handler].
func (b *Bot) Change(ctx context.Context, c core.Change) error {
	unsaid := c.Deleted && !b.Settings().KeepDeleted
	if unsaid {
		// Before the store hears of it, so that a turn that begins just now
		// either sees this or has stored what is taken out below.
		for _, r := range b.runs(func(r *running) bool { return r.in.Key == c.InboxKey }) {
			r.deleted.Store(true)
		}
	}
	found, err := b.Store.Change(ctx, c)
	if err != nil {
		return fmt.Errorf("changing a waiting message: %w", err)
	}
	if found {
		b.mu.Lock()
		for _, l := range b.lanes {
			b.change(l, c)
			b.weigh(l)
		}
		b.mu.Unlock()
		return nil
	}
	if unsaid {
		return b.unsay(ctx, c.InboxKey)
	}
	return nil
}
