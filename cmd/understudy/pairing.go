package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"understudy/sessions"
)

// pairingCommand is "understudy pairing …". It works beside a running bot, which
// tells the person of an approval.
func pairingCommand(ctx context.Context, c console, args []string) error {
	verbs := map[string]func(context.Context, console, sessions.Guests, string) error{
		"list": listGuests, "approve": approveGuest, "revoke": revokeGuest,
	}
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
		fmt.Fprintln(c.out, pairingUsage)
		return nil
	}
	if len(args) == 0 || verbs[args[0]] == nil {
		return misuse("%s", pairingUsage)
	}
	f := flags(c, "pairing "+args[0])
	configPath := f.String("config", "", "the configuration file")
	if err := parse(f, args[1:]); err != nil {
		return err
	}
	names := 1
	if args[0] == "list" {
		names = 0
	}
	if f.NArg() != names {
		return misuse("%s", pairingUsage)
	}
	_, st, err := openKept(ctx, c, *configPath)
	if err != nil {
		return err
	}
	defer st.Close()
	return verbs[args[0]](ctx, c, st, f.Arg(0))
}

const pairingUsage = "write: understudy pairing list, understudy pairing approve CODE, or understudy pairing revoke PLATFORM:USER"

// listGuests prints who asks and who was let in.
func listGuests(ctx context.Context, c console, st sessions.Guests, _ string) error {
	all, err := st.Guests(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(c.out, "nobody has asked")
		return nil
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	now := time.Now()
	for _, g := range all {
		name := printable(g.Name)
		switch {
		case !g.Approved.IsZero():
			fmt.Fprintf(w, "%s\t%s\tapproved %s by %s\n", g.Address(), name, g.Approved.UTC().Format("2006-01-02 15:04Z"), g.By)
		case g.Asks(now):
			fmt.Fprintf(w, "%s\t%s\tasks with %s, until %s\n", g.Address(), name, g.Code, g.Until().UTC().Format("15:04Z"))
		case g.Code == "" && now.Before(g.Until()):
			fmt.Fprintf(w, "%s\t%s\tasks with a code that the key of this store does not open: give this command the bot’s UNDERSTUDY_SECRET_KEY\n", g.Address(), name)
		default:
			fmt.Fprintf(w, "%s\t%s\tasked in vain\n", g.Address(), name)
		}
	}
	return w.Flush()
}

// printable is a name that somebody gave themselves, without what could move a
// terminal's cursor.
func printable(name string) string {
	name = strings.Join(strings.Fields(name), " ")
	return strings.Trim(fmt.Sprintf("%+q", name), `"`)
}

func approveGuest(ctx context.Context, c console, st sessions.Guests, code string) error {
	g, err := sessions.Approve(ctx, st, code, "the command line", time.Now())
	if sessions.ErrNoCode(err) {
		return misuse("nobody asks with the code %q; codes hold for an hour, understudy pairing list shows them", code)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%s may write to the bot directly.\n", g.Address())
	return nil
}

func revokeGuest(ctx context.Context, c console, st sessions.Guests, who string) error {
	a, err := parsePerson(who)
	if err != nil {
		return misuse("found %q; %v", who, err)
	}
	found, err := sessions.Revoke(ctx, st, a.Platform, a.ID)
	switch {
	case err != nil:
		return err
	case !found:
		return misuse("%s was not let in; understudy pairing list shows who was", who)
	}
	fmt.Fprintf(c.out, "%s may no longer write to the bot directly.\n", who)
	return nil
}
