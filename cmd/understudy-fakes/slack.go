package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
)

// slackOrders are those that only Slack understands.
func (w *world) slackOrders(mux *http.ServeMux) {
	mux.HandleFunc("POST /slack/slash", take(w.slash))
	mux.HandleFunc("POST /slack/press", take(w.press))
	mux.HandleFunc("POST /slack/break", take(w.breakSlack))
	mux.HandleFunc("GET /slack/responses", func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw)(w.slack.Responses(), nil)
	})
}

// slashed is a native command that somebody gives.
type slashed struct{ Channel, User, Command, Text string }

// triggered names what somebody did, and the envelope that told the bot.
type triggered struct {
	Trigger  string `json:"trigger"`
	Envelope string `json:"envelope"`
}

func (w *world) slash(_ context.Context, o slashed) (any, error) {
	if err := w.slackHas(o.Channel); err != nil {
		return nil, err
	}
	trigger, envelope := w.slack.Slash(o.Channel, o.User, o.Command, o.Text)
	return triggered{trigger, envelope}, nil
}

// pressed is a choice from a menu in a message that only this person sees.
type pressed struct{ Channel, Thread, User, Action, Value string }

func (w *world) press(_ context.Context, o pressed) (any, error) {
	if err := w.slackHas(o.Channel); err != nil {
		return nil, err
	}
	trigger, envelope := w.slack.Pick(o.Channel, o.Thread, o.User, o.Action, o.Value)
	return triggered{trigger, envelope}, nil
}

func (w *world) slackHas(channel string) error {
	if all := slackPlatform(w.slack).channels; !slices.Contains(all, channel) {
		return fmt.Errorf("the channel is %q; it must be one of %v", channel, all)
	}
	return nil
}

func (w *world) breakSlack(_ context.Context, o breakage) (any, error) {
	how := map[string]func(){"drop": w.slack.Drop}
	for _, reason := range []string{"warning", "refresh_requested", "link_disabled", "too_many_websockets"} {
		how[reason] = func() { w.slack.Disconnect(reason) }
	}
	return struct{}{}, w.disturb("slack", how, o)
}
