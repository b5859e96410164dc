package slack

import (
	"slices"
	"testing"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// Bots are heard as the rule about them says: never by a list that does not let
// people talk, and without a mention only where people need none and the rule
// says so too.
func TestRuleAboutBots(t *testing.T) {
	const open = "C0OPEN"
	for _, c := range []struct {
		name  string
		bots  Bots
		allow []string
		want  []string
	}{
		{"as it comes", "", []string{Everybody}, nil},
		{"as it comes, named", "", []string{slacktest.OtherBot}, []string{"mention"}},
		{"mentions", BotsMentions, []string{slacktest.Team}, []string{"mention"}},
		{"mentions, elsewhere", BotsMentions, []string{"C0ELSE"}, nil},
		{"mentions, of nobody", BotsMentions, nil, nil},
		{"mentions, others listed", BotsMentions, []string{slacktest.Team, "user:" + slacktest.User}, nil},
		{"mentions, listed", BotsMentions, []string{slacktest.Team, "user:" + slacktest.OtherBot}, []string{"mention"}},
		{"all", BotsAll, []string{slacktest.Team}, []string{"in a thread", "mention", "open channel"}},
		{"all, in one place", BotsAll, []string{open}, []string{"open channel"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, slacktest.Config{}, set(func(cfg *Config) {
				cfg.Allow, cfg.Bots = c.allow, c.bots
				cfg.RequireMention = func(at core.Thread) RequireMention {
					if at.Channel == open {
						return MentionNever
					}
					return MentionUntilEngaged
				}
			}))
			r.slack.AddPlace(open, "channel", "open")
			r.slack.AddPerson(slacktest.Person{ID: slackbot, Name: "Slackbot", Bot: true, BotID: "B0SLACK"})
			root := r.slack.Say(slacktest.Channel, slacktest.OtherBot, atBot+"mention")
			r.slack.Say(slacktest.Channel, slacktest.OtherBot, "without")
			r.slack.Say(slacktest.Channel, slacktest.OtherBot, "in a thread", slacktest.In(root))
			r.slack.Say(open, slacktest.OtherBot, "open channel")
			r.slack.Say(open, slackbot, "a reminder")
			r.slack.Say(open, slacktest.BotUser, "the bot itself")
			r.settled()
			var got []string
			for _, m := range r.bot.heard() {
				if !slices.Contains(got, m.Text) {
					got = append(got, m.Text)
				}
				if !m.Author.Bot || m.Addressed != (m.Text != "in a thread") {
					t.Errorf("heard %+v", m)
				}
			}
			slices.Sort(got) // channels have no order among each other
			if !slices.Equal(got, c.want) {
				t.Errorf("heard %q, want %q", got, c.want)
			}
		})
	}
	cfg := config(serve(t, slacktest.Config{}))
	cfg.Bots = "some"
	if _, err := New(cfg); err == nil {
		t.Error("a rule that there is not was taken")
	}
}
