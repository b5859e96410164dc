package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
)

// usageError is an error of whoever called: exit code 2.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func misuse(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// errFailed ends a command with code 1 when everything was said already.
var errFailed = errors.New("failed")

// flagSet are the flags of one command.
type flagSet struct {
	*flag.FlagSet
	out io.Writer
}

// flags makes a flag set that leaves it to its caller to speak: the package
// flag says an error together with a list of all flags.
func flags(c console, name string) *flagSet {
	f := &flagSet{flag.NewFlagSet("understudy "+name, flag.ContinueOnError), c.out}
	f.SetOutput(io.Discard)
	return f
}

// parse reads flags; -h prints them and is no error.
func parse(f *flagSet, args []string) error {
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.list()
		return errHelp
	case err != nil:
		return misuse("%v; %s -h lists the flags", err, f.Name())
	}
	return nil
}

// parseAlone reads the flags of a command that takes nothing else.
func parseAlone(f *flagSet, args []string) error {
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return misuse("%q is one word too many", f.Arg(0))
	}
	return nil
}

// list prints the flags.
func (f *flagSet) list() {
	any := false
	f.VisitAll(func(*flag.Flag) { any = true })
	if !any {
		fmt.Fprintf(f.out, "%s has no flags\n", f.Name())
		return
	}
	fmt.Fprintf(f.out, "The flags of %s:\n", f.Name())
	f.SetOutput(f.out)
	f.PrintDefaults()
}

// errHelp says that only help was asked for.
var errHelp = errors.New("help was printed")

// given reports whether a flag is on the command line.
func (f *flagSet) given(name string) bool {
	found := false
	f.Visit(func(g *flag.Flag) { found = found || g.Name == name })
	return found
}

// printer is the output of a command. It remembers what could not be written:
// a full disk makes an answer that nobody can read.
type printer struct {
	io.Writer
	mu  sync.Mutex
	err error
}

// Write passes on, one call at a time.
func (p *printer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.Writer.Write(b)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("what it prints cannot be written: %w", err)
	}
	return n, err
}

// failed is the first error of the output.
func (p *printer) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
