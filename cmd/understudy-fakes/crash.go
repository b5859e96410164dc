package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
)

// crashOrders are those that crash runs need.
func (w *world) crashOrders(mux *http.ServeMux) {
	mux.HandleFunc("POST /hold", take(w.hold))
	mux.HandleFunc("POST /drop", take(func(context.Context, struct{}) (any, error) {
		w.latch.drop()
		return struct{}{}, nil
	}))
	mux.HandleFunc("POST /place", take(w.place))
	mux.HandleFunc("POST /edit", take(w.edit))
	mux.HandleFunc("POST /delete", take(w.remove))
	mux.HandleFunc("POST /again", take(w.again))
	mux.HandleFunc("POST /slack/deaf", take(func(_ context.Context, o struct{ Acks int }) (any, error) {
		w.slack.LoseAcks(o.Acks)
		return struct{}{}, nil
	}))
	mux.HandleFunc("GET /everything", func(rw http.ResponseWriter, _ *http.Request) { answer(rw)(w.everything()) })
	mux.HandleFunc("GET /played", func(rw http.ResponseWriter, _ *http.Request) {
		if w.stage == nil {
			answer(rw)(nil, errors.New("the providers recite nothing; start with -recite"))
			return
		}
		answer(rw)(w.stage.played(), nil)
	})
	if w.stage != nil {
		mux.HandleFunc("/ring", w.stage.rung)
	}
}

// place adds a channel, or somebody and the direct messages with them.
func (w *world) place(_ context.Context, o struct{ Platform, Channel, User string }) (any, error) {
	switch {
	case o.Platform != "discord" && o.Platform != "slack" || o.Channel == "" && o.User == "":
		return nil, errors.New("it must have a platform, and a channel or a user")
	case o.Platform == "discord" && o.User != "":
		w.discord.AddUser(discordtest.User{ID: o.User, Name: "user " + o.User})
		o.Channel = w.discord.Direct(o.User)
	case o.Platform == "discord":
		w.discord.AddChannel(discordtest.Channel{ID: o.Channel, Name: "channel " + o.Channel})
	case o.User != "":
		w.slack.AddPerson(slacktest.Person{ID: o.User, Name: "user " + o.User})
		w.slack.AddPlace(o.Channel, "im", o.User)
	default:
		w.slack.AddPlace(o.Channel, "channel", strings.ToLower(o.Channel))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.more[o.Platform] = append(w.more[o.Platform], o.Channel)
	return map[string]string{"channel": o.Channel}, nil
}

// spoken is a message that a person wrote.
type spoken struct{ Platform, Channel, Thread, ID, Text string }

// where is the channel of a message on Discord, where threads are channels.
func (o spoken) where() string {
	if o.Thread != "" && o.Thread != o.ID {
		return o.Thread
	}
	return o.Channel
}

// find finds what is wrong with a message that is to be changed.
func (w *world) find(o spoken) error {
	p, err := w.platform(o.Platform)
	if err != nil {
		return err
	}
	if !slices.Contains(p.channels, o.Channel) {
		return fmt.Errorf("there is no channel %q", o.Channel)
	}
	there := false
	if o.Platform == "discord" {
		there = slices.ContainsFunc(w.discord.Messages(o.where()), func(m discordtest.Message) bool { return m.ID == o.ID })
	} else {
		there = p.known(o.Channel, o.ID)
	}
	if !there {
		return fmt.Errorf("there is no message %q", o.ID)
	}
	return nil
}

func (w *world) edit(_ context.Context, o spoken) (any, error) {
	if err := w.find(o); err != nil {
		return nil, err
	}
	if o.Platform == "discord" {
		w.discord.Edit(o.where(), o.ID, o.Text)
	} else {
		w.slack.Edit(o.Channel, o.ID, o.Text)
	}
	return struct{}{}, nil
}

func (w *world) remove(_ context.Context, o spoken) (any, error) {
	if err := w.find(o); err != nil {
		return nil, err
	}
	if o.Platform == "discord" {
		w.discord.Remove(o.where(), o.ID)
	} else {
		w.slack.Remove(o.Channel, o.ID)
	}
	return struct{}{}, nil
}

// again tells of a message a second time.
func (w *world) again(_ context.Context, o spoken) (any, error) {
	if err := w.find(o); err != nil {
		return nil, err
	}
	if o.Platform == "discord" {
		w.discord.Again(o.where(), o.ID)
		return struct{}{}, nil
	}
	w.slack.Repeat(o.Channel, o.ID)
	return struct{}{}, nil
}

// standing is a message that stands somewhere.
type standing struct {
	Platform string `json:"platform"`
	Channel  string `json:"channel"`
	Thread   string `json:"thread,omitempty"`
	ID       string `json:"id"`
	Bot      bool   `json:"bot"` // it is the bot's
	Text     string `json:"text"`
	Key      string `json:"key,omitempty"` // its nonce, or metadata
}

// stands is all that stands anywhere.
type stands struct {
	Messages []standing `json:"messages"`
	Threads  []string   `json:"threads"` // of Discord
}

func (w *world) everything() (any, error) {
	all := stands{Messages: []standing{}, Threads: []string{}}
	for _, name := range []string{"discord", "slack"} {
		p, err := w.platform(name)
		if err != nil {
			return nil, err
		}
		for _, channel := range p.channels {
			if name == "slack" {
				for _, m := range w.slack.Messages(channel) {
					all.Messages = append(all.Messages, standing{name, channel, m.ThreadTS, m.TS, m.BotID == slacktest.BotID, m.Text, string(m.Metadata)})
				}
				continue
			}
			all.Messages = append(all.Messages, discordStanding(w.discord, channel, "")...)
			for _, t := range w.discord.Threads(channel) {
				all.Threads = append(all.Threads, t.ID)
				all.Messages = append(all.Messages, discordStanding(w.discord, channel, t.ID)...)
			}
		}
	}
	return all, nil
}

func discordStanding(s *discordtest.Server, channel, thread string) (all []standing) {
	at := channel
	if thread != "" {
		at = thread
	}
	for _, m := range s.Messages(at) {
		if m.Type != 21 { // the opener, which Discord repeats in its thread
			all = append(all, standing{"discord", channel, thread, m.ID, m.Author == discordtest.BotID, m.Content, m.Nonce})
		}
	}
	return all
}
