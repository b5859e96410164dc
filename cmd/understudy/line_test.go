package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// A wrong command line ends with 2 and one line that says what is wrong.
func TestMisuse(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"run", "extra"}, []string{`"extra"`}},
		{[]string{"version", "extra"}, []string{`"extra"`}},
		{[]string{"health", "extra"}, []string{`"extra"`}},
		{[]string{"help", "extra"}, []string{`"extra"`}},
		{[]string{"check", "extra"}, []string{`"extra"`}},
		{[]string{"chat", "extra", "words"}, []string{`-m "extra words"`}},
		{[]string{"chat", "-m", ""}, []string{"-m", "empty"}},
		{[]string{"chat", "-m", " \n"}, []string{"-m", "empty"}},
		{[]string{"chat", "--json"}, []string{"-m"}},
		{[]string{"chat", "--nope"}, []string{"-nope", "understudy chat -h"}},
		{[]string{"chat", "--speed", "quick"}, []string{`"quick"`, "understudy chat -h"}},
		{[]string{"auth", "clear", "--nope"}, []string{"-nope", "understudy auth clear -h"}},
		{[]string{"chat", "-m", "hi", "--fail", "nonsense"}, []string{`"nonsense"`, "target=kind:count"}},
		{[]string{"chat", "-m", "hi", "--fail", "nope/x=auth:1"}, []string{"nope/x", "script/lead"}},
		{[]string{"chat", "-m", "hi", "--fail", "nope=auth:1"}, []string{"nope", "script/lead"}},
		{[]string{"chat", "-m", "hi", "--fail", "script/nope=auth:1"}, []string{"script/nope", "script/lead"}},
		{[]string{"chat", "-m", "hi", "--fail", "openai=auth:1"}, []string{"openai", "script/lead"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			setEnv(t, "UNDERSTUDY_HTTP=off")
			out, errs, code := command(t, "", c.args...)
			if code != 2 || out != "" || strings.Count(errs, "\n") != 1 {
				t.Errorf("exit %d; it prints %q and says\n%s", code, out, errs)
			}
			for _, want := range c.want {
				if !strings.Contains(errs, want) {
					t.Errorf("it does not say %q:\n%s", want, errs)
				}
			}
		})
	}
}

// Help that was asked for goes to where answers go.
func TestHelp(t *testing.T) {
	setEnv(t)
	out, errs, code := command(t, "", "help")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for name := range subcommands {
		if n := len(regexp.MustCompile(`(?m)^  understudy `+name+`\b`).FindAllString(out, -1)); n != 1 {
			t.Errorf("%s is listed %d times:\n%s", name, n, out)
		}
	}
	for _, args := range [][]string{nil, {"-h"}, {"--help"}} {
		if again, _, code := command(t, "", args...); code != 0 || again != out {
			t.Errorf("understudy %q ends with %d and prints\n%s", args, code, again)
		}
	}
	for name, want := range map[string]string{"chat": "-speed", "health": "-ready", "version": "no flags"} {
		out, errs, code := command(t, "", name, "-h")
		if code != 0 || errs != "" || !strings.Contains(out, want) {
			t.Errorf("understudy %s -h ends with %d, says %q and prints\n%s", name, code, errs, out)
		}
	}
}

// full is an output that takes nothing, as /dev/full does.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// What nobody can read was not answered.
func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"chat", "-m", "hi"}, {"chat", "-m", "hi", "--json"}, {"chat"}, {"version"}, {"help"}, {"chat", "-h"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			setEnv(t)
			errs := &output{}
			code := run(t.Context(), console{strings.NewReader("hi\n"), full{}, errs}, args)
			if code != 1 || !strings.Contains(errs.String(), "no space left") {
				t.Errorf("exit %d: %s", code, errs)
			}
		})
	}
}

// ":fail" says in words what it does.
func TestFailInWords(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{":fail script/lead overloaded", "The next request to script/lead fails (overloaded)."},
		{":fail script/lead overloaded 1", "The next request to script/lead fails (overloaded)."},
		{":fail script rate_limit 3 90s", "The next 3 requests to script fail (rate_limit)."},
		{":fail script/lead ok", "script/lead works again."},
		{":fail nope/x auth", `no scripted model or provider "nope/x"`},
		{":fail", "Say who fails and how: “:fail script/lead overloaded 3”"},
	} {
		setEnv(t)
		out, errs, code := command(t, c.line+"\n", "chat")
		if code != 0 || !strings.Contains(out, c.want) {
			t.Errorf("%s ends with %d (%s) and prints\n%s", c.line, code, errs, out)
		}
	}
}

// A talk to which nobody can answer does not begin; one key is enough.
func TestChatNeedsAKey(t *testing.T) {
	for _, c := range []struct {
		env  []string
		args []string
		want string
	}{
		{[]string{"UNDERSTUDY_MODEL=openai/gpt-5"}, nil, "OPENAI_API_KEY"},
		{[]string{"UNDERSTUDY_MODEL=zzz/foo"}, nil, `no provider "zzz"`},
		{nil, []string{"--model", "openai/gpt-5"}, "OPENAI_API_KEY"},
		{[]string{"UNDERSTUDY_MODEL=script/lead"}, []string{"--model", "openai/gpt-5"}, "OPENAI_API_KEY"},
	} {
		setEnv(t, c.env...)
		if out, errs, code := command(t, "", append([]string{"chat", "-m", "hi"}, c.args...)...); code != 2 || !strings.Contains(errs, c.want) {
			t.Errorf("%q %q: exit %d, %s; it prints\n%s", c.env, c.args, code, errs, out)
		}
	}
	setEnv(t, "UNDERSTUDY_MODEL=openai/gpt-5", "UNDERSTUDY_FALLBACKS=script/stand-in", "UNDERSTUDY_STORE=chat.db")
	if out, errs, code := command(t, "", "chat", "-m", "hi"); code != 0 || !strings.Contains(out, "script/stand-in is answering") && !strings.Contains(out, "I am script/stand-in") {
		t.Errorf("with one that can be asked: exit %d, %s; it prints\n%s", code, errs, out)
	}
}
