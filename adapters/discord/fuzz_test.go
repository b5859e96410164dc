package discord

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"

	"understudy/core"
)

// deaf is a handler that takes everything.
type deaf struct{}

func (deaf) Message(context.Context, core.Message) error { return nil }
func (deaf) Change(context.Context, core.Change) error   { return nil }
func (deaf) Command(context.Context, core.Invocation) (core.Reply, error) {
	return core.Reply{Text: "ok"}, nil
}
func (deaf) Complete(context.Context, core.Invocation) ([]core.Choice, error) { return nil, nil }

// alarm reports what is logged as an error, which is a panic that was caught.
type alarm struct {
	slog.Handler
	t *testing.T
}

func (a alarm) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }
func (a alarm) WithAttrs([]slog.Attr) slog.Handler           { return a }
func (a alarm) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(at slog.Attr) bool { a.t.Log(at); return true })
	a.t.Error(r.Message)
	return nil
}

type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("offline") }

// Whatever the gateway sends, nothing fails.
func FuzzEvent(f *testing.F) {
	for _, e := range [][2]string{
		{"MESSAGE_CREATE", `{"id":"1","channel_id":"100","guild_id":"900","type":19,"content":"<@800> hi <#100>","author":{"id":"700"},"member":{"roles":["1"]},"referenced_message":{"author":{"id":"800"}},"mentions":[{"id":"800"}],"attachments":[{"filename":"a"}],"message_snapshots":[{"message":{"content":"x"}}]}`},
		{"MESSAGE_CREATE", `{"id":"1","channel_id":"6","content":"hi","author":{"id":"700"},"timestamp":"x"}`},
		{"MESSAGE_UPDATE", `{"id":"1","channel_id":"100","content":"new","edited_timestamp":"2026-01-01T00:00:00Z","author":{"id":"700"}}`},
		{"MESSAGE_DELETE_BULK", `{"ids":["1","2"],"channel_id":"100"}`},
		{"INTERACTION_CREATE", `{"id":"1","type":3,"token":"t","channel_id":"100","member":{"user":{"id":"700"}},"data":{"custom_id":"pick:model:0","values":["x"]}}`},
		{"INTERACTION_CREATE", `{"id":"1","type":2,"token":"t","channel_id":"100","user":{"id":"700"},"data":{"name":"model","options":[{"value":3.5}]}}`},
		{"INTERACTION_CREATE", `{"id":301,"type":5,"token":"t","channel_id":100,"guild_id":900,"member":{"user":{"id":700},"roles":null},"data":{"custom_id":"pick:t v 00","components":[{"type":18,"component":{"type":4,"value":null}}]}}`},
		{"INTERACTION_CREATE", `{"id":"1","type":3,"token":"t","channel_id":"500","guild_id":"900","channel":{"id":"500","type":11,"parent_id":"100"},"member":{"user":{"id":"700"}},"data":{"custom_id":"pick:t v 00","values":null,"component_type":99},"message":{"id":"1","components":[{"type":99}]}}`},
		{"INTERACTION_CREATE", `{"id":"1","type":4,"token":"t","channel_id":"6","channel":{"id":"6","type":3},"user":{"id":"700"},"data":{"name":"model","options":null}}`},
		{"INTERACTION_CREATE", `{"id":"1","type":77,"token":"t","channel_id":"100","guild_id":"900","member":null,"data":null}`},
		{"MESSAGE_CREATE", `{"id":1,"channel_id":100,"guild_id":900,"channel_type":0,"type":19,"content":"<@800>","author":{"id":700},"mentions":null,"attachments":null,"components":[{"type":99}],"referenced_message":{"id":2,"author":{"id":701,"username":"a\nb"},"content":"q","referenced_message":{}},"message_snapshots":[{"message":null}]}`},
		{"GUILD_UPDATE", `{"id":"900","premium_tier":2,"roles":[{"id":"1","tags":{"bot_id":"800"}}]}`},
		{"GUILD_CREATE", `{"id":"900","channels":[{"id":"100","type":0,"parent_id":"90"}],"threads":[{"id":"500","type":11,"parent_id":"100"}]}`},
		{"THREAD_DELETE", `{"id":"500"}`},
		{"READY", `{"user":{"id":"800"},"application":{"id":"801"},"guilds":[{"id":"900"}]}`},
	} {
		f.Add(e[0], []byte(e[1]))
	}
	f.Fuzz(func(t *testing.T, name string, raw []byte) {
		a, err := New(Config{Token: core.NewSecret("x"), Allow: []string{"*"}, DM: DMOpen,
			Log: slog.New(alarm{slog.DiscardHandler, t}), HTTP: &http.Client{Transport: nobody{}}})
		if err != nil {
			t.Fatal(err)
		}
		a.Hasten()
		a.identify("800", "801")
		r := newRun(t.Context(), a, deaf{})
		r.event("GUILD_CREATE", []byte(`{"id":"900","channels":[{"id":"100"}]}`))
		r.event(name, raw)
		r.event(name, raw)
		r.wait()
	})
}

func (deaf) Press(context.Context, core.Press) (core.Reply, error)         { return core.Reply{}, nil }
func (deaf) Known(context.Context, core.Thread, core.Author) (bool, error) { return false, nil }
func (deaf) Knock(context.Context, core.Message) (string, error)           { return "", nil }
