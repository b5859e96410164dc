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

const (
	commandLimit  = 5 * time.Minute         // for a command; its answer may be edited for 15
	completeLimit = 2500 * time.Millisecond // Discord waits three seconds
	maxChoices    = 25
)

const (
	textRefused = "You are not allowed to use this bot here."
	textOld     = "This menu is out of date. Give the command again."
	textFailed  = "That did not work because of a problem on our side. Please try again in a moment."
	textBelow   = "The answer is below, for everybody."
)

// interaction takes a command, a pick from a menu or a request for completions.
func (r *run) interaction(i wireInteraction) {
	if i.ID == "" || i.Token == "" || i.speaker() == nil {
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

func (r *run) interact(ctx context.Context, i wireInteraction) {
	user := i.speaker()
	who := speaker{id: user.ID, bot: user.Bot}
	if i.Member != nil {
		who.roles = i.Member.Roles
	}
	chain, ok := r.permits(ctx, i.GuildID, i.ChannelID, who)
	if !ok {
		r.log.Info("somebody who is not allowed to tried to use the bot", "user", user.ID, "channel", i.ChannelID, "command", i.Data.Name)
		r.refuse(ctx, i, textRefused)
		return
	}
	call := core.Invocation{ID: i.ID, Author: author(user, i.Member, user.Bot),
		Target: r.target(i.GuildID, chain[0], user.ID), Native: true}
	switch i.Type {
	case askCommand:
		call.Name, call.Args = i.Data.Name, i.argument()
		r.carryOut(ctx, i, call.Name, object{"type": respondLater, "data": object{"flags": flagEphemeral}}, func(ctx context.Context) (core.Reply, error) {
			return r.handler.Command(ctx, call)
		})
	case askComponent:
		token, value, ok := i.pressed()
		if !ok {
			r.refuse(ctx, i, textOld)
			return
		}
		p := core.Press{ID: i.ID, Author: call.Author, Target: call.Target, Token: token, Value: value}
		r.carryOut(ctx, i, "press", object{"type": respondLaterUpdate}, func(ctx context.Context) (core.Reply, error) {
			return r.handler.Press(ctx, p)
		})
	case askComplete:
		call.Name, call.Args = i.Data.Name, i.argument()
		r.complete(ctx, i, call)
	default:
		r.refuse(ctx, i, textOld)
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
	r.respond(ctx, i, object{"type": respondMessage, "data": object{"content": text,
		"flags": flagEphemeral, "allowed_mentions": noMentions()}})
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
// the first response: then somebody else has it, or its user gave up.
func (r *run) carryOut(ctx context.Context, i wireInteraction, what string, first object, do func(context.Context) (core.Reply, error)) {
	if !r.respond(ctx, i, first) {
		return
	}
	limited, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	reply, err := do(limited)
	if err != nil {
		r.log.Error("a command failed", "command", what, "interaction", i.ID, "error", err)
		reply = core.Reply{Text: textFailed}
	}
	if err := r.reply(ctx, i, reply); err != nil {
		r.lost(i, err)
	}
}

// reply gives the answer to a command. The first part takes the place of the
// response that said "later", by an edit: a follow-up before that would take it
// just as well, and lose its own flags. Whether the user alone sees it was
// fixed by that response, so that a public answer follows it.
func (r *run) reply(ctx context.Context, i wireInteraction, reply core.Reply) error {
	parts := core.Split(reply.Text, r.Limits(core.Thread{}))
	rows := components(reply)
	first, rest, flags := "", parts, flagEphemeral
	switch {
	case reply.Public:
		first, flags = textBelow, 0
	case len(parts) > 0:
		first, rest = parts[0], parts[1:]
	}
	webhook := "webhooks/" + i.AppID + "/" + i.Token
	if first == "" && len(rows) == 0 {
		_, err := r.webhook(ctx, http.MethodDelete, webhook+"/messages/@original", nil)
		return err
	}
	body := object{"content": rendered(first), "components": rows, "allowed_mentions": noMentions()}
	if _, err := r.webhook(ctx, http.MethodPatch, webhook+"/messages/@original", body); err != nil {
		return err
	}
	for _, part := range rest {
		body := object{"content": rendered(part), "flags": flags, "allowed_mentions": noMentions()}
		if _, err := r.webhook(ctx, http.MethodPost, webhook, body); err != nil {
			return err
		}
	}
	return nil
}

func rendered(text string) string {
	return render(core.Post{Kind: core.PostCommand, Text: text})
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
func (r *run) complete(ctx context.Context, i wireInteraction, call core.Invocation) {
	limited, cancel := context.WithTimeout(ctx, completeLimit)
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

// short cuts a text to a number of characters.
func short(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
