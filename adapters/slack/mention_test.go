package slack

import (
	"encoding/json"
	"testing"

	"understudy/adapters/slack/slacktest"
)

func TestMentionsInTextAndBlocks(t *testing.T) {
	rich := func(elements string) string {
		return `[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[` + elements + `]}]}]`
	}
	for name, c := range map[string]struct {
		text, blocks string
		want         bool
	}{
		"text":                {"hi <@U0BOT>", "", true},
		"with a name":         {"hi <@U0BOT|understudy>", "", true},
		"somebody else":       {"hi <@U0BOTX>", "", false},
		"group":               {"hi <!subteam^S1|@bots>", "", false},
		"here":                {"<!here> <!channel> <!everyone>", "", false},
		"code":                {"see `<@U0BOT>`", "", false},
		"block of code":       {"```\n<@U0BOT>\n```", "", false},
		"after code":          {"`x` <@U0BOT>", "", true},
		"blocks":              {"hi", rich(`{"type":"text","text":"hi "},{"type":"user","user_id":"U0BOT"}`), true},
		"blocks, code":        {"hi", rich(`{"type":"user","user_id":"U0BOT","style":{"code":true}}`), false},
		"blocks, bold":        {"hi", rich(`{"type":"user","user_id":"U0BOT","style":{"bold":true}}`), true},
		"blocks, other":       {"hi", rich(`{"type":"user","user_id":"U0OTHER"},{"type":"usergroup","usergroup_id":"U0BOT"},{"type":"broadcast","range":"here"}`), false},
		"blocks, list":        {"hi", `[{"type":"rich_text","elements":[{"type":"rich_text_list","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"U0BOT"}]}]}]}]`, true},
		"blocks, preformated": {"hi", `[{"type":"rich_text","elements":[{"type":"rich_text_preformatted","elements":[{"type":"user","user_id":"U0BOT"}]}]}]`, false},
		"other blocks":        {"hi", `[{"type":"section","elements":[{"type":"user","user_id":"U0BOT"}]}]`, false},
		"odd blocks":          {"hi", `{"type":"rich_text","elements":7}`, false},
		"odd elements":        {"hi", `[{"type":"rich_text","elements":[7,null,"x",{"elements":"y"}]}]`, false},
	} {
		ev := event{Text: c.text, Blocks: json.RawMessage(c.blocks)}
		if got := ev.mentions("U0BOT"); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestMentionInBlocksOnly(t *testing.T) {
	r := plainly(t)
	r.slack.Say(slacktest.Channel, slacktest.User, "look at this", slacktest.Blocks(`[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"U0BOT"}]}]}]`))
	if m := r.bot.next(t, 0); !m.Addressed || m.Text != "look at this" {
		t.Errorf("message is %+v", m)
	}
}
