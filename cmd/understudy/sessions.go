package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"understudy/core"
	"understudy/sessions"
	"understudy/store"
)

const sessionsUsage = "write: understudy sessions list [-json], understudy sessions export [-format json|markdown] [-transcript ID] KEY, or understudy sessions forget [-yes] PLATFORM:USER"

// sessionsCommand is "understudy sessions …". It works beside a running bot.
func sessionsCommand(ctx context.Context, c console, args []string) error {
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
		fmt.Fprintln(c.out, sessionsUsage)
		return nil
	}
	if len(args) == 0 || !slices.Contains([]string{"list", "export", "forget"}, args[0]) {
		return misuse("%s", sessionsUsage)
	}
	f := flags(c, "sessions "+args[0])
	configPath := f.String("config", "", "the configuration file")
	var asJSON, yes bool
	var format, transcript string
	names := 1
	switch args[0] {
	case "list":
		names = 0
		f.BoolVar(&asJSON, "json", false, "print JSON")
	case "export":
		f.StringVar(&format, "format", "markdown", "json or markdown")
		f.StringVar(&transcript, "transcript", "", "the id of a transcript; without it the running one")
	case "forget":
		f.BoolVar(&yes, "yes", false, "delete it; without this it is only counted")
	}
	if err := parse(f, args[1:]); err != nil {
		return err
	}
	if f.NArg() != names {
		return misuse("%s", sessionsUsage)
	}
	if format != "" && format != "json" && format != "markdown" {
		return misuse("found the format %q; want json or markdown", format)
	}
	s, st, err := openKept(ctx, c, *configPath)
	if err != nil {
		return err
	}
	defer st.Close()
	switch args[0] {
	case "list":
		return listSessions(ctx, c, st, s.config, asJSON)
	case "export":
		return s.exportSession(ctx, c, st, f.Arg(0), transcript, format)
	}
	return forgetPerson(ctx, c, st, f.Arg(0), yes)
}

// listedSession is a line of "sessions list -json".
type listedSession struct {
	Key        string          `json:"key"`
	Entries    int             `json:"entries"`
	Transcript string          `json:"transcript,omitempty"`
	Choice     sessions.Choice `json:"choice,omitzero"`
	Active     string          `json:"active,omitempty"` // the model that answered last
	LastActive string          `json:"lastActive,omitempty"`
	Tokens     int             `json:"tokens"`
	USD        float64         `json:"usd"`
	Unpriced   int             `json:"unpricedTokens,omitempty"` // that usd leaves out
}

func listSessions(ctx context.Context, c console, st *store.Store, config *config, asJSON bool) error {
	all, err := st.Sessions(ctx)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(c.out)
	if asJSON {
		listed := []listedSession{}
		for _, k := range all {
			used := k.Spent.All.Sum()
			x := listedSession{Key: k.Key.String(), Entries: k.Entries, Transcript: k.Transcript, Choice: k.Choice,
				Active: k.Active.String(), Tokens: used.Tokens(), USD: used.Cost.USD(), Unpriced: used.Unpriced}
			if !k.LastActive.IsZero() {
				x.LastActive = k.LastActive.UTC().Format("2006-01-02T15:04:05Z")
			}
			listed = append(listed, x)
		}
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		if err := enc.Encode(listed); err != nil {
			return err
		}
		return w.Flush()
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "there are no sessions")
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, k := range all {
		selected := k.Choice.Model
		if selected.Model == "" {
			selected, _ = config.policy(k.Key.Agent).Resolve()
		}
		at := "never"
		if !k.LastActive.IsZero() {
			at = k.LastActive.UTC().Format("2006-01-02 15:04Z")
		}
		fmt.Fprintf(table, "%s\t%d entries\t%s\t%s\n", k.Key, k.Entries, selected, at)
	}
	return errors.Join(table.Flush(), w.Flush())
}

// parseKey reads a session's key as the list prints it.
func parseKey(s string) (core.Key, bool) {
	agent, thread, ok := strings.Cut(s, "/")
	return core.Key{Agent: agent, Thread: thread}, ok && isID(agent) && thread != ""
}

// forgetPerson counts or deletes what is stored about somebody.
func forgetPerson(ctx context.Context, c console, st *store.Store, who string, yes bool) error {
	a, err := parsePerson(who)
	if err != nil {
		return misuse("found %q; %v", who, err)
	}
	p := sessions.Person{Platform: a.Platform, User: a.ID}
	if !yes {
		found, err := st.Traces(ctx, p)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "%s; -yes deletes it\n", tracesLine(p, found))
		return nil
	}
	gone, err := st.Forget(ctx, sessions.Oblivion{Person: p, Mend: sessions.Unsaid})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "deleted: %s\n", tracesLine(p, gone))
	return nil
}

func tracesLine(p sessions.Person, t sessions.Traces) string {
	yes := map[bool]string{true: "yes", false: "no"}
	return fmt.Sprintf("%s: messages %d, conversations with others %d, summaries %d, conversations alone %d, waiting %d, let in %s, use counted %s",
		p.Address(), t.Messages, t.Shared, t.Summaries, t.Private, t.Waiting, yes[t.Guest], yes[t.Counted])
}
