package core

import (
	"slices"
	"strings"
	"unicode"
)

// Who may give a command.
type Who string

// The groups of people a command may be limited to.
const (
	Anyone Who = "anyone" // who may talk in the place
	Admins Who = "admins"
)

// Command is one row of the command table. The Discord registration, the Slack
// manifest, the text parser and /help are made from it.
type Command struct {
	Name string // lower case, at most 32 letters
	Help string // one line, at most 100 characters (Discord's limit for descriptions)
	// Arg names the one free argument, empty for none; ArgHelp describes it.
	Arg, ArgHelp string
	// Words are all values that Arg may have; nil is any.
	Words []string
	// Complete is true when values of Arg are offered while typing.
	Complete bool
	Who      Who
	// Urgent commands never wait behind a running turn and need no model.
	Urgent bool
}

// Commands is the command table, in the order in which /help shows it. Treat it
// as read-only.
var Commands = []Command{
	{Name: "model", Help: "Show or choose the model of this thread", Arg: "model", ArgHelp: "provider/model, an alias, a number from /models, @profile, or default", Complete: true, Who: Anyone, Urgent: true},
	{Name: "models", Help: "List the models that you can choose", Who: Anyone, Urgent: true},
	{Name: "status", Help: "Show which model is selected, which one answers, and why", Arg: "why", ArgHelp: "why: tell the decisions of the last turn", Words: []string{"why"}, Complete: true, Who: Anyone, Urgent: true},
	{Name: "usage", Help: "Show what this thread and you have used, and what is left for today", Who: Anyone, Urgent: true},
	{Name: "new", Help: "Start a new conversation in this thread", Arg: "default", ArgHelp: "default: go back to the default model as well", Words: []string{"default"}, Complete: true, Who: Anyone},
	{Name: "reset", Help: "Forget this conversation and start over", Who: Anyone},
	{Name: "stop", Help: "Stop the answer that is being written", Arg: "all", ArgHelp: "all: stop everything that runs in this place (admins)", Words: []string{"all"}, Complete: true, Who: Anyone, Urgent: true},
	{Name: "retry", Help: "Answer the last message again", Who: Anyone},
	{Name: "compact", Help: "Summarise what was said before, to make room", Arg: "keep", ArgHelp: "what the summary must not leave out", Who: Anyone},
	{Name: "forget", Help: "Delete what I have stored about you", Arg: "yes", ArgHelp: "yes: do it; without it you are told what would go", Words: []string{"yes"}, Complete: true, Who: Anyone, Urgent: true},
	{Name: "approve", Help: "Let somebody write to the bot who asked to", Arg: "code", ArgHelp: "the code that the person was told", Who: Admins, Urgent: true},
	{Name: "help", Help: "List the commands", Who: Anyone, Urgent: true},
}

// FindCommand looks a command up by its name, in any case.
func FindCommand(name string) (Command, bool) {
	name = strings.ToLower(name)
	for _, c := range Commands {
		if c.Name == name {
			return c, true
		}
	}
	return Command{}, false
}

// ParseCommand reads a command from text: "/name args" or "!name args", where
// name is in the table and args are what it takes. Anything else, such as a
// path, an unknown word after a slash, or a sentence that begins with a command,
// is no command but text. What nobody sees around it does not count, and the wide
// marks of Chinese and Japanese keyboards are as good.
func ParseCommand(text string) (c Command, args string, ok bool) {
	text = Trim(text)
	mark, name := commandMark(text)
	if name == "" {
		return Command{}, "", false
	}
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		name, args = name[:i], Trim(name[i:])
	}
	c, ok = FindCommand(name)
	if !ok || !c.takes(mark, args) {
		return Command{}, "", false
	}
	return c, args, true
}

// commandMark takes the mark off the beginning of text; name is empty without
// one.
func commandMark(text string) (mark byte, name string) {
	for _, m := range []struct {
		text string
		mark byte
	}{{"/", '/'}, {"!", '!'}, {"／", '/'}, {"！", '!'}} {
		if rest, ok := strings.CutPrefix(text, m.text); ok {
			return m.mark, rest
		}
	}
	return 0, ""
}

// Takes reports whether args, given to the command by itself and not in a
// sentence, are what it can be carried out with.
func (c Command) Takes(args string) bool { return c.takes('/', args) }

// takes reports whether args can be meant for the command: "/stop" and "!stop"
// are commands, "!stop that, will you" is a sentence. A slash in front of a free
// argument is meant, even if there are too many words: the reply says how to
// write it.
func (c Command) takes(mark byte, args string) bool {
	switch {
	case args == "":
		return true
	case c.Arg == "":
		return false
	case c.Words != nil:
		return slices.ContainsFunc(c.Words, func(w string) bool { return strings.EqualFold(w, args) })
	}
	return mark == '/' || !strings.ContainsFunc(args, unicode.IsSpace)
}
