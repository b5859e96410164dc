package slack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"understudy/core"
	"understudy/core/rescue"
)

// rules say who may talk in shared places; see [Config].
type rules struct {
	everywhere bool
	ids        map[string]bool // places; also people who may talk everywhere
	places     bool            // some of the ids are places
	users      map[string]bool // when set: only these people
	bots       bool            // bots may talk where people may
}

// What the first letter of a Slack id stands for.
const (
	placeLetters  = "ETCGD" // organisation, workspace, channel, private channel or group, direct message
	personLetters = "UWB"   // person, person of an organisation, bot
)

func parseRules(allow []string) (rules, error) {
	r := rules{ids: map[string]bool{}, users: map[string]bool{}}
	for _, entry := range allow {
		entry = strings.TrimSpace(entry)
		id, only := strings.CutPrefix(entry, "user:")
		switch {
		case entry == "":
		case entry == Everybody:
			r.everywhere = true
		case only && isID(id, personLetters):
			r.users[id] = true
		case !only && isID(id, placeLetters):
			r.ids[id], r.places = true, true
		case !only && isID(id, personLetters):
			r.ids[id] = true
		default:
			return rules{}, fmt.Errorf("allow has %q: an entry is an id such as T0123ABCD, C0123ABCD or U0123ABCD, user:<id>, or %s (in Slack: View profile or View channel details, Copy ID)", entry, Everybody)
		}
	}
	return r, nil
}

func isID(s, letters string) bool {
	rest := strings.TrimLeft(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	return len(s) > 1 && rest == "" && strings.IndexByte(letters, s[0]) >= 0
}

// empty reports whether nobody is named at all.
func (r rules) empty() bool { return !r.everywhere && len(r.ids)+len(r.users) == 0 }

// speaker is who wants something, as the rules see him.
type speaker struct {
	id    string
	bot   bool
	guest bool   // of another company
	home  string // of a guest: his own workspace
}

// place reports whether one of the ids, from the organisation down, is named.
func (r rules) place(ids []string) bool {
	if r.everywhere || slices.ContainsFunc(ids, func(id string) bool { return r.ids[id] }) {
		return true
	}
	// With nothing but people named, they may talk everywhere.
	return !r.places && len(r.users) > 0
}

// slackbot is the user of Slack's own remarks, such as reminders.
const slackbot = "USLACKBOT"

// shared decides for places that others can read. Slack's own remarks are
// nobody's speech, unless somebody names their user.
func (r rules) shared(places []string, s speaker) bool {
	if r.bots && s.id != slackbot {
		s.bot = false
	}
	switch {
	case r.ids[s.id]:
		return true
	case len(r.users) > 0 && !r.users[s.id]:
		return false
	case s.bot, s.guest: // a loop of two bots, or talk with other companies, must be somebody's decision
		return r.place(places) && (r.users[s.id] || s.guest && !s.bot && r.ids[s.home])
	}
	return r.place(places)
}

// direct decides for direct messages, in which the places are the organisation
// and the workspace.
func (r rules) direct(policy DMPolicy, places []string, s speaker) verdict {
	named := r.ids[s.id] || r.users[s.id]
	if !s.bot && (!s.guest || r.ids[s.home]) && len(r.users) == 0 {
		named = named || slices.ContainsFunc(places, func(id string) bool { return r.ids[id] })
	}
	switch {
	case policy == DMOff:
	case named:
		return admitted
	case s.bot || s.guest && !r.ids[s.home]:
	case policy == DMOpen:
		return admitted
	case policy == DMPairing:
		return stranger
	}
	return refused
}

// verdict is whether somebody may talk to the bot.
type verdict int

const (
	refused  verdict = iota
	stranger         // may be approved by an admin
	admitted
)

// admits is the one decision about who may talk to the bot where. It is asked
// on every entrance: messages, edits, commands, shortcuts, menus and buttons.
// Outsider is set for somebody who must be taken for one of another company
// whatever the workspace says.
func (a *Adapter) admits(ctx context.Context, who core.Author, outsider bool, t core.Thread) (verdict, error) {
	s := speaker{id: who.ID, bot: who.Bot, home: who.Team, guest: !a.cfg.External && (outsider || a.guest(who, t))}
	places := []string{a.me.organisation, t.Workspace}
	if t.Kind != core.KindDirect {
		if a.rules.shared(append(places, t.Channel), s) {
			return admitted, nil
		}
		return refused, nil
	}
	v := a.rules.direct(a.cfg.DM, places, s)
	if v != stranger {
		return v, nil
	}
	known, err := a.handler.Known(ctx, t, who)
	if err != nil {
		return refused, fmt.Errorf("asking whether %s may write: %w", who.ID, err)
	}
	if known {
		return admitted, nil
	}
	return stranger, nil
}

// guest reports whether somebody is of another company. People of one
// organisation may be of different workspaces.
func (a *Adapter) guest(who core.Author, t core.Thread) bool {
	return who.Team != "" && who.Team != t.Workspace && who.Team != a.me.organisation && !a.allied.has(who.Team)
}

// colleague learns which workspaces are of the bot's organisation: those of
// people in channels that are shared with no other company.
func (a *Adapter) colleague(p payload, who core.Author) {
	if a.me.organisation != "" && who.Team != "" && !p.External && !p.recalled {
		a.allied.add(who.Team)
	}
}

// homeWait bounds the look-up of somebody's workspace, which decides whether he
// may talk at all.
const homeWait = 3 * time.Second

// sender is who said it. In a channel that is shared with another company an
// event about a file does not name the sender's workspace, nor does a history
// always; Slack is asked then, and whoever stays unknown is an outsider.
func (a *Adapter) sender(ctx context.Context, p payload, ev event) (who core.Author, outsider bool) {
	who = author(ev)
	if who.Team == "" && !who.Bot && (p.External || p.recalled) {
		ctx, cancel := context.WithTimeout(ctx, homeWait)
		defer cancel()
		who.Team = a.names.home(ctx, who.ID)
		return who, who.Team == ""
	}
	return who, false
}

// The refusals of a native command or a press. They say nothing of what is there.
const (
	refusedText  = "You may not use this bot here."
	strangerText = "You may not give commands to this bot yet. Write a message to it first; then an admin can approve you."
)

// lets reports whether somebody may give a command or press a button. Who may
// not is told so, alone and once: without a word it would look as if the bot
// were broken. A message is another matter, since many are not meant for the
// bot.
func (a *Adapter) lets(ctx context.Context, inv core.Invocation, outsider bool, responseURL string) bool {
	who, t := inv.Author, inv.Target.Thread
	v, err := a.admits(ctx, who, outsider, t)
	switch {
	case err != nil:
		a.log.Error("a command was not carried out", "user", who.ID, "error", err)
	case v == stranger:
		a.decline(ctx, inv, responseURL, strangerText)
	case v == refused:
		a.notAllowed(who, t, "a command")
		a.decline(ctx, inv, responseURL, refusedText)
	}
	return err == nil && v == admitted
}

// decline answers a call that is not carried out, where Slack gave an address
// for that.
func (a *Adapter) decline(ctx context.Context, inv core.Invocation, responseURL, text string) {
	if responseURL == "" || !a.fresh(inv.ID) {
		return
	}
	if err := a.respond(ctx, responseURL, inv.Target.Thread.Root, core.Reply{Text: text}, false); err != nil {
		a.log.Warn("a refusal could not be sent", "error", clean(err))
	}
}

// notAllowed tells the operator, once for each person and place, of somebody
// who turned to the bot and gets no answer: a list that lacks an id looks just
// like a bot that is broken.
func (a *Adapter) notAllowed(who core.Author, t core.Thread, what string) {
	if who.Bot || !a.turned.add(t.Channel+" "+who.ID) {
		return
	}
	how := "list the id of the workspace, channel or person in UNDERSTUDY_SLACK_ALLOW"
	if t.Kind == core.KindDirect {
		how = "list the id of the workspace or person in UNDERSTUDY_SLACK_ALLOW, or see channels.slack.dmPolicy"
	}
	a.log.Info(what+" is not answered: its person is not allowed here; "+how, "workspace", t.Workspace, "channel", t.Channel, "user", who.ID, "home", who.Team)
}

// knock hands over the message of a stranger and tells him what he is to be
// told.
func (a *Adapter) knock(ctx context.Context, m core.Message) error {
	text, err := a.handler.Knock(ctx, m)
	if err != nil || text == "" {
		return err
	}
	a.loose.Go(func() {
		defer rescue.Panic(a.log, "answering a stranger")
		// The message is settled; the text may take its time.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), knockTimeout)
		defer cancel()
		if _, err := a.Post(ctx, core.Post{Target: m.Target, Kind: core.PostCommand, Text: text}); err != nil {
			a.log.Warn("a stranger could not be answered", "user", m.Author.ID, "error", err)
		}
	})
	return nil
}
