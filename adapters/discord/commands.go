package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"understudy/core"
)

// slashCommand is a command as Discord registers it, as far as it is compared.
type slashCommand struct {
	Name        string        `json:"name"`
	Type        int           `json:"type"`
	Description string        `json:"description"`
	Options     []slashOption `json:"options,omitempty"`
	// Contexts are where it can be used, and Installs how the application has
	// to be installed for it.
	Contexts []int `json:"contexts"`
	Installs []int `json:"integration_types"`
	// Permissions are those that members need to be shown it; nil shows it to
	// all. Who may give it is decided here, whoever sees it.
	Permissions *string `json:"default_member_permissions"`
}

type slashOption struct {
	Type         int    `json:"type"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	Autocomplete bool   `json:"autocomplete,omitempty"`
}

const (
	chatInput      = 1
	stringOption   = 3
	inGuilds       = 0 // contexts
	inDirect       = 1
	onGuild        = 0    // installed in a guild
	manageServer   = "32" // the permission that people who look after a guild have
	maxCommands    = 100  // for all guilds
	maxTended      = 50   // guilds that are searched for old copies of commands
	registerTries  = 3
	flagContent    = 1 << 18 // of an application: may read what is said
	flagContentFew = 1 << 19 // the same, while it is in few guilds
)

// slashCommands are the commands of the table in Discord's form.
func slashCommands(table []core.Command) []slashCommand {
	var all []slashCommand
	for _, c := range table {
		s := slashCommand{Name: c.Name, Type: chatInput, Description: short(c.Help, maxLabel),
			Contexts: []int{inGuilds, inDirect}, Installs: []int{onGuild}}
		if c.Arg != "" {
			s.Options = []slashOption{{Type: stringOption, Name: c.Arg,
				Description: short(first(c.ArgHelp, c.Arg), maxLabel), Autocomplete: c.Complete}}
		}
		if c.Who == core.Admins {
			permissions := manageServer
			s.Permissions = &permissions
		}
		all = append(all, s)
	}
	return all
}

// tended remembers what is looked after once in a run.
type tended struct {
	mu     sync.Mutex
	done   bool
	guilds map[string]bool
}

// upkeep looks after what a new session makes worth a look: the switches of the
// application, its commands, and copies of them that an older bot left behind.
func (r *run) upkeep(ctx context.Context, ready greeting) {
	r.tended.mu.Lock()
	defer r.tended.mu.Unlock()
	if !r.tended.done {
		r.tended.done, r.tended.guilds = true, map[string]bool{}
		r.checkSwitches(ctx)
		r.registerCommands(ctx)
	}
	for _, g := range ready.Guilds {
		if id := string(g.ID); !r.tended.guilds[id] && len(r.tended.guilds) < maxTended {
			r.tended.guilds[id] = true
			r.clearGuild(ctx, id)
		}
	}
}

// checkSwitches says so when the bot is not shown what people write.
func (r *run) checkSwitches(ctx context.Context) {
	got, err := r.rest.ask(ctx, whenFree, http.MethodGet, "applications/@me", nil)
	var app struct {
		Flags *whole `json:"flags"`
	}
	if err == nil {
		err = json.Unmarshal(got.body, &app)
	}
	if err != nil || app.Flags == nil || *app.Flags&(flagContent|flagContentFew) != 0 {
		return // nothing is known to be wrong
	}
	text := "the bot cannot read messages that do not mention it: " + switchContent
	r.log.Warn(text)
	r.alert(core.Alert{Kind: "switch", Key: r.name(), Text: r.name() + ": " + text})
}

// registerCommands tells Discord the commands if it knows others. Without that
// the bot still works: commands can be given as text. All are replaced at once,
// since Discord limits how many are created in a day.
func (r *run) registerCommands(ctx context.Context) {
	wanted := slashCommands(r.table)
	if len(wanted) > maxCommands {
		var left []string
		for _, c := range wanted[maxCommands:] {
			left = append(left, c.Name)
		}
		wanted = wanted[:maxCommands]
		r.tellCommands(fmt.Sprintf("Discord takes %d commands of a bot; these can be given as text only: %s",
			maxCommands, strings.Join(left, ", ")), nil)
	}
	_, app := r.identity()
	path := "applications/" + app + "/commands"
	got, err := r.patiently(ctx, http.MethodGet, path, nil)
	var known []slashCommand
	if err == nil {
		err = json.Unmarshal(got.body, &known)
	}
	if err != nil {
		r.log.Warn("the registered commands cannot be read; leaving them as they are", "error", err)
		return
	}
	if same(known, wanted) {
		return
	}
	if _, err := r.patiently(ctx, http.MethodPut, path, wanted); err != nil {
		r.tellCommands("Discord did not take the commands of the bot; those it knew stay, and all work as text", err)
		return
	}
	r.log.Info("registered the commands with Discord", "commands", len(wanted))
}

func (r *run) tellCommands(text string, err error) {
	if r.ctx.Err() != nil {
		return
	}
	r.log.Warn(text, "error", err)
	r.alert(core.Alert{Kind: "commands", Key: r.name(), Text: r.name() + ": " + text})
}

// clearGuild takes commands away that an older bot registered in a guild, where
// they would be listed a second time.
func (r *run) clearGuild(ctx context.Context, guild string) {
	_, app := r.identity()
	path := "applications/" + app + "/guilds/" + guild + "/commands"
	got, err := r.rest.ask(ctx, whenFree, http.MethodGet, path, nil)
	var known []json.RawMessage
	if err == nil {
		err = json.Unmarshal(got.body, &known)
	}
	if err != nil || len(known) == 0 {
		return // it may not be allowed to look there, and then it had none there
	}
	if _, err := r.rest.ask(ctx, whenFree, http.MethodPut, path, []slashCommand{}); err != nil {
		r.log.Warn("old commands of the bot in a guild cannot be taken away", "guild", guild, "error", err)
		return
	}
	r.log.Info("took old commands of the bot away in a guild", "guild", guild, "commands", len(known))
}

// patiently asks again when Discord was not to be reached or was busy.
func (r *run) patiently(ctx context.Context, method, path string, body any) (answer, error) {
	for try := 1; ; try++ {
		got, err := r.rest.ask(ctx, whenFree, method, path, body)
		var no *refusal
		wait := r.pace.register
		switch {
		case err == nil, try == registerTries:
			return got, err
		case !errors.As(err, &no):
		case no.status == http.StatusTooManyRequests:
			wait = 0 // the next one waits by itself
		case no.status < 500:
			return got, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
	}
}

func same(a, b []slashCommand) bool {
	return reflect.DeepEqual(sorted(a), sorted(b))
}

func sorted(list []slashCommand) []slashCommand {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b slashCommand) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list {
		list[i].Contexts = slices.Sorted(slices.Values(list[i].Contexts))
		list[i].Installs = slices.Sorted(slices.Values(list[i].Installs))
		if len(list[i].Options) == 0 {
			list[i].Options = nil
		}
	}
	return list
}
