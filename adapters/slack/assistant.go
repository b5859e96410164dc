package slack

import (
	"context"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
	"understudy/core/rescue"
)

const (
	maxTitle         = 200 // docs.slack.dev, assistant.threads.setTitle
	assistantTimeout = 5 * time.Second
)

// prompts are what an assistant thread suggests at its start.
var prompts = []slackgo.AssistantThreadsPrompt{
	{Title: "What can you do?", Message: "!help"},
	{Title: "Which model answers here?", Message: "!status"},
	{Title: "Choose another model", Message: "!model"},
}

// untitled are the assistant threads in which nobody has said anything yet.
type untitled struct {
	mu      sync.Mutex
	threads map[threadRef]time.Time
}

// untitledLife is how long a thread that was opened waits for its first message.
const untitledLife = 24 * time.Hour

func newUntitled() *untitled { return &untitled{threads: map[threadRef]time.Time{}} }

func (u *untitled) add(ref threadRef) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for old, at := range u.threads {
		if time.Since(at) > untitledLife {
			delete(u.threads, old)
		}
	}
	u.threads[ref] = time.Now()
}

// take reports whether a thread is one of them, and that it is none from then
// on.
func (u *untitled) take(ref threadRef) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.threads[ref]
	delete(u.threads, ref)
	return ok
}

// opened greets somebody who opened an assistant thread with things to ask.
func (a *Adapter) opened(ctx context.Context, p payload) error {
	as := p.Event.Assistant
	if as.User == "" || as.Channel == "" || as.ThreadTS == "" {
		return nil
	}
	who := core.Author{ID: as.User, Team: first(p.Event.UserTeam, p.Event.Team, p.workspace())}
	t := core.Thread{Platform: "slack", Account: a.cfg.Account, Workspace: p.workspace(), Channel: as.Channel, Root: string(as.ThreadTS), Kind: core.KindDirect}
	if v, err := a.admits(ctx, who, false, t); err != nil || v != admitted {
		return err
	}
	a.untitled.add(refOf(t))
	a.aside(ctx, "no prompts are suggested", t, func(ctx context.Context) error {
		return a.api.SetAssistantThreadsSuggestedPromptsContext(ctx, slackgo.AssistantThreadsSetSuggestedPromptsParameters{
			ChannelID: t.Channel, ThreadTS: t.Root, Title: "Try one of these", Prompts: prompts,
		})
	})
	return nil
}

// entitle names an assistant thread, in the list of its person's threads, after
// the first message in it.
func (a *Adapter) entitle(ctx context.Context, t core.Thread, text string) {
	if t.Root == "" || blank(text) || !a.untitled.take(refOf(t)) {
		return
	}
	title := plainText(text, maxTitle).Text
	a.aside(ctx, "a thread got no title", t, func(ctx context.Context) error {
		return a.api.SetAssistantThreadsTitleContext(ctx, slackgo.AssistantThreadsSetTitleParameters{ChannelID: t.Channel, ThreadTS: t.Root, Title: title})
	})
}

// aside does what nobody waits for and nothing depends on.
func (a *Adapter) aside(ctx context.Context, failed string, t core.Thread, do func(context.Context) error) {
	a.loose.Go(func() {
		defer rescue.Panic(a.log, failed)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), assistantTimeout)
		defer cancel()
		if err := do(ctx); err != nil {
			a.log.Debug(failed, "channel", t.Channel, "error", clean(err))
		}
	})
}
