package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"understudy/core"
)

const (
	// maxText is what Discord takes in a message, in characters.
	// https://discord.com/developers/docs/resources/message#create-message
	maxText  = 2000
	maxParts = 10
	// An edit a second and a fifth stays below five edits in five seconds.
	firstPreview = time.Second
	editEvery    = 1200 * time.Millisecond
)

// Flags of messages.
const (
	flagNoEmbeds  = 1 << 2
	flagEphemeral = 1 << 6
	flagSilent    = 1 << 12
)

// Routes that Discord limits on their own.
const (
	routePost    = "post"
	routeEdit    = "edit" // shared by edits and deletions
	routeTyping  = "typing"
	routeThreads = "threads"
	routeRead    = "read"
	routeChannel = "channel"
)

// object is a JSON object.
type object = map[string]any

// noMentions makes every mention in a text inert.
func noMentions() object { return object{"parse": []string{}, "replied_user": false} }

// Limits are Discord's.
func (a *Adapter) Limits(t core.Thread) core.Limits {
	return core.Limits{MaxText: maxText, Count: utf8.RuneCountInString, MaxParts: maxParts,
		FirstPreview: firstPreview, EditEvery: editEvery, MaxFile: a.places.maxFile(t.Workspace)}
}

// Post sends one message. A thread that the target wants opened is opened
// first; being in it is then the link to the message it was opened from, since
// Discord refuses a reply to a message of another channel.
func (a *Adapter) Post(ctx context.Context, p core.Post) (core.Posted, error) {
	place, err := a.threads.open(ctx, p.Target)
	if err == nil {
		var posted core.Posted
		if posted, err = a.post(ctx, place, p); err == nil {
			a.noTrouble(p.Target)
			return posted, nil
		}
	}
	failed := sendError(err, true)
	if failed.Permanent {
		a.tellParent(ctx, p.Target, failed)
	}
	return core.Posted{}, failed
}

func (a *Adapter) post(ctx context.Context, place string, p core.Post) (core.Posted, error) {
	body, err := a.newMessage(p)
	if err != nil {
		return core.Posted{}, err
	}
	got, err := a.awake(ctx, place, routePost, class(p.Kind), http.MethodPost, messagesPath(place), body)
	if err != nil {
		return core.Posted{}, err
	}
	m, err := decodeOwn(got)
	if err != nil {
		return core.Posted{}, err
	}
	return core.Posted{ID: m.ID, Linked: linked(p, m, place)}, nil
}

// newMessage is the body that posts a message.
func (a *Adapter) newMessage(p core.Post) (any, error) {
	body := content(p)
	if rows := buttonRows(p.Buttons); len(rows) > 0 {
		body["components"] = rows
	}
	if p.Nonce != "" {
		body["nonce"], body["enforce_nonce"] = p.Nonce, true
	}
	if quietKind(p.Kind) {
		body["flags"] = flagSilent | flagNoEmbeds
	}
	if p.Link && p.Target.Opens == "" && p.Target.ReplyTo != "" {
		body["message_reference"] = reference(p.Target.ReplyTo)
	}
	if len(p.Files) == 0 {
		return body, nil
	}
	return upload{body, p.Files}, a.fits(p)
}

// content is what every text of the bot is sent with: it can mention nobody.
func content(p core.Post) object {
	return object{"content": render(p), "allowed_mentions": noMentions()}
}

// reference makes a message a reply that survives the deletion of the message
// it replies to.
func reference(id string) object {
	return object{"message_id": id, "fail_if_not_exists": false}
}

// ownMessage is what is read back of a message of ours.
type ownMessage struct {
	ID          string
	Content     string
	Nonce       any
	Author      wireUser
	Attachments []struct{ ID string }
	Reference   struct {
		MessageID string `json:"message_id"`
	} `json:"message_reference"`
}

func decodeOwn(raw []byte) (ownMessage, error) {
	m, err := read[ownMessage](raw)
	if err != nil {
		return m, fmt.Errorf("read Discord's answer to a message: %w", err)
	}
	if m.ID == "" {
		return m, errors.New("read Discord's answer to a message: it has no id")
	}
	return m, nil
}

// Edit replaces the text of a message of ours.
func (a *Adapter) Edit(ctx context.Context, id string, p core.Post) error {
	body := content(p)
	// Buttons that are not named go away.
	body["components"] = buttonRows(p.Buttons)
	err := a.at(p.Target, func(place string) error {
		_, err := a.awake(ctx, place, routeEdit, class(p.Kind), http.MethodPatch, messagePath(place, id), body)
		return err
	})
	if err != nil {
		return sendError(err, false)
	}
	return nil
}

// at does something where the messages of a target are. When a thread turns out
// never to have been opened, that is the channel it would have been opened in.
func (a *Adapter) at(t core.Target, do func(place string) error) error {
	place := a.threads.place(t)
	err := do(place)
	if t.Opens != "" && place != t.Thread.Parent && refusedWith(err, codeUnknownChannel) {
		return do(t.Thread.Parent)
	}
	return err
}

// Delete takes a message of ours away.
func (a *Adapter) Delete(ctx context.Context, t core.Target, id string) error {
	err := a.at(t, func(place string) error {
		_, err := a.awake(ctx, place, routeEdit, whenFree, http.MethodDelete, messagePath(place, id), nil)
		return err
	})
	if err != nil && !refusedWith(err, codeUnknownMessage, codeUnknownChannel) {
		return sendError(err, false)
	}
	return nil
}

// Working shows the typing indicator, which Discord ends after ten seconds or
// with the next message. It is passed over while something is being sent to the
// conversation, so that it never shows after an answer.
func (a *Adapter) Working(ctx context.Context, t core.Target, on bool) error {
	if !on || a.threads.shut(t) {
		return nil
	}
	place, err := a.threads.open(ctx, t)
	if err != nil {
		return err
	}
	if err := a.lanes.try(place, routeTyping); err != nil {
		return nil // the message on its way says more than typing does
	}
	got, err := a.rest.do(ctx, http.MethodPost, "channels/"+place+"/typing", nil)
	a.lanes.leave(place, routeTyping, got.head, err)
	return err
}

const (
	findPages = 100 // that are read at most: 10,000 messages since a post was tried
	findLimit = 100 // messages a page, the most that Discord gives
)

// Find looks for a message of ours with the nonce of p. Where Discord does not
// tell nonces any more, a message of the same text since then counts as it. In a
// conversation with more messages since then than are read the outcome is an
// error: nothing is posted a second time because it was not looked for.
func (a *Adapter) Find(ctx context.Context, p core.Post, since time.Time) (posted core.Posted, found bool, err error) {
	me, err := a.self(ctx)
	if err != nil {
		return core.Posted{}, false, err
	}
	err = a.at(p.Target, func(place string) error {
		var m ownMessage
		m, found, err = a.search(ctx, place, snowflake(since), func(m ownMessage) bool {
			return m.Author.ID == me && matches(m, p)
		})
		posted = core.Posted{ID: m.ID, Linked: found && linked(p, m, place)}
		return err
	})
	if refusedWith(err, codeUnknownChannel) {
		return core.Posted{}, false, nil // what it would be in does not exist
	}
	return posted, found, err
}

// search reads a conversation forwards from a message on, to its end.
func (a *Adapter) search(ctx context.Context, place string, after uint64, is func(ownMessage) bool) (ownMessage, bool, error) {
	for range findPages {
		path := fmt.Sprintf("%s?limit=%d&after=%d", messagesPath(place), findLimit, after)
		got, err := a.request(ctx, place, routeRead, urgentFirst, http.MethodGet, path, nil)
		if err != nil {
			return ownMessage{}, false, err
		}
		page, err := read[[]ownMessage](got)
		if err != nil {
			return ownMessage{}, false, fmt.Errorf("read the messages of %s: %w", place, err)
		}
		if i := slices.IndexFunc(page, is); i >= 0 {
			return page[i], true, nil
		}
		for _, m := range page {
			after = max(after, number(m.ID))
		}
		if len(page) < findLimit {
			return ownMessage{}, false, nil
		}
	}
	return ownMessage{}, false, fmt.Errorf("%s has more than %d messages since a post was tried", place, findPages*findLimit)
}

// linked reports whether a message of ours carries the link that p asks for.
func linked(p core.Post, m ownMessage, place string) bool {
	inOwnThread := p.Target.Opens != "" && place == p.Target.Thread.Channel
	return p.Link && (inOwnThread || m.Reference.MessageID != "")
}

func matches(m ownMessage, p core.Post) bool {
	if nonce, ok := m.Nonce.(string); ok && nonce != "" {
		return nonce == p.Nonce
	}
	return m.Content == strings.TrimSpace(render(p)) && len(m.Attachments) == len(p.Files) // Discord trims
}

// awake makes a request to a conversation and wakes the thread first if it
// turns out to be archived.
func (a *Adapter) awake(ctx context.Context, place, route string, class int, method, path string, body any) ([]byte, error) {
	got, archived := a.request(ctx, place, route, class, method, path, body)
	if !refusedWith(archived, codeThreadArchived) {
		return got, archived
	}
	change := object{"archived": false}
	if _, err := a.request(ctx, place, routeChannel, class, http.MethodPatch, "channels/"+place, change); err != nil {
		return nil, archived
	}
	return a.request(ctx, place, route, class, method, path, body)
}

// request waits for its turn in the conversation and makes one request.
func (a *Adapter) request(ctx context.Context, place, route string, class int, method, path string, body any) ([]byte, error) {
	got, err := a.rest.request(ctx, place, route, class, method, path, body)
	return got.body, err
}

func messagesPath(place string) string { return "channels/" + place + "/messages" }

func messagePath(place, id string) string { return messagesPath(place) + "/" + id }

// quietKind reports whether a post stands beside the conversation: it is shown
// small and notifies nobody.
func quietKind(k core.PostKind) bool { return k == core.PostNotice || k == core.PostStatus }

func class(k core.PostKind) int {
	switch k {
	case core.PostNotice, core.PostStatus, core.PostAdmin:
		return whenFree
	}
	return urgentFirst
}

// discordEpoch is the first millisecond of Discord's ids.
const discordEpoch = 1420070400000

// snowflake is the smallest id that a message of that time can have.
func snowflake(t time.Time) uint64 {
	ms := t.UnixMilli() - discordEpoch
	if ms <= 0 {
		return 0
	}
	return uint64(ms) << 22
}

func number(id string) uint64 {
	n, _ := strconv.ParseUint(id, 10, 64) // something else than a number is the oldest
	return n
}
