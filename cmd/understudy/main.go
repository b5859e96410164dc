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
	"log"
	"os"

	"understudy/core/llm"
)

// version is set by the linker for releases.
var version = "dev"

// console is where a command reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
}

var subcommands = map[string]func(context.Context, console, []string) error{
	"run":      runBot,
	"chat":     chatCommand,
	"check":    check,
	"auth":     authCommand,
	"pairing":  pairingCommand,
	"sessions": sessionsCommand,
	"classify": classify,
	"explain":  explain,
	"store":    storeCommand,
	"slack":    slackCommand,
	"health":   health,
	"version":  showVersion,
	"help":     help,
}

func main() {
	log.SetFlags(0)
	veil := newVeil()
	// Where a library speaks by itself, it is heard through the same veil.
	log.SetOutput(maskedWriter{&veiledWriter{os.Stderr, veil}})
	os.Exit(runBehind(context.Background(), console{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:], veil))
}

// run runs a command line and returns the exit code. Nothing that it writes shows
// a credential of this process.
func run(ctx context.Context, c console, args []string) (code int) {
	return runBehind(ctx, c, args, newVeil())
}

// runBehind is run behind a veil that others look through, too.
func runBehind(ctx context.Context, c console, args []string, veil *llm.Veil) (code int) {
	name := "help"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if name == "-h" || name == "--help" {
		name = "help"
	}
	c = veiled(c, veil)
	defer survive(c, name, &code)
	out := &printer{Writer: c.out}
	c.out = out
	command, ok := subcommands[name]
	if !ok {
		fmt.Fprintf(c.err, "understudy: there is no command %q%s\n\n%s", llm.Mask(name), didYouMean(name, sortedNames(subcommands)), usage)
		return 2
	}
	err := command(ctx, c, args)
	if err == nil || errors.Is(err, errHelp) {
		err = out.failed()
	}
	var misused *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &misused):
		fmt.Fprintln(c.err, "understudy "+name+": "+llm.Mask(misused.text))
		return 2
	case !errors.Is(err, errFailed):
		fmt.Fprintln(c.err, "understudy "+name+":", llm.Mask(err.Error()))
	}
	return 1
}
