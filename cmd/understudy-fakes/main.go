// Command understudy-fakes is a world for understudy to run in: a fake Discord,
// a fake Slack and two scripted model providers, as one process on loopback. It
// is for trying the product by hand, for crash runs and for measurements, and
// is not shipped.
//
//	go run ./cmd/understudy-fakes -dir /tmp/fakes
//
// and, once it has printed its line, in another terminal
//
//	set -a; . /tmp/fakes/env; set +a
//	go run ./cmd/understudy run
//
// It makes the folder, writes into it the configuration that leads understudy
// here and the environment to start it with, and prints one line of JSON with
// every address. The models are lead/actor, which speaks Messages, and its
// fallback second/double, which speaks Chat Completions; both answer "ok" until
// told otherwise. At the address called control it takes orders; bodies and
// answers are JSON:
//
//	POST /say       {"platform": "discord", "text": "@understudy hello"} says it
//	                as Ann in the first channel, and returns its id and the
//	                thread that it opens; "channel", "thread" and "user" say
//	                where else and who else, "file" {"name", "mime", "text"} is
//	                attached. It waits for the bot to connect
//	GET  /posts     ?platform=slack&thread=…: the bot's posts there; "channel"
//	                says where else, "atLeast" waits for so many
//	POST /fault     {"platform": "slack", "request": "chat.postMessage",
//	                "status": 503} spoils the answer to the next such request, on
//	                Discord to "POST /channels/*/messages". On Slack "error" is
//	                one of its codes. "retryAfter" seconds make it a 429. "perform" carries the request out all the
//	                same; so do "drop", which cuts the connection in place of
//	                answering, and "hold", which never answers
//	GET  /requests  ?platform=…: what the bot asked the platform, in order
//	     /lead/…, /second/…: the provider's own remote control, see package
//	                llmtest: queue, open, requests, counts
//
// What only one of the platforms knows has its name in front:
//
//	POST /discord/interact  {"channel": "100", "user": "700", "command": "status",
//	                "options": {}} gives a native command and returns its id;
//	                with "type" complete, menu, button or modal it is something
//	                else, with "customId", "values" and the "message" of it
//	GET  /discord/answer  ?id=…: what the bot answered to that until now
//	POST /discord/break   {"how": "drop"} cuts the connection; close does it
//	                politely, reconnect asks the bot to do it, resume and
//	                invalidate say whether its session lives on. "meanwhile" is
//	                something to say before it is back
//	POST /discord/refuse  {"content": false} turns Message Content Intent off for
//	                whoever connects; {"code": 4004} closes them with that code;
//	                {"channel": "100", "lacks": "view"} takes a permission away:
//	                view, post, thread. Without a value all is well again
//	POST /slack/slash     {"channel": "C0CHAN", "user": "U0USER", "command":
//	                "/model", "text": ""} gives a native command
//	POST /slack/press     {"channel", "user", "action", "value"} chooses from a
//	                menu that only this user sees, with "thread" in there; with
//	                "message" it clicks a button of that message
//	POST /slack/shortcut  {"channel", "user", "message", "callback"}: a command
//	                from the menu of a message
//	POST /slack/suggest   {"channel", "user", "action", "text"}: typing in a menu
//	POST /slack/submit    {"view", "block", "action", "text"}: sending a form
//	POST /slack/assistant {"channel": "D0DM", "user": "U0USER"} opens the app's
//	                pane and returns its thread
//	GET  /slack/responses what one person alone was shown, and what came to
//	                response addresses
//	GET  /slack/ack       ?envelope=…: what an acknowledgement said
//	GET  /slack/status    ?channel=…&thread=…: the status line there
//	POST /slack/break     {"how": "drop"}, or the reason of a disconnect: warning,
//	                refresh_requested, link_disabled, too_many_websockets
//	POST /slack/refuse    {"reason": "link_disabled"} greets whoever connects with
//	                that; {"channel": "C0TWO"} takes the bot out of a channel
//	POST /slack/scopes    {"without": ["users:read"]} takes scopes away
//	POST /slack/events    {"events": "http://…"} sends all over HTTP from now on,
//	                signed with the secret that was printed
//
// The flag -recite lets both providers answer the newest message that says
// "line 7 please" with "heard 7 (lead)." or "heard 7 (second).". Behind it may
// stand ", slowly", ", at length", ", the lead is away" (the lead refuses it and
// wants two seconds' rest) and ", ring": before the answer the tool ring is called, which
// rings the bell /ring, or session_status where the bot has no such tool. With
// ", aloud" the provider says "One moment." before it calls the tool.
//
// What crash runs need besides:
//
//	POST /hold      {"platform": "slack", "request": "chat.postMessage",
//	                "within": 1000} waits until such a request was carried out,
//	                keeps its answer back and says whether it came within so
//	                many milliseconds. Without a platform the request is asked,
//	                second, ending or ring: a reciting provider was asked, the
//	                second one was, it has said
//	                everything but that this is the end ("what" is the gate to
//	                open at /lead/open and /second/open), or the bell is rung
//	POST /drop      {} lets everything go on that is held
//	POST /place     {"platform": "slack", "channel": "C1", "user": ""} adds a
//	                channel, or with a user the direct messages with that one; it
//	                returns its id
//	POST /edit      {"platform", "channel", "thread", "id", "text"} is a person
//	                changing a message, /delete deleting it, and /again the
//	                platform telling of it once more
//	GET  /everything  all messages that stand anywhere, in order, and the threads
//	GET  /played    rings of the bell by number, and when the lead was away
//	POST /slack/deaf  {"acks": 1} loses so many acknowledgements
//
// For example, a fallback with its notice:
//
//	curl -d '{"model": "actor", "answers": [{"status": 529, "code": "overloaded_error"}]}' $FAKES_CONTROL/lead/queue
//	curl -d '{"platform": "slack", "text": "@understudy hello"}' $FAKES_CONTROL/say
//
// It ends with SIGTERM or Ctrl-C.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "understudy-fakes:", err)
		os.Exit(1)
	}
}

// run hosts everything until the context ends.
func run(ctx context.Context, out, errs io.Writer, args []string) error {
	var at addresses
	f := flag.NewFlagSet("understudy-fakes", flag.ContinueOnError)
	f.SetOutput(errs)
	dir := f.String("dir", "", "where to write the configuration and the environment; a new folder if empty")
	const free = "127.0.0.1:0"
	f.StringVar(&at.control, "control", free, "address of the control interface")
	f.StringVar(&at.discord, "discord", free, "address of the fake Discord")
	f.StringVar(&at.slack, "slack", free, "address of the fake Slack")
	f.StringVar(&at.lead, "lead", free, "address of the provider of lead/actor")
	f.StringVar(&at.second, "second", free, "address of the provider of second/double")
	recites := f.Bool("recite", false, "let the providers do what the newest message says")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%q is one word too many; -h shows the flags", f.Arg(0))
	}
	w, err := open(at, *recites)
	if err != nil {
		return err
	}
	defer w.close()
	hint, err := w.describe(*dir)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(hint); err != nil {
		return fmt.Errorf("printing the addresses: %w", err)
	}
	<-ctx.Done()
	return nil
}
