package main

// Scenarios are stories in text files: a configuration, what the store holds
// at the start, and a script of what happens and what must come of it. This
// file reads them; it runs nothing.
//
// Every line of a script becomes one value: a do… type for something that
// happens, an expect… type for something that must have happened. Names of
// threads, people, profiles and messages are kept as written. A "#" begins a
// comment at the start of a line, and behind a line that does not end with
// free text.

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"understudy/core/llm"
	"understudy/core/llm/script"
)

// scenario is one file, read.
type scenario struct {
	files map[string][]byte // config.jsonc, state.json and whatever else, but not the script
	start time.Time         // when it begins
	lines []line
}

// line is one line of the script.
type line struct {
	no   int    // in the file, counted from 1
	text string // as written, trimmed
	cmd  any    // one of the do… and expect… types
}

// The things that happen.
type (
	// doModel queues an answer of a model, for one profile if it is named.
	doModel struct {
		ref     llm.Ref
		profile string
		answer  script.Answer
	}
	// doTool queues what a tool does: after slow, it hangs or gives text, which
	// is an error if isError is set.
	doTool struct {
		name    string
		slow    time.Duration
		hang    bool
		isError bool
		text    string
	}
	// doAuth queues what the authorisation server answers to a refresh: after
	// slow, one of "ok", "hang", "reset" or "status" with status and body.
	doAuth struct {
		profile string
		slow    time.Duration
		outcome string
		status  int
		body    string // JSON, or the bare error code
	}
	// doLogin is a new login of a profile.
	doLogin struct{ profile string }
	// doEnv sets an environment variable before the start.
	doEnv struct{ name, value string }
	// doUnconfigured names a provider that does not exist.
	doUnconfigured struct{ provider string }
	// doNoCredential names a provider without credentials.
	doNoCredential struct{ provider string }
	// doThread says which channel ("channel:c1") a thread belongs to.
	doThread struct{ thread, channel string }
	// doUser is an inbound message. place is a thread's name, "dm:NAME" or
	// "channel:NAME".
	doUser struct {
		name, place string
		admin       bool
		replying    string // the message it replies to, if any
		images      []string
		text        string
	}
	// doEdit and doDelete change an inbound message on the platform.
	doEdit   struct{ message, text string }
	doDelete struct{ message string }
	// doRedeliver delivers a message again: "last", or its name.
	doRedeliver struct{ message string }
	// doPress presses a button.
	doPress struct{ button, place string }
	// doPatch changes a session through the API.
	doPatch struct {
		session string
		fields  []assignment
	}
	// doReset resets a session through the API.
	doReset struct{ session string }
	// doRun runs a command beside the program: the words after its name.
	doRun struct{ args []string }
	// doConfig reloads the configuration from a file of the archive.
	doConfig struct{ file string }
	// doTogether holds lines that arrive at once; its expectations are
	// unordered.
	doTogether struct{ lines []line }
	// doStart sets the clock; the reader has put it into scenario.start.
	doStart struct{ at time.Time }
	// doWait lets time pass.
	doWait struct{ d time.Duration }
	// doKill and doStop end the process; the next line starts it again.
	doKill struct{}
	doStop struct{}
	// doPrune removes what is too old by the configuration.
	doPrune struct{}
	// doPlatform fails a post, or lets it happen and loses the answer. n is
	// the number of the post, 0 for the next one.
	doPlatform struct {
		unknown bool
		n       int
	}
	// doSecond starts a second process.
	doSecond struct{}
	// doStore fails the next write, or delays it by slow.
	doStore struct{ slow time.Duration }
)

// assignment is name=value.
type assignment struct{ name, value string }

// defaultStart is the time at which a scenario without a start line begins.
var defaultStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// readScenario reads a file. The error names every bad line as name:line.
func readScenario(name string, data []byte) (*scenario, error) {
	archive := txtar.Parse(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
	s := &scenario{files: map[string][]byte{}, start: defaultStart}
	no := 1 + bytes.Count(archive.Comment, []byte("\n"))
	var text string
	first, found := 0, false
	for _, f := range archive.Files {
		if _, twice := s.files[f.Name]; twice || f.Name == "script" && found {
			return nil, fmt.Errorf("%s:%d: there are two files %q", name, no, f.Name)
		}
		if f.Name == "script" {
			text, first, found = string(f.Data), no+1, true
		} else {
			s.files[f.Name] = f.Data
		}
		no += 1 + bytes.Count(f.Data, []byte("\n"))
	}
	if !found {
		return nil, fmt.Errorf("%s: there is no part \"-- script --\"", name)
	}
	var errs []error
	s.lines, errs = readScript(text, first)
	errs = append(errs, s.check()...)
	for i, err := range errs {
		errs[i] = fmt.Errorf("%s:%w", name, err)
	}
	return s, errors.Join(errs...)
}

// readScript reads the lines of a script, the first of which has the number
// first.
func readScript(text string, first int) (lines []line, errs []error) {
	var group *doTogether // the one that is open
	var opened line
	for i, raw := range strings.Split(text, "\n") {
		l := line{no: first + i, text: strings.TrimSpace(raw)}
		if l.text == "" || l.text[0] == '#' {
			continue
		}
		r := &lineReader{rest: l.text}
		word := r.peek()
		switch {
		case word == "together:" && group == nil:
			r.next()
			group, opened = new(doTogether), l
			r.end()
		case word == "end" && group != nil:
			r.next()
			r.end()
			opened.cmd = *group
			lines, group = append(lines, opened), nil
		default:
			l.cmd = r.command()
			if r.err != nil {
				break
			}
			if group != nil {
				group.lines = append(group.lines, l)
			} else {
				lines = append(lines, l)
			}
		}
		if r.err != nil {
			errs = append(errs, fmt.Errorf("%d: %w, in: %s", l.no, r.err, l.text))
		}
	}
	if group != nil {
		errs = append(errs, fmt.Errorf("%d: \"together:\" has no \"end\"", opened.no))
	}
	return lines, errs
}

// check looks at what a line alone does not show.
func (s *scenario) check() (errs []error) {
	begun, started := false, false
	var walk func([]line)
	walk = func(lines []line) {
		for _, l := range lines {
			switch c := l.cmd.(type) {
			case doStart:
				if begun || started {
					errs = append(errs, fmt.Errorf("%d: \"start\" must be the first line", l.no))
				}
				started, s.start = true, c.at
			case doEnv, doUnconfigured, doNoCredential:
				if begun {
					errs = append(errs, fmt.Errorf("%d: %q belongs to the first lines", l.no, l.text))
				}
			case doTogether:
				walk(c.lines)
				begun = true
			case doConfig:
				if _, ok := s.files[c.file]; !ok {
					errs = append(errs, fmt.Errorf("%d: there is no file %q here", l.no, c.file))
				}
				begun = true
			default:
				begun = true
			}
		}
	}
	walk(s.lines)
	return errs
}
