package sessions

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/rescue"
)

const (
	// codeLife is how long a code can be approved, and how long somebody who was
	// told one is told nothing more.
	codeLife = time.Hour
	// maxAsking is how many may wait for approval at once, by account. When one
	// more asks, the oldest request gives way: a crowd of strangers keeps nobody
	// from asking, and whoever gave way may ask again.
	maxAsking = 50
	// codeSize letters of codeLetters make a code. No two of these letters look
	// alike in a chat.
	codeSize    = 8
	codeLetters = "ABCDEFGHJKMNPQRSTUVWXYZ"
	// lookEvery is how often approvals from elsewhere are looked for while
	// somebody waits.
	lookEvery = 3 * time.Second
	// strangers is the kind of alert about people who ask.
	strangers = "stranger"
)

// Asks reports whether the code of a guest can be approved.
func (g Guest) Asks(now time.Time) bool {
	return g.Code != "" && g.Approved.IsZero() && now.Before(g.Until())
}

// Until is when the code of a guest runs out.
func (g Guest) Until() time.Time { return g.Asked.Add(codeLife) }

// Address names the guest as the configuration names people.
func (g Guest) Address() string { return g.Platform + ":" + g.User }

// Known reports whether somebody may write directly; see [core.Handler].
func (b *Bot) Known(ctx context.Context, t core.Thread, who core.Author) (bool, error) {
	if b.Settings().admin(t.Platform, who) {
		return true, nil
	}
	g, err := b.Store.Guest(ctx, t.Platform, t.Account, who.ID)
	if err != nil {
		return false, fmt.Errorf("reading who may write: %w", err)
	}
	return !g.Approved.IsZero(), nil
}

// Knock answers somebody who is not known; see [core.Handler].
func (b *Bot) Knock(ctx context.Context, m core.Message) (string, error) {
	b.knocking.Lock()
	defer b.knocking.Unlock()
	t, now := m.Thread(), b.Now()
	if m.Author.Bot {
		return "", nil // nobody approves a bot by chance
	}
	all, err := b.Store.Guests(ctx)
	if err != nil {
		return "", fmt.Errorf("reading who asks: %w", err)
	}
	var asking []Guest // oldest first
	for _, g := range all {
		if g.Platform != t.Platform || g.Account != t.Account {
			continue
		}
		if g.User == m.Author.ID && (g.Asks(now) || !g.Approved.IsZero()) {
			return "", nil
		}
		if g.Asks(now) {
			asking = append(asking, g)
		}
	}
	slices.SortStableFunc(asking, func(a, b Guest) int { return a.Asked.Compare(b.Asked) })
	for len(asking) >= maxAsking {
		b.Log.WarnContext(ctx, "so many ask to write to the bot that the oldest request gives way", "platform", t.Platform, "user", asking[0].User)
		b.forget(ctx, asking[0], gaveWayText(asking[0]))
		asking = asking[1:]
	}
	g := Guest{Platform: t.Platform, Account: t.Account, User: m.Author.ID, Name: m.Author.Name, Target: core.Target{Thread: t}, Code: newCode(), Asked: now}
	g.Target.Recipient, g.Target.RecipientTeam = m.Target.Recipient, m.Target.RecipientTeam
	if err := b.Store.UpdateGuest(ctx, g.Platform, g.Account, g.User, func(Guest) Guest { return g }); err != nil {
		return "", fmt.Errorf("storing who asks: %w", err)
	}
	b.Log.InfoContext(ctx, "somebody asks to write to the bot directly; understudy pairing list shows the code, understudy pairing approve takes it", "platform", g.Platform, "user", g.User)
	b.alert(core.Alert{Kind: strangers, Key: g.Address(), Text: strangerText(g),
		Buttons: []core.Button{{Label: "Approve", Token: "/approve", Value: g.Address()}}})
	b.watchGuests()
	return knockText(g.Code), nil
}

func newCode() string {
	code := make([]byte, 0, codeSize)
	for len(code) < codeSize {
		for _, x := range []byte(rand.Text()) { // base 32: letters and some digits
			if strings.IndexByte(codeLetters, x) >= 0 && len(code) < codeSize {
				code = append(code, x)
			}
		}
	}
	return string(code)
}

func (b *Bot) alert(a core.Alert) {
	if b.Alert != nil {
		b.Alert(a)
	}
}

// errNoCode says that nobody waits with a code.
var errNoCode = errors.New("nobody asks with this code")

// ErrNoCode reports whether an approval failed because of its code: it is
// unknown, or its time is over.
func ErrNoCode(err error) bool { return errors.Is(err, errNoCode) }

// answersTo reports whether a guest is meant by a word: the code that the person
// was told, or the address, which those know who are told that somebody asks.
func (g Guest) answersTo(word string) bool {
	return word != "" && (strings.EqualFold(word, g.Code) || strings.EqualFold(word, g.Address()))
}

// Approve lets the person who asks with a code, or with an address, write to the
// bot. A running bot tells the person. It may be called again with the same word.
func Approve(ctx context.Context, store Guests, word, by string, now time.Time) (Guest, error) {
	all, err := store.Guests(ctx)
	if err != nil {
		return Guest{}, fmt.Errorf("reading who asks: %w", err)
	}
	word = strings.TrimSpace(word)
	for _, g := range all {
		if !g.answersTo(word) {
			continue
		}
		err := store.UpdateGuest(ctx, g.Platform, g.Account, g.User, func(stored Guest) Guest {
			if g = stored; g.answersTo(word) && g.Asks(now) {
				g.Approved, g.By = now, by
			}
			return g
		})
		switch {
		case err != nil:
			return g, fmt.Errorf("storing the approval: %w", err)
		case g.answersTo(word) && !g.Approved.IsZero():
			return g, nil
		}
	}
	return Guest{}, errNoCode
}

// Revoke takes the approval of a person back, in all accounts of the platform;
// ok is false when there was none.
func Revoke(ctx context.Context, store Guests, platform, user string) (ok bool, err error) {
	all, err := store.Guests(ctx)
	if err != nil {
		return false, fmt.Errorf("reading who may write: %w", err)
	}
	for _, g := range all {
		if g.Platform != platform || g.User != user {
			continue
		}
		if err := store.UpdateGuest(ctx, g.Platform, g.Account, g.User, func(Guest) Guest { return Guest{} }); err != nil {
			return false, fmt.Errorf("taking the approval back: %w", err)
		}
		ok = true
	}
	return ok, nil
}

// cmdApprove lets a person with a code write to the bot.
func cmdApprove(c *call) (func(ChoiceTx) core.Reply, error) {
	if c.inv.Args == "" {
		return say(approveUsageText), nil
	}
	g, err := Approve(c.ctx, c.b.Store, c.inv.Args, c.inv.Target.Thread.Platform+":"+c.inv.Author.ID, c.b.Now())
	switch {
	case ErrNoCode(err):
		return say(noCodeText), nil
	case err != nil:
		return nil, err
	}
	if !g.Told {
		c.after = func() { c.b.welcome(g) }
	}
	return func(ChoiceTx) core.Reply { return core.Reply{Text: approvedText(g), Done: true} }, nil
}

// welcome tells a person of the approval, once.
func (b *Bot) welcome(g Guest) {
	ctx := context.WithoutCancel(b.base)
	key := b.Settings().key(core.Message{Author: core.Author{ID: g.User}, Target: g.Target}, g.Target.Thread)
	turn := fmt.Sprintf("approved-%s-%d", g.Address(), g.Asked.UnixNano())
	var rows []delivery.Row
	err := b.Store.Commit(ctx, key, 0, func(tx Tx) error {
		rows = tx.Queue(delivery.Row{
			Session: key, Turn: turn, State: delivery.Queued, Created: b.Now(),
			Post: core.Post{Target: g.Target, Kind: core.PostCommand, Text: welcomeText, Nonce: delivery.Nonce(turn, core.PostCommand, 0)},
		})
		return nil
	})
	if err == nil {
		err = b.Store.UpdateGuest(ctx, g.Platform, g.Account, g.User, func(g Guest) Guest {
			g.Told = !g.Approved.IsZero()
			return g
		})
	}
	if err != nil {
		b.Log.Error("somebody was not told of an approval", "user", g.Address(), "err", err)
		return
	}
	for _, r := range rows {
		if r.State == delivery.Queued {
			b.Sender.Send(r)
		}
	}
	b.alert(core.Alert{Kind: strangers, Key: g.Address(), Text: approvedText(g), Over: true})
}

// watchGuests looks after those who ask, until nobody does: approvals may come
// from another process, and requests run out. Bot.knocking is held.
func (b *Bot) watchGuests() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watching || b.closed {
		return
	}
	b.watching = true
	b.wg.Go(func() {
		for b.lookAfterGuests() {
			select {
			case <-b.After(lookEvery):
			case <-b.stopping:
				return
			}
		}
	})
}

// lookAfterGuests tells those who were approved, and forgets requests that ran
// out. It reports whether somebody still asks.
func (b *Bot) lookAfterGuests() (again bool) {
	b.knocking.Lock()
	defer b.knocking.Unlock()
	// After a mistake it is for the next knock to begin anew.
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.watching = again
	}()
	defer rescue.Panic(b.Log, "looking after those who ask")
	ctx, now := context.WithoutCancel(b.base), b.Now()
	all, err := b.Store.Guests(ctx)
	if err != nil {
		b.Log.Warn("those who ask to write to the bot cannot be read", "err", err)
		return true
	}
	for _, g := range all {
		switch {
		case g.Asks(now):
			again = true
		case g.Approved.IsZero():
			b.forget(ctx, g, ranOutText(g))
		case !g.Told:
			b.welcome(g)
		}
	}
	return again
}

// forget drops a request and says why, unless it was approved at the last
// moment.
func (b *Bot) forget(ctx context.Context, g Guest, why string) {
	gone := false
	err := b.Store.UpdateGuest(ctx, g.Platform, g.Account, g.User, func(stored Guest) Guest {
		if gone = stored.Code == g.Code && stored.Approved.IsZero(); gone {
			return Guest{}
		}
		return stored
	})
	if err != nil {
		b.Log.Warn("a request that is over is kept", "user", g.Address(), "err", err)
		return
	}
	if gone {
		b.alert(core.Alert{Kind: strangers, Key: g.Address(), Text: why, Over: true})
	}
}

// startGuests looks at who asked an earlier process.
func (b *Bot) startGuests() {
	b.knocking.Lock()
	defer b.knocking.Unlock()
	b.watchGuests()
}
