package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"understudy/adapters/slack"
	"understudy/adapters/web"
	"understudy/core"
)

// showVersion is "understudy version".
func showVersion(_ context.Context, c console, args []string) error {
	if err := parseAlone(flags(c, "version"), args); err != nil {
		return err
	}
	rev := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				rev = " " + s.Value
			}
		}
	}
	fmt.Fprintf(c.out, "understudy %s%s (%s, %s/%s)\n", version, rev, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

// help is "understudy help".
func help(_ context.Context, c console, args []string) error {
	if err := parseAlone(flags(c, "help"), args); err != nil {
		return err
	}
	fmt.Fprint(c.out, usage)
	return nil
}

// slackCommand is "understudy slack manifest".
func slackCommand(_ context.Context, c console, args []string) error {
	if len(args) != 1 || args[0] != "manifest" {
		return misuse("write: understudy slack manifest")
	}
	m, err := slack.Manifest(core.Commands)
	if err != nil {
		return err
	}
	_, err = c.out.Write(m)
	return err
}

// health is "understudy health": the health check of a container.
func health(ctx context.Context, c console, args []string) error {
	f := flags(c, "health")
	ready := f.Bool("ready", false, "ask whether it can do its job, not only whether it lives")
	if err := parseAlone(f, args); err != nil {
		return err
	}
	env, err := readEnv()
	if err != nil {
		return misuse("%v", err)
	}
	if env.HTTP == "" {
		return misuse("UNDERSTUDY_HTTP is off, so a running bot cannot be asked")
	}
	path := "/healthz"
	if *ready {
		path = "/readyz"
	}
	text, err := web.Check(ctx, string(env.HTTP), path)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, text)
	return nil
}
