package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	connectWait = 30 * time.Second // for the bot, before somebody speaks
	postsWait   = 30 * time.Second // for as many posts as were asked for
)

// orders is the control interface.
func (w *world) orders() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /say", take(w.say))
	mux.HandleFunc("POST /fault", take(w.fault))
	mux.HandleFunc("GET /posts", func(rw http.ResponseWriter, r *http.Request) {
		answer(rw)(w.posts(r.Context(), r.URL.Query()))
	})
	mux.HandleFunc("GET /requests", func(rw http.ResponseWriter, r *http.Request) {
		answer(rw)(w.requests(r.URL.Query().Get("platform")))
	})
	w.crashOrders(mux)
	w.discordOrders(mux)
	w.slackOrders(mux)
	mux.Handle("/lead/", http.StripPrefix("/lead", w.lead.Control()))
	mux.Handle("/second/", http.StripPrefix("/second", w.second.Control()))
	return mux
}

// take makes a handler of an order with a JSON body.
func take[In any](do func(context.Context, In) (any, error)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		var in In
		d := json.NewDecoder(http.MaxBytesReader(rw, r.Body, 1<<20))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			answer(rw)(nil, fmt.Errorf("the body: %w", err))
			return
		}
		answer(rw)(do(r.Context(), in))
	}
}

// answer writes what came of an order. Everything that can go wrong is wrong
// with the order.
func answer(rw http.ResponseWriter) func(any, error) {
	return func(v any, err error) {
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(v) // who left is told by nobody here
	}
}

// speech is something said by a person.
type speech struct {
	Platform, Channel, Thread, User, Text string

	Now  bool // also when the bot is not connected
	File *attached
}

// attached is a file with a text in it.
type attached struct{ Name, MIME, Text string }

// said is where it went. Thread is the thread that the message is in, or that
// an answer to it opens.
type said struct {
	ID      string `json:"id"`
	Channel string `json:"channel"`
	Thread  string `json:"thread"`
}

func (w *world) say(ctx context.Context, o speech) (any, error) {
	p, err := w.platform(o.Platform)
	if err != nil {
		return nil, err
	}
	if err := p.check(o); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	if !o.Now && p.await(ctx, func() bool { return p.connected() > 0 }) != nil {
		return nil, fmt.Errorf("the bot is not connected to %s and would not hear it", o.Platform)
	}
	return w.utter(p, o)
}

// check finds what makes it impossible to say this.
func (p platform) check(o speech) error {
	channel := cmp.Or(o.Channel, p.channels[0])
	switch {
	case o.Text == "":
		return errors.New("there is no text to say")
	case !slices.Contains(p.channels, channel):
		return fmt.Errorf("the channel is %q; it must be one of %s", channel, strings.Join(p.channels, ", "))
	case o.Thread != "" && !p.known(channel, o.Thread):
		return fmt.Errorf("there is no thread %q in channel %s", o.Thread, channel)
	}
	return nil
}

// utter says it, whether the bot hears it or not.
func (w *world) utter(p platform, o speech) (any, error) {
	if err := p.check(o); err != nil {
		return nil, err
	}
	out := said{Channel: cmp.Or(o.Channel, p.channels[0])}
	o.Text = strings.ReplaceAll(o.Text, "@understudy", p.mention)
	o.Channel, o.User = out.Channel, cmp.Or(o.User, p.user)
	out.ID = p.say(o)
	out.Thread = cmp.Or(o.Thread, out.ID)
	return out, nil
}

func (w *world) posts(ctx context.Context, q url.Values) (any, error) {
	p, err := w.platform(q.Get("platform"))
	if err != nil {
		return nil, err
	}
	channel := cmp.Or(q.Get("channel"), p.channels[0])
	if !slices.Contains(p.channels, channel) {
		return nil, fmt.Errorf("the channel is %q; it must be one of %s", channel, strings.Join(p.channels, ", "))
	}
	least, err := strconv.Atoi(cmp.Or(q.Get("atLeast"), "0"))
	if err != nil {
		return nil, fmt.Errorf("atLeast is %q; it must be a number of posts", q.Get("atLeast"))
	}
	ctx, cancel := context.WithTimeout(ctx, postsWait)
	defer cancel()
	all := []post{}
	_ = p.await(ctx, func() bool { // without so many it shows those that are there
		all = p.posts(channel, q.Get("thread"))
		return len(all) >= least
	})
	return all, nil
}

// trouble is what is to go wrong with a coming request.
type trouble struct {
	Platform string
	// Request is the method of the Web API on Slack, and on Discord the HTTP
	// method and the path, in which * stands for any segment.
	Request    string
	Status     int
	Error      string // Slack's code; its requests fail with status 200
	RetryAfter int    // seconds; makes it a 429
	Drop       bool
	Hold       bool
	Perform    bool
}

func (w *world) fault(_ context.Context, o trouble) (any, error) {
	p, err := w.platform(o.Platform)
	if err != nil {
		return nil, err
	}
	if o.Request == "" {
		return nil, errors.New("the request is missing: name the one that is to fail")
	}
	if o.Status == 0 && o.Error == "" && o.RetryAfter == 0 && !o.Drop && !o.Hold {
		return nil, errors.New("it must have a status, error, retryAfter, drop or hold")
	}
	return struct{}{}, p.fail(o)
}

func (w *world) requests(platform string) (any, error) {
	p, err := w.platform(platform)
	if err != nil {
		return nil, err
	}
	return p.requests(), nil
}
