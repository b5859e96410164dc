package slack

import (
	"context"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

// Slack's limits for the assistant view (docs.slack.dev, assistant.threads).
const (
	maxPrompts = 4
	maxTitle   = 200
)

// suggest shows prompts at the start of an assistant thread. It is best effort:
// without them the thread works as well.
func (a *Adapter) suggest(ctx context.Context, t core.Thread, prompts ...string) {
	params := slackgo.AssistantThreadsSetSuggestedPromptsParameters{ChannelID: t.Channel, ThreadTS: t.Root}
	for _, p := range prompts[:min(len(prompts), maxPrompts)] {
		params.AddPrompt(p, p)
	}
	if t.Root == "" || len(params.Prompts) == 0 {
		return
	}
	if err := a.api.SetAssistantThreadsSuggestedPromptsContext(ctx, params); err != nil {
		a.log.Debug("no prompts are suggested", "channel", t.Channel, "error", clean(err))
	}
}

// entitle names an assistant thread in the list of a person's threads. It is
// best effort.
func (a *Adapter) entitle(ctx context.Context, t core.Thread, title string) {
	if t.Root == "" || blank(title) {
		return
	}
	title = plainText(title, maxTitle).Text
	if err := a.api.SetAssistantThreadsTitleContext(ctx, slackgo.AssistantThreadsSetTitleParameters{ChannelID: t.Channel, ThreadTS: t.Root, Title: title}); err != nil {
		a.log.Debug("a thread got no title", "channel", t.Channel, "error", clean(err))
	}
}
