package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"understudy/core"
)

// The types of interactions and of responses to them.
// https://discord.com/developers/docs/interactions/receiving-and-responding
const (
	askCommand   = 2
	askComponent = 3
	askComplete  = 4

	respondMessage     = 4
	respondLater       = 5
	respondLaterUpdate = 6
	respondChoices     = 8
)

// contextOthers is where an interaction happens among people who speak without
// the bot.
const contextOthers = 2

const (
	commandLimit  = 5 * time.Minute         // for a command; its answer may be edited for 15
	answerLimit   = 2 * time.Minute         // to bring the answer, limits of Discord included
	completeLimit = 2200 * time.Millisecond // for completions, with the time to answer left
	maxChoices    = 25
)

const (
	textRefused  = "You are not allowed to use this bot here."
	textStranger = "You are not allowed to use this bot yet. Write to it in a direct message to ask for access."
	textOld      = "This menu is out of date. Give the command again."
	textFailed   = "That did not work because of a problem on our side. Please try again in a moment."
	textBelow    = "The answer is below, for everybody."
)

// interaction takes a command, a pick from a menu or a request for completions.
func (r *run) interaction(i wireInteraction) {
	if i.ID == "" || i.Token == "" {
		return
	}
	select {
	case r.slots <- struct{}{}:
	default:
		r.log.Warn("too many interactions at a time; one is not answered", "interaction", i.ID)
		return
	}
	r.spawn("INTERACTION_CREATE", func(ctx context.Context) {
		defer func() { <-r.slots }()
		r.interact(ctx, i)
	})
}

// speaker is the user; guilds tell him within the member.
func (i wireInteraction) speaker() *wireUser {
	if i.Member != nil && i.Member.User != nil {
		return i.Member.User
	}
	return i.User
}

// place is where the interaction happened, as far as Discord tells.
func (i wireInteraction) place() wireChannel {
	switch {
	case i.GuildID == "" && i.Context == contextOthers:
		return wireChannel{ID: i.ChannelID, Type: typeGroup} // also if there are only two
	case i.Channel.ID == i.ChannelID:
		return i.Channel
	}
	return wireChannel{ID: i.ChannelID}
}

func (r *run) interact(ctx context.Context, i wireInteraction) {
	received := time.Now()
	call, no := r.enter(ctx, i)
	if no != "" {
		r.refuse(ctx, i, no)
		return
	}
	switch i.Type {
	case askCommand:
		call.Name, call.Args = i.Data.Name, i.argument()
		r.carryOut(ctx, i, call, object{"type": respondLater, "data": object{"flags": flagEphemeral}}, func(ctx context.Context) (core.Reply, error) {
			return r.handler.Command(ctx, call)
		})
	case askComponent:
		token, value, ok := i.pressed()
		if !ok {
			r.refuse(ctx, i, textOld)
			return
		}
		p := core.Press{ID: i.ID, Author: call.Author, Target: call.Target, Token: token, Value: value}
		r.carryOut(ctx, i, call, object{"type": respondLaterUpdate}, func(ctx context.Context) (core.Reply, error) {
			return r.handler.Press(ctx, p)
		})
	case askComplete:
		call.Name, call.Args = i.Data.Name, i.argument()
		r.complete(ctx, i, call, received)
	default: // of a form, say, and there are no forms of ours
		r.refuse(ctx, i, textOld)
	}
}

// enter decides whether the user may do anything at all, before anything else
// is done. If not, it says what he is to be told.
func (r *run) enter(ctx context.Context, i wireInteraction) (call core.Invocation, no string) {
	user := i.speaker()
	if user == nil || user.ID == "" {
		return call, textRefused
	}
	ctx, cancel := context.WithTimeout(ctx, r.pace.entry)
	defer cancel()
	who := speaker{id: user.ID, bot: user.Bot}
	if i.Member != nil {
		who.roles = i.Member.Roles
	}
	chain, verdict := r.admits(ctx, i.GuildID, i.place(), who)
	if verdict == refused {
		r.turnedAway(i, user)
		return call, textRefused
	}
	call = core.Invocation{ID: i.ID, Author: author(user, i.Member, user.Bot),
		Target: r.target(i.GuildID, chain, user.ID), Native: true}
	if verdict == allowed {
		return call, ""
	}
	known, err := r.handler.Known(ctx, call.Target.Thread, call.Author)
	switch {
	case err != nil:
		r.log.Error("it is not known whether somebody may use the bot", "user", user.ID, "error", err)
		return call, textFailed
	case !known:
		r.turnedAway(i, user)
		return call, textStranger
	}
	return call, ""
}

// turnedAway tells the operator of somebody who may not use the bot and tried
// to, now and then.
func (r *run) turnedAway(i wireInteraction, user *wireUser) {
	what := "a menu or button"
	if i.Data.Name != "" {
		what = "/" + i.Data.Name
	}
	r.log.Info("somebody who is not allowed to tried to use the bot; to allow it, list an id in UNDERSTUDY_DISCORD_ALLOW", "user", user.ID, "server", i.GuildID, "channel", i.ChannelID, "command", what)
	if key := user.ID + " " + what; r.refusals.due(key) {
		r.alert(core.Alert{Kind: "refused", Key: r.name() + " " + key,
			Text: fmt.Sprintf("%s: %s (discord:%s) is not allowed to use the bot in channel %s and tried %s",
				r.name(), short(oneLine(user.Username), maxLabel), user.ID, i.ChannelID, what)})
	}
}

// argument is the value of the one argument that commands have.
func (i wireInteraction) argument() string {
	for _, o := range i.Data.Options {
		if o.Value != nil {
			return strings.TrimSpace(fmt.Sprint(o.Value))
		}
	}
	return ""
}

// refuse answers with a fixed text that the user alone sees, or with no
// completions.
func (r *run) refuse(ctx context.Context, i wireInteraction, text string) {
	if i.Type == askComplete {
		r.respond(ctx, i, object{"type": respondChoices, "data": object{"choices": []object{}}})
		return
	}
	said := content(core.Post{Kind: core.PostCommand, Text: text})
	said["flags"] = flagEphemeral
	r.respond(ctx, i, object{"type": respondMessage, "data": said})
}

// respond makes the first response, which has to come within three seconds.
func (r *run) respond(ctx context.Context, i wireInteraction, body object) bool {
	_, err := r.rest.do(ctx, http.MethodPost, "interactions/"+i.ID+"/"+i.Token+"/callback", body)
	if err != nil {
		r.lost(i, err)
	}
	return err == nil
}

// lost logs an interaction that cannot be answered. When it is too late, was
// answered by somebody else or stands in a locked thread, nobody is to blame.
func (r *run) lost(i wireInteraction, err error) {
	if refusedWith(err, codeUnknownInteraction, codeAcknowledged, codeUnknownWebhook, codeInvalidToken,
		codeThreadArchived, codeThreadLocked, codeMissingAccess, codeUnknownMessage) {
		r.log.Info("an interaction could not be answered", "interaction", i.ID, "command", i.Data.Name, "error", err)
		return
	}
	r.log.Warn("an interaction could not be answered", "interaction", i.ID, "command", i.Data.Name, "error", err)
}

// carryOut runs a command or a press. Nothing is run when Discord does not take
// the first response: then somebody else has it, or its user gave up. After
// that response the user waits, also when the account ends meanwhile.
func (r *run) carryOut(ctx context.Context, i wireInteraction, call core.Invocation, first object, do func(context.Context) (core.Reply, error)) {
	if !r.respond(ctx, i, first) {
		return
	}
	ctx, leave := core.Linger(ctx, core.Farewell)
	defer leave()
	limited, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	reply, err := do(limited)
	if err != nil {
		r.log.Error("a command failed", "command", i.Data.Name, "interaction", i.ID, "error", err)
		reply = core.Reply{Text: textFailed, Aside: i.Type == askComponent}
	}
	ctx, done := context.WithTimeout(ctx, answerLimit)
	defer done()
	if left, err := r.reply(ctx, i, reply); err != nil {
		r.lost(i, err)
		if !reply.Public {
			left = nil
		}
		r.elsewhere(ctx, call, left, err)
	}
}

// elsewhere makes one attempt to say what could not be said where it was asked
// for: the parts that are left for everybody to see. What may have been said is
// not said again, and what only its user was to see is shown to nobody else: if
// it cannot be shown for the state of a thread, the channel is told of that.
func (r *run) elsewhere(ctx context.Context, call core.Invocation, left []string, err error) {
	if refusedWith(err, codeThreadArchived, codeThreadLocked, codeMissingAccess, codeMissingPermissions) {
		r.tellParent(ctx, call.Target, sendError(err, true))
		return
	}
	if !refusedWith(err, codeUnknownInteraction, codeUnknownWebhook, codeInvalidToken, codeUnknownMessage) {
		return
	}
	for n, part := range left {
		p := core.Post{Target: call.Target, Kind: core.PostCommand, Text: part, Nonce: fmt.Sprintf("i%s-%d", call.ID, n)}
		if _, err := r.Post(ctx, p); err != nil {
			r.log.Warn("the answer to a command could not be posted either", "interaction", call.ID, "error", err)
			return
		}
	}
}

// reply gives the answer to a command or a press. The first part takes the
// place of the response that said "later", by an edit: a follow-up before that
// would take it just as well, and lose its own flags. Whether the user alone
// sees it was fixed by that response, so that a public answer follows it. After
// an error, left are the parts that Discord did not take.
func (r *run) reply(ctx context.Context, i wireInteraction, reply core.Reply) (left []string, err error) {
	parts := core.Split(reply.Text, r.Limits(core.Thread{}))
	webhook := "webhooks/" + i.AppID + "/" + i.Token
	if i.Type == askComponent && reply.Aside {
		return r.followUps(ctx, webhook, parts, flagEphemeral)
	}
	rows := components(reply)
	head, rest, flags := "", parts, flagEphemeral
	switch {
	case reply.Public && i.Type == askCommand:
		head, flags = textBelow, 0
	case len(parts) > 0:
		head, rest = parts[0], parts[1:]
	}
	if head == "" && len(rows) == 0 {
		_, err := r.webhook(ctx, http.MethodDelete, webhook+"/messages/@original", nil)
		return nil, err
	}
	body := content(core.Post{Kind: core.PostCommand, Text: head})
	body["components"] = rows
	if _, err := r.webhook(ctx, http.MethodPatch, webhook+"/messages/@original", body); err != nil {
		return parts, err
	}
	return r.followUps(ctx, webhook, rest, flags)
}

// followUps are messages after the first response. After an error, left are
// those that Discord did not take.
func (r *run) followUps(ctx context.Context, webhook string, parts []string, flags int) (left []string, err error) {
	for n, part := range parts {
		body := content(core.Post{Kind: core.PostCommand, Text: part})
		body["flags"] = flags
		if _, err := r.webhook(ctx, http.MethodPost, webhook, body); err != nil {
			return parts[n:], err
		}
	}
	return nil, nil
}

const webhookTries = 4

// webhook makes a request for an interaction and waits out Discord's limits.
func (r *run) webhook(ctx context.Context, method, path string, body any) (answer, error) {
	for try := 1; ; try++ {
		got, err := r.rest.do(ctx, method, path, body)
		var limited *refusal
		if err == nil || try == webhookTries || !errors.As(err, &limited) || limited.status != http.StatusTooManyRequests {
			return got, err
		}
		select {
		case <-time.After(limited.retryAfter):
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
	}
}

// complete offers values for the argument of a command.
func (r *run) complete(ctx context.Context, i wireInteraction, call core.Invocation, received time.Time) {
	limited, cancel := context.WithDeadline(ctx, received.Add(completeLimit))
	defer cancel()
	offered, err := r.handler.Complete(limited, call)
	if err != nil {
		r.log.Warn("completions failed", "command", call.Name, "error", err)
	}
	choices := []object{}
	for _, c := range offered {
		if c.Value == "" || utf8.RuneCountInString(c.Value) > maxLabel || len(choices) == maxChoices {
			continue
		}
		label := first(c.Label, c.Value)
		if c.Note != "" {
			label += " (" + c.Note + ")"
		}
		choices = append(choices, object{"name": short(label, maxLabel), "value": c.Value})
	}
	r.respond(ctx, i, object{"type": respondChoices, "data": object{"choices": choices}})
}

func first(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// oneLine is a text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// short cuts a text to a number of characters.
func short(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
