package main

import (
	"context"
	"strings"
	"testing"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// town is a fake platform as an end-to-end test sees it: people talk in
// threads, and what the bot posts stands there in order.
type town interface {
	env() []string // what the bot is told to find it, NAME=value
	connected() int
	await(ctx context.Context, ok func() bool) error
	// open lets somebody mention the bot in a channel, which makes a thread.
	open(text string) (thread, id string)
	say(thread, text string) (id string)
	// command is how people give a command as text.
	command(text string) string
	// again delivers a message a second time.
	again(thread, id string)
	posts(thread string) []shown
	// requests counts those that the bot made about a thread.
	requests(thread string) int
	// hold lets the next post happen and keeps its answer back; the answer of
	// a post that is dropped never comes.
	hold() (done <-chan struct{}, drop func())
	key(thread string) core.Key
	Close()
}

// shown is a post of the bot as it stands now.
type shown struct {
	id, text string
	reply    string // the message it is a native reply to; Slack has only threads
}

// towns are the platforms, each with a fake of its own for the test.
var towns = map[string]func(*testing.T) town{
	"discord": newDiscordTown,
	"slack":   newSlackTown,
}

type discordTown struct{ *discordtest.Server }

const discordSquare = "100" // a text channel

func newDiscordTown(t *testing.T) town {
	t.Helper()
	s, err := discordtest.Start(discordtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return discordTown{s}
}

func (d discordTown) env() []string {
	return []string{
		"UNDERSTUDY_DISCORD_TOKEN=" + discordtest.DefaultToken, "UNDERSTUDY_DISCORD_ALLOW=*",
		"UNDERSTUDY_DISCORD_API_URL=" + d.URL,
	}
}

func (d discordTown) connected() int                                  { return d.Connected() }
func (d discordTown) await(ctx context.Context, ok func() bool) error { return d.Await(ctx, ok) }
func (d discordTown) command(text string) string                      { return "<@" + discordtest.BotID + "> " + text }
func (d discordTown) again(thread, id string)                         { d.Again(thread, id) }

// say waits for the thread: nobody can write in one that is not there yet.
func (d discordTown) say(thread, text string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := d.Await(ctx, func() bool { return d.Exists(thread) }); err != nil {
		panic("there is no channel " + thread + " to write in")
	}
	return d.Say(thread, "700", text)
}

// open returns the thread that the bot will make, which has the id of the
// message it is made from.
func (d discordTown) open(text string) (thread, id string) {
	id = d.say(discordSquare, d.command(text))
	return id, id
}

func (d discordTown) posts(thread string) (all []shown) {
	for _, m := range d.Posts(thread) {
		if m.Type != 21 { // the opener, which Discord repeats in its thread
			all = append(all, shown{m.ID, m.Content, m.Reference})
		}
	}
	return all
}

func (d discordTown) requests(thread string) (n int) {
	for _, r := range d.Requests("", "") {
		if strings.Contains(r.Path, "/"+thread) {
			n++
		}
	}
	return n
}

func (d discordTown) hold() (<-chan struct{}, func()) {
	h := d.Hold("POST", "/channels/*/messages")
	return h.Reached, h.Drop
}

func (d discordTown) key(thread string) core.Key {
	t := core.Thread{Platform: "discord", Account: "default", Workspace: "900", Channel: thread, Kind: core.KindThread}
	return core.Key{Agent: mainAgent, Thread: t.Key()}
}

type slackTown struct{ *slacktest.Server }

func newSlackTown(t *testing.T) town {
	t.Helper()
	s := slacktest.New(slacktest.Config{})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return slackTown{s}
}

func (s slackTown) env() []string {
	return []string{
		"UNDERSTUDY_SLACK_BOT_TOKEN=" + slacktest.BotToken, "UNDERSTUDY_SLACK_APP_TOKEN=" + slacktest.AppToken,
		"UNDERSTUDY_SLACK_ALLOW=*", "UNDERSTUDY_SLACK_API_URL=" + s.APIURL(),
	}
}

func (s slackTown) connected() int { return s.Connected() }
func (s slackTown) await(ctx context.Context, ok func() bool) error {
	return s.Wait(ctx, "the bot", ok)
}

func (s slackTown) open(text string) (thread, id string) {
	id = s.Say(slacktest.Channel, slacktest.User, s.command(text))
	return id, id
}

func (s slackTown) say(thread, text string) string {
	return s.Say(slacktest.Channel, slacktest.User, text, slacktest.In(thread))
}

func (s slackTown) command(text string) string { return "<@" + slacktest.BotUser + "> " + text }

// again repeats the newest envelope. The bot's own posts are envelopes, too, so
// the message itself is sent again as Slack sends it.
func (s slackTown) again(thread, id string) { s.repeat(slacktest.Channel, thread, id) }

func (s slackTown) repeat(channel, thread, id string) {
	for _, m := range s.Messages(channel) {
		if m.TS != id {
			continue
		}
		event := map[string]any{
			"type": "message", "channel": channel, "channel_type": "channel", "team": slacktest.Team,
			"user": m.User, "text": m.Text, "ts": m.TS, "event_ts": m.TS,
		}
		if thread != id {
			event["thread_ts"] = thread
		}
		s.SendEvent(event)
	}
}

func (s slackTown) posts(thread string) (all []shown) {
	for _, m := range s.Posts(slacktest.Channel, thread) {
		all = append(all, shown{id: m.TS, text: m.Text})
	}
	return all
}

func (s slackTown) requests(thread string) (n int) {
	for _, c := range s.Calls() {
		if c.Args["thread_ts"] == thread {
			n++
		}
	}
	return n
}

func (s slackTown) hold() (<-chan struct{}, func()) {
	before, done, answer := s.standing(), make(chan struct{}), make(chan struct{})
	s.Fail("chat.postMessage", slacktest.Fault{Hold: answer, Drop: true, Perform: true})
	go func() {
		// The wait ends with the server at the latest; a test that waits for
		// done has a limit of its own.
		if s.Wait(context.Background(), "the held post", func() bool { return s.standing() > before }) == nil {
			close(done)
		}
	}()
	return done, func() { close(answer) }
}

// standing counts the bot's messages.
func (s slackTown) standing() (n int) {
	for _, m := range s.Messages(slacktest.Channel) {
		if m.BotID == slacktest.BotID {
			n++
		}
	}
	return n
}

func (s slackTown) key(thread string) core.Key {
	t := core.Thread{Platform: "slack", Account: "default", Workspace: slacktest.Team, Channel: slacktest.Channel, Root: thread, Kind: core.KindThread}
	return core.Key{Agent: mainAgent, Thread: t.Key()}
}
