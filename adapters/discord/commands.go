package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"understudy/core"
)

// slashCommand is a command as Discord registers it, as far as it is compared.
type slashCommand struct {
	Name        string        `json:"name"`
	Type        int           `json:"type"`
	Description string        `json:"description"`
	Options     []slashOption `json:"options,omitempty"`
	Contexts    []int         `json:"contexts"` // where it can be used: 0 guilds, 1 direct messages
}

type slashOption struct {
	Type         int    `json:"type"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	Autocomplete bool   `json:"autocomplete,omitempty"`
}

const (
	chatInput    = 1
	stringOption = 3
	maxCommands  = 100 // of a bot, over all guilds
)

// slashCommands are the commands of the table in Discord's form.
func slashCommands(table []core.Command) []slashCommand {
	var all []slashCommand
	for _, c := range table[:min(len(table), maxCommands)] {
		s := slashCommand{Name: c.Name, Type: chatInput, Description: short(c.Help, maxLabel), Contexts: []int{0, 1}}
		if c.Arg != "" {
			s.Options = []slashOption{{Type: stringOption, Name: c.Arg,
				Description: short(first(c.ArgHelp, c.Arg), maxLabel), Autocomplete: c.Complete}}
		}
		all = append(all, s)
	}
	return all
}

// registerCommands tells Discord the commands if it knows others. Without that
// the bot still works: commands can be given as text.
func (r *run) registerCommands(ctx context.Context) {
	_, app := r.identity()
	path := "applications/" + app + "/commands"
	got, err := r.rest.do(ctx, http.MethodGet, path, nil)
	var known []slashCommand
	if err == nil {
		err = json.Unmarshal(got.body, &known)
	}
	if err != nil {
		r.log.Warn("the registered commands cannot be read; leaving them as they are", "error", err)
		return
	}
	wanted := slashCommands(core.Commands)
	if same(known, wanted) {
		return
	}
	if _, err := r.rest.do(ctx, http.MethodPut, path, wanted); err != nil {
		r.log.Warn("the commands cannot be registered; they still work as text", "error", err)
		return
	}
	r.log.Info("registered the commands with Discord", "commands", len(wanted))
}

func same(a, b []slashCommand) bool {
	return reflect.DeepEqual(sorted(a), sorted(b))
}

func sorted(list []slashCommand) []slashCommand {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b slashCommand) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list {
		list[i].Contexts = slices.Sorted(slices.Values(list[i].Contexts))
		if len(list[i].Options) == 0 {
			list[i].Options = nil
		}
	}
	return list
}

// tended remembers what is looked after once in a run.
type tended struct {
	mu         sync.Mutex
	registered bool
	guilds     int
}

// upkeep looks after what a new session makes worth a look: the switches of the
// application, its commands, and copies of them that an older bot left behind.
func (r *run) upkeep(ctx context.Context, ready greeting) {
	r.tended.mu.Lock()
	defer r.tended.mu.Unlock()
	if !r.tended.registered {
		r.tended.registered = true
		r.registerCommands(ctx)
	}
}
