package slack

import (
	"strings"
	"testing"

	slackgo "github.com/slack-go/slack"

	"understudy/adapters/slack/slacktest"
)

// Slack does not always say which scope it misses; an app-level token has one.
func TestAppTokenWithoutScope(t *testing.T) {
	err := refusal(slackgo.SlackErrorResponse{Err: "missing_scope"}, appTokenPlace)
	if err == nil || !strings.Contains(err.Error(), "connections:write") || !strings.Contains(err.Error(), "UNDERSTUDY_SLACK_APP_TOKEN") {
		t.Errorf("refused with %v", err)
	}
}

// Whoever speaks to the bot and is not listed gets no hint, but the operator
// reads the ids that are missing in the list, once for each person and place.
func TestOperatorHearsOfWhoIsNotListed(t *testing.T) {
	r := start(t, slacktest.Config{}, set(func(c *Config) { c.Allow = []string{"T0ELSEWHERE"}; c.DM = DMAllowlist }))
	for range 3 {
		r.slack.Say(slacktest.Channel, slacktest.User, "<@"+slacktest.BotUser+"> hello")
	}
	r.slack.Say(slacktest.Channel, slacktest.OtherUser, "not to the bot")
	r.slack.Say(slacktest.DM, slacktest.User, "hello")
	r.settled()
	log := r.log.String()
	for _, want := range []string{
		"a message is not answered", "list the id of the workspace, channel or person in UNDERSTUDY_SLACK_ALLOW",
		"workspace=" + slacktest.Team, "channel=" + slacktest.Channel, "user=" + slacktest.User, "channels.slack.dmPolicy",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if n := strings.Count(log, "a message is not answered"); n != 2 {
		t.Errorf("it is said %d times, want once for the channel and once for the direct message:\n%s", n, log)
	}
	if len(r.bot.heard()) > 0 || len(r.slack.Posts(slacktest.Channel, "")) > 0 {
		t.Error("somebody who is not listed is answered")
	}
}
