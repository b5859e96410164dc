package discord_test

import (
	"slices"
	"strings"
	"testing"

	"understudy/adapters/discord"
	"understudy/adapters/discord/discordtest"
	"understudy/core"
)

// Bots and webhooks are heard as the rule about them says: never in a place or
// by a list that does not let people talk, and without a mention only where
// people need none and the rule says so too.
func TestRuleAboutBots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bots  string
		allow []string
		want  []string
	}{
		"as it comes":             {"", []string{"900"}, nil},
		"as it comes, named":      {"", []string{"900", "805"}, []string{"805 mention"}},
		"mentions":                {discord.BotsMentions, []string{"900"}, []string{"805 mention", "60 mention"}},
		"mentions, elsewhere":     {discord.BotsMentions, []string{"120"}, nil},
		"mentions, of nobody":     {discord.BotsMentions, nil, nil},
		"mentions, others listed": {discord.BotsMentions, []string{"900", "user:700"}, nil},
		"mentions, one listed":    {discord.BotsMentions, []string{"900", "user:60"}, []string{"60 mention"}},
		"all": {discord.BotsAll, []string{"900"}, []string{"805 mention", "60 mention", "805 open channel", "60 open channel",
			"805 reply", "805 thread"}},
		"all, in one place": {discord.BotsAll, []string{"110"}, []string{"805 open channel", "60 open channel", "805 reply"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, allow(c.allow...), func(d *discord.Config) {
				d.Bots = c.bots
				d.RequireMention = func(t core.Thread) string {
					if t.Channel == "110" {
						return discord.MentionNever
					}
					return discord.MentionUntilEngaged
				}
			})
			h.fake.AddChannel(discordtest.Channel{ID: "500", Parent: "100", Type: discordtest.PublicThread})
			ours := h.post(in("110"), core.PostAnswer, "answer", "n1", false)
			hook := discordtest.FromWebhook("60")
			h.fake.Say("100", "805", "<@800> 805 mention")
			h.fake.Say("100", "60", "<@800> 60 mention", hook)
			h.fake.Say("100", "805", "805 without")
			h.fake.Say("110", "805", "805 open channel")
			h.fake.Say("110", "60", "60 open channel", hook)
			h.fake.Say("110", "805", "805 reply", discordtest.Replying(ours.ID))
			h.fake.Say("500", "805", "805 thread")
			h.fake.Say(h.fake.Direct("805"), "805", "805 direct")
			h.fake.Say("110", discordtest.BotID, "the bot itself")
			h.fake.Say("110", discordtest.BotID, "itself by a webhook", discordtest.FromWebhook("61"))
			h.fake.Say("110", "62", "a webhook of this bot", discordtest.FromWebhook("62"), discordtest.With("application_id", discordtest.ApplicationID))
			var got []string
			for _, text := range h.texts() {
				first, _, _ := strings.Cut(text, "\n") // without what it replies to
				got = append(got, first)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("heard %q, want %q", got, c.want)
			}
		})
	}
	if _, err := discord.New(discord.Config{Token: core.NewSecret("x"), Bots: "some"}); err == nil {
		t.Error("a rule that there is not was taken")
	}
}

// A bot's message in a thread is handed over as one that does not address the
// bot: whether it takes part, the sessions know.
func TestBotsDoNotAddressUnasked(t *testing.T) {
	t.Parallel()
	h := open(t, func(d *discord.Config) { d.Bots = discord.BotsAll })
	h.fake.AddChannel(discordtest.Channel{ID: "500", Parent: "100", Type: discordtest.PublicThread})
	h.fake.Say("500", "805", "unasked")
	h.fake.Say("500", "805", "<@800> asked")
	if unasked, asked := h.heard(1), h.heard(2); unasked.Addressed || !unasked.Author.Bot || !asked.Addressed {
		t.Errorf("heard %+v and %+v", unasked, asked)
	}
}
