package slack

import (
	"context"
	"strings"
	"sync"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

// maxKinds is how many places are known by their kind at once.
const maxKinds = 10000

// kinds are what sort of place each channel is, as far as Slack has said. A
// message event says so, the mention event of the same message does not, and
// both must come to the same conversation in whatever order they arrive.
type kinds struct {
	mu    sync.Mutex
	known map[string]core.Kind
}

func newKinds() *kinds { return &kinds{known: map[string]core.Kind{}} }

// of is the kind of a place by what an event says of it, else by what is known.
// That it is a direct message is read off the first letter of its id, which
// nobody can choose, and which holds for all that Slack calls one.
func (k *kinds) of(channel, channelType string) core.Kind {
	switch {
	case strings.HasPrefix(channel, "D"):
		return core.KindDirect
	case channelType == "mpim":
		return core.KindGroup
	case channelType != "":
		return core.KindChannel
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return core.Kind(first(string(k.known[channel]), string(core.KindChannel)))
}

// note keeps the kind of a place.
func (k *kinds) note(channel string, kind core.Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for old := range k.known { // any will do
		if len(k.known) < maxKinds {
			break
		}
		delete(k.known, old)
	}
	k.known[channel] = kind
}

func (k *kinds) knows(channel string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[channel] != ""
}

// learnKind keeps the kind of place that an event names, and asks Slack once
// where an event that may start a turn leaves it out. Where Slack does not say,
// the place is taken for a channel.
func (a *Adapter) learnKind(ctx context.Context, ev event) {
	switch {
	case ev.Channel == "" || strings.HasPrefix(ev.Channel, "D"):
		return
	case ev.ChannelType != "":
		a.kinds.note(ev.Channel, a.kinds.of(ev.Channel, ev.ChannelType))
		return
	case a.kinds.knows(ev.Channel) || ev.Type != "app_mention" && ev.Type != "message":
		return
	}
	ctx, cancel := context.WithTimeout(ctx, homeWait)
	defer cancel()
	kind := core.KindChannel
	c, err := a.api.GetConversationInfoContext(ctx, &slackgo.GetConversationInfoInput{ChannelID: ev.Channel})
	switch {
	case err != nil:
		a.log.Debug("the kind of a place is not known", "channel", ev.Channel, "error", clean(err))
	case c.IsMpIM:
		kind = core.KindGroup
	}
	a.kinds.note(ev.Channel, kind)
}
