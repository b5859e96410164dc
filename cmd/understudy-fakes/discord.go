package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"understudy/adapters/discord/discordtest"
)

// discordOrders are those that only Discord understands.
func (w *world) discordOrders(mux *http.ServeMux) {
	mux.HandleFunc("POST /discord/interact", take(w.interact))
	mux.HandleFunc("POST /discord/break", take(w.breakDiscord))
	mux.HandleFunc("POST /discord/refuse", take(w.refuseDiscord))
	mux.HandleFunc("GET /discord/answer", func(rw http.ResponseWriter, r *http.Request) {
		answer(rw)(w.discord.Answer(r.URL.Query().Get("id")), nil)
	})
}

// act is something that somebody does with the bot's own interface.
type act struct {
	Type          string // command, menu, button, complete or modal; command if empty
	Channel, User string
	Command       string
	Options       map[string]string // of a command, or what was written into a form
	CustomID      string
	Values        []string
	Message       string // the one that holds the menu or button
}

func (w *world) interact(_ context.Context, o act) (any, error) {
	i := discordtest.Interaction{
		Channel: o.Channel, User: o.User, Command: o.Command, Options: o.Options,
		CustomID: o.CustomID, Values: o.Values, Message: o.Message,
	}
	switch o.Type {
	case "", "command":
	case "complete":
		i.Type = discordtest.CompleteInteraction
	case "menu", "button":
		i.Type = discordtest.ComponentInteraction
	case "modal":
		i.Type = discordtest.ModalInteraction
		i.Raw = map[string]any{"data": form(o.CustomID, o.Options)}
	default:
		return nil, fmt.Errorf("the type is %q; it must be command, menu, button, complete or modal", o.Type)
	}
	if !w.discordHas(o.Channel) {
		return nil, fmt.Errorf("there is no channel %q", o.Channel)
	}
	return map[string]string{"id": w.discord.Interact(i)}, nil
}

// form is what Discord tells of a form that was sent: each text field in a row
// of its own.
func form(id string, fields map[string]string) map[string]any {
	rows := []any{}
	for name, value := range fields {
		field := map[string]any{"type": 4, "id": 2, "custom_id": name, "value": value}
		rows = append(rows, map[string]any{"type": 1, "id": 1, "components": []any{field}})
	}
	return map[string]any{"custom_id": id, "components": rows}
}

// discordHas reports whether there is a channel or thread with that id.
func (w *world) discordHas(id string) bool {
	p := discordPlatform(w.discord)
	return slices.ContainsFunc(p.channels, func(c string) bool { return c == id || p.known(c, id) })
}

// breakage is how a connection is to end, and what is said before the bot is
// back.
type breakage struct {
	How       string // see the package comment
	Meanwhile speech
}

func (w *world) breakDiscord(_ context.Context, o breakage) (any, error) {
	how := map[string]func(){
		"drop":       w.discord.DropAll,
		"close":      func() { w.discord.CloseAll(4000) },
		"reconnect":  w.discord.AskReconnect,
		"resume":     func() { w.discord.Invalidate(true) },
		"invalidate": func() { w.discord.Invalidate(false) },
	}
	return struct{}{}, w.disturb("discord", how, o)
}

// disturb breaks the connection to a platform in one of the ways.
func (w *world) disturb(platform string, ways map[string]func(), o breakage) error {
	way, known := ways[o.How]
	if !known {
		return fmt.Errorf("%q is no way to break a connection to %s", o.How, platform)
	}
	way()
	if o.Meanwhile.Text == "" {
		return nil
	}
	p, err := w.platform(platform)
	if err == nil {
		_, err = w.utter(p, o.Meanwhile)
	}
	return err
}

// refusal is what the bot may not do from now on.
type refusal struct {
	Code    int    // close code for whoever connects; 0 lets the bot in again
	Content *bool  // whether the switch for message contents is on
	Channel string // in which it lacks a permission: view, post or thread; none gives all back
	Lacks   string
}

func (w *world) refuseDiscord(_ context.Context, o refusal) (any, error) {
	if o.Content != nil {
		w.discord.Switch(discordtest.IntentMessageContent, *o.Content)
		return struct{}{}, nil
	}
	if o.Channel == "" {
		if o.Code == 0 {
			w.discord.Switch(discordtest.IntentMessageContent, true)
		}
		w.discord.Refuse(o.Code)
		return struct{}{}, nil
	}
	if !w.discordHas(o.Channel) {
		return nil, fmt.Errorf("there is no channel %q", o.Channel)
	}
	if o.Lacks != "" && !slices.Contains([]string{"view", "post", "thread"}, o.Lacks) {
		return nil, fmt.Errorf("the permission is %q; it must be view, post or thread", o.Lacks)
	}
	w.discord.Change(o.Channel, func(c *discordtest.Channel) {
		c.NoAccess, c.NoPosts, c.NoThreads = o.Lacks == "view", o.Lacks == "post", o.Lacks == "thread"
	})
	return struct{}{}, nil
}
