package slack

import (
	"context"
	"strings"
)

// identity is who the bot is on Slack. The organisation is empty for a workspace
// that belongs to none; for an app that was installed in a whole organisation,
// team is no workspace.
type identity struct{ user, bot, team, name, organisation string }

// everywhere reports whether the app was installed in a whole organisation.
func (i *identity) everywhere() bool {
	return i.organisation != "" && (i.team == "" || i.team == i.organisation)
}

// identify asks Slack once who the bot is.
func (a *Adapter) identify(ctx context.Context) (*identity, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.me != nil {
		return a.me, nil
	}
	r, err := a.api.AuthTestContext(ctx)
	if err != nil {
		return nil, err
	}
	a.me = &identity{user: r.UserID, bot: r.BotID, team: r.TeamID, name: r.User, organisation: r.EnterpriseID}
	a.warnScopes(r.Header.Get("X-OAuth-Scopes"))
	return a.me, nil
}

// warnScopes tells the operator early what will not work later.
func (a *Adapter) warnScopes(header string) {
	if header == "" {
		return
	}
	have := map[string]bool{}
	for s := range strings.SplitSeq(header, ",") {
		have[strings.TrimSpace(s)] = true
	}
	var missing []string
	for _, s := range botScopes {
		if !have[s] {
			missing = append(missing, s)
		}
	}
	if len(missing) > 0 {
		a.log.Warn("the Slack app lacks scopes; add them under OAuth & Permissions and install the app again", "missing", missing)
	}
}
