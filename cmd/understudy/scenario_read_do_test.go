package main

import (
	"strconv"
	"strings"
	"time"

	"understudy/core/llm/script"
)

// command reads a line that is no part of a group's frame.
func (r *lineReader) command() any {
	switch word := r.next(); word {
	case "model":
		return r.model()
	case "tool":
		return r.tool()
	case "auth":
		return r.auth()
	case "login":
		return closed(r, doLogin{r.profile()})
	case "env":
		name, value, ok := strings.Cut(strings.TrimSpace(r.rest), "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			r.fail("NAME=value")
		}
		return doEnv{name, value}
	case "unconfigured":
		return closed(r, doUnconfigured{r.word("a provider")})
	case "no":
		r.literal("credential")
		return closed(r, doNoCredential{r.word("a provider")})
	case "thread":
		d := doThread{thread: r.word("a thread")}
		r.literal("in")
		if d.channel = r.word("channel:NAME"); !strings.HasPrefix(d.channel, "channel:") {
			r.fail("channel:NAME")
		}
		return closed(r, d)
	case "user", "admin":
		return r.message(word == "admin")
	case "edit":
		text := r.cutText()
		return closed(r, doEdit{r.word("a message"), text})
	case "delete":
		return closed(r, doDelete{r.word("a message")})
	case "redeliver":
		return closed(r, doRedeliver{r.word(`"last" or a message`)})
	case "press":
		d := doPress{button: r.word("a button")}
		r.literal("in")
		d.place = r.place()
		return closed(r, d)
	case "patch":
		return closed(r, doPatch{r.word("a session"), r.fields()})
	case "reset":
		return closed(r, doReset{r.word("a session")})
	case "run":
		r.literal("understudy")
		return r.run()
	case "config":
		return closed(r, doConfig{r.word("a file of this archive")})
	case "start":
		at, err := time.Parse(time.RFC3339, r.word("a time"))
		if err != nil {
			r.fail("a time such as 2026-03-29T00:30:00Z")
		}
		return closed(r, doStart{at.UTC()})
	case "wait":
		return closed(r, doWait{r.duration()})
	case "kill":
		return closed(r, doKill{})
	case "stop":
		return closed(r, doStop{})
	case "prune":
		return closed(r, doPrune{})
	case "platform":
		return r.platform()
	case "second":
		r.literal("process")
		return closed(r, doSecond{})
	case "store":
		return r.store()
	case "expect":
		return r.expect()
	case "together:":
		r.fail("no group within a group")
	case "end":
		r.fail(`"together:" before "end"`)
	default:
		r.fail("a line of the grammar; nothing begins with " + strconv.Quote(word))
	}
	return nil
}

func (r *lineReader) model() any {
	d := doModel{}
	ref, more := r.upToColon("a model ref and a colon")
	if more {
		d.profile = r.profileName(strings.TrimPrefix(r.colonWord("@profile and a colon", "@"), "@"))
	}
	d.ref = r.ref(ref)
	if r.err != nil {
		return nil
	}
	var err error
	if d.answer, err = script.ParseAnswer(strings.TrimSpace(stripComment(r.rest))); err != nil {
		r.err = err
	}
	return d
}

func (r *lineReader) tool() any {
	d := doTool{}
	name, more := r.upToColon("the name of a tool and a colon")
	if d.name = name; more {
		r.fail("a colon behind the name of the tool")
	}
	if r.is("slow") {
		d.slow = r.duration()
	}
	switch {
	case r.is("hang"):
		d.hang = true
	case r.is("text"):
		d.text = r.quoted()
	case r.is("error"):
		d.isError, d.text = true, r.quoted()
	default:
		r.fail("text, error, hang or slow")
	}
	return closed(r, d)
}

func (r *lineReader) auth() any {
	d := doAuth{profile: r.profile()}
	if word := r.colonWord(`"refresh:"`, "refresh"); word != "refresh" {
		r.fail(`"refresh:"`)
	}
	if r.is("slow") {
		d.slow = r.duration()
	}
	for _, outcome := range []string{"ok", "hang", "reset"} {
		if r.is(outcome) {
			d.outcome = outcome
			return closed(r, d)
		}
	}
	n, err := strconv.Atoi(r.peek())
	if err != nil || n < 100 || n > 599 {
		r.fail("ok, hang, reset, slow or a status such as 400")
		return nil
	}
	r.next()
	d.outcome, d.status = "status", n
	if d.body = strings.TrimSpace(stripComment(r.rest)); strings.HasPrefix(d.body, `"`) {
		d.body = r.quoted()
		return closed(r, d)
	}
	return d
}

func (r *lineReader) message(admin bool) any {
	d := doUser{admin: admin, text: r.cutText()}
	d.name = r.word("a name")
	r.literal("in")
	d.place = r.place()
	for r.err == nil && r.peek() != "" {
		switch {
		case r.is("replying"):
			d.replying = r.word("a message")
		case r.is("with", "image"):
			d.images = append(d.images, r.word("the name of an image"))
		default:
			r.fail(`"replying m1", "with image a.png" or a colon`)
		}
	}
	return closed(r, d)
}

func (r *lineReader) run() any {
	d := doRun{}
	for r.err == nil && r.peek() != "" {
		d.args = append(d.args, r.word("an argument"))
	}
	if len(d.args) == 0 {
		r.fail("a command")
	}
	return closed(r, d)
}

func (r *lineReader) platform() any {
	d := doPlatform{}
	if d.unknown = r.is("unknown"); !d.unknown {
		r.literal("fails")
	}
	if r.is("next", "post") {
		return closed(r, d)
	}
	r.literal("post")
	d.n = r.number(1)
	return closed(r, d)
}

func (r *lineReader) store() any {
	d := doStore{}
	if r.is("slow") {
		d.slow = r.duration()
	} else {
		r.literal("fails")
	}
	r.literal("next")
	r.literal("write")
	return closed(r, d)
}
