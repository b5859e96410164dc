package discord_test

import (
	"strings"
	"testing"

	"understudy/adapters/discord"
	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

// In direct messages, and in a group of people that the bot is no part of, each
// policy holds for everything that somebody can do: a command, what is offered
// while typing, a menu, a button, a form.
func TestEntrancesOfDirectMessages(t *testing.T) {
	t.Parallel()
	const group = "300"
	for _, c := range []struct {
		policy string
		allow  []string
		place  string // "" is a direct message
		want   map[string]string
	}{
		{discord.DMOff, []string{"*", "700"}, "", map[string]string{"700": "not allowed to", "701": "not allowed to"}},
		{discord.DMAllowlist, []string{"*", "700"}, "", map[string]string{"700": "", "701": "not allowed to"}},
		{discord.DMAllowlist, []string{"900", "role:77"}, "", map[string]string{"700": "not allowed to", "702": "not allowed to"}},
		{discord.DMPairing, []string{"*"}, "", map[string]string{"700": "not allowed to use this bot yet", "701": ""}},
		{discord.DMOpen, nil, "", map[string]string{"700": "", "805": "not allowed to"}},
		{discord.DMOpen, []string{"900"}, group, map[string]string{"700": "not allowed to"}},
		{discord.DMPairing, []string{"900"}, group, map[string]string{"701": "not allowed to"}},
		{discord.DMOff, []string{group, "user:700"}, group, map[string]string{"700": "", "701": "not allowed to"}},
	} {
		h := open(t, func(d *discord.Config) { d.Allow, d.DM = c.allow, c.policy })
		h.fake.AddUser(discordtest.User{ID: "702", Name: "eve", Roles: []string{"77"}})
		h.fake.AddChannel(discordtest.Channel{ID: group, Type: discordtest.GroupMessage})
		h.guests.mu.Lock()
		h.guests.known = map[string]bool{"701": true}
		h.guests.mu.Unlock()
		h.guests.complete = func(core.Invocation) ([]core.Choice, error) {
			return []core.Choice{{Label: "secret", Value: "secret"}}, nil
		}
		for user, refusal := range c.want {
			place := c.place
			if place == "" {
				place = h.fake.Direct(user)
			}
			for _, i := range []discordtest.Interaction{
				{Command: "status"},
				{Type: discordtest.CompleteInteraction, Command: "model", Options: map[string]string{"model": "s"}},
				{Type: discordtest.ComponentInteraction, CustomID: "pick:model:0", Values: []string{"x"}, Message: "1"},
				{Type: discordtest.ModalInteraction, CustomID: "pick:model:0"},
			} {
				i.Channel, i.User = place, user
				a := h.answered(h.fake.Interact(i))
				switch {
				case i.Type == discordtest.CompleteInteraction:
					if got := len(a.Choices) > 0; got != (refusal == "") {
						t.Errorf("%s %v in %q: %s is offered %+v", c.policy, c.allow, c.place, user, a.Choices)
					}
				case refusal != "" && (!strings.Contains(a.Content, refusal) || !a.Ephemeral || a.Callback != 4):
					t.Errorf("%s %v in %q: %s with %d is answered %+v", c.policy, c.allow, c.place, user, i.Type, a)
				case refusal == "" && strings.Contains(a.Content, "not allowed"):
					t.Errorf("%s %v in %q: %s with %d is refused", c.policy, c.allow, c.place, user, i.Type)
				}
			}
			for _, call := range h.called() {
				if c.want[call.Author.ID] != "" {
					t.Errorf("%s %v in %q: %s gave a command", c.policy, c.allow, c.place, user)
				}
			}
		}
	}
}
