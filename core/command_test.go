package core

import (
	"strings"
	"testing"
	"unicode"
)

func TestParseCommand(t *testing.T) {
	for _, c := range []struct {
		text, name, args string // name is empty when it is no command
	}{
		{"/model", "model", ""},
		{"/model  b/m2 ", "model", "b/m2"},
		{"  !model x", "model", "x"},
		{"/MODEL X", "model", "X"},
		{"/status\nwhy", "status", "why"},
		{"/stop", "stop", ""},
		{"!stop", "stop", ""},
		{"!stop that, will you", "", ""},
		{"/stop it", "", ""},
		{"/help me please", "", ""},
		{"/reset the password, please", "", ""},
		{"/new default", "new", "default"},
		{"!new DEFAULT", "new", "DEFAULT"},
		{"!new idea: we ship friday", "", ""},
		{"/new idea", "", ""},
		{"!status why", "status", "why"},
		{"!status report is late", "", ""},
		{"/status report", "", ""},
		{"!model default", "model", "default"},
		{"!model trains are fun", "", ""},
		{"/model two words", "model", "two words"}, // its reply tells how to use it
		{"/usr/bin", "", ""},
		{"/unknown word", "", ""},
		{"!important", "", ""},
		{"model x", "", ""},
		{"/", "", ""},
		{"", "", ""},
		{"//model", "", ""},
		{"/ model", "", ""},
		{"/modelx", "", ""},
		{"\u200e/status\u200b", "status", ""},
		{"/model \u2066b/m2\u2069", "model", "b/m2"},
		{"／status", "status", ""},
		{"！model　b/m2", "model", "b/m2"},
		{"！important", "", ""},
		{"\u200b", "", ""},
	} {
		got, args, ok := ParseCommand(c.text)
		if ok != (c.name != "") || got.Name != c.name || args != c.args {
			t.Errorf("%q is command %q with %q, want %q with %q", c.text, got.Name, args, c.name, c.args)
		}
	}
}

// The platforms refuse a registration that breaks one of these limits.
func TestCommandTable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Commands {
		switch {
		case seen[c.Name]:
			t.Errorf("%s is in the table twice", c.Name)
		case c.Name == "" || len(c.Name) > 32 || strings.ToLower(c.Name) != c.Name || strings.ContainsFunc(c.Name, unicode.IsSpace):
			t.Errorf("%q is no name for a command", c.Name)
		case c.Help == "" || len(c.Help) > 100:
			t.Errorf("the help of %s has %d characters", c.Name, len(c.Help))
		case len(c.ArgHelp) > 100 || (c.Arg == "") != (c.ArgHelp == ""):
			t.Errorf("the argument of %s is %q: %q", c.Name, c.Arg, c.ArgHelp)
		case c.Words != nil && c.Arg != strings.Join(c.Words, "|"):
			t.Errorf("the argument of %s is called %q and may be %q", c.Name, c.Arg, c.Words)
		case c.Who != Anyone && c.Who != Admins:
			t.Errorf("%s is for %q", c.Name, c.Who)
		}
		seen[c.Name] = true
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, c := range Commands {
		f.Add("/" + c.Name + " x")
		f.Add("!" + c.Name)
	}
	f.Add("/\xff")
	f.Fuzz(func(t *testing.T, text string) {
		c, args, ok := ParseCommand(text)
		if !ok {
			if c.Name != "" || args != "" {
				t.Fatalf("%q is no command but gives %q with %q", text, c.Name, args)
			}
			return
		}
		if args != strings.TrimSpace(args) || !strings.Contains(text, args) {
			t.Fatalf("%q gives the arguments %q", text, args)
		}
		// What was read, written out again, is read the same.
		again, sameArgs, ok := ParseCommand("/" + c.Name + " " + args)
		if !ok || again.Name != c.Name || sameArgs != args {
			t.Fatalf("%q gives %q with %q, then %q with %q", text, c.Name, args, again.Name, sameArgs)
		}
	})
}
