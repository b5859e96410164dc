package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"understudy/core/llm"
)

// The first things that an operator reads.
const (
	platformsToSet = `
  UNDERSTUDY_DISCORD_TOKEN     discord.com/developers/applications → Bot → Reset Token;
                               switch on MESSAGE CONTENT INTENT on the same page
  UNDERSTUDY_DISCORD_ALLOW     who may talk to it: ids of servers, channels or people, or *
 or
  UNDERSTUDY_SLACK_BOT_TOKEN   api.slack.com/apps → OAuth & Permissions (xoxb-…)
  UNDERSTUDY_SLACK_APP_TOKEN   the same page → Basic Information → App-Level Tokens (xapp-…)
  UNDERSTUDY_SLACK_ALLOW       ids of the workspace, channels or people, or *`

	modelsToSet = `
  ANTHROPIC_API_KEY or OPENAI_API_KEY (or UNDERSTUDY_MODEL=ollama/… for a local one)`

	tryFirst = "\nTo try it without any of these: understudy chat"
)

// missing says what "understudy run" needs and does not have.
func (s *setup) missing() error {
	platform := s.env.DiscordToken.Set() || s.env.SlackBotToken.Set() || s.env.SlackAppToken.Set() || s.env.SlackSecret.Set()
	model := s.config.primary() != llm.Ref{}
	switch {
	case !platform && !model:
		return misuse("a platform and a model are missing. Set in the environment:\n%s\n and a key of a model provider, for example%s%s", platformsToSet, modelsToSet, tryFirst)
	case !platform:
		return misuse("a platform is missing. Set in the environment:\n%s%s", platformsToSet, tryFirst)
	case !model:
		return misuse("a model is missing. Set in the environment a key of a model provider, for example%s%s", modelsToSet, tryFirst)
	}
	return s.unanswerable(llm.Ref{})
}

// unanswerable says what to set when no model of the main chain can ever be
// asked; override stands for the chain where it is given.
func (s *setup) unanswerable(override llm.Ref) error {
	policy := s.config.policy(mainAgent)
	chain := policy.Chain(policy.Resolve())
	if override != (llm.Ref{}) {
		chain = []llm.Ref{override}
	}
	var told, problems []string
	for _, ref := range chain {
		p, known := s.config.provider(ref.Provider)
		problem := candidate(s.book(), nil, mainAgent, ref, time.Now()).Problem
		switch {
		case problem == "":
			return nil
		case slices.Contains(told, ref.Provider):
			continue
		case !known:
			problem = fmt.Sprintf("there is no provider %q%s; correct UNDERSTUDY_MODEL or agents.defaults.model, or describe it under models.providers",
				ref.Provider, didYouMean(ref.Provider, s.config.providerIDs()))
		case p.Help != "":
			problem += "; " + p.Help
		}
		told = append(told, ref.Provider)
		problems = append(problems, fmt.Sprintf("\n  %s: %s", ref, problem))
	}
	return misuse("no model can be asked:%s", strings.Join(problems, ""))
}
