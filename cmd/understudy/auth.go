package main

import (
	"context"
	"fmt"

	"understudy/core/failover"
)

// authCommand is "understudy auth …".
func authCommand(ctx context.Context, c console, args []string) error {
	if len(args) == 0 || args[0] != "clear" {
		return misuse("write: understudy auth clear PROFILE, for example anthropic:env")
	}
	f := flags(c, "auth clear")
	configPath := f.String("config", "", "the configuration file")
	agent := f.String("agent", mainAgent, "whose profile it is")
	if err := parse(f, args[1:]); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return misuse("name one profile, for example anthropic:env")
	}
	_, st, err := openKept(ctx, c, *configPath)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := clearProfile(ctx, st, *agent, f.Arg(0)); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%s is free again; it counts from the next attempt on.\n", f.Arg(0))
	return nil
}

// clearProfile lifts every block of a profile and forgets its failures.
func clearProfile(ctx context.Context, st failover.Store, agent, profile string) error {
	states, err := st.States(ctx, agent)
	if err != nil {
		return err
	}
	if _, ok := states[profile]; !ok {
		return misuse("nothing is known about the profile %q%s", profile, didYouMean(profile, sortedNames(states)))
	}
	return st.UpdateState(ctx, agent, profile, failover.Cleared)
}
