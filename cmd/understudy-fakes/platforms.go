package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
)

// platform is one of the fakes as the orders need it.
type platform struct {
	channels []string // the first one is meant where none is named
	user     string   // speaks where nobody is named
	mention  string   // of the bot
	// await returns once ok does, asking again after everything that happens.
	await     func(ctx context.Context, ok func() bool) error
	connected func() int
	known     func(channel, thread string) bool
	say       func(speech) (id string) // with a channel and a user
	posts     func(channel, thread string) []post
	fail      func(trouble) error
	requests  func() any
}

// post is a message of the bot as it stands now.
type post struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Reply is the message that it is a native reply to; on Slack the thread
	// is all there is.
	Reply string `json:"reply,omitempty"`
}

func (w *world) platform(name string) (platform, error) {
	w.mu.Lock()
	more := slices.Clone(w.more[name])
	w.mu.Unlock()
	switch name {
	case "discord":
		p := discordPlatform(w.discord)
		p.channels = append(p.channels, more...)
		return p, nil
	case "slack":
		p := slackPlatform(w.slack)
		p.channels = append(p.channels, more...)
		if w.overHTTP.Load() { // there it is always at hand
			p.connected = func() int { return 1 }
		}
		return p, nil
	}
	return platform{}, fmt.Errorf("the platform is %q; it must be discord or slack", name)
}

func discordPlatform(s *discordtest.Server) platform {
	const ann = "700"
	return platform{
		channels:  []string{"100", "110", s.Direct(ann)},
		user:      ann,
		mention:   "<@" + discordtest.BotID + ">",
		await:     s.Await,
		connected: s.Connected,
		known: func(channel, thread string) bool {
			return slices.ContainsFunc(s.Threads(channel), func(c discordtest.Channel) bool { return c.ID == thread })
		},
		say: func(o speech) string {
			var how []discordtest.Saying
			if f := o.File; f != nil {
				how = append(how, discordtest.WithFile(f.Name, f.MIME, []byte(f.Text)))
			}
			return s.Say(cmp.Or(o.Thread, o.Channel), o.User, o.Text, how...)
		},
		posts: func(channel, thread string) []post {
			all := []post{}
			for _, m := range s.Posts(cmp.Or(thread, channel)) {
				all = append(all, post{m.ID, m.Content, m.Reference})
			}
			return all
		},
		fail: func(o trouble) error {
			method, path, ok := strings.Cut(o.Request, " ")
			if !ok {
				return fmt.Errorf("the request is %q; it must be a method and a path, such as %q", o.Request, "POST /channels/*/messages")
			}
			if o.Error != "" {
				return errors.New("only Slack has errors that are words")
			}
			if o.Hold || o.Drop {
				h := s.Hold(method, path)
				if !o.Hold {
					h.Drop()
				}
				return nil
			}
			f := discordtest.Fault{Method: method, Path: path, Status: o.Status, Message: "ordered", Performed: o.Perform}
			if o.RetryAfter > 0 {
				f.Status, f.RetryAfter = 429, time.Duration(o.RetryAfter)*time.Second
			}
			s.Inject(f)
			return nil
		},
		requests: func() any { return s.Requests("", "") },
	}
}

func slackPlatform(s *slacktest.Server) platform {
	return platform{
		channels:  []string{slacktest.Channel, slacktest.Channel2, slacktest.DM, slacktest.Group},
		user:      slacktest.User,
		mention:   "<@" + slacktest.BotUser + ">",
		await:     func(ctx context.Context, ok func() bool) error { return s.Wait(ctx, "the bot", ok) },
		connected: s.Connected,
		known: func(channel, thread string) bool {
			return slices.ContainsFunc(s.Messages(channel), func(m slacktest.Message) bool { return m.TS == thread })
		},
		say: func(o speech) string {
			how := []slacktest.Option{slacktest.In(o.Thread)}
			if f := o.File; f != nil {
				id := "F" + f.Name
				s.Host(slacktest.HostedFile{ID: id, Name: f.Name, MIME: f.MIME, Data: []byte(f.Text)})
				how = append(how, s.Attach(id))
			}
			return s.Say(o.Channel, o.User, o.Text, how...)
		},
		posts: func(channel, thread string) []post {
			all := []post{}
			for _, m := range s.Posts(channel, thread) {
				all = append(all, post{ID: m.TS, Text: m.Text})
			}
			return all
		},
		fail: func(o trouble) error {
			f := slacktest.Fault{Error: o.Error, Status: o.Status, RetryAfter: o.RetryAfter, Drop: o.Drop, Perform: o.Perform || o.Drop || o.Hold}
			if o.Hold {
				f.Hold = make(chan struct{}) // until the client or this process ends
			}
			s.Fail(o.Request, f)
			return nil
		},
		requests: func() any { return s.Calls() },
	}
}
