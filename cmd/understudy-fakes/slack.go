package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"understudy/adapters/slack/slacktest"
)

// slackOrders are those that only Slack understands.
func (w *world) slackOrders(mux *http.ServeMux) {
	mux.HandleFunc("POST /slack/slash", take(w.slash))
	mux.HandleFunc("POST /slack/press", take(w.press))
	mux.HandleFunc("POST /slack/suggest", take(w.suggest))
	mux.HandleFunc("POST /slack/shortcut", take(w.shortcut))
	mux.HandleFunc("POST /slack/submit", take(w.submit))
	mux.HandleFunc("POST /slack/assistant", take(w.assistant))
	mux.HandleFunc("POST /slack/events", take(w.subscribe))
	mux.HandleFunc("POST /slack/scopes", take(w.limited))
	mux.HandleFunc("POST /slack/refuse", take(w.refuseSlack))
	mux.HandleFunc("POST /slack/break", take(w.breakSlack))
	mux.HandleFunc("GET /slack/responses", func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw)(w.slack.Responses(), nil)
	})
	mux.HandleFunc("GET /slack/ack", func(rw http.ResponseWriter, r *http.Request) {
		_, payload := w.slack.Acks(r.URL.Query().Get("envelope"))
		if !json.Valid(payload) { // it was acknowledged without a word, or not at all
			payload = json.RawMessage("{}")
		}
		answer(rw)(payload, nil)
	})
	mux.HandleFunc("GET /slack/status", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		answer(rw)(map[string]string{"status": w.slack.Status(q.Get("channel"), q.Get("thread"))}, nil)
	})
}

// deed is something that somebody does with the app's own interface; which
// fields count is in the package comment.
type deed struct {
	Channel, Thread, User string
	Command, Text         string
	Action, Value         string
	Message, Callback     string
	View, Block           string
}

// triggered names what somebody did, and the envelope that told the bot.
type triggered struct {
	Trigger  string `json:"trigger,omitempty"`
	Envelope string `json:"envelope"`
}

func (w *world) slash(_ context.Context, o deed) (any, error) {
	if err := w.slackHas(o.Channel, ""); err != nil {
		return nil, err
	}
	trigger, envelope := w.slack.Slash(o.Channel, o.User, o.Command, o.Text)
	return triggered{trigger, envelope}, nil
}

func (w *world) press(_ context.Context, o deed) (any, error) {
	if err := cmp.Or(w.slackHas(o.Channel, o.Thread), w.slackHas(o.Channel, o.Message)); err != nil {
		return nil, err
	}
	if o.Message != "" {
		trigger, envelope := w.slack.Click(o.Channel, o.Message, o.User, o.Action, o.Value)
		return triggered{trigger, envelope}, nil
	}
	trigger, envelope := w.slack.Pick(o.Channel, o.Thread, o.User, o.Action, o.Value)
	return triggered{trigger, envelope}, nil
}

func (w *world) suggest(_ context.Context, o deed) (any, error) {
	if err := w.slackHas(o.Channel, ""); err != nil {
		return nil, err
	}
	return triggered{Envelope: w.slack.Suggest(o.Channel, o.User, o.Action, o.Text)}, nil
}

func (w *world) shortcut(_ context.Context, o deed) (any, error) {
	if err := w.slackHas(o.Channel, o.Message); err != nil {
		return nil, err
	}
	trigger, envelope := w.slack.Shortcut(o.Channel, o.User, o.Callback, o.Message)
	return triggered{trigger, envelope}, nil
}

func (w *world) submit(_ context.Context, o deed) (any, error) {
	if !slices.ContainsFunc(w.slack.Views(), func(v slacktest.View) bool { return v.ID == o.View }) {
		return nil, fmt.Errorf("nobody has a view %q open", o.View)
	}
	trigger, envelope := w.slack.Fill(o.View, o.Block, o.Action, o.Text)
	return triggered{trigger, envelope}, nil
}

// assistant opens the app's own pane, which is a thread of direct messages.
func (w *world) assistant(_ context.Context, o deed) (any, error) {
	if err := w.slackHas(o.Channel, ""); err != nil {
		return nil, err
	}
	return map[string]string{"thread": w.slack.OpenAssistant(o.Channel, o.User)}, nil
}

// subscribe sends events over HTTP from now on.
func (w *world) subscribe(ctx context.Context, o slacktest.Endpoints) (any, error) {
	err := w.slack.Subscribe(ctx, o)
	if err == nil {
		w.overHTTP.Store(true)
	}
	return struct{}{}, err
}

// limited takes scopes away from the bot token; without any it has all again.
func (w *world) limited(_ context.Context, o struct{ Without []string }) (any, error) {
	w.slack.Grant()
	left := slices.DeleteFunc(w.slack.Scopes(), func(scope string) bool { return slices.Contains(o.Without, scope) })
	w.slack.Grant(left...)
	return left, nil
}

// slackHas finds what is wrong with a place: the channel, or a message in it.
func (w *world) slackHas(channel, message string) error {
	p := slackPlatform(w.slack)
	switch {
	case !slices.Contains(p.channels, channel):
		return fmt.Errorf("the channel is %q; it must be one of %s", channel, strings.Join(p.channels, ", "))
	case message != "" && !p.known(channel, message):
		return fmt.Errorf("there is no message %q in channel %s", message, channel)
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

func (w *world) refuseSlack(_ context.Context, o struct{ Reason, Channel string }) (any, error) {
	if o.Channel == "" {
		w.slack.Refuse(o.Reason)
		return struct{}{}, nil
	}
	if err := w.slackHas(o.Channel, ""); err != nil {
		return nil, err
	}
	w.slack.Expel(o.Channel)
	return struct{}{}, nil
}
