package discord_test

import (
	"strings"
	"testing"

	"understudy/adapters/discord"
	"understudy/adapters/discord/discordtest"
)

// Nobody in the list is not everybody, which is said at the start, also where
// people may ask for access to direct messages.
func TestWarnsOfAnEmptyList(t *testing.T) {
	for dm, want := range map[string]string{
		discord.DMAllowlist: "nobody may talk to the bot: the list",
		discord.DMPairing:   "nobody may talk to the bot in channels: the list",
		discord.DMOpen:      "nobody may talk to the bot in channels: the list",
	} {
		h := newHouse(t, func(c *discord.Config) { c.Allow, c.DM = nil, dm })
		if !strings.Contains(h.log.String(), want) || !strings.Contains(h.log.String(), "UNDERSTUDY_DISCORD_ALLOW") {
			t.Errorf("%s: the log says %q", dm, h.log)
		}
	}
}

// Whoever speaks to the bot and is not listed gets no hint, but the operator
// reads the ids that are missing in the list, now and then.
func TestOperatorHearsOfWhoIsNotListed(t *testing.T) {
	h := open(t, func(c *discord.Config) { c.Allow, c.DM = []string{"123", "700"}, discord.DMAllowlist })
	for range 3 {
		h.fake.Say("100", "701", "<@"+discordtest.BotID+"> hello")
	}
	h.fake.Say("100", "701", "not to the bot")
	h.fake.Say(h.fake.Direct("701"), "701", "hello")
	if got := h.texts(); len(got) > 0 {
		t.Errorf("handed over: %q", got)
	}
	log := h.log.String()
	for _, want := range []string{
		"a mention is not answered", "UNDERSTUDY_DISCORD_ALLOW", "channel=100", "user=701", "a direct message is not answered", "channels.discord.dmPolicy",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if n := strings.Count(log, "is not answered"); n != 2 {
		t.Errorf("it is said %d times, want once for the channel and once for the direct message", n)
	}
}
