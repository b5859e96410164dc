// Command understudy is a chat bot for Discord and Slack whose answers do not
// stop when a model provider does.
//
// It exits with 0 when it did what it was asked to, 1 when it could not, and 2
// when it was asked wrongly: a bad flag, setting or name.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// version is set by the linker for releases.
var version = "dev"

// console is where a command reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// usageError is an error of whoever called: exit code 2.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func misuse(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// errFailed ends a command with code 1 when everything was said already.
var errFailed = errors.New("failed")

var subcommands = map[string]func(context.Context, console, []string) error{
	"run":      runBot,
	"chat":     chatCommand,
	"check":    check,
	"auth":     authCommand,
	"classify": classify,
	"explain":  explain,
	"slack":    slackCommand,
	"health":   health,
	"version":  showVersion,
	"help":     func(_ context.Context, c console, _ []string) error { fmt.Fprint(c.out, usage); return nil },
}

func main() {
	os.Exit(run(context.Background(), console{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

// run runs a command line and returns the exit code.
func run(ctx context.Context, c console, args []string) int {
	name := "help"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	command, ok := subcommands[name]
	if !ok {
		fmt.Fprintf(c.err, "understudy: there is no command %q%s\n\n%s", name, didYouMean(name, sortedNames(subcommands)), usage)
		return 2
	}
	err := command(ctx, c, args)
	var misused *usageError
	switch {
	case err == nil, errors.Is(err, errHelp):
		return 0
	case errors.As(err, &misused):
		fmt.Fprintln(c.err, "understudy "+name+": "+misused.text)
		return 2
	case !errors.Is(err, errFailed):
		fmt.Fprintln(c.err, "understudy "+name+":", err)
	}
	return 1
}
